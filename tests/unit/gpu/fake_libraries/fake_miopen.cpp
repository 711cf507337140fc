// MIOpen's convolutions in immediate mode, computed on the host. The numbers are those of its headers.
#include "fake.h"

using namespace fake;

namespace {

struct Handle {
  void* stream = nullptr;
};
struct Tensor {
  int type;
  int64_t size[4], stride[4];
  int64_t at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3];
  }
};
struct Convolution {
  int64_t padding[2], stride[2], dilation[2], groups = 1;
  bool deterministic = false;
};
struct Solution {
  float milliseconds;
  size_t workspace_bytes;
  uint64_t id;
  int algorithm;
};
enum : uint64_t { kWinograd = 7, kGemm = 9 };

Type type_of(int miopen_type) {
  switch (miopen_type) {
    case 0:
      return kF16;
    case 1:
      return kF32;
    case 6:
      return kF64;
    default:
      return kBf16;
  }
}

/// The transform that is fast, then one that computes sums of products.
int solutions(size_t most, size_t* found, Solution* list) {
  if (fault("solutions")) return 5;
  *found = most < 2 ? most : 2;
  list[0] = {1, 0, kWinograd, 3};
  if (most > 1) list[1] = {2, 4096, kGemm, 0};
  return 0;
}

/// Adds the terms of every (x, weight, y) that a convolution joins to the element of `out`.
int compute(const char* what, void* handle, const Tensor& x, const void* x_data, const Tensor& w,
            const void* w_data, const Tensor& y, const void* y_data, const Convolution& c,
            const Tensor& out, void* out_data, void* workspace, size_t bytes, uint64_t solution) {
  if (fault("convolution")) return 5;
  if (solution != kGemm || !c.deterministic || !workspace || bytes != 4096) return 3;
  log(std::string(what) + " " + std::to_string(x.type) + " " + std::to_string(x.size[1]) + " to " +
      std::to_string(y.size[1]) + " groups " + std::to_string(c.groups));
  wait_for(static_cast<Handle*>(handle)->stream);
  const Type type = type_of(x.type);
  const int64_t count = out.size[0] * out.size[1] * out.size[2] * out.size[3];
  std::string sums(size_t(count) * sizeof(double), '\0');
  auto* const sum = reinterpret_cast<double*>(sums.data());
  const auto place = [&](int64_t n, int64_t ch, int64_t h, int64_t v) {
    return ((n * out.size[1] + ch) * out.size[2] + h) * out.size[3] + v;
  };
  const int64_t outputs = w.size[0] / c.groups, inputs = w.size[1];
  for (int64_t n = 0; n < y.size[0]; n++)
    for (int64_t o = 0; o < y.size[1]; o++)
      for (int64_t oh = 0; oh < y.size[2]; oh++)
        for (int64_t ow = 0; ow < y.size[3]; ow++)
          for (int64_t i = 0; i < inputs; i++)
            for (int64_t kh = 0; kh < w.size[2]; kh++)
              for (int64_t kw = 0; kw < w.size[3]; kw++) {
                const int64_t h = oh * c.stride[0] + kh * c.dilation[0] - c.padding[0];
                const int64_t v = ow * c.stride[1] + kw * c.dilation[1] - c.padding[1];
                if (h < 0 || v < 0 || h >= x.size[2] || v >= x.size[3]) continue;
                const int64_t channel = o / outputs * inputs + i;
                if (&out == &y)
                  sum[place(n, o, oh, ow)] += load(x_data, x.at(n, channel, h, v), type) *
                                              load(w_data, w.at(o, i, kh, kw), type);
                else if (&out == &x)
                  sum[place(n, channel, h, v)] += load(y_data, y.at(n, o, oh, ow), type) *
                                                  load(w_data, w.at(o, i, kh, kw), type);
                else
                  sum[place(o, i, kh, kw)] += load(y_data, y.at(n, o, oh, ow), type) *
                                              load(x_data, x.at(n, channel, h, v), type);
              }
  for (int64_t i = 0; i < count; i++) store(out_data, i, type, sum[i] + fault("wrong"));
  return 0;
}

const Tensor& tensor(const void* desc) { return *static_cast<const Tensor*>(desc); }
const Convolution& convolution(const void* desc) { return *static_cast<const Convolution*>(desc); }

}  // namespace

extern "C" {

const char* miopenGetErrorString(int status) {
  return status == 3 ? "miopenStatusBadParm" : "miopenStatusInternalError";
}
int miopenGetVersion(size_t* major, size_t* minor, size_t* patch) {
  *major = 9, *minor = 8, *patch = 7;
  return 0;
}
int miopenCreate(void** handle) {
  if (fault("create")) return 5;
  *handle = new Handle;
  return 0;
}
int miopenSetStream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
int miopenCreateTensorDescriptor(void** desc) {
  *desc = new Tensor;
  return 0;
}
int miopenDestroyTensorDescriptor(void* desc) {
  delete static_cast<Tensor*>(desc);
  return 0;
}
int miopenSet4dTensorDescriptorEx(void* desc, int type, int n, int c, int h, int w, int n_stride,
                                  int c_stride, int h_stride, int w_stride) {
  *static_cast<Tensor*>(desc) = {type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}};
  return 0;
}
int miopenCreateConvolutionDescriptor(void** desc) {
  *desc = new Convolution;
  return 0;
}
int miopenDestroyConvolutionDescriptor(void* desc) {
  delete static_cast<Convolution*>(desc);
  return 0;
}
int miopenInitConvolutionDescriptor(void* desc, int mode, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w) {
  *static_cast<Convolution*>(desc) = {
      {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return mode == 0 ? 0 : 3;
}
int miopenSetConvolutionGroupCount(void* desc, int groups) {
  static_cast<Convolution*>(desc)->groups = groups;
  return 0;
}
int miopenSetConvolutionAttribute(void* desc, int attribute, int value) {
  if (attribute == 1) static_cast<Convolution*>(desc)->deterministic = value == 1;
  return 0;
}

int miopenConvolutionForwardGetSolution(void*, void*, void*, void*, void*, size_t most,
                                        size_t* found, Solution* list) {
  return solutions(most, found, list);
}
int miopenConvolutionBackwardDataGetSolution(void*, void*, void*, void*, void*, size_t most,
                                             size_t* found, Solution* list) {
  return solutions(most, found, list);
}
int miopenConvolutionBackwardWeightsGetSolution(void*, void*, void*, void*, void*, size_t most,
                                                size_t* found, Solution* list) {
  return solutions(most, found, list);
}

int miopenConvolutionForwardImmediate(void* handle, void* w, const void* w_data, void* x,
                                      const void* x_data, void* c, void* y, void* y_data,
                                      void* workspace, size_t bytes, uint64_t solution) {
  return compute("forward", handle, tensor(x), x_data, tensor(w), w_data, tensor(y), y_data,
                 convolution(c), tensor(y), y_data, workspace, bytes, solution);
}
int miopenConvolutionBackwardDataImmediate(void* handle, void* y, const void* y_data, void* w,
                                           const void* w_data, void* c, void* x, void* x_data,
                                           void* workspace, size_t bytes, uint64_t solution) {
  return compute("input", handle, tensor(x), x_data, tensor(w), w_data, tensor(y), y_data,
                 convolution(c), tensor(x), x_data, workspace, bytes, solution);
}
int miopenConvolutionBackwardWeightsImmediate(void* handle, void* y, const void* y_data, void* x,
                                              const void* x_data, void* c, void* w, void* w_data,
                                              void* workspace, size_t bytes, uint64_t solution) {
  return compute("weight", handle, tensor(x), x_data, tensor(w), w_data, tensor(y), y_data,
                 convolution(c), tensor(w), w_data, workspace, bytes, solution);
}

}  // extern "C"
