#include "wick/ops/ssd.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

constexpr CompositeMode kBoth[] = {CompositeMode::kNever, CompositeMode::kAlways};

/// Operands of three sequences of T tokens, with four heads and two groups.
struct Operands {
  explicit Operands(int64_t tokens)
      : x(randn({3, tokens, 4, 6})),
        dt(rand({3, tokens, 4})),
        a(-1 - rand({4})),
        b(randn({3, tokens, 2, 5})),
        c(randn({3, tokens, 2, 5})),
        options{.d = randn({4}), .state = randn({3, 4, 6, 5})} {}
  TensorAndState operator()() const { return ssd(x, dt, a, b, c, options); }
  /// The tokens [first, first + count).
  Operands part(int64_t first, int64_t count) const {
    Operands result = *this;
    for (Tensor* of : {&result.x, &result.dt, &result.b, &result.c})
      *of = narrow(*of, 1, first, count);
    return result;
  }

  Tensor x, dt, a, b, c;
  SsdOptions options;
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

TEST(Ssd, OfOneTokenIsItsFormula) {
  const auto one = [](float value, const Shape& shape) {
    return Tensor::from(std::vector<float>{value}, shape);
  };
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    const auto [y, state] =
        ssd(one(3, {1, 1, 1, 1}), one(0.5f, {1, 1, 1}), one(-2, {1}), one(4, {1, 1, 1, 1}),
            one(5, {1, 1, 1, 1}), {.d = one(7, {1}), .state = one(10, {1, 1, 1, 1})});
    const float h = std::exp(-1.0f) * 10 + 0.5f * 3 * 4;
    EXPECT_NEAR(state.item<float>(), h, 1e-5f);
    EXPECT_NEAR(y.item<float>(), h * 5 + 7 * 3, 1e-4f);
  }
}

TEST(Ssd, KernelAndChunksOfAnySizeAgree) {
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

TEST(Ssd, StepsOfOneTokenGiveWhatTheWholeGives) {
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

TEST(Ssd, ACarriedStateGivesWhatTheWholeGives) {
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

TEST(Ssd, PaddingNeverEntersAState) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands all(70);
    const std::vector<int64> lengths{66, 0, 70};
    const Tensor limits = Tensor::from(lengths);
    const Tensor is_padding =
        ge(arange(70, {.dtype = DType::kI64}), reshape(limits, {3, 1}));  // [B, T]
    const float nan = std::numeric_limits<float>::quiet_NaN();
    all.options.lengths = limits;
    for (Tensor* of : {&all.x, &all.b, &all.c})
      *of = where(reshape(is_padding, {3, 70, 1, 1}), nan, *of);
    all.dt = where(reshape(is_padding, {3, 70, 1}), nan, all.dt);
    const TensorAndState got = all();
    for (int64_t i = 0; i < 3; i++) {
      const int64_t length = lengths[size_t(i)];
      Operands one = all.part(0, length);
      one.options.lengths = {};
      for (Tensor* of : {&one.x, &one.dt, &one.b, &one.c, &one.options.state})
        *of = narrow(*of, 0, i, 1);
      expect_near({narrow(narrow(got.y, 0, i, 1), 1, 0, length), narrow(got.state, 0, i, 1)},
                  one());
    }
    expect_near(where(reshape(is_padding, {3, 70, 1, 1}), got.y, 0), zeros(got.y.shape()));
  }
}

TEST(Ssd, LengthsAreClamped) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(5);
    of.options.lengths = Tensor::from(std::vector<int64>{-3, 99, 5});
    Operands clamped = of;
    clamped.options.lengths = Tensor::from(std::vector<int64>{0, 5, 5});
    expect_near(of(), clamped());
  }
}

TEST(Ssd, HeadsReadTheirGroups) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    const Operands of(20);
    Operands of_heads = of;
    of_heads.b = repeat_interleave(of.b, 2, 2);
    of_heads.c = repeat_interleave(of.c, 2, 2);
    expect_near(of_heads(), of());
  }
}

TEST(Ssd, AStrongDecayForgetsAll) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(40);
    Tensor first = of.dt;
    of.dt = cat({narrow(first, 1, 0, 30), full({3, 1, 4}, 1e6), narrow(first, 1, 31, 9)}, 1);
    Operands after = of.part(30, 10);
    after.options.state = {};
    expect_near(narrow(of().y, 1, 31, 9) / 1e6, narrow(after().y, 1, 1, 9) / 1e6);
  }
}

TEST(Ssd, MakesStepsOfABiasAndLimits) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(20);
    of.dt = randn({3, 20, 4}) * 10;  // beyond softplus's threshold too
    const Tensor constants = cat({reshape(of.a, {1, 4}), randn({2, 4})}, 0);
    Operands made = of;
    made.options.d = select(constants, 0, 1);
    made.dt = clamp(softplus(of.dt + select(constants, 0, 2)), {.min = 0.1, .max = 2});
    of.a = select(constants, 0, 0);
    of.options.d = select(constants, 0, 1);
    of.options.dt_bias = select(constants, 0, 2);
    of.options.step_limit = {0.1, 2};
    expect_near(of(), made());
    of.options.d = clone(of.options.d);  // no neighbour of the others
    expect_near(of(), made());
    of.options.d = made.options.d = {};
    expect_near(of(), made());
  }
}

TEST(Ssd, ReadsStepsInEitherDType) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(9);
    for (Tensor* x : {&of.x, &of.b, &of.c, &of.dt}) *x = cast(*x, DType::kBf16);
    const Tensor state = of().state;
    of.dt = cast(of.dt, DType::kF32);
    expect_near(of().state, state);
  }
}

TEST(Ssd, WithoutTokensKeepsTheState) {
  Operands of(0);
  EXPECT_EQ(of().y.shape(), (Shape{3, 0, 4, 6}));
  EXPECT_EQ(of().state.to_vector<float>(), of.options.state.to_vector<float>());
  of.options.state = {};
  EXPECT_EQ(of().state.to_vector<float>(), std::vector<float>(3 * 4 * 6 * 5, 0.0f));
}

TEST(Ssd, TheStateIsDifferentiable) {
  const Operands of(5);
  const Var before(of.options.state), x(of.x);
  SsdOptions options = of.options;
  options.state = before;
  options.lengths = Tensor::from(std::vector<int64>{5, 0, 3});
  backward(sum(ssd(x, of.dt, of.a, of.b, of.c, options).state));
  // A sequence without tokens passes its gradient on; x of padding gets none.
  const Tensor passed = narrow(before.grad(), 0, 1, 1), padded = narrow(x.grad(), 0, 1, 1);
  EXPECT_EQ(passed.to_vector<float>(), std::vector<float>(4 * 6 * 5, 1.0f));
  EXPECT_EQ(padded.to_vector<float>(), std::vector<float>(5 * 4 * 6, 0.0f));
  EXPECT_GT(sum(abs(narrow(x.grad(), 0, 2, 1))).item<float>(), 0.0f);
}

TEST(Ssd, KeepsTheStateInF32) {
  for (const CompositeMode mode : kBoth) {
    const CompositeScope scope(mode);
    Operands of(3);
    for (Tensor* x : {&of.x, &of.b, &of.c}) *x = cast(*x, DType::kBf16);
    EXPECT_EQ(of().y.dtype(), DType::kBf16);
    EXPECT_EQ(of().state.dtype(), DType::kF32);
  }
}

TEST(Ssd, NamesWhatDoesNotFit) {
  const Operands of(3);
  const auto with = [&](Tensor Operands::*operand, const Tensor& x) {
    Operands changed = of;
    changed.*operand = x;
    return changed;
  };
  EXPECT_ERROR(with(&Operands::x, zeros({3, 3, 4}))(), kShapeMismatch,
               "ssd: expected x [B, T, H, P], got [3, 3, 4]");
  EXPECT_ERROR(with(&Operands::x, zeros({3, 3, 4, 6}, {.dtype = DType::kI32}))(), kDTypeMismatch,
               "ssd: expected a floating dtype, got i32");
  EXPECT_ERROR(with(&Operands::b, zeros({3, 3, 3, 5}))(), kShapeMismatch,
               "ssd: expected b and c [B, T, G, N]");
  EXPECT_ERROR(with(&Operands::c, zeros({3, 3, 2, 6}))(), kShapeMismatch,
               "ssd: expected b and c [B, T, G, N]");
  EXPECT_ERROR(with(&Operands::c, zeros({3, 3, 2, 5}, {.dtype = DType::kF64}))(), kDTypeMismatch,
               "ssd: expected x, b and c of one dtype, got f32 and f64");
  EXPECT_ERROR(with(&Operands::dt, zeros({3, 3}))(), kShapeMismatch,
               "ssd: expected dt [3, 3, 4], got [3, 3]");
  EXPECT_ERROR(with(&Operands::a, zeros({4}, {.dtype = DType::kI8}))(), kDTypeMismatch,
               "ssd: expected a of a floating dtype, got i8");
  EXPECT_ERROR(with(&Operands::a, Tensor())(), kInvalidArgument, "ssd");
  Operands other = of;
  other.options.state = zeros({3, 4, 5, 6});
  EXPECT_ERROR(other(), kShapeMismatch, "ssd: expected state [3, 4, 6, 5], got [3, 4, 5, 6]");
  other = of;
  other.options.d = zeros({3});
  EXPECT_ERROR(other(), kShapeMismatch, "ssd: expected d [4], got [3]");
  other = of;
  other.options.lengths = zeros({2}, {.dtype = DType::kI64});
  EXPECT_ERROR(other(), kShapeMismatch, "ssd: expected lengths [3], one of each batch, got [2]");
  other.options.lengths = zeros({3});
  EXPECT_ERROR(other(), kDTypeMismatch, "ssd");
  other = of;
  other.options.chunk = 0;
  EXPECT_ERROR(other(), kInvalidArgument, "ssd: expected a chunk of at least 1, got 0");
  other = of;
  other.options.dt_bias = zeros({3});
  EXPECT_ERROR(other(), kShapeMismatch, "ssd: expected dt_bias [4], got [3]");
  other = of;
  other.options.step_limit = {2, 1};
  EXPECT_ERROR(other(), kInvalidArgument, "ssd: expected limits of the step in order, got 2 and 1");
}

TEST(Ssd, RefusesOperandsOfTwoDevices) {
  const Device emulated = Device::emulated(32);
  const Operands of(3);
  EXPECT_ERROR(ssd(of.x, of.dt, of.a, of.b.to(emulated), of.c), kDeviceMismatch, "ssd");
  EXPECT_ERROR(ssd(of.x, of.dt, of.a.to(emulated), of.b, of.c), kDeviceMismatch, "ssd");
}

}  // namespace
}  // namespace wick
