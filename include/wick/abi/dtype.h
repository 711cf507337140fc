// What the elements of a tensor are. Freestanding.
#pragma once
#include "wick/abi/numbers.h"

namespace wick {

/// The order is the order of kinds: bool, unsigned and signed integers, floats.
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
  kF4,      // e2m1: this and the next three are stored, copied and converted, not computed in
  kF6E2M3,  // these three take a byte an element in memory, its low bits; files pack them
  kF6E3M2,
  kF8E8M0,
  kF8E4M3,
  kF8E5M2,
  kBf16,
  kF16,
  kF32,
  kF64
};
inline constexpr int kNumDTypes = 19;

/// What ops compute with.
using FloatTypes = TypeList<f8e4m3, f8e5m2, bf16, f16, float, double>;
using IntegerTypes = TypeList<uint8, int8, uint16, int16, uint32, int32, uint64, int64>;
/// What bits are taken of.
using BitTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64>;
using NumericTypes = TypeList<uint8, int8, uint16, int16, uint32, int32, uint64, int64, f8e4m3,
                              f8e5m2, bf16, f16, float, double>;
using AllTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, f8e4m3,
                          f8e5m2, bf16, f16, float, double>;
/// What is stored, copied and converted: every dtype.
using StoredTypes = TypeList<bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, f4,
                             f6e2m3, f6e3m2, f8e8m0, f8e4m3, f8e5m2, bf16, f16, float, double>;

namespace detail {
/// Where a type stands in a list; its length if it does not.
template <class T, class... U>
constexpr int position_in(TypeList<U...>) {
  constexpr bool same[] = {kSame<T, U>...};
  int i = 0;
  while (i < int(sizeof...(U)) && !same[i]) i++;
  return i;
}

struct DTypeFacts {
  const char* name;
  int size;
  bool floating;
};
inline constexpr DTypeFacts kDTypeFacts[kNumDTypes] = {
    {"bool", 1, false},  {"u8", 1, false},    {"i8", 1, false},    {"u16", 2, false},
    {"i16", 2, false},   {"u32", 4, false},   {"i32", 4, false},   {"u64", 8, false},
    {"i64", 8, false},   {"f4", 1, true},     {"f6e2m3", 1, true}, {"f6e3m2", 1, true},
    {"f8e8m0", 1, true}, {"f8e4m3", 1, true}, {"f8e5m2", 1, true}, {"bf16", 2, true},
    {"f16", 2, true},    {"f32", 4, true},    {"f64", 8, true}};
}  // namespace detail

/// DType::kF32 for float and so on: StoredTypes has the order of the enumeration.
template <class T>
inline constexpr DType kDTypeOf = DType(detail::position_in<T>(StoredTypes{}));
static_assert(kDTypeOf<double> == DType::kF64 && StoredTypes::kSize == kNumDTypes);

/// Of any type: whether it is one of IntegerTypes.
template <class T>
inline constexpr bool kIsInteger = detail::position_in<T>(IntegerTypes{}) < IntegerTypes::kSize;

/// "f32" and the like; "?" for a value outside of the enumeration.
constexpr const char* dtype_name(DType d) {
  return int(d) < kNumDTypes ? detail::kDTypeFacts[int(d)].name : "?";
}
/// Bytes of one element.
constexpr int dtype_size(DType d) { return detail::kDTypeFacts[int(d)].size; }
constexpr bool is_floating(DType d) { return detail::kDTypeFacts[int(d)].floating; }
constexpr bool is_integer(DType d) { return !is_floating(d) && d != DType::kBool; }
/// Of integers: i8 to i64.
constexpr bool is_signed(DType d) {
  return d == DType::kI8 || d == DType::kI16 || d == DType::kI32 || d == DType::kI64;
}
/// Whether ops compute with it, or it is only stored, copied and converted.
constexpr bool is_computed(DType d) { return d < DType::kF4 || d > DType::kF8E8M0; }

/// Calls f.operator()<T>() for the T of the list that dtype names; returns whether there is one.
template <class... T, class F>
constexpr bool dispatch(DType dtype, TypeList<T...>, F&& f) {
  return ((dtype == kDTypeOf<T> ? (f.template operator()<T>(), true) : false) || ...);
}

}  // namespace wick
