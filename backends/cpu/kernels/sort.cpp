// Keys of elements: unsigned integers in the elements' order. NaN is one key, the largest; the two
// zeros are one.
#include "dispatch/sort.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/bits.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class T>
using Bits = wick::Bits<sizeof(T)>;

/// Reverses the order of negative numbers and puts the others above them.
template <class T>
WICK_HD Bits<T> key_of(const T* from) {
  using U = Bits<T>;
  constexpr U kSign = U(U(1) << (8 * sizeof(U) - 1));
  U bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  if constexpr (is_floating(kDTypeOf<T>)) {
    // Bits above infinity, or above the largest value of a dtype without it, are NaN.
    constexpr U kLargest = U(kSame<T, f8e4m3>   ? 0x7e
                             : kSame<T, f8e5m2> ? 0x7c
                             : kSame<T, bf16>   ? 0x7f80
                             : kSame<T, f16>    ? 0x7c00
                             : kSame<T, float>  ? 0x7f800000
                                                : 0x7ff0000000000000);
    const U magnitude = U(bits & U(~kSign));
    const U key = bits & kSign ? U(kSign - magnitude) : U(kSign + magnitude);
    return magnitude > kLargest ? U(~U(0)) : key;
  } else if constexpr (is_signed(kDTypeOf<T>)) {
    return U(bits ^ kSign);
  } else {
    return bits;
  }
}

template <class T>
void narrow(const void* from, int64 stride, int64 n, int64 first, int descending, uint64* to) {
  const T* x = static_cast<const T*>(from);
  const Bits<T> flip = descending ? Bits<T>(~Bits<T>(0)) : Bits<T>(0);
  if (stride == 1)
    for (int64 i = 0; i < n; i++)
      to[i] = uint64(Bits<T>(key_of(x + i) ^ flip)) << 32 | uint64(first + i);
  else
    for (int64 i = 0; i < n; i++)
      to[i] = uint64(Bits<T>(key_of(x + i * stride) ^ flip)) << 32 | uint64(first + i);
}

template <class T>
void wide(const void* from, int64 stride, int64 n, int64 first, int descending, Keyed* to) {
  const T* x = static_cast<const T*>(from);
  const Bits<T> flip = descending ? Bits<T>(~Bits<T>(0)) : Bits<T>(0);
  for (int64 i = 0; i < n; i++) to[i] = {Bits<T>(key_of(x + i * stride) ^ flip), uint64(first + i)};
}

template <class T>
constexpr SortFunctions kSortFunctions = {sizeof(T), sizeof(T), narrow<T>, wide<T>};

}  // namespace

template <>
void add_family<"sort">(Table& table) {
  for_each(AllTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kSort, t,
              {.scratch_bytes = sort_scratch, .run = run_sort, .data = &kSortFunctions<T>});
    table.add(kTopk, t,
              {.scratch_bytes = topk_scratch, .run = run_topk, .data = &kSortFunctions<T>});
  });
}

}  // namespace wick::cpu::WICK_ISA
