// Plots curves as a PNG picture.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>>
      points;         // x, y, sorted by x; a y that is not finite is a gap
  bool dots = false;  // also mark the points with dots
};
/// Texts are UTF-8.
struct Picture {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<Curve> curves = {};  // drawn in order, the first at the bottom
  std::vector<std::pair<std::string, double>> heights = {};  // named horizontal levels
};

/// Returns the bytes of a PNG file of 2400 x 1600 pixels. Each curve has its own colour and dashes,
/// determined by its index. Values that plot_layout.h cannot place are not drawn: no input is an
/// error. Errors: std::runtime_error when memory runs out.
std::string png_of(const Picture& picture);

/// The width of a text in png_of's font at this size, in the units of plot_layout.h; 0 if it is not
/// UTF-8.
double text_width(const std::string& text, double size);

}  // namespace wick::cli
