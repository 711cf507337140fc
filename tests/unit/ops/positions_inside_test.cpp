// Positions that a caller of attention or rope leaves out, and those of packed sequences.
#include <gtest/gtest.h>

#include "../recorder.h"
#include "ops/fused/positions.h"
#include "wick/wick.h"

namespace wick {
namespace {

TEST(FirstPositions, CountInEachSequence) {
  for (const int64_t length : {0, 1, 5, 1024, 3000}) {
    const Tensor x = first_positions(2, length, Device::cpu());
    ASSERT_EQ(x.shape(), (Shape{2, length}));
    EXPECT_EQ(x.to_vector<int64>(),
              broadcast_to(arange(length, {.dtype = DType::kI64}), {2, length}).to_vector<int64>());
  }
}

TEST(FirstPositions, LieOnTheDeviceFromTheFirstCallOn) {
  const Device device = test::recorder_of(Device::cpu());
  const TensorOptions options{.device = device};
  const Tensor q = ones({1, 2, 3, 4}, options), tables = ones({3, 2}, options);
  const auto calls = [&] {
    sdpa(q, q, q, {.is_causal = true});
    rope(q, {tables, tables});
  };
  calls();
  test::clear_records();
  calls();
  ASSERT_EQ(test::records().size(), 2u);
  EXPECT_EQ(test::records()[0].substr(0, 5), "sdpa ");
  EXPECT_EQ(test::records()[1].substr(0, 5), "rope ");
}

TEST(SdpaVarlen, CopiesNothingAndSoDoesNotWait) {
  const Device device = test::recorder_of(Device::cpu());
  const Tensor q = ones({4, 2, 4}, {.device = device}),
               offsets = arange(3, {.dtype = DType::kI64, .device = device}) * 2;
  sdpa_varlen(q, q, q, offsets, offsets, {.is_causal = true});
  test::clear_records();
  sdpa_varlen(q, q, q, offsets, offsets, {.is_causal = true});
  for (const std::string& line : test::records()) EXPECT_NE(line.substr(0, 5), "copy ") << line;
  EXPECT_EQ(test::records().back().substr(0, 5), "sdpa ");
}

}  // namespace
}  // namespace wick
