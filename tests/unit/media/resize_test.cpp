#include "../expect.h"
#include "golden.h"
#include "wick/media/image_processor.h"

namespace wick {
namespace {

using test::difference;
using test::Expected;
using test::kImages;

TEST(Resize, GivesTheBitsOfPillow) {
  const Image photo = read_image(kImages + "photo.png");
  const Expected expected("resized.safetensors");
  EXPECT_EQ(expected.names().size(), 54u);
  for (const std::string& name : expected.names()) {  // "FILTER.WIDTHxHEIGHT"
    const int filter = name[0] - '0';
    const int64_t width = std::stoll(name.substr(2)),
                  height = std::stoll(name.substr(name.find('x') + 1));
    EXPECT_EQ(difference(resize(photo, width, height, Resample(filter)), expected[name]), "")
        << name;
  }
}

TEST(Resize, OfTheSameSizeIsACopy) {
  const Image photo = read_image(kImages + "photo.png");
  EXPECT_EQ(resize(photo, 53, 37, Resample::kLanczos).pixels, photo.pixels);
}

TEST(Resize, KeepsAPlainColor) {
  const Image plain{5, 4, 3, std::vector<uint8_t>(60, 255)};
  for (int filter = 0; filter < 6; filter++)
    for (const uint8_t value : resize(plain, 3, 9, Resample(filter)).pixels)
      ASSERT_EQ(value, 255) << filter;
}

TEST(Resize, RefusesWrongImagesAndSizes) {
  const Image one{1, 1, 3, {1, 2, 3}};
  EXPECT_ERROR(resize(one, 0, 1, Resample::kBox), kInvalidArgument, "got 0 x 1");
  EXPECT_ERROR(resize(one, 1, int64_t(1) << 62, Resample::kNearest), kInvalidArgument,
               "at most 89478485 pixels");
  EXPECT_ERROR(resize({}, 1, 1, Resample::kBox), kShapeMismatch, "resize: expected an image");
  EXPECT_ERROR(resize({1, 1, 4, {1, 2, 3, 4}}, 1, 1, Resample::kBox), kShapeMismatch,
               "1 x 1 x 4 with 4 values");
  EXPECT_ERROR(resize({2, 1, 3, {1, 2, 3}}, 1, 1, Resample::kBox), kShapeMismatch,
               "1 x 2 x 3 with 3 values");
}

}  // namespace
}  // namespace wick
