// Convolutions by windows of one element with stride 1: products of the weight and x as it lies.
#pragma once
#include "kernels/conv.h"
#include "kernels/matmul.h"

namespace wick::gpu {

/// A convolution of groups == 1 as y[n, o, place] = sum over c of weight[o, c] x[n, c, place]; its
/// input gradient has the weight transposed.
struct PointwiseProduct {
  View in[2], out;
  Call call;

  /// nullptr if the call is such a product.
  static const char* check(const Call& call) {
    const Convolution c(call);
    if (const char* why = c.check()) return why;
    if (c.a.groups != 1 || c.taps() != 1) return "there are groups or windows";
    for (int d = 0; d < 2; d++)
      if (c.a.stride[d] != 1 || c.source.shape[2 + d] != c.out.shape[2 + d])
        return "there is a stride or padding";
    if (c.source.shape[2] > 1 && c.source.strides[2] != c.source.shape[3] * c.source.strides[3])
      return "rows of an image do not follow each other";
    return nullptr;
  }
  explicit PointwiseProduct(const Call& conv) : call(conv) {
    const Convolution c(conv);
    const View &x = c.source, &y = c.out;
    const int64 images = y.shape[0], places = c.places();
    in[0] = view(c.weight, images, c.rows, c.channels);
    in[0].strides[0] = 0;
    in[0].strides[1] = c.weight.strides[c.transposed];
    in[0].strides[2] = c.weight.strides[!c.transposed];
    in[1] = view(x, images, c.channels, places);
    in[1].strides[0] = x.strides[0], in[1].strides[1] = x.strides[1];
    in[1].strides[2] = x.strides[3];
    out = view(y, images, c.rows, places);
    out.strides[0] = c.rows * places, out.strides[1] = places, out.strides[2] = 1;
    call.in = in, call.num_in = 2, call.out = &out, call.op = &kMatmul, call.attributes = nullptr;
  }
  PointwiseProduct(const PointwiseProduct&) = delete;

 private:
  static View view(const View& x, int64 images, int64 rows, int64 columns) {
    View v = x;
    v.rank = 3, v.shape[0] = images, v.shape[1] = rows, v.shape[2] = columns;
    return v;
  }
};

/// A convolution by a kernel of matmul.
template <class Matmul>
struct PointwiseConvLaunch {
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    const char* const why = PointwiseProduct::check(call);
    return why ? why : Matmul::accepts(PointwiseProduct(call).call, info);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo& info) {
    if constexpr (requires { Matmul::scratch_bytes(call, info); })
      return Matmul::scratch_bytes(PointwiseProduct(call).call, info);
    else
      return 0;
  }
  static Status run(const Call& call) { return Matmul::run(PointwiseProduct(call).call); }
};

template <class Matmul, unsigned families>
void add_pointwise(KernelList& list, const char* form) {
  using Launch = PointwiseConvLaunch<Matmul>;
  constexpr DType dtype = Matmul::signature.dtype;
  add_kernel<Launch, families>(list, form, {kConv, dtype});
  add_kernel<Launch, families>(list, form, {kConvInputGradient, dtype});
}

/// Add the kernels of matmul.cpp and matmul_matrix.cpp.
void add_plain_pointwise_conv(KernelList&);
void add_matrix_pointwise_conv(KernelList&);

}  // namespace wick::gpu
