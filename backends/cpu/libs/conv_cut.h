// A convolution cut into parts that are computed side by side, each a convolution of its own.
#pragma once
#include "wick/abi/call.h"
#include "wick/abi/ops/conv.h"

namespace wick::cpu {

/// The views by what they are to the convolution, whichever of them is computed.
struct Convolution {
  explicit Convolution(const Call& call)
      : op(*call.op), attributes(*static_cast<const ConvAttributes*>(call.attributes)) {
    const View &a = call.in[0], &b = call.in[1], &out = call.out[0];
    x = op == kConv ? a : op == kConvInputGradient ? out : b;
    weight = op == kConvWeightGradient ? out : b;
    y = op == kConv ? out : a;
  }
  const View& result() const { return op == kConv ? y : op == kConvInputGradient ? x : weight; }
  /// Padding behind, below 0 where the last elements are in no window.
  int64 padding_behind(int d) const {
    const ConvAttributes& a = attributes;
    return (y.shape[2 + d] - 1) * a.stride[d] + (weight.shape[2 + d] - 1) * a.dilation[d] + 1 -
           a.padding[d] - x.shape[2 + d];
  }

  Op op;
  ConvAttributes attributes;
  View x, weight, y;
};

/// Into ranges of images, and of channels: of whole groups where there are some, else of the
/// result's channels, of y's for the weight's gradient. How many there are is of the shape alone.
/// Ranges of images each have a weight's gradient; those are added up in their order.
class ConvCut {
 public:
  explicit ConvCut(const Convolution& convolution);
  static ConvCut whole(const Convolution& convolution);

  int64 parts() const { return images_ * channels_; }
  /// Part i. sums: where the gradients of the ranges of images go, if sum_bytes() > 0; nullptr where
  /// the part's shape alone is wanted.
  Convolution part(int64 i, float* sums) const;
  /// f(number) of one part of each shape: only the last range is shorter.
  template <class F>
  void each_shape(F&& f) const {
    for (const int64 image : {int64{0}, images_ - 1})
      for (const int64 channel : {int64{0}, channels_ - 1}) f(image * channels_ + channel);
  }

  /// Of the weight's gradients of all ranges of images, in f32; 0 where there is one.
  int64 sum_bytes() const;
  /// Adds them up into the result.
  void add_up(float* sums) const;

 private:
  struct Whole {};
  ConvCut(const Convolution& convolution, Whole);
  int64 units() const;  // of channels: groups, or channels
  void choose();

  Convolution c_;
  int64 images_ = 1, channels_ = 1;            // how many ranges
  int64 images_each_ = 1, channels_each_ = 1;  // images, and units of channels, of a range
};

}  // namespace wick::cpu
