// Resampling of the last two dims of x [N, C, H, W].
#pragma once
#include "ops.h"

namespace wick::reference {

enum class Sampling { kNearest, kNearestExact, kLinear, kCubic };

struct Resampling {
  Sampling mode = Sampling::kNearest;
  Shape size = {1, 1};
  bool align_corners = false;
  std::vector<Real> scale = {};  // of both dims, where it is not the sizes' ratio
};
Result resample(const Array& x, const Resampling& r);

/// padding: 0 zeros, 1 the nearest element, 2 mirrored at the edges.
struct GridSampling {
  bool nearest = false;
  int padding = 0;
  bool align_corners = false;
};
Result grid_sample(const Array& x, const Array& grid, const GridSampling& g);

}  // namespace wick::reference
