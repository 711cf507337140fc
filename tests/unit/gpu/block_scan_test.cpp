// The scan over a block's threads, and the bits that ranks are counted of.
#include "kernels/block_scan.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/check_emulated.h"
#include "wick/abi/ops/scan.h"

namespace wick::gpu {
namespace {

/// Text's hash << 32 | 31 to the power of its length: putting texts together is associative, and
/// tells their order.
struct Concatenate {
  uint64 operator()(uint64 a, uint64 b) const {
    const uint32 power = uint32(b);
    return uint64(uint32(a >> 32) * power + uint32(b >> 32)) << 32 | uint32(uint32(a) * power);
  }
};
constexpr uint64 kEmpty = 1;
uint64 letter(int i) { return uint64(i + 7) << 32 | 31; }

struct ScanGroups {
  struct Args {
    uint64* before;
    uint64* total;
    int threads;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    uint64 partial[Ctx::kWaves];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    for (int round = 0; round < 2; round++) {  // the second finds the partials free
      const Scanned<uint64> scanned = scan_threads<Concatenate>(
          ctx, shared.partial, letter(ctx.thread() + round), kEmpty, a.threads);
      a.before[round * kThreads + ctx.thread()] = scanned.before;
      a.total[round * kThreads + ctx.thread()] = scanned.total;
    }
  }
};

struct TotalOfSome {
  struct Args {
    const uint64* totals;
    uint64* y;
    int count;
  };
  static constexpr int threads(int) { return 256; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {
    uint64 partial[Ctx::kWaves];
  };
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    a.y[ctx.thread()] = total_of<Concatenate>(ctx, shared.partial, a.totals, a.count, kEmpty);
  }
};

struct CountBits {
  struct Args {
    const uint64* x;
    int* y;
  };
  static constexpr int threads(int wave) { return wave; }
  static Grid grid(int, const Args&) { return {}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    a.y[ctx.thread()] = Ctx::count_bits(a.x[ctx.thread()]);
  }
};

class BlockScan : public testing::TestWithParam<int32> {
 protected:
  Call call() const {
    Call call{};
    call.op = &kCumsum;
    call.device = GetParam();
    return call;
  }
};
INSTANTIATE_TEST_SUITE_P(Waves, BlockScan, testing::Values(32, 64));

TEST_P(BlockScan, GivesWhatStandsBeforeEachThreadOfItsGroup) {
  constexpr int kThreads = ScanGroups::kThreads;
  for (int threads = 1; threads <= kThreads; threads *= 2) {
    std::vector<uint64> before(2 * kThreads), total(2 * kThreads);
    ASSERT_TRUE(launch<ScanGroups>({before.data(), total.data(), threads}, call()).ok());
    for (int i = 0; i < 2 * kThreads; i++) {
      const int round = i / kThreads, thread = i % kThreads, first = thread / threads * threads;
      uint64 expected = kEmpty;
      for (int t = first; t < thread; t++) expected = Concatenate()(expected, letter(t + round));
      EXPECT_EQ(before[size_t(i)], expected) << thread << " of " << threads;
      for (int t = thread; t < first + threads; t++)
        expected = Concatenate()(expected, letter(t + round));
      EXPECT_EQ(total[size_t(i)], expected) << thread << " of " << threads;
    }
  }
}

TEST_P(BlockScan, PutsTotalsTogetherInTheirOrder) {
  std::vector<uint64> totals;
  for (const int count : {0, 1, 7, 255, 256, 257, 700, 1024}) {
    totals.clear();
    uint64 expected = kEmpty;
    for (int i = 0; i < count; i++) {
      totals.push_back(letter(i));
      expected = Concatenate()(expected, letter(i));
    }
    std::vector<uint64> y(256);
    ASSERT_TRUE(launch<TotalOfSome>({totals.data(), y.data(), count}, call()).ok());
    for (const uint64 each : y) EXPECT_EQ(each, expected) << count;
  }
}

TEST_P(BlockScan, CountsBits) {
  std::vector<uint64> x(64);
  std::vector<int> y(64, -1), expected(64, -1);
  for (int i = 0; i < GetParam(); i++) {
    x[size_t(i)] = (i % 2 ? ~uint64(0) : uint64(0x9249249249249249)) >> i;
    expected[size_t(i)] = 0;
    for (uint64 bits = x[size_t(i)]; bits; bits >>= 1) expected[size_t(i)] += int(bits & 1);
  }
  ASSERT_TRUE(launch<CountBits>({x.data(), y.data()}, call()).ok());
  EXPECT_EQ(y, expected);
}

TEST(RowPieces, AreWholeTilesThatCoverTheRow) {
  for (const int64 rows : {int64(1), int64(3), int64(1000), int64(5000)}) {
    for (const int64 length :
         {int64(1), int64(2048), int64(2049), int64(100003), int64(1) << 26, int64(5) << 31}) {
      const RowPieces pieces = RowPieces::of(rows, length, 2048);
      EXPECT_EQ(pieces.length % 2048, 0);
      EXPECT_LT((pieces.count - 1) * pieces.length, length);
      EXPECT_GE(pieces.count * pieces.length, length);
      EXPECT_LE(pieces.count, 1024);
    }
  }
}

}  // namespace
}  // namespace wick::gpu
