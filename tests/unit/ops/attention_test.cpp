#include "wick/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

bool near(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.numel() == 0 || cast(max(abs(a - b)), DType::kF32).item<float>() < 1e-5f);
}

TEST(Sdpa, OfOneKeyIsItsValue) {
  const Tensor v = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 1, 4});
  EXPECT_EQ(sdpa(randn({1, 2, 2, 4}), randn({1, 1, 1, 4}), v).to_vector<float>(),
            (Values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(Sdpa, WhatLiesBeyondAPositionDoesNotMatter) {
  const Tensor q = randn({1, 2, 1, 8}), k = randn({1, 1, 9, 8}), v = randn({1, 1, 9, 8});
  const SdpaOptions at{.is_causal = true, .positions = Tensor::from(Ids{4}, Shape{1, 1})};
  const Tensor cut = sdpa(q, narrow(k, 2, 0, 5), narrow(v, 2, 0, 5), at);
  const Tensor garbage = full({1, 1, 4, 8}, std::numeric_limits<double>::quiet_NaN());
  const Tensor whole = sdpa(q, cat({narrow(k, 2, 0, 5), garbage}, 2),
                            cat({narrow(v, 2, 0, 5), full({1, 1, 4, 8}, 1e30)}, 2), at);
  const Values expected = cut.to_vector<float>(), got = whole.to_vector<float>();
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(got[i], expected[i], 1e-6f);
}

TEST(Sdpa, WithoutKeysIsNothingAndStaysOnTheTape) {
  const Var q(ones({1, 2, 3, 4})), k(ones({1, 1, 0, 4}));
  const Tensor y = sdpa(q, k, k);
  EXPECT_EQ(y.to_vector<float>(), Values(24, 0.0f));
  backward(sum(y));
  EXPECT_EQ(q.grad().to_vector<float>(), Values(24, 0.0f));
  EXPECT_EQ(k.grad().shape(), (Shape{1, 1, 0, 4}));
}

TEST(Sdpa, SeesEveryKeyUnlessCausal) {
  const Tensor q = randn({2, 4, 3, 8}), k = randn({2, 2, 3, 8}), v = randn({2, 2, 3, 8});
  const Tensor at = Tensor::from(Ids{0, 1, 2, 0, 1, 2}, Shape{2, 3});
  EXPECT_EQ(sdpa(q, k, v, {.is_causal = true}).to_vector<float>(),
            sdpa(q, k, v, {.is_causal = true, .positions = at}).to_vector<float>());
  const Tensor last = full({2, 3}, 2, {.dtype = DType::kI64});
  EXPECT_EQ(sdpa(q, k, v).to_vector<float>(),
            sdpa(q, k, v, {.is_causal = true, .positions = last}).to_vector<float>());
}

TEST(Sdpa, AMaskHidesKeys) {
  const Var q(randn({2, 4, 3, 8})), k(randn({2, 2, 5, 8}));
  const Tensor v = randn({2, 2, 5, 8});
  // Of keys at 0 to 4 a query at t sees those up to t: as is_causal has it.
  const Tensor seen = tril(ones({3, 5}, {.dtype = DType::kBool}));
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = seen}), sdpa(q, k, v, {.is_causal = true})));
  const Tensor bias = masked_fill(zeros({3, 5}), logical_not(seen), -INFINITY);
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = bias}), sdpa(q, k, v, {.is_causal = true})));
  // Both at once: what both let through.
  const Tensor first = Tensor::from(Values{0, -INFINITY, -INFINITY, -INFINITY, -INFINITY});
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = first, .is_causal = true}),
                   sdpa(q, narrow(k.tensor(), 2, 0, 1), narrow(v, 2, 0, 1))));
}

TEST(Sdpa, AQueryThatSeesNoKeyIsNothingAndHasNoGradient) {
  const Var q(randn({1, 2, 3, 4})), k(randn({1, 1, 5, 4}));
  const Tensor y = sdpa(q, k, k, {.mask = zeros({}, {.dtype = DType::kBool})});
  EXPECT_EQ(y.to_vector<float>(), Values(24, 0.0f));
  backward(sum(y));
  EXPECT_EQ(q.grad().to_vector<float>(), Values(24, 0.0f));
  EXPECT_EQ(k.grad().to_vector<float>(), Values(20, 0.0f));
}

/// Whether a query at `position` attends to `key` in a window.
bool in_window(int64 key, int64 position, int64 window) {
  return key <= position && key > position - window;
}

// Of few queries, of many, and of those whose window lies beyond the keys: the same as under a mask.
TEST(Sdpa, AWindowHidesOlderKeys) {
  struct Case {
    int64 queries, keys, window, first;
  };
  for (const auto& [t, s, window, first] :
       {Case{1, 5, 2, 3}, Case{2, 200, 70, 150}, Case{90, 200, 17, 60}, Case{200, 200, 65, 0},
        Case{3, 8, 4, 9}, Case{40, 8, INT64_MAX, 0}}) {
    const Var q(randn({2, 4, t, 16})), k(randn({2, 2, s, 16})), v(randn({2, 2, s, 16}));
    std::vector<int64> at;
    std::vector<float> seen;
    for (int64 i = 0; i < t; i++) {
      at.push_back(first + i);
      for (int64 key = 0; key < s; key++) seen.push_back(in_window(key, first + i, window));
    }
    const Tensor positions = broadcast_to(Tensor::from(at), {2, t});
    const SdpaOptions options{.is_causal = true, .positions = positions, .window = window};
    const Tensor mask = ne(Tensor::from(seen, {t, s}), 0.0);
    const Tensor y = sdpa(q, k, v, options), under_mask = sdpa(q, k, v, {.mask = mask});
    EXPECT_TRUE(near(y, under_mask)) << t << " queries, " << s << " keys";
    const Tensor upstream = randn(y.shape());
    std::vector<Tensor> gradients;
    for (const Tensor& result : {y, under_mask}) {
      backward(result, {.seed = upstream});
      for (const Var* x : {&q, &k, &v}) {
        gradients.push_back(x->grad());
        x->zero_grad();
      }
    }
    for (size_t i = 0; i < 3; i++)
      EXPECT_TRUE(near(gradients[i], gradients[i + 3])) << t << " queries, operand " << i;
  }
}

TEST(Sdpa, ASoftCapBoundsScores) {
  // One query, two keys with scores of 3 and -1 before the cap.
  const Tensor q = Tensor::from(Values{1}, {1, 1, 1, 1}),
               k = Tensor::from(Values{3, -1}, {1, 1, 2, 1}),
               v = Tensor::from(Values{1, 0}, {1, 1, 2, 1});
  const double difference = 2 * std::tanh(3 / 2.0) - 2 * std::tanh(-1 / 2.0);
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    EXPECT_NEAR(sdpa(q, k, v, {.scale = 1, .soft_cap = 2}).item<float>(),
                1 / (1 + std::exp(-difference)), 1e-6);
  }
}

TEST(Sdpa, RejectsWindowsAndCapsThatMakeNoSense) {
  const Tensor q = zeros({1, 1, 2, 4});
  EXPECT_ERROR(sdpa(q, q, q, {.window = 2}), kInvalidArgument,
               "sdpa: expected is_causal with a window");
  EXPECT_ERROR(sdpa(q, q, q, {.is_causal = true, .window = -2}), kInvalidArgument,
               "sdpa: expected a window and a soft cap of at least 0, got -2 and 0");
  EXPECT_ERROR(sdpa(q, q, q, {.soft_cap = -1}), kInvalidArgument, "sdpa: ");
}

// A sink is a key whose score is given and whose value is 0: with a score of q k beside it.
TEST(Sdpa, ASinkTakesPartInTheSoftmaxOfItsHead) {
  const Tensor q = Tensor::from(Values{1, 1}, {1, 2, 1, 1}),
               k = Tensor::from(Values{3, -1}, {1, 1, 2, 1}),
               v = Tensor::from(Values{1, 2}, {1, 1, 2, 1}), sinks = Tensor::from(Values{2, -40});
  const double a = std::exp(3.0), b = std::exp(-1.0);
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    const Values y = sdpa(q, k, v, {.scale = 1, .sinks = sinks}).to_vector<float>();
    EXPECT_NEAR(y[0], (a + 2 * b) / (a + b + std::exp(2.0)), 1e-6);
    EXPECT_NEAR(y[1], (a + 2 * b) / (a + b), 1e-6);
  }
}

// Sinks far above and far below all scores, of queries that see no key, and of none at all.
TEST(Sdpa, ASinkOfAnySizeIsRight) {
  const Device devices[] = {Device::cpu(), Device::emulated(32), Device::emulated(64)};
  for (const Device& device : devices)
    for (const DType dtype : {DType::kF32, DType::kF16})
      for (const int64 queries : {1, 3, 70}) {
        const TensorOptions options{.device = device};
        const Var q(cast(randn({1, 3, queries, 16}, options), dtype)),
            k(cast(randn({1, 1, 150, 16}, options), dtype)),
            sinks(Tensor::from(Values{1000, -1000, -INFINITY}, {3}, device));
        const Tensor free = sdpa(q, k, k), y = sdpa(q, k, k, {.sinks = sinks});
        EXPECT_TRUE(near(narrow(y, 1, 0, 1), narrow(zeros(y.shape(), options), 1, 0, 1)));
        EXPECT_TRUE(near(narrow(y, 1, 1, 2), narrow(free, 1, 1, 2)));
        backward(sum(y));
        EXPECT_TRUE(near(sinks.grad(), zeros({3}, options)));
        EXPECT_TRUE(near(narrow(q.grad(), 1, 0, 1), zeros({1, 1, queries, 16}, options)));
        const Tensor unseen = zeros({}, {.dtype = DType::kBool, .device = device});
        EXPECT_TRUE(
            near(sdpa(q, k, k, {.mask = unseen, .sinks = sinks}), zeros(y.shape(), options)));
      }
}

// The gradient by kernels beside the composite's.
TEST(Sdpa, SinksHaveAGradient) {
  const Var q(randn({2, 4, 5, 8})), k(randn({2, 2, 7, 8})), v(randn({2, 2, 7, 8})),
      sinks(randn({4}));
  const Tensor upstream = randn({2, 4, 5, 8});
  std::vector<Tensor> gradients;
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    backward(sdpa(q, k, v, {.is_causal = true, .window = 3, .sinks = sinks}), {.seed = upstream});
    for (const Var* x : {&q, &k, &v, &sinks}) {
      gradients.push_back(x->grad());
      x->zero_grad();
    }
  }
  for (size_t i = 0; i < 4; i++)
    EXPECT_TRUE(near(gradients[i], gradients[i + 4])) << "operand " << i;
  EXPECT_GT(max(abs(gradients[3])).item<float>(), 1e-3f);
}

/// The gradients of these, which backward leaves, and clears.
std::vector<Tensor> taken_gradients(std::initializer_list<const Var*> vars) {
  std::vector<Tensor> gradients;
  for (const Var* x : vars) {
    gradients.push_back(x->grad());
    x->zero_grad();
  }
  return gradients;
}

// The gradient by kernels beside the composite's: with all that limits keys beside the mask.
TEST(Sdpa, AMaskChangesTheGradientAsItChangesTheResult) {
  const Var q(randn({2, 4, 5, 8})), k(randn({2, 2, 7, 8})), v(randn({2, 2, 7, 8})),
      sinks(randn({4}));
  const Tensor upstream = randn({2, 4, 5, 8}), lengths = Tensor::from(Ids{4, 6});
  const Tensor seen = gt(randn({2, 1, 5, 7}), 0.0);
  const Tensor hidden = masked_fill(randn({4, 5, 7}), gt(randn({4, 5, 7}), 0.5), -INFINITY);
  const SdpaOptions cases[] = {
      {.mask = seen},
      {.mask = hidden, .sinks = sinks},
      {.mask = hidden, .is_causal = true, .window = 3, .soft_cap = 2},
      {.mask = seen, .lengths = lengths},
      {.mask = hidden, .is_causal = true, .window = 3, .lengths = lengths, .sinks = sinks}};
  for (const SdpaOptions& options : cases) {
    std::vector<Tensor> gradients[2];
    for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
      const CompositeScope scope(mode);
      backward(sdpa(q, k, v, options), {.seed = upstream});
      gradients[mode == CompositeMode::kAlways] =
          options.sinks ? taken_gradients({&q, &k, &v, &sinks}) : taken_gradients({&q, &k, &v});
    }
    for (size_t i = 0; i < gradients[0].size(); i++)
      EXPECT_TRUE(near(gradients[0][i], gradients[1][i]))
          << "case " << &options - cases << ", operand " << i;
  }
}

TEST(Sdpa, AMaskThatHasAGradientLeavesTheOthersTheirs) {
  const Var q(randn({2, 4, 5, 8})), k(randn({2, 2, 7, 8})), v(randn({2, 2, 7, 8})),
      mask(randn({4, 5, 7}));
  const Tensor upstream = randn({2, 4, 5, 8});
  backward(sdpa(q, k, v, {.mask = mask}), {.seed = upstream});
  EXPECT_GT(max(abs(mask.grad())).item<float>(), 1e-3f);
  const std::vector<Tensor> all = taken_gradients({&q, &k, &v});
  backward(sdpa(q, k, v, {.mask = mask.tensor()}), {.seed = upstream});
  const std::vector<Tensor> others = taken_gradients({&q, &k, &v});
  for (size_t i = 0; i < 3; i++) EXPECT_TRUE(near(all[i], others[i])) << "operand " << i;
}

// On plain kernels and on matrix units, which take 64 queries at a time.
TEST(Sdpa, AQueryThatAMaskHidesHasNoGradient) {
  const int64 t = 70, hidden = 3;  // of t queries every third
  std::vector<float> numbers;
  for (int64 i = 0; i < t; i++) numbers.push_back(i % hidden ? 0.0f : -INFINITY);
  for (const Device& device : {Device::cpu(), Device::emulated(32), Device::emulated(64)})
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16})
      for (const bool has_sinks : {false, true}) {
        const TensorOptions options{.device = device};
        const Tensor mask = Tensor::from(numbers, {t, 1}, device);
        const Var q(cast(randn({1, 2, t, 16}, options), dtype)),
            k(cast(randn({1, 1, 40, 16}, options), dtype));
        const Tensor y =
            sdpa(q, k, k, {.mask = mask, .sinks = has_sinks ? zeros({2}, options) : Tensor()});
        backward(y, {.seed = ones(y.shape(), {.dtype = dtype, .device = device})});
        const Tensor all = cast(q.grad(), DType::kF32);
        const Tensor expected = where(eq(mask, 0.0), all, 0.0);
        EXPECT_TRUE(near(all, expected));
        EXPECT_TRUE(isfinite(sum(abs(cast(k.grad(), DType::kF32)))).item<bool>());
        EXPECT_GT(sum(abs(all)).item<float>(), 0.1f);
      }
}

// Zeros after v, and after q and k, change nothing but the size.
TEST(Sdpa, ValuesMayHaveAnotherSize) {
  struct Sizes {
    int64 d, dv;
  };
  for (const auto& [d, dv] : {Sizes{24, 16}, Sizes{16, 24}}) {
    const int64 most = std::max(d, dv);
    const auto widened = [&](const Tensor& x) {
      return cat({x, zeros({x.size(0), x.size(1), x.size(2), most - x.size(3)})}, 3);
    };
    const Var q(randn({2, 4, 9, d})), k(randn({2, 2, 20, d})), v(randn({2, 2, 20, dv}));
    const SdpaOptions options{.is_causal = true, .scale = 0.2};
    const Tensor y = sdpa(q, k, v, options);
    EXPECT_EQ(y.shape(), (Shape{2, 4, 9, dv}));
    const Tensor wide = narrow(sdpa(widened(q), widened(k), widened(v), options), 3, 0, dv);
    EXPECT_TRUE(near(y, wide));
    const Tensor upstream = randn(y.shape());
    std::vector<Tensor> gradients;
    for (const Tensor& result : {y, wide}) {
      backward(result, {.seed = upstream});
      for (const Var* x : {&q, &k, &v}) {
        gradients.push_back(x->grad());
        x->zero_grad();
      }
    }
    for (size_t i = 0; i < 3; i++)
      EXPECT_TRUE(near(gradients[i], gradients[i + 3])) << "operand " << i;
  }
}

TEST(Sdpa, LengthsHideTheKeysBeyond) {
  const Tensor q = randn({3, 4, 6, 8}), k = randn({3, 2, 9, 8}), v = randn({3, 2, 9, 8});
  const std::vector<int64> lengths = {4, 0, 12};
  for (const bool is_causal : {false, true})
    for (const int64 window : {0, 3}) {
      if (window > 0 && !is_causal) continue;
      const Tensor y = sdpa(q, k, v,
                            {.is_causal = is_causal,
                             .window = window,
                             .lengths = cast(Tensor::from(lengths), DType::kI32)});
      for (int64 b = 0; b < 3; b++) {
        const int64 length = std::min<int64>(lengths[size_t(b)], 9);
        const auto of = [&](const Tensor& x) { return narrow(x, 0, b, 1); };
        const Tensor one = sdpa(of(q), narrow(of(k), 2, 0, length), narrow(of(v), 2, 0, length),
                                {.is_causal = is_causal, .window = window});
        EXPECT_TRUE(near(of(y), one)) << "batch " << b;
      }
    }
}

/// Keys and values [2, 2, 8, 8] in blocks of 4 of a pool of 5, of which one is not used.
struct InBlocks {
  Tensor k = randn({2, 2, 8, 8}), v = randn({2, 2, 8, 8});
  Tensor blocks = Tensor::from(Ids{3, 1, 0, 4}, Shape{2, 2});
  Tensor pool(const Tensor& x, double unused = std::nan("")) const {
    std::vector<Tensor> parts(5, full({1, 2, 4, 8}, unused));
    const Ids ids = blocks.to_vector<int64>();
    for (size_t i = 0; i < 4; i++)
      parts[size_t(ids[i])] = narrow(narrow(x, 0, int64(i) / 2, 1), 2, int64(i) % 2 * 4, 4);
    return cat(parts, 2);
  }
};

TEST(Sdpa, ReadsKeysInBlocksOfAPool) {
  const InBlocks x;
  const Tensor q = randn({2, 4, 3, 8});
  for (const SdpaOptions& o : {SdpaOptions{},
                               {.is_causal = true},
                               {.is_causal = true, .window = 2},
                               {.lengths = Tensor::from(Ids{5, 0})},
                               {.is_causal = true, .window = 2, .lengths = Tensor::from(Ids{5, 2})},
                               {.mask = randn({4, 3, 8})}}) {
    SdpaOptions in_blocks = o;
    in_blocks.blocks = x.blocks, in_blocks.block_size = 4;
    EXPECT_TRUE(near(sdpa(q, x.pool(x.k), x.pool(x.v), in_blocks), sdpa(q, x.k, x.v, o)));
    in_blocks.blocks = cast(x.blocks, DType::kI32);
    EXPECT_TRUE(near(sdpa(q, x.pool(x.k), x.pool(x.v), in_blocks), sdpa(q, x.k, x.v, o)));
  }
}

TEST(Sdpa, KeysInBlocksHaveAGradient) {
  const InBlocks x;
  const Tensor q = randn({2, 4, 3, 8});
  const Var rows(x.k), pool(x.pool(x.k, 0));
  backward(sum(square(sdpa(q, rows, x.v))));
  backward(sum(square(sdpa(q, pool, x.pool(x.v, 0), {.blocks = x.blocks, .block_size = 4}))));
  EXPECT_TRUE(near(pool.grad(), x.pool(rows.grad(), 0)));
}

TEST(Sdpa, IdsOutsideOfThePoolStandForBlock0) {
  const InBlocks x;
  const Tensor q = randn({2, 4, 3, 8}), k = x.pool(x.k), v = x.pool(x.v);
  const Tensor wild = Tensor::from(Ids{3, 1, -7, int64(1) << 40}, Shape{2, 2}),
               tame = Tensor::from(Ids{3, 1, 0, 0}, Shape{2, 2});
  for (const char* name : {"cpu", "emu:32", "emu:64"}) {
    const Device device = Device::parse(name);
    const auto result = [&](const Tensor& blocks) {
      return sdpa(q.to(device), k.to(device), v.to(device),
                  {.blocks = blocks.to(device), .block_size = 4})
          .to_vector<float>();
    };
    EXPECT_EQ(result(wild), result(tame)) << name;
  }
}

TEST(Sdpa, RejectsBlocksThatDoNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({1, 2, 12, 8}),
               blocks = zeros({2, 2}, {.dtype = DType::kI64});
  EXPECT_ERROR(sdpa(q, k, k, {.blocks = blocks, .block_size = 6}), kInvalidArgument,
               "sdpa: expected a block_size that is a power of two, got 6");
  EXPECT_ERROR(sdpa(q, k, k, {.blocks = blocks}), kInvalidArgument, "got 0");
  EXPECT_ERROR(sdpa(q, k, k, {.blocks = narrow(blocks, 0, 0, 1), .block_size = 4}), kShapeMismatch,
               "sdpa: expected blocks [2, N], got [1, 2]");
  EXPECT_ERROR(sdpa(q, k, k, {.blocks = zeros({2, 2}), .block_size = 4}), kDTypeMismatch,
               "sdpa: expected blocks of integers, got f32");
  EXPECT_ERROR(sdpa(q, k, k, {.blocks = blocks, .block_size = 16}), kShapeMismatch,
               "expected at least one block of 16 rows in the pool");
  EXPECT_ERROR(sdpa(q, zeros({2, 2, 12, 8}), k, {.blocks = blocks, .block_size = 4}),
               kShapeMismatch, "sdpa: expected k [1, G, S, D]");
}

TEST(Sdpa, RejectsSinksAndLengthsThatDoNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  EXPECT_ERROR(sdpa(q, k, k, {.sinks = zeros({2})}), kShapeMismatch,
               "sdpa: expected sinks [4], one of each head of q, got [2]");
  EXPECT_ERROR(sdpa(q, k, k, {.sinks = zeros({4}, {.dtype = DType::kI32})}), kDTypeMismatch,
               "sdpa: expected sinks of a floating dtype, got i32");
  EXPECT_ERROR(sdpa(q, k, k, {.sinks = zeros({4}, {.device = Device::emulated(32)})}),
               kDeviceMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, k, {.lengths = zeros({4}, {.dtype = DType::kI64})}), kShapeMismatch,
               "sdpa: expected lengths [2], one of each batch, got [4]");
  EXPECT_ERROR(sdpa(q, k, k, {.lengths = zeros({2})}), kDTypeMismatch,
               "sdpa: expected lengths of integers, got f32");
}

/// sdpa of each sequence by itself. Causal queries are at their distance from the last key.
Tensor sequence_by_sequence(const Tensor& q, const Tensor& k, const Tensor& v,
                            const std::vector<int64>& q_offsets,
                            const std::vector<int64>& k_offsets, const SdpaVarlenOptions& options) {
  const auto part = [](const Tensor& x, int64 begin, int64 end) {
    return unsqueeze(transpose(narrow(x, 0, begin, end - begin), 0, 1), 0);
  };
  std::vector<Tensor> parts;
  for (size_t i = 0; i + 1 < q_offsets.size(); i++) {
    const int64 t = q_offsets[i + 1] - q_offsets[i], s = k_offsets[i + 1] - k_offsets[i];
    SdpaOptions each{.is_causal = options.is_causal,
                     .window = options.window,
                     .soft_cap = options.soft_cap,
                     .sinks = options.sinks};
    if (options.is_causal)
      each.positions = reshape(arange(t, {.dtype = DType::kI64}) + (s - t), {1, t});
    const Tensor y =
        sdpa(part(q, q_offsets[i], q_offsets[i + 1]), part(k, k_offsets[i], k_offsets[i + 1]),
             part(v, k_offsets[i], k_offsets[i + 1]), each);
    parts.push_back(transpose(squeeze(y, 0), 0, 1));
  }
  return cat(parts, 0);
}

TEST(SdpaVarlen, AttendsWithinEachSequence) {
  const std::vector<int64> q_offsets = {0, 5, 5, 75, 90}, k_offsets = {0, 9, 12, 82, 82};
  const Tensor q_starts = Tensor::from(q_offsets),
               k_starts = cast(Tensor::from(k_offsets), DType::kI32);
  const Var q(randn({90, 4, 16})), k(randn({82, 2, 16})), v(randn({82, 2, 16})), sinks(randn({4}));
  const Tensor upstream = randn({90, 4, 16});
  for (const SdpaVarlenOptions& options :
       {SdpaVarlenOptions{}, SdpaVarlenOptions{.is_causal = true},
        SdpaVarlenOptions{.is_causal = true, .window = 7, .soft_cap = 3, .sinks = sinks},
        SdpaVarlenOptions{.sinks = sinks}}) {
    const Tensor y = sdpa_varlen(q, k, v, q_starts, k_starts, options),
                 each = sequence_by_sequence(q, k, v, q_offsets, k_offsets, options);
    EXPECT_TRUE(y.is_contiguous());
    EXPECT_TRUE(near(y, each));
    std::vector<Tensor> gradients;
    for (const Tensor& result : {y, each}) {
      backward(result, {.seed = upstream});
      for (const Var* x : {&q, &k, &v, &sinks}) {
        gradients.push_back(x->grad() ? x->grad() : zeros(x->shape()));
        x->zero_grad();
      }
    }
    for (size_t i = 0; i < 4; i++)
      EXPECT_TRUE(near(gradients[i], gradients[i + 4])) << "operand " << i;
  }
}

TEST(SdpaVarlen, TokensBeyondTheLastSequenceDoNotMatter) {
  const auto offsets = [](std::vector<int64> x) { return Tensor::from(std::move(x)); };
  const Tensor q = randn({6, 2, 8}), k = randn({7, 1, 8}), v = randn({7, 1, 8});
  for (const bool is_causal : {false, true}) {
    const SdpaVarlenOptions options{.is_causal = is_causal};
    const Tensor y = sdpa_varlen(q, k, v, offsets({0, 1, 4}), offsets({0, 2, 5}), options);
    EXPECT_TRUE(near(narrow(y, 0, 0, 4),
                     sdpa_varlen(narrow(q, 0, 0, 4), narrow(k, 0, 0, 5), narrow(v, 0, 0, 5),
                                 offsets({0, 1, 4}), offsets({0, 2, 5}), options)));
    EXPECT_TRUE(near(narrow(y, 0, 4, 2), zeros({2, 2, 8})));
  }
}

TEST(SdpaVarlen, RejectsWhatDoesNotFit) {
  const Tensor q = zeros({6, 4, 8}), k = zeros({7, 2, 8}),
               offsets = zeros({3}, {.dtype = DType::kI64});
  EXPECT_ERROR(sdpa_varlen(unsqueeze(q, 0), k, k, offsets, offsets), kShapeMismatch,
               "sdpa_varlen: expected q [N, H, D], k [M, G, D] and v [M, G, Dv], got [1, 6, 4, 8]");
  EXPECT_ERROR(sdpa_varlen(q, zeros({7, 3, 8}), zeros({7, 3, 8}), offsets, offsets), kShapeMismatch,
               "sdpa_varlen: expected k [M, G, D] and v [M, G, Dv] with D");
  EXPECT_ERROR(sdpa_varlen(q, k, k, zeros({2, 3}, {.dtype = DType::kI64}), offsets), kShapeMismatch,
               "sdpa_varlen: expected q_offsets [B + 1] of at least one sequence");
  EXPECT_ERROR(sdpa_varlen(q, k, k, offsets, zeros({1}, {.dtype = DType::kI64})), kShapeMismatch,
               "sdpa_varlen: expected k_offsets [B + 1] of at least one sequence, got [1]");
  EXPECT_ERROR(
      sdpa_varlen(q, k, k, offsets, zeros({2}, {.dtype = DType::kI64})), kShapeMismatch,
      "sdpa_varlen: expected q_offsets and k_offsets of as many sequences, got [3] and [2]");
  EXPECT_ERROR(sdpa_varlen(q, k, k, zeros({3}), offsets), kDTypeMismatch,
               "sdpa_varlen: expected q_offsets of integers, got f32");
  EXPECT_ERROR(sdpa_varlen(q, k, k, offsets, offsets, {.window = 2}), kInvalidArgument,
               "sdpa_varlen: expected is_causal with a window");
  EXPECT_ERROR(sdpa_varlen(q, k, k, offsets, {}), kInvalidArgument, "sdpa_varlen: ");
}

TEST(Sdpa, RejectsMasksThatDoNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 4})}), kShapeMismatch,
               "sdpa: expected a mask that broadcasts to [2, 4, 3, 5], got [3, 4]");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({1, 2, 4, 3, 5})}), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.dtype = DType::kI32})}), kDTypeMismatch,
               "sdpa: expected a mask of bool or floating, got i32");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.device = Device::emulated(32)})}),
               kDeviceMismatch, "sdpa: ");
}

TEST(Sdpa, RejectsWhatDoesNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  const auto at = [](const Tensor& positions) {
    return SdpaOptions{.is_causal = true, .positions = positions};
  };
  EXPECT_ERROR(
      sdpa(q, zeros({2, 3, 5, 8}), zeros({2, 3, 5, 8})), kShapeMismatch,
      "sdpa: expected k [B, G, S, D] and v [B, G, S, Dv] with B and D of q and G a divisor");
  EXPECT_ERROR(sdpa(q, zeros({2, 0, 5, 8}), zeros({2, 0, 5, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({1, 2, 5, 8}), zeros({1, 2, 5, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({2, 2, 5, 4}), zeros({2, 2, 5, 4})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 2, 6, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 5, 8})), kShapeMismatch,
               "sdpa: expected [B, H, T, D], got [2, 5, 8]");
  EXPECT_ERROR(sdpa(q, k, k, at(zeros({2, 5}, {.dtype = DType::kI64}))), kShapeMismatch,
               "sdpa: expected positions [2, 3], got [2, 5]");
  EXPECT_ERROR(sdpa(q, k, k, at(zeros({2, 3}))), kDTypeMismatch,
               "sdpa: expected positions of integers, got f32");
  EXPECT_ERROR(sdpa(q, cast(k, DType::kF16), k), kDTypeMismatch,
               "sdpa: expected q, and k and v of one dtype, all floating, or k and v of i8 with "
               "scales, got f32, f16 and f32");
  EXPECT_ERROR(sdpa(q, cast(k, DType::kI8), cast(k, DType::kI8)), kDTypeMismatch,
               "sdpa: expected q, and k and v of one dtype, all floating, or k and v of i8 with "
               "scales, got f32, i8 and i8");
  EXPECT_ERROR(sdpa(q, k, k, {.key_scales = k}), kInvalidArgument,
               "sdpa: expected key_scales and value_scales, or neither");
  EXPECT_ERROR(sdpa(q, cast(k, DType::kI8), cast(k, DType::kI8),
                    {.key_scales = cast(k, DType::kF16), .value_scales = cast(k, DType::kF16)}),
               kShapeMismatch, "a multiple of 32 elements a head, got [2, 2, 5, 8]");
  const Tensor wide = zeros({2, 4, 3, 64}), codes = zeros({2, 2, 5, 64}, {.dtype = DType::kI8});
  const Tensor scales = zeros({2, 2, 5, 2}, {.dtype = DType::kF16});
  EXPECT_ERROR(
      sdpa(wide, codes, codes, {.key_scales = scales, .value_scales = narrow(scales, 3, 0, 1)}),
      kShapeMismatch, "sdpa: expected value_scales [2, 2, 5, 2] of f16, got [2, 2, 5, 1] of f16");
  EXPECT_ERROR(
      sdpa(wide, codes, codes, {.key_scales = cast(scales, DType::kF32), .value_scales = scales}),
      kDTypeMismatch, "sdpa: expected key_scales [2, 2, 5, 2] of f16");
  EXPECT_ERROR(sdpa(q, k, {}), kInvalidArgument, "sdpa: an operand is an empty Tensor()");
  EXPECT_ERROR(sdpa(q, k, k, {.positions = zeros({2, 3}, {.dtype = DType::kI64})}),
               kInvalidArgument, "sdpa: expected is_causal with positions");
  EXPECT_ERROR(sdpa(q, k.to(Device::emulated(32)), k), kDeviceMismatch, "sdpa: ");
}

}  // namespace
}  // namespace wick
