// Tensors of more than 2^31 elements: where 32-bit arithmetic would go wrong.
#include <sys/mman.h>

#include <fstream>
#include <thread>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// What the system could give now, in GiB; 0 if it does not say.
int64_t free_gib() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    int64_t kib = 0;
    file >> kib;
    std::getline(file, unit);
    if (name == "MemAvailable:") return kib >> 20;
  }
  return 0;
}

TEST(Large, TensorsPastTwoToTheThirtyFirstElements) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "takes the thread sanitizer minutes; it has nothing to share that smaller tests have not";
#endif
  if (free_gib() < 12) GTEST_SKIP() << "needs 12 GiB of free memory, has " << free_gib();
  const int64_t n = (int64_t(1) << 31) + 5;
  const TensorOptions bytes{.dtype = DType::kU8};
  Var x(full({n}, 1, bytes), false);
  index_put_(x, {-1}, 200);
  index_put_(x, {Tensor::from(std::vector<int64>{n - 2})}, 100);
  EXPECT_EQ(sum(x.tensor()).item<int64>(), n + 199 + 99);
  EXPECT_EQ(narrow(x.tensor(), 0, n - 3, 3).to_vec1<uint8>(), (std::vector<uint8>{1, 100, 200}));
  EXPECT_EQ(
      index_select(x.tensor(), 0, Tensor::from(std::vector<int64>{n - 1, 0})).to_vec1<uint8>(),
      (std::vector<uint8>{200, 1}));
  EXPECT_EQ(x.tensor().index({Slice{n - 3, {}, 2}}).to_vec1<uint8>(), (std::vector<uint8>{1, 200}));
  add_(x, full({}, 60, bytes));
  EXPECT_EQ(narrow(x.tensor(), 0, n - 3, 3).to_vec1<uint8>(), (std::vector<uint8>{61, 160, 4}));
  EXPECT_ERROR(index_select(x.tensor(), 0, Tensor::from(std::vector<int64>{n})), kOutOfRange,
               std::to_string(n).c_str());
}

/// Memory of zeros that only takes room where it is written.
Tensor sparse_zeros(int64_t rows, int64_t columns) {
  const std::size_t bytes = std::size_t(rows * columns);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(data != MAP_FAILED, ErrorCode::kOutOfMemory, "mmap", "got no ", bytes, " bytes");
  madvise(data, bytes, MADV_HUGEPAGE);  // reading takes the one page of zeros, in large pieces
  return Tensor::adopt(data, DType::kU8, {rows, columns}, [=] { munmap(data, bytes); });
}

TEST(Large, TheLargestOfMoreRowsThanThirtyTwoBitsCount) {
  if (const unsigned cores = std::thread::hardware_concurrency(); cores < 8)
    GTEST_SKIP() << "takes 20 s of one core: wants 8 cores, has " << cores;
  const int64_t n = (int64_t(1) << 31) + 5;
  const Tensor x = sparse_zeros(n, 8);
  static_cast<uint8*>(x.data())[8 * n - 10] = 7;  // of the last row but one, the seventh column
  EXPECT_EQ(argmax(x, 0).to_vec1<int64>(), (std::vector<int64>{0, 0, 0, 0, 0, 0, n - 2, 0}));
}

TEST(Large, MoreRowsAreAddedThanThirtyTwoBitsCount) {
  if (free_gib() < 48) GTEST_SKIP() << "needs 48 GiB of free memory, has " << free_gib();
  const int64_t n = (int64_t(1) << 31) + 5;
  const Tensor ids = broadcast_to(zeros({1}, {.dtype = DType::kI64}), {n});
  const Tensor rows = broadcast_to(ones({1, 2}, {.dtype = DType::kF64}), {n, 2});
  const Tensor sums = index_add(zeros({2, 2}, {.dtype = DType::kF64}), 0, ids, rows);
  EXPECT_EQ(sums.to_vec2<double>(),
            (std::vector<std::vector<double>>{{double(n), double(n)}, {0, 0}}));
}

}  // namespace
}  // namespace wick
