#include "wick/ops/indexing.h"

#include <numeric>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(values, shape);
}

TEST(Index, NumbersAndSlicesGiveViews) {
  const Tensor x = counting({4, 6});
  EXPECT_EQ(x.index({1, Slice{1, {}, 2}}).storage(), x.storage());
  EXPECT_EQ(x.index({1, Slice{1, {}, 2}}).to_vec1<float>(), (Values{7, 9, 11}));
  EXPECT_NE(x.index({Slice{{}, {}, -1}}).storage(), x.storage());
}

TEST(Index, StepsOfAnySizeAreTaken) {
  const Tensor x = counting({3});
  EXPECT_EQ(x.index({Slice{{}, {}, INT64_MAX}}).to_vec1<float>(), (Values{0}));
  EXPECT_EQ(x.index({Slice{{}, {}, INT64_MIN}}).to_vec1<float>(), (Values{2}));
  EXPECT_EQ(x.index({Slice{INT64_MIN, INT64_MAX}}).numel(), 3);
}

TEST(Index, NamesWhatIsWrong) {
  const Tensor x = counting({3, 4});
  EXPECT_ERROR(x.index({3}), kOutOfRange, "index: expected an index in [-3, 3), got 3");
  EXPECT_ERROR(x.index({0, 0, 0}), kInvalidArgument, "expected indices for at most 2 dims");
  EXPECT_ERROR(x.index({kEllipsis, kEllipsis}), kInvalidArgument,
               "expected at most one ellipsis, got 2");
  EXPECT_ERROR(x.index({Slice{{}, {}, 0}}), kInvalidArgument, "a step other than 0");
  EXPECT_ERROR(x.index({Tensor::from(Ids{0, 3})}), kOutOfRange, "id 3");
  EXPECT_ERROR(x.index({Tensor::from(Ids{0, -4})}), kOutOfRange, "id -4");
  EXPECT_ERROR(x.index({Tensor::from(Ids{0, 1}), Tensor::from(Ids{0, 4})}), kOutOfRange,
               "index: id 4 at position 1 of the ids of dim 1 is outside [-4, 4)");
  EXPECT_ERROR(x.index({Tensor::from(Ids{0, 1}), Tensor::from(Ids{0, 1, 2})}), kShapeMismatch,
               "do not broadcast");
  EXPECT_ERROR(x.index({Tensor::from(Values{0, 1})}), kDTypeMismatch, "ids of integers, got f32");
  EXPECT_ERROR(x.index({Tensor::from(Ids{1, 0}).to(DType::kBool)}), kShapeMismatch,
               "a mask [2] does not fit");
}

TEST(Index, AMaskWithoutDimsIsAllOrNothing) {
  const Tensor x = counting({2});
  EXPECT_EQ(x.index({full({}, 1, {.dtype = DType::kBool})}).shape(), (Shape{1, 2}));
  EXPECT_EQ(x.index({full({}, 0, {.dtype = DType::kBool})}).shape(), (Shape{0, 2}));
}

TEST(Index, TheLargestIdOfU8IsAnId) {
  const Tensor x = counting({256});
  const Tensor ids = Tensor::from(std::vector<uint8>{255, 0, 128});
  const Values expected = {255, 0, 128};
  EXPECT_EQ(index_select(x, 0, ids).to_vec1<float>(), expected);
  EXPECT_EQ(gather(x, 0, ids).to_vec1<float>(), expected);
  EXPECT_EQ(x.index({ids}).to_vec1<float>(), expected);
  EXPECT_EQ(take(x, ids).to_vec1<float>(), expected);
  EXPECT_EQ(embedding(reshape(x, {256, 1}), ids).to_vector<float>(), expected);
  const Tensor ones_at = index_add(zeros({256}), 0, ids, ones({3}));
  EXPECT_EQ(ones_at.index({ids}).to_vec1<float>(), Values(3, 1.0f));
  EXPECT_EQ(scatter(zeros({256}), 0, ids, ones({3})).index({255}).item<float>(), 1);
}

TEST(IndexPut, WritesIntoTheVarsMemory) {
  Var x(zeros({3, 4}), false);
  const void* memory = x.tensor().data();
  index_put_(x, {1}, Tensor::from(Values{1, 2, 3, 4}));
  index_put_(x, {Slice{}, Slice{{}, {}, -3}}, Tensor::from(Values{8, 9}));
  EXPECT_EQ(x.tensor().data(), memory);
  EXPECT_EQ(x.tensor().to_vec2<float>(),
            (std::vector<Values>{{9, 0, 0, 8}, {9, 2, 3, 8}, {9, 0, 0, 8}}));
  index_put_(x, {kEllipsis, 0}, 5);
  EXPECT_EQ(x.tensor().index({Slice{}, 0}).to_vec1<float>(), (Values{5, 5, 5}));
  Var none;
  EXPECT_ERROR(index_put_(none, {0}, 1), kInvalidArgument, "empty Var()");
}

TEST(IndexPut, MayTakeAViewOfItsTarget) {
  Var x(counting({4}), false);
  index_put_(x, {Slice{1}}, narrow(x.tensor(), 0, 0, 3));
  EXPECT_EQ(x.tensor().to_vec1<float>(), (Values{0, 0, 1, 2}));
}

TEST(IndexPut, BehindAKeptDimFindsIdsOutOfRange) {
  Var x(zeros({3, 2, 4}), false);
  const Tensor good = Tensor::from(Ids{0, 2}), bad = Tensor::from(Ids{0, 4});
  EXPECT_ERROR(index_put_(x, {good, Slice{}, bad}, 1), kOutOfRange, "id 4 at position 1");
  EXPECT_ERROR(index_put_(x, {good, Slice{{}, {}, -1}, bad}, 1), kOutOfRange, "id 4");
  EXPECT_EQ(sum(x.tensor()).item<float>(), 0);
}

TEST(IndexPut, IsDetectedByWhoNeedsTheOldValue) {
  Var x(counting({3}));
  const Tensor y = sum(x * x);
  index_put_(x, {0}, 7);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "mul");
}

TEST(IndexPut, AccumulatesWhereIdsRepeat) {
  const Tensor ids = Tensor::from(Ids{1, 1, 0});
  const Tensor y =
      index_put(zeros({2}), {ids}, Tensor::from(Values{1, 2, 4}), {.accumulate = true});
  EXPECT_EQ(y.to_vec1<float>(), (Values{4, 3}));
}

TEST(SliceAssign, WantsTheSlicesShape) {
  const Tensor x = counting({4, 4});
  EXPECT_ERROR(slice_scatter(x, ones({3, 4}), 0, {0, 2}), kShapeMismatch, "expected src [2, 4]");
  EXPECT_ERROR(slice_assign(x, {{}, {}, {}}, x), kInvalidArgument, "at most 2 slices");
  EXPECT_ERROR(slice_scatter(x, ones({2, 4}, {.dtype = DType::kI64}), 0, {0, 2}), kDTypeMismatch,
               "src of f32, got i64");
}

TEST(Scatter, HasTheGradientOfWhatStays) {
  const Var x(counting({4})), src(Tensor::from(Values{7, 8}));
  const Tensor y = scatter(x, 0, Tensor::from(Ids{3, 1}), src);
  EXPECT_EQ(y.to_vec1<float>(), (Values{0, 8, 2, 7}));
  backward(sum(y * Tensor::from(Values{1, 2, 3, 4})));
  EXPECT_EQ(x.grad().to_vec1<float>(), (Values{1, 0, 3, 0}));
  EXPECT_EQ(src.grad().to_vec1<float>(), (Values{4, 2}));
}

TEST(TakeAlongDim, WantsIdsOfXsRank) {
  EXPECT_ERROR(take_along_dim(counting({2, 2}), Tensor::from(Ids{0}), 0), kShapeMismatch,
               "ids of rank 2");
  EXPECT_ERROR(take(counting({2}), Tensor::from(Ids{2})), kOutOfRange, "id 2");
}

}  // namespace
}  // namespace wick
