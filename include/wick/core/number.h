// A number beside a tensor: `x * 2`, `x + 0.5`.
#pragma once
#include <concepts>
#include <cstdint>

namespace wick {

/// A number that is an operand. An integer leaves an integer tensor's dtype as it is; a real number
/// makes f32 of it. Neither promotes within a kind.
class Number {
 public:
  template <std::integral T>
  Number(T value)
      : real_(double(value)),
        integer_(int64_t(value)),
        integral_(true),
        above_i64_(std::unsigned_integral<T> && int64_t(value) < 0) {}
  template <std::floating_point T>
  Number(T value) : real_(double(value)), integer_(0), integral_(false) {}

  bool is_integer() const { return integral_; }
  double real() const { return real_; }
  /// The integer; of one above 2^63 - 1 what is 2^64 less.
  int64_t integer() const { return integer_; }
  /// Whether it is an integer above 2^63 - 1: such are elements of u64 alone.
  bool is_above_i64() const { return above_i64_; }

 private:
  double real_;
  int64_t integer_;
  bool integral_;
  bool above_i64_ = false;
};

}  // namespace wick
