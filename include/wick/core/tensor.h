// Tensor: an immutable value, cheap to copy. Ops are free functions (wick/ops/*.h) and operators.
#pragma once
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/abi/call.h"
#include "wick/core/layout.h"
#include "wick/core/storage.h"

namespace wick {

/// The tape's record of how a tensor was computed; src/ops derives from it.
class AutogradNode : public std::enable_shared_from_this<AutogradNode> {
 public:
  virtual ~AutogradNode() = default;
};

class Index;

/// Dtype and device of a new tensor whose op has a default dtype of its own.
struct CountOptions {
  std::optional<DType> dtype = {};
  Device device = Device::cpu();
};

/// Dtype and device of a new tensor.
struct TensorOptions {
  DType dtype = DType::kF32;
  Device device = Device::cpu();

  operator CountOptions() const { return {.dtype = dtype, .device = device}; }
};

class WICK_API Tensor {
 public:
  /// An empty tensor; test with `if (bias)`.
  Tensor() = default;
  /// Errors: kInvalidArgument, naming the op, if the layout splits blocks of a block dtype: the
  /// innermost dim must have stride 1 and start and end on a block boundary (core/layout.h:
  /// Layout).
  Tensor(std::shared_ptr<Storage> storage, Layout layout, DType dtype,
         std::string_view op = "tensor");

  /// Copies values to the device. Errors: kShapeMismatch if their number differs from the shape's.
  template <HasDType T>
  static Tensor from(std::span<const T> values, const Shape& shape,
                     const Device& device = Device::cpu()) {
    return from_host(values.data(), int64_t(values.size()), kDTypeOf<T>, shape, device);
  }
  template <HasDType T>
  static Tensor from(const std::vector<T>& values, const Shape& shape,
                     const Device& device = Device::cpu()) {
    if constexpr (kSame<T, bool>) {  // std::vector<bool> packs bits
      const std::vector<unsigned char> bytes(values.begin(), values.end());
      return from_host(bytes.data(), int64_t(bytes.size()), DType::kBool, shape, device);
    } else {
      return from(std::span<const T>(values), shape, device);
    }
  }
  template <HasDType T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape,
                     const Device& device = Device::cpu()) {
    return from(std::span<const T>(values.begin(), values.size()), shape, device);
  }
  /// Copies values to a one-dimensional tensor.
  template <HasDType T>
  static Tensor from(const std::vector<T>& values, const Device& device = Device::cpu()) {
    return from(values, {int64_t(values.size())}, device);
  }
  /// Copies literal values to a tensor of one, two or three dims: from({1.f, 2.f}), from({{1, 2},
  /// {3, 4}}). The dtype follows the values' C++ type: i32 for 1, f32 for 1.f, f64 for 1.0.
  /// Errors: kShapeMismatch if sibling lists differ in length.
  template <HasDType T>
  static Tensor from(std::initializer_list<T> values, const Device& device = Device::cpu()) {
    return from(values, {int64_t(values.size())}, device);
  }
  template <HasDType T>
  static Tensor from(std::initializer_list<std::initializer_list<T>> rows,
                     const Device& device = Device::cpu()) {
    const int64_t columns = common_size(rows);
    std::vector<T> values;
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    return from(values, {int64_t(rows.size()), columns}, device);
  }
  template <HasDType T>
  static Tensor from(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices,
      const Device& device = Device::cpu()) {
    std::vector<std::initializer_list<T>> rows;
    const int64_t height = common_size(matrices);
    for (const auto& matrix : matrices) rows.insert(rows.end(), matrix.begin(), matrix.end());
    const int64_t columns = common_size(rows);
    std::vector<T> values;
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    return from(values, {int64_t(matrices.size()), height, columns}, device);
  }
  /// Copies bytes_of(dtype, numel) bytes of values; `bytes` need not be aligned.
  static Tensor from_bytes(const void* bytes, DType dtype, const Shape& shape,
                           const Device& device = Device::cpu()) {
    return from_host(bytes, wick::numel(shape), dtype, shape, device);
  }
  /// Wraps host memory without copying it; `release` runs when the last tensor that views it is
  /// gone.
  static Tensor adopt(void* data, DType dtype, const Shape& shape, std::function<void()> release);
  /// An uninitialized tensor.
  static Tensor empty(const Shape& shape, const TensorOptions& options = {});

  explicit operator bool() const { return impl_ != nullptr; }
  // On an empty Tensor(), these and all functions below throw kInvalidArgument.
  const Shape& shape() const { return impl("shape").layout.shape; }
  const Dims& strides() const { return impl("strides").layout.strides; }
  const Layout& layout() const { return impl("layout").layout; }
  int rank() const { return impl("rank").layout.rank(); }
  /// The size of a dim; -1 is the last. Errors: kOutOfRange.
  int64_t size(int64_t dim) const { return shape()[normalize_dim("size", dim, rank())]; }
  int64_t numel() const { return impl("numel").layout.numel(); }
  DType dtype() const { return impl("dtype").dtype; }
  const Device& device() const { return impl("device").storage->device(); }
  bool is_contiguous() const { return impl("is_contiguous").layout.is_contiguous(); }
  const std::shared_ptr<Storage>& storage() const { return impl("storage").storage; }
  /// The device address of the first element.
  void* data() const {
    return static_cast<char*>(storage()->data()) + bytes_of(dtype(), layout().offset);
  }
  /// @name Memory, for your own HIP and CUDA calls
  /// The address of the first element (of a view: its own first element; the others are at the
  /// tensor's strides) and the bytes from there to the end of the storage. A tensor without
  /// elements has nullptr and 0 bytes. The address is valid while a tensor that shares the storage
  /// exists. wick queues its work on the device's stream, so use as_rocm(x.device()).hip_stream()
  /// or as_cuda(x.device()).stream for your calls, or call x.device().synchronize() first and
  /// finish before wick's next op. The tape does not record writes by your calls.
  /// Errors: kDeviceMismatch if the tensor is on another kind of device; the text names both.
  /// @{
  RocmStorage as_rocm() const;
  CudaStorage as_cuda() const;
  /// @}

  /// Copies to another device; returns the tensor itself if it is already there. Copying a view
  /// copies only its elements.
  Tensor to(const Device& device) const;
  /// Converts to another dtype (ops/elementwise.h: cast); returns the tensor itself if it has that
  /// dtype.
  Tensor to(DType dtype) const;
  /// The same values in row-major order; returns the tensor itself if it is contiguous.
  Tensor contiguous() const;
  /// The same elements, not recorded on the tape.
  Tensor detach() const;
  /// The elements selected by these indices, like NumPy's x[...] (ops/indexing.h).
  Tensor index(const std::vector<Index>& items) const;
  /// Whether backward propagates through this tensor.
  bool requires_grad() const { return impl("requires_grad").node != nullptr; }

  /// The single element. Errors: kShapeMismatch if numel() is not 1; kDTypeMismatch if T does not
  /// match the dtype.
  template <HasDType T>
  T item() const {
    check_host_type("item", kDTypeOf<T>);
    check(numel() == 1, ErrorCode::kShapeMismatch, "item", "expected one element, got shape ",
          shape());
    T value;
    read(&value);
    return value;
  }
  /// All elements in row-major order. Errors: kDTypeMismatch if T does not match the dtype.
  template <HasDType T>
  std::vector<T> to_vector() const {
    check_host_type("to_vector", kDTypeOf<T>);
    if constexpr (kSame<T, bool>) {
      std::vector<unsigned char> bytes(static_cast<size_t>(numel()));
      read(bytes.data());
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(static_cast<size_t>(numel()));
      read(values.data());
      return values;
    }
  }
  /// The single element, or the elements of a tensor of rank 1, 2 or 3 as nested vectors. Errors:
  /// kShapeMismatch, kDTypeMismatch.
  template <class T>
  T to_scalar() const {
    return item<T>();
  }
  template <class T>
  std::vector<T> to_vec1() const {
    check_rank("to_vec1", 1);
    return to_vector<T>();
  }
  template <class T>
  std::vector<std::vector<T>> to_vec2() const {
    check_rank("to_vec2", 2);
    return cut_into(to_vector<T>(), shape()[0], shape()[1]);
  }
  template <class T>
  std::vector<std::vector<std::vector<T>>> to_vec3() const {
    check_rank("to_vec3", 3);
    return cut_into(cut_into(to_vector<T>(), shape()[0] * shape()[1], shape()[2]), shape()[0],
                    shape()[1]);
  }
  /// Copies all elements in row-major order to host memory of bytes_of(dtype, numel) bytes.
  void read(void* to) const;

  // For src/ops and language bindings.
  struct Impl {
    std::shared_ptr<Storage> storage;
    Layout layout;
    DType dtype;
    std::shared_ptr<AutogradNode> node;
  };
  /// The same storage with another layout, not recorded on the tape. Errors: kInvalidArgument,
  /// naming the op, if the layout splits a block.
  Tensor view(Layout layout, std::string_view op = "view") const {
    return Tensor(storage(), std::move(layout), dtype(), op);
  }
  const std::shared_ptr<AutogradNode>& node() const { return impl("node").node; }
  void set_node(std::shared_ptr<AutogradNode> node) { impl_->node = std::move(node); }
  bool same(const Tensor& other) const { return impl_ == other.impl_; }
  /// Whether no other tensor shares this storage, the tape does not record the tensor and the
  /// memory is not adopted, so that the elements may be overwritten.
  bool uniquely_owned() const {
    return impl_ && impl_.use_count() == 1 && !impl_->node && impl_->storage.use_count() == 1 &&
           !impl_->storage->adopted();
  }

 private:
  const Impl& impl(const char* asked) const {
    if (!impl_) fail_empty(asked);
    return *impl_;
  }
  [[noreturn]] static void fail_empty(const char* asked);
  static Tensor from_host(const void* values, int64_t count, DType dtype, const Shape& shape,
                          const Device& device);
  /// The common size of the lists; 0 if there are no lists. Errors: kShapeMismatch.
  template <class Lists>
  static int64_t common_size(const Lists& lists) {
    const size_t size = std::empty(lists) ? 0 : std::begin(lists)->size();
    for (const auto& list : lists)
      check(list.size() == size, ErrorCode::kShapeMismatch, "from",
            "expected lists of one length, got ", size, " and ", list.size());
    return int64_t(size);
  }
  void check_host_type(std::string_view op, DType asked) const;
  void check_rank(std::string_view op, int expected) const {
    check(rank() == expected, ErrorCode::kShapeMismatch, op, "expected rank ", expected,
          ", got shape ", shape());
  }
  /// Splits values into `count` vectors of `size` each.
  template <class T>
  static std::vector<std::vector<T>> cut_into(std::vector<T> values, int64_t count, int64_t size) {
    std::vector<std::vector<T>> parts;
    for (int64_t i = 0; i < count; i++)
      parts.emplace_back(std::make_move_iterator(values.begin() + i * size),
                         std::make_move_iterator(values.begin() + (i + 1) * size));
    return parts;
  }

  std::shared_ptr<Impl> impl_;
};

/// The dtype with a name that dtype_name returns: "f32", "bf16", "q8_0". Errors: kInvalidArgument,
/// listing the names.
WICK_API DType dtype_of_name(std::string_view name);

/// A short description, used as the start of the one-line debug form: "f32[2, 3] rocm:0"; the CPU
/// is not named.
WICK_API std::string describe(const Tensor& x);

}  // namespace wick
