#include "resample.h"

#include <algorithm>
#include <cmath>

#include "sum.h"

namespace wick::reference {
namespace {

struct Tap {
  int64_t index;
  Real weight;
};

/// Keys' kernel at a distance, a = -3/4.
Real cubic(Real distance) {
  const Real a = -0.75, d = std::fabs(distance);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  if (d < 2) return a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
  return 0;
}

/// The elements along a dim that make up element i.
std::vector<Tap> taps_of(int64_t i, std::size_t d, int64_t in, const Resampling& r) {
  const int64_t out = r.size[d];
  const auto inside = [&](int64_t index) { return std::clamp<int64_t>(index, 0, in - 1); };
  const bool scaled = !r.scale.empty();
  if (in == out && (r.mode == Sampling::kNearest || r.mode == Sampling::kNearestExact))
    return {{i, 1}};
  if (r.mode == Sampling::kNearest)
    return {{inside(int64_t(scaled ? std::floor(Real(i) / r.scale[d]) : Real(i * in / out))), 1}};
  if (r.mode == Sampling::kNearestExact)
    return {{inside(int64_t(scaled ? std::floor((Real(i) + 0.5L) / r.scale[d])
                                   : Real((2 * i + 1) * in / (2 * out)))),
             1}};
  Real at = 0;
  if (r.align_corners)
    at = out == 1 ? 0 : Real(i * (in - 1)) / Real(out - 1);
  else if (scaled)
    at = (Real(i) + 0.5L) / r.scale[d] - 0.5L;
  else
    at = Real((2 * i + 1) * in - out) / Real(2 * out);
  if (r.mode == Sampling::kLinear && at < 0) at = 0;
  const int64_t floor = int64_t(std::floor(at));
  const Real share = at - Real(floor);
  if (r.mode == Sampling::kLinear) return {{inside(floor), 1 - share}, {inside(floor + 1), share}};
  std::vector<Tap> taps;
  for (int64_t k = -1; k <= 2; k++) taps.push_back({inside(floor + k), cubic(share - Real(k))});
  return taps;
}

Real mirrored(Real at, Real low, Real high) {
  if (high <= low) return low;
  while (at < low || at > high) at = at < low ? 2 * low - at : 2 * high - at;
  return at;
}

}  // namespace

Result resample(const Array& x, const Resampling& r) {
  Result result;
  const bool picks = r.mode == Sampling::kNearest || r.mode == Sampling::kNearestExact;
  result.array =
      build(x.dtype, {x.shape[0], x.shape[1], r.size[0], r.size[1]}, [&](const Index& index) {
        Sum sum;
        Real last = 0, magnitude = 0;
        for (const Tap& row : taps_of(index[2], 0, x.shape[2], r)) {
          for (const Tap& column : taps_of(index[3], 1, x.shape[3], r)) {
            last = x.values[std::size_t(
                position(x.shape, {index[0], index[1], row.index, column.index}))];
            sum.add(row.weight * column.weight * last);
            magnitude += std::fabs(last);
          }
        }
        result.magnitude.push_back(magnitude);  // weights are off by u, not by u of themselves
        return picks ? last : sum.value();
      });
  if (picks) result.magnitude.clear();
  result.terms = picks ? 0 : r.mode == Sampling::kLinear ? 4 : 16;
  return result;
}

Result grid_sample(const Array& x, const Array& grid, const GridSampling& g) {
  Result result;
  const int64_t sizes[2] = {x.shape[3], x.shape[2]};
  Real largest = 0;
  for (const Real value : x.values) largest = std::max(largest, std::fabs(value));
  const auto element = [&](const Index& index, Real row, Real column) -> Real {
    if (row < 0 || column < 0 || row >= Real(sizes[1]) || column >= Real(sizes[0])) return 0;
    return x.values[std::size_t(
        position(x.shape, {index[0], index[1], int64_t(row), int64_t(column)}))];
  };
  result.array = build(
      x.dtype, {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]}, [&](const Index& index) {
        Real at[2];
        for (int64_t d = 0; d < 2; d++) {
          const Real n = Real(sizes[d]);
          const Real unit =
              grid.values[std::size_t(position(grid.shape, {index[0], index[2], index[3], d}))];
          at[d] = g.align_corners ? (unit + 1) / 2 * (n - 1) : ((unit + 1) * n - 1) / 2;
          if (g.padding == 2)
            at[d] = g.align_corners ? mirrored(at[d], 0, n - 1) : mirrored(at[d], -0.5L, n - 0.5L);
          if (g.padding > 0) at[d] = std::clamp<Real>(at[d], 0, n - 1);
        }
        result.magnitude.push_back(Real(sizes[0] + sizes[1]) * largest);
        if (g.nearest) return element(index, std::nearbyint(at[1]), std::nearbyint(at[0]));
        const Real left = std::floor(at[0]), top = std::floor(at[1]);
        const Real across = at[0] - left, down = at[1] - top;
        return (1 - down) * ((1 - across) * element(index, top, left) +
                             across * element(index, top, left + 1)) +
               down * ((1 - across) * element(index, top + 1, left) +
                       across * element(index, top + 1, left + 1));
      });
  result.terms = 4;
  return result;
}

}  // namespace wick::reference
