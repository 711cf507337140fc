// Choices between two elements, of which only the size matters.
#include "wick/abi/ops/where.h"
#include "kernels/map.h"

namespace wick::gpu {
namespace {

struct Choose {
  template <class T>
  WICK_DEVICE T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};
template <int bytes>
struct WhereMap
    : MapOf<Elements<Bits<bytes>>, Elements<bool>, Elements<Bits<bytes>>, Elements<Bits<bytes>>>,
      OneFunction<Choose> {};

template <class... T>
void add_where(KernelList& list, TypeList<T...>) {
  (add_map<WhereMap<sizeof(T)>>(list, {kWhere, kDTypeOf<T>}, kDTypeOf<T>), ...);
}

}  // namespace

template <>
void add_family<"where">(KernelList& list) {
  add_where(list, StoredTypes{});
}

}  // namespace wick::gpu
