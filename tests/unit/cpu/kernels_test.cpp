// What the conformance runner does not see: tables side by side, threads, aliasing, outputs after
// an error.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "rig.h"
#include "scalar/binary.h"
#include "scalar/reduce.h"
#include "scalar/unary.h"
#include "wick/abi/ops/cast.h"
#include "wick/abi/ops/gather.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::find;
using test::Launch;

constexpr DType kF32 = DType::kF32, kBf16 = DType::kBf16, kI64 = DType::kI64;

double wave(size_t i) { return std::sin(double(i) * 0.37) * 3; }

/// Runs `launch` under one thread and under three, and compares every bit of `out`.
void expect_same_bits(Launch& launch, const Kernel& kernel, const Array& out, const char* what) {
  std::vector<char> alone;
  for (const int threads : {1, 3}) {
    const wick::test::ThreadsScope scope(threads);
    ASSERT_TRUE(launch.run(kernel).ok()) << what;
    if (threads == 1) alone = out.bytes();
  }
  EXPECT_EQ(alone, out.bytes()) << what << ": threads change bits";
}

TEST(CpuKernels, ThreadsChangeNoBitOfASum) {
  struct Case {
    std::vector<int64> shape, strides;
    int kept;
  };
  const Case cases[] = {{{300000}, {1}, 0},          // one long row: by segments
                        {{70, 3000}, {3000, 1}, 1},  // rows
                        {{600, 5000}, {1, 600}, 1},  // columns, in two segments
                        {{40, 90, 70}, {7, 280, 25200}, 1}};
  for (const Isa isa : test::isas())
    for (const Case& c : cases) {
      const Array in = Array(kF32, c.shape, c.strides).fill<float>(wave);
      const Array out(kF32, {c.shape.begin(), c.shape.begin() + c.kept});
      const ReduceAttributes attributes{c.kept};
      Launch launch({&in}, out, &attributes);
      expect_same_bits(launch, *find(isa, Sum::op, {kF32, kF32}, 1).first, out, "sum");
    }
}

TEST(CpuKernels, ALongSumKeepsItsError) {
  // Equal values are the worst case of a chain of additions: each rounds the same way.
  const int64 n = 1 << 20;
  for (const Isa isa : test::isas())
    for (const int columns : {1, 16}) {
      const Array in =
          Array(kF32, {columns, n}, {1, columns}).fill<float>([](size_t) { return 0.1f; });
      const Array out(kF32, {columns});
      const ReduceAttributes attributes{1};
      Launch launch({&in}, out, &attributes);
      ASSERT_TRUE(launch.run(*find(isa, Sum::op, {kF32, kF32}, 1).first).ok());
      const double exact = double(n) * double(0.1f);
      EXPECT_LE(std::fabs(out.data<float>()[0] - exact), 8 * 0x1p-24 * exact)
          << kIsaNames[int(isa)];
    }
}

TEST(CpuKernels, TheMaximumOfNothingIsAnError) {
  const Array in(kF32, {2, 0}), out(kF32, {2});
  const ReduceAttributes attributes{1};
  Launch launch({&in}, out, &attributes);
  for (const Isa isa : test::isas()) {
    const Status status = launch.run(*find(isa, Max::op, {kF32, kF32}, 1).first);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.text).find("max: expected at least one element"),
              std::string::npos);
  }
}

TEST(CpuKernels, AnOutputMayBeAnInput) {
  for (const Isa isa : test::isas())
    for (const int64 n : {1, 7, 33, 1025, 40000}) {
      const Kernel& kernel = *find(isa, Mul::op, {kBf16, kBf16, kBf16}, 2).first;
      EXPECT_TRUE(kernel.flags & kKernelInPlace);
      const auto value = [](size_t i) { return round_to<bf16>(wave(i)); };
      const Array a = Array(kBf16, {n}).fill<bf16>(value),
                  same = Array(kBf16, {n}).fill<bf16>(value);
      const Array b =
          Array(kBf16, {n}).fill<bf16>([](size_t i) { return round_to<bf16>(wave(i + 5)); });
      const Array fresh(kBf16, {n});
      Launch apart({&a, &b}, fresh), in_place({&same, &b}, same);
      ASSERT_TRUE(apart.run(kernel).ok());
      ASSERT_TRUE(in_place.run(kernel).ok());
      EXPECT_EQ(fresh.bytes(), same.bytes()) << n;
    }
}

TEST(CpuKernels, AStridedOutputIsWrittenBetweenItsNeighbours) {
  for (const Isa isa : test::isas()) {
    const Array in = Array(kF32, {9, 70}).fill<float>(wave);
    const Array out = Array(kF32, {9, 70}, {141, 2}).fill<float>([](size_t) { return 77; });
    Launch launch({&in}, out);
    ASSERT_TRUE(launch.run(*find(isa, Neg::op, {kF32, kF32}, 1).first).ok());
    for (int64 i = 0; i < int64(out.bytes().size() / 4); i++) {
      const int64 row = i / 141, column = i % 141;
      const bool inside = column % 2 == 0 && column < 140;
      EXPECT_EQ(out.data<float>()[i], inside ? -in.data<float>()[row * 70 + column / 2] : 77) << i;
    }
  }
}

TEST(CpuKernels, ATransposingCopyTakesAnySizeOfElementAndShape) {
  for (const DType dtype : {DType::kU8, DType::kF16, kF32, kI64})
    for (const auto& [rows, columns] :
         {std::pair<int64, int64>{4, 4}, {5, 200}, {64, 64}, {65, 33}, {130, 257}}) {
      const Array in =
          Array(dtype, {3, rows, columns}, {rows * columns, 1, rows}).fill<char>([](size_t i) {
            return i * 31 % 251;
          });
      const Array out(dtype, {3, rows, columns});
      Launch launch({&in}, out);
      ASSERT_TRUE(launch.run(*find(Isa::kBaseline, kCast, {dtype, dtype}, 1).first).ok());
      const size_t size = size_t(dtype_size(dtype));
      int64 wrong = 0;
      for (int64 b = 0; b < 3; b++)
        for (int64 r = 0; r < rows; r++)
          for (int64 c = 0; c < columns; c++)
            wrong += std::memcmp(out.data<char>() + size_t((b * rows + r) * columns + c) * size,
                                 in.data<char>() + size_t(b * rows * columns + c * rows + r) * size,
                                 size) != 0;
      EXPECT_EQ(wrong, 0) << dtype_name(dtype) << " " << rows << " x " << columns;
    }
}

TEST(CpuIndexing, AnIdOutOfRangeIsNamedAndNothingIsWritten) {
  const Array x = Array(kF32, {2, 10, 4}).fill<float>(wave),
              src = Array(kF32, {2, 5, 4}).fill<float>(wave);
  for (const Isa isa : test::isas()) {
    Array ids = Array(kI64, {2, 5, 4}).fill<int64>([](size_t i) {
      return i == 3 ? 12 : i == 17 ? -1 : i % 10;
    });
    const Array gathered = Array(kF32, {2, 5, 4}).fill<float>([](size_t) { return 77; });
    const Array added = Array(kF32, {2, 10, 4}).fill<float>([](size_t) { return 77; });
    Launch gather({&x, &ids}, gathered), add({&src, &ids}, added);
    const Status got = gather.run(*find(isa, kGather, {kF32, kI64, kF32}, 2).first);
    EXPECT_EQ(got.code, StatusCode::kIdOutOfRange);
    EXPECT_STREQ(got.text, "gather: id 12 at position 3 is outside [0, 10)");
    const Status put = add.run(*find(isa, kScatterAdd, {kF32, kI64, kF32}, 2).first);
    EXPECT_EQ(put.code, StatusCode::kIdOutOfRange);
    EXPECT_STREQ(put.text, "scatter_add: id 12 at position 3 is outside [0, 10)");
    for (int i = 0; i < 40; i++) EXPECT_EQ(gathered.data<float>()[i], 77);
    for (int i = 0; i < 80; i++) EXPECT_EQ(added.data<float>()[i], 77);
  }
}

TEST(CpuIndexing, TheFirstWrongIdIsNamedHoweverManyThreads) {
  const Array x(kF32, {1, 10, 1}), out(kF32, {1, 200000, 1});
  const Array ids = Array(kI64, {1, 200000, 1}).fill<int64>([](size_t i) {
    return i == 60000 || i == 190000 ? int64(i) : 3;
  });
  Launch launch({&x, &ids}, out);
  const wick::test::ThreadsScope scope(4);
  const Status status = launch.run(*find(Isa::kBaseline, kGather, {kF32, kI64, kF32}, 2).first);
  EXPECT_STREQ(status.text, "gather: id 60000 at position 60000 is outside [0, 10)");
}

TEST(CpuIndexing, RepeatedIdsCountOnceInAPosition) {
  // Rows of an embedding: ids [1, 5, 4] whose last dim repeats.
  const Array x(kF32, {1, 10, 4}), out(kF32, {1, 5, 4});
  const Array ids =
      Array(kI64, {1, 5, 4}, {5, 1, 0}).fill<int64>([](size_t i) { return i == 3 ? -7 : 0; });
  Launch launch({&x, &ids}, out);
  const Status status = launch.run(*find(Isa::kBaseline, kGather, {kF32, kI64, kF32}, 2).first);
  EXPECT_STREQ(status.text, "gather: id -7 at position 3 is outside [0, 10)");
}

TEST(CpuIndexing, ThreadsChangeNoBitOfAScatterAdd) {
  struct Case {
    std::vector<int64> ids_strides;
    DType dtype;
  };
  for (const Isa isa : test::isas())
    for (const Case& c : {Case{{400 * 100, 100, 1}, kF32},
                          {{400, 1, 0}, kF32},
                          {{400 * 100, 100, 1}, kBf16},
                          {{0, 1, 0}, kBf16}}) {
      const auto value = [&](size_t i) { return wave(i); };
      Array src(c.dtype, {2, 400, 100});
      if (c.dtype == kF32)
        src.fill<float>(value);
      else
        src.fill<bf16>([&](size_t i) { return round_to<bf16>(wave(i)); });
      const Array ids =
          Array(kI64, {2, 400, 100}, c.ids_strides).fill<int64>([](size_t i) { return i * i % 7; });
      std::vector<char> alone;
      for (const int threads : {1, 2, 5}) {
        const Array out = Array(c.dtype, {2, 7, 100}).fill<char>([](size_t) { return 0; });
        Launch launch({&src, &ids}, out);
        const wick::test::ThreadsScope scope(threads);
        ASSERT_TRUE(launch.run(*find(isa, kScatterAdd, {c.dtype, kI64, c.dtype}, 2).first).ok());
        if (threads == 1) alone = out.bytes();
        EXPECT_EQ(alone, out.bytes()) << threads << " threads";
      }
    }
}

TEST(CpuIndexing, AScatterAddHasATileForEachThreadAtMost) {
  const wick::test::ThreadsScope scope(3);
  for (const int64 outer : {1, 2, 1000}) {
    const Array src(kBf16, {outer, 7, 1}), ids(kI64, {outer, 7, 1}), out(kBf16, {outer, 16, 1});
    for (const Isa isa : test::isas())
      EXPECT_EQ(Launch({&src, &ids}, out)
                    .scratch_bytes(*find(isa, kScatterAdd, {kBf16, kI64, kBf16}, 2).first),
                std::min<int64>(outer, 3) * 16 * int64(sizeof(float)));
  }
}

TEST(CpuIndexing, NarrowFloatsAreRoundedOnceHoweverOftenTheyAreAdded) {
  // 1 + 256 · 2^-9: in bf16 each step alone would be lost.
  for (const bool rows : {false, true}) {
    const Array src =
        Array(kBf16, {1, 256, 3}).fill<bf16>([](size_t) { return round_to<bf16>(0x1p-9); });
    const Array ids =
        Array(kI64, {1, 256, 3}, {0, rows ? 1 : 3, rows ? 0 : 1}).fill<int64>([](size_t) {
          return 0;
        });
    const Array out =
        Array(kBf16, {1, 1, 3}).fill<bf16>([](size_t) { return round_to<bf16>(1.0); });
    Launch launch({&src, &ids}, out);
    ASSERT_TRUE(launch.run(*find(Isa::kBaseline, kScatterAdd, {kBf16, kI64, kBf16}, 2).first).ok());
    for (int i = 0; i < 3; i++) EXPECT_EQ(to_float(out.data<bf16>()[i]), 1.5f);
  }
}

}  // namespace
}  // namespace wick::cpu
