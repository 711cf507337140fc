#include "../expect.h"
#include "../recorder.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Launches and copies of a convolution made of others, with 3 x 3 taps.
size_t launches(const Shape& shape) {
  const Device device = test::recorder_of(Device::cpu());
  const Tensor x = zeros(shape, {.device = device});
  const Tensor weight = zeros({1, shape[1], 3, 3}, {.device = device});
  const CompositeScope scope(CompositeMode::kAlways);
  test::clear_records();
  const Tensor y = conv2d(x, weight, {.padding = 1});
  EXPECT_EQ(y.shape(), (Shape{shape[0], 1, shape[2], shape[3]}));
  return test::records().size();
}

TEST(ConvComposite, TakesAsManyImagesAtOnceAsHaveRoom) {
  EXPECT_EQ(launches({5, 1, 4, 4}), launches({1, 1, 4, 4}));
  const size_t one = launches({1, 1, 1000, 1000});  // 36 MB of columns: two have no room
  EXPECT_EQ(one, launches({1, 1, 4, 4}));
  EXPECT_EQ(launches({3, 1, 1000, 1000}), 3 * one + 3);  // each is copied to its place
}

TEST(ConvComposite, OfNoChannelsHasItsShape) { launches({2, 0, 4, 4}); }

}  // namespace
}  // namespace wick
