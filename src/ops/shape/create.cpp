#include "wick/ops/create.h"

#include <cmath>

#include "base/calling.h"
#include "base/parallel.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/elementwise/range.h"
#include "ops/shape/filled.h"
#include "ops/shape/gather.h"
#include "scalar/cast.h"
#include "wick/abi/ops/create.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The bytes of the number as an element of dtype, lowest first.
uint64_t element_bits(Number value, DType dtype) {
  uint64_t bits = 0;
  dispatch(dtype, StoredTypes{}, [&]<class T>() {
    const T element = value.is_above_i64() ? convert<T>(uint64(value.integer()))
                      : value.is_integer() ? convert<T>(int64(value.integer()))
                                           : convert<T>(value.real());
    std::memcpy(&bits, &element, sizeof element);
  });
  return bits;
}

/// Computes make(i) for n elements on the host, so that the numbers are the same on every device.
template <class T, class Make>
Tensor counted(int64_t n, const TensorOptions& options, Make make) {
  constexpr int64_t kGrain = 1 << 15;
  check_elements("arange", options.dtype);
  const Tensor values = Tensor::empty({n}, {.dtype = kDTypeOf<T>});
  T* to = static_cast<T*>(values.data());
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = make(i);
  });
  return cast(values, options.dtype).to(options.device);
}

TensorOptions with_dtype(const CountOptions& options, DType otherwise) {
  return {.dtype = options.dtype.value_or(otherwise), .device = options.device};
}

void check_step(Number start, Number end, Number step) {
  const bool integers = start.is_integer() && end.is_integer();
  const bool ahead = integers ? start.integer() <= end.integer() : start.real() <= end.real();
  const bool behind = integers ? start.integer() >= end.integer() : start.real() >= end.real();
  check(step.real() != 0 && (step.real() > 0 ? ahead : behind), ErrorCode::kInvalidArgument,
        "arange", "expected a step from ", start.real(), " towards ", end.real(), ", got ",
        step.real());
}

template <class N>
void check_count(N count) {
  check(count < N(int64_t(1) << 60), ErrorCode::kInvalidArgument, "arange",
        "expected fewer than 2^60 elements, got ", double(count));
}

}  // namespace

Tensor full(const Shape& shape, Number value, const TensorOptions& options) {
  const Calling calling("full");
  check_elements("full", options.dtype);
  check_holds("full", options.dtype, value);
  return filled(shape, value, options);
}

Tensor filled(const Shape& shape, Number value, const TensorOptions& options) {
  const Tensor y = Tensor::empty(shape, options);
  if (y.numel() == 0) return y;
  const FillAttributes attributes{element_bits(value, options.dtype)};
  const Operand out = operand(y);
  elementwise(options.device, kFill, shape, {}, {&out, 1}, attributes_of(attributes));
  return y;
}

Tensor zeros(const Shape& shape, const TensorOptions& options) {
  const Calling calling("zeros");
  return full(shape, 0, options);
}
Tensor ones(const Shape& shape, const TensorOptions& options) {
  const Calling calling("ones");
  return full(shape, 1, options);
}

Tensor full_like(const Tensor& x, Number value) {
  const Calling calling("full_like");
  check_defined("full_like", x);
  return full(x.shape(), value, {.dtype = x.dtype(), .device = x.device()});
}
Tensor zeros_like(const Tensor& x) {
  const Calling calling("zeros_like");
  return full_like(x, 0);
}
Tensor ones_like(const Tensor& x) {
  const Calling calling("ones_like");
  return full_like(x, 1);
}
Tensor empty_like(const Tensor& x) {
  check_defined("empty_like", x, BlockDTypes::kAccepted);
  return Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
}

Tensor arange(int64_t n, const CountOptions& options) {
  const Calling calling("arange");
  check(n >= 0, ErrorCode::kInvalidArgument, "arange", "expected n of at least 0, got ", n);
  return counted<int64>(n, with_dtype(options, DType::kI64), [](int64_t i) { return i; });
}

Tensor arange(Number start, Number end, Number step, const CountOptions& options) {
  const Calling calling("arange");
  for (const Number n : {start, end, step})
    check(!n.is_above_i64(), ErrorCode::kInvalidArgument, "arange",
          "expected integers of at most 2^63 - 1, got ", uint64_t(n.integer()));
  if (start.is_integer() && end.is_integer() && step.is_integer()) {
    const int64_t first = start.integer(), by = step.integer();
    // Unsigned, because the distance may exceed int64_t.
    const uint64_t distance = by < 0 ? uint64_t(first) - uint64_t(end.integer())
                                     : uint64_t(end.integer()) - uint64_t(first);
    const uint64_t size = by < 0 ? -uint64_t(by) : uint64_t(by);
    check_step(start, end, step);
    const uint64_t count = distance / size + (distance % size != 0);
    check_count(count);
    return counted<int64>(int64_t(count), with_dtype(options, DType::kI64), [=](int64_t i) {
      return int64_t(uint64_t(first) + uint64_t(i) * uint64_t(by));
    });
  }
  check_step(start, end, step);
  const double first = start.real(), by = step.real();
  const double count = std::ceil((end.real() - first) / by);
  check_count(count);
  return counted<double>(int64_t(count), with_dtype(options, DType::kF32),
                         [=](int64_t i) { return first + double(i) * by; });
}

Tensor arange(Number start, Number end, Number step) {
  const Calling calling("arange");
  return arange(start, end, step, {});
}

Tensor linspace(double start, double end, int64_t n, const TensorOptions& options) {
  const Calling calling("linspace");
  check(n >= 0, ErrorCode::kInvalidArgument, "linspace", "expected n of at least 0, got ", n);
  const double step = n > 1 ? (end - start) / double(n - 1) : 0;
  // Counts from the nearer end, so that both ends are exact and the numbers are symmetric.
  return counted<double>(n, options, [=](int64_t i) {
    return i < (n + 1) / 2 ? start + double(i) * step : end - double(n - 1 - i) * step;
  });
}

Tensor eye(int64_t rows, const TensorOptions& options) {
  const Calling calling("eye");
  return eye(rows, rows, options);
}

Tensor eye(int64_t rows, int64_t columns, const TensorOptions& options) {
  const Calling calling("eye");
  const Tensor y = zeros({rows, columns}, options);
  const Tensor ones_at = diagonal(y);
  if (ones_at.numel() > 0)
    copy_elements(broadcast_to(full({}, 1, options), ones_at.shape()), ones_at);
  return y;
}

Tensor tril_mask(int64_t rows, int64_t columns, int64_t diagonal, const Device& device) {
  const Calling calling("tril_mask");
  return tril(ones({rows, columns}, {.dtype = DType::kBool, .device = device}), diagonal);
}
Tensor triu_mask(int64_t rows, int64_t columns, int64_t diagonal, const Device& device) {
  const Calling calling("triu_mask");
  return triu(ones({rows, columns}, {.dtype = DType::kBool, .device = device}), diagonal);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes, MeshIndexing indexing) {
  Shape shape;
  for (const Tensor& axis : axes) {
    check_defined("meshgrid", axis);
    check(axis.rank() == 1, ErrorCode::kShapeMismatch, "meshgrid",
          "expected inputs of one dim, got shape ", axis.shape());
    shape.push_back(axis.numel());
  }
  const bool exchanged = indexing == MeshIndexing::kXy && axes.size() > 1;
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); i++) {
    Shape along(int(axes.size()), 1);
    along[int(i)] = axes[i].numel();
    const Tensor grid = broadcast_to(reshape(axes[i], along), shape);
    grids.push_back(exchanged ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype) {
  const Calling calling("one_hot");
  check_defined("one_hot", ids);
  check_integers("one_hot", "ids", ids);
  check(num_classes >= 0, ErrorCode::kInvalidArgument, "one_hot",
        "expected at least 0 classes, got ", num_classes);
  Shape shape = ids.shape();
  shape.push_back(num_classes);
  const TensorOptions options{.dtype = dtype, .device = ids.device()};
  const Tensor column = unsqueeze(ids, -1);
  return scatter(zeros(shape, options), -1, column,
                 broadcast_to(full({}, 1, options), column.shape()));
}

}  // namespace wick
