// rocBLAS, computed on the host. The numbers are those of its headers.
#include "fake.h"

using namespace fake;

namespace {

struct Handle {
  void* stream = nullptr;
  int atomics = 1;
  int products = 0;
};

Type type_of(int rocblas_datatype) {
  switch (rocblas_datatype) {
    case 150:
      return kF16;
    case 151:
      return kF32;
    case 152:
      return kF64;
    default:
      return kBf16;
  }
}

}  // namespace

extern "C" {

int rocblas_create_handle(void** handle) {
  if (fault("aborts")) std::abort();  // as rocBLAS does without its files
  if (fault("create")) return 5;
  *handle = new Handle;
  return 0;
}
int rocblas_set_stream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
#if !defined(FAKE_ROCBLAS_INCOMPLETE)
int rocblas_set_atomics_mode(void* handle, int mode) {
  static_cast<Handle*>(handle)->atomics = mode;
  return 0;
}
#endif
const char* rocblas_status_to_string(int status) {
  return status == 2   ? "rocblas_status_not_implemented"
         : status == 5 ? "rocblas_status_memory_error"
                       : "rocblas_status_internal_error";
}
int rocblas_get_version_string(char* text, size_t bytes) {
  std::snprintf(text, bytes, "9.8.7.fake");
  return 0;
}

int rocblas_gemm_strided_batched_ex(void* handle, int transpose_a, int transpose_b, int m, int n,
                                    int k, const void* alpha, const void* a, int a_type, int lda,
                                    int64_t stride_a, const void* b, int b_type, int ldb,
                                    int64_t stride_b, const void* beta, const void*, int, int,
                                    int64_t, void* d, int d_type, int ldd, int64_t stride_d,
                                    int batches, int compute_type, int, int32_t, uint32_t) {
  auto& h = *static_cast<Handle*>(handle);
  h.products++;
  if (fault("product")) return 6;
  if (fault("later") && h.products > 8) return 6;
  if (fault("unsupported") && h.products > 8) return 2;
  const Type type = type_of(a_type), compute = type_of(compute_type);
  const double one = load(alpha, 0, compute), zero = load(beta, 0, compute);
  const bool as_documented = one == 1 && zero == 0 && h.atomics == 0 && a_type == b_type &&
                             a_type == d_type && compute == (type == kF64 ? kF64 : kF32) &&
                             lda >= (transpose_a == 111 ? m : k) &&
                             ldb >= (transpose_b == 111 ? k : n) && ldd >= m;
  if (!as_documented) return 4;
  log(std::string(transpose_a == 111 ? "N" : "T") + (transpose_b == 111 ? "N" : "T") + " " +
      std::to_string(a_type) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
      std::to_string(k) + " batches " + std::to_string(batches));
  wait_for(h.stream);
  for (int batch = 0; batch < batches; batch++)
    for (int64_t column = 0; column < n; column++)
      for (int64_t row = 0; row < m; row++) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
          sum +=
              load(a, batch * stride_a + (transpose_a == 111 ? i * lda + row : row * lda + i),
                   type) *
              load(b, batch * stride_b + (transpose_b == 111 ? column * ldb + i : i * ldb + column),
                   type);
        if (fault("wrong") && row == 1 && column == 1) sum += 1;
        store(d, batch * stride_d + column * ldd + row, type, sum);
      }
  return 0;
}

}  // extern "C"
