// cuDNN's convolutions.
#pragma once
#include "libraries/vendor_library.h"

namespace wick::gpu {

namespace cudnn {

// Source of the numbers: the headers of cuDNN 9.
inline constexpr int kSuccess = 0;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kNchw = 0;
inline constexpr int kTensorOpMath = 1, kAllowConversion = 2, kFmaMath = 3;
inline constexpr int kDeterministic = 1;
inline constexpr int kMaxAlgorithms = 8;

/// One algorithm, as the three cudnnGetConvolution...Algorithm_v7 describe it.
struct Algorithm {
  int algorithm;
  int status;
  float seconds;
  size_t workspace_bytes;
  int determinism;
  int math;
  int reserved[3];
};

struct Api {
  size_t (*GetVersion)();
  const char* (*GetErrorString)(int status);
  int (*Create)(void** handle);
  int (*SetStream)(void* handle, void* stream);
  int (*CreateTensorDescriptor)(void** desc);
  int (*DestroyTensorDescriptor)(void* desc);
  int (*SetTensor4dDescriptorEx)(void* desc, int type, int n, int c, int h, int w, int n_stride,
                                 int c_stride, int h_stride, int w_stride);
  int (*CreateFilterDescriptor)(void** desc);
  int (*DestroyFilterDescriptor)(void* desc);
  int (*SetFilter4dDescriptor)(void* desc, int type, int format, int k, int c, int h, int w);
  int (*CreateConvolutionDescriptor)(void** desc);
  int (*DestroyConvolutionDescriptor)(void* desc);
  int (*SetConvolution2dDescriptor)(void* desc, int pad_h, int pad_w, int stride_h, int stride_w,
                                    int dilation_h, int dilation_w, int mode, int compute);
  int (*SetConvolutionGroupCount)(void* desc, int groups);
  int (*SetConvolutionMathType)(void* desc, int math);
  int (*GetConvolutionForwardAlgorithm_v7)(void* handle, void* x, void* weight, void* conv, void* y,
                                           int asked, int* found, Algorithm*);
  int (*GetConvolutionBackwardDataAlgorithm_v7)(void* handle, void* weight, void* y, void* conv,
                                                void* x, int asked, int* found, Algorithm*);
  int (*GetConvolutionBackwardFilterAlgorithm_v7)(void* handle, void* x, void* y, void* conv,
                                                  void* weight, int asked, int* found, Algorithm*);
  // alpha, two operands, the descriptor of the convolution, the algorithm, a workspace, beta, the result
  int (*ConvolutionForward)(void* handle, const void* alpha, void* x, const void* x_data,
                            void* weight, const void* weight_data, void* conv, int algorithm,
                            void* workspace, size_t bytes, const void* beta, void* y, void* y_data);
  int (*ConvolutionBackwardData)(void* handle, const void* alpha, void* weight,
                                 const void* weight_data, void* y, const void* y_data, void* conv,
                                 int algorithm, void* workspace, size_t bytes, const void* beta,
                                 void* x, void* x_data);
  int (*ConvolutionBackwardFilter)(void* handle, const void* alpha, void* x, const void* x_data,
                                   void* y, const void* y_data, void* conv, int algorithm,
                                   void* workspace, size_t bytes, const void* beta, void* weight,
                                   void* weight_data);
};

}  // namespace cudnn

/// Opens cuDNN 9 for the current device.
std::unique_ptr<VendorLibrary> open_cudnn(const DeviceInfo&, Failure*);

}  // namespace wick::gpu
