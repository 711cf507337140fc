#include "libs/conv_cut.h"

#include <algorithm>

#include "base/parallel.h"
#include "scalar/round_up.h"
#include "wick/abi/numbers.h"

namespace wick::cpu {
namespace {

constexpr int64 kLeastWork = 1 << 21;        // multiplications of a part: some 50 us
constexpr int64 kMuchWork = int64{1} << 27;  // of a part, where there are many
constexpr int64 kParts = 16, kMaxParts = 256;
constexpr int64 kGranule = 32;   // channels that oneDNN's kernels take at once
constexpr int64 kMove = 32;      // multiplications that moving an element costs
constexpr int64 kShare = 16;     // of the work: the most that moving elements once more may cost
constexpr int64 kGrain = 32768;  // elements a thread adds up at least

void narrow(View& view, int d, int64 first, int64 count) {
  view.data = view.as<char>() + first * view.strides[d] * dtype_size(view.dtype);
  view.shape[d] = count;
}

template <class T>
void put(const float* from, const View& to, int64 first) {
  T* const line = to.as<T>() + first * to.strides[0];
  for (int64 c = 0; c < to.shape[1]; c++)
    for (int64 h = 0; h < to.shape[2]; h++)
      for (int64 w = 0; w < to.shape[3]; w++)
        line[c * to.strides[1] + h * to.strides[2] + w * to.strides[3]] = round_to<T>(*from++);
}

}  // namespace

ConvCut::ConvCut(const Convolution& convolution, Whole)
    : c_(convolution), images_each_(c_.x.shape[0]), channels_each_(units()) {}
ConvCut ConvCut::whole(const Convolution& convolution) { return {convolution, Whole{}}; }
ConvCut::ConvCut(const Convolution& convolution) : ConvCut(convolution, Whole{}) { choose(); }

int64 ConvCut::units() const {
  if (c_.attributes.groups > 1) return c_.attributes.groups;
  return c_.op == kConvInputGradient ? c_.x.shape[1] : c_.y.shape[1];
}

/// As many parts as the work is enough for, unless operands that several parts share are moved more
/// often than that is worth: each range of images takes the weight, or gives one; each range of
/// channels takes the operand that is not cut.
void ConvCut::choose() {
  const int64 weight = c_.weight.numel(), of_y = weight / c_.weight.shape[0];
  const int64 work = c_.y.numel() * of_y;
  const int64 wanted =
      std::clamp(work / kLeastWork, int64{1}, std::clamp(work / kMuchWork, kParts, kMaxParts));
  const bool grouped = c_.attributes.groups > 1;
  const int64 shared = grouped ? 0 : (c_.op == kConvInputGradient ? c_.y : c_.x).numel();
  const int64 granule =
      grouped ? ceil_div(kGranule, c_.weight.shape[0] / c_.attributes.groups) : kGranule;
  const int64 n = c_.x.shape[0], m = units();
  int64 best = 1, best_moved = 0;
  for (int64 i = 1; i <= std::min(n, wanted); i++)
    for (int64 k = 1; k <= std::min(ceil_div(m, granule), wanted / i); k++) {
      const int64 images_each = ceil_div(n, i), channels_each = round_up(ceil_div(m, k), granule);
      const int64 images = ceil_div(n, images_each), channels = ceil_div(m, channels_each);
      const int64 moved = (images - 1) * weight + (channels - 1) * shared;
      if (moved * kMove > work / kShare) continue;
      if (images * channels < best || (images * channels == best && moved >= best_moved)) continue;
      best = images * channels;
      best_moved = moved;
      images_ = images, images_each_ = images_each;
      channels_ = channels, channels_each_ = std::min(channels_each, m);
    }
}

Convolution ConvCut::part(int64 i, float* sums) const {
  Convolution part = c_;
  const int64 image = i / channels_ * images_each_,
              images = std::min(images_each_, c_.x.shape[0] - image);
  const int64 first = i % channels_ * channels_each_,
              count = std::min(channels_each_, units() - first);
  if (sum_bytes() > 0) {
    part.weight.dtype = DType::kF32;
    if (sums) part.weight.data = sums + i / channels_ * c_.weight.numel();
    int64 stride = 1;
    for (int d = 3; d >= 0; d--) {
      part.weight.strides[d] = stride;
      stride *= c_.weight.shape[d];
    }
  }
  narrow(part.x, 0, image, images);
  narrow(part.y, 0, image, images);
  if (c_.attributes.groups > 1) {
    const int64 in = c_.weight.shape[1], out = c_.weight.shape[0] / c_.attributes.groups;
    part.attributes.groups = count;
    narrow(part.x, 1, first * in, count * in);
    narrow(part.y, 1, first * out, count * out);
    narrow(part.weight, 0, first * out, count * out);
  } else if (c_.op == kConvInputGradient) {
    narrow(part.x, 1, first, count);
    narrow(part.weight, 1, first, count);
  } else {
    narrow(part.y, 1, first, count);
    narrow(part.weight, 0, first, count);
  }
  return part;
}

int64 ConvCut::sum_bytes() const {
  return c_.op == kConvWeightGradient && images_ > 1
             ? images_ * c_.weight.numel() * int64(sizeof(float))
             : 0;
}

void ConvCut::add_up(float* sums) const {
  const int64 weight = c_.weight.numel(), each = weight / c_.weight.shape[0];
  parallel_for(c_.weight.shape[0], std::max<int64>(1, kGrain / (each * images_)),
               [&](int64 begin, int64 end) {
                 for (int64 o = begin; o < end; o++) {
                   float* const sum = sums + o * each;
                   for (int64 i = 1; i < images_; i++)
                     for (int64 e = 0; e < each; e++) sum[e] += sum[i * weight + e];
                   if (c_.weight.dtype == DType::kBf16)
                     put<bf16>(sum, c_.weight, o);
                   else
                     put<float>(sum, c_.weight, o);
                 }
               });
}

}  // namespace wick::cpu
