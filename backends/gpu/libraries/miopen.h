// MIOpen's convolutions.
#pragma once
#include "libraries/vendor_library.h"

namespace wick::gpu {

namespace miopen {

// Source of the numbers: the headers of ROCm 6 and 7.
inline constexpr int kSuccess = 0, kNotImplemented = 6, kUnsupportedOp = 8;
inline constexpr int kConvolution = 0;  // a mode: cross-correlation
inline constexpr int kAttributeDeterministic = 1;
inline constexpr size_t kMaxSolutions = 32;

/// miopenConvSolution_t.
struct Solution {
  float milliseconds;
  size_t workspace_bytes;
  uint64 id;
  int algorithm;
};

// The functions for the forward convolution, the gradient of its input and that of its weight take two
// operands and the result in orders of their own.
using GetSolutions = int (*)(void* handle, void* first, void* second, void* convolution, void* out,
                             size_t most, size_t* found, Solution*);
using Immediate = int (*)(void* handle, void* first, const void* first_data, void* second,
                          const void* second_data, void* convolution, void* out, void* out_data,
                          void* workspace, size_t bytes, uint64 solution);

struct Api {
  const char* (*GetErrorString)(int status);
  int (*GetVersion)(size_t* major, size_t* minor, size_t* patch);
  int (*Create)(void** handle);
  int (*SetStream)(void* handle, void* stream);
  int (*CreateTensorDescriptor)(void** desc);
  int (*DestroyTensorDescriptor)(void* desc);
  int (*Set4dTensorDescriptorEx)(void* desc, int type, int n, int c, int h, int w, int n_stride,
                                 int c_stride, int h_stride, int w_stride);
  int (*CreateConvolutionDescriptor)(void** desc);
  int (*DestroyConvolutionDescriptor)(void* desc);
  int (*InitConvolutionDescriptor)(void* desc, int mode, int pad_h, int pad_w, int stride_h,
                                   int stride_w, int dilation_h, int dilation_w);
  int (*SetConvolutionGroupCount)(void* desc, int groups);
  int (*SetConvolutionAttribute)(void* desc, int attribute, int value);
  GetSolutions get_solutions[kLibraryWorks];
  Immediate immediate[kLibraryWorks];
};

}  // namespace miopen

/// Opens MIOpen for the current device. It is used in immediate mode: nothing is timed or tuned.
std::unique_ptr<VendorLibrary> open_miopen(const DeviceInfo&, Failure*);

}  // namespace wick::gpu
