// The limits of one render, and its current place in the template.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wick/base/error.h"

namespace wick::jinja {

/// A position in a template's source; both count from 1, columns in code points.
struct SourcePosition {
  int line = 1;
  int column = 1;
};

inline std::string to_string(SourcePosition place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

/// Counts the steps and live bytes of one render and raises its errors at the current place.
class Meter {
 public:
  Meter(const std::string& where, int64_t max_steps, int64_t max_bytes)
      : where_(where), steps_left_(max_steps), max_steps_(max_steps), max_bytes_(max_bytes) {}
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  void step(int64_t n = 1) {
    if ((steps_left_ -= n) < 0) [[unlikely]]
      out_of_steps();
  }
  /// Counts the steps of reading or writing this many bytes.
  void step_bytes(size_t bytes) { step(1 + int64_t(bytes / kBytesPerStep)); }

  /// Throws unless this many more bytes may be allocated.
  void check_room(size_t bytes) const {
    if (int64_t(bytes) > max_bytes_ - live_bytes_ || int64_t(bytes) < 0) [[unlikely]]
      out_of_bytes();
  }
  /// check_room for count elements of a size, which may overflow.
  void check_room(int64_t count, size_t size) const {
    int64_t bytes;
    if (__builtin_mul_overflow(count, int64_t(size), &bytes)) out_of_bytes();
    check_room(size_t(bytes));
  }
  void allocate(size_t bytes) {
    check_room(bytes);
    live_bytes_ += int64_t(bytes);
  }
  void release(size_t bytes) { live_bytes_ -= int64_t(bytes); }

  /// An error that Python's jinja2 raises too.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    wick::fail(ErrorCode::kInvalidArgument, where_, place, ": ", parts...);
  }
  /// Something that jinja2 does and wick does not.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    wick::fail(ErrorCode::kUnsupported, where_, place, ": ", parts...);
  }

  SourcePosition place;
  /// The objects that repr() is writing, outermost first; inside itself, one prints as an ellipsis.
  std::vector<const void*> printed;

 private:
  static constexpr size_t kBytesPerStep = 64;
  friend class Deeper;

  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_bytes() const;
  [[noreturn]] void too_deep() const;

  const std::string& where_;
  int64_t steps_left_, max_steps_, max_bytes_;
  int64_t live_bytes_ = 0;
  int depth_ = 0;
};

/// Guards one level of recursion.
class Deeper {
 public:
  /// Bounds the stack of a render: 1200 levels of the largest frames take 1 MB.
  static constexpr int kMaxDepth = 1200;

  explicit Deeper(Meter& meter) : meter_(meter) {
    if (++meter_.depth_ > kMaxDepth) [[unlikely]] {
      meter_.depth_--;
      meter_.too_deep();
    }
  }
  ~Deeper() { meter_.depth_--; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Meter& meter_;
};

/// Bytes that count as live until this is destroyed. Constants of a template have no meter.
class Charge {
 public:
  Charge() = default;
  Charge(Meter* meter, size_t bytes) : meter_(meter), bytes_(bytes) {
    if (meter_) meter_->allocate(bytes_);
  }
  ~Charge() {
    if (meter_) meter_->release(bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Meter* meter_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace wick::jinja
