// Operands in device memory, laid out as a case asks, among elements that must not change.
#pragma once
#include "values.h"

namespace wick::conformance {

/// A buffer, and how the operand is seen in it.
struct Placement {
  Array operand;                     // the values as the op sees them: a broadcast operand's repeat
  Array buffer;                      // what is uploaded
  std::vector<unsigned char> bytes;  // the buffer's
  std::function<Tensor(const Tensor& buffer)> view;  // by differentiable ops
};

/// What stands around an operand: reading it poisons a float result, and is out of range as an id.
Real guard_value(DType dtype);

/// Lays values out. A broadcast operand keeps the first element along the dims that repeat.
Placement place(const Array& values, OperandLayout place, Random& random);

std::vector<unsigned char> bytes_of(const Array& x);
Tensor upload(const Array& x, const Device& device);
Tensor upload_buffer(const Placement& placement, const Device& device);
/// The tensor's elements, decoded.
Array download(const Tensor& x);
/// The tensor's elements' bytes.
std::vector<unsigned char> read_bytes(const Tensor& x);

}  // namespace wick::conformance
