#include "dispatch/create.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/walk.h"
#include "scalar/bits.h"
#include "wick/abi/ops/create.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 18;  // elements: below, waking a thread costs more than the writing

template <class T>
Status run(const Kernel*, const Call* call) {
  T value;
  std::memcpy(&value, &static_cast<const FillAttributes*>(call->attributes)->bits, sizeof value);
  const View* const views[1] = {&call->out[0]};
  const Space<1> space = space_of(views);
  T* const data = call->out[0].as<T>();
  parallel_for(space.numel, kGrain, [&](int64 begin, int64 end) {
    if (space.flat(0)) return void(std::fill(data + begin, data + end, value));
    Position<1> at(space, begin);
    for (int64 count; begin < end; begin += count, at.advance(count)) {
      count = std::min(end - begin, at.rest());
      for (int64 i = 0; i < count; i++) data[at.offset(0) + i * space.row_stride(0)] = value;
    }
  });
  return {};
}

}  // namespace

void add_fill(Table& table) {
  for_each(StoredTypes{},
           [&]<class T>() { table.add(kFill, kDTypeOf<T>, {.run = run<Bits<sizeof(T)>>}); });
}

}  // namespace wick::cpu
