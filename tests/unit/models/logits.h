// How the tests of models read texts and compare logits.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/models/causal_model.h"
#include "wick/ops/cast.h"

namespace wick::test {

/// The largest difference of two elements; infinite if one is not a number or the sizes differ.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto x = cast(a, DType::kF64).to_vector<double>(),
             y = cast(b, DType::kF64).to_vector<double>();
  if (x.size() != y.size()) return kInfinite;
  double largest = 0;
  for (size_t i = 0; i < x.size(); i++) {
    const double difference = std::fabs(x[i] - y[i]);
    largest = std::isnan(difference) ? kInfinite : std::max(largest, difference);
  }
  return largest;
}

/// The next counts[row] tokens of each text, of which at[row] have been read.
inline TokenBatch next_tokens(const std::vector<std::vector<int64_t>>& texts,
                              const std::vector<int64_t>& at, const std::vector<int64_t>& counts,
                              const Device& device) {
  TokenBatch batch;
  std::vector<int64_t> ids, positions;
  batch.offsets = {0};
  batch.starts = at;
  for (size_t row = 0; row < texts.size(); row++) {
    for (int64_t i = at[row]; i < at[row] + counts[row]; i++) {
      ids.push_back(texts[row][size_t(i)]);
      positions.push_back(i);
    }
    batch.offsets.push_back(int64_t(ids.size()));
  }
  batch.ids = Tensor::from(ids, device);
  batch.positions = Tensor::from(positions, device);
  return batch;
}

}  // namespace wick::test
