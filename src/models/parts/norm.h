// The normalization of hidden states.
#pragma once
#include <optional>
#include <string>

#include "wick/models/decoder.h"
#include "wick/nn/layers.h"

namespace wick {

struct NormKind {
  NormType type = NormType::kRms;
  double eps = 1e-6;
  bool adds_one = false;  // multiplies by 1 + weight
};

/// A norm of a kind. A model that lacks it gives no name: then it is the identity.
struct Norm {
  std::optional<RmsNorm> rms;
  std::optional<LayerNorm> layer;
  Tensor ones;  // [dim]: the weight of a kRmsPlain
  double eps = 0;

  Norm(const NormKind& kind, Parameters& p, const std::string& name, int64_t dim);
  bool is_identity() const { return !rms && !layer && eps == 0; }
  Tensor operator()(const Tensor& x) const;
};

/// The input of a part that begins with a norm, which the part's first product may do.
struct Normalized {
  Tensor x;
  const Norm* norm = nullptr;  // nullptr: x is normalised

  Normalized(const Tensor& y) : x(y) {}  // NOLINT: implicit, of normalised values
  Normalized(const Tensor& x, const Norm& norm) : x(x), norm(&norm) {}
  Tensor value() const { return norm ? (*norm)(x) : x; }
  /// The norm that the product does; nullptr: it takes value().
  const RmsNorm* rms() const { return norm && norm->rms ? &*norm->rms : nullptr; }
};

}  // namespace wick
