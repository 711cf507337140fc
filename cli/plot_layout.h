// Where the parts of a plot lie: the axes with their ticks, and labels that do not overlap. Lengths
// are units of a picture of 1200 x 800, y downwards.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "picture.h"

namespace wick::cli {

inline constexpr double kPlotWidth = 1200, kPlotHeight = 800;
inline constexpr double kMaxPlotted = 1e300;  // a larger value is a gap, as infinity is

struct Range {
  double low, high;
};
/// The multiples in a range of the step 1, 2 or 5 x 10^n that gives nearest to 7: 4 to 10. Expects
/// a range as shown_x and shown_y give it.
struct Ticks {
  double step;
  std::vector<double> values;
};
Ticks ticks(Range range);
/// One for each tick, with as many digits as its step has: "1,500", "0.25", "1.5e6".
std::vector<std::string> tick_labels(const Ticks& ticks);

/// What the axes show: of x from the first point to the last, and 0 where that is all but there;
/// of y what the curves and levels reach and a little more. A few points far off, as a run's first
/// ones may be, leave the rest a quarter of the height and lie outside.
Range shown_x(const Picture& picture);
Range shown_y(const Picture& picture);

/// At most four points for each of `columns` equal parts of x (its first, lowest, highest and last,
/// which are drawn as all of its points would be), and one of y NaN for each gap between them.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points,
                                               Range x, int columns);

/// The nearest places to those wanted, which rise, by least squares: `gap` apart or more, in
/// [low, high], which must have room for them.
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

struct Rect {
  double left, top, right, bottom;
};
struct Label {
  std::string text;  // shortened with "…" where it has no room
  double size = 0;   // of the font
  Rect box = {};
};
struct Axis {
  Range range;      // values
  double from, to;  // their places
  double place(double value) const;
};
/// A line of the legend, which stands right of the frame, as near as can be to where its curve or
/// level ends.
struct NameLabel {
  Label label;
  std::optional<size_t> of;   // among the curves, then the levels; none: counts those left out
  Rect sample = {};           // a piece of the line, left of the text
  std::optional<double> end;  // where the line meets the frame's right side, if it does
};
struct Layout {
  Rect frame = {};
  Axis x = {}, y = {};
  Ticks x_ticks, y_ticks;
  std::vector<Label> x_labels, y_labels;  // of ticks; of x those that have room
  Label title, note, x_title, y_title;    // y_title reads upwards; note: what lies outside
  std::vector<NameLabel> names;
};
/// The width of a text in a font of this size.
using TextWidth = std::function<double(const std::string& text, double size)>;
Layout layout_of(const Picture& picture, const TextWidth& width);

}  // namespace wick::cli
