// Layout of a plot: axes with ticks, and labels that do not overlap. Lengths are in units of a
// picture of 1200 x 800, y downwards.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "picture.h"

namespace wick::cli {

inline constexpr double kPlotWidth = 1200, kPlotHeight = 800;
inline constexpr double kMaxPlotted = 1e300;  // larger values are gaps, like infinity

struct Range {
  double low, high;
};
/// The multiples in a range of a step of 1, 2 or 5 x 10^n, with n and digit chosen to give a count
/// nearest 7 (4 to 10). Expects a range from shown_x or shown_y.
struct Ticks {
  double step;
  std::vector<double> values;
};
Ticks ticks(Range range);
/// One label per tick, with as many digits as the step needs: "1,500", "0.25", "1.5e6".
std::vector<std::string> tick_labels(const Ticks& ticks);

/// The ranges that the axes show. x runs from the first point to the last, and is extended to 0 if
/// the first is close to 0. y covers curves and levels plus a margin; a few outliers, such as the
/// first points of a run, may lie outside, and the rest takes at least a quarter of the height.
Range shown_x(const Picture& picture);
Range shown_y(const Picture& picture);

/// Reduces points to at most four per column, for `columns` equal parts of x: the first, lowest,
/// highest and last, which draw the same line as all points. Each gap is one point with y NaN.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points,
                                               Range x, int columns);

/// The places nearest to `wanted`, which is sorted, by least squares: at least `gap` apart and
/// within [low, high], which must have room for them.
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

struct Rect {
  double left, top, right, bottom;
};
struct Label {
  std::string text;  // shortened with "…" if it does not fit
  double size = 0;   // font size
  Rect box = {};
};
struct Axis {
  Range range;      // values
  double from, to;  // positions of range.low and range.high
  double place(double value) const;
};
/// An entry of the legend, to the right of the frame, as close as possible to the end of its curve
/// or level.
struct NameLabel {
  Label label;
  std::optional<size_t>
      of;  // index into the curves, then the levels; none: the entry that counts omitted names
  Rect sample = {};           // sample of the line, left of the text
  std::optional<double> end;  // y where the line meets the frame's right side, if it does
};
struct Layout {
  Rect frame = {};
  Axis x = {}, y = {};
  Ticks x_ticks, y_ticks;
  std::vector<Label> x_labels, y_labels;  // tick labels; for x only those that fit
  Label title, note, x_title, y_title;    // y_title reads upwards; note: values outside the frame
  std::vector<NameLabel> names;
};
/// The width of a text at this font size.
using TextWidth = std::function<double(const std::string& text, double size)>;
Layout layout_of(const Picture& picture, const TextWidth& width);

}  // namespace wick::cli
