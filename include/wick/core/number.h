// A scalar operand next to a tensor: `x * 2`, `x + 0.5`.
#pragma once
#include <concepts>
#include <cstdint>

namespace wick {

/// A scalar operand. A truth value keeps every dtype; an integer keeps an integer tensor's dtype
/// and turns bool into i64; a real number turns both into f32. None changes the dtype within a
/// kind.
class Number {
 public:
  template <std::integral T>
  Number(T value)
      : real_(double(value)),
        integer_(int64_t(value)),
        integral_(true),
        bool_(std::same_as<T, bool>),
        above_i64_(std::unsigned_integral<T> && int64_t(value) < 0) {}
  template <std::floating_point T>
  Number(T value) : real_(double(value)), integer_(0), integral_(false) {}

  /// Whether it is an integer or a truth value, which is 0 or 1.
  bool is_integer() const { return integral_; }
  bool is_bool() const { return bool_; }
  double real() const { return real_; }
  /// The integer value; values above 2^63 - 1 wrap around, to 2^64 less.
  int64_t integer() const { return integer_; }
  /// Whether it is an integer above 2^63 - 1, which only u64 can hold.
  bool is_above_i64() const { return above_i64_; }

 private:
  double real_;
  int64_t integer_;
  bool integral_;
  bool bool_ = false;
  bool above_i64_ = false;
};

}  // namespace wick
