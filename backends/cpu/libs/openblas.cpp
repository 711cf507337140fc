// f64 products by OpenBLAS, one thread a block of the output: which blocks there are does not
// depend on how many threads.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "dispatch/matmul.h"
#include "libs/openblas_library.h"
#include "runtime/isa.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

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
  OpenBlas* const library = OpenBlas::get();
  if (!library) return "OpenBLAS cannot be loaded";
  return library->has_buffer() ? nullptr : "there is no memory for OpenBLAS's buffer";
}

Status run(const Product& p, const MatmulParts&, const Call&) {
  OpenBlas& library = *OpenBlas::get();
  const Order a = order_of(p.m, p.k, p.a_m, p.a_k), b = order_of(p.k, p.n, p.b_k, p.b_n),
              c = order_of(p.m, p.n, p.c_m, p.c_n);
  const int64 rows = ceil_div(p.m, kBlockM), columns = ceil_div(p.n, kBlockN);
  const int64 work = std::min(p.m, kBlockM) * std::min(p.n, kBlockN) * p.k;
  const int64 items = p.batch.numel * rows * columns, grain = std::max<int64>(1, kGrain / work);
  const OpenBlas::Buffers buffers(
      library, int(std::clamp<int64>(ceil_div(items, grain), 1, threads_here())));
  const int64 parts = buffers.count();
  if (parts == 0)
    return error(StatusCode::kOutOfMemory, "matmul: there is no memory for OpenBLAS's buffer");
  parallel_for(parts, 1, [&](int64 first, int64 last) {
    const int64 begin = items * first / parts, end = items * last / parts;
    for (int64 item = begin; item < end; item++) {
      const Position<3> at(p.batch, item / (rows * columns));
      const int64 m = item % (rows * columns) / columns * kBlockM, n = item % columns * kBlockN;
      const auto* lhs = reinterpret_cast<const double*>(p.a) + at.offset(0) + m * p.a_m;
      const auto* rhs = reinterpret_cast<const double*>(p.b) + at.offset(1) + n * p.b_n;
      auto* out = reinterpret_cast<double*>(p.c) + at.offset(2) + m * p.c_m + n * p.c_n;
      library.dgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
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
