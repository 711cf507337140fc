// f32 and bf16 products by oneDNN: memory descriptors carry the strides, so nothing is copied;
// primitives are kept by shape.
#include "libs/onednn.h"

#include <memory>

#include "base/parallel.h"
#include "drive/matmul.h"
#include "runtime/isa.h"
#include "runtime/table.h"

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

Key key_of(const Product& p, DType dtype, int threads) {
  Key key;
  size_t at = 0;
  for (const int64 n : {int64(dtype), int64(threads), int64(p.batch.rank), p.m, p.n, p.k, p.a_m,
                        p.a_k, p.b_k, p.b_n, p.c_m, p.c_n})
    key.numbers[at++] = n;
  for (int d = 0; d < p.batch.rank; d++) {
    key.numbers[at++] = p.batch.shape[d];
    for (int i = 0; i < 3; i++) key.numbers[at++] = p.batch.strides[i][d];
  }
  return key;
}

std::shared_ptr<Kept> make(const Product& p, DType dtype) {
  const auto type = dtype == DType::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
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

std::shared_ptr<const Kept> kept_for(const Product& p, DType dtype) {
  // Never destroyed: oneDNN's own statics may go first.
  static auto* const cache = new onednn::Cache<Kept>;
  return cache->get(key_of(p, dtype, threads_here()), [&] { return make(p, dtype); });
}

/// Rows or columns are consecutive and the matrix neither repeats nor overlaps itself: else oneDNN
/// takes its plain loops.
bool is_dense(int64 rows, int64 columns, int64 row_stride, int64 column_stride) {
  if (rows == 1 || columns == 1)
    return rows == 1 ? column_stride == 1 || columns == 1 : row_stride == 1 || column_stride == 1;
  return (column_stride == 1 && row_stride >= columns) ||
         (row_stride == 1 && column_stride >= rows);
}

}  // namespace

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

const char* accepts_onednn(const Kernel*, const Call* call, const DeviceInfo*) {
  if (call->in[0].dtype == DType::kBf16 && isa() != Isa::kAvx512)
    return "oneDNN has bf16 on AVX-512 only";
  const Product p(*call);
  if (p.batch.numel * p.m * p.n * p.k == 0) return "the product is empty";
  if (!is_dense(p.m, p.k, p.a_m, p.a_k) || !is_dense(p.k, p.n, p.b_k, p.b_n) ||
      !is_dense(p.m, p.n, p.c_m, p.c_n))
    return "neither rows nor columns of an operand are consecutive";
  for (int d = 0; d < p.batch.rank; d++)
    if (p.batch.strides[0][d] == 0 && p.batch.strides[1][d] == 0)
      return "a batch dim is broadcast in both operands";
  return nullptr;
}

int64 onednn_scratch(const Kernel*, const Call* call, const DeviceInfo*) {
  const LibraryThreads threads;
  try {
    return kept_for(Product(*call), call->in[0].dtype)->scratch;
  } catch (const dnnl::error&) {
    return 0;  // run says why
  }
}

Status run_onednn(const Kernel*, const Call* call) {
  const LibraryThreads threads;
  try {
    const Product p(*call);
    const std::shared_ptr<const Kept> kept = kept_for(p, call->in[0].dtype);
    if (kept->scratch > call->scratch_bytes)
      return error(StatusCode::kInvalidArgument, "matmul: expected %lld bytes of scratch, got %lld",
                   (long long)kept->scratch, (long long)call->scratch_bytes);
    const memory::desc scratch({kept->scratch}, memory::data_type::u8, memory::format_tag::a);
    dnnl::stream stream(engine());
    kept->primitive.execute(stream,
                            {{DNNL_ARG_SRC, memory(kept->a, engine(), const_cast<char*>(p.a))},
                             {DNNL_ARG_WEIGHTS, memory(kept->b, engine(), const_cast<char*>(p.b))},
                             {DNNL_ARG_DST, memory(kept->c, engine(), p.c)},
                             {DNNL_ARG_SCRATCHPAD, memory(scratch, engine(), call->scratch)}});
    return {};
  } catch (const dnnl::error& e) {
    return error(StatusCode::kDeviceError, "matmul: oneDNN: %s", e.message);
  }
}

}  // namespace wick::cpu
