// A libcuda.so.1 without cards: FAKE_CUDA_VERSION is its version (12040 is 12.4), FAKE_CUDA_INIT
// what cuInit answers. The CUDA runtime asks for all other functions through cuGetProcAddress and
// then stops at cuInit.
#include <cstdlib>
#include <cstring>

namespace {

int number(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text ? atoi(text) : otherwise;
}
constexpr int kNoDevice = 100;
int no_device() { return kNoDevice; }

}  // namespace

extern "C" {
int cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return 0;
}
int cuInit(unsigned) { return number("FAKE_CUDA_INIT", kNoDevice); }
int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* result) {
  *function = strcmp(name, "cuDriverGetVersion") == 0 ? reinterpret_cast<void*>(cuDriverGetVersion)
              : strcmp(name, "cuInit") == 0           ? reinterpret_cast<void*>(cuInit)
              : strcmp(name, "cuGetProcAddress") == 0 ? reinterpret_cast<void*>(cuGetProcAddress_v2)
                                                      : reinterpret_cast<void*>(no_device);
  if (result) *result = 0;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
}
