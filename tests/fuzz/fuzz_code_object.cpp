// Code objects that users bring, as the modules for AMD and NVIDIA cards read them before their
// runtimes do.
#include "input.h"
#include "runtime/rt_cuda_image.h"
#include "runtime/rt_rocm_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string_view text = wick::fuzz::text_of(bytes, count);
  for (const char* architecture : {"gfx942:sramecc+:xnack-", "gfx1100", "gfx1103"}) {
    wick::gpu::Image image;
    (void)wick::gpu::read_image(text, architecture, image);
  }
  std::string image;
  (void)wick::gpu::read_cuda_image(text, 90, image);
  return 0;
}
