// Products of integers, modulo 2^bits: signed and unsigned alike.
#include "kernels/matmul_tiled.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_of(KernelList& list, TypeList<T...>) {
  (add_kernel<
       TiledMatmulLaunch<Bits<sizeof(T)>, sizeof(T) == 8 ? kDoublePlainTile : kSmallPlainTile>,
       kAllFamilies>(list, "tiled_64", {kMatmul, kDTypeOf<T>}),
   ...);
}

}  // namespace

void add_integer_matmul(KernelList& list) { add_of(list, IntegerTypes{}); }

}  // namespace wick::gpu
