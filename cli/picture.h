// A plot of curves as a PNG picture.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>>
      points;         // x, y; by rising x; a y that is not finite: a gap
  bool dots = false;  // marked points beside the line
};
/// Texts are UTF-8.
struct Picture {
  std::string title = {}, x_label = {}, y_label = {};
  std::vector<Curve> curves = {};                            // the first lies lowest
  std::vector<std::pair<std::string, double>> heights = {};  // named levels, drawn across
};

/// The bytes of a PNG file of 2400 x 1600 pixels. Each curve has a colour and dashes of its own, by
/// its place in the list. What plot_layout.h cannot place is not drawn: no input is an error.
/// Errors: std::runtime_error when memory runs out.
std::string png_of(const Picture& picture);

/// The width of a text of this font size in png_of's font, in plot_layout.h's units; 0 if it is not
/// UTF-8.
double text_width(const std::string& text, double size);

}  // namespace wick::cli
