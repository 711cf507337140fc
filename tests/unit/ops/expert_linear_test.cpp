#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

Tensor ids_of(const std::vector<int64>& ids, const Shape& shape) {
  return reshape(Tensor::from(ids), shape);
}
/// Experts [3, 2, 2]: {0, 1}, {2, 3} of the first, and so on.
Tensor experts() { return reshape(cast(arange(12), DType::kF32), {3, 2, 2}); }

TEST(ExpertLinear, MultipliesARowByEachOfItsExperts) {
  const Tensor x = Tensor::from(Values{1, 0, 0, 1}, Shape{2, 2});
  const Values expected{8, 10, 0, 2, 5, 7, 5, 7};
  EXPECT_EQ(expert_linear(x, experts(), ids_of({2, 0, 1, 1}, {2, 2})).to_vector<float>(), expected);
  const Tensor each = reshape(repeat_interleave(x, 2, 0), {2, 2, 2});
  EXPECT_EQ(expert_linear(each, experts(), ids_of({2, 0, 1, 1}, {2, 2})).to_vector<float>(),
            expected);
}

TEST(ExpertLinear, AddsTheGradientsOfARowsExperts) {
  const Var x(Tensor::from(Values{1, 2}, Shape{1, 2})), weight(experts());
  backward(sum(expert_linear(x, weight, ids_of({2, 0}, {1, 2}))));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{0 + 2 + 8 + 10, 1 + 3 + 9 + 11}));
  EXPECT_EQ(weight.grad().to_vector<float>(), (Values{1, 2, 1, 2, 0, 0, 0, 0, 1, 2, 1, 2}));
}

TEST(ExpertLinear, KeepsAnInfiniteRowOutOfOtherExpertsGradients) {
  const float inf = std::numeric_limits<float>::infinity();
  const Var weight(experts());
  const Tensor x = Tensor::from(Values{1, 2, inf, inf}, Shape{2, 2});
  backward(sum(expert_linear(x, weight, ids_of({0, 1}, {2, 1}))));
  EXPECT_EQ(weight.grad().to_vector<float>(), (Values{1, 2, 1, 2, inf, inf, inf, inf, 0, 0, 0, 0}));
}

TEST(ExpertLinear, NamesWhatDoesNotFit) {
  const Tensor x = zeros({2, 2}), ids = ids_of({2, 0, 1, 1}, {2, 2});
  EXPECT_ERROR(expert_linear(x, zeros({2, 2}), ids), kShapeMismatch,
               "expert_linear: expected weight [E, out, in] of at least one expert, got [2, 2]");
  EXPECT_ERROR(expert_linear(x, zeros({0, 2, 2}), ids), kShapeMismatch,
               "expert_linear: expected weight [E, out, in] of at least one expert, got [0, 2, 2]");
  EXPECT_ERROR(expert_linear(x, experts(), ids_of({0, 1}, {2})), kShapeMismatch,
               "expert_linear: expected ids [T, J], got [2]");
  EXPECT_ERROR(expert_linear(zeros({3, 2}), experts(), ids), kShapeMismatch,
               "expert_linear: expected x [T, in] or [T, J, in] beside ids [2, 2], got [3, 2]");
  EXPECT_ERROR(expert_linear(zeros({2, 3, 2}), experts(), ids), kShapeMismatch,
               "expert_linear: expected x [T, in] or [T, J, in] beside ids [2, 2], got [2, 3, 2]");
  EXPECT_ERROR(expert_linear(zeros({2, 3}), experts(), ids), kShapeMismatch,
               "expert_linear: inner dimensions differ: x [2, 3], weight [3, 2, 2]");
  EXPECT_ERROR(expert_linear(zeros({2, 2}, {.dtype = DType::kI32}), experts(), ids), kDTypeMismatch,
               "expert_linear: expected a floating x, got i32");
  EXPECT_ERROR(expert_linear(x, zeros({3, 2, 2}, {.dtype = DType::kI8}), ids), kDTypeMismatch,
               "expert_linear: expected weights of a floating or a block dtype, got i8");
  EXPECT_ERROR(expert_linear(x, experts(), zeros({2, 2})), kDTypeMismatch,
               "expert_linear: expected ids of integers, got f32");
  EXPECT_ERROR(expert_linear(x, experts(), ids_of({0, 1, 3, 1}, {2, 2})).to_vector<float>(),
               kOutOfRange, "expert_linear: id 3 at position 2 is outside [0, 3)");
  EXPECT_ERROR(expert_linear(cast(x, DType::kF64), experts(), ids_of({0, 1, 3, 1}, {2, 2}))
                   .to_vector<double>(),
               kOutOfRange, "expert_linear: id 3 at position 2 is outside [0, 3)");
}

}  // namespace
}  // namespace wick
