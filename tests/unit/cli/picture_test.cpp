#include "../../../cli/picture.h"

#include <cairo.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "../../../cli/plot_layout.h"

namespace wick::test {
namespace {

using namespace cli;

constexpr uint32_t kBlue = 0x0072b2, kOrange = 0xd55e00, kWhite = 0xffffff;  // of curves 0 and 1
constexpr int kScale = 2;                                                    // pixels of a unit

/// The picture's pixels as cairo reads them.
class Pixels {
 public:
  explicit Pixels(const std::string& png) : rest_(png) {
    const auto read = [](void* from, unsigned char* data, unsigned length) {
      std::string& rest = static_cast<Pixels*>(from)->rest_;
      if (rest.size() < length) return CAIRO_STATUS_READ_ERROR;
      std::memcpy(data, rest.data(), length);
      rest.erase(0, length);
      return CAIRO_STATUS_SUCCESS;
    };
    surface_.reset(cairo_image_surface_create_from_png_stream(read, this));
    EXPECT_EQ(cairo_surface_status(surface_.get()), CAIRO_STATUS_SUCCESS);
  }
  int width() const { return cairo_image_surface_get_width(surface_.get()); }
  int height() const { return cairo_image_surface_get_height(surface_.get()); }
  uint32_t at(int x, int y) const {
    uint32_t pixel;
    std::memcpy(&pixel,
                cairo_image_surface_get_data(surface_.get()) +
                    ptrdiff_t(y) * cairo_image_surface_get_stride(surface_.get()) + 4 * x,
                4);
    return pixel & 0xffffff;
  }
  /// Rows of this colour in a column, by units of the layout: their mean, NaN without one.
  double height_of(uint32_t colour, double x) const {
    double sum = 0, count = 0;
    for (int y = 0; y < height(); y++)
      if (at(int(x * kScale), y) == colour) sum += y + 0.5, count++;
    return sum / count / kScale;
  }

 private:
  struct Free {
    void operator()(cairo_surface_t* s) const { cairo_surface_destroy(s); }
  };
  std::string rest_;
  std::unique_ptr<cairo_surface_t, Free> surface_;
};

TEST(Picture, IsAPngWithItsCurvesInPlace) {
  const Picture picture{
      .title = "T",
      .x_label = "x",
      .y_label = "y",
      .curves = {{"above", {{0, 8}, {10, 8}}}, {"falls", {{0, 7}, {10, 1}}, true}},
      .heights = {{"level", 5}}};
  const Pixels pixels(png_of(picture));
  EXPECT_EQ(pixels.width(), kPlotWidth * kScale);
  EXPECT_EQ(pixels.height(), kPlotHeight * kScale);
  const Layout layout = layout_of(picture, text_width);
  for (const double x : {1.3, 5.1, 8.7}) {
    EXPECT_NEAR(pixels.height_of(kBlue, layout.x.place(x)), layout.y.place(8), 0.6);
    EXPECT_NEAR(pixels.height_of(kOrange, layout.x.place(x)), layout.y.place(7 - x * 0.6), 0.6);
  }
  for (const NameLabel& name : layout.names) {
    if (name.of == 0u) {
      EXPECT_NEAR(pixels.height_of(kBlue, name.sample.left + 10),
                  (name.sample.top + name.sample.bottom) / 2, 0.6);
    }
  }
}

TEST(Picture, InkOutsideTheFrameLiesInTheLabelsRectangles) {
  Picture picture{
      .title = "Größe, Ångström, (gyp)",
      .x_label = "step (pqgj) ÄÖ",
      .y_label = "loss, nats a byte",
      .heights = {
          {"one of 4", 4}, {"another of 4.1, which is much too long for it", 4.1}, {"ŷ = 9", 9}}};
  const Pixels pixels(png_of(picture));
  const Layout layout = layout_of(picture, text_width);
  constexpr double kSlack = 1.5;  // half a line's width, a letter's overhang
  std::vector<Rect> boxes = {layout.frame, layout.title.box, layout.x_title.box,
                             layout.y_title.box};
  for (const auto* labels : {&layout.x_labels, &layout.y_labels})
    for (const Label& label : *labels) boxes.push_back(label.box);
  double ends = 0;
  for (const NameLabel& name : layout.names) {
    boxes.push_back(name.label.box), boxes.push_back(name.sample);
    ends = name.sample.left;
  }
  boxes.push_back({layout.frame.right, layout.frame.top, ends, layout.frame.bottom});  // leaders
  std::vector<int> inked(boxes.size());
  int astray = 0;
  for (int y = 0; y < pixels.height(); y++)
    for (int x = 0; x < pixels.width(); x++) {
      if (pixels.at(x, y) == kWhite) continue;
      const double at_x = (x + 0.5) / kScale, at_y = (y + 0.5) / kScale;
      bool within = false;
      for (size_t i = 0; i < boxes.size(); i++) {
        const Rect& box = boxes[i];
        const bool here = at_x > box.left - kSlack && at_x < box.right + kSlack &&
                          at_y > box.top - kSlack && at_y < box.bottom + kSlack;
        within = within || here;
        inked[i] += here;
      }
      astray += !within;
    }
  EXPECT_EQ(astray, 0);
  for (size_t i = 0; i < boxes.size(); i++) EXPECT_GT(inked[i], 10) << i;
}

TEST(Picture, WhatIsNotFiniteIsAGap) {
  Picture picture{.title = "", .x_label = "", .y_label = "", .curves = {{"", {}}}};
  auto& points = picture.curves[0].points;
  for (int i = 0; i <= 100; i++) points.push_back({i, 1 + i % 2});
  points[20].second = NAN, points[50].second = INFINITY, points[52].second = -INFINITY;
  const Pixels pixels(png_of(picture));
  const Layout layout = layout_of(picture, text_width);
  const auto drawn = [&](double x) {
    return !std::isnan(pixels.height_of(kBlue, layout.x.place(x)));
  };
  for (int i = 0; i < 100; i++) {
    const bool gap = i == 19 || i == 20 || (i >= 49 && i <= 52);
    EXPECT_EQ(drawn(i + 0.5), !gap) << i;
  }
  EXPECT_TRUE(drawn(51));  // alone between two gaps: a dot
}

TEST(Picture, OfNothingOneAndAnythingIsAPicture) {
  const std::vector<std::vector<std::pair<double, double>>> curves = {
      {},
      {{5, 2.5}},
      {{0, 3}, {1, 3}},
      {{0, NAN}, {NAN, 0}},
      {{0, 1e300}, {1, -1e300}, {2, 1e308}, {3, 0}},
      {{0, 1e-320}, {1e-320, 0}},
      {{-1e300, 1}, {1e300, 2}},
      {{3, 1}, {2, 5}, {1, 2}}};
  const double heights[] = {1, 1e299, NAN};
  for (size_t i = 0; i < curves.size(); i++) {
    const Pixels pixels(png_of({.title = "any",
                                .x_label = "x",
                                .y_label = "y",
                                .curves = {{"empty", {}}, {"name", curves[i], true}},
                                .heights = {{"level", heights[i % 3]}}}));
    EXPECT_EQ(pixels.width(), kPlotWidth * kScale);
  }
}

TEST(Picture, TextsOfAnyBytesAreDrawn) {
  const Picture plain{.title = "a?b c", .x_label = "x", .y_label = "y"};
  Picture odd = plain;
  odd.title =
      "a\xff"
      "b\nc";
  EXPECT_EQ(png_of(odd), png_of(plain));
  odd.title = std::string(100000, 'a') + "ж\xd0";
  EXPECT_EQ(Pixels(png_of(odd)).width(), kPlotWidth * kScale);
  EXPECT_EQ(text_width("a\xff", 20), 0);
  EXPECT_GT(text_width("ñandú Жук", 20), text_width("Жук", 20));
}

}  // namespace
}  // namespace wick::test
