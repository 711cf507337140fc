#include "wick/nn/optimizer.h"

#include <cmath>

#include "../expect.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"

namespace wick {
namespace {

using Values = std::vector<float>;

TEST(CosineRate, RisesAlongALineAndFallsAlongHalfACosine) {
  const CosineRate rate{.peak = 2, .last = 0.5, .warmup = 4, .steps = 12};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(3), 2);
  EXPECT_DOUBLE_EQ(rate.at(4), 2);
  EXPECT_DOUBLE_EQ(rate.at(8), 1.25);
  EXPECT_DOUBLE_EQ(rate.at(12), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(100), 0.5);
}

TEST(GlobalNorm, IsTheRootOfAllSquares) {
  EXPECT_FLOAT_EQ(global_norm({Tensor::from(Values{3, 0}), Tensor::from(Values{4})}).item<float>(),
                  5);
  EXPECT_EQ(global_norm({}).item<float>(), 0);
}

/// A matrix and a vector whose gradients are g and h.
struct Rig {
  Var matrix{Tensor::from(Values{1, -2}, {1, 2})}, vector{Tensor::from(Values{3, 4})};
  NamedVars vars() const { return {{"m", matrix}, {"v", vector}}; }
  void bring(const Values& g, const Values& h) {
    backward(sum(matrix * Tensor::from(g, {1, 2})) + sum(vector * Tensor::from(h)));
  }
};

TEST(AdamW, IsTheFormulaWithDecayOnMatricesAlone) {
  Rig rig;
  AdamW optimizer(
      rig.vars(),
      {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.5, .decays_vectors = false});
  rig.bring({2, -1}, {0.5, 0});
  optimizer.step(0.1);
  // The first step's averages, unbiased, are g and g²: the update is the sign of g.
  const Values m = rig.matrix.tensor().to_vector<float>(),
               v = rig.vector.tensor().to_vector<float>();
  EXPECT_NEAR(m[0], 1 * (1 - 0.05) - 0.1, 1e-6);
  EXPECT_NEAR(m[1], -2 * (1 - 0.05) + 0.1, 1e-6);
  EXPECT_NEAR(v[0], 3 - 0.1, 1e-6);
  EXPECT_NEAR(v[1], 4, 1e-6);
  EXPECT_FALSE(rig.matrix.grad());
  EXPECT_EQ(optimizer.steps_done(), 1);
}

TEST(AdamW, ClipsByTheNormOfAllGradientsTogether) {
  const auto averages = [](double clip_norm, const Values& g, const Values& h) {
    Rig rig;
    AdamW optimizer(rig.vars(), {.beta1 = 0.5, .clip_norm = clip_norm});
    rig.bring(g, h);
    optimizer.step(0);
    NamedTensors state = optimizer.state();
    Values means = state["mean.m"].to_vector<float>();
    for (const float x : state["mean.v"].to_vector<float>()) means.push_back(x);
    return means;
  };
  // The norm is 5.
  const Values clipped = averages(1, {3, 0}, {0, 4}), expected = {0.3f, 0, 0, 0.4f};
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(clipped[i], expected[i], 1e-6);
  EXPECT_EQ(averages(6, {3, 0}, {0, 4}), (Values{1.5, 0, 0, 2}));
  EXPECT_EQ(averages(1, {0, 0}, {0, 0}), (Values{0, 0, 0, 0}));
}

TEST(AdamW, TakesAVarOfTwoNamesOnce) {
  const auto values_after = [](const NamedVars& vars, const Rig& rig) {
    AdamW optimizer(vars, {.clip_norm = 1});
    backward(sum(rig.matrix * Tensor::from(Values{3, 4}, {1, 2})));
    optimizer.step(0.1);
    const NamedTensors state = optimizer.state();
    EXPECT_EQ(state.size(), 2u);
    EXPECT_NEAR(state.at("mean.a").to_vector<float>()[0], 0.1 * 0.6,
                1e-6);  // of norm 5, not 5 sqrt(2)
    return rig.matrix.tensor().to_vector<float>();
  };
  const Rig one, two;
  EXPECT_EQ(values_after({{"a", one.matrix}}, one),
            values_after({{"a", two.matrix}, {"b", two.matrix}}, two));
}

TEST(AdamW, DecaysVectorsTooByDefault) {
  Rig rig;
  AdamW optimizer(rig.vars(), {.weight_decay = 0.5});
  rig.bring({0, 0}, {0, 0});
  optimizer.step(0.1);
  EXPECT_NEAR(rig.vector.tensor().to_vector<float>()[0], 3 * (1 - 0.05), 1e-6);
}

TEST(AdamW, LeavesWhatHasNoGradient) {
  Rig rig;
  AdamW optimizer(rig.vars(), {});
  backward(sum(rig.vector.tensor()));
  optimizer.step(0.1);
  EXPECT_EQ(rig.matrix.tensor().to_vector<float>(), (Values{1, -2}));
  EXPECT_NE(rig.vector.tensor().to_vector<float>(), (Values{3, 4}));
}

TEST(AdamW, GoesOnFromItsStateToTheBit) {
  Rig straight, resumed;
  AdamW first(straight.vars(), {});
  const auto gradients = [](Rig& rig, int i) { rig.bring({0.1f * i, 1}, {-1, 0.3f / (i + 1)}); };
  NamedTensors saved;
  const auto copy = [](const Tensor& x) { return Tensor::from(x.to_vector<float>(), x.shape()); };
  for (int i = 0; i < 6; i++) {
    if (i == 3) {
      for (const auto& [name, tensor] : first.state()) saved[name] = copy(tensor);
      resumed.matrix.set_(copy(straight.matrix)), resumed.vector.set_(copy(straight.vector));
    }
    gradients(straight, i);
    first.step(0.01);
  }
  AdamW second(resumed.vars(), {});
  second.restore(source_of(saved, "state"), 3);
  for (int i = 3; i < 6; i++) {
    gradients(resumed, i);
    second.step(0.01);
  }
  EXPECT_EQ(straight.matrix.tensor().to_vector<float>(),
            resumed.matrix.tensor().to_vector<float>());
  EXPECT_EQ(straight.vector.tensor().to_vector<float>(),
            resumed.vector.tensor().to_vector<float>());
}

TEST(AdamW, AStateThatDoesNotFitIsAnError) {
  Rig rig;
  AdamW optimizer(rig.vars(), {});
  NamedTensors state = optimizer.state();
  state["mean.v"] = zeros({3});
  EXPECT_ERROR(optimizer.restore(source_of(state, "s"), 1), kFormat,
               "s: tensor \"mean.v\": expected f32[2], got f32[3]");
  state.erase("mean.v");
  EXPECT_ERROR(optimizer.restore(source_of(state, "s"), 1), kFormat,
               "s: no tensor is named \"mean.v\"");
}

}  // namespace
}  // namespace wick
