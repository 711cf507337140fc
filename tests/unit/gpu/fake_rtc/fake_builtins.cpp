// The second half of NVRTC, which that opens by its bare name.
extern "C" __attribute__((visibility("default"))) int fake_builtins() { return 1; }
