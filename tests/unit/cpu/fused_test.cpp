// What the conformance runner does not see of fused ops: threads, ids out of range, what is never
// read, how keys are split.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "rig.h"
#include "scalar/compare.h"
#include "wick/abi/ops/attention.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/loss.h"
#include "wick/abi/ops/norm.h"
#include "wick/abi/ops/rope.h"
#include "wick/abi/ops/sample.h"
#include "wick/abi/ops/softmax.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::expect_same_bits;
using test::find;
using test::Launch;
using test::wave;

constexpr DType kF32 = DType::kF32, kI64 = DType::kI64;

Array waves(std::vector<int64> shape) { return Array(kF32, shape).fill<float>(wave); }

TEST(CpuFused, ThreadsChangeNoBitOfRows) {
  const Array x = waves({700, 150}), weight = waves({150}), y(kF32, {700, 150}), r(kF32, {700}),
              mean(kF32, {700}), loss(kF32, {700});
  const Array targets = Array(kI64, {700}).fill<int64>([](size_t i) { return i % 150; });
  const RmsNormAttributes eps{1e-5};
  const LayerNormAttributes with_bias{1e-5, true};
  for (const Isa isa : test::isas()) {
    Launch softmax({&x}, y);
    expect_same_bits(softmax, *find(isa, kSoftmax, {kF32, kF32}, 1).first, {&y});
    Launch norm({&x, &weight}, {&y, &r}, &eps);
    expect_same_bits(norm, *find(isa, kRmsNorm, {kF32, kF32, kF32, kF32}, 2).first, {&y, &r});
    Launch layer({&x, &weight, &weight}, {&y, &mean, &r}, &with_bias);
    expect_same_bits(layer, *find(isa, kLayerNorm, {kF32, kF32, kF32, kF32, kF32, kF32}, 3).first,
                     {&y, &mean, &r});
    Launch entropy({&x, &targets}, {&loss, &r});
    expect_same_bits(entropy, *find(isa, kCrossEntropy, {kF32, kI64, kF32, kF32}, 2).first,
                     {&loss, &r});
  }
}

/// Operands of sdpa, and of its gradient.
struct Attention {
  Attention(int64 B, int64 H, int64 G, int64 T, int64 S, int64 D)
      : q(waves({B, H, T, D})),
        k(waves({B, G, S, D})),
        v(waves({B, G, S, D})),
        gy(waves({B, H, T, D})),
        positions(kI64, {B, T}),
        y(kF32, {B, H, T, D}),
        l(kF32, {B, H, T}),
        gq(kF32, {B, H, T, D}),
        gk(kF32, {B, G, S, D}),
        gv(kF32, {B, G, S, D}) {
    positions.fill<int64>([&](size_t i) { return int64(i) % T + S - T; });
  }
  Status forward(Isa isa) { return forward()->run(forward_row(isa)); }
  const Kernel& forward_row(Isa isa) const {
    return *find(isa, kSdpa, {kF32, kF32, kF32, kI64, kI64, kF32, kF32, kF32}, 6).first;
  }
  const Kernel& gradient_row(Isa isa) const {
    return *find(isa, kSdpaGradient,
                 {kF32, kF32, kF32, kF32, kI64, kF32, kF32, kI64, kF32, kF32, kF32}, 8)
                .first;
  }
  /// Without first keys and sinks.
  std::unique_ptr<Launch> forward() {
    return std::make_unique<Launch>(
        std::initializer_list<const Array*>{&q, &k, &v, &positions, &positions, &l},
        std::initializer_list<const Array*>{&y, &l}, &attributes);
  }
  std::unique_ptr<Launch> gradient() {
    return std::make_unique<Launch>(
        std::initializer_list<const Array*>{&gy, &q, &k, &v, &positions, &y, &l, &positions},
        std::initializer_list<const Array*>{&gq, &gk, &gv}, &attributes);
  }
  Array q, k, v, gy, positions, y, l, gq, gk, gv;
  SdpaAttributes attributes{.scale = 0.25, .soft_cap = 0, .window = 0, .causal = 1};
};

TEST(CpuAttention, ThreadsChangeNoBit) {
  for (const Isa isa : test::isas()) {
    // Many heads; one head whose keys are split; few queries, many keys.
    for (Attention a : {Attention(2, 4, 2, 90, 90, 32), Attention(1, 1, 1, 200, 300, 40),
                        Attention(1, 8, 4, 1, 900, 64)}) {
      expect_same_bits(*a.forward(), a.forward_row(isa), {&a.y, &a.l});
      expect_same_bits(*a.gradient(), a.gradient_row(isa), {&a.gq, &a.gk, &a.gv});
    }
  }
}

TEST(CpuAttention, KeysThatNoQuerySeesAreNotRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : test::isas())
    for (const int64 T : {1, 3, 40}) {
      Attention a(1, 2, 2, T, 150, 24);
      a.positions.fill<int64>([](size_t i) { return int64(i); });
      for (Array* x : {&a.k, &a.v})
        x->fill<float>([&](size_t i) { return int64(i) / 24 % 150 < T ? float(wave(i)) : nan; });
      ASSERT_TRUE(a.forward(isa).ok());
      ASSERT_TRUE(a.gradient()->run(a.gradient_row(isa)).ok());
      for (const Array* out : {&a.y, &a.l, &a.gq}) {
        for (size_t i = 0; i < out->bytes().size() / 4; i++)
          ASSERT_TRUE(std::isfinite(out->data<float>()[i])) << kIsaNames[int(isa)] << " " << i;
      }
      for (const Array* out : {&a.gk, &a.gv})
        for (size_t i = 0; i < out->bytes().size() / 4; i++) {
          ASSERT_TRUE(std::isfinite(out->data<float>()[i]));
          if (int64(i) / 24 % 150 >= T) {
            ASSERT_EQ(out->data<float>()[i], 0) << i;
          }
        }
    }
}

TEST(CpuAttention, AQueryThatSeesNoKeyGivesZero) {
  for (const Isa isa : test::isas())
    for (const int64 T : {2, 40}) {
      Attention a(1, 1, 1, T, 70, 16);
      a.positions.fill<int64>([](size_t i) { return int64(i) - 1; });
      ASSERT_TRUE(a.forward(isa).ok());
      ASSERT_TRUE(a.gradient()->run(a.gradient_row(isa)).ok());
      EXPECT_EQ(a.l.data<float>()[0], -std::numeric_limits<float>::infinity());
      for (int d = 0; d < 16; d++) {
        EXPECT_EQ(a.y.data<float>()[d], 0);
        EXPECT_EQ(a.gq.data<float>()[d], 0);
        EXPECT_EQ(a.y.data<float>()[16 + d], a.v.data<float>()[d]);  // the next sees one
      }
    }
}

TEST(CpuAttention, APositionMayBeAnyNumber) {
  const int64 huge = std::numeric_limits<int64>::max();
  Attention a(1, 1, 1, 3, 5, 8), all(1, 1, 1, 3, 5, 8);
  a.positions.fill<int64>([&](size_t i) { return i ? huge : -huge - 1; });
  all.attributes.causal = 0;
  ASSERT_TRUE(a.forward(machine_isa()).ok());
  ASSERT_TRUE(all.forward(machine_isa()).ok());
  for (int i = 8; i < 24; i++) EXPECT_EQ(a.y.data<float>()[i], all.y.data<float>()[i]);
  for (int i = 0; i < 8; i++) EXPECT_EQ(a.y.data<float>()[i], 0);
}

TEST(CpuFused, AnIdOutOfRangeIsNamedAndNothingIsWritten) {
  const auto kept = [](const Array& y) {
    for (size_t i = 0; i < y.bytes().size() / 4; i++)
      if (y.data<float>()[i] != 77) return false;
    return true;
  };
  const auto marked = [](std::vector<int64> shape) {
    return Array(kF32, shape).fill<float>([](size_t) { return 77; });
  };
  for (const Isa isa : test::isas()) {
    const Array x = waves({2, 3, 2, 8}), table = waves({10, 4}), rotated = marked({2, 3, 2, 8});
    const Array positions =
        Array(kI64, {2, 3}).fill<int64>([](size_t i) { return i == 4 ? 10 : 9; });
    const RopeAttributes attributes{};
    Launch rope({&x, &table, &table, &positions}, rotated, &attributes);
    const Status out = rope.run(*find(isa, kRope, {kF32, kF32, kF32, kI64, kF32}, 4).first);
    EXPECT_EQ(out.code, StatusCode::kIdOutOfRange);
    EXPECT_STREQ(out.text, "rope: id 10 at position 4 is outside [0, 10)");
    EXPECT_TRUE(kept(rotated));

    const Array logits = waves({3, 5}), loss = marked({3}), l = marked({3}), g = marked({3, 5}),
                ones = waves({3});
    const Array targets = Array(kI64, {3}).fill<int64>([](size_t i) { return 1 - int64(i); });
    Launch entropy({&logits, &targets}, {&loss, &l});
    const Status bad = entropy.run(*find(isa, kCrossEntropy, {kF32, kI64, kF32, kF32}, 2).first);
    EXPECT_STREQ(bad.text, "cross_entropy: id -1 at position 2 is outside [0, 5)");
    EXPECT_TRUE(kept(loss) && kept(l));
    Launch gradient({&logits, &targets, &ones, &ones}, g);
    const Status worse =
        gradient.run(*find(isa, kCrossEntropyGradient, {kF32, kI64, kF32, kF32, kF32}, 4).first);
    EXPECT_STREQ(worse.text, "cross_entropy_gradient: id -1 at position 2 is outside [0, 5)");
    EXPECT_TRUE(kept(g));

    const Array src = waves({1, 3, 4}), target = marked({1, 5, 4});
    const Array ids =
        Array(kI64, {1, 3, 4}, {0, 1, 0}).fill<int64>([](size_t i) { return i == 2 ? 5 : 0; });
    Launch scatter({&src, &ids}, target);
    const Status missed = scatter.run(*find(isa, kScatter, {kF32, kI64, kF32}, 2).first);
    EXPECT_STREQ(missed.text, "scatter: id 5 at position 2 is outside [0, 5)");
    EXPECT_TRUE(kept(target));
  }
}

TEST(CpuFused, AnInnerStrideIsDeclined) {
  const Array x(kF32, {4, 6}, {12, 2}), dense(kF32, {4, 6});
  const Kernel& kernel = *find(machine_isa(), kSoftmax, {kF32, kF32}, 1).first;
  EXPECT_STREQ(Launch({&x}, dense).declined_by(kernel), "an inner stride is not 1");
  EXPECT_EQ(Launch({&dense}, dense).declined_by(kernel), nullptr);
}

TEST(CpuFused, OfEqualIdsTheLastStaysHoweverManyThreads) {
  // Both ways that it is cut: rows that share an id, and an id for each element.
  for (const int64 stride : {0, 1}) {
    const Array src = waves({1, 300, 2000}), target(kF32, {1, 7, 2000});
    const Array ids = Array(kI64, {1, 300, 2000}, {0, 2000, stride}).fill<int64>([](size_t i) {
      return int64(i / 2000) % 7;
    });
    Launch launch({&src, &ids}, target);
    expect_same_bits(launch, *find(Isa::kBaseline, kScatter, {kF32, kI64, kF32}, 2).first,
                     {&target});
    for (int64 n = 0; n < 7; n++)
      for (int64 i = 0; i < 2000; i += 333) {
        const int64 last = n <= 299 % 7 ? 299 - 299 % 7 + n : 299 - 299 % 7 + n - 7;
        EXPECT_EQ(target.data<float>()[n * 2000 + i], src.data<float>()[last * 2000 + i]);
      }
  }
}

TEST(CpuFused, SampleTakesManyLogitsAndThreads) {
  const int64 V = 40000;
  const Array logits = waves({6, V}), ids(kI64, {6});
  const Array uniform =
      Array(kF32, {6}).fill<float>([](size_t i) { return 0.03 + 0.19 * double(i); });
  const float row[kSampleSettings] = {0.5f, 3000, 0.6f, 0, 1, 0, 0};  // top_k 3000, top_p 0.6
  const Array settings = Array(kF32, {6, kSampleSettings}).fill<float>([&](size_t i) {
    return row[i % kSampleSettings];
  });
  const Array no_ids(kI64, {0}), no_floats(kF32, {0}), no_mask(DType::kI32, {0});
  const SampleAttributes attributes{};
  for (const Isa isa : test::isas()) {
    Launch launch({&logits, &settings, &no_ids, &uniform, &no_ids, &no_ids, &no_floats, &no_mask},
                  ids, &attributes);
    expect_same_bits(
        launch,
        *find(isa, kSample, {kF32, kF32, kI64, kF32, kI64, kI64, kF32, DType::kI32, kI64}, 8).first,
        {&ids});
    for (int i = 0; i < 6; i++) {
      const int64 id = ids.data<int64>()[i];
      ASSERT_TRUE(id >= 0 && id < V);
      EXPECT_GT(logits.data<float>()[i * V + id], 0.9) << "not among the 3000 most likely";
    }
  }
}

TEST(CpuFused, AComparisonReadsAnyByteThatIsNotZeroAsTrue) {
  const Array a = Array(DType::kBool, {4}).fill<uint8>([](size_t i) { return i; });
  const Array b = Array(DType::kBool, {4}).fill<uint8>([](size_t i) { return i ? 1 : 0; });
  const Array y(DType::kBool, {4});
  for (const Isa isa : test::isas()) {
    Launch launch({&a, &b}, y);
    ASSERT_TRUE(
        launch.run(*find(isa, Eq::op, {DType::kBool, DType::kBool, DType::kBool}, 2).first).ok());
    for (int i = 0; i < 4; i++) EXPECT_EQ(y.data<uint8>()[i], 1);
  }
}

}  // namespace
}  // namespace wick::cpu
