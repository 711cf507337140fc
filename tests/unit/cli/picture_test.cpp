#include "../../../cli/picture.h"

#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "run.h"

namespace wick::test {
namespace {

using namespace cli;

constexpr uint32_t kBlue = 0x0072b2, kOrange = 0xd55e00, kGreen = 0x009e73;  // of the first curves
constexpr uint32_t kEdge = 0x888888, kGrid = 0xe4e4e4, kWhite = 0xffffff;
constexpr int kWidth = 2400, kHeight = 1600;

/// The picture's pixels as cairo reads them, and where its axes lie.
class Pixels {
 public:
  explicit Pixels(const Picture& picture) {
    const std::string path = folder_.write("picture.png", png_of(picture));
    surface_.reset(cairo_image_surface_create_from_png(path.c_str()), cairo_surface_destroy);
    if (cairo_image_surface_get_width(surface_.get()) != kWidth ||
        cairo_image_surface_get_height(surface_.get()) != kHeight)
      throw std::runtime_error("not a PNG file of 2400 x 1600");
    while (rows(kEdge, left).size() < kHeight / 2) left++;
    top = rows(kEdge, left).front(), bottom = rows(kEdge, left).back();
    for (right = left; at(right + 1, bottom) == kEdge;) right++;
  }
  int left = 0, top = 0, bottom = 0, right = 0;

  uint32_t at(int x, int y) const {
    const unsigned char* row = cairo_image_surface_get_data(surface_.get()) +
                               ptrdiff_t(y) * cairo_image_surface_get_stride(surface_.get());
    uint32_t pixel;
    std::memcpy(&pixel, row + 4 * x, 4);
    return pixel & 0xffffff;
  }
  /// The rows of a colour in these columns.
  std::vector<int> rows(uint32_t colour, int x, int columns = 1) const {
    std::vector<int> result;
    for (int y = 0; y < kHeight; y++)
      for (int i = x; i < x + columns && (result.empty() || result.back() != y); i++)
        if (at(i, y) == colour) result.push_back(y);
    return result;
  }
  bool inked(int x0, int y0, int x1, int y1) const {
    for (int y = y0; y < y1; y++)
      for (int x = x0; x < x1; x++)
        if (at(x, y) != kWhite) return true;
    return false;
  }

 private:
  Folder folder_;
  std::shared_ptr<cairo_surface_t> surface_;
};

double middle(const std::vector<int>& rows) { return (rows.front() + rows.back()) / 2.0; }

/// Counts runs of ink with more than 12 pixels between them: the letters of a label stand closer.
template <class Inked>
size_t labels_in(int from, int to, const Inked& inked) {
  size_t count = 0;
  for (int i = from, last = from - 100; i < to; i++)
    if (inked(i)) count += i - last > 12, last = i;
  return count;
}

TEST(Ticks, AreRoundNumbersWithTheDigitsThatTellThemApart) {
  const auto labels = [](double low, double high) {
    std::string all;
    for (const Tick& tick : ticks(low, high, 9)) all += tick.label + " ";
    return all;
  };
  EXPECT_EQ(labels(0, 2400), "0 500 1,000 1,500 2,000 ");
  EXPECT_EQ(labels(-0.35, 0.31), "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3 ");
  EXPECT_EQ(labels(2.31, 2.33), "2.310 2.315 2.320 2.325 2.330 ");
  EXPECT_EQ(labels(1e37, 3e38), "5e+37 1e+38 1.5e+38 2e+38 2.5e+38 3e+38 ");
  for (double span = 1e-5; span < 1e7; span *= 1.07)
    for (const double low : {0.0, span / 3, span * 40}) {
      const std::vector<Tick> all = ticks(low, low + span, 9);
      ASSERT_TRUE(all.size() >= 3 && all.size() <= 10) << low << " + " << span;
      ASSERT_GE(all.front().value, low - span * 1e-6);
      ASSERT_LE(all.back().value, low + span * (1 + 1e-6));
    }
}

TEST(Picture, CurvesGridAndLegendLieWhereTheirValuesAre) {
  const Pixels p({"T",
                  "x",
                  "y",
                  {{"above", {{0, 8}, {10, 8}}},
                   {"falls", {{0, 7}, {10, 1}}, Stroke::kLineWithDots},
                   {"level", {{0, 5}, {10, 5}}, Stroke::kDashes}}});
  const double eight = middle(p.rows(kBlue, p.left, 1000)),
               five = middle(p.rows(kGreen, p.left, 1000));
  const auto value_at = [&](double row) { return 8 - 3 * (row - eight) / (five - eight); };
  for (const double part : {0.13, 0.47, 0.87}) {
    const int x = int(p.left + part * (p.right - p.left));
    EXPECT_NEAR(value_at(middle(p.rows(kOrange, x))), 7 - 6 * part, 0.02);
    const std::vector<int> grid = p.rows(kGrid, x);
    EXPECT_GE(grid.size(), 5u);
    for (const int row : grid) EXPECT_NEAR(value_at(row), std::round(value_at(row)), 0.01);
  }
  std::vector<int> samples;
  for (const uint32_t colour : {kBlue, kOrange, kGreen})
    for (const int row : p.rows(colour, p.right + 20, 200)) samples.push_back(row);
  EXPECT_GE(samples.size(), 3u);
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end()));
}

TEST(Picture, LabelsStandApartAndWithinThePicture) {
  const Pixels p({"Loss of 123,456,789 weights in 6,000,000 steps",
                  "step",
                  "loss, nats a byte",
                  {{"counting, order 4", {{0, 8.5}, {6e6, 0}}}}});
  EXPECT_EQ(labels_in(p.left - 100, p.right + 100,
                      [&](int x) { return p.inked(x, p.bottom + 20, x + 1, p.bottom + 70); }),
            ticks(0, 6e6, 6).size());
  EXPECT_EQ(labels_in(p.top - 20, p.bottom + 20,
                      [&](int y) { return p.inked(p.left - 140, y, p.left - 10, y + 1); }),
            ticks(0, 8.925, 9).size());
  EXPECT_TRUE(p.inked(40, 40, kWidth / 2, p.top - 20));                // the title
  EXPECT_TRUE(p.inked(p.left, p.bottom + 80, p.right, kHeight - 40));  // of x
  EXPECT_TRUE(p.inked(40, kHeight / 3, p.left - 160, kHeight / 2));    // of y
  EXPECT_FALSE(p.inked(p.left - 160, p.top, p.left - 140, p.bottom));
  EXPECT_FALSE(p.inked(kWidth - 30, 0, kWidth, kHeight));
}

TEST(Picture, AFewPointsFarOffLeaveAQuarterToTheRest) {
  Curve curve{"", {{0, 1000}, {1, 50}}};
  for (int i = 2; i < 200; i++) curve.points.push_back({i, i % 2 ? 1.0 : 3.0});
  const Pixels p({"", "", "", {curve}});
  const std::vector<int> rows = p.rows(kBlue, p.left + 100, 1000);
  EXPECT_NEAR(rows.back() - rows.front(), (p.bottom - p.top) / 4, (p.bottom - p.top) / 20);
  EXPECT_GE(p.rows(kBlue, 0, p.right).front(), p.top - 2);
}

TEST(Picture, OfNothingOnePointAndAnyValuesIsAPicture) {
  using Points = std::vector<std::pair<double, double>>;
  for (const Points& points : {Points{},
                               {{5, 2.5}},
                               {{0, 3}, {1, 3}},
                               {{0, 0}},
                               {{0, NAN}, {NAN, 0}, {1, INFINITY}},
                               {{0, 1e300}, {1, -1e300}, {3, 0}},
                               {{3, 1}, {2, 5}, {1, 2}}}) {
    const Pixels p({"any", "x", "y", {{"name", points}}});
    const bool drawn = !points.empty() && std::isfinite(points[0].second);
    EXPECT_EQ(!p.rows(kBlue, p.left, p.right - p.left).empty(), drawn);
  }
  EXPECT_THROW(png_of({"not UTF-8: \xff", "", "", {}}), std::runtime_error);
}

}  // namespace
}  // namespace wick::test
