// A short list of sizes: shapes and strides.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "wick/base/error.h"

namespace wick {

/// A vector of int64_t that stores up to six elements without allocating.
class WICK_API Dims {
 public:
  static constexpr int kInline = 6;

  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit Dims(std::span<const int64_t> values) {
    resize(int(values.size()));
    for (int i = 0; i < size_; i++) data()[i] = values[size_t(i)];
  }
  Dims(int size, int64_t value) {
    resize(size);
    for (int i = 0; i < size_; i++) data()[i] = value;
  }
  Dims(const Dims& other) : Dims(std::span(other.data(), size_t(other.size_))) {}
  Dims(Dims&& other) noexcept = default;
  Dims& operator=(const Dims& other) {
    if (this != &other) *this = Dims(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept = default;

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const int64_t* data() const { return heap_ ? heap_.get() : inline_; }
  int64_t& operator[](int i) { return data()[i]; }
  int64_t operator[](int i) const { return data()[i]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t back() const { return data()[size_ - 1]; }

  void push_back(int64_t value) { insert(size_, value); }
  void insert(int at, int64_t value);
  void erase(int at);
  bool operator==(const Dims& other) const;

 private:
  void resize(int size) {
    if (size > kInline) heap_ = std::make_unique<int64_t[]>(size_t(size));
    size_ = size;
  }

  int64_t inline_[kInline] = {};
  std::unique_ptr<int64_t[]> heap_;
  int size_ = 0;
};

using Shape = Dims;

/// The sizes as text: "[2, 3]"; "[]" for a scalar.
WICK_API std::string to_string(const Dims& dims);
/// The number of elements: the product of the sizes; 1 for an empty shape.
WICK_API int64_t numel(const Shape& shape);
/// The number of elements of a user-provided shape: -1 if a size is negative or the product
/// overflows int64_t.
WICK_API int64_t checked_numel(const Shape& shape);
/// Row-major strides of a shape, in elements.
WICK_API Dims contiguous_strides(const Shape& shape);

}  // namespace wick
