#include "wick/ops/search.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;
constexpr float kNan = NAN;

TEST(Nonzero, OfAScalarHasRowsWithoutColumns) {
  EXPECT_EQ(nonzero(ones({})).shape(), Shape({1, 0}));
  EXPECT_EQ(nonzero(zeros({})).shape(), Shape({0, 0}));
  EXPECT_EQ(nonzero(zeros({3, 0})).shape(), Shape({0, 2}));
  EXPECT_EQ(nonzero(Tensor::from(Values{0, kNan, 2})).to_vector<int64>(), (Ids{1, 2}));
}

TEST(Nonzero, FindsAllOfALongMask) {
  const int64_t n = 100003;
  const Tensor ids = nonzero(eq(remainder(arange(n), 7), 3));
  EXPECT_EQ(ids.shape(), Shape({(n - 3 + 6) / 7, 1}));
  EXPECT_TRUE(all(eq(squeeze(ids, 1), arange(ids.size(0)) * 7 + 3)).item<bool>());
}

TEST(MaskedSelect, RefusesAMaskThatIsNone) {
  EXPECT_ERROR(masked_select(zeros({3}), zeros({3})), kDTypeMismatch,
               "masked_select: expected a mask of bool, got f32");
  EXPECT_ERROR(masked_select(zeros({3}), ones({2}, {.dtype = DType::kBool})), kShapeMismatch,
               "masked_select: ");
}

TEST(Unique, GivesValuesPlacesAndCounts) {
  const Tensor x = Tensor::from(Values{3, 1, 3, 0, -0.0f, 1}, {2, 3});
  const Unique u = unique(x);
  EXPECT_EQ(u.values.to_vector<float>(), (Values{0, 1, 3}));
  EXPECT_EQ(u.counts.to_vector<int64>(), (Ids{2, 2, 2}));
  EXPECT_EQ(u.inverse.shape(), x.shape());
  EXPECT_EQ(u.inverse.to_vector<int64>(), (Ids{2, 1, 2, 0, 0, 1}));
  EXPECT_EQ(unique(Tensor::from(Values{kNan, 1, kNan})).counts.to_vector<int64>(), (Ids{1, 1, 1}));
  EXPECT_EQ(unique(zeros({0})).values.shape(), Shape({0}));
}

TEST(UniqueConsecutive, KeepsTheOrder) {
  const Unique u = unique_consecutive(Tensor::from(Ids{2, 2, 1, 2, 2, 2}));
  EXPECT_EQ(u.values.to_vector<int64>(), (Ids{2, 1, 2}));
  EXPECT_EQ(u.counts.to_vector<int64>(), (Ids{2, 1, 3}));
  EXPECT_EQ(u.inverse.to_vector<int64>(), (Ids{0, 0, 1, 2, 2, 2}));
}

TEST(Searchsorted, StandsBeforeEqualsOrBehindThem) {
  const Tensor sorted = Tensor::from(Values{1, 2, 2, kNan}),
               x = Tensor::from(Values{2, 0, 9, kNan});
  EXPECT_EQ(searchsorted(sorted, x).to_vector<int64>(), (Ids{1, 0, 3, 3}));
  EXPECT_EQ(searchsorted(sorted, x, {.right = true}).to_vector<int64>(), (Ids{3, 0, 3, 4}));
  EXPECT_EQ(bucketize(x, sorted).to_vector<int64>(), (Ids{1, 0, 3, 3}));
}

TEST(Searchsorted, RefusesShapesAndDtypesThatDoNotGoTogether) {
  EXPECT_ERROR(searchsorted(zeros({2, 3}), zeros({3, 3})), kShapeMismatch, "got [2, 3] and [3, 3]");
  EXPECT_ERROR(searchsorted(zeros({}), zeros({3})), kShapeMismatch, "searchsorted: ");
  EXPECT_ERROR(searchsorted(zeros({3}), arange(3)), kDTypeMismatch,
               "searchsorted: expected values of f32, got i64");
  EXPECT_ERROR(bucketize(zeros({3}), zeros({2, 3})), kShapeMismatch,
               "bucketize: expected boundaries of one dim, got [2, 3]");
}

TEST(Bincount, RefusesWhatCannotBeCounted) {
  EXPECT_ERROR(bincount(Tensor::from(Ids{1, -2})), kInvalidArgument,
               "bincount: expected elements of at least 0, got -2");
  EXPECT_ERROR(bincount(zeros({2})), kDTypeMismatch, "bincount: expected integers, got f32");
  EXPECT_ERROR(bincount(arange(3), zeros({2})), kShapeMismatch, "got [3] and [2]");
  EXPECT_ERROR(bincount(arange(3), {}, -1), kInvalidArgument, "expected minlength >= 0, got -1");
}

TEST(Histc, CountsBetweenTheSmallestAndTheLargest) {
  EXPECT_EQ(histc(Tensor::from(Values{1, 2, 3, 5}), 2).to_vector<float>(), (Values{2, 2}));
  EXPECT_EQ(histc(Tensor::from(Values{4, 4}), 2).to_vector<float>(), (Values{0, 2}));
  EXPECT_EQ(histc(Tensor::from(Values{1, kNan, 3}), 2, 1, 3).to_vector<float>(), (Values{1, 1}));
  EXPECT_ERROR(histc(Tensor::from(Values{1, kNan}), 2), kInvalidArgument,
               "histc: expected bins > 0");
  EXPECT_ERROR(histc(zeros({2}), 0, 0, 1), kInvalidArgument, "histc: expected bins > 0");
  EXPECT_ERROR(histc(arange(3)), kDTypeMismatch, "histc: expected a floating dtype, got i64");
}

}  // namespace
}  // namespace wick
