// Choices between two elements, which are only moved.
#include "wick/abi/ops/where.h"
#include "dispatch/elementwise.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class Word>
void choose(const void* condition, const void* a, const void* b, void* y, int64 n) {
  const uint8* mask = static_cast<const uint8*>(condition);
  const Word* yes = static_cast<const Word*>(a);
  const Word* no = static_cast<const Word*>(b);
  Word* to = static_cast<Word*>(y);
  for (int64 i = 0; i < n; i++) {
    const Word x0 = yes[i], x1 = no[i];  // both are read, so that this is no branch
    to[i] = mask[i] ? x0 : x1;
  }
}

template <class Word>
constexpr Elementwise kWhereOf = {
    nullptr,
    {copy_access<1>(), copy_access<sizeof(Word)>(), copy_access<sizeof(Word)>()},
    copy_access<sizeof(Word)>(),
    choose<Word>};

template <class T>
const Elementwise* where() {
  if constexpr (sizeof(T) == 1)
    return &kWhereOf<uint8>;
  else if constexpr (sizeof(T) == 2)
    return &kWhereOf<uint16>;
  else if constexpr (sizeof(T) == 4)
    return &kWhereOf<uint32>;
  else
    return &kWhereOf<uint64>;
}

}  // namespace

template <>
void add_family<"where">(Table& table) {
  for_each(StoredTypes{}, [&]<class T>() {
    table.add(kWhere, kDTypeOf<T>, {.run = run_where, .data = where<T>()});
  });
}

}  // namespace wick::cpu::WICK_ISA
