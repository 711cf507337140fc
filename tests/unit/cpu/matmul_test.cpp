#include "dispatch/matmul.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "../expect.h"
#include "rig.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::find;
using test::Launch;

constexpr DType kF32 = DType::kF32, kBf16 = DType::kBf16, kF64 = DType::kF64;

double wave(size_t i) { return std::sin(double(i) * 0.61); }

Array operand(DType dtype, std::vector<int64> shape, std::vector<int64> strides) {
  Array x(dtype, shape, strides);
  if (dtype == kF32)
    x.fill<float>(wave);
  else if (dtype == kF64)
    x.fill<double>(wave);
  else
    x.fill<bf16>([](size_t i) { return round_to<bf16>(wave(i)); });
  return x;
}

double element(const Array& x, size_t i) {
  if (x.view().dtype == kF32) return x.data<float>()[i];
  if (x.view().dtype == kF64) return x.data<double>()[i];
  return to_float(x.data<bf16>()[i]);
}

/// Operands [batch, m, k] and [batch, k, n] as they may lie; one batch has no dim, as in calls.
struct Case {
  const char* what;
  int64 batch, m, n, k;
  std::vector<int64> a, b;  // strides
};
const Case kCases[] = {
    {"as they are", 1, 70, 90, 110, {0, 110, 1}, {0, 90, 1}},
    {"transposed", 1, 70, 90, 110, {0, 1, 70}, {0, 1, 110}},
    {"rows of a larger matrix", 1, 70, 90, 110, {0, 200, 1}, {0, 300, 1}},
    {"a batch", 3, 50, 80, 90, {50 * 90, 90, 1}, {80 * 90, 80, 1}},
    {"one b for all", 3, 50, 80, 90, {50 * 90, 90, 1}, {0, 80, 1}},
    {"one a for all", 3, 50, 80, 90, {0, 90, 1}, {80 * 90, 1, 90}},
};

class Libraries : public testing::TestWithParam<DType> {};

/// Leaves the process this much address space beside what it has.
void limit_memory(int64 bytes) {
  int64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{rlim_t(pages * sysconf(_SC_PAGESIZE) + bytes), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

// A library that gets no memory for its code or its buffer ends the process or tries for ever. Runs
// first, before another case has let the libraries take their memory.
TEST_P(Libraries, LeaveProductsToTheOwnKernelsIfMemoryIsShort) {
#ifdef WICK_SANITIZED  // the library; tests are not
  GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
#endif
  const DType dtype = GetParam();
  const auto kernels = find(isa(), kMatmul, {dtype, dtype, dtype}, 2);
  constexpr int64 m = 300, n = 310, k = 320;
  const Array a = operand(dtype, {m, k}, {k, 1}), b = operand(dtype, {k, n}, {n, 1});
  // The second limit has room for OpenBLAS, but not for its buffer.
  for (const int64 room : {int64{6} << 20, int64{70} << 20})
    EXPECT_EQ(wick::test::in_child([&] {
                const Array c(dtype, {m, n});
                Launch launch({&a, &b}, c);
                limit_memory(room);
                alarm(60);  // ends it if a library tries for ever
                for (int i = 0; i < kernels.count; i++) {
                  const Kernel& kernel = kernels.first[i];
                  if (launch.declined_by(kernel)) continue;
                  const Status status = launch.run(kernel);
                  if (!status.ok()) return std::string(status.text);
                }
                return std::string("ended");
              }),
              "ended")
        << room;
}

TEST_P(Libraries, AgreeWithTheOwnKernels) {
  const DType dtype = GetParam();
  const auto kernels = find(isa(), kMatmul, {dtype, dtype, dtype}, 2);
  const Kernel* library = kernels.named(dtype == kF64 ? "matmul openblas" : "matmul onednn");
  const Kernel* own = kernels.named("matmul");
  ASSERT_NE(own, nullptr);
  if (!library) GTEST_SKIP() << "WICK_CPU_LIBS=off";
  for (const Case& c : kCases) {
    using Sizes = std::vector<int64>;
    const auto without_one = [&](Sizes sizes) {  // shape or strides, without the dim of one batch
      if (c.batch == 1) sizes.erase(sizes.begin());
      return sizes;
    };
    const Array a = operand(dtype, without_one({c.batch, c.m, c.k}), without_one(c.a)),
                b = operand(dtype, without_one({c.batch, c.k, c.n}), without_one(c.b));
    const Sizes shape = without_one({c.batch, c.m, c.n});
    const Array theirs(dtype, shape), ours(dtype, shape);
    Launch library_launch({&a, &b}, theirs), own_launch({&a, &b}, ours);
    if (const char* why = library_launch.declined_by(*library)) {
      // Only where an instruction set is missing or held back.
      EXPECT_TRUE(dtype == kBf16 ? isa() != Isa::kAvx512 : dtype == kF64 && isa() != machine_isa())
          << c.what << ": " << why;
      continue;
    }
    for (int repeat = 0; repeat < 2; repeat++) {  // a fresh primitive and a kept one
      ASSERT_TRUE(library_launch.run(*library).ok()) << c.what;
      ASSERT_TRUE(own_launch.run(*own).ok()) << c.what;
      const double unit = dtype == kF64 ? 0x1p-53 : 0x1p-24, last = dtype == kBf16 ? 0x1p-8 : 0;
      for (size_t i = 0; i < size_t(c.batch * c.m * c.n); i++) {
        const double want = element(ours, i);
        // |a| and |b| are at most 1, so k bounds the sum of the terms' sizes.
        ASSERT_NEAR(element(theirs, i), want, 2 * double(c.k) * 8 * unit + std::fabs(want) * last)
            << c.what << " at " << i;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Matmul, Libraries, testing::Values(kF32, kBf16, kF64),
                         [](const auto& param) { return dtype_name(param.param); });

TEST(Matmul, OneDnnDeclinesWhatItWouldDoSlowly) {
  const auto kernels = find(isa(), kMatmul, {kF32, kF32, kF32}, 2);
  const Kernel* onednn = kernels.named("matmul onednn");
  if (!onednn) GTEST_SKIP() << "WICK_CPU_LIBS=off";
  const Array b = operand(kF32, {100, 100}, {100, 1}), out(kF32, {100, 100});
  const Array gaps = operand(kF32, {100, 100}, {400, 2}),
              repeated = operand(kF32, {100, 100}, {0, 1});
  EXPECT_EQ(Launch({&b, &b}, out).declined_by(*onednn), nullptr);
  EXPECT_STREQ(Launch({&gaps, &b}, out).declined_by(*onednn),
               "neither rows nor columns of an operand are consecutive");
  EXPECT_STREQ(Launch({&repeated, &b}, out).declined_by(*onednn),
               "neither rows nor columns of an operand are consecutive");
}

TEST(Matmul, SmallAndThinProductsAreTheOwnKernels) {
  const auto kernels = find(isa(), kMatmul, {kF32, kF32, kF32}, 2);
  const Kernel* small = kernels.named("matmul small");
  if (!small) GTEST_SKIP() << "WICK_CPU_LIBS=off";
  EXPECT_EQ(small, kernels.first);  // asked first
  const auto declined = [&](int64 m, int64 n, int64 k) {
    const Array a(kF32, {m, k}), b(kF32, {k, n}), out(kF32, {m, n});
    return Launch({&a, &b}, out).declined_by(*small) != nullptr;
  };
  EXPECT_FALSE(declined(64, 64, 64));
  EXPECT_TRUE(declined(65, 64, 64));
  EXPECT_FALSE(declined(1, 500, 600));
  EXPECT_FALSE(declined(500, 1, 600));
}

TEST(Matmul, ThreadsChangeNoBitOfTheOwnKernels) {
  for (const Isa isa : test::isas())
    for (const auto& [m, n, k] :
         {std::array<int64, 3>{300, 600, 300}, {1, 3000, 200}, {3, 700, 400}, {40, 40, 40}}) {
      const Array a = operand(kF32, {m, k}, {k, 1}), b = operand(kF32, {k, n}, {1, k}),
                  out(kF32, {m, n});
      Launch launch({&a, &b}, out);
      const Kernel& own = *find(isa, kMatmul, {kF32, kF32, kF32}, 2).named("matmul");
      test::expect_same_bits(launch, own, {&out});
    }
}

TEST(Matmul, ThreadsChangeNoBitOfTheLibraries) {
  // Products that are cut by rows, columns and batch, with shorter parts at the ends.
  for (const auto& [batch, m, n, k] :
       {std::array<int64, 4>{1, 333, 327, 311}, {1, 37, 900, 999}, {19, 101, 107, 103}})
    for (const DType dtype : {kF32, kBf16, kF64}) {
      const Array a = operand(dtype, {batch, m, k}, {m * k, k, 1}),
                  b = operand(dtype, {batch, k, n}, {n * k, 1, k}), out(dtype, {batch, m, n});
      const auto kernels = find(isa(), kMatmul, {dtype, dtype, dtype}, 2);
      const Kernel* library = kernels.named(dtype == kF64 ? "matmul openblas" : "matmul onednn");
      Launch launch({&a, &b}, out);
      if (!library || launch.declined_by(*library)) continue;
      test::expect_same_bits(launch, *library, {&out});
    }
}

TEST(Matmul, ThreadsShareAPrimitive) {
  const Array a = operand(kF32, {100, 120}, {120, 1}), b = operand(kF32, {120, 90}, {90, 1});
  const auto kernels = find(isa(), kMatmul, {kF32, kF32, kF32}, 2);
  const Kernel* kernel = kernels.named("matmul onednn");
  if (!kernel) GTEST_SKIP() << "WICK_CPU_LIBS=off";
  std::vector<std::thread> threads;
  std::vector<Array> results;
  for (int t = 0; t < 4; t++) results.emplace_back(kF32, std::vector<int64>{100, 90});
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      Launch launch({&a, &b}, results[size_t(t)]);
      for (int i = 0; i < 20; i++) EXPECT_TRUE(launch.run(*kernel).ok());
    });
  for (std::thread& t : threads) t.join();
  for (int t = 1; t < 4; t++) EXPECT_EQ(results[0].bytes(), results[size_t(t)].bytes());
}

// Run twice by CMakeLists.txt: as it is, and under WICK_CPU_LIBS=off.
TEST(Matmul, LibrariesAreThereUnlessTurnedOff) {
  const char* const off = std::getenv("WICK_CPU_LIBS");
  const bool allowed = !off || std::string(off) != "off";
  EXPECT_EQ(libraries_allowed(), allowed);
  for (const DType dtype : {kF32, kBf16, kF64}) {
    std::string names;
    const auto kernels = find(Isa::kBaseline, kMatmul, {dtype, dtype, dtype}, 2);
    for (int i = 0; i < kernels.count; i++) names += std::string(kernels.first[i].name) + ";";
    const char* const all = dtype == kF64 ? "matmul thin;matmul openblas;matmul;"
                                          : "matmul small;matmul onednn;matmul;";
    EXPECT_EQ(names, allowed ? all : "matmul;");
  }
}

TEST(Matmul, ASumOfNothingIsZero) {
  for (const Isa isa : test::isas())
    for (const DType dtype : {kF32, kBf16, kF64}) {
      const Array a(dtype, {13, 0}), b(dtype, {0, 33});
      const Array out = Array(dtype, {13, 33}).fill<char>([](size_t) { return 7; });
      Launch launch({&a, &b}, out);
      const auto kernels = find(isa, kMatmul, {dtype, dtype, dtype}, 2);
      int i = 0;
      while (launch.declined_by(kernels.first[i])) i++;
      ASSERT_TRUE(launch.run(kernels.first[i]).ok());
      for (const char byte : out.bytes()) ASSERT_EQ(byte, 0);
    }
}

}  // namespace
}  // namespace wick::cpu
