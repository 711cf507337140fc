#include "../../../cli/plot_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace wick::test {
namespace {

using namespace cli;
using Points = std::vector<std::pair<double, double>>;

std::mt19937 random_bits(7);
double uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_bits);
}
size_t below(size_t end) { return size_t(random_bits() % end); }

/// A font whose letters are all of one width: half of their height.
double width(const std::string& text, double size) {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; });
  return double(letters) * size / 2;
}

Range random_range() {
  const double size = std::pow(10, uniform(-280, 280));
  const double low = below(4) == 0 ? 0 : uniform(-1, 1) * size;
  const double span = std::pow(10, below(2) ? uniform(-5.9, 6) : uniform(-1, 1)) *
                      std::max(std::abs(low), below(2) ? size : 1e-280);
  return {low, low + span};
}

TEST(Ticks, AreFourToTenRoundNumbersWithinTheRange) {
  for (int i = 0; i < 20000; i++) {
    const Range range = random_range();
    const Ticks t = ticks(range);
    SCOPED_TRACE(testing::Message() << range.low << " to " << range.high << ", step " << t.step);
    ASSERT_GE(t.values.size(), 4u);
    ASSERT_LE(t.values.size(), 10u);
    const double digit = t.step / std::pow(10, std::floor(std::log10(t.step) + 1e-9));
    ASSERT_TRUE(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}) < 1e-9)
        << digit;
    for (size_t k = 0; k < t.values.size(); k++) {
      ASSERT_GE(t.values[k], range.low);
      ASSERT_LE(t.values[k], range.high);
      const double multiple = t.values[k] / t.step;
      ASSERT_NEAR(multiple, std::round(multiple), 1e-5);
      if (k > 0) {
        ASSERT_NEAR((t.values[k] - t.values[k - 1]) / t.step, 1, 1e-5);
      }
    }
    // None more has room at either end.
    ASSERT_LT(t.values.front() - t.step, range.low);
    ASSERT_GT(t.values.back() + t.step, range.high);
  }
}

TEST(Ticks, LabelsTellThemApartAndSayTheirValues) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(tick_labels(ticks({0, 2400})), Texts({"0", "500", "1,000", "1,500", "2,000"}));
  EXPECT_EQ(tick_labels(ticks({-0.35, 0.31})),
            Texts({"-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"}));
  EXPECT_EQ(tick_labels(ticks({2.31, 2.33})), Texts({"2.310", "2.315", "2.320", "2.325", "2.330"}));
  EXPECT_EQ(tick_labels(ticks({9e5, 2.2e6})),
            Texts({"1.0e6", "1.2e6", "1.4e6", "1.6e6", "1.8e6", "2.0e6", "2.2e6"}));
  EXPECT_EQ(tick_labels(ticks({0, 6.5e-7})),
            Texts({"0", "1e-7", "2e-7", "3e-7", "4e-7", "5e-7", "6e-7"}));
  for (int i = 0; i < 20000; i++) {
    const Ticks t = ticks(random_range());
    const Texts labels = tick_labels(t);
    for (size_t k = 0; k < labels.size(); k++) {
      std::string digits = labels[k];
      std::erase(digits, ',');
      ASSERT_NEAR(std::stold(digits) / t.step, t.values[k] / t.step, 0.01) << labels[k];
      ASSERT_LE(labels[k].size(), 16u) << labels[k];
    }
  }
}

TEST(Shown, XGoesFromTheFirstStepToTheLast) {
  const auto of = [](const Points& points) { return shown_x({.curves = {{"", points}}}); };
  EXPECT_EQ(of({{100, 1}, {300, 1}}).low, 100);
  EXPECT_EQ(of({{100, 1}, {300, 1}}).high, 300);
  EXPECT_EQ(of({{4.5, 1}, {2400, 1}}).low, 0);
  EXPECT_EQ(of({{0, NAN}, {1, INFINITY}, {20, 1}, {30, 1}, {NAN, 1}}).low, 20);
  EXPECT_LT(of({{5, 1}}).low, 5);
  EXPECT_GT(of({{5, 1}}).high, 5);
  EXPECT_LT(of({}).low, of({}).high);
}

TEST(Shown, YHoldsAllPointsAndLevels) {
  const Range y = shown_y({.curves = {{"", {{0, 5.5}, {1, 2.5}, {2, 1.5}}}},
                           .heights = {{"low", 1.2}, {"nowhere", NAN}}});
  EXPECT_LT(y.low, 1.2);
  EXPECT_GT(y.low, 0.9);
  EXPECT_GT(y.high, 5.5);
  EXPECT_LT(y.high, 6);
  // Not below 0 where nothing is.
  EXPECT_EQ(shown_y({.curves = {{"", {{0, 5}, {1, 0.01}}}}}).low, 0);
}

TEST(Shown, AFewPointsFarOffLeaveAQuarterToTheRest) {
  Curve curve{"", {{0, 1000}, {1, 50}}};
  for (int i = 2; i < 200; i++) curve.points.push_back({i, i % 2 ? 1.0 : 3.0});
  const Picture picture{.title = "T", .x_label = "x", .y_label = "y", .curves = {curve}};
  const Range y = shown_y(picture);
  EXPECT_LT(y.low, 1);
  EXPECT_GT(y.high, 8);
  EXPECT_LT(y.high, 10);
  EXPECT_EQ(layout_of(picture, width).note.text, "up to 1,000, above the frame");
  // A curve of few points is never one far off.
  const Curve held_out{"", {{0, 1000}, {1, 50}}};
  EXPECT_GT(shown_y({.curves = {curve, held_out}}).high, 1000);
}

TEST(Shown, EqualAndHugeValuesHaveAnAxis) {
  for (const double y : {0.0, 2.5, -2.5, 1e300, -1e300, 1e-300, 5e-324}) {
    const Range shown = shown_y({.curves = {{"", {{0, y}, {1, y}}}}});
    EXPECT_LT(shown.low, y);
    EXPECT_GT(shown.high, y);
    EXPECT_GE(ticks(shown).values.size(), 4u) << y;
  }
  const Range all = shown_y({.curves = {{"", {{0, 1e300}, {1, -1e300}, {2, 1e301}}}}});
  EXPECT_LT(all.low, -1e300);
  EXPECT_GE(ticks(all).values.size(), 4u);
}

TEST(Thinned, KeepsWhatEachColumnReaches) {
  Points points;
  for (int i = 0; i < 1000000; i++) points.push_back({i, uniform(0, 1)});
  points[123456].second = 7, points[654321].second = -7;
  const Points few = thinned(points, {0, 999999}, 500);
  EXPECT_LE(few.size(), 4u * 501);
  EXPECT_GE(few.size(), 3u * 500);
  EXPECT_EQ(few.front(), points.front());
  EXPECT_EQ(few.back(), points.back());
  for (const size_t far : {123456, 654321})
    EXPECT_TRUE(std::count(few.begin(), few.end(), points[far])) << far;
  EXPECT_TRUE(std::is_sorted(few.begin(), few.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
}

TEST(Thinned, LeavesFewPointsAsTheyAreAndMarksGaps) {
  const Points whole = {{0, 1}, {1, 3}, {2, 2}};
  EXPECT_EQ(thinned(whole, {0, 2}, 100), whole);
  const Points with_gaps = {{0, NAN}, {1, 1}, {2, 2}, {3, NAN}, {4, INFINITY}, {5, 5}, {6, -1e301}};
  const Points marked = thinned(with_gaps, {0, 6}, 100);
  ASSERT_EQ(marked.size(), 4u);
  EXPECT_EQ(marked[1].second, 2);
  EXPECT_TRUE(std::isnan(marked[2].second));
  EXPECT_EQ(marked[3].second, 5);
  EXPECT_TRUE(thinned({}, {0, 1}, 10).empty());
  EXPECT_TRUE(thinned({{0, NAN}}, {0, 1}, 10).empty());
}

TEST(Spread, KeepsItsGapAndMovesAsLittleAsCanBe) {
  EXPECT_EQ(spread({10, 40, 90}, 20, 0, 100), std::vector<double>({10, 40, 90}));
  EXPECT_EQ(spread({50, 50}, 20, 0, 100), std::vector<double>({40, 60}));
  EXPECT_EQ(spread({100, 100}, 20, 0, 100), std::vector<double>({80, 100}));
  EXPECT_EQ(spread({0, 0, 1}, 50, 0, 100), std::vector<double>({0, 50, 100}));
  for (int i = 0; i < 2000; i++) {
    std::vector<double> wanted(1 + below(12));
    for (double& place : wanted) place = uniform(0, 100);
    std::sort(wanted.begin(), wanted.end());
    const double gap = uniform(0, 100.0 / double(wanted.size()));
    const std::vector<double> places = spread(wanted, gap, 0, 100);
    const auto allowed = [&](const std::vector<double>& at) {
      for (size_t k = 1; k < at.size(); k++)
        if (at[k] - at[k - 1] < gap - 1e-9) return false;
      return at.front() >= -1e-9 && at.back() <= 100 + 1e-9;
    };
    const auto moved = [&](const std::vector<double>& at) {
      double sum = 0;
      for (size_t k = 0; k < at.size(); k++) sum += (at[k] - wanted[k]) * (at[k] - wanted[k]);
      return sum;
    };
    ASSERT_EQ(places.size(), wanted.size());
    ASSERT_TRUE(allowed(places));
    // The sum is convex: where no neighbour that is allowed is better, nothing is.
    for (int k = 0; k < 50; k++) {
      std::vector<double> other = places;
      const size_t from = below(other.size()), to = from + below(other.size() - from) + 1;
      const double by = uniform(-1, 1) * std::pow(10, uniform(-3, 1));
      for (size_t m = from; m < to; m++) other[m] += by;
      if (allowed(other)) {
        ASSERT_GE(moved(other), moved(places) - 1e-6);
      }
    }
  }
}

/// A text of up to 60 letters, of one to three bytes each.
std::string random_text() {
  std::string text;
  const char* const letters[] = {"a", "W", " ", "é", "ж", "…", "字"};
  for (size_t i = below(4) ? below(20) : below(60); i > 0; i--) text += letters[below(7)];
  return text;
}
Picture random_picture() {
  Picture picture{random_text(), random_text(), random_text()};
  const Range range = random_range();
  const double first = uniform(0, 1000), steps = std::pow(10, uniform(0, 8));
  for (size_t i = below(below(8) ? 6 : 60); i > 0; i--) {
    Curve curve{random_text(), {}, below(2) == 0};
    const double level = uniform(range.low, range.high);
    const double reach = below(2) ? 0 : uniform(0, (range.high - range.low) / 2);
    for (size_t k = 0, count = below(30); k < count; k++)
      curve.points.push_back(
          {first + double(k) * steps, below(20) ? level + uniform(-1, 1) * reach : NAN});
    picture.curves.push_back(curve);
  }
  for (size_t i = below(below(8) ? 5 : 40); i > 0; i--)
    picture.heights.push_back(
        {random_text(), below(10) ? uniform(range.low, range.high) : INFINITY});
  return picture;
}

bool overlap(const Rect& a, const Rect& b) {
  constexpr double kTouch = 1e-6;
  return a.left < b.right - kTouch && b.left < a.right - kTouch && a.top < b.bottom - kTouch &&
         b.top < a.bottom - kTouch;
}
std::string to_text(const Rect& r) {
  return testing::PrintToString(std::vector<double>{r.left, r.top, r.right, r.bottom});
}
/// The rectangles of all that stands outside the frame.
std::vector<Rect> outside(const Layout& layout) {
  std::vector<Rect> boxes;
  for (const Label* label : {&layout.title, &layout.note, &layout.x_title, &layout.y_title})
    if (!label->text.empty()) boxes.push_back(label->box);
  for (const auto* labels : {&layout.x_labels, &layout.y_labels})
    for (const Label& label : *labels) boxes.push_back(label.box);
  for (const NameLabel& name : layout.names) {
    boxes.push_back(name.label.box);
    boxes.push_back(name.sample);
  }
  return boxes;
}

TEST(Layout, NoLabelOverlapsAnotherOrTheFrameOrTheEdge) {
  for (int i = 0; i < 5000; i++) {
    const Layout layout = layout_of(random_picture(), width);
    ASSERT_GE(layout.frame.right - layout.frame.left, kPlotWidth / 3);
    ASSERT_GE(layout.frame.bottom - layout.frame.top, kPlotHeight / 2);
    std::vector<Rect> boxes = outside(layout);
    for (const Rect& box : boxes) {
      ASSERT_GE(box.left, 0);
      ASSERT_GE(box.top, 0);
      ASSERT_LE(box.right, kPlotWidth);
      ASSERT_LE(box.bottom, kPlotHeight);
    }
    boxes.push_back(layout.frame);
    for (size_t a = 0; a < boxes.size(); a++)
      for (size_t b = 0; b < a; b++)
        ASSERT_FALSE(overlap(boxes[a], boxes[b])) << to_text(boxes[a]) << to_text(boxes[b]);
    for (const Label& label : layout.x_labels) ASSERT_EQ(label.box.top, layout.x_labels[0].box.top);
    ASSERT_GE(layout.x_labels.size(), 2u);
    ASSERT_EQ(layout.y_labels.size(), layout.y_ticks.values.size());
  }
}

TEST(Layout, NamesStandWhereTheirLinesEnd) {
  const Layout layout =
      layout_of({.title = "T",
                 .x_label = "x",
                 .y_label = "y",
                 .curves = {{"falls", {{0, 9}, {10, 1}}}, {"ends early", {{0, 9}, {5, 5}}}},
                 .heights = {{"level", 8}, {"nowhere", NAN}}},
                width);
  ASSERT_EQ(layout.names.size(), 3u);  // from the top
  const size_t of[] = {2, 1, 0};
  const double heights[] = {8, 5, 1};
  for (size_t i = 0; i < 3; i++) {
    const NameLabel& name = layout.names[i];
    EXPECT_EQ(name.of, of[i]);
    EXPECT_NEAR((name.label.box.top + name.label.box.bottom) / 2, layout.y.place(heights[i]), 1e-9);
    EXPECT_EQ(name.end.has_value(), of[i] != 1);
  }
  EXPECT_EQ(layout.x.place(0), layout.frame.left);
  EXPECT_EQ(layout.x.place(10), layout.frame.right);
}

TEST(Layout, LongTextsEndInAnEllipsisAndTooManyNamesInTheirNumber) {
  std::string text;
  for (int i = 0; i < 500; i++) text += "ж";
  Picture picture{.title = text, .x_label = text, .y_label = text};
  for (int i = 0; i < 100; i++) picture.curves.push_back({text, {{0, i}, {1, i}}});
  const Layout layout = layout_of(picture, width);
  for (const Label& label : {layout.title, layout.x_title, layout.y_title, layout.names[0].label}) {
    ASSERT_GT(label.text.size(), 20u);
    ASSERT_LT(label.text.size(), 400u);
    EXPECT_EQ(label.text.substr(label.text.size() - 5), "ж…");  // whole letters
  }
  ASSERT_LT(layout.names.size(), 40u);
  const NameLabel& last = layout.names.back();
  EXPECT_FALSE(last.of);
  EXPECT_EQ(last.label.text, "and " + std::to_string(101 - layout.names.size()) + " more");
}

}  // namespace
}  // namespace wick::test
