// Element types of tensors. Freestanding.
#pragma once
#include "wick/abi/numbers.h"

namespace wick {

/// Ordered by kind: bool, unsigned and signed integers, floats, blocks.
enum class DType : uint8 {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF4,      // e2m1. This and the next three are stored, copied and converted, but not computed with
  kF6E2M3,  // f4 and f6 elements take the low bits of one byte each in memory; files pack them
  kF6E3M2,
  kF8E8M0,
  kF8E4M3,
  kF8E5M2,
  kBf16,
  kF16,
  kF32,
  kF64,
  kQ4_0,  // GGUF's blocks of quantized numbers; scalar/blocks.h has their layouts
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ2_K,
  kQ3_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ1_S,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0
};
inline constexpr int kNumDTypes = 41;

/// Floating-point types that ops compute with.
using FloatTypes = TypeList<f8e4m3, f8e5m2, bf16, f16, float, double>;
using IntegerTypes = TypeList<uint8, int8, uint16, int16, uint32, int32, uint64, int64>;
/// Types that the bitwise ops accept.
using BitTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64>;
using NumericTypes = TypeList<uint8, int8, uint16, int16, uint32, int32, uint64, int64, f8e4m3,
                              f8e5m2, bf16, f16, float, double>;
using AllTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, f8e4m3,
                          f8e5m2, bf16, f16, float, double>;
/// Types that can be stored, copied and converted: every dtype except the block dtypes.
using StoredTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, f4,
                             f6e2m3, f6e3m2, f8e8m0, f8e4m3, f8e5m2, bf16, f16, float, double>;

/// The kind of a dtype, and the operations that it supports.
enum class DTypeKind : uint8 {
  kNone,  // not a dtype
  kBool,
  kUnsigned,
  kSigned,
  kFloat,
  kStoredFloat,  // stored, copied and converted, but not computed with
  kBlock         // elements share a block; weights of products, otherwise as kStoredFloat
};

/// Properties of a dtype, defined only in the table below.
struct DTypeFacts {
  const char* name;
  int block_elements;  // elements per block: 1 except for block dtypes
  int block_bytes;
  DTypeKind kind;
};

namespace detail {
/// Index of a type in a list; the list's length if absent.
template <class T, class... U>
constexpr int position_in(TypeList<U...>) {
  constexpr bool same[] = {kSame<T, U>...};
  int i = 0;
  while (i < int(sizeof...(U)) && !same[i]) i++;
  return i;
}

inline constexpr DTypeFacts kDTypeFacts[kNumDTypes + 1] = {
    {"bool", 1, 1, DTypeKind::kBool},
    {"u8", 1, 1, DTypeKind::kUnsigned},
    {"i8", 1, 1, DTypeKind::kSigned},
    {"u16", 1, 2, DTypeKind::kUnsigned},
    {"i16", 1, 2, DTypeKind::kSigned},
    {"u32", 1, 4, DTypeKind::kUnsigned},
    {"i32", 1, 4, DTypeKind::kSigned},
    {"u64", 1, 8, DTypeKind::kUnsigned},
    {"i64", 1, 8, DTypeKind::kSigned},
    {"f4", 1, 1, DTypeKind::kStoredFloat},
    {"f6e2m3", 1, 1, DTypeKind::kStoredFloat},
    {"f6e3m2", 1, 1, DTypeKind::kStoredFloat},
    {"f8e8m0", 1, 1, DTypeKind::kStoredFloat},
    {"f8e4m3", 1, 1, DTypeKind::kFloat},
    {"f8e5m2", 1, 1, DTypeKind::kFloat},
    {"bf16", 1, 2, DTypeKind::kFloat},
    {"f16", 1, 2, DTypeKind::kFloat},
    {"f32", 1, 4, DTypeKind::kFloat},
    {"f64", 1, 8, DTypeKind::kFloat},
    {"q4_0", 32, 18, DTypeKind::kBlock},
    {"q4_1", 32, 20, DTypeKind::kBlock},
    {"q5_0", 32, 22, DTypeKind::kBlock},
    {"q5_1", 32, 24, DTypeKind::kBlock},
    {"q8_0", 32, 34, DTypeKind::kBlock},
    {"q4_k", 256, 144, DTypeKind::kBlock},
    {"q5_k", 256, 176, DTypeKind::kBlock},
    {"q6_k", 256, 210, DTypeKind::kBlock},
    {"q2_k", 256, 84, DTypeKind::kBlock},
    {"q3_k", 256, 110, DTypeKind::kBlock},
    {"iq4_nl", 32, 18, DTypeKind::kBlock},
    {"iq4_xs", 256, 136, DTypeKind::kBlock},
    {"mxfp4", 32, 17, DTypeKind::kBlock},
    {"iq2_xxs", 256, 66, DTypeKind::kBlock},
    {"iq2_xs", 256, 74, DTypeKind::kBlock},
    {"iq2_s", 256, 82, DTypeKind::kBlock},
    {"iq3_xxs", 256, 98, DTypeKind::kBlock},
    {"iq3_s", 256, 110, DTypeKind::kBlock},
    {"iq1_s", 256, 50, DTypeKind::kBlock},
    {"iq1_m", 256, 56, DTypeKind::kBlock},
    {"tq1_0", 256, 54, DTypeKind::kBlock},
    {"tq2_0", 256, 66, DTypeKind::kBlock},
    {"?", 1, 0, DTypeKind::kNone}};  // for any value outside the enumeration
}  // namespace detail

/// Whether T, which may be any type, is one of StoredTypes, so that some dtype has elements of type
/// T.
template <class T>
concept HasDType = detail::position_in<T>(StoredTypes{})
< StoredTypes::kSize;
/// The dtype of a C++ type, such as DType::kF32 for float. StoredTypes are in the order of the
/// enumeration.
template <HasDType T>
inline constexpr DType kDTypeOf = DType(detail::position_in<T>(StoredTypes{}));

/// Whether T, which may be any type, is one of IntegerTypes.
template <class T>
inline constexpr bool kIsInteger = detail::position_in<T>(IntegerTypes{}) < IntegerTypes::kSize;

/// Properties of a dtype. For a value outside the enumeration: name "?", kind kNone, 0 bytes.
constexpr const DTypeFacts& facts_of(DType d) {
  return detail::kDTypeFacts[int(d) < kNumDTypes ? int(d) : kNumDTypes];
}
/// "f32" and the like.
constexpr const char* dtype_name(DType d) { return facts_of(d).name; }
constexpr bool is_floating(DType d) {
  return facts_of(d).kind == DTypeKind::kFloat || facts_of(d).kind == DTypeKind::kStoredFloat;
}
/// Whether a dtype is a signed integer: i8 to i64.
constexpr bool is_signed(DType d) { return facts_of(d).kind == DTypeKind::kSigned; }
constexpr bool is_integer(DType d) {
  return is_signed(d) || facts_of(d).kind == DTypeKind::kUnsigned;
}
/// Whether ops compute with the dtype; false if it can only be stored.
constexpr bool is_computed(DType d) {
  return is_integer(d) || facts_of(d).kind == DTypeKind::kFloat ||
         facts_of(d).kind == DTypeKind::kBool;
}
/// Whether the dtype stores its elements in blocks of block_elements. A block dtype counts as
/// neither floating nor integer.
constexpr bool is_block(DType d) { return facts_of(d).kind == DTypeKind::kBlock; }

/// Bytes per element. Block dtypes have no size per element: passing one traps, or fails to compile
/// in a constant expression.
constexpr int dtype_size(DType d) {
  if (is_block(d)) __builtin_trap();
  return facts_of(d).block_bytes;
}
/// Bytes of n consecutive elements: a size, a stride or an offset. For a block dtype n must be a
/// multiple of block_elements; otherwise it traps, or fails to compile in a constant expression.
constexpr int64 bytes_of(DType d, int64 n) {
  const DTypeFacts& facts = facts_of(d);
  if (facts.block_elements == 1) return n * facts.block_bytes;
  if (n % facts.block_elements != 0) __builtin_trap();
  return n / facts.block_elements * facts.block_bytes;
}

static_assert(
    kDTypeOf<double> == DType::kF64 &&
        [] {
          for (int d = 0; d < kNumDTypes; d++)
            if (is_block(DType(d)) != (d >= StoredTypes::kSize)) return false;
          return true;
        }(),
    "StoredTypes are not what comes before the blocks");

/// Calls f.operator()<T>() for the type T in the list whose dtype is `dtype`. Returns false if the
/// list has no such type.
template <class... T, class F>
constexpr bool dispatch(DType dtype, TypeList<T...>, F&& f) {
  return ((dtype == kDTypeOf<T> ? (f.template operator()<T>(), true) : false) || ...);
}

}  // namespace wick
