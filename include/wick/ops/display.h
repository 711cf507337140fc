// Printing tensors.
#pragma once
#include <iosfwd>
#include <optional>
#include <string>

#include "wick/core/tensor.h"

namespace wick {

/// How tensors are printed; the fields have the meanings of PyTorch.
struct PrintOptions {
  int precision = 4;         // digits after the decimal point
  int64_t threshold = 1000;  // with more elements than this, only the edges are printed
  int64_t edge_items = 3;    // elements per edge, in each dim
  int line_width = 80;
  std::optional<bool> sci_mode = {};  // 1.0000e+03; unset: when the magnitudes differ too much

  static PrintOptions short_form() { return {.precision = 2, .edge_items = 2}; }
  static PrintOptions full() { return {.threshold = INT64_MAX}; }
};

/// Sets the options for all threads. Errors: kInvalidArgument for a negative number.
WICK_API void set_printoptions(const PrintOptions& options);
/// The current options of all threads.
WICK_API PrintOptions print_options();

/// The values in brackets as PyTorch prints them, then a line "Tensor[[2, 3], f32, rocm:0]", which
/// omits the device if it is the CPU. Only the elements that are printed are read. An empty
/// Tensor() prints as "Tensor()". Errors: kInvalidArgument for a negative number in the options.
WICK_API std::string to_string(const Tensor& x);
WICK_API std::string to_string(const Tensor& x, const PrintOptions& options);
WICK_API std::ostream& operator<<(std::ostream& out, const Tensor& x);

/// The tensor on one line: "Tensor[1, 2.5; f32]" with values for scalars and vectors of fewer than
/// 10 elements; else "Tensor[dims 2, 3; f32, rocm:0]", which reads no element.
WICK_API std::string debug_string(const Tensor& x);

}  // namespace wick
