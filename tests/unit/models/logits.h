// How the tests of models read texts and compare logits.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/models/causal_model.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

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

/// Reads three texts with a cache in parts of 1 to 40 tokens, uneven ones and single ones too, and
/// expects expected[row] [T, vocab_size] at each token, less than `near` away.
inline void expect_logits_in_parts(const CausalModel& model, const CacheOptions& options,
                                   const std::vector<std::vector<int64_t>>& texts,
                                   const std::vector<Tensor>& expected, double near) {
  const NoGrad off;
  const auto cache = model.make_cache(options);
  std::vector<int64_t> at(3, 0);
  for (const std::vector<int64_t>& counts :
       {std::vector<int64_t>{1, 11, 40}, std::vector<int64_t>{1, 1, 1},
        std::vector<int64_t>{1, 3, 26}}) {
    const TokenBatch batch = next_tokens(texts, at, counts, model.options().device);
    const Tensor logits = model.logits(model.hidden(batch, cache.get()));
    for (size_t row = 0; row < 3; row++)
      EXPECT_LT(largest_difference(narrow(logits, 0, batch.offsets[row], counts[row]),
                                   narrow(expected[row], 0, at[row], counts[row])),
                near)
          << "row " << row << ", position " << at[row];
    for (size_t row = 0; row < 3; row++) at[row] += counts[row];
  }
}

/// The logits of each whole text are those expected, less than `near` away.
inline void expect_logits(const CausalModel& model, const std::vector<std::vector<int64_t>>& texts,
                          const std::vector<Tensor>& expected, double near) {
  const Device& device = model.options().device;
  for (size_t row = 0; row < texts.size(); row++) {
    const int64_t t = int64_t(texts[row].size());
    const Tensor got =
        model.forward(Tensor::from(texts[row], {1, t}, device), positions_from_0(1, t, device));
    EXPECT_EQ(got.device(), device);
    EXPECT_LT(largest_difference(squeeze(got, 0), expected[row]), near) << "row " << row;
  }
}

/// Reads the first half of each text and then single tokens, with a cache of rows and one of
/// blocks, and expects expected[row] [T, vocab_size] at each token, less than `near` away.
inline void expect_logits_by_halves_and_steps(const CausalModel& model,
                                              const std::vector<std::vector<int64_t>>& texts,
                                              const std::vector<Tensor>& expected, double near) {
  const NoGrad off;
  const int64_t count = int64_t(texts.size());
  for (const int64_t block : {0, 4}) {
    const auto cache =
        model.make_cache({.sequences = count, .capacity = 64, .chunk = 5, .block = block});
    std::vector<int64_t> at(texts.size(), 0);
    const auto read = [&](const std::vector<int64_t>& counts) {
      const TokenBatch batch = next_tokens(texts, at, counts, model.options().device);
      const Tensor got = model.logits(model.hidden(batch, cache.get()));
      for (size_t row = 0; row < texts.size(); row++)
        EXPECT_LT(largest_difference(narrow(got, 0, batch.offsets[row], counts[row]),
                                     narrow(expected[row], 0, at[row], counts[row])),
                  near)
            << "row " << row << ", position " << at[row];
    };
    std::vector<int64_t> halves;
    for (const auto& text : texts) halves.push_back(int64_t(text.size()) / 2);
    read(halves);
    at = halves;
    for (int step = 0; step < 3; step++) {
      read(std::vector<int64_t>(texts.size(), 1));
      for (size_t row = 0; row < texts.size(); row++)  // ended ones read their last token again
        if (at[row] + 1 < int64_t(texts[row].size())) at[row]++;
    }
  }
}

}  // namespace wick::test
