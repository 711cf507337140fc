// What the conformance runner does not see of scans, sorts and searches: threads that share a long
// line out change no bit.
#include <gtest/gtest.h>

#include <cmath>

#include "rig.h"
#include "wick/abi/ops/reduce.h"
#include "wick/abi/ops/scan.h"
#include "wick/abi/ops/search.h"
#include "wick/abi/ops/sort.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::expect_same_bits;
using test::find;
using test::Launch;
using test::wave;

constexpr DType kF32 = DType::kF32, kF64 = DType::kF64, kI64 = DType::kI64;

/// Few values, so that many are equal.
double steps(size_t i) { return std::floor(20 * wave(i)); }

TEST(CpuLines, ThreadsChangeNoBitOfScans) {
  for (const std::vector<int64>& shape :
       {std::vector<int64>{1, 100000, 1}, {1, 20000, 9}, {2, 30000, 2}}) {
    const Array x = Array(kF32, shape).fill<float>(wave),
                few = Array(kF32, shape).fill<float>(steps),
                wide = Array(kF64, shape).fill<double>(wave);
    const Array y(kF32, shape), ids(kI64, shape), z(kF64, shape);
    for (const Isa isa : test::isas()) {
      Launch sums({&x}, y);
      expect_same_bits(sums, *find(isa, kCumsum, {kF32, kF32}, 1).first, {&y});
      Launch wide_sums({&wide}, z);
      expect_same_bits(wide_sums, *find(isa, kCumsum, {kF64, kF64}, 1).first, {&z});
      Launch largest({&few}, {&y, &ids});
      expect_same_bits(largest, *find(isa, kCummax, {kF32, kF32, kI64}, 1).first, {&y, &ids});
    }
  }
}

TEST(CpuLines, ThreadsChangeNoBitOfSorts) {
  const SortAttributes descending{1};
  // No number of blocks divides the longer line.
  for (const int64 n : {int64(150001), int64(3000)}) {
    const int64 rows = 300002 / n;
    const Array x = Array(kF32, {rows, n}).fill<float>(steps);
    const Array y(kF32, {rows, n}), ids(kI64, {rows, n}), best(kF32, {rows, 5}),
        places(kI64, {rows, 5});
    for (const Isa isa : test::isas()) {
      Launch sort({&x}, {&y, &ids}, &descending);
      expect_same_bits(sort, *find(isa, kSort, {kF32, kF32, kI64}, 1).first, {&y, &ids});
      Launch topk({&x}, {&best, &places}, &descending);
      expect_same_bits(topk, *find(isa, kTopk, {kF32, kF32, kI64}, 1).first, {&best, &places});
    }
  }
}

TEST(CpuLines, ThreadsChangeNoResultOfAnArgmax) {
  const ReduceAttributes all{0};
  const Array x = Array(kF32, {300000}).fill<float>(steps);
  const Array id(kI64, {});
  for (const Isa isa : test::isas()) {
    Launch argmax({&x}, id, &all);
    expect_same_bits(argmax, *find(isa, kArgmax, {kF32, kI64}, 1).first, {&id});
  }
}

TEST(CpuLines, NonzeroRefusesAnOutputOfAnotherSize) {
  const Array mask = Array(DType::kBool, {100}).fill<uint8>([](size_t i) { return i % 2; });
  const Array ids(kI64, {49});
  for (const Isa isa : test::isas()) {
    Launch nonzero({&mask}, ids);
    const Status status = nonzero.run(*find(isa, kNonzero, {DType::kBool, kI64}, 1).first);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_STREQ(status.text, "nonzero: the mask has 50 true elements, room is for 49");
  }
}

}  // namespace
}  // namespace wick::cpu
