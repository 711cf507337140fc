// Products of a few rows of f16 and bf16 with weights in blocks, on matrix units.
#include "kernels/linear_direct.h"

namespace wick::gpu {
namespace {

/// The formats that most files have.
using DirectTypes =
    TypeList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4>;

template <class T, class... F>
void add_of(KernelList& list, TypeList<F...>) {
  (add_linear<LinearDirectLaunch<F, T>, kMatrixFamilies>(list, "direct", kDTypeOf<T>, F::kDType,
                                                         kKernelRoundsInputs),
   ...);
  (add_several<LinearDirectLaunch<F, T>, kMatrixFamilies>(list, "direct", kDTypeOf<T>, F::kDType,
                                                          kKernelRoundsInputs),
   ...);
}

}  // namespace

void add_direct_linear(KernelList& list) {
  add_of<f16>(list, DirectTypes{});
  add_of<bf16>(list, DirectTypes{});
}

}  // namespace wick::gpu
