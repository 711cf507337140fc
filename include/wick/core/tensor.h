// The tensor: an immutable value, cheap to copy. Ops on it are free functions (wick/ops/*.h) and
// operators.
#pragma once
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/abi/call.h"
#include "wick/core/layout.h"
#include "wick/core/storage.h"

namespace wick {

/// The tape's record of how a tensor came to be; src/ops fills it.
class AutogradNode : public std::enable_shared_from_this<AutogradNode> {
 public:
  virtual ~AutogradNode() = default;
};

class Index;

/// The dtype of a tensor to be made, and the device that it is made on.
struct TensorOptions {
  DType dtype = DType::kF32;
  Device device = Device::cpu();
};

class WICK_API Tensor {
 public:
  /// No tensor: `if (bias)` asks.
  Tensor() = default;
  /// Errors: kInvalidArgument, which names the op, if a block dtype's blocks would be cut: their
  /// innermost dim has stride 1, and begins and ends with a block (core/layout.h: Layout).
  Tensor(std::shared_ptr<Storage> storage, Layout layout, DType dtype,
         std::string_view op = "tensor");

  /// Copies values to the device. Errors: kShapeMismatch if they are not as many as the shape says.
  template <HasDType T>
  static Tensor from(std::span<const T> values, const Shape& shape,
                     const Device& device = Device::cpu()) {
    return from_host(values.data(), int64_t(values.size()), kDTypeOf<T>, shape, device);
  }
  template <HasDType T>
  static Tensor from(const std::vector<T>& values, const Shape& shape,
                     const Device& device = Device::cpu()) {
    if constexpr (kSame<T, bool>) {  // a vector of bool has bits, no elements
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
  /// Copies values to a tensor of one dim.
  template <HasDType T>
  static Tensor from(const std::vector<T>& values, const Device& device = Device::cpu()) {
    return from(values, {int64_t(values.size())}, device);
  }
  /// Copies values as they are written to a tensor of one, two or three dims: from({1.f, 2.f}),
  /// from({{1, 2}, {3, 4}}). The dtype is that of the values' own type: i32 of 1, f32 of 1.f, f64
  /// of 1.0. Errors: kShapeMismatch if lists beside each other are not of one length.
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
  /// Copies values from memory that need not be aligned: bytes_of(dtype, numel) bytes.
  static Tensor from_bytes(const void* bytes, DType dtype, const Shape& shape,
                           const Device& device = Device::cpu()) {
    return from_host(bytes, wick::numel(shape), dtype, shape, device);
  }
  /// Host memory as a tensor, not copied; release is called when no tensor looks into it any more.
  static Tensor adopt(void* data, DType dtype, const Shape& shape, std::function<void()> release);
  /// A tensor whose content is undefined.
  static Tensor empty(const Shape& shape, const TensorOptions& options = {});

  explicit operator bool() const { return impl_ != nullptr; }
  // Of an empty Tensor() these and all below are errors: kInvalidArgument.
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
  /// The address of the first element on its device.
  void* data() const {
    return static_cast<char*>(storage()->data()) + bytes_of(dtype(), layout().offset);
  }

  /// The values on another device: itself if already there. A view moves only its own elements.
  Tensor to(const Device& device) const;
  /// The same values as another dtype: itself if already so (ops/elementwise.h: cast).
  Tensor to(DType dtype) const;
  /// The same values in row-major order: itself if already so.
  Tensor contiguous() const;
  /// The same elements, off the tape.
  Tensor detach() const;
  /// The elements that these indices choose, as x[...] does elsewhere (ops/indexing.h: index).
  Tensor index(const std::vector<Index>& items) const;
  /// Whether backward would pass through this tensor.
  bool requires_grad() const { return impl("requires_grad").node != nullptr; }

  /// The only element. Errors: kShapeMismatch if there are more; kDTypeMismatch if T is not the
  /// dtype's type.
  template <HasDType T>
  T item() const {
    check_host_type("item", kDTypeOf<T>);
    check(numel() == 1, ErrorCode::kShapeMismatch, "item", "expected one element, got shape ",
          shape());
    T value;
    read(&value);
    return value;
  }
  /// All elements in row-major order. Errors: kDTypeMismatch if T is not the dtype's type.
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
  /// The only element; the elements of a tensor of one, two or three dims, nested as these are.
  /// Errors: kShapeMismatch, kDTypeMismatch.
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

  // For src/ops and the bindings.
  struct Impl {
    std::shared_ptr<Storage> storage;
    Layout layout;
    DType dtype;
    std::shared_ptr<AutogradNode> node;
  };
  /// The same storage through another layout, off the tape. Errors: kInvalidArgument, which names
  /// the op, if that cuts a block.
  Tensor view(Layout layout, std::string_view op = "view") const {
    return Tensor(storage(), std::move(layout), dtype(), op);
  }
  const std::shared_ptr<AutogradNode>& node() const { return impl("node").node; }
  void set_node(std::shared_ptr<AutogradNode> node) { impl_->node = std::move(node); }
  bool same(const Tensor& other) const { return impl_ == other.impl_; }
  /// Whether nothing else looks at these elements and the tape does not hold them: they may be
  /// written over.
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
  /// The size that all of these have; 0 of none. Errors: kShapeMismatch.
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
  /// `count` vectors of `size` values each.
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

/// The dtype of a name that dtype_name gives: "f32", "bf16", "q8_0". Errors: kInvalidArgument, which
/// lists the names.
WICK_API DType dtype_of_name(std::string_view name);

/// The head of the one-line debug form: "f32[2, 3] rocm:0"; the CPU is left out.
WICK_API std::string describe(const Tensor& x);

}  // namespace wick
