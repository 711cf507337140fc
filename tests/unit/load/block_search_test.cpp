#include "load/block_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../threads_scope.h"
#include "wick/io/safetensors.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

constexpr DType kSearched[] = {DType::kQ2_K, DType::kQ3_K,   DType::kQ4_K,  DType::kQ5_K,
                               DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS};
constexpr int64_t kBlock = 256;

double squared_error(const std::vector<float>& x, const Tensor& blocks, int64_t row) {
  const std::vector<float> y = cast(blocks, DType::kF32).to_vector<float>();
  double error = 0;
  for (int64_t i = row * kBlock; i < (row + 1) * kBlock; i++)
    error += std::pow(double(x[size_t(i)]) - double(y[size_t(i)]), 2);
  return error;
}

TEST(BlockSearch, ErrorsAreNoLargerThanThoseOfGgmlsSearch) {
  const NamedTensors golden = load_safetensors(WICK_GOLDEN "/blocks/searched.safetensors");
  const Tensor& x = golden.at("x");
  const std::vector<float> values = x.to_vector<float>();
  for (const DType dtype : kSearched) {
    const std::vector<uint8_t> bytes = golden.at(dtype_name(dtype)).to_vector<uint8_t>();
    const Tensor theirs = Tensor::from_bytes(bytes.data(), dtype, x.shape()),
                 ours = quantize_by_search(x, dtype);
    EXPECT_EQ(ours.dtype(), dtype);
    EXPECT_EQ(ours.shape(), x.shape());
    for (int64_t row = 0; row < x.size(0); row++)
      EXPECT_LE(squared_error(values, ours, row), squared_error(values, theirs, row))
          << dtype_name(dtype) << " row " << row;
  }
}

/// The integers of a format: quants, and the multiple of the first group's scale.
struct Integers {
  DType dtype;
  int group;
  std::vector<int> quants;
  int multiple;
  bool has_offset = false;
};

std::vector<int> all_from(int least, int most) {
  std::vector<int> all;
  for (int i = least; i <= most; i++) all.push_back(i);
  return all;
}

TEST(BlockSearch, ElementsThatTheFormatHoldsComeBackAsTheyAre) {
  // Random blocks with factors that f16 holds, whose groups use the ends of their range.
  const std::vector<int> table = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
  const Integers formats[] = {{DType::kQ2_K, 16, all_from(0, 3), 15, true},
                              {DType::kQ3_K, 16, all_from(-4, 3), -32},
                              {DType::kQ4_K, 32, all_from(0, 15), 63, true},
                              {DType::kQ5_K, 32, all_from(0, 31), 63, true},
                              {DType::kQ6_K, 16, all_from(-32, 31), -128},
                              {DType::kIQ4_NL, 256, table, 1},
                              {DType::kIQ4_XS, 32, table, -32}};
  ASSERT_EQ(std::size(formats), std::size(kSearched));
  uint32_t state = 1;
  for (const Integers& format : formats) {
    std::vector<float> x(static_cast<size_t>(2 * kBlock));
    for (int i = 0; i < int(x.size()); i++) {
      state = state * 1664525 + 1013904223;
      const int group = i % int(kBlock) / format.group,
                scale = format.multiple + (format.multiple > 0 ? -group : group);
      const size_t count = format.quants.size(), place = size_t(i % format.group % 32),
                   quant = place == 0   ? 0
                           : place == 1 ? count - 1
                                        : (state >> 16) % count;
      x[size_t(i)] = 0.25f * float(scale * format.quants[quant]) -
                     (format.has_offset ? 8.f * float(scale) : 0);
    }
    const Tensor blocks = quantize_by_search(Tensor::from(x, {2, kBlock}), format.dtype);
    double error = 0, size = 0;
    for (int64_t row = 0; row < 2; row++) error += squared_error(x, blocks, row);
    for (const float value : x) size += double(value) * double(value);
    EXPECT_LT(error, 1e-4 * size) << dtype_name(format.dtype);
  }
}

TEST(BlockSearch, ZerosStayZerosAndExtremesStayFinite) {
  for (const DType dtype : kSearched) {
    const Tensor zeros =
        quantize_by_search(Tensor::from(std::vector<float>(kBlock), {kBlock}), dtype);
    EXPECT_EQ(cast(zeros, DType::kF32).to_vector<float>(), std::vector<float>(kBlock))
        << dtype_name(dtype);
    for (const float size : {1e-45f, 1e-20f, 1e6f, 1e30f, std::numeric_limits<float>::max()}) {
      std::vector<float> x(static_cast<size_t>(kBlock));
      for (size_t i = 0; i < x.size(); i++) x[i] = i % 3 == 0 ? -size : size;
      const Tensor blocks = quantize_by_search(Tensor::from(x, {kBlock}), dtype);
      for (const float value : cast(blocks, DType::kF32).to_vector<float>())
        EXPECT_TRUE(std::isfinite(value)) << dtype_name(dtype) << " " << size;
    }
  }
}

TEST(BlockSearch, ANegativeConstantIsHeld) {
  for (const DType dtype : kSearched) {
    const std::vector<float> x(static_cast<size_t>(kBlock), -2.5f);
    const Tensor blocks = quantize_by_search(Tensor::from(x, {kBlock}), dtype);
    for (const float value : cast(blocks, DType::kF32).to_vector<float>())
      EXPECT_NEAR(value, -2.5f, 2.5f / 1024) << dtype_name(dtype);
  }
}

TEST(BlockSearch, TheNumberOfThreadsDoesNotMatter) {
  std::vector<float> x(static_cast<size_t>(200 * kBlock));
  for (size_t i = 0; i < x.size(); i++) x[i] = std::sin(float(i) * 1.7f) * float(i % 97);
  const Tensor rows = Tensor::from(x, {200, kBlock});
  for (const DType dtype : kSearched) {
    const auto bytes = [&](const Tensor& blocks) {
      std::string text(size_t(bytes_of(dtype, blocks.numel())), '\0');
      blocks.read(text.data());
      return text;
    };
    const std::string many = bytes(quantize_by_search(rows, dtype));
    const test::ThreadsScope one(1);
    EXPECT_EQ(bytes(quantize_by_search(rows, dtype)), many) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace wick
