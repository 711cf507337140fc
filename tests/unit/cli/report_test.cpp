#include "../../../cli/report.h"

#include <png.h>

#include <cmath>
#include <cstring>

#include "../../../cli/picture.h"
#include "run.h"

namespace wick::test {
namespace {

using namespace cli;

TEST(Report, NumbersAndTimesAsTheyAreRead) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(clock_time(7.4), "0:07");
  EXPECT_EQ(clock_time(754), "12:34");
  EXPECT_EQ(clock_time(3723), "1:02:03");
}

TEST(TextPlot, PutsHighAboveLow) {
  const std::string plot = text_plot({{'*', "falls", {{0, 3}, {1, 2}, {2, 1}}}}, 3, 3);
  EXPECT_EQ(plot,
            "    3.00 |*\n"
            "         | *\n"
            "    1.00 |  *\n"
            "         +---\n"
            "          0 2\n"
            "          * falls\n");
  EXPECT_EQ(text_plot({{'*', "nothing", {}}}), "");
  EXPECT_NE(text_plot({{'*', "a point", {{5, 5}}}}), "");
}

/// The picture's pixels as libpng reads them.
struct Pixels {
  png_image image{};
  std::vector<uint8_t> bytes;
  explicit Pixels(const std::string& png) {
    image.version = PNG_IMAGE_VERSION;
    EXPECT_TRUE(png_image_begin_read_from_memory(&image, png.data(), png.size()));
    image.format = PNG_FORMAT_RGB;
    bytes.resize(PNG_IMAGE_SIZE(image));
    EXPECT_TRUE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr));
  }
  /// The mean row of the pixels of this colour.
  double height_of(Colour colour) const {
    double sum = 0, count = 0;
    for (size_t i = 0; i + 2 < bytes.size(); i += 3)
      if (std::memcmp(&bytes[i], colour.data(), 3) == 0)
        sum += double(i / 3 / image.width), count++;
    return sum / count;
  }
};

TEST(Picture, IsAPngWithItsCurvesInPlace) {
  const Colour red = {200, 0, 0}, blue = {0, 0, 200};
  const Pixels pixels(
      png_of({.title = "T",
              .x_label = "x",
              .y_label = "y",
              .curves = {{"", red, {{0, 9}, {10, 9}}}, {"", blue, {{0, 1}, {10, 1}}, true}},
              .heights = {{"level", 5}}}));
  EXPECT_EQ(pixels.image.width, 960u);
  EXPECT_LT(pixels.height_of(red), 200);   // 9 is near the top
  EXPECT_GT(pixels.height_of(blue), 350);  // 1 near the bottom
  EXPECT_FALSE(std::isnan(pixels.height_of({255, 255, 255})));
}

TEST(Picture, OfNothingIsAPictureStill) {
  Pixels pixels(png_of(
      {.title = "none", .x_label = "", .y_label = "", .curves = {{"empty", {1, 2, 3}, {}}}}));
}

}  // namespace
}  // namespace wick::test
