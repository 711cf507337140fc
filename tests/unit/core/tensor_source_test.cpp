#include "wick/core/tensor_source.h"

#include "../expect.h"

namespace wick {
namespace {

TEST(TensorSource, OfTensorsKnowsShapesAndDTypesAndLoadsByName) {
  const TensorSource source = source_of({{"w", Tensor::from({1.f, 2.f})}}, "m");
  EXPECT_EQ(source.where, "m");
  EXPECT_EQ(source.tensors.at("w").dtype, DType::kF32);
  EXPECT_EQ(source.tensors.at("w").shape, Shape({2}));
  EXPECT_EQ(source.load("w", Device::cpu()).to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(TensorSource, WithoutPrefixListsTheTensorsBelowIt) {
  const TensorSource source = without_prefix(
      source_of({{"a.w", Tensor::from({1.f})}, {"b.w", Tensor::from({2.f})}}, "m"), "b.");
  EXPECT_EQ(source.tensors.size(), 1u);
  EXPECT_EQ(source.load("w", Device::cpu()).item<float>(), 2);
}

}  // namespace
}  // namespace wick
