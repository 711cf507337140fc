// A plot of curves as an SVG picture.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

enum class Stroke { kLine, kLineWithDots };

struct Curve {
  std::string name;  // in the legend
  std::vector<std::pair<double, double>>
      points;  // x, y; those beyond 1e300 or not finite are not drawn
  Stroke stroke = Stroke::kLine;
};
struct Picture {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<Curve> curves = {};
};

/// The text of an SVG file of 1200 x 800 units. Texts are UTF-8 on one line without control
/// characters, and have no more room than the texts of `wick train` need. The x axis begins at 0.
/// The highest twentieth of a curve of 20 points or more, as a run's first losses are, leaves the
/// rest a quarter of the y axis or more, and else goes beyond its end.
std::string svg_of(const Picture& picture);

struct Tick {
  double value;
  std::string label;
};
/// The multiples in [low, high], low < high, of the least step 1, 2 or 5 x 10^n that goes into it
/// at most `most` times.
std::vector<Tick> ticks(double low, double high, int most);

}  // namespace wick::cli
