// Casts from every block format to f32, f16 and bf16, and from f32 to formats defined by rounding.
#include "kernels/blocks.h"

namespace wick::gpu {
namespace {

template <class F, class... T>
void add_decode(KernelList& list, TypeList<T...>) {
  (add_kernel<DecodeLaunch<F, T>, kAllFamilies>(list, "decode", DecodeLaunch<F, T>::signature,
                                                kDTypeOf<T>),
   ...);
}
template <class... F>
void add_decodes(KernelList& list, TypeList<F...>) {
  (add_decode<F>(list, DecodedTypes{}), ...);
}
template <class... F>
void add_encodes(KernelList& list, TypeList<F...>) {
  (add_kernel<EncodeLaunch<F>, kAllFamilies>(list, "encode", EncodeLaunch<F>::signature, F::kDType),
   ...);
}

}  // namespace

template <>
void add_family<"blocks">(KernelList& list) {
  add_decodes(list, BlockTypes{});
  add_encodes(list, RoundedBlockTypes{});
}

}  // namespace wick::gpu
