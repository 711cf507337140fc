#include "wick/ops/delta_rule.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

constexpr CompositeMode kBoth[] = {CompositeMode::kNever, CompositeMode::kAlways};

Tensor normalized(const Tensor& x) { return x / sqrt(sum(x * x, {.dims = {-1}, .keepdim = true})); }

/// Operands of three sequences of T tokens, with two heads.
struct Operands {
  explicit Operands(int64_t tokens)
      : q(normalized(randn({3, tokens, 2, 6}))),
        k(normalized(randn({3, tokens, 2, 6}))),
        v(randn({3, tokens, 2, 5})),
        decay(-rand({3, tokens, 2})),
        beta(rand({3, tokens, 2})),
        options{.state = randn({3, 2, 6, 5})} {}
  TensorAndState operator()() const { return gated_delta_rule(q, k, v, decay, beta, options); }
  /// The tokens [first, first + count).
  Operands part(int64_t first, int64_t count) const {
    Operands result = *this;
    for (Tensor* of : {&result.q, &result.k, &result.v, &result.decay, &result.beta})
      *of = narrow(*of, 1, first, count);
    return result;
  }

  Tensor q, k, v, decay, beta;
  DeltaRuleOptions options;
};

void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  const std::vector<float> a = got.to_vector<float>(), b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); i++)
    ASSERT_NEAR(a[i], b[i], 2e-5f * (1 + std::abs(b[i]))) << "element " << i;
}
void expect_near(const TensorAndState& got, const TensorAndState& expected) {
  expect_near(got.y, expected.y);
  expect_near(got.state, expected.state);
}

TEST(GatedDeltaRule, OfOneTokenIsItsFormula) {
  const auto one = [](float value, const Shape& shape) {
    return Tensor::from(std::vector<float>{value}, shape);
  };
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    const auto [y, state] = gated_delta_rule(
        one(3, {1, 1, 1, 1}), one(0.5f, {1, 1, 1, 1}), one(7, {1, 1, 1, 1}), one(-1, {1, 1, 1}),
        one(0.25f, {1, 1, 1}), {.scale = 2, .state = one(10, {1, 1, 1, 1})});
    const float before = std::exp(-1.0f) * 10;
    const float after = before + 0.25f * 0.5f * (7 - before * 0.5f);
    EXPECT_NEAR(state.item<float>(), after, 1e-5f);
    EXPECT_NEAR(y.item<float>(), 2 * 3 * after, 1e-4f);
  }
}

TEST(GatedDeltaRule, ScalesByTheKeysSizeUnlessGivenAnother) {
  Operands of(7);
  const Tensor y = of().y;
  of.options.scale = 1;
  expect_near(of().y / std::sqrt(6.0), y);
}

TEST(GatedDeltaRule, KernelAndChunksOfAnySizeAgree) {
  for (const int64_t tokens : {1, 5, 64, 70, 130}) {
    Operands of(tokens);
    const TensorAndState expected = of();
    const CompositeScope scope(CompositeMode::kAlways);
    for (const int64_t chunk : {1, 3, 16, 64, 1000}) {
      of.options.chunk = chunk;
      expect_near(of(), expected);
    }
  }
}

// The same key again and again, undecayed: the matrix that a chunk inverts is then the worst of those
// whose inverse stays small, and the powers of it grow to 1e18.
TEST(GatedDeltaRule, ChunksOfOneKeyStaySound) {
  Operands of(130);
  of.k = broadcast_to(narrow(of.k, 1, 0, 1), of.k.shape());
  of.decay = zeros(of.decay.shape());
  for (const double beta : {1.0, 0.9, 1.9}) {
    of.beta = full(of.beta.shape(), beta);
    of.options.chunk = 64;
    const CompositeScope scope(CompositeMode::kAlways);
    const TensorAndState got = of();
    of.options.chunk = 1;
    const TensorAndState expected = of();
    const float worst = max(abs(got.y - expected.y)).item<float>();
    EXPECT_LT(worst, 1e-3f) << "beta " << beta;
  }
}

TEST(GatedDeltaRule, StepsOfOneTokenGiveWhatTheWholeGives) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    const Operands all(9);
    const TensorAndState whole = all();
    std::vector<Tensor> y;
    Tensor state = all.options.state;
    for (int64_t t = 0; t < 9; t++) {
      Operands step = all.part(t, 1);
      step.options.state = state;
      const TensorAndState result = step();
      y.push_back(result.y);
      state = result.state;
    }
    expect_near({cat(y, 1), state}, whole);
  }
}

TEST(GatedDeltaRule, ACarriedStateGivesWhatTheWholeGives) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    const Operands all(100);
    const TensorAndState first = all.part(0, 37)();
    Operands rest = all.part(37, 63);
    rest.options.state = first.state;
    const TensorAndState second = rest();
    expect_near({cat({first.y, second.y}, 1), second.state}, all());
  }
}

TEST(GatedDeltaRule, PaddingNeverEntersAState) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands all(70);
    const std::vector<int64> lengths{66, 0, 70};
    const Tensor limits = Tensor::from(lengths);
    const Tensor is_padding =
        ge(arange(70, {.dtype = DType::kI64}), reshape(limits, {3, 1}));  // [B, T]
    const float nan = std::numeric_limits<float>::quiet_NaN();
    all.options.lengths = limits;
    for (Tensor* of : {&all.q, &all.k, &all.v})
      *of = where(reshape(is_padding, {3, 70, 1, 1}), nan, *of);
    for (Tensor* of : {&all.decay, &all.beta})
      *of = where(reshape(is_padding, {3, 70, 1}), nan, *of);
    const TensorAndState got = all();
    for (int64_t i = 0; i < 3; i++) {
      const int64_t length = lengths[size_t(i)];
      Operands one = all.part(0, length);
      one.options.lengths = {};
      for (Tensor* of : {&one.q, &one.k, &one.v, &one.decay, &one.beta, &one.options.state})
        *of = narrow(*of, 0, i, 1);
      expect_near({narrow(narrow(got.y, 0, i, 1), 1, 0, length), narrow(got.state, 0, i, 1)},
                  one());
    }
    expect_near(where(reshape(is_padding, {3, 70, 1, 1}), got.y, 0), zeros(got.y.shape()));
  }
}

TEST(GatedDeltaRule, LengthsAreClamped) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(5);
    of.options.lengths = Tensor::from(std::vector<int64>{-3, 99, 5});
    Operands clamped = of;
    clamped.options.lengths = Tensor::from(std::vector<int64>{0, 5, 5});
    expect_near(of(), clamped());
  }
}

TEST(GatedDeltaRule, AStrongDecayForgetsAll) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(40);
    of.decay =
        cat({narrow(of.decay, 1, 0, 30), full({3, 1, 2}, -1e6), narrow(of.decay, 1, 31, 9)}, 1);
    Operands after = of.part(30, 10);
    after.options.state = {};
    expect_near(narrow(of().y, 1, 30, 10), after().y);
  }
}

TEST(GatedDeltaRule, NormalizesQueriesAndKeys) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(20);
    of.options.qk_norm_eps = 0.25;
    Operands normal = of;
    normal.options.qk_norm_eps = 0;
    for (Tensor* x : {&of.q, &of.k}) *x = *x * 3;
    for (Tensor* x : {&normal.q, &normal.k}) *x = *x * (3 / std::sqrt(9.25));
    expect_near(of(), normal());
  }
}

TEST(GatedDeltaRule, MakesTheDecayAndTheShareAsLayersDo) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(20);
    of.decay = randn({3, 20, 2}) * 10;  // beyond softplus's threshold too
    of.beta = randn({3, 20, 2});
    const Tensor constants = randn({2, 2});
    Operands made = of;
    made.decay = -exp(select(constants, 0, 0)) * softplus(of.decay + select(constants, 0, 1));
    made.beta = sigmoid(of.beta);
    of.options.sigmoid_beta = true;
    of.options.a_log = select(constants, 0, 0);
    of.options.dt_bias = select(constants, 0, 1);
    expect_near(of(), made());
    of.options.a_log = clone(of.options.a_log);  // no neighbour of dt_bias
    expect_near(of(), made());
  }
}

TEST(GatedDeltaRule, HeadsShareQueriesAndKeys) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(20);
    of.v = randn({3, 20, 6, 5});
    for (Tensor* x : {&of.decay, &of.beta}) *x = repeat_interleave(*x, 3, 2);
    of.options.state = randn({3, 6, 6, 5});
    for (const bool tiled : {false, true}) {
      of.options.tiled_heads = tiled;
      Operands of_heads = of;
      for (Tensor* x : {&of_heads.q, &of_heads.k})
        *x = tiled ? tile(*x, {1, 1, 3, 1}) : repeat_interleave(*x, 3, 2);
      expect_near(of(), of_heads());
    }
  }
}

TEST(GatedDeltaRule, ReadsDecayAndShareInEitherDType) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(9);
    for (Tensor* x : {&of.q, &of.k, &of.v, &of.decay, &of.beta}) *x = cast(*x, DType::kBf16);
    const Tensor state = of().state;
    for (Tensor Operands::*wide : {&Operands::decay, &Operands::beta}) {
      of.*wide = cast(of.*wide, DType::kF32);  // one of them, then both
      expect_near(of().state, state);
    }
  }
}

TEST(GatedDeltaRule, WithoutTokensKeepsTheState) {
  Operands of(0);
  EXPECT_EQ(of().y.shape(), (Shape{3, 0, 2, 5}));
  EXPECT_EQ(of().state.to_vector<float>(), of.options.state.to_vector<float>());
  of.options.state = {};
  EXPECT_EQ(of().state.to_vector<float>(), std::vector<float>(3 * 2 * 6 * 5, 0.0f));
}

TEST(GatedDeltaRule, TheStateIsDifferentiable) {
  const Operands of(5);
  const Var before(of.options.state), v(of.v);
  DeltaRuleOptions options = of.options;
  options.state = before;
  options.lengths = Tensor::from(std::vector<int64>{5, 0, 3});
  backward(sum(gated_delta_rule(of.q, of.k, v, of.decay, of.beta, options).state));
  // A sequence without tokens passes its gradient on; v of padding gets none.
  const Tensor passed = narrow(before.grad(), 0, 1, 1), padded = narrow(v.grad(), 0, 1, 1);
  EXPECT_EQ(passed.to_vector<float>(), std::vector<float>(2 * 6 * 5, 1.0f));
  EXPECT_EQ(padded.to_vector<float>(), std::vector<float>(5 * 2 * 5, 0.0f));
  EXPECT_GT(sum(abs(narrow(v.grad(), 0, 2, 1))).item<float>(), 0.0f);
}

TEST(GatedDeltaRule, KeepsTheStateInF32) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(3);
    for (Tensor* x : {&of.q, &of.k, &of.v}) *x = cast(*x, DType::kBf16);
    EXPECT_EQ(of().y.dtype(), DType::kBf16);
    EXPECT_EQ(of().state.dtype(), DType::kF32);
  }
}

TEST(GatedDeltaRule, NamesWhatDoesNotFit) {
  const Operands of(3);
  const auto with = [&](Tensor Operands::*operand, const Tensor& x) {
    Operands changed = of;
    changed.*operand = x;
    return changed;
  };
  EXPECT_ERROR(with(&Operands::q, zeros({3, 3, 2}))(), kShapeMismatch,
               "gated_delta_rule: expected q [B, T, G, K], got [3, 3, 2]");
  EXPECT_ERROR(with(&Operands::q, zeros({3, 3, 2, 6}, {.dtype = DType::kI32}))(), kDTypeMismatch,
               "gated_delta_rule: expected a floating dtype, got i32");
  EXPECT_ERROR(with(&Operands::k, zeros({3, 3, 1, 6}))(), kShapeMismatch,
               "gated_delta_rule: expected k of q's shape [3, 3, 2, 6], got [3, 3, 1, 6]");
  EXPECT_ERROR(with(&Operands::v, zeros({3, 4, 2, 5}))(), kShapeMismatch,
               "gated_delta_rule: expected v [B, T, H, V] with B and T of q and H a multiple");
  EXPECT_ERROR(with(&Operands::v, zeros({3, 3, 2, 5}, {.dtype = DType::kF64}))(), kDTypeMismatch,
               "gated_delta_rule: expected q, k and v of one dtype, got f32 and f64");
  EXPECT_ERROR(with(&Operands::decay, zeros({3, 3}))(), kShapeMismatch,
               "gated_delta_rule: expected decay [3, 3, 2], got [3, 3]");
  EXPECT_ERROR(with(&Operands::beta, zeros({3, 3, 2}, {.dtype = DType::kI8}))(), kDTypeMismatch,
               "gated_delta_rule: expected beta of a floating dtype, got i8");
  EXPECT_ERROR(with(&Operands::beta, Tensor())(), kInvalidArgument, "gated_delta_rule");
  Operands other = of;
  other.options.state = zeros({3, 2, 5, 6});
  EXPECT_ERROR(other(), kShapeMismatch,
               "gated_delta_rule: expected state [3, 2, 6, 5], got [3, 2, 5, 6]");
  other = of;
  other.options.lengths = zeros({2}, {.dtype = DType::kI64});
  EXPECT_ERROR(other(), kShapeMismatch,
               "gated_delta_rule: expected lengths [3], one of each batch, got [2]");
  other.options.lengths = zeros({3});
  EXPECT_ERROR(other(), kDTypeMismatch, "gated_delta_rule");
  other = of;
  other.options.chunk = 0;
  EXPECT_ERROR(other(), kInvalidArgument,
               "gated_delta_rule: expected a chunk of at least 1, got 0");
  EXPECT_ERROR(with(&Operands::v, zeros({3, 3, 3, 5}))(), kShapeMismatch,
               "gated_delta_rule: expected v [B, T, H, V] with B and T of q and H a multiple");
  other = of;
  other.options.qk_norm_eps = -1;
  EXPECT_ERROR(other(), kInvalidArgument,
               "gated_delta_rule: expected a qk_norm_eps of at least 0, got -1");
  other = of;
  other.options.a_log = zeros({2});
  EXPECT_ERROR(other(), kInvalidArgument,
               "gated_delta_rule: expected both a_log and dt_bias or neither, got only a_log");
  other.options.dt_bias = zeros({3});
  EXPECT_ERROR(other(), kShapeMismatch, "gated_delta_rule: expected dt_bias [2], got [3]");
}

TEST(GatedDeltaRule, RefusesOperandsOfTwoDevices) {
  const Device emulated = Device::emulated(32);
  const Operands of(3);
  EXPECT_ERROR(gated_delta_rule(of.q, of.k.to(emulated), of.v, of.decay, of.beta), kDeviceMismatch,
               "gated_delta_rule");
  EXPECT_ERROR(gated_delta_rule(of.q, of.k, of.v, of.decay, of.beta.to(emulated)), kDeviceMismatch,
               "gated_delta_rule");
}

}  // namespace
}  // namespace wick
