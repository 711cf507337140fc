// A library that a fake libamdhip64 needs, as the real one needs HSA's.
extern "C" __attribute__((visibility("default"))) int fake_hip_dependency() { return 1; }
