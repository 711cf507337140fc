// Tensors of more than 2^31 elements: where 32-bit arithmetic would go wrong.
#include <sys/mman.h>

#include <fstream>
#include <optional>
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

/// Memory of zeros that only takes room where it is written; nothing where there is none to promise.
std::optional<Tensor> sparse_zeros(DType dtype, const Shape& shape) {
  std::size_t bytes = std::size_t(dtype_size(dtype));
  for (const int64_t size : shape) bytes *= std::size_t(size);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return {};
  madvise(data, bytes, MADV_HUGEPAGE);  // reading takes the one page of zeros, in large pieces
  return Tensor::adopt(data, dtype, shape, [=] { munmap(data, bytes); });
}

TEST(Large, TheLargestOfMoreRowsThanThirtyTwoBitsCount) {
  if (const unsigned cores = std::thread::hardware_concurrency(); cores < 8)
    GTEST_SKIP() << "takes 20 s of one core: wants 8 cores, has " << cores;
  const int64_t n = (int64_t(1) << 31) + 5;
  const std::optional<Tensor> x = sparse_zeros(DType::kU8, {n, 8});
  if (!x) GTEST_SKIP() << "the system promises no 16 GiB";
  static_cast<uint8*>(x->data())[8 * n - 10] = 7;  // of the last row but one, the seventh column
  EXPECT_EQ(argmax(*x, 0).to_vec1<int64>(), (std::vector<int64>{0, 0, 0, 0, 0, 0, n - 2, 0}));
}

TEST(Large, MatricesFurtherApartThanThirtyTwoBitsCountAreMultiplied) {
  const int64_t n = 128, apart = (int64_t(1) << 31) + n;  // elements from one matrix to the next
  const std::optional<Tensor> x = sparse_zeros(DType::kF32, {2, apart / n, n});
  if (!x) GTEST_SKIP() << "the system promises no 16 GiB";
  float* const values = static_cast<float*>(x->data());
  for (int64_t i = 0; i < n * n; i++) values[i] = 1, values[apart + i] = 2;
  const Tensor y = matmul(narrow(*x, 1, 0, n), ones({2, n, n}));
  EXPECT_EQ(y.to_vector<float>(),
            cat({full({n * n}, 128.f), full({n * n}, 256.f)}, 0).to_vector<float>());
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
