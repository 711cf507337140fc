// searchsorted and nonzero.
#include "kernels/search.h"

namespace wick::gpu {

template <>
void add_family<"search">(KernelList& list) {
  add_kernels<SearchLaunch>(list, "binary", AllTypes{});
  add_kernel<NonzeroPieces, kAllFamilies>(list, "pieces");
}

}  // namespace wick::gpu
