#include "models/parts/rotary.h"

#include <algorithm>

#include "ops/fused/rope_frequencies.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {

Rotary::Rotary(int64_t positions, int64_t dim, double theta, const RopeScaling& scaling,
               const TensorOptions& options)
    : dim_(dim),
      theta_(theta),
      scaling_(scaling),
      dtype_(options.dtype == DType::kF64 ? DType::kF64 : DType::kF32) {
  const TensorOptions of_tables{.dtype = dtype_, .device = options.device};
  if (is_dynamic()) {
    last_ = rope_tables_of_last(positions, dim, theta, of_tables, scaling);
    // These serve texts within the trained context; `of` makes tables for longer ones.
    positions = std::min(positions, scaling.original_max_position_embeddings);
  }
  tables_ = rope_tables(positions, dim, theta, of_tables, scaling);
}

Rotation Rotary::of(const Tensor& at, const std::vector<int64_t>& lengths) const {
  if (is_dynamic() && lengths.empty() && at.size(1) == 1) return {last_, at};
  if (!is_dynamic() || lengths.empty() ||
      *std::max_element(lengths.begin(), lengths.end()) <=
          scaling_.original_max_position_embeddings)
    return {tables_, at};
  const int64_t batch = at.size(0), tokens = at.size(1), pairs = dim_ / 2;
  std::vector<double> frequencies;
  for (const int64_t length : lengths)
    for (const double frequency :
         rope_frequencies(length, dim_, theta_, dtype_ == DType::kF32, scaling_))
      frequencies.push_back(frequency);
  const Tensor per_row = cast(Tensor::from(frequencies, {batch, 1, pairs}), dtype_);
  const Tensor angles =
      reshape(unsqueeze(cast(at, dtype_), 2) * per_row.to(at.device()), {batch * tokens, pairs});
  const Tensor rows = arange(batch * tokens, {.dtype = DType::kI64, .device = at.device()});
  return {{cos(angles), sin(angles)}, reshape(rows, {batch, tokens})};
}

Tensor rotated(const Tensor& x, const Rotation& rotation, RopePairs pairs, int64_t dim) {
  const RopeOptions options{
      .pairs = pairs, .layout = RopeLayout::kTokensFirst, .positions = rotation.rows};
  const int64_t rest = x.size(3) - dim;
  if (rest == 0) return rope(x, rotation.tables, options);
  return cat({rope(narrow(x, 3, 0, dim), rotation.tables, options), narrow(x, 3, dim, rest)}, 3);
}

}  // namespace wick
