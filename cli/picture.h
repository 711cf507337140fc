// A plot of curves as a PNG picture.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wick::cli {

using Colour = std::array<uint8_t, 3>;  // red, green, blue

struct Curve {
  std::string name;
  Colour colour;
  std::vector<std::pair<double, double>> points;  // x, y; by rising x
  bool dots = false;                              // marked points beside the line
};
struct Picture {
  std::string title, x_label, y_label;
  std::vector<Curve> curves = {};                            // the first lies lowest
  std::vector<std::pair<std::string, double>> heights = {};  // named levels, drawn across
};

/// The bytes of a PNG file. Letters are ASCII.
std::string png_of(const Picture& picture);

}  // namespace wick::cli
