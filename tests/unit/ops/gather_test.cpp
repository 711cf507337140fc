#include "wick/ops/gather.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;
constexpr DType kIntegers[] = {DType::kU8,  DType::kI8,  DType::kU16, DType::kI16,
                               DType::kU32, DType::kI32, DType::kU64, DType::kI64};

/// 0, 1, 2 ... in this shape.
Tensor counting(const Shape& shape) {
  return reshape(cast(arange(numel(shape)), DType::kF32), shape);
}

TEST(Scatter, WritesIntoTheTargetsMemoryAndOffTheTape) {
  Var cache(zeros({4, 2}));
  const void* memory = cache.tensor().data();
  const Var src(Tensor::from(Values{1, 2, 3, 4}, Shape{2, 2}));
  scatter_(cache, 0, Tensor::from(Ids{3, 1}, Shape{2, 1}), src);
  EXPECT_EQ(cache.tensor().data(), memory);
  EXPECT_EQ(cache.tensor().to_vector<float>(), (Values{0, 0, 3, 4, 0, 0, 1, 2}));
  backward(sum(cache * 2));
  EXPECT_EQ(cache.grad().to_vector<float>(), Values(8, 2.0f));
  EXPECT_FALSE(src.grad());
}

TEST(Scatter, OfEqualIdsOneStays) {
  Var x(zeros({2}));
  scatter_(x, 0, Tensor::from(Ids{1, 1, 1}), Tensor::from(Values{5, 6, 7}));
  const Values y = x.tensor().to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_TRUE(y[1] == 5 || y[1] == 6 || y[1] == 7) << y[1];
}

TEST(Ids, OfAnyIntegerDTypeChooseTheSame) {
  const Tensor x = counting({4, 3});
  for (const DType dtype : kIntegers) {
    const Tensor ids = cast(Tensor::from({3, 0, 2}), dtype), places = reshape(ids, {3, 1});
    EXPECT_EQ(index_select(x, 0, ids).to_vector<float>(), (Values{9, 10, 11, 0, 1, 2, 6, 7, 8}));
    EXPECT_EQ(embedding(x, ids).to_vector<float>(), (Values{9, 10, 11, 0, 1, 2, 6, 7, 8}));
    EXPECT_EQ(gather(x, 0, places).to_vector<float>(), (Values{9, 0, 6}));
    EXPECT_EQ(scatter(zeros({4, 1}), 0, places, ones({3, 1})).to_vector<float>(),
              (Values{1, 0, 1, 1}));
    Var target(zeros({4, 1}));
    scatter_(target, 0, places, ones({3, 1}));
    EXPECT_EQ(target.tensor().to_vector<float>(), (Values{1, 0, 1, 1}));
    const Tensor targets = cast(Tensor::from({2, 0, 1, 1}), dtype);
    EXPECT_EQ(cross_entropy(x, targets).item<float>(),
              cross_entropy(x, cast(targets, DType::kI64)).item<float>());
    const RopeTables tables = rope_tables(4, 2, 100);
    const Tensor tokens = ones({1, 3, 1, 2}), at = reshape(ids, {1, 3});
    EXPECT_EQ(rope_thd(tokens, tables.cos, tables.sin, at).to_vector<float>(),
              rope_thd(tokens, tables.cos, tables.sin, cast(at, DType::kI64)).to_vector<float>());
    const Tensor q = counting({1, 1, 3, 2}), k = counting({1, 1, 4, 2});
    const auto seen_from = [&](const Tensor& positions) {
      return sdpa(q, k, k, {.is_causal = true, .positions = positions}).to_vector<float>();
    };
    EXPECT_EQ(seen_from(at), seen_from(cast(at, DType::kI64)));
  }
}

TEST(Ids, OutOfRangeAreNamedInAnyIntegerDType) {
  const Tensor x = counting({4, 3});
  for (const DType dtype : kIntegers) {
    const Tensor ids = cast(Tensor::from({3, 4}), dtype);
    EXPECT_ERROR(index_select(x, 0, ids), kOutOfRange, "id 4 at position 1");
    EXPECT_ERROR(embedding(x, ids), kOutOfRange, "id 4 at position 1");
    EXPECT_ERROR(cross_entropy(zeros({2, 4}), ids), kOutOfRange, "cross_entropy: id 4");
    EXPECT_ERROR(rope_thd(ones({1, 2, 1, 2}), ones({4, 1}), ones({4, 1}), reshape(ids, {1, 2})),
                 kOutOfRange, "rope: ");
  }
}

TEST(Ids, OfU64AboveI64AreOutOfRangeAndNotNegative) {
  const Tensor x = counting({4}), ids = Tensor::from({uint64(-1)});
  EXPECT_ERROR(take(x, ids), kOutOfRange, "id 9223372036854775807");
  EXPECT_ERROR(index(x, {ids}), kOutOfRange, "id 9223372036854775807");
}

TEST(Scatter, RejectsWhatDoesNotFit) {
  Var x(zeros({4, 2})), none;
  const Tensor ids = zeros({3, 2}, {.dtype = DType::kI64}), src = zeros({3, 2});
  EXPECT_ERROR(scatter_(none, 0, ids, src), kInvalidArgument,
               "scatter_: the target is an empty Var()");
  EXPECT_ERROR(scatter_(x, 0, src, src), kDTypeMismatch,
               "scatter_: expected ids of integers, got f32");
  EXPECT_ERROR(scatter_(x, 0, ids, cast(src, DType::kF64)), kDTypeMismatch,
               "scatter_: expected src of f32, got f64");
  EXPECT_ERROR(scatter_(x, 0, ids, zeros({3})), kShapeMismatch,
               "scatter_: expected src of rank 2, got [3]");
  EXPECT_ERROR(scatter_(x, 0, ids, zeros({3, 3})), kShapeMismatch,
               "scatter_: src [3, 3] exceeds the target [4, 2] in dim 1");
  EXPECT_ERROR(scatter_(x, 0, zeros({2, 2}, {.dtype = DType::kI64}), src), kShapeMismatch,
               "scatter_: ids [2, 2] do not broadcast to [3, 2]");
  EXPECT_ERROR(scatter_(x, 2, ids, src), kOutOfRange, "scatter_: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(scatter_(x, 0, ids, {}), kInvalidArgument, "scatter_: an operand is an empty");
  EXPECT_ERROR(scatter_(x, 0, ids.to(Device::emulated(32)), src), kDeviceMismatch, "scatter_: ");
  EXPECT_EQ(x.tensor().to_vector<float>(), Values(8, 0.0f));
}

}  // namespace
}  // namespace wick
