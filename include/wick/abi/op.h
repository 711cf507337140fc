// An op as a backend sees it: its name, operand dtypes and attribute layout. Each op is one record,
// defined in abi/ops/<family>.h or in the struct that holds its formula (src/scalar). There is no
// central list; each backend has a table of the ops it implements. Freestanding.
#pragma once
#include "wick/abi/call.h"
#include "wick/base/hash.h"

namespace wick {

/// FNV-1a, 64 bits.
constexpr uint64 hash_text(const char* text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

/// Size and layout hash of an attribute struct; they distinguish kernels built for another layout.
struct AttributeFacts {
  uint32 size = 0;  // 0: the op has no attributes
  uint64 hash = 0;
  friend constexpr bool operator==(const AttributeFacts& a, const AttributeFacts& b) {
    return a.size == b.size && a.hash == b.hash;
  }
};
/// AttributeFacts of an attribute struct A, whose kLayout names its members.
template <class A>
inline constexpr AttributeFacts attributes{sizeof(A), hash_text(A::kLayout) + sizeof(A)};

/// inline constexpr Op kRmsNorm{"rms_norm", "TT:TR", attributes<RmsNormAttributes>};
struct Op {
  const char* name;
  /// Input dtypes, a colon, output dtypes, one letter per operand:
  ///   T  the op's dtype               S  the dtype that sums of T have (operand_dtype)
  ///   R  T's accumulator dtype        I  i64     B  bool     F  f32     H  f16     *  any
  const char* operands;
  AttributeFacts attributes;
  uint64 id;  // hash of the name; identifies the op. A test checks that no two names share one.

  constexpr Op(const char* name, const char* operands, AttributeFacts attributes = {})
      : name(name), operands(operands), attributes(attributes), id(hash_text(name)) {}
  friend constexpr bool operator==(const Op& a, const Op& b) { return a.id == b.id; }
};

/// The dtype of an operand with this letter in Op::operands, for an op of dtype t; `any` is the
/// dtype of a "*" operand.
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
    case 'H':
      return DType::kF16;
    case '*':
      return any;
    default:
      return t;
  }
}
/// The dtype of sums and products over dtype t: t for floats and u64, i64 for other integers and
/// bool.
constexpr DType summed_dtype(DType t) { return operand_dtype('S', t, t); }

/// Dtypes of all operands: inputs, then outputs.
struct OperandDTypes {
  DType all[2 * kMaxOperands] = {};
  int32 num_in = 0, num_out = 0;
};
/// The dtypes of an op's operands. t is the op's dtype; `any` is the dtype of "*" operands.
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

/// Whether two records with the same id agree in name, operands and attributes.
constexpr bool same_contract(const Op& a, const Op& b) {
  const auto same = [](const char* x, const char* y) {
    while (*x && *x == *y) x++, y++;
    return *x == *y;
  };
  return same(a.name, b.name) && same(a.operands, b.operands) && a.attributes == b.attributes;
}

}  // namespace wick
