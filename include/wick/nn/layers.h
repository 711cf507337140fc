// Layers: parameters together with the op that uses them.
#pragma once
#include <string>

#include "wick/nn/parameters.h"
#include "wick/ops/matmul.h"

namespace wick {

struct LinearOptions {
  bool bias = false;
  double deviation = 0.02;  // standard deviation of the initial weight
  /// Of the weight. The bias has the same part of its outputs; of a part of the inputs, whose
  /// outputs the ranks add up, rank 0 alone has the bias.
  ParameterPart part = {};
};

/// A linear layer: x [..., in] -> x weightᵀ + bias [..., out], and the epilogue (linear).
/// Parameters NAME.weight [out, in] and NAME.bias [out]; in, out: of the whole weight.
struct WICK_API Linear {
  Parameter weight, bias;
  Linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
         const LinearOptions& options = {});
  Tensor operator()(const Tensor& x, const EpilogueOptions& epilogue = {}) const;
};

/// Linear layers of several experts, of which each row selects some: x [T, in] or [T, J, in] and
/// ids [T, J] -> [T, J, out] (expert_linear), plus the expert's bias. Parameters NAME.weight
/// [experts, out, in] and NAME.bias [experts, out].
struct WICK_API ExpertLinear {
  Parameter weight, bias;
  ExpertLinear(Parameters& parameters, const std::string& name, int64_t experts, int64_t in,
               int64_t out, const LinearOptions& options = {});
  Tensor operator()(const Tensor& x, const Tensor& ids) const;
};

/// Looks up vectors by id: ids [...] i64 in [0, count) -> [..., dim]. Parameter NAME.weight [count,
/// dim]. Returns the dtype of the computation.
struct WICK_API Embedding {
  Parameter weight;
  DType dtype;
  /// part: of the vectors; ids count from its beginning.
  Embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t dim,
            double deviation = 0.02, const ParameterPart& part = {});
  Tensor operator()(const Tensor& ids) const;
};

struct NormOptions {
  double eps = 1e-5;
  bool adds_one = false;  // multiplies by 1 + weight, as Gemma does
};

/// A layer for rms_norm. Parameter NAME.weight [dim]; initially it multiplies by 1.
struct WICK_API RmsNorm {
  Parameter weight;
  NormOptions options;
  RmsNorm(Parameters& parameters, const std::string& name, int64_t dim,
          const NormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  /// The factors [dim]: the weight, or 1 + weight.
  Tensor scale() const;

 private:
  Tensor frozen_scale_;  // 1 + weight, if that is asked for and does not change
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool affine = true;  // has weight and bias, else neither
  bool bias = true;    // if affine
};

/// A layer for layer_norm. Parameters NAME.weight and NAME.bias [dim]; initially it multiplies by 1
/// and adds 0.
struct WICK_API LayerNorm {
  Parameter weight, bias;
  LayerNormOptions options;
  LayerNorm(Parameters& parameters, const std::string& name, int64_t dim,
            const LayerNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor ones_;  // the weight that is not affine
};

}  // namespace wick
