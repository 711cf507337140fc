// Matrix products.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// a [..., M, K] times b [..., K, N] -> [..., M, N]; leading dims broadcast; a vector counts as a
/// row (a) or a column (b), whose dim goes away. Of one dtype, as a sum in the wider
/// one is asked for by a cast; f16, bf16 and f8 accumulate in f32; integers wrap, bool gives i64. Error: |e| <= c u sum|a b| + 1 ulp of the output dtype,
/// u of the accumulator, c = 2 + log2(K); where all terms are alike, whose roundings do not
/// cancel, up to K: libraries and cards sum one after another. Errors: kShapeMismatch,
/// kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor matmul(const Tensor& a, const Tensor& b);
/// x [..., in] times the transpose of weight [out, in], plus bias [out] if there is one -> [...,
/// out]. Error: as matmul, and 0.5 ulp for the bias.
WICK_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace wick
