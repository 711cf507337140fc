// The dims of a call, as a backend receives them.
#include <gtest/gtest.h>

#include <regex>

#include "../recorder.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// The operands of the last launch: "f32[2/3 3/1 ]" for sizes 2 and 3, strides 3 and 1.
template <class F>
std::vector<std::string> operands_of(const F& op) {
  test::clear_records();
  op();
  const std::string line = test::records().back();
  const std::regex operand("[a-z0-9]+\\[[^\\]]*\\]");
  return {std::sregex_token_iterator(line.begin(), line.end(), operand), {}};
}

using Operands = std::vector<std::string>;

TEST(Collapse, ElementwiseOpsHaveTheDimsThatNoOperandWalksAsOne) {
  const TensorOptions here{.device = test::recorder_of(Device::cpu())};
  const Tensor x = ones({2, 1, 3, 4}, here), row = ones({4}, here);
  EXPECT_EQ(operands_of([&] { neg(x); }), (Operands{"f32[24/1 ]", "f32[24/1 ]"}));
  EXPECT_EQ(operands_of([&] { neg(transpose(x, 2, 3)); }),
            (Operands{"f32[2/12 4/1 3/4 ]", "f32[2/12 4/3 3/1 ]"}));
  EXPECT_EQ(operands_of([&] { add(x, row); }),
            (Operands{"f32[6/4 4/1 ]", "f32[6/0 4/1 ]", "f32[6/4 4/1 ]"}));
  EXPECT_EQ(operands_of([&] { zeros({2, 3}, here); }), (Operands{"f32[6/1 ]"}));
}

TEST(Collapse, ReductionsHaveKeptAndReducedDimsMergedApart) {
  const TensorOptions here{.device = test::recorder_of(Device::cpu())};
  const Tensor x = ones({2, 3, 1, 4, 5}, here);
  EXPECT_EQ(operands_of([&] {
              sum(x, {.dims = {3, 4}});
            }),
            (Operands{"f32[6/20 20/1 ]", "f32[6/1 ]"}));
  EXPECT_EQ(operands_of([&] {
              sum(x, {.dims = {1, 2, 4}});
            }),
            (Operands{"f32[2/60 4/5 3/20 5/1 ]", "f32[2/4 4/1 ]"}));
}

TEST(Collapse, ReductionsOfMoreDimsThanAViewHasAreOfACopy) {
  const TensorOptions here{.device = test::recorder_of(Device::cpu())};
  Dims reversed;
  for (int d = 10; d-- > 0;) reversed.push_back(d);
  const Tensor x = permute(ones(Shape(10, 2), here), reversed);
  EXPECT_EQ(operands_of([&] { sum(x); }), (Operands{"f32[1024/1 ]", "f32[]"}));
  EXPECT_EQ(operands_of([&] { sum(x, {.dims = {0}}); }),
            (Operands{"f32[512/2 2/1 ]", "f32[512/1 ]"}));
}

TEST(Collapse, ProductsHaveTheirBatchesMerged) {
  const TensorOptions here{.device = test::recorder_of(Device::cpu())};
  const Tensor a = ones({2, 1, 3, 4, 5}, here), b = ones({2, 1, 3, 5, 6}, here);
  EXPECT_EQ(operands_of([&] { matmul(a, b); }),
            (Operands{"f32[6/20 4/5 5/1 ]", "f32[6/30 5/6 6/1 ]", "f32[6/24 4/6 6/1 ]"}));
}

}  // namespace
}  // namespace wick
