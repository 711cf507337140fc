// f64 products by OpenBLAS, one thread a block of the output: which blocks there are does not
// depend on how many threads.
#include <cblas.h>

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "dispatch/matmul.h"
#include "runtime/isa.h"

namespace wick::cpu {
namespace {

constexpr int64 kBlockM = 256, kBlockN = 512;
constexpr int64 kGrain = 1 << 18;  // multiplications a thread takes at least

/// How BLAS takes a matrix: the distance between its rows, or between its columns if it is
/// transposed.
struct Order {
  bool transposed;
  int64 distance;  // 0: as neither
};
Order order_of(int64 rows, int64 columns, int64 row_stride, int64 column_stride) {
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1))
    return {false, rows == 1 ? std::max<int64>(columns, 1) : row_stride};
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1))
    return {true, columns == 1 ? std::max<int64>(rows, 1) : column_stride};
  return {false, 0};
}

const char* accepts(const Product& p) {
  static const bool held_back = isa() != machine_isa();
  if (held_back) return "OpenBLAS cannot be held to an instruction set";
  if (p.batch.numel * p.m * p.n * p.k == 0) return "the product is empty";
  const Order a = order_of(p.m, p.k, p.a_m, p.a_k), b = order_of(p.k, p.n, p.b_k, p.b_n),
              c = order_of(p.m, p.n, p.c_m, p.c_n);
  if (!a.distance || !b.distance || !c.distance || c.transposed)
    return "neither rows nor columns of an operand are consecutive";
  constexpr int64 most = std::numeric_limits<int>::max();
  if (std::max({p.m, p.n, p.k, a.distance, b.distance, c.distance}) > most)
    return "OpenBLAS counts in 32 bits";
  return nullptr;
}

Status run(const Product& p, const MatmulParts&, const Call&) {
  // Its own threads would meet ours on the same cores.
  static const bool single = (openblas_set_num_threads(1), true);
  (void)single;
  const Order a = order_of(p.m, p.k, p.a_m, p.a_k), b = order_of(p.k, p.n, p.b_k, p.b_n),
              c = order_of(p.m, p.n, p.c_m, p.c_n);
  const int64 rows = (p.m + kBlockM - 1) / kBlockM, columns = (p.n + kBlockN - 1) / kBlockN;
  const int64 work = std::min(p.m, kBlockM) * std::min(p.n, kBlockN) * p.k;
  parallel_for(
      p.batch.numel * rows * columns, std::max<int64>(1, kGrain / work),
      [&](int64 begin, int64 end) {
        for (int64 item = begin; item < end; item++) {
          const Position<3> at(p.batch, item / (rows * columns));
          const int64 m = item % (rows * columns) / columns * kBlockM, n = item % columns * kBlockN;
          const auto* lhs = reinterpret_cast<const double*>(p.a) + at.offset(0) + m * p.a_m;
          const auto* rhs = reinterpret_cast<const double*>(p.b) + at.offset(1) + n * p.b_n;
          auto* out = reinterpret_cast<double*>(p.c) + at.offset(2) + m * p.c_m + n * p.c_n;
          cblas_dgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
                      b.transposed ? CblasTrans : CblasNoTrans, int(std::min(kBlockM, p.m - m)),
                      int(std::min(kBlockN, p.n - n)), int(p.k), 1.0, lhs, int(a.distance), rhs,
                      int(b.distance), 0.0, out, int(c.distance));
        }
      });
  return {};
}

}  // namespace

const MatmulFunctions kOpenBlasMatmul{accepts, nullptr, run};

}  // namespace wick::cpu
