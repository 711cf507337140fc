// What an op is to a backend: a name, the dtypes of its operands, the layout of its attributes. Each
// op is one record: in abi/ops/<family>.h, or in the struct that holds its formula (src/scalar).
// There is no list of all: who serves an op has it in a table of its own. Freestanding.
#pragma once
#include "wick/abi/call.h"

namespace wick {

/// FNV-1a, 64 bits.
constexpr uint64 hash_text(const char* text) {
  uint64 h = 0xcbf29ce484222325;
  for (; *text; text++) h = (h ^ uint8(*text)) * 0x100000001b3;
  return h;
}

/// The layout of an attribute struct, so that a kernel that was built for another one is told apart.
struct AttributeFacts {
  uint32 size = 0;  // 0: the op has none
  uint64 hash = 0;
  friend constexpr bool operator==(const AttributeFacts& a, const AttributeFacts& b) {
    return a.size == b.size && a.hash == b.hash;
  }
};
/// The facts of an attribute struct A, whose kLayout names its members.
template <class A>
inline constexpr AttributeFacts attributes{sizeof(A), hash_text(A::kLayout) + sizeof(A)};

/// inline constexpr Op kRmsNorm{"rms_norm", "TT:TR", attributes<RmsNormAttributes>};
struct Op {
  const char* name;
  /// The dtypes of the inputs, a colon, those of the outputs.
  ///   T  the op's own                 S  what T is summed to (operand_dtype)
  ///   R  what T is accumulated in     I  i64     B  bool     F  f32     *  any
  const char* operands;
  AttributeFacts attributes;
  uint64 id;  // the name's hash: what the op is known by. No two names share one (a test).

  constexpr Op(const char* name, const char* operands, AttributeFacts attributes = {})
      : name(name), operands(operands), attributes(attributes), id(hash_text(name)) {}
  friend constexpr bool operator==(const Op& a, const Op& b) { return a.id == b.id; }
};

/// The dtype of an operand by its letter in Op::operands, for an op of dtype t.
constexpr DType operand_dtype(char letter, DType t, DType any) {
  switch (letter) {
    case 'R':
      return t == DType::kF64 ? DType::kF64 : DType::kF32;
    case 'S':
      return is_floating(t) || t == DType::kU64 ? t : DType::kI64;
    case 'I':
      return DType::kI64;
    case 'B':
      return DType::kBool;
    case 'F':
      return DType::kF32;
    case '*':
      return any;
    default:
      return t;
  }
}
/// The dtype of sums and products of dtype t: floats t, integers and bool i64, u64 u64.
constexpr DType summed_dtype(DType t) { return operand_dtype('S', t, t); }

/// The dtypes of all operands: inputs, then outputs.
struct OperandDTypes {
  DType all[2 * kMaxOperands] = {};
  int32 num_in = 0, num_out = 0;
};
/// The dtypes of an op's operands; t: its own dtype; any: that of an operand "*".
constexpr OperandDTypes operand_dtypes(const Op& op, DType t, DType any) {
  OperandDTypes result;
  int n = 0;
  for (const char* letter = op.operands; *letter; letter++) {
    if (*letter == ':')
      result.num_in = n;
    else
      result.all[n++] = operand_dtype(*letter, t, any);
  }
  result.num_out = n - result.num_in;
  return result;
}
constexpr OperandDTypes operand_dtypes(const Op& op, DType t) { return operand_dtypes(op, t, t); }

/// Whether two records of one id agree: name, operands, attributes.
constexpr bool same_contract(const Op& a, const Op& b) {
  const auto same = [](const char* x, const char* y) {
    while (*x && *x == *y) x++, y++;
    return *x == *y;
  };
  return same(a.name, b.name) && same(a.operands, b.operands) && a.attributes == b.attributes;
}

}  // namespace wick
