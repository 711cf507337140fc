#include "wick/core/tensor.h"

#include <limits>

#include "core/launch.h"

namespace wick {
namespace {

/// Bytes of a tensor of this shape. Errors: kInvalidArgument for a negative size or more than 2^63
/// bytes.
int64_t bytes_of(const Shape& shape, DType dtype) {
  int64_t bytes = dtype_size(dtype);
  bool zero = false;
  for (const int64_t size : shape) {
    check(size >= 0, ErrorCode::kInvalidArgument, "tensor", "expected sizes of at least 0, got ",
          shape);
    zero = zero || size == 0;
  }
  if (zero) return 0;
  for (const int64_t size : shape)
    check(!__builtin_mul_overflow(bytes, size, &bytes), ErrorCode::kInvalidArgument, "tensor",
          "shape ", shape, " has more than 2^63 bytes");
  return bytes;
}

void copy_bytes(const Device& device, void* to, const void* from, int64_t bytes, CopyKind kind) {
  if (bytes == 0) return;
  const DeviceState& state = device.state();
  state.require(state.backend.copy(state.device(), to, from, bytes, kind, nullptr), "copy");
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, Layout layout, DType dtype)
    : impl_(std::make_shared<Impl>(Impl{std::move(storage), std::move(layout), dtype, nullptr})) {}

Tensor Tensor::empty(const Shape& shape, const TensorOptions& options) {
  return Tensor(Storage::allocate(options.device, bytes_of(shape, options.dtype)),
                Layout::contiguous(shape), options.dtype);
}

Tensor Tensor::from_host(const void* values, int64_t count, DType dtype, const Shape& shape,
                         const Device& device) {
  const int64_t bytes = bytes_of(shape, dtype);
  check(bytes == count * dtype_size(dtype), ErrorCode::kShapeMismatch, "from", "shape ", shape,
        " wants ", bytes / dtype_size(dtype), " values, got ", count);
  Tensor result = empty(shape, {.dtype = dtype, .device = device});
  copy_bytes(device, result.data(), values, bytes, CopyKind::kHostToDevice);
  return result;
}

Tensor Tensor::adopt(void* data, DType dtype, const Shape& shape, std::function<void()> release) {
  return Tensor(Storage::adopt(data, bytes_of(shape, dtype), std::move(release)),
                Layout::contiguous(shape), dtype);
}

Tensor make_contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x.detach();
  Tensor result = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  copy_elements(x, result);
  return result;
}

Tensor Tensor::detach() const {
  if (!impl_->node) return *this;
  return Tensor(storage(), layout(), dtype());
}

Tensor copy_to(const Tensor& x, const Device& target) {
  const Tensor source = make_contiguous(x);
  Tensor result = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = target});
  const int64_t bytes = x.numel() * dtype_size(x.dtype());
  if (bytes == 0) return result;
  const DeviceState& from = x.device().state();
  const DeviceState& to = target.state();
  if (x.device().is_cpu()) {
    copy_bytes(target, result.data(), source.data(), bytes, CopyKind::kHostToDevice);
  } else if (target.is_cpu()) {
    source.read(result.data());
  } else if (&from.backend == &to.backend && to.backend.copy_peer) {
    from.synchronize();
    to.require(to.backend.copy_peer(to.device(), result.data(), from.device(), source.data(), bytes,
                                    nullptr),
               "copy_peer");
    to.synchronize();  // source may be released now
  } else {             // by way of the host
    std::vector<char> host(static_cast<size_t>(bytes));
    source.read(host.data());
    copy_bytes(target, result.data(), host.data(), bytes, CopyKind::kHostToDevice);
  }
  return result;
}

void Tensor::read(void* to) const {
  const Tensor source = make_contiguous(*this);
  const int64_t bytes = numel() * dtype_size(dtype());
  copy_bytes(device(), to, source.data(), bytes, CopyKind::kDeviceToHost);
  device().synchronize();
}

void Tensor::check_host_type(std::string_view op, DType asked) const {
  check(asked == dtype(), ErrorCode::kDTypeMismatch, op, "expected the tensor's dtype ",
        dtype_name(dtype()), ", got ", dtype_name(asked));
}

std::string describe(const Tensor& x) {
  std::string text = dtype_name(x.dtype()) + to_string(x.shape());
  if (!x.device().is_cpu()) text += " " + to_string(x.device());
  return text;
}

}  // namespace wick
