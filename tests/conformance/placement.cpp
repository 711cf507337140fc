#include "placement.h"
#include "wick/ops/shape.h"

#include <algorithm>
#include <numeric>

namespace wick::conformance {
namespace {

constexpr int64_t kGuardBytes =
    256;  // a multiple of what memory is aligned to: the operand stays aligned

Dims dims_of(const HostShape& shape) { return Dims(std::span<const int64_t>(shape)); }

/// values in the middle of a flat buffer, seen as `shape`.
Placement in_flat_buffer(const Array& values) {
  const int64_t guard = kGuardBytes / dtype_size(values.dtype), n = int64_t(values.values.size());
  Placement result{values, {values.dtype, {guard + n + guard}, {}}, {}, nullptr};
  result.buffer.values.assign(std::size_t(guard + n + guard), guard_value(values.dtype));
  std::copy(values.values.begin(), values.values.end(), result.buffer.values.begin() + guard);
  result.view = [guard, n, shape = dims_of(values.shape)](const Tensor& buffer) {
    return reshape(narrow(buffer, 0, guard, n), shape);
  };
  return result;
}

/// Dims that a larger buffer is larger in: the outermost two and the innermost two. All of ten
/// would make millions of elements of a hundred.
bool is_widened(std::size_t dim, std::size_t rank) { return dim < 2 || dim + 2 >= rank; }

/// A part of a larger buffer, `before` elements in where it is larger.
Placement in_larger_buffer(const Array& values, int64_t before, int64_t after) {
  const HostShape& shape = values.shape;
  const std::size_t rank = shape.size();
  HostShape larger = shape;
  for (std::size_t d = 0; d < rank; d++)
    if (is_widened(d, rank)) larger[d] += before + after;
  Placement result{values, {values.dtype, larger, {}}, {}, nullptr};
  result.buffer.values.assign(std::size_t(reference::numel(larger)), guard_value(values.dtype));
  const std::size_t columns = std::size_t(shape.back());
  for (std::size_t row = 0; row < values.values.size(); row += columns) {
    Index index = reference::index_at(shape, int64_t(row));
    for (std::size_t d = 0; d < rank; d++)
      if (is_widened(d, rank)) index[d] += before;
    std::copy_n(values.values.begin() + std::ptrdiff_t(row), columns,
                result.buffer.values.begin() + reference::position(larger, index));
  }
  result.view = [shape, before](const Tensor& buffer) {
    Tensor view = buffer;
    for (std::size_t d = 0; d < shape.size(); d++)
      if (is_widened(d, shape.size())) view = narrow(view, int64_t(d), before, shape[d]);
    return view;
  };
  return result;
}

Placement transposed(const Array& values) {
  const int rank = int(values.shape.size());
  if (rank == 1) {  // the second column of two
    Array column = values;
    column.shape.push_back(1);
    Placement result = in_larger_buffer(column, 1, 0);
    result.operand = values;
    result.view = [inner = result.view](const Tensor& buffer) { return squeeze(inner(buffer), 1); };
    return result;
  }
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.rbegin(), order.rend(), 0);
  Placement result = in_flat_buffer(reference::permute(values, order));
  result.operand = values;
  Dims back(rank, 0);
  for (int d = 0; d < rank; d++) back[d] = order[std::size_t(d)];
  result.view = [inner = result.view, back](const Tensor& buffer) {
    return permute(inner(buffer), back);
  };
  return result;
}

Placement broadcast(const Array& values, Random& random) {
  HostShape small = values.shape;
  bool repeats = false;
  for (int64_t& size : small) {
    if (size > 1 && random.below(2) == 0) size = 1, repeats = true;
  }
  if (!repeats) {
    const auto last =
        std::find_if(small.rbegin(), small.rend(), [](int64_t size) { return size > 1; });
    if (last != small.rend()) *last = 1;
  }
  const Array first = reference::build(values.dtype, small, [&](const Index& index) {
    return values.values[std::size_t(reference::position(values.shape, index))];
  });
  Placement result = in_flat_buffer(first);
  result.operand = reference::expand(first, values.shape);
  result.view = [inner = result.view, shape = dims_of(values.shape)](const Tensor& buffer) {
    return broadcast_to(inner(buffer), shape);
  };
  return result;
}

Placement laid_out(const Array& values, OperandLayout place, Random& random) {
  const bool scalar = values.shape.empty();
  switch (place) {
    case OperandLayout::kWhole:
      return {values, values, {}, [](const Tensor& buffer) { return buffer; }};
    case OperandLayout::kTransposed:
      return scalar ? in_flat_buffer(values) : transposed(values);
    case OperandLayout::kSliced: {
      if (!scalar) return in_larger_buffer(values, 1, 2);
      Placement result = in_larger_buffer({values.dtype, {1}, values.values}, 1, 2);
      result.operand = values;
      result.view = [inner = result.view](const Tensor& buffer) {
        return squeeze(inner(buffer), 0);
      };
      return result;
    }
    case OperandLayout::kBroadcast:
      return broadcast(values, random);
    case OperandLayout::kContiguous:
      break;
  }
  return in_flat_buffer(values);
}

Tensor upload_bytes(const Array& x, const std::vector<unsigned char>& bytes, const Device& device) {
  Tensor result;
  dispatch(x.dtype, StoredTypes{}, [&]<class T>() {
    const auto* values = reinterpret_cast<const T*>(bytes.data());
    result = Tensor::from(std::span<const T>(values, x.values.size()), dims_of(x.shape), device);
  });
  return result;
}

}  // namespace

Real guard_value(DType dtype) {
  if (is_floating(dtype)) return std::numeric_limits<Real>::quiet_NaN();
  return dtype == DType::kBool ? 1 : reference::largest(dtype) - 7;
}

Placement place(const Array& values, OperandLayout place, Random& random) {
  Placement result = laid_out(values, place, random);
  result.bytes = bytes_of(result.buffer);
  return result;
}

std::vector<unsigned char> bytes_of(const Array& x) {
  std::vector<unsigned char> bytes(std::size_t(bytes_of(x.dtype, int64(x.values.size()))));
  reference::encode(x.dtype, x.values, bytes.data());
  return bytes;
}

Tensor upload(const Array& x, const Device& device) { return upload_bytes(x, bytes_of(x), device); }

Tensor upload_buffer(const Placement& placement, const Device& device) {
  return upload_bytes(placement.buffer, placement.bytes, device);
}

std::vector<unsigned char> read_bytes(const Tensor& x) {
  std::vector<unsigned char> bytes(std::size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  return bytes;
}

Array download(const Tensor& x) {
  const std::vector<unsigned char> bytes = read_bytes(x);
  Array result{x.dtype(), HostShape(x.shape().begin(), x.shape().end()), {}};
  result.values.resize(std::size_t(x.numel()));
  reference::decode(x.dtype(), bytes.data(), result.values);
  return result;
}

}  // namespace wick::conformance
