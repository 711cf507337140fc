#include "wick/ops/resample.h"

#include <algorithm>
#include <cmath>

#include "ops/elementwise/dtypes.h"
#include "ops/linear/windows.h"
#include "ops/tape/tape.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/pool.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 30;  // along a dim; products of two stay exact

/// A position in x: the element `index`, and the fraction of the way to the next one.
struct SamplePoint {
  int64_t index;
  double share;
};

/// Maps elements of the result to positions in x, along one dim.
class SamplePoints {
 public:
  SamplePoints(int64_t in, int64_t out, bool align_corners, double scale)
      : in_(in), out_(out), align_(align_corners), scale_(scale) {}

  /// Computes with a ratio of integers, so that rounding affects neither the index nor the
  /// fraction.
  SamplePoint linear(int64_t i) const {
    if (align_) return out_ > 1 ? fraction(i * (in_ - 1), out_ - 1) : SamplePoint{0, 0};
    if (scale_ == 0) return fraction((2 * i + 1) * in_ - out_, 2 * out_);
    const double at = (double(i) + 0.5) / scale_ - 0.5;
    return {int64_t(std::floor(at)), at - std::floor(at)};
  }
  int64_t nearest(int64_t i, bool exact) const {
    const int64_t twice = 2 * i + (exact ? 1 : 0);
    const int64_t at =
        scale_ == 0 ? twice * in_ / (2 * out_) : int64_t(std::floor(double(twice) / (2 * scale_)));
    return clamped(at);
  }
  int64_t clamped(int64_t index) const { return std::clamp<int64_t>(index, 0, in_ - 1); }

 private:
  static SamplePoint fraction(int64_t numerator, int64_t denominator) {
    int64_t index = numerator / denominator, rest = numerator % denominator;
    if (rest < 0) rest += denominator, index--;
    return {index, double(rest) / double(denominator)};
  }

  int64_t in_, out_;
  bool align_;
  double scale_;  // 0: the ratio of the sizes
};

/// One of the source elements of each element of the result, and its weight.
struct Tap {
  std::vector<int64_t> ids;
  std::vector<double> weights;
};

/// Cubic convolution at distances 1 + t, t, 1 - t and 2 - t. The outer two are written as products
/// to avoid cancellation.
void cubic_weights(double t, double (&w)[4]) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  w[0] = a * t * (1 - t) * (1 - t);
  w[1] = near(t);
  w[2] = near(1 - t);
  w[3] = a * t * t * (1 - t);
}

std::vector<Tap> taps_along(Interpolation mode, const SamplePoints& places, int64_t out) {
  std::vector<Tap> taps(mode == Interpolation::kLinear ? 2 : mode == Interpolation::kCubic ? 4 : 1);
  for (int64_t i = 0; i < out; i++) {
    if (taps.size() == 1) {
      taps[0].ids.push_back(places.nearest(i, mode == Interpolation::kNearestExact));
      continue;
    }
    SamplePoint place = places.linear(i);
    double weights[4] = {1 - place.share, place.share, 0, 0};
    int64_t first = place.index;
    if (mode == Interpolation::kCubic) {
      cubic_weights(place.share, weights);
      first--;
    } else if (first < 0) {  // before the first centre: the first element alone
      first = 0;
      weights[0] = 1;
      weights[1] = 0;
    }
    for (size_t t = 0; t < taps.size(); t++) {
      taps[t].ids.push_back(places.clamped(first + int64_t(t)));
      taps[t].weights.push_back(weights[t]);
    }
  }
  return taps;
}

/// The weighted sum of the taps along a dim.
Tensor along(const Tensor& x, int dim, const std::vector<Tap>& taps) {
  Tensor y;
  for (const Tap& tap : taps) {
    const Tensor picked = index_select(x, dim, Tensor::from(tap.ids, x.device()));
    if (tap.weights.empty()) return picked;
    Shape shape(x.rank() - dim, 1);
    shape[0] = int64_t(tap.weights.size());
    const Tensor part = picked * cast(Tensor::from(tap.weights, shape, x.device()), picked.dtype());
    y = y ? y + part : part;
  }
  return y;
}

/// Resamples the last `sizes` dims of x, which has one or two dims before them.
Tensor resample(const char* op, const Tensor& x, const Dims& sizes, Interpolation mode,
                const UpsampleOptions& o) {
  check_defined(op, x);
  const int dims = sizes.size(), first = x.rank() - dims;
  check(first == 1 || first == 2, ErrorCode::kShapeMismatch, op, "expected x of rank ", dims + 1,
        " or ", dims + 2, ", got ", x.shape());
  check(o.scale.empty() || int(o.scale.size()) == dims, ErrorCode::kInvalidArgument, op,
        "expected a scale for each of ", dims, " dims, got ", o.scale.size());
  const bool picks = mode == Interpolation::kNearest || mode == Interpolation::kNearestExact;
  check(picks || (is_floating(x.dtype()) && is_computed(x.dtype())), ErrorCode::kDTypeMismatch, op,
        "expected a floating dtype, got ", dtype_name(x.dtype()));
  for (int d = 0; d < dims; d++) {
    check(sizes[d] > 0 && sizes[d] <= kMaxElements, ErrorCode::kInvalidArgument, op,
          "expected sizes of at least 1, got ", sizes);
    check(x.shape()[first + d] > 0 && x.shape()[first + d] <= kMaxElements,
          ErrorCode::kShapeMismatch, op, "expected dims of at least 1, got ", x.shape());
    const double scale = o.scale.empty() ? 1 : o.scale[size_t(d)];
    check(scale > 0 && std::isfinite(scale), ErrorCode::kInvalidArgument, op,
          "expected finite scales above 0, got ", scale);
  }
  Tensor y = picks ? x : cast(x, computed_in(x.dtype()));
  for (int d = dims - 1; d >= 0; d--) {
    const double scale = o.scale.empty() ? 0 : o.scale[size_t(d)];
    const int64_t in = x.shape()[first + d];
    const SamplePoints places(in, sizes[d], !picks && o.align_corners, scale);
    // Resampling is the identity; for the nearest element, at any scale that keeps the size.
    const bool same = in == sizes[d] && (picks || scale == 0 || scale == 1);
    if (!same) y = along(y, first + d, taps_along(mode, places, sizes[d]));
  }
  return cast(y, x.dtype());
}

// ---- grid_sample

/// Converts -1 to 1 to indices along a dim of n elements.
Tensor unnormalized(const Tensor& grid, int64_t n, bool align_corners) {
  return align_corners ? (grid + 1) * (double(n - 1) / 2) : ((grid + 1) * double(n) - 1) / 2;
}

/// Mirrors positions outside [low, low + span] into it.
Tensor reflected(const Tensor& at, double low, double span) {
  if (span == 0) return at * 0;
  const Tensor distance = abs(at - low);
  const Tensor turns = floor(distance.detach() / span);
  const Tensor over = distance - turns * span;
  return where(eq(remainder(turns, 2), 0), over, span - over) + low;
}

Tensor padded_places(const Tensor& grid, int64_t n, const GridSampleOptions& o) {
  Tensor at = unnormalized(grid, n, o.align_corners);
  if (o.padding == GridPadding::kZeros) return at;
  if (o.padding == GridPadding::kReflection)
    at = o.align_corners ? reflected(at, 0, double(n - 1)) : reflected(at, -0.5, double(n));
  return clamp(at, {.min = 0., .max = double(n - 1)});
}

/// x [N, C, H W] at columns and rows [N, P], times the weights [N, P]; 0 for positions outside x.
Tensor picked(const Tensor& x, const Tensor& column, const Tensor& row, int64_t height,
              int64_t width, const Tensor& weight) {
  const Tensor inside = logical_and(logical_and(ge(column, 0), le(column, width - 1)),
                                    logical_and(ge(row, 0), le(row, height - 1)));
  const auto id_of = [](const Tensor& at, int64_t n) {
    return clamp(cast(at, DType::kI64), {.min = 0, .max = n - 1});
  };
  const Tensor ids = id_of(row, height) * width + id_of(column, width);
  const Shape shape{x.size(0), x.size(1), ids.size(1)};
  const Tensor values = gather(x, 2, broadcast_to(unsqueeze(ids, 1), shape));
  return where(broadcast_to(unsqueeze(inside, 1), shape),
               weight ? values * unsqueeze(weight, 1) : values, 0);
}

}  // namespace

Tensor upsample_nearest1d(const Tensor& x, int64_t size, const UpsampleOptions& o) {
  return resample("upsample_nearest1d", x, {size}, Interpolation::kNearest, o);
}
Tensor upsample_nearest2d(const Tensor& x, Pair size, const UpsampleOptions& o) {
  return resample("upsample_nearest2d", x, {size.height, size.width}, Interpolation::kNearest, o);
}
Tensor upsample_nearest_exact1d(const Tensor& x, int64_t size, const UpsampleOptions& o) {
  return resample("upsample_nearest_exact1d", x, {size}, Interpolation::kNearestExact, o);
}
Tensor upsample_nearest_exact2d(const Tensor& x, Pair size, const UpsampleOptions& o) {
  return resample("upsample_nearest_exact2d", x, {size.height, size.width},
                  Interpolation::kNearestExact, o);
}
Tensor upsample_linear1d(const Tensor& x, int64_t size, const UpsampleOptions& o) {
  return resample("upsample_linear1d", x, {size}, Interpolation::kLinear, o);
}
Tensor upsample_bilinear2d(const Tensor& x, Pair size, const UpsampleOptions& o) {
  return resample("upsample_bilinear2d", x, {size.height, size.width}, Interpolation::kLinear, o);
}
Tensor upsample_bicubic2d(const Tensor& x, Pair size, const UpsampleOptions& o) {
  return resample("upsample_bicubic2d", x, {size.height, size.width}, Interpolation::kCubic, o);
}

Tensor interpolate(const Tensor& x, const InterpolateOptions& o) {
  const char* const op = "interpolate";
  check_defined(op, x);
  check(x.rank() == 3 || x.rank() == 4, ErrorCode::kShapeMismatch, op,
        "expected x [N, C, L] or [N, C, H, W], got ", x.shape());
  const int dims = x.rank() - 2;
  check(o.size.empty() != o.scale.empty(), ErrorCode::kInvalidArgument, op,
        "expected exactly one of size and scale, got ", o.size.empty() ? "neither" : "both");
  check(o.mode != Interpolation::kCubic || dims == 2, ErrorCode::kInvalidArgument, op,
        "kCubic needs x [N, C, H, W], got ", x.shape());
  Dims sizes = o.size;
  UpsampleOptions upsample{.align_corners = o.align_corners, .scale = o.scale};
  if (o.size.empty()) {
    if (o.scale.size() == 1) upsample.scale.resize(size_t(dims), o.scale[0]);
    check(int(upsample.scale.size()) == dims, ErrorCode::kInvalidArgument, op, "expected ", dims,
          " scales, got ", o.scale.size());
    for (int d = 0; d < dims; d++) {
      const double size = std::floor(double(x.shape()[2 + d]) * upsample.scale[size_t(d)]);
      check(size >= 1 && size <= double(kMaxElements), ErrorCode::kInvalidArgument, op,
            "expected scales that leave at least 1 element, got ", upsample.scale[size_t(d)]);
      sizes.push_back(int64_t(size));
    }
  }
  check(sizes.size() == dims, ErrorCode::kInvalidArgument, op, "expected ", dims, " sizes, got ",
        sizes);
  if (o.mode != Interpolation::kArea) return resample(op, x, sizes, o.mode, upsample);
  return dims == 1 ? adaptive_avg_pool1d(x, sizes[0])
                   : adaptive_avg_pool2d(x, {sizes[0], sizes[1]});
}

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& o) {
  const char* const op = "grid_sample";
  check_defined(op, x);
  check_defined(op, grid);
  check_same_device(op, x, grid);
  check(x.rank() == 4 && grid.rank() == 4 && grid.size(3) == 2 && grid.size(0) == x.size(0) &&
            x.size(2) > 0 && x.size(3) > 0,
        ErrorCode::kShapeMismatch, op, "expected x [N, C, H, W] and grid [N, OH, OW, 2], got ",
        x.shape(), " and ", grid.shape());
  check(is_computed(x.dtype()) && is_floating(x.dtype()) && x.dtype() == grid.dtype(),
        ErrorCode::kDTypeMismatch, op, "expected x and grid of one floating dtype, got ",
        dtype_name(x.dtype()), " and ", dtype_name(grid.dtype()));
  const int64_t n = x.size(0), c = x.size(1), height = x.size(2), width = x.size(3),
                places = grid.size(1) * grid.size(2);
  const DType dtype = computed_in(x.dtype());
  const Tensor planes = reshape(cast(x, dtype), {n, c, height * width});
  const Tensor points = reshape(cast(grid, dtype), {n, places, 2});
  const auto coordinate = [&](int64_t d, int64_t size) {
    return padded_places(squeeze(narrow(points, 2, d, 1), 2), size, o);
  };
  const Tensor column = coordinate(0, width), row = coordinate(1, height);
  Tensor y;
  if (o.nearest) {
    y = picked(planes, round(column.detach()), round(row.detach()), height, width, {});
  } else {
    const Tensor left = floor(column.detach()), top = floor(row.detach());
    const Tensor across = column - left, down = row - top;
    for (int corner = 0; corner < 4; corner++) {
      const bool right = corner % 2 == 1, low = corner / 2 == 1;
      const Tensor weight = (right ? across : 1 - across) * (low ? down : 1 - down);
      const Tensor part =
          picked(planes, right ? left + 1 : left, low ? top + 1 : top, height, width, weight);
      y = y ? y + part : part;
    }
  }
  return cast(reshape(y, {n, c, grid.size(1), grid.size(2)}), x.dtype());
}

}  // namespace wick
