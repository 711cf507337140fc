// A convolution split into parts that run in parallel, each a convolution of its own.
#pragma once
#include "wick/abi/call.h"
#include "wick/abi/ops/conv.h"

namespace wick::cpu {

/// The views by their role in the convolution, whichever of them is the result.
struct Convolution {
  explicit Convolution(const Call& call)
      : op(*call.op), attributes(*static_cast<const ConvAttributes*>(call.attributes)) {
    const View &a = call.in[0], &b = call.in[1], &out = call.out[0];
    x = op == kConv ? a : op == kConvInputGradient ? out : b;
    weight = op == kConvWeightGradient ? out : b;
    y = op == kConv ? out : a;
  }
  const View& result() const { return op == kConv ? y : op == kConvInputGradient ? x : weight; }
  /// The padding at the end; negative if no window covers the last elements.
  int64 padding_behind(int d) const {
    const ConvAttributes& a = attributes;
    return (y.shape[2 + d] - 1) * a.stride[d] + (weight.shape[2 + d] - 1) * a.dilation[d] + 1 -
           a.padding[d] - x.shape[2 + d];
  }

  Op op;
  ConvAttributes attributes;
  View x, weight, y;
};

/// Splits a convolution into ranges of images and of channels. A range of channels is one of whole
/// groups if there are several groups, else of the result's channels (y's for the weight gradient).
/// The split depends on the shape alone. For the weight gradient every range of images has a partial
/// sum, and these are added in order.
class ConvCut {
 public:
  explicit ConvCut(const Convolution& convolution);
  static ConvCut whole(const Convolution& convolution);

  int64 parts() const { return images_ * channels_; }
  /// Part i. sums: memory for the partial weight gradients, if sum_bytes() > 0; nullptr if only the
  /// part's shape matters.
  Convolution part(int64 i, float* sums) const;
  /// Calls f(i) for one part of each shape: only the last range may be shorter.
  template <class F>
  void each_shape(F&& f) const {
    for (const int64 image : {int64{0}, images_ - 1})
      for (const int64 channel : {int64{0}, channels_ - 1}) f(image * channels_ + channel);
  }

  /// Bytes of the f32 partial weight gradients of all ranges of images; 0 if there is one range.
  int64 sum_bytes() const;
  /// Adds the partial gradients up into the result.
  void add_up(float* sums) const;

 private:
  struct Whole {};
  ConvCut(const Convolution& convolution, Whole);
  int64 units() const;  // the number of groups, or of channels, that are split
  void choose();

  Convolution c_;
  int64 images_ = 1, channels_ = 1;            // numbers of ranges
  int64 images_each_ = 1, channels_each_ = 1;  // images and units per range
};

}  // namespace wick::cpu
