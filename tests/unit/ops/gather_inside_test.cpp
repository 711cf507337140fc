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

}  // namespace
}  // namespace wick
