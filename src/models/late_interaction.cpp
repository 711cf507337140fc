#include "wick/models/late_interaction.h"

#include <vector>

#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"

namespace wick {
namespace {

void require_vectors(const char* name, const Tensor& x, int64_t size) {
  check(x.rank() == 2 && x.size(1) == size && x.size(0) > 0, ErrorCode::kShapeMismatch,
        "late_interaction", name, ": expected [tokens, ", size, "] with a token, got ", x.shape());
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, "late_interaction", name,
        ": expected a floating dtype, got ", dtype_name(x.dtype()));
}

}  // namespace

Tensor late_interaction(const Tensor& query, std::span<const Tensor> documents) {
  require_vectors("query", query, query.rank() == 2 ? query.size(1) : 0);
  for (const Tensor& document : documents) require_vectors("documents", document, query.size(1));
  const Tensor wide = cast(query, DType::kF32);
  std::vector<Tensor> scores;
  for (const Tensor& document : documents) {
    const Tensor products = linear(wide, cast(document, DType::kF32));  // [T, P]
    scores.push_back(sum(max(products, {.dims = {-1}})));
  }
  if (scores.empty()) return zeros({0}, {.dtype = DType::kF32, .device = query.device()});
  return stack(scores);
}

}  // namespace wick
