// Convolutions by the library: cut into parts, they have the same bits on any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "libs/conv_cut.h"
#include "rig.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::find;
using test::Launch;

struct Sizes {
  int64 images, in, out, side, groups;
};
// Many images, one, groups, and more work than sixteen parts of the least size.
const Sizes kSizes[] = {
    {5, 35, 37, 29, 1}, {1, 67, 69, 41, 1}, {3, 36, 66, 31, 2}, {16, 64, 96, 33, 1}};
constexpr int64 kSide = 3;  // of the windows, padded by one

Array filled(DType dtype, const std::vector<int64>& shape) {
  Array x(dtype, shape);
  if (dtype == DType::kBf16)
    x.fill<bf16>([](size_t i) { return round_to<bf16>(test::wave(i)); });
  else
    x.fill<float>(test::wave);
  return x;
}

TEST(Conv, ThreadsChangeNoBit) {
  for (const Sizes& s : kSizes)
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      const Array x = filled(dtype, {s.images, s.in, s.side, s.side}),
                  weight = filled(dtype, {s.out, s.in / s.groups, kSide, kSide}),
                  y = filled(dtype, {s.images, s.out, s.side, s.side});
      const Array of_x(dtype, {s.images, s.in, s.side, s.side}),
          of_weight(dtype, {s.out, s.in / s.groups, kSide, kSide}),
          of_y(dtype, {s.images, s.out, s.side, s.side});
      const ConvAttributes attributes{
          .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .groups = s.groups};
      const auto check = [&](const Op& op, const Array& a, const Array& b, const Array& out) {
        const Kernel* kernel = find(isa(), op, {dtype, dtype, dtype}, 2).first;
        if (!kernel) return;  // WICK_CPU_LIBS=off
        Launch launch({&a, &b}, out, &attributes);
        launch.of(op);
        if (!launch.declined_by(*kernel)) test::expect_same_bits(launch, *kernel, {&out});
      };
      check(kConv, x, weight, of_y);
      check(kConvInputGradient, y, weight, of_x);
      check(kConvWeightGradient, y, x, of_weight);
    }
}

}  // namespace
}  // namespace wick::cpu
