#include "wick/ops/sample.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string_view>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Ids = std::vector<int64>;
using Values = std::vector<float>;

/// One row of logits, drawn from once with each uniform number.
Ids draws(const Values& logits, const Values& uniform, const SampleOptions& options = {}) {
  const int64_t rows = int64_t(uniform.size()), columns = int64_t(logits.size());
  const Tensor repeated = broadcast_to(Tensor::from(logits, Shape{1, columns}), {rows, columns});
  return sample(repeated, Tensor::from(uniform), options).to_vector<int64>();
}

const float kLog3 = std::log(3.0f);

TEST(Sample, ThePartsOfTheUnitIntervalAreTheShares) {
  // Shares 1/8, 3/8, 3/8, 1/8.
  EXPECT_EQ(draws({0, kLog3, kLog3, 0}, {0, 0.12f, 0.13f, 0.49f, 0.51f, 0.87f, 0.88f, 0.9999f}),
            (Ids{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Sample, ATemperatureOfNothingTakesTheFirstOfTheLargest) {
  EXPECT_EQ(draws({1, 5, 5, 2}, {0, 0.999f}, {.temperature = 0}), (Ids{1, 1}));
  EXPECT_EQ(draws({1, 5, 5, 2}, {0.9f}, {.temperature = 0, .top_k = 3, .top_p = 0.1}), (Ids{1}));
}

TEST(Sample, TheTemperatureDividesTheLogits) {
  // Shares 1/4 and 3/4 at 1; 1/10 and 9/10 at 1/2.
  EXPECT_EQ(draws({0, kLog3}, {0.2f}), (Ids{0}));
  EXPECT_EQ(draws({0, kLog3}, {0.2f}, {.temperature = 0.5}), (Ids{1}));
}

TEST(Sample, TopKKeepsTheMostLikelyAndTheirTies) {
  EXPECT_EQ(draws({1, 3, 2, 0}, {0, 0.999f}, {.top_k = 2}), (Ids{1, 2}));
  EXPECT_EQ(draws({2, 3, 2, 0}, {0, 0.999f}, {.top_k = 2}), (Ids{0, 2}));
  EXPECT_EQ(draws({1, 3}, {0, 0.999f}, {.top_k = 100}), (Ids{0, 1}));
}

TEST(Sample, TopPKeepsTheFewestThatReachItAndTheirTies) {
  const Values logits = {0, kLog3, kLog3 + kLog3, 0};  // 1/14, 3/14, 9/14, 1/14
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.6}), (Ids{2, 2}));
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.7}), (Ids{1, 2}));
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.9}), (Ids{0, 3}));
}

TEST(Sample, WhatIsMaskedIsNeverDrawn) {
  const float masked = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(draws({masked, 0, masked, 0, masked}, {0, 0.49f, 0.51f, 0.999f}), (Ids{1, 1, 3, 3}));
}

// ---- rows of their own settings

/// What one row draws from.
struct Given {
  std::vector<float> logits;
  SampleOptions options = {};
  float uniform = 0;
  std::vector<int64> tokens = {};
  std::map<int64, float> bias = {};
  std::vector<bool> allowed = {};  // empty: all
};

/// The id by definition: everything sorted, in f64.
int64 naive(const Given& g) {
  const SampleOptions& o = g.options;
  std::vector<double> x(g.logits.begin(), g.logits.end());
  for (const auto& [id, bias] : g.bias) x[size_t(id)] += double(bias);
  for (size_t id = 0; id < x.size(); id++) {
    const auto count = std::count(g.tokens.begin(), g.tokens.end(), int64(id));
    if (count > 0) {
      x[id] = x[id] > 0 ? x[id] / o.repetition_penalty : x[id] * o.repetition_penalty;
      x[id] -= double(count) * o.frequency_penalty + o.presence_penalty;
    }
    if (!g.allowed.empty() && !g.allowed[id]) x[id] = -HUGE_VAL;
  }
  const double largest = *std::max_element(x.begin(), x.end());
  if (o.temperature == 0) return std::find(x.begin(), x.end(), largest) - x.begin();
  std::vector<double> falling = x, p;
  std::sort(falling.rbegin(), falling.rend());
  const auto k = size_t(o.top_k);
  double least = k > 0 && k < x.size() ? falling[k - 1] : falling.back(), total = 0;
  for (const double y : falling)
    if (y >= least) total += std::exp((y - largest) / o.temperature);
  double sum = 0, reached = least;
  for (const double y : falling) {
    if (y < least || sum >= o.top_p * total) break;
    reached = y, sum += std::exp((y - largest) / o.temperature);
  }
  if (o.top_p < 1) least = reached;
  total = 0;
  for (const double y : x) {
    const double weight = std::exp((y - largest) / o.temperature);
    p.push_back(y >= least && weight >= o.min_p ? weight : 0);
    total += p.back();
  }
  double before = 0;
  for (size_t id = 0; id < p.size(); id++) {
    before += p[id];
    if (before > double(g.uniform) * total) return int64(id);
  }
  return -1;
}

/// The uniform number of a seed and an index.
float uniform_of(uint64_t seed, int64_t index) {
  Device::cpu().set_seed(seed);
  return rand({4 * index + 1}).to_vector<float>().back();  // the first word of a counter's four
}

struct Batch {
  Tensor logits;
  SampleRows rows;
};

/// The rows together. Seeds and indices count up; `uniform` of each is set to their number.
Batch batch_of(std::vector<Given>& rows, const Device& device, DType dtype = DType::kF32) {
  const auto count = int64_t(rows.size()), v = int64_t(rows[0].logits.size()),
             words = (v + 31) / 32;
  size_t longest = 1, most_biased = 1;
  for (const Given& g : rows) {
    longest = std::max(longest, g.tokens.size() + 1);
    most_biased = std::max(most_biased, g.bias.size() + 1);
  }
  std::vector<float> logits, bias;
  std::vector<int64> state, tokens, bias_ids;
  std::vector<uint32> mask;
  std::vector<SampleOptions> options;
  for (size_t b = 0; b < rows.size(); b++) {
    Given& g = rows[b];
    logits.insert(logits.end(), g.logits.begin(), g.logits.end());
    options.push_back(g.options);
    const auto seed = uint64_t(b) * 77 + (uint64_t{1} << 63), index = uint64_t(b % 5);
    g.uniform = uniform_of(seed, int64_t(index));
    state.insert(state.end(), {int64(seed), int64(index), int64(g.tokens.size())});
    tokens.insert(tokens.end(), g.tokens.begin(), g.tokens.end());
    tokens.resize(longest * (b + 1), 3);  // not seen
    for (const auto& [id, value] : g.bias) bias_ids.push_back(id), bias.push_back(value);
    bias_ids.resize(most_biased * (b + 1), -1);
    bias.resize(most_biased * (b + 1), 100);
    for (int64_t w = 0; w < words; w++) {
      uint32 word = 0;
      for (int64_t i = 32 * w; i < std::min(v, 32 * w + 32); i++)
        if (g.allowed.empty() || g.allowed[size_t(i)]) word |= uint32{1} << (i % 32);
      mask.push_back(word);
    }
  }
  return {cast(Tensor::from(logits, {count, v}), dtype).to(device),
          {.settings = sample_settings(options, device),
           .state = Tensor::from(state, {count, 3}, device),
           .tokens = Tensor::from(tokens, {count, int64_t(longest)}, device),
           .bias_ids = Tensor::from(bias_ids, {count, int64_t(most_biased)}, device),
           .bias = Tensor::from(bias, {count, int64_t(most_biased)}, device),
           .mask = Tensor::from(mask, {count, words}, device)}};
}

/// Rows of every kind.
std::vector<Given> many_rows(int64_t v, size_t count) {
  Device::cpu().set_seed(11);
  std::vector<Given> rows(count);
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  for (size_t b = 0; b < count; b++) {
    Given& g = rows[b];
    g.logits = (randn({v}) * 3.0).to_vector<float>();
    const auto kind = b % 8;
    g.options.temperature = kind == 0 ? 0 : 0.3 + 0.1 * double(below(15));
    if (kind == 1 || kind >= 5) g.options.top_k = 1 + below(60);
    if (kind == 2 || kind >= 5) g.options.top_p = 0.3 + 0.05 * double(below(14));
    if (kind == 3 || kind >= 6) g.options.min_p = 0.01 * double(1 + below(20));
    if (b % 3 == 0) g.options.repetition_penalty = 0.8 + 0.1 * double(below(10));
    if (b % 3 == 1) g.options.frequency_penalty = 0.1 * double(below(9));
    if (b % 4 == 1) g.options.presence_penalty = -0.5 + 0.1 * double(below(20));
    for (int64_t t = below(300); t > 0; t--) g.tokens.push_back(below(std::min<int64_t>(v, 40)));
    for (int64_t n = below(9); n > 0; n--) g.bias[below(v)] = float(below(20) - 9);
    if (b % 2 == 0)
      for (int64_t i = 0; i < v; i++) g.allowed.push_back(below(3) > 0);
  }
  return rows;
}

class SampleRowsOn : public ::testing::TestWithParam<const char*> {
 protected:
  const Device device = Device::parse(GetParam());

#ifdef __SANITIZE_THREAD__
  void SetUp() override {
    if (!device.is_cpu()) GTEST_SKIP() << "takes the thread sanitizer minutes";
  }
#endif
};

TEST_P(SampleRowsOn, AreThoseOfTheDefinition) {
  for (const int64_t v : {1, 37, 2048, 5003}) {
    std::vector<Given> rows = many_rows(v, v > 5000 ? 40 : 16);
    for (Given& g : rows)
      if (!g.allowed.empty()) g.allowed[0] = true;
    const Batch batch = batch_of(rows, device);
    Ids expected;
    for (const Given& g : rows) expected.push_back(naive(g));
    EXPECT_EQ(sample(batch.logits, batch.rows).to_vector<int64>(), expected) << v;
  }
}

TEST_P(SampleRowsOn, MayHaveMoreLogitsThanABlockHolds) {
  std::vector<Given> rows = many_rows(262144 + 2048 + 5, 3);
  const Batch batch = batch_of(rows, device);
  Ids expected;
  for (const Given& g : rows) expected.push_back(naive(g));
  EXPECT_EQ(sample(batch.logits, batch.rows).to_vector<int64>(), expected);
}

TEST_P(SampleRowsOn, DependOnNoOther) {
  std::vector<Given> rows = many_rows(3001, 16);
  const Batch batch = batch_of(rows, device, DType::kBf16);
  const Ids together = sample(batch.logits, batch.rows).to_vector<int64>();
  for (int64_t b = 0; b < 16; b++) {
    const auto own = [b](const Tensor& x) { return narrow(x, 0, b, 1); };
    const SampleRows& r = batch.rows;
    const SampleRows alone{.settings = own(r.settings),
                           .state = own(r.state),
                           .tokens = own(r.tokens),
                           .bias_ids = own(r.bias_ids),
                           .bias = own(r.bias),
                           .mask = own(r.mask)};
    EXPECT_EQ(sample(own(batch.logits), alone).item<int64>(), together[size_t(b)]) << b;
  }
}

TEST_P(SampleRowsOn, OperandsThatAreLeftOutHaveNoEffect) {
  std::vector<Given> rows = many_rows(700, 16);
  for (Given& g : rows) g.tokens.clear(), g.bias.clear(), g.allowed.clear();
  const Batch batch = batch_of(rows, device);
  const SampleRows less{.settings = batch.rows.settings, .state = batch.rows.state};
  EXPECT_EQ(sample(batch.logits, less).to_vector<int64>(),
            sample(batch.logits, batch.rows).to_vector<int64>());
}

TEST_P(SampleRowsOn, AMaskForbidsWhateverTheLogitsAre) {
  // The forbidden ids have the largest logits, NaN and infinity among them, and a bias.
  std::vector<Given> rows;
  for (const SampleOptions& options :
       {SampleOptions{}, SampleOptions{.temperature = 0}, SampleOptions{.temperature = 5},
        SampleOptions{.top_k = 3}, SampleOptions{.top_p = 0.9}, SampleOptions{.min_p = 0.5}})
    for (int repeat = 0; repeat < 20; repeat++) {
      Given g{.logits = std::vector<float>(50, 0.f), .options = options};
      for (size_t id = 0; id < 50; id++) {
        g.allowed.push_back(id % 7 == 3);
        if (!g.allowed[id]) g.logits[id] = id % 3 == 0 ? NAN : id % 3 == 1 ? HUGE_VALF : 20.f;
      }
      g.bias = {{5, HUGE_VALF}, {6, 30.f}};
      rows.push_back(g);
    }
  const Batch batch = batch_of(rows, device);
  std::set<int64> drawn;
  for (const int64 id : sample(batch.logits, batch.rows).to_vector<int64>()) {
    EXPECT_EQ(id % 7, 3) << id;
    drawn.insert(id);
  }
  EXPECT_EQ(drawn.size(), 7u);
}

TEST_P(SampleRowsOn, SeedAndIndexSelectTheNumber) {
  // Over equal logits the id is the number's part of the unit interval.
  std::vector<Given> rows(40, Given{.logits = std::vector<float>(1000, 1.5f)});
  const Batch batch = batch_of(rows, device);
  const Ids ids = sample(batch.logits, batch.rows).to_vector<int64>();
  for (size_t b = 0; b < rows.size(); b++) EXPECT_EQ(ids[b], int64(rows[b].uniform * 1000)) << b;
  EXPECT_GT(std::set<int64>(ids.begin(), ids.end()).size(), 30u);
}

TEST_P(SampleRowsOn, UnusableLogitsAreMarkedOnlyIfAsked) {
  const float infinity = HUGE_VALF;
  std::vector<Given> rows;
  for (const float second : {1.f, NAN, infinity, -infinity})
    for (const float first : {0.f, -infinity})
      for (const double temperature : {0.0, 1.0})
        rows.push_back({.logits = {first, second}, .options = {.temperature = temperature}});
  Batch batch = batch_of(rows, device);
  for (const int64 id : sample(batch.logits, batch.rows).to_vector<int64>())
    EXPECT_TRUE(id == 0 || id == 1) << id;
  batch.rows.marks_unusable = true;
  const Ids ids = sample(batch.logits, batch.rows).to_vector<int64>();
  for (size_t b = 0; b < rows.size(); b++) {
    const std::vector<float>& x = rows[b].logits;
    const bool usable = std::isfinite(std::max(x[0], x[1])) && !std::isnan(x[1]);
    EXPECT_TRUE(usable ? ids[b] >= 0 : ids[b] == -1) << ids[b] << " of " << x[0] << " " << x[1];
  }
  batch.rows.mask = zeros({int64_t(rows.size()), 1}, {.dtype = DType::kI32, .device = device});
  const Ids masked = sample(batch.logits, batch.rows).to_vector<int64>();
  for (size_t b = 0; b < rows.size(); b++) EXPECT_EQ(masked[b], ids[b] < 0 ? -1 : -2) << b;
}

TEST_P(SampleRowsOn, SettingsOutOfRangeGiveSomeId) {
  const float nan = NAN, infinity = HUGE_VALF;
  std::vector<float> settings;
  for (const float odd : {nan, infinity, -infinity, -1.f, 2.f, 1e30f, 0.f})
    for (int column = 0; column < 7; column++) {
      std::vector<float> row = {1, 0, 1, 0, 1, 0, 0};
      row[size_t(column)] = odd;
      settings.insert(settings.end(), row.begin(), row.end());
    }
  const auto b = int64_t(settings.size() / 7);
  const Tensor ids = sample(
      randn({b, 100}).to(device),
      {.settings = Tensor::from(settings, {b, 7}, device),
       .state = Tensor::from(std::vector<int64>(size_t(3 * b), 99), {b, 3}, device),
       .tokens = Tensor::from(std::vector<int64>(size_t(4 * b), int64{-7}), {b, 4}, device),
       .bias_ids = Tensor::from(std::vector<int64>(size_t(b), int64{1} << 40), {b, 1}, device),
       .bias = zeros({b, 1}, {.device = device})});
  for (const int64 id : ids.to_vector<int64>()) EXPECT_TRUE(0 <= id && id < 100) << id;
}

TEST_P(SampleRowsOn, AGraphReplaysWithTheSettingsOfTheMoment) {
  if (device.is_cpu() || device.info().plain_allocation) GTEST_SKIP() << "captures no graph";
  const char* const allocator = getenv("WICK_ALLOC");
  if (allocator && allocator == std::string_view("plain"))
    GTEST_SKIP() << "graphs need the caching allocator";
  const NoGrad off;
  std::vector<Given> rows = many_rows(2500, 8);
  Batch batch = batch_of(rows, device);
  Var settings(zeros({8, 7}, {.device = device}), false);
  Var state(zeros({8, 3}, {.dtype = DType::kI64, .device = device}), false);
  copy_(state, batch.rows.state);
  SampleRows captured = batch.rows;
  captured.settings = settings.tensor(), captured.state = state.tensor();
  Var ids(zeros({8}, {.dtype = DType::kI64, .device = device}), false);
  const Graph graph = Graph::capture(device, [&] { copy_(ids, sample(batch.logits, captured)); });
  std::set<Ids> seen;
  for (const double temperature : {0.0, 0.5, 1.0, 3.0}) {
    std::vector<SampleOptions> options;
    for (const Given& g : rows) {
      options.push_back(g.options);
      options.back().temperature = temperature;
    }
    batch.rows.settings = sample_settings(options, device);
    copy_(settings, batch.rows.settings);
    graph.launch();
    const Ids expected = sample(batch.logits, batch.rows).to_vector<int64>();
    EXPECT_EQ(ids.tensor().to_vector<int64>(), expected) << temperature;
    seen.insert(expected);
  }
  const Tensor later = Tensor::from(std::vector<int64>{0, 1, 0}, device);
  batch.rows.state = batch.rows.state + later;
  add_(state, later);
  graph.launch();
  const Ids expected = sample(batch.logits, batch.rows).to_vector<int64>();
  EXPECT_EQ(ids.tensor().to_vector<int64>(), expected);
  seen.insert(expected);
  EXPECT_EQ(seen.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Devices, SampleRowsOn, ::testing::Values("cpu", "emu:32", "emu:64"));

TEST(Sample, OfNoRowsIsNothing) {
  EXPECT_EQ(sample(zeros({0, 5}), zeros({0})).shape(), (Shape{0}));
}

TEST(Sample, RejectsWhatDoesNotFit) {
  const Tensor logits = zeros({2, 3}), u = zeros({2});
  EXPECT_ERROR(sample(logits, u, {.temperature = -1}), kInvalidArgument,
               "sample: temperature: expected a number of at least 0, got -1");
  EXPECT_ERROR(sample(logits, u, {.temperature = NAN}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_k = -1}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = 0}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = 1.5}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = NAN}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(zeros({3}), u), kShapeMismatch, "sample: expected logits [B, V], got [3]");
  EXPECT_ERROR(sample(logits, zeros({3})), kShapeMismatch, "sample: ");
  EXPECT_ERROR(sample(zeros({2, 0}), u), kShapeMismatch, "sample: ");
  EXPECT_ERROR(sample(logits, zeros({2}, {.dtype = DType::kF64})), kDTypeMismatch,
               "sample: uniform: expected f32, got f64");
  EXPECT_ERROR(sample(cast(logits, DType::kI64), u), kDTypeMismatch, "sample: ");
  EXPECT_ERROR(sample({}, u), kInvalidArgument, "sample: an operand is an empty Tensor()");
  EXPECT_ERROR(sample(logits, u.to(Device::emulated(32))), kDeviceMismatch, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.min_p = 2}), kInvalidArgument,
               "sample: min_p: expected a number in [0, 1], got 2");
  EXPECT_ERROR(sample(logits, u, {.presence_penalty = 1}), kInvalidArgument,
               "sample: expected no penalty without tokens");
  const SampleRows good{.settings = sample_settings({{}, {}}),
                        .state = zeros({2, 3}, {.dtype = DType::kI64})};
  const auto with = [&](auto change) {
    SampleRows rows = good;
    change(rows);
    return sample(logits, rows);
  };
  EXPECT_EQ(with([](SampleRows&) {}).shape(), (Shape{2}));
  EXPECT_ERROR(with([](SampleRows& r) { r.settings = {}; }), kInvalidArgument, "sample: ");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.settings = zeros({2, 6});
               }),
               kShapeMismatch, "sample: settings: expected [2, 7], got [2, 6]");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.state = zeros({2, 3});
               }),
               kDTypeMismatch, "sample: state: expected i64, got f32");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.mask = zeros({2, 2}, {.dtype = DType::kU32});
               }),
               kShapeMismatch, "sample: mask: expected [2, 1], got [2, 2]");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.bias = zeros({2, 2});
               }),
               kInvalidArgument, "sample: expected bias and bias_ids together");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.bias = zeros({2, 2}), r.bias_ids = zeros({2, 3}, {.dtype = DType::kI64});
               }),
               kShapeMismatch, "sample: bias: expected [2, 3], got [2, 2]");
  EXPECT_ERROR(with([](SampleRows& r) {
                 r.tokens = zeros({3, 2}, {.dtype = DType::kI64});
               }),
               kShapeMismatch, "sample: tokens: expected [2, any], got [3, 2]");
}

}  // namespace
}  // namespace wick
