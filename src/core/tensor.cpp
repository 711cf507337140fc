#include "wick/core/tensor.h"

#include <limits>

#include "core/launch.h"
#include "core/peer_copies.h"
#include "core/registry.h"
#include "core/stream.h"
#include "core/work_gate.h"

namespace wick {

void check_whole_blocks(std::string_view op, const Layout& layout, DType dtype) {
  const int64_t block = facts_of(dtype).block_elements;
  const int last = layout.rank() - 1;
  bool whole = last >= 0 && layout.offset % block == 0 && layout.shape[last] % block == 0 &&
               layout.strides[last] == 1;
  for (int d = 0; d < last; d++)
    whole = whole && (layout.shape[d] == 1 || layout.strides[d] % block == 0);
  check(whole, ErrorCode::kInvalidArgument, op, "a tensor of ", dtype_name(dtype),
        " needs whole blocks of ", block, " contiguous elements in its last dim, got shape ",
        layout.shape, ", strides ", layout.strides, " and offset ", layout.offset);
}

namespace {

/// The size in bytes of a tensor with this shape. Errors: kInvalidArgument for a negative size,
/// more than 2^63 bytes, a partial block, or an invalid dtype.
int64_t checked_bytes(const Shape& shape, DType dtype) {
  for (const int64_t size : shape)
    check(size >= 0, ErrorCode::kInvalidArgument, "tensor", "expected sizes of at least 0, got ",
          shape);
  const DTypeFacts& facts = facts_of(dtype);
  check(facts.kind != DTypeKind::kNone, ErrorCode::kInvalidArgument, "tensor", "unknown dtype ",
        int(dtype));
  if (is_block(dtype)) check_whole_blocks("tensor", Layout::contiguous(shape), dtype);
  const int64_t n = checked_numel(shape);
  int64_t bytes = 0;
  check(n >= 0 && !__builtin_mul_overflow(n / facts.block_elements, facts.block_bytes, &bytes),
        ErrorCode::kInvalidArgument, "tensor", "shape ", shape, " has more than 2^63 bytes");
  return bytes;
}

void copy_bytes(const Device& device, void* to, const void* from, int64_t bytes, CopyKind kind) {
  if (bytes == 0) return;
  const DeviceState& state = device.state();
  const QueueScope queueing(state);
  state.require(state.backend.copy(state.device(), to, from, bytes, kind, current_stream(state)),
                "copy");
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, Layout layout, DType dtype, std::string_view op)
    : impl_(std::make_shared<Impl>(Impl{std::move(storage), std::move(layout), dtype, nullptr})) {
  if (is_block(dtype)) check_whole_blocks(op, impl_->layout, dtype);
}

void Tensor::fail_empty(const char* asked) {
  fail(ErrorCode::kInvalidArgument, asked, "the tensor is an empty Tensor()");
}

Tensor Tensor::empty(const Shape& shape, const TensorOptions& options) {
  return Tensor(Storage::allocate(options.device, checked_bytes(shape, options.dtype)),
                Layout::contiguous(shape), options.dtype);
}

Tensor Tensor::from_host(const void* values, int64_t count, DType dtype, const Shape& shape,
                         const Device& device) {
  const int64_t bytes = checked_bytes(shape, dtype);
  check(count == wick::numel(shape), ErrorCode::kShapeMismatch, "from", "shape ", shape, " needs ",
        wick::numel(shape), " values, got ", count);
  Tensor result = empty(shape, {.dtype = dtype, .device = device});
  copy_bytes(device, result.data(), values, bytes, CopyKind::kHostToDevice);
  return result;
}

Tensor Tensor::adopt(void* data, DType dtype, const Shape& shape, std::function<void()> release) {
  return Tensor(Storage::adopt(data, checked_bytes(shape, dtype), std::move(release)),
                Layout::contiguous(shape), dtype);
}

Tensor make_contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x.detach();
  return own_copy(x);
}

namespace {

/// The address of the first element and the bytes from there to the end of the storage.
template <class NativeStorage>
NativeStorage native_storage(const Tensor& x, DeviceKind wanted) {
  const std::string op = "as_" + kind_name(wanted);
  check(bool(x), ErrorCode::kInvalidArgument, op, "the tensor is an empty Tensor()");
  check(x.device().kind() == wanted, ErrorCode::kDeviceMismatch, op, "expected a tensor on a ",
        kind_name(wanted), " device, got one on ", x.device());
  if (x.numel() == 0) return {nullptr, 0};
  return {x.data(), x.storage()->bytes() - bytes_of(x.dtype(), x.layout().offset)};
}

}  // namespace

RocmStorage Tensor::as_rocm() const {
  return native_storage<RocmStorage>(*this, DeviceKind::kRocm);
}
CudaStorage Tensor::as_cuda() const {
  return native_storage<CudaStorage>(*this, DeviceKind::kCuda);
}

Tensor Tensor::detach() const {
  if (!impl("detach").node) return *this;
  return Tensor(storage(), layout(), dtype());
}

Tensor copy_to(const Tensor& x, const Device& target) {
  const Tensor source = make_contiguous(x);
  Tensor result = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = target});
  const int64_t bytes = bytes_of(x.dtype(), x.numel());
  if (bytes == 0) return result;
  const DeviceState& from = x.device().state();
  const DeviceState& to = target.state();
  if (x.device().is_cpu()) {
    copy_bytes(target, result.data(), source.data(), bytes, CopyKind::kHostToDevice);
  } else if (target.is_cpu()) {
    source.read(result.data());
  } else if (copies_directly(x.device(), target)) {
    from.synchronize(current_stream(from));
    void* const stream = current_stream(to);
    to.require(to.backend.copy_peer(to.device(), result.data(), from.device(), source.data(), bytes,
                                    stream),
               "copy_peer");
    to.synchronize(stream);  // source may be released after this
  } else {                   // through host memory
    std::vector<char> host(static_cast<size_t>(bytes));
    source.read(host.data());
    copy_bytes(target, result.data(), host.data(), bytes, CopyKind::kHostToDevice);
  }
  return result;
}

void Tensor::read(void* to) const {
  const Tensor source = make_contiguous(*this);
  const int64_t bytes = bytes_of(dtype(), numel());
  copy_bytes(device(), to, source.data(), bytes, CopyKind::kDeviceToHost);
  const DeviceState& state = device().state();
  state.synchronize(current_stream(state));
}

void Tensor::check_host_type(std::string_view op, DType asked) const {
  check(impl_ != nullptr, ErrorCode::kInvalidArgument, op, "the tensor is an empty Tensor()");
  check(asked == dtype(), ErrorCode::kDTypeMismatch, op, "expected the tensor's dtype ",
        dtype_name(dtype()), ", got ", dtype_name(asked));
}

DType dtype_of_name(std::string_view name) {
  std::string names;
  for (int d = 0; d < kNumDTypes; d++) {
    if (name == dtype_name(DType(d))) return DType(d);
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(DType(d)));
  }
  fail(ErrorCode::kInvalidArgument, "dtype_of_name", "unknown dtype \"", name,
       "\", expected one of ", names);
}

std::string describe(const Tensor& x) {
  if (!x) return "an empty Tensor()";
  std::string text = dtype_name(x.dtype()) + to_string(x.shape());
  if (!x.device().is_cpu()) text += " " + to_string(x.device());
  return text;
}

}  // namespace wick
