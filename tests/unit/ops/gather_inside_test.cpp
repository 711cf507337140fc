#include "../expect.h"
#include "../recorder.h"
#include "wick/wick.h"

namespace wick {
namespace {

TEST(Gather, OfDimsThatLieInOneIsOneLaunch) {
  const Device device = test::recorder_of(Device::cpu());
  const Shape shape = {4, 3, 5, 2};
  const Tensor x = ones(shape, {.device = device});
  const Tensor ids = zeros(shape, {.dtype = DType::kI64, .device = device});
  for (int dim = 0; dim < 4; dim++) {
    test::clear_records();
    gather(x, dim, ids);
    EXPECT_EQ(test::records().size(), 1u) << "dim " << dim << ": " << test::records().back();
  }
}

// As keys are written to a cache: a position for each sequence and token, tokens before heads.
TEST(Scatter, OfEachSequencesRowsTakesAFewLaunchesOnACard) {
  const Shape cached{5, 3, 16, 8};
  const Tensor ids = reshape(arange(10, {.dtype = DType::kI64}), {5, 1, 2, 1});
  const Tensor rows = randn({5, 2, 3, 8});
  const auto written = [&](const Device& device) {
    Var cache(zeros(cached, {.device = device}), false);
    const Tensor at = ids.to(device), src = transpose(rows.to(device), 1, 2);
    test::clear_records();
    scatter_(cache, 2, at, src);
    return cache.tensor().to(Device::cpu()).to_vector<float>();
  };
#ifndef WICK_HAS_EMU
  GTEST_SKIP() << "built without the emulator";
#endif
  const Device card = test::recorder_of(Device::parse("emu:32"));
  EXPECT_EQ(written(card), written(Device::cpu()));
  written(card);
  EXPECT_LE(test::records().size(),
            4u);  // copies of ids and rows, the scatter, and out of the card
}

}  // namespace
}  // namespace wick
