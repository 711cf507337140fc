// Any dtype to any other: read as the widest type of its kind, written from that (scalar/cast.h).
// A reader a dtype and a writer a kind and dtype, not a kernel a pair.
#include "elementwise.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class From, class To>
constexpr Elementwise kCast = {
    nullptr, {reading<From, Wide<From>>(), {}, {}}, writing<To, Wide<From>>()};

template <class T>
constexpr Access kCopy = copy_access<sizeof(T)>();

}  // namespace

void add_casts(Table& table) {
  for_each(StoredTypes{}, [&]<class From>() {
    for_each(StoredTypes{}, [&]<class To>() {
      const DType from = kDTypeOf<From>, to = kDTypeOf<To>;
      if constexpr (kSameBits<From, To>)
        table.add(OpId::kCast, {from, to}, {"copy", nullptr, nullptr, run_copy, &kCopy<From>, 0});
      else
        table.add(OpId::kCast, {from, to},
                  {"cast", nullptr, nullptr, run_unary, &kCast<From, To>, 0});
    });
  });
}

}  // namespace wick::cpu::WICK_ISA
