#include "wick/ops/contract.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

TEST(Matmul, ComparesBatchDimsOneByOne) {
  EXPECT_ERROR(matmul(zeros({2, 3, 4, 5}), zeros({3, 2, 5, 6})), kShapeMismatch,
               "do not broadcast");
  EXPECT_EQ(matmul(zeros({2, 1, 4, 5}), zeros({3, 5, 6})).shape(), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(matmul(zeros({7, 1, 2, 1, 4, 5}), zeros({3, 1, 2, 5, 6})).shape(),
            (Shape{7, 3, 2, 2, 4, 6}));
}

TEST(Matmul, OfIntegersWrapsInTheirDtype) {
  const Tensor a = Tensor::from(std::vector<int8>{100, 100}, Shape{1, 2});
  const Tensor b = Tensor::from(std::vector<int8>{2, 3}, Shape{2, 1});
  EXPECT_EQ(matmul(a, b).item<int8>(), int8(500 - 512));
  const Tensor large = full({3, 3}, int64_t(1) << 62, {.dtype = DType::kI64});
  EXPECT_EQ(matmul(large, full({3, 3}, 3, {.dtype = DType::kI64})).to_vector<int64>(),
            std::vector<int64>(9, int64(uint64(9) << 62)));
}

TEST(Addmm, DoesNotLookAtWhatCountsNothing) {
  const Tensor x = full({2, 2}, NAN);
  const Tensor y = addmm(x, ones({2, 3}), ones({3, 2}), {.beta = 0, .alpha = 2});
  EXPECT_EQ(y.to_vector<float>(), Values(4, 6.0f));
  EXPECT_ERROR(addmm(ones({3, 2}), ones({2, 3}), ones({3, 2})), kShapeMismatch, "addmm");
  EXPECT_ERROR(addmm(ones({2}), ones({2, 3, 1}), ones({3, 2})), kShapeMismatch, "a of rank 2");
}

TEST(Products, WantTheirRanks) {
  EXPECT_ERROR(dot(ones({2}), ones({3})), kShapeMismatch, "dot: shapes [2] and [3] differ");
  EXPECT_ERROR(dot(ones({2, 2}), ones({2})), kShapeMismatch, "a of rank 1");
  EXPECT_ERROR(mv(ones({2, 2}), ones({2, 1})), kShapeMismatch, "a vector of rank 1");
  EXPECT_ERROR(bmm(ones({2, 2, 2}), ones({1, 2, 2})), kShapeMismatch, "batches differ");
  EXPECT_ERROR(outer(ones({2, 2}), ones({2})), kShapeMismatch, "outer");
  EXPECT_ERROR(cross(ones({2}), ones({2})), kShapeMismatch, "size 3 in dim 0");
  EXPECT_ERROR(cross(ones({3}), ones({2, 3})), kShapeMismatch, "one rank");
  EXPECT_ERROR(tensordot(ones({2, 3}), ones({2, 3}), {1}, {0}), kShapeMismatch, "differ");
  EXPECT_ERROR(tensordot(ones({2, 3}), ones({3, 2}), 3), kInvalidArgument, "0 to 2 dims");
  EXPECT_EQ(tensordot(ones({2}), ones({3}), 0).shape(), (Shape{2, 3}));
}

TEST(Einsum, NamesWhatIsWrong) {
  const Tensor a = ones({2, 3}), b = ones({4, 5});
  EXPECT_ERROR(einsum("ij,jk->ik", {a, b}), kShapeMismatch,
               "'j' of \"ij,jk->ik\" has size 3, but size 4 in operand 1 [4, 5]");
  EXPECT_ERROR(einsum("ij,jk", {a}), kInvalidArgument, "expected 2 operands");
  EXPECT_ERROR(einsum("ijk", {a}), kShapeMismatch, "has 3 letters for shape [2, 3]");
  EXPECT_ERROR(einsum("i", {a}), kShapeMismatch, "has 1 letters");
  EXPECT_ERROR(einsum("ij->ijk", {a}), kInvalidArgument, "'k' of the output does not occur");
  EXPECT_ERROR(einsum("ij->ii", {a}), kInvalidArgument, "'i' is repeated in the output");
  EXPECT_ERROR(einsum("i1->i", {a}), kInvalidArgument, "unexpected \"1\"");
  EXPECT_ERROR(einsum("i..j->i", {a}), kInvalidArgument, "unexpected \".\"");
  EXPECT_ERROR(einsum("i-j->i", {a}), kInvalidArgument, "unexpected \"-\"");
  EXPECT_ERROR(einsum("ii", {a}), kShapeMismatch, "'i'");
  EXPECT_ERROR(einsum("i", {}), kInvalidArgument, "at least one operand");
}

TEST(Einsum, ContractsTheSmallOnesFirst) {
  // In the written order the first two make [300, 300, 300]: 100 MB.
  const Tensor a = ones({300}), b = ones({300}), c = ones({300}), d = ones({300, 300});
  EXPECT_EQ(einsum("i,j,k,ij->k", {a, b, c, d}).to_vector<float>(), Values(300, 90000.0f));
}

}  // namespace
}  // namespace wick
