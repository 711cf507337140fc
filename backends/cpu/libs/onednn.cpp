// f32 and bf16 products by oneDNN: memory descriptors carry the strides, so nothing is copied;
// primitives are kept by shape. oneDNN chooses blocks, and with them the order of its sums, by the
// number of threads: so a product is cut into parts by its shape alone, each of which one thread
// computes.
#include "libs/onednn.h"

#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "dispatch/matmul.h"
#include "dispatch/workers.h"
#include "libs/room.h"
#include "runtime/isa.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

using onednn::engine, onednn::Key;

using dnnl::memory;

/// WICK_CPU holds for oneDNN too. It may be said once, before the first primitive.
void limit_isa() {
  static const bool done = [] {
    if (isa() == Isa::kBaseline) dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
    if (isa() == Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    return true;
  }();
  (void)done;
}

/// How a product is cut: into ranges of one batch dim, and of the output's rows and columns.
class Cut {
 public:
  explicit Cut(const Product& product)
      : p_(product), size_(dtype_size(product.dtype)), m_(product.m), n_(product.n) {
    // In multiplications of f32: bf16 is twice as fast.
    const int64 work = p_.multiplications() / (p_.dtype == DType::kBf16 ? 2 : 1);
    const int64 wanted =
        std::clamp(work / kLeastWork, int64{1}, std::clamp(work / kMuchWork, kParts, kMaxParts));
    for (int d = 0; d < p_.batch.rank; d++)
      if (dim_ < 0 || p_.batch.shape[d] > p_.batch.shape[dim_]) dim_ = d;
    if (dim_ >= 0) {
      length_ = ceil_div(p_.batch.shape[dim_], std::min(wanted, p_.batch.shape[dim_]));
      batches_ = ceil_div(p_.batch.shape[dim_], length_);
    }
    // Near to squares, which read the least.
    while (batches_ * rows_ * columns_ < wanted && std::max(m_, n_) > kLeastSide) {
      if (m_ >= n_)
        m_ = round_up(ceil_div(p_.m, 2 * rows_), kGranule), rows_ = ceil_div(p_.m, m_);
      else
        n_ = round_up(ceil_div(p_.n, 2 * columns_), kGranule), columns_ = ceil_div(p_.n, n_);
    }
  }

  int64 parts() const { return batches_ * rows_ * columns_; }
  Product part(int64 i) const {
    Product part = p_;
    const int64 column = i % columns_ * n_, row = i / columns_ % rows_ * m_;
    part.m = std::min(m_, p_.m - row);
    part.n = std::min(n_, p_.n - column);
    int64 a = row * p_.a_m, b = column * p_.b_n, c = row * p_.c_m + column * p_.c_n;
    if (dim_ >= 0) {
      const int64 first = i / (rows_ * columns_) * length_, size = p_.batch.shape[dim_];
      part.batch.shape[dim_] = std::min(length_, size - first);
      part.batch.numel = p_.batch.numel / size * part.batch.shape[dim_];
      a += first * p_.batch.strides[0][dim_];
      b += first * p_.batch.strides[1][dim_];
      c += first * p_.batch.strides[2][dim_];
    }
    part.a += a * size_;
    part.b += b * size_;
    part.c += c * size_;
    return part;
  }
  /// f(number) of one part of each shape: only the last range of a dim is shorter.
  template <class F>
  void each_shape(F&& f) const {
    for (const int64 batch : {int64{0}, batches_ - 1})
      for (const int64 row : {int64{0}, rows_ - 1})
        for (const int64 column : {int64{0}, columns_ - 1})
          f((batch * rows_ + row) * columns_ + column);
  }

 private:
  static constexpr int64 kLeastWork = 6 << 20;  // of a part: some 0.1 ms
  static constexpr int64 kMuchWork = 1 << 26;   // of a part, where there are more than kParts
  static constexpr int64 kParts = 8, kMaxParts = 256;
  static constexpr int64 kGranule = 32, kLeastSide = 64;  // what oneDNN's kernels take at once

  const Product& p_;
  int64 size_;
  int dim_ = -1;                                // of the batch, the longest; -1: there is none
  int64 length_ = 1;                            // of a part along it
  int64 m_, n_;                                 // rows and columns of a part
  int64 batches_ = 1, rows_ = 1, columns_ = 1;  // how many ranges
};

struct Kept {
  dnnl::matmul primitive;
  memory::desc a, b, c;
  int64 scratch = 0;
};

/// One operand as oneDNN wants it: a broadcast batch dim has size 1.
struct Layout {
  memory::dims dims, strides;
};
Layout layout_of(const Product& p, int operand) {
  Layout layout;
  for (int d = 0; d < p.batch.rank; d++) {
    const int64 stride = p.batch.strides[operand][d];
    layout.dims.push_back(stride == 0 ? 1 : p.batch.shape[d]);
    layout.strides.push_back(stride == 0 ? 1 : stride);
  }
  const int64 sizes[3][2] = {{p.m, p.k}, {p.k, p.n}, {p.m, p.n}};
  const int64 steps[3][2] = {{p.a_m, p.a_k}, {p.b_k, p.b_n}, {p.c_m, p.c_n}};
  for (int i = 0; i < 2; i++) {
    layout.dims.push_back(sizes[operand][i]);
    // The stride of a dim of size 1 is free: the one of a dense matrix gets oneDNN's fast kernels.
    const bool one = sizes[operand][i] == 1;
    const int64 other = sizes[operand][1 - i];
    layout.strides.push_back(!one ? steps[operand][i] : steps[operand][1 - i] == 1 ? other : 1);
  }
  return layout;
}

Key key_of(const Product& p) {
  Key key;
  size_t at = 0;
  for (const int64 n : {int64(p.dtype), int64(p.batch.rank), p.m, p.n, p.k, p.a_m, p.a_k, p.b_k,
                        p.b_n, p.c_m, p.c_n})
    key.numbers[at++] = n;
  for (int d = 0; d < p.batch.rank; d++) {
    key.numbers[at++] = p.batch.shape[d];
    for (int i = 0; i < 3; i++) key.numbers[at++] = p.batch.strides[i][d];
  }
  return key;
}

std::shared_ptr<Kept> make(const Product& p) {
  const auto type = p.dtype == DType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
  auto kept = std::make_shared<Kept>();
  memory::desc* const descs[3] = {&kept->a, &kept->b, &kept->c};
  for (int i = 0; i < 3; i++) {
    const Layout layout = layout_of(p, i);
    *descs[i] = memory::desc(layout.dims, type, layout.strides);
  }
  const dnnl::matmul::primitive_desc desc({kept->a, kept->b, kept->c}, onednn::attributes(),
                                          engine());
  kept->primitive = dnnl::matmul(desc);
  kept->scratch = int64(desc.scratchpad_desc().get_size());
  return kept;
}

std::shared_ptr<const Kept> kept_for(const Product& p) {
  // Never destroyed: oneDNN's own statics may go first.
  static auto* const cache = new onednn::Cache<Kept>;
  return cache->get(key_of(p), [&] { return make(p); });
}

/// Who computes the parts, with room for the one that needs the most.
Workers workers_for(const Cut& cut) {
  int64 scratch = 0;
  cut.each_shape([&](int64 i) { scratch = std::max(scratch, kept_for(cut.part(i))->scratch); });
  return {cut.parts(), cut.parts(), scratch};
}

/// Throws dnnl::error.
void compute(const Product& p, char* buffer) {
  const std::shared_ptr<const Kept> kept = kept_for(p);
  const memory::desc scratch({kept->scratch}, memory::data_type::u8, memory::format_tag::a);
  dnnl::stream stream(engine());
  kept->primitive.execute(stream,
                          {{DNNL_ARG_SRC, memory(kept->a, engine(), const_cast<char*>(p.a))},
                           {DNNL_ARG_WEIGHTS, memory(kept->b, engine(), const_cast<char*>(p.b))},
                           {DNNL_ARG_DST, memory(kept->c, engine(), p.c)},
                           {DNNL_ARG_SCRATCHPAD, memory(scratch, engine(), buffer)}});
}

/// Rows or columns are consecutive and the matrix neither repeats nor overlaps itself: else oneDNN
/// takes its plain loops.
bool is_dense(int64 rows, int64 columns, int64 row_stride, int64 column_stride) {
  if (rows == 1 || columns == 1)
    return rows == 1 ? column_stride == 1 || columns == 1 : row_stride == 1 || column_stride == 1;
  return (column_stride == 1 && row_stride >= columns) ||
         (row_stride == 1 && column_stride >= rows);
}

const char* accepts(const Product& p) {
  if (p.dtype == DType::kBf16 && isa() != Isa::kAvx512) return "oneDNN has bf16 on AVX-512 only";
  if (p.batch.numel * p.m * p.n * p.k == 0) return "the product is empty";
  if (!is_dense(p.m, p.k, p.a_m, p.a_k) || !is_dense(p.k, p.n, p.b_k, p.b_n) ||
      !is_dense(p.m, p.n, p.c_m, p.c_n))
    return "neither rows nor columns of an operand are consecutive";
  for (int d = 0; d < p.batch.rank; d++)
    if (p.batch.strides[0][d] == 0 && p.batch.strides[1][d] == 0)
      return "a batch dim is broadcast in both operands";
  if (!has_room(kOneDnnRoom)) return "there is no memory for oneDNN's code";
  return nullptr;
}

int64 scratch_bytes(const Product& p, const MatmulParts&) {
  const SequentialLibraries sequential;
  try {
    return workers_for(Cut(p)).scratch();
  } catch (const dnnl::error&) {
    return 0;  // run says why
  }
}

Status run(const Product& p, const MatmulParts&, const Call& call) {
  const SequentialLibraries sequential;
  try {
    const Cut cut(p);
    Workers workers = workers_for(cut);
    if (!workers.fit(call.scratch_bytes))
      return error(StatusCode::kInvalidArgument, "matmul: expected %lld bytes of scratch, got %lld",
                   (long long)workers.scratch(), (long long)call.scratch_bytes);
    alignas(Workers::kAlignment) char local[kLocalBytes];
    onednn::run_parts(workers, cut.parts(),
                      workers.scratch() > 0 ? static_cast<char*>(call.scratch) : local,
                      [&](int64 i, char* buffer) { compute(cut.part(i), buffer); });
    return {};
  } catch (const dnnl::error& e) {
    return error(onednn::code_of(e), "matmul: oneDNN: %s", e.message);
  }
}

}  // namespace

const MatmulFunctions kOneDnnMatmul{accepts, scratch_bytes, run};

const dnnl::engine& onednn::engine() {
  static const dnnl::engine cpu = (limit_isa(), dnnl::engine(dnnl::engine::kind::cpu, 0));
  return cpu;
}

dnnl::primitive_attr onednn::attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

}  // namespace wick::cpu
