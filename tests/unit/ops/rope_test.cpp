#include "wick/ops/rope.h"

#include <cmath>

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(RopeTables, AreTheCosinesAndSinesOfTheAngles) {
  const RopeTables tables = rope_tables(5, 8, 10000, {.dtype = DType::kF64});
  ASSERT_EQ(tables.cos.shape(), (Shape{5, 4}));
  ASSERT_EQ(tables.sin.shape(), (Shape{5, 4}));
  const std::vector<double> cos = tables.cos.to_vector<double>(),
                            sin = tables.sin.to_vector<double>();
  const double frequencies[] = {1, 0.1, 0.01, 0.001};
  for (int p = 0; p < 5; p++) {
    for (int i = 0; i < 4; i++) {
      EXPECT_NEAR(cos[size_t(4 * p + i)], std::cos(p * frequencies[i]), 1e-15);
      EXPECT_NEAR(sin[size_t(4 * p + i)], std::sin(p * frequencies[i]), 1e-15);
    }
  }
}

// In f32 the frequency and the angle are rounded, as transformers rounds them: at position 100000
// the angle of the second pair is off by some thousandths, the same ones.
TEST(RopeTables, OfF32RoundTheAngle) {
  const RopeTables tables = rope_tables(100001, 4, 500000);
  EXPECT_EQ(tables.cos.dtype(), DType::kF32);
  const float frequency = 1.0f / std::pow(500000.0f, 0.5f);
  for (const int64_t p : {1, 77, 4095, 100000}) {
    const float angle = float(p) * frequency;
    EXPECT_NEAR(narrow(tables.sin, 0, p, 1).to_vector<float>()[1], std::sin(double(angle)), 6e-8);
    EXPECT_NEAR(narrow(tables.cos, 0, p, 1).to_vector<float>()[0], std::cos(double(p)), 6e-8);
  }
}

TEST(RopeTables, RejectsWhatHasNoPairs) {
  EXPECT_ERROR(rope_tables(3, 5, 10000), kInvalidArgument,
               "rope_tables: expected an even head_dim and positions of at least 0, got 5 and 3");
  EXPECT_ERROR(rope_tables(-1, 4, 10000), kInvalidArgument, "rope_tables: ");
  EXPECT_ERROR(rope_tables(3, -2, 10000), kInvalidArgument, "rope_tables: ");
  EXPECT_EQ(rope_tables(0, 4, 10000).cos.shape(), (Shape{0, 2}));
}

/// Frequencies for which cos and sin of the first two positions tell theirs.
std::vector<double> frequencies_of(const RopeTables& tables) {
  const std::vector<double> cos = cast(tables.cos, DType::kF64).to_vector<double>(),
                            sin = cast(tables.sin, DType::kF64).to_vector<double>();
  const size_t half = size_t(tables.cos.size(1));
  std::vector<double> frequencies;
  for (size_t i = 0; i < half; i++) frequencies.push_back(std::atan2(sin[half + i], cos[half + i]));
  return frequencies;
}

RopeScaling scaling_of(const Settings& rope, double attention_factor, int64_t trained) {
  const std::pair<const char*, RopeScalingType> types[] = {
      {"linear", RopeScalingType::kLinear},
      {"dynamic", RopeScalingType::kDynamic},
      {"yarn", RopeScalingType::kYarn},
      {"llama3", RopeScalingType::kLlama3},
      {"longrope", RopeScalingType::kLongRope}};
  RopeScaling s{.factor = rope.real("factor"),
                .original_max_position_embeddings =
                    rope.integer_or("original_max_position_embeddings", trained),
                .beta_fast = rope.real_or("beta_fast", 32),
                .beta_slow = rope.real_or("beta_slow", 1),
                .truncate = rope.flag_or("truncate", true),
                .low_freq_factor = rope.real_or("low_freq_factor", 1),
                .high_freq_factor = rope.real_or("high_freq_factor", 4),
                .attention_factor = attention_factor,
                .short_factor = rope.reals("short_factor"),
                .long_factor = rope.reals("long_factor")};
  for (const auto& [name, type] : types)
    if (rope.text("rope_type") == name) s.type = type;
  return s;
}

TEST(RopeTables, AreScaledAsTransformersScalesThem) {
  const Settings golden = read_json(std::string(WICK_GOLDEN) + "/rope/expected.json");
  const auto& cases = std::get<Setting::List>(golden.find("cases")->value);
  ASSERT_EQ(cases.size(), 11u);
  for (const Setting& entry : cases) {
    const Settings& c = std::get<Settings>(entry.value);
    const Settings& rope = *c.group("rope_parameters");
    const double factor = c.real("attention_factor");
    const RopeScaling scaling = scaling_of(rope, factor, c.integer("max_position_embeddings"));
    // A table as long as the context takes long: the length matters to these types only.
    const bool reads_length =
        scaling.type == RopeScalingType::kDynamic || scaling.type == RopeScalingType::kLongRope;
    const int64_t positions = reads_length ? c.integer("positions") : 2;
    const std::vector<double> expected = c.reals("frequencies");
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const RopeTables tables = rope_tables(positions, c.integer("head_dim"),
                                            rope.real("rope_theta"), {.dtype = dtype}, scaling);
      const std::vector<double> got = frequencies_of(tables);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); i++)
        EXPECT_NEAR(got[i], expected[i], 4e-7 * expected[i]) << to_json(rope) << ", pair " << i;
      EXPECT_NEAR(cast(narrow(tables.cos, 0, 0, 1), DType::kF64).to_vector<double>()[0], factor,
                  1e-7 * factor);
    }
  }
}

TEST(RopeTables, DivideFrequenciesByDivisors) {
  const RopeScaling scaling{.type = RopeScalingType::kLinear, .factor = 2, .divisors = {1, 4}};
  EXPECT_EQ(frequencies_of(rope_tables(2, 4, 10000, {.dtype = DType::kF64}, scaling)),
            (std::vector<double>{0.5, 0.00125}));
}

TEST(RopeTables, RejectScalingsThatMakeNoSense) {
  const auto refused = [](const RopeScaling& scaling, const std::string& part) {
    EXPECT_ERROR(rope_tables(3, 4, 10000, {}, scaling), kInvalidArgument, part);
  };
  const auto linear = RopeScalingType::kLinear, yarn = RopeScalingType::kYarn;
  refused({.type = linear, .factor = 0}, "rope_tables: expected a factor above 0, got 0");
  refused({.divisors = {1}}, "expected one divisor per pair, got 1");
  refused({.divisors = {1, -1}}, "expected numbers above 0, got -1");
  const auto longrope = RopeScalingType::kLongRope;
  refused({.type = longrope, .original_max_position_embeddings = 8, .short_factor = {1}},
          "expected one short factor per pair, got 1");
  refused({.type = longrope, .original_max_position_embeddings = 8, .short_factor = {1, 2}},
          "expected one long factor per pair, got 0");
  refused({.type = longrope, .short_factor = {1, 2}, .long_factor = {1, 2}},
          "expected original_max_position_embeddings above 0, got 0");
  refused({.type = yarn, .factor = 2}, "expected original_max_position_embeddings above 0, got 0");
  refused({.type = yarn, .original_max_position_embeddings = 8, .beta_fast = 0}, "beta_fast");
  refused({.type = RopeScalingType::kLlama3,
           .original_max_position_embeddings = 8,
           .low_freq_factor = 5},
          "expected a high_freq_factor of at least low_freq_factor, got 4");
}

TEST(Rope, HasOldNames) {
  const RopeTables t = rope_tables(9, 6, 10000);
  const Tensor x = randn({2, 4, 3, 6}), at = Tensor::from(Ids{5, 0, 8, 1, 1, 7}, Shape{2, 3});
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.to_vector<float>() == b.to_vector<float>();
  };
  EXPECT_TRUE(same(rope(x, t.cos, t.sin, at), rope(x, t, {.positions = at})));
  EXPECT_TRUE(same(rope_i(x, t.cos, t.sin, at),
                   rope(x, t, {.pairs = RopePairs::kAdjacent, .positions = at})));
  const Tensor y = transpose(x, 1, 2);
  EXPECT_TRUE(same(rope_thd(y, t.cos, t.sin, at),
                   rope(y, t, {.layout = RopeLayout::kTokensFirst, .positions = at})));
}

TEST(Rope, TurnsPairsAQuarter) {
  const Tensor x = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 1, 4});
  const Tensor cos = zeros({1, 2}), sin = ones({1, 2}), at = zeros({1, 1}, {.dtype = DType::kI64});
  EXPECT_EQ(rope(x, cos, sin, at).to_vector<float>(), (Values{-3, -4, 1, 2}));
  EXPECT_EQ(rope_i(x, cos, sin, at).to_vector<float>(), (Values{-2, 1, -4, 3}));
}

// [B, H, T, D] and [B, T, H, D] are one memory seen in two ways: neither is copied.
TEST(Rope, TakesHeadsOrTokensFirst) {
  const RopeTables t = rope_tables(9, 6, 10000);
  const Tensor x = randn({2, 4, 3, 6}), at = Tensor::from(Ids{5, 0, 8, 1, 1, 7}, Shape{2, 3});
  const Tensor heads_first = rope(x, t.cos, t.sin, at);
  const Tensor tokens_first = rope_thd(transpose(x, 1, 2), t.cos, t.sin, at);
  EXPECT_EQ(tokens_first.shape(), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(transpose(tokens_first, 1, 2).to_vector<float>(), heads_first.to_vector<float>());
  const CompositeScope kernels(CompositeMode::kNever);
  EXPECT_TRUE(rope(x, t.cos, t.sin, at).is_contiguous());
  EXPECT_TRUE(
      rope_i(transpose(transpose(x, 1, 2).contiguous(), 1, 2), t.cos, t.sin, at).is_contiguous());
  EXPECT_TRUE(rope_thd(transpose(x, 1, 2), t.cos, t.sin, at).is_contiguous());
}

TEST(Rope, WithoutPositionsCountsTokensFrom0) {
  const RopeTables t = rope_tables(5, 6, 10000);
  const Tensor at = Tensor::from(Ids{0, 1, 2, 0, 1, 2}, Shape{2, 3});
  const Var x(randn({2, 4, 3, 6}));
  for (const RopePairs pairs : {RopePairs::kHalves, RopePairs::kAdjacent}) {
    const Tensor y = rope(x, t, {.pairs = pairs});
    EXPECT_EQ(y.to_vector<float>(),
              rope(x, t, {.pairs = pairs, .positions = at}).to_vector<float>());
    backward(sum(y * y));  // what turns keeps lengths
    EXPECT_LT(max(abs(x.grad() - x.tensor() * 2)).item<float>(), 1e-5f);
    x.zero_grad();
  }
  const Tensor tokens_first = transpose(x.tensor(), 1, 2);
  EXPECT_EQ(rope_thd(tokens_first, t.cos, t.sin).to_vector<float>(),
            rope_thd(tokens_first, t.cos, t.sin, at).to_vector<float>());
  EXPECT_ERROR(rope(zeros({1, 1, 6, 6}), t.cos, t.sin), kShapeMismatch,
               "rope: expected tables of at least 6 rows for as many tokens, got [5, 3]");
}

TEST(Rope, KeepsTheAngleBetweenTwoPositions) {
  const RopeTables t = rope_tables(50, 8, 10000);
  const Tensor q = randn({1, 1, 1, 8}), k = randn({1, 1, 1, 8});
  const auto product = [&](int64 of_q, int64 of_k) {
    const auto at = [](int64 p) { return Tensor::from(Ids{p}, Shape{1, 1}); };
    return sum(rope(q, t.cos, t.sin, at(of_q)) * rope(k, t.cos, t.sin, at(of_k))).item<float>();
  };
  EXPECT_NEAR(product(7, 3), product(44, 40), 1e-4f);
}

TEST(Rope, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({2, 4, 3, 6}), table = zeros({9, 3}),
               at = zeros({2, 3}, {.dtype = DType::kI64});
  EXPECT_ERROR(rope(zeros({2, 4, 3, 5}), table, table, at), kShapeMismatch,
               "rope: expected x [B, H, T, D] with D even, got [2, 4, 3, 5]");
  EXPECT_ERROR(rope_thd(zeros({2, 3, 4, 5}), table, table, at), kShapeMismatch,
               "rope: expected x [B, T, H, D] with D even, got [2, 3, 4, 5]");
  EXPECT_ERROR(rope_i(transpose(x, 1, 2), table, table, at), kShapeMismatch,
               "rope: expected positions [2, 4], got [2, 3]");
  EXPECT_ERROR(rope(zeros({3, 4, 6}), table, table, at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, zeros({9, 6}), zeros({9, 6}), at), kShapeMismatch,
               "rope: expected tables [P, 3], got [9, 6] and [9, 6]");
  EXPECT_ERROR(rope(x, table, zeros({8, 3}), at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, table, zeros({3, 2}, {.dtype = DType::kI64})), kShapeMismatch,
               "rope: expected positions [2, 3], got [3, 2]");
  EXPECT_ERROR(rope(x, table, table, zeros({2, 3})), kDTypeMismatch,
               "rope: expected positions of integers, got f32");
  EXPECT_ERROR(rope(cast(x, DType::kF64), table, table, at), kDTypeMismatch,
               "rope: expected tables of f64 for x of f64, got f32");
  EXPECT_ERROR(rope(x, cast(table, DType::kF16), table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(cast(x, DType::kI32), table, table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, {}, at), kInvalidArgument, "rope: an operand is an empty Tensor()");
  EXPECT_ERROR(rope(x, table, table, at.to(Device::emulated(32))), kDeviceMismatch, "rope: ");
}

}  // namespace
}  // namespace wick
