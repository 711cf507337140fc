// Tensors as text.
#pragma once
#include <iosfwd>
#include <optional>
#include <string>

#include "wick/core/tensor.h"

namespace wick {

/// How tensors are printed; the meaning is PyTorch's.
struct PrintOptions {
  int precision = 4;         // digits after the point
  int64_t threshold = 1000;  // of more elements than these only the edges are printed
  int64_t edge_items = 3;    // how many elements an edge has, in each dim
  int line_width = 80;
  std::optional<bool> sci_mode = {};  // 1.0000e+03; none: where the numbers are too far apart

  static PrintOptions short_form() { return {.precision = 2, .edge_items = 2}; }
  static PrintOptions full() { return {.threshold = INT64_MAX}; }
};

/// Sets what all threads print with from now on. Errors: kInvalidArgument for a negative number.
WICK_API void set_printoptions(const PrintOptions& options);
/// What all threads print with now.
WICK_API PrintOptions print_options();

/// The values in brackets as PyTorch prints them, then a line "Tensor[[2, 3], f32, rocm:0]"; the
/// CPU is left out. Of a large tensor only what is printed is read. Of an empty Tensor():
/// "Tensor()". Errors: kInvalidArgument for a negative number in the options.
WICK_API std::string to_string(const Tensor& x);
WICK_API std::string to_string(const Tensor& x, const PrintOptions& options);
WICK_API std::ostream& operator<<(std::ostream& out, const Tensor& x);

/// The tensor as one line: "Tensor[1, 2.5; f32]" for scalars and vectors of fewer than 10 elements,
/// which it reads; else "Tensor[dims 2, 3; f32, rocm:0]".
WICK_API std::string debug_string(const Tensor& x);

}  // namespace wick
