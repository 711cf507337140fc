// A shared library that is no module.
extern "C" int not_wick_backend() { return 1; }
