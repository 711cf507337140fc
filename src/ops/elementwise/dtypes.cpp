#include "ops/elementwise/dtypes.h"

#include <algorithm>

namespace wick {
namespace {

int kind(DType d) { return is_floating(d) ? 2 : is_integer(d) ? 1 : 0; }

DType promote_floats(DType a, DType b) {
  const DType wider = std::max(a, b), narrower = std::min(a, b);  // DType is ordered by width
  // Formats of equal width cover different numbers, so the next wider one is used.
  if (narrower == DType::kF8E4M3 && wider == DType::kF8E5M2) return DType::kF16;
  if (narrower == DType::kBf16 && wider == DType::kF16) return DType::kF32;
  return wider;
}

/// The narrowest integer dtype that can represent both.
DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return std::max(a, b);
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (dtype_size(with_sign) > dtype_size(without)) return with_sign;
  check(without != DType::kU64, ErrorCode::kDTypeMismatch, "promote", dtype_name(a), " and ",
        dtype_name(b), " have no common integer dtype: cast one of them");
  return without == DType::kU8 ? DType::kI16 : without == DType::kU16 ? DType::kI32 : DType::kI64;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  check_elements("promote", a);
  check_elements("promote", b);
  if (kind(a) != kind(b)) return kind(a) > kind(b) ? a : b;
  return is_floating(a) ? promote_floats(a, b) : promote_integers(a, b);
}

DType promote(const Tensor& a, const Tensor& b) {
  if ((a.rank() == 0) != (b.rank() == 0)) {
    const Tensor& with_dims = a.rank() ? a : b;
    const Tensor& without = a.rank() ? b : a;
    if (kind(with_dims.dtype()) >= kind(without.dtype())) return with_dims.dtype();
  }
  return promote(a.dtype(), b.dtype());
}

DType promote(DType a, Number b) {
  if (is_floating(a)) return a;
  if (!b.is_integer()) return DType::kF32;
  return a == DType::kBool && !b.is_bool() ? DType::kI64 : a;
}

DType floating(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }

DType computed_in(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

void check_same_device(const char* op, const Tensor& a, const Tensor& b) {
  check(a.device() == b.device(), ErrorCode::kDeviceMismatch, op, "operands are on ", a.device(),
        " and ", b.device());
}

void check_elements(const char* op, DType dtype) {
  check(!is_block(dtype), ErrorCode::kUnsupported, op, "no ", dtype_name(dtype),
        " kernel: ops store, copy and move its blocks but do not compute in them");
}

void check_defined(const char* op, const Tensor& x, BlockDTypes blocks) {
  check(bool(x), ErrorCode::kInvalidArgument, op, "an operand is an empty Tensor()");
  if (blocks == BlockDTypes::kRejected) check_elements(op, x.dtype());
}

void check_floating(const char* op, const Tensor& x) {
  check_defined(op, x);
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, op, "expected a floating dtype, got ",
        dtype_name(x.dtype()));
}

}  // namespace wick
