#include "dispatch/matmul.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

// Below, a library's own overhead shows: a primitive that is known costs 2 us, a new one 100 to
// 200.
constexpr int64 kSmall = 64 * 64 * 64;
constexpr int64 kGrain = 1 << 17;        // multiplications a thread takes at least
constexpr int64 kLocalBytes = 64 << 10;  // of buffer on the stack: a small product needs no scratch
constexpr int64 kAlignment = 64;

int64 aligned(int64 bytes) { return round_up(bytes, kAlignment); }

bool is_thin(const Product& p) { return p.m <= kFewRows && (p.b_k == 1 || p.b_n == 1); }

/// How a product is cut, and what it needs of scratch. Pieces do not depend on the number of
/// threads, so neither do bits.
struct Plan {
  Plan(const Product& p, const MatmulParts& kernel) : thin(is_thin(p)) {
    piece_m = thin ? std::max<int64>(1, p.m) : kernel.tile_m;
    piece_n = thin ? kernel.strip_n : kernel.tile_n;
    rows = ceil_div(p.m, piece_m);
    columns = ceil_div(p.n, piece_n);
    bytes =
        aligned(thin ? p.m * p.k * kernel.wide_size
                     : kernel.buffer_bytes(std::min(p.m, piece_m), std::min(p.n, piece_n), p.k));
    bytes = std::max(bytes, kAlignment);
    items = p.batch.numel * rows * columns;
    const int64 worthwhile = p.multiplications() / kGrain;
    workers = std::max<int64>(1, std::min({items, worthwhile, int64(num_threads())}));
  }
  int64 scratch() const { return workers * bytes > kLocalBytes ? workers * bytes : 0; }

  bool thin;
  int64 piece_m, piece_n;      // of the output, at most
  int64 rows, columns, items;  // pieces of one product, and of all
  int64 bytes;                 // of buffer for each worker
  int64 workers;
};

/// One worker's way through its pieces.
class Worker {
 public:
  Worker(const Product& p, const MatmulParts& kernel, const Plan& plan, char* buffer)
      : p_(p), kernel_(kernel), plan_(plan), buffer_(buffer) {}

  void run(int64 item) {
    const int64 pieces = plan_.rows * plan_.columns, place = item / pieces;
    const Position<3> at(p_.batch, place);
    const int64 m = item % pieces / plan_.columns * plan_.piece_m,
                n = item % plan_.columns * plan_.piece_n;
    Tile tile;
    tile.a = p_.a + (at.offset(0) + m * p_.a_m) * kernel_.size;
    tile.b = p_.b + (at.offset(1) + n * p_.b_n) * kernel_.size;
    tile.c = p_.c + (at.offset(2) + m * p_.c_m + n * p_.c_n) * kernel_.size;
    tile.m = std::min(plan_.piece_m, p_.m - m);
    tile.n = std::min(plan_.piece_n, p_.n - n);
    tile.k = p_.k;
    tile.a_m = p_.a_m;
    tile.a_k = p_.a_k;
    tile.b_k = p_.b_k;
    tile.b_n = p_.b_n;
    tile.c_m = p_.c_m;
    tile.c_n = p_.c_n;
    tile.buffer = buffer_;
    if (plan_.thin)
      run_strip(tile, place);
    else
      kernel_.tile(tile);
  }

 private:
  /// The few rows of a are converted once for all strips of a product.
  void run_strip(Tile& tile, int64 place) {
    const char* a = static_cast<const char*>(tile.a);
    for (int64 m = 0; m < p_.m && place != converted_; m++)
      kernel_.load(a + m * p_.a_m * kernel_.size, p_.a_k, p_.k,
                   buffer_ + m * p_.k * kernel_.wide_size);
    converted_ = place;
    tile.a = buffer_;
    tile.a_m = p_.k;
    tile.a_k = 1;
    kernel_.strip(tile);
  }

  const Product& p_;
  const MatmulParts& kernel_;
  const Plan& plan_;
  char* buffer_;
  int64 converted_ = -1;  // the place in the batch whose rows the buffer holds
};

const char* accepts_thin(const Product& p) {
  return p.m == 1 ? nullptr : "neither operand is a vector";
}

const char* accepts_small(const Product& p) {
  return p.m == 1 || p.m * p.n * p.k <= kSmall ? nullptr : "the product is not small";
}

int64 own_scratch(const Product& p, const MatmulParts& parts) { return Plan(p, parts).scratch(); }

Status run_own(const Product& p, const MatmulParts& parts, const Call& call) {
  if (p.batch.numel * p.m * p.n == 0) return {};
  Plan plan(p, parts);
  alignas(kAlignment) char local[kLocalBytes];
  char* buffer = local;
  // As many workers as there is room for: the number of threads may have changed since the scratch
  // was asked for.
  const int64 room = call.scratch_bytes / std::max<int64>(1, plan.bytes);
  if (plan.scratch() > 0) {
    if (room < 1)
      return error(StatusCode::kInvalidArgument, "matmul: expected %lld bytes of scratch, got %lld",
                   (long long)plan.scratch(), (long long)call.scratch_bytes);
    buffer = static_cast<char*>(call.scratch);
    plan.workers = std::min(plan.workers, room);
  }
  parallel_for(plan.workers, 1, [&](int64 begin, int64 end) {
    Worker worker(p, parts, plan, buffer + begin * plan.bytes);
    for (int64 i = plan.items * begin / plan.workers; i < plan.items * end / plan.workers; i++)
      worker.run(i);
  });
  return {};
}

const MatmulData& data_of(const Kernel* kernel) {
  return *static_cast<const MatmulData*>(kernel->data);
}

const char* accepts_product(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return data_of(kernel).functions.accepts(Product(*call));
}

int64 product_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const MatmulData& data = data_of(kernel);
  return data.functions.scratch_bytes(Product(*call), data.parts);
}

Status run_product(const Kernel* kernel, const Call* call) {
  const MatmulData& data = data_of(kernel);
  return data.functions.run(Product(*call), data.parts, *call);
}

}  // namespace

const MatmulFunctions kOwnMatmul{nullptr, own_scratch, run_own};
const MatmulFunctions kThinMatmul{accepts_thin, own_scratch, run_own};
const MatmulFunctions kSmallMatmul{accepts_small, own_scratch, run_own};

Kernel matmul_kernel(const char* name, const MatmulData& data, uint32 flags) {
  return {.name = name,
          .accepts = data.functions.accepts ? accepts_product : nullptr,
          .scratch_bytes = data.functions.scratch_bytes ? product_scratch : nullptr,
          .run = run_product,
          .data = &data,
          .flags = flags};
}

Product::Product(const Call& call) {
  const View &lhs = call.in[0], &rhs = call.in[1], &out = call.out[0];
  const int last = out.rank - 1;
  dtype = lhs.dtype;
  m = out.shape[last - 1];
  n = out.shape[last];
  k = lhs.shape[last];
  a_m = lhs.strides[last - 1];
  a_k = lhs.strides[last];
  b_k = rhs.strides[last - 1];
  b_n = rhs.strides[last];
  c_m = out.strides[last - 1];
  c_n = out.strides[last];
  a = lhs.as<char>();
  b = rhs.as<char>();
  c = out.as<char>();
  const View* const views[3] = {&lhs, &rhs, &out};  // out's shape is the batch's
  batch = space_of(views, 0, out.rank - 2);
  // A batch dim that b does not know and that continues a's and c's rows is more rows.
  const auto continues = [&](int d) {
    return batch.strides[1][d] == 0 && batch.strides[0][d] == m * a_m &&
           batch.strides[2][d] == m * c_m;
  };
  while (batch.rank > 0 && m > 1 && continues(batch.rank - 1)) {
    const int64 size = batch.shape[--batch.rank];
    m *= size;
    batch.numel = size ? batch.numel / size : 0;
  }
  // Few columns are few rows of the transposed product.
  if (n <= kFewRows && m > n) {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a_m, b_n);
    std::swap(a_k, b_k);
    std::swap(c_m, c_n);
    std::swap(batch.strides[0], batch.strides[1]);
  }
  // The stride of a dim of size 1 says nothing; 1 is what fits the most kernels.
  if (k == 1) a_k = b_k = 1;
  if (n == 1) b_n = c_n = 1;
}

bool libraries_allowed() {
  static const bool allowed = environment_choice("WICK_CPU_LIBS", {"on", "off"}).value_or(0) == 0;
  return allowed;
}

}  // namespace wick::cpu
