#include "ops/linear/conv_composite.h"

#include <algorithm>
#include <vector>

#include "ops/elementwise/dtypes.h"
#include "ops/linear/windows.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

// Bytes of columns written out at once. More than some tens of megabytes is no faster.
constexpr int64_t kColumnBytes = int64_t(1) << 26;

/// The sizes of a convolution, and its matrix products over columns.
class Columns {
 public:
  Columns(const Shape& x, const Shape& weight, const Shape& y, const ConvAttributes& a)
      : x_(x),
        y_(y),
        groups_(a.groups),
        taps_(weight[1] * weight[2] * weight[3]),
        places_(y[2] * y[3]),
        window_(pool_attributes({weight[2], weight[3]}, {a.stride[0], a.stride[1]},
                                {a.padding[0], a.padding[1]}, {a.dilation[0], a.dilation[1]})) {}

  /// The number of images whose columns are written out at once.
  int64_t images_at_once(DType dtype) const {
    const int64_t bytes = bytes_of(dtype, groups_ * taps_ * places_);
    return std::clamp<int64_t>(kColumnBytes / std::max<int64_t>(bytes, 1), 1, x_[0]);
  }

  /// y for some images: [G, O / G, K] times [N, G, K, P].
  Tensor forward(const Tensor& x, const Tensor& weight) const {
    const int64_t n = x.size(0);
    const Tensor columns =
        reshape(windows(x, window_, {y_[2], y_[3]}), {n, groups_, taps_, places_});
    return reshape(matmul(reshape(weight, {groups_, y_[1] / groups_, taps_}), columns),
                   {n, y_[1], y_[2], y_[3]});
  }
  /// The gradient of x for some images: the columns' gradient [G, K, O / G] times [N, G, O / G, P],
  /// folded.
  Tensor input_gradient(const Tensor& y, const Tensor& weight) const {
    const int64_t n = y.size(0);
    const Tensor matrix = transpose(reshape(weight, {groups_, y_[1] / groups_, taps_}));
    const Tensor columns = matmul(matrix, reshape(y, {n, groups_, y_[1] / groups_, places_}));
    return fold(reshape(columns, {n, x_[1], window_.kernel[0], window_.kernel[1], y_[2], y_[3]}),
                window_, {x_[2], x_[3]});
  }
  /// The contribution of some images to the weight's gradient: [G, O / G, N P] times [G, N P, K].
  Tensor weight_gradient(const Tensor& y, const Tensor& x) const {
    const int64_t n = y.size(0), outputs = y_[1] / groups_;
    const Tensor rows = reshape(permute(reshape(y, {n, y_[1], places_}), {1, 0, 2}),
                                {groups_, outputs, n * places_});
    const Tensor columns = reshape(permute(windows(x, window_, {y_[2], y_[3]}), {1, 2, 3, 0, 4, 5}),
                                   {groups_, taps_, n * places_});
    return matmul(rows, transpose(columns));
  }

 private:
  Shape x_, y_;
  int64_t groups_, taps_, places_;
  PoolAttributes window_;
};

}  // namespace

Tensor conv_composite(const Op& op, const Tensor& a, const Tensor& b, const Shape& out,
                      const ConvAttributes& attributes) {
  const NoGrad no_grad;
  const DType dtype = a.dtype(), wide = computed_in(dtype);
  const int64_t images = a.size(0);
  const bool of_weight = op == kConvWeightGradient;
  const Shape& x = op == kConv ? a.shape() : of_weight ? b.shape() : out;
  const Shape& weight = of_weight ? out : b.shape();
  const Shape& y = op == kConv ? out : a.shape();
  const Columns columns(x, weight, y, attributes);
  const int64_t step = columns.images_at_once(op == kConv ? dtype : wide);
  std::vector<Tensor> parts;
  Tensor total;
  for (int64_t first = 0; first < images; first += step) {
    const int64_t count = std::min(step, images - first);
    const Tensor part = narrow(a, 0, first, count);
    if (op == kConv) {
      parts.push_back(columns.forward(part, b));
    } else if (op == kConvInputGradient) {
      // Sums over channels and windows together are rounded once.
      parts.push_back(cast(columns.input_gradient(cast(part, wide), cast(b, wide)), dtype));
    } else {
      const Tensor sum =
          columns.weight_gradient(cast(part, wide), cast(narrow(b, 0, first, count), wide));
      total = total ? total + sum : sum;
    }
  }
  if (of_weight) return cast(reshape(total, out), dtype);
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

}  // namespace wick
