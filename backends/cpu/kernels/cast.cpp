// Any dtype to any other: read as the widest type of its kind, written from that (scalar/cast.h).
// A reader a dtype and a writer a kind and dtype, not a kernel a pair.
#include "wick/abi/ops/cast.h"
#include "dispatch/elementwise.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class From, class To>
constexpr Elementwise kCastOf = {
    nullptr, {reading<From, Wide<From>>(), {}, {}}, writing<To, Wide<From>>()};

template <class T>
constexpr Access kCopy = copy_access<sizeof(T)>();

}  // namespace

template <>
void add_family<"cast">(Table& table) {
  for_each(StoredTypes{}, [&]<class From>() {
    for_each(StoredTypes{}, [&]<class To>() {
      const DType from = kDTypeOf<From>, to = kDTypeOf<To>;
      if constexpr (kSameBits<From, To>)
        table.add(kCast, from, to, {.name = "copy", .run = run_copy, .data = &kCopy<From>});
      else
        table.add(kCast, from, to, {.name = "cast", .run = run_unary, .data = &kCastOf<From, To>});
    });
  });
}

}  // namespace wick::cpu::WICK_ISA
