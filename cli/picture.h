// A plot of curves as a PNG picture.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

/// Whether this build draws pictures. Without cairo (WICK_CAIRO=OFF) it has no functions of this file.
#ifdef WICK_HAS_CAIRO
inline constexpr bool kHasPictures = true;
#else
inline constexpr bool kHasPictures = false;
#endif

enum class Stroke { kLine, kLineWithDots, kDashes };

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

/// The bytes of a PNG file of 2400 x 1600 pixels. Texts are UTF-8 on one line and have no more room
/// than those of `wick train` need. The x axis begins at 0. The highest twentieth of a curve of 20
/// points or more, as a run's first losses are, leaves the rest a quarter of the y axis or more, and
/// else goes beyond its end.
/// Errors: std::runtime_error when memory runs out or a text is not UTF-8.
std::string png_of(const Picture& picture);

struct Tick {
  double value;
  std::string label;
};
/// The multiples in [low, high], low < high, of the least step 1, 2 or 5 x 10^n that goes into it at
/// most `most` times.
std::vector<Tick> ticks(double low, double high, int most);

}  // namespace wick::cli
