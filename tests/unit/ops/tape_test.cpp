#include "wick/ops/autograd.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

Var var(const Values& values) { return Var(Tensor::from(values)); }
Values grad_of(const Var& v) { return v.grad().to_vector<float>(); }

TEST(Backward, GivesTheGradientOfAVar) {
  const Var x = var({1, 2, 3});
  EXPECT_FALSE(x.grad());
  backward(sum(x.tensor() * x.tensor()));
  EXPECT_EQ(grad_of(x), (Values{2, 4, 6}));
}

TEST(Backward, AddsToWhatIsThereUntilItIsZeroed) {
  const Var x = var({1, 2});
  backward(sum(x * 3));
  backward(sum(x * 4));
  EXPECT_EQ(grad_of(x), (Values{7, 7}));
  x.zero_grad();
  EXPECT_FALSE(x.grad());
  backward(sum(x * 5));
  EXPECT_EQ(grad_of(x), (Values{5, 5}));
}

TEST(Backward, ReportsEachVarOnceItsGradientIsComplete) {
  const Var early = var({2}), late = var({3}), twice = var({5});
  const Tensor product = (early * early) * twice.tensor() * late.tensor();
  const Tensor y = product + twice * 2;  // computed after the product
  std::vector<std::pair<const AutogradNode*, Values>> reported;
  {
    const GradientWatch watch([&](const AutogradNode& node) {
      for (const Var& v : {early, late, twice})
        if (v.tensor().node().get() == &node) reported.emplace_back(&node, grad_of(v));
      EXPECT_EQ(bool(early.grad()), reported.size() == 3);
    });
    backward(sum(y));
  }
  backward(sum(y));  // no longer watched
  const decltype(reported) expected = {{late.tensor().node().get(), {20}},
                                       {twice.tensor().node().get(), {14}},
                                       {early.tensor().node().get(), {60}}};
  EXPECT_EQ(reported, expected);
}

TEST(Backward, AddsUpTheUsesOfAVar) {
  const Var x = var({2});
  const Tensor y = x * x + x * 3 + x.tensor();
  backward(sum(y));
  EXPECT_EQ(grad_of(x), (Values{8}));  // 2 x + 3 + 1
}

TEST(Backward, MayBeWalkedAgain) {
  const Var x = var({1, 2});
  const Tensor y = sum(exp(x.tensor()));
  backward(y);
  const Values once = grad_of(x);
  backward(y);
  EXPECT_EQ(grad_of(x), (Values{2 * once[0], 2 * once[1]}));
}

TEST(Backward, TakesASeed) {
  const Var x = var({1, 2});
  backward(x * 10, {.seed = Tensor::from(Values{1, -1})});
  EXPECT_EQ(grad_of(x), (Values{10, -10}));
}

TEST(Backward, WantsAScalarOrASeedOfTheShape) {
  const Var x = var({1, 2});
  EXPECT_ERROR(backward(x * 2), kShapeMismatch,
               "backward: expected a scalar or a seed gradient, got shape [2]");
  EXPECT_ERROR(backward(x * 2, {.seed = Tensor::from(Values{1})}), kShapeMismatch,
               "backward: expected a seed of shape [2], got [1]");
}

TEST(Backward, WantsASeedAsTheOutputIs) {
  const Var x = var({1, 2});
  EXPECT_ERROR(backward(x * 2, {.seed = Tensor::from(std::vector<double>{1, 1})}), kDTypeMismatch,
               "backward: expected a seed of f32, the output's dtype, got f64");
  EXPECT_ERROR(grad(x * 2, {x}, {.seed = ones({2}, {.device = Device::emulated(32)})}),
               kDeviceMismatch, "grad: expected a seed on cpu");
  EXPECT_FALSE(x.grad());
}

TEST(Backward, WantsARecord) {
  EXPECT_ERROR(backward(sum(Tensor::from(Values{1}))), kNoGradient,
               "backward: the output does not depend on a Var");
  const Var constant(Tensor::from(Values{1}), false);
  EXPECT_ERROR(backward(sum(constant * 2)), kNoGradient, "backward: ");
  EXPECT_ERROR(backward(sum(var({1}).tensor().detach())), kNoGradient, "backward: ");
  EXPECT_ERROR(backward(Tensor()), kNoGradient, "backward: ");
}

TEST(Backward, RefusesWhatHasNoGradient) {
  const Var x = var({1, 2});
  EXPECT_ERROR(backward(sum(argmax(x.tensor()))), kNoGradient,
               "backward: the output does not depend on a Var");
  EXPECT_ERROR(backward(sum(cast(x.tensor(), DType::kI64))), kNoGradient, "backward: ");
  EXPECT_ERROR(backward(zeros({0})), kNoGradient, "backward: ");
  EXPECT_ERROR(backward(narrow(x.tensor(), 0, 0, 0)), kShapeMismatch,
               "backward: expected a scalar or a seed gradient, got shape [0]");
  {
    const NoGrad off;
    EXPECT_ERROR(backward(sum(x.tensor() * 2)), kNoGradient, "backward: ");
  }
  EXPECT_ERROR(grad(Tensor(), {x}), kNoGradient, "grad: the output does not depend on a Var");
  EXPECT_ERROR(grad(sum(x * 2), {Tensor()}), kNoGradient, "grad: an input is not on the tape");
  EXPECT_ERROR(grad(x * 2, {x}), kShapeMismatch,
               "grad: expected a scalar or a seed gradient, got shape [2]");
  EXPECT_ERROR(grad(sum(x * 2), {Var(ones({2}), false)}), kNoGradient, "grad: ");
  EXPECT_FALSE(x.grad());  // nothing of a walk that was refused
}

TEST(Backward, OfVarsOfTwoDTypesGivesEachItsOwn) {
  const Var x = var({1, 2}), wide(Tensor::from(std::vector<double>{3, 5})),
            half(cast(Tensor::from(Values{2, 4}), DType::kF16));
  backward(sum(x * wide.tensor() * half.tensor()));
  EXPECT_EQ(x.grad().dtype(), DType::kF32);
  EXPECT_EQ(wide.grad().dtype(), DType::kF64);
  EXPECT_EQ(half.grad().dtype(), DType::kF16);
  EXPECT_EQ(grad_of(x), (Values{6, 20}));
  EXPECT_EQ(wide.grad().to_vector<double>(), (std::vector<double>{2, 8}));
  EXPECT_EQ(cast(half.grad(), DType::kF32).to_vector<float>(), (Values{3, 10}));
}

TEST(Backward, PassesThroughBroadcastingViewsAndDevices) {
  const Var row = var({1, 2, 3});
  const Tensor y = (broadcast_to(row, {4, 3}) * Tensor::from(Values{1, 2, 3, 4}, {4, 1}))
                       .to(Device::emulated(32));
  backward(sum(narrow(transpose(y), 0, 1, 2)));
  EXPECT_EQ(grad_of(row), (Values{0, 10, 10}));
}

TEST(Backward, GradientsHaveTheDTypeOfTheirVar) {
  const Var x(cast(Tensor::from(Values{1, 2}), DType::kF16));
  backward(sum(cast(x, DType::kF32) * 3));
  EXPECT_EQ(x.grad().dtype(), DType::kF16);
  EXPECT_EQ(x.grad().to(DType::kF32).to_vector<float>(), (Values{3, 3}));
}

TEST(Grad, OfATensorBetween) {
  const Var x = var({2});
  const Tensor between = x * 3;
  const Tensor y = sum(between * between);
  const std::vector<Tensor> g = grad(y, {between, x});
  EXPECT_EQ(g[0].item<float>(), 12.0f);
  EXPECT_EQ(g[1].item<float>(), 36.0f);
  EXPECT_FALSE(x.grad());  // adds to no Var
}

TEST(Grad, OfWhatIsNotDependedOnIsNone) {
  const Var x = var({2}), unused = var({3});
  EXPECT_FALSE(grad(sum(x * 2), {unused})[0]);
  EXPECT_ERROR(grad(sum(x * 2), {Tensor::from(Values{1})}), kNoGradient,
               "grad: an input is not on the tape");
}

TEST(Grad, TwiceGivesTheSecondDerivative) {
  const Var x = var({0.5f, 2});
  const Tensor y = sum(x * x * x);
  const Tensor first = grad(y, {x}, {.create_graph = true})[0];            // 3 x^2
  const Tensor second = grad(sum(first), {x}, {.create_graph = true})[0];  // 6 x
  EXPECT_EQ(second.to_vector<float>(), (Values{3, 12}));
  EXPECT_EQ(grad(sum(second), {x})[0].to_vector<float>(), (Values{6, 6}));
}

TEST(Grad, TwiceThroughARuleThatKeepsItsOutput) {
  const Var x = var({0.5f});
  const Tensor first = grad(sum(exp(x * 2)), {x}, {.create_graph = true})[0];  // 2 e^2x
  const Tensor second = grad(sum(first), {x})[0];                              // 4 e^2x
  EXPECT_NEAR(second.item<float>(), 4 * std::exp(1.0f), 1e-5f);
}

TEST(Grad, TwiceThroughViewsAndRows) {
  const Var x = var({1, 2, 3, 4});
  const Tensor ids = Tensor::from(std::vector<int64>{2, 2, 0});
  const Tensor y = sum(index_select(narrow(x, 0, 1, 3), 0, ids) * index_select(x, 0, ids));
  const Tensor first = grad(y, {x}, {.create_graph = true})[0];
  // y = 2 x3 x2 + x1 x0
  EXPECT_EQ(first.to_vector<float>(), (Values{2, 1, 8, 6}));
  const Tensor second = grad(first, {x}, {.seed = Tensor::from(Values{0, 0, 1, 0})})[0];
  EXPECT_EQ(second.to_vector<float>(), (Values{0, 0, 0, 2}));
}

TEST(Grad, WithoutCreateGraphIsNotRecorded) {
  const Var x = var({2});
  EXPECT_FALSE(grad(sum(x * x), {x})[0].requires_grad());
  EXPECT_TRUE(grad(sum(x * x), {x}, {.create_graph = true})[0].requires_grad());
}

TEST(Maximum, GivesTheGradientToTheLargerAndHalfAtATie) {
  const Var x = var({1, 2, 3}), y = var({2, 2, 2});
  backward(sum(maximum(x, y)));
  EXPECT_EQ(grad_of(x), (Values{0, 0.5f, 1}));
  EXPECT_EQ(grad_of(y), (Values{1, 0.5f, 0}));
}

TEST(NoGrad, RecordsNothingWhileItLives) {
  const Var x = var({1});
  {
    const NoGrad off;
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE((x * 2).requires_grad());
    { const NoGrad again; }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(Tape, AChainOfAHundredThousandOpsIsWalkedAndLetGo) {
  const Var x = var({1});
  Tensor y = x;
  for (int i = 0; i < 100000; i++) y = y + 1;
  EXPECT_EQ(y.item<float>(), 100001.0f);
  backward(y);
  EXPECT_EQ(grad_of(x), (Values{1}));
}

TEST(Tape, AChainThatKeepsItsOutputsIsLetGoToo) {
  const Var x = var({1});
  Tensor y = x;
  for (int i = 0; i < 100000; i++) y = sqrt(y);
  EXPECT_EQ(y.item<float>(), 1.0f);
  const Tensor g = grad(y, {x}, {.create_graph = true})[0];
  EXPECT_EQ(g.item<float>(), 0.0f);  // 2^-100000
}

TEST(InPlace, AWriteIntoWhatARuleNeedsIsNoticed) {
  Var x = var({1, 2});
  const Tensor y = sum(x * x);
  add_(x, Tensor::from(Values{1}));
  EXPECT_EQ(x.tensor().to_vector<float>(), (Values{2, 3}));
  EXPECT_ERROR(backward(y), kModifiedInPlace,
               "mul: an input (f32[2]) is needed for the gradient, but has been overwritten since");
}

TEST(InPlace, AWriteThroughAViewsStorageIsNoticedToo) {
  Var x = var({1, 2, 3});
  const Tensor part = narrow(x, 0, 1, 2);
  const Tensor y = sum(part * part);
  fill_(x, 0);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "mul: ");
}

TEST(InPlace, AStepOfTheOptimizerBeforeBackwardIsNoticed) {
  Var x = var({1, 2}), mean(zeros({2}), false), square(zeros({2}), false);
  const Tensor y = sum(x * x);
  adamw_(x, Tensor::from(Values{1, 1}), mean, square, 1);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "mul: an input (f32[2]) is needed for the gradient");
}

TEST(InPlace, AStepByItsCompositeIsNoticedToo) {
  const CompositeScope always(CompositeMode::kAlways);
  Var x = var({1, 2}), mean(zeros({2}), false), square(zeros({2}), false);
  const Tensor y = sum(x * x);
  adamw_(x, Tensor::from(Values{1, 1}), mean, square, 1);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "mul: ");
}

TEST(InPlace, WhatTheOptimizerKeepsMayNotBeNeededEither) {
  Var x = var({1, 2}), mean(ones({2})), square(ones({2}));
  const Tensor of_mean = sum(exp(x) * mean), of_square = sum(exp(x) * square);
  Var other(zeros({2}), false);
  adamw_(other, Tensor::from(Values{1, 1}), mean, square, 1);
  EXPECT_ERROR(backward(of_mean), kModifiedInPlace, "mul: ");
  EXPECT_ERROR(backward(of_square), kModifiedInPlace, "mul: ");
}

TEST(InPlace, AScatterIntoACacheThatAttentionReadIsNoticed) {
  const Var q(ones({1, 1, 1, 2}));
  Var cache(ones({1, 1, 4, 2}));
  const Tensor position = Tensor::from(std::vector<int64>{3}, Shape{1, 1});
  const Tensor y = sum(sdpa(q, cache, cache, {.is_causal = true, .positions = position}));
  scatter_(cache, 2, reshape(position, {1, 1, 1, 1}), ones({1, 1, 1, 2}));
  EXPECT_ERROR(backward(y), kModifiedInPlace, "sdpa: an input (f32[1, 1, 4, 2]) is needed");
}

TEST(InPlace, WhatAFusedOpNeedsIsNoticed) {
  Var x(ones({2, 3})), weight = var({1, 2, 3});
  const Tensor normed = sum(rms_norm(x, weight)), gated = sum(swiglu(x, weight));
  const Tensor loss = cross_entropy(x, Tensor::from(std::vector<int64>{0, 2}));
  fill_(weight, 1);
  EXPECT_ERROR(backward(normed), kModifiedInPlace, "rms_norm: an input (f32[3])");
  EXPECT_ERROR(backward(gated), kModifiedInPlace, "swiglu: an input (f32[3])");
  fill_(x, 1);
  EXPECT_ERROR(backward(loss), kModifiedInPlace, "cross_entropy: an input (f32[2, 3])");
}

TEST(InPlace, AWriteIntoIdsAndPositionsIsNoticed) {
  const Var x(ones({4, 2})), q(ones({1, 1, 2, 4}));
  Var ids(Tensor::from<int64_t>({0, 3}), false);
  Var positions(Tensor::from<int64_t>({0, 1}, {1, 2}), false);
  const Tensor rows = sum(embedding(x, ids)),
               added = sum(index_add(zeros({4, 2}), 0, ids, narrow(x, 0, 0, 2)));
  const Tensor attended = sum(sdpa(q, q, q, {.is_causal = true, .positions = positions})),
               loss = cross_entropy(reshape(x, {2, 4}), ids);
  const RopeTables tables = rope_tables(2, 4, 10000);
  const Tensor rotated = sum(rope(q, tables.cos, tables.sin, positions));
  fill_(ids, 1);
  fill_(positions, 1);
  EXPECT_ERROR(backward(rows), kModifiedInPlace, "index_select: an input (i64[2])");
  EXPECT_ERROR(backward(added), kModifiedInPlace, "index_add: an input (i64[2])");
  EXPECT_ERROR(backward(loss), kModifiedInPlace, "cross_entropy: an input (i64[2])");
  EXPECT_ERROR(backward(attended), kModifiedInPlace, "sdpa: an input (i64[1, 2])");
  EXPECT_ERROR(backward(rotated), kModifiedInPlace, "rope: an input (i64[1, 2])");
}

TEST(InPlace, AWriteIntoWhatNoRuleNeedsIsFine) {
  Var x = var({1, 2});
  const Tensor y = sum(x * 3 + x.tensor());
  copy_(x, Tensor::from(Values{5, 6}));
  backward(y);
  EXPECT_EQ(grad_of(x), (Values{4, 4}));
}

TEST(InPlace, SetKeepsTheOldGraph) {
  Var x = var({1, 2});
  const Tensor y = sum(x * x);
  x.set_(Tensor::from(Values{10, 20}));
  backward(y);
  EXPECT_EQ(grad_of(x), (Values{2, 4}));
  EXPECT_EQ(x.tensor().to_vector<float>(), (Values{10, 20}));
  x.zero_grad();
  backward(sum(x * x));
  EXPECT_EQ(grad_of(x), (Values{20, 40}));
}

TEST(InPlace, WritesReachNoOtherHolder) {
  const Tensor init = Tensor::from(Values{1, 2});
  Var x(init);
  fill_(x, 7);
  EXPECT_EQ(init.to_vector<float>(), (Values{1, 2}));
  const Tensor value = Tensor::from(Values{3, 4});
  x.set_(value);
  fill_(x, 9);
  EXPECT_EQ(value.to_vector<float>(), (Values{3, 4}));
}

TEST(InPlace, SetTakesTheMemoryThatIsHandedOver) {
  Var x = var({1, 2});
  Tensor value = Tensor::from(Values{3, 4});
  const void* memory = value.data();
  x.set_(std::move(value));
  EXPECT_EQ(x.tensor().data(), memory);
}

TEST(InPlace, SetOfAViewLeavesARowMajorCopy) {
  Var x(zeros({3, 2}));
  Tensor transposed = transpose(reshape(Tensor::from(Values{1, 2, 3, 4, 5, 6}), {2, 3}), 0, 1);
  x.set_(std::move(transposed));  // handed over, as all that hold its memory
  EXPECT_TRUE(x.tensor().is_contiguous());
  EXPECT_EQ(x.tensor().to_vector<float>(), (Values{1, 4, 2, 5, 3, 6}));
  const Tensor wide = Tensor::from(Values{1, 2, 3, 4, 5, 6, 7, 8});
  x.set_(reshape(narrow(wide, 0, 1, 6), {3, 2}));  // row-major, but another's memory
  fill_(x, 9);
  EXPECT_EQ(wide.to_vector<float>(), (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  Tensor repeated = broadcast_to(full({1}, 5), {3, 2});
  x.set_(std::move(repeated));
  add_(x, 1);
  EXPECT_EQ(x.tensor().to_vector<float>(), (Values{6, 6, 6, 6, 6, 6}));
}

TEST(InPlace, TheValueFormWritesOverAnOperandThatNobodyElseHolds) {
  Tensor x = Tensor::from(Values{1, 2});
  const void* memory = x.data();
  const Tensor y = neg(std::move(x));
  EXPECT_EQ(y.data(), memory);
  const Tensor held = y;
  const Tensor z = neg(y);
  EXPECT_NE(z.data(), memory);
  EXPECT_EQ(held.to_vector<float>(), (Values{-1, -2}));
}

TEST(InPlace, TheValueFormSparesWhatTheTapeHolds) {
  const Var x = var({1, 2});
  Tensor squared = x * x;
  Tensor kept = exp(std::move(squared));
  const Tensor y = sum(kept * kept);
  const Tensor z = neg(std::move(kept));
  backward(y);  // kModifiedInPlace or wrong values if neg had written over it
  EXPECT_NEAR(grad_of(x)[0], 4 * std::exp(2.0f), 1e-4f);
  EXPECT_NEAR(z.to_vector<float>()[0], -std::exp(1.0f), 1e-6f);
}

TEST(Var, RefusesWhatDoesNotFit) {
  Var x = var({1, 2});
  EXPECT_ERROR(Var(Tensor::from(std::vector<int64>{1})), kDTypeMismatch,
               "Var: requires_grad needs a floating dtype, got i64");
  EXPECT_ERROR(x.set_(Tensor::from(Values{1})), kShapeMismatch,
               "set_: expected shape [2], got [1]");
  EXPECT_ERROR(x.set_(Tensor::from(std::vector<double>{1, 2})), kDTypeMismatch,
               "set_: expected f32, got f64");
  EXPECT_ERROR(x.set_(Tensor::from(Values{1, 2}, Device::emulated(32))), kDeviceMismatch,
               "set_: expected cpu, got emu:32");
  EXPECT_ERROR(copy_(x, Tensor::from(Values{1, 2, 3})), kShapeMismatch, "");
  Var none;
  EXPECT_ERROR(fill_(none, 1), kInvalidArgument, "fill_: the target is an empty Var()");
}

TEST(Var, TakesOtherDTypesAndShapesThatBroadcastInCopy) {
  Var x = var({1, 2});
  copy_(x, Tensor::from(std::vector<int64>{3}));
  EXPECT_EQ(x.tensor().to_vector<float>(), (Values{3, 3}));
}

TEST(Var, AdoptsATensorMovedInByItsOnlyOwner) {
  Tensor alone = Tensor::from({1.f, 2.f});
  const void* memory = alone.data();
  EXPECT_EQ(Var(std::move(alone)).tensor().data(), memory);
  const Tensor shared = Tensor::from({1.f, 2.f});
  EXPECT_NE(Var(shared).tensor().data(), shared.data());
}

TEST(Var, NeverWritesToAdoptedMemory) {
  float values[2] = {1, 2};
  Var v(Tensor::adopt(values, DType::kF32, {2}, [] {}));
  fill_(v, 7);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(v.tensor().to_vector<float>(), (std::vector<float>{7, 7}));
}

}  // namespace
}  // namespace wick
