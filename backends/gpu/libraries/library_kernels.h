// Kernels of the table that call a vendor's library. They come before wick's own, and decline a call that the
// library does not serve.
#pragma once
#include "libraries/libraries.h"
#include "runtime/kernel_list.h"
#include "wick/abi/ops/matmul.h"

namespace wick::gpu {

void add_library_kernels(KernelList&);

/// The call as the library takes it; the reason if it cannot.
const char* describe_product(const Call&, LibraryWork, bool tf32, BlasProduct*, LibrarySizes*);
const char* describe_convolution(const Call&, LibraryWork, bool tf32, LibraryConvolution*,
                                 LibrarySizes*);

/// The product of a call of linear_epilogue as matmul has it: b is the weight's transpose.
struct PlainProduct {
  View in[2];
  Call call;
  explicit PlainProduct(const Call& linear) : in{linear.in[0], linear.in[1]}, call(linear) {
    const View& weight = linear.in[1];
    in[1].shape[0] = weight.shape[1], in[1].shape[1] = weight.shape[0];
    in[1].strides[0] = weight.strides[1], in[1].strides[1] = weight.strides[0];
    call.in = in, call.num_in = 2, call.op = &kMatmul, call.attributes = nullptr;
  }
  PlainProduct(const PlainProduct&) = delete;
  PlainProduct& operator=(const PlainProduct&) = delete;
};

}  // namespace wick::gpu
