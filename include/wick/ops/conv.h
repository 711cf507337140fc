// Convolutions (cross-correlations, as in other frameworks) over one and two dims.
#pragma once
#include "wick/ops/windows.h"

namespace wick {

/// Requests the padding that keeps the size; an odd total puts the extra element last. The stride
/// must be 1.
enum SamePadding { kSamePadding };

struct Padding1d {
  Padding1d(int64_t both) : left(both), right(both) {}  // NOLINT: 1 is {1, 1}
  Padding1d(int64_t left, int64_t right) : left(left), right(right) {}
  Padding1d(SamePadding) : same(true) {}  // NOLINT

  int64_t left = 0, right = 0;
  bool same = false;
};

struct Padding2d {
  Padding2d(int64_t all) : top(all), bottom(all), left(all), right(all) {}  // NOLINT: all sides
  Padding2d(int64_t height, int64_t width)
      : top(height), bottom(height), left(width), right(width) {}
  Padding2d(Pair both) : Padding2d(both.height, both.width) {}  // NOLINT: same on both sides
  Padding2d(int64_t top, int64_t bottom, int64_t left, int64_t right)
      : top(top), bottom(bottom), left(left), right(right) {}
  Padding2d(SamePadding) : same(true) {}  // NOLINT

  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool same = false;
};

/// The values in the padding: zeros; x mirrored at its edge element (needs padding below the size);
/// x's edge element; x's opposite end (needs padding up to the size).
enum class PaddingMode { kZeros, kReflect, kReplicate, kCircular };

struct Conv1dOptions {
  Tensor bias = {};  // [O]; empty: no bias
  int64_t stride = 1;
  Padding1d padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  PaddingMode padding_mode = PaddingMode::kZeros;
};

struct Conv2dOptions {
  Tensor bias = {};  // [O]; empty: no bias
  Pair stride = 1;
  Padding2d padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  PaddingMode padding_mode = PaddingMode::kZeros;
};

struct ConvTranspose1dOptions {
  Tensor bias = {};  // [O]; empty: no bias
  int64_t stride = 1;
  Padding1d padding = 0;
  int64_t output_padding = 0;  // extra elements at the end; less than the stride or the dilation
  int64_t dilation = 1;
  int64_t groups = 1;
};

struct ConvTranspose2dOptions {
  Tensor bias = {};  // [O]; empty: no bias
  Pair stride = 1;
  Padding2d padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
};

/// y[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] x[n, c, i stride + k dilation - left].
///
/// x       [N, C, L], or [C, L] without a batch
/// weight  [O, C / groups, K]; a group is a contiguous run of channels of x and of y
/// Returns [N, O, (L + left + right - dilation (K - 1) - 1) / stride + 1].
/// Floating; dtypes promote; f16, bf16 and f8 accumulate in f32.
/// Error: |e| <= c u sum|x weight| + 1 ulp of the output dtype, u: unit roundoff of the
/// accumulator, c = 4 + 2 log2(terms); plus 0.5 ulp for the bias. Padding zeros times an infinite
/// weight may give 0 or NaN.
/// Errors: kShapeMismatch; kDTypeMismatch for integers; kInvalidArgument for bad options;
/// kDeviceMismatch.
WICK_API Tensor conv1d(const Tensor& x, const Tensor& weight, const Conv1dOptions& options = {});
/// conv1d over two dims: x [N, C, H, W] or [C, H, W], weight [O, C / groups, KH, KW].
WICK_API Tensor conv2d(const Tensor& x, const Tensor& weight, const Conv2dOptions& options = {});

/// The transpose of conv1d, which is its gradient: y[n, o, i stride + k dilation - left] is the sum
/// of x[n, c, i] weight[c, o, k] over c, i, k.
///
/// x       [N, C, L] or [C, L]
/// weight  [C, O / groups, K]
/// Returns [N, O, (L - 1) stride - left - right + dilation (K - 1) + output_padding + 1]. dtypes,
/// error bound and errors as in conv1d.
WICK_API Tensor conv_transpose1d(const Tensor& x, const Tensor& weight,
                                 const ConvTranspose1dOptions& options = {});
/// conv_transpose1d over two dims: x [N, C, H, W] or [C, H, W], weight [C, O / groups, KH, KW].
WICK_API Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                                 const ConvTranspose2dOptions& options = {});

}  // namespace wick
