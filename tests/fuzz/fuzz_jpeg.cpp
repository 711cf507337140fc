// A JPEG image: its header, EXIF data and pixels.
#include "input.h"
#include "wick/media/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  wick::fuzz::parse([&] {
    wick::decode_image(wick::fuzz::text_of(bytes, count), "jpeg", {.max_pixels = 1 << 20});
  });
  return 0;
}
