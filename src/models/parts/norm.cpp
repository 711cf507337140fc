#include "models/parts/norm.h"

#include "wick/ops/create.h"
#include "wick/ops/norm.h"

namespace wick {

Norm::Norm(const NormKind& kind, Parameters& p, const std::string& name, int64_t dim) {
  if (name.empty()) return;
  if (kind.type == NormType::kRmsPlain) {
    eps = kind.eps;
    const ParameterOptions& o = p.options();
    if (!p.only_shapes()) ones = wick::ones({dim}, {.dtype = o.dtype, .device = o.device});
  } else if (kind.type == NormType::kRms)
    rms.emplace(p, name, dim, NormOptions{.eps = kind.eps, .adds_one = kind.adds_one});
  else
    layer.emplace(p, name, dim,
                  LayerNormOptions{.eps = kind.eps,
                                   .affine = kind.type != NormType::kLayerPlain,
                                   .bias = kind.type == NormType::kLayer});
}

Tensor Norm::operator()(const Tensor& x) const {
  if (rms) return (*rms)(x);
  if (ones) return rms_norm(x, ones, eps);
  return layer ? (*layer)(x) : x;
}

}  // namespace wick
