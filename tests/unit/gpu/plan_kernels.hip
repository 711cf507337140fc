// Users' kernels for rocm_kernel_test.cpp: elementwise kernels that take their operands' layouts from
// memory, with the parameters of candle's kernels, and one with shared memory. clang compiles the file
// without HIP's headers.
//
// info: numel's dims, then the strides of each input; nullptr if all are contiguous. Threads of a
// block: 256.
#define GLOBAL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define DEVICE __attribute__((device))

using size_t = decltype(sizeof 0);

DEVICE size_t thread_index() {
  return size_t(__builtin_amdgcn_workgroup_id_x()) * 256 + __builtin_amdgcn_workitem_id_x();
}
/// Where element i of a tensor with these dims is.
DEVICE size_t strided(size_t i, size_t num_dims, const size_t* dims, const size_t* strides) {
  size_t at = 0;
  for (size_t d = num_dims; d-- > 0;) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

#define UNARY(name, In, Out, formula)                                                     \
  GLOBAL void name(size_t numel, size_t num_dims, const size_t* info, const In* inp,      \
                   Out* out) {                                                            \
    const size_t i = thread_index();                                                      \
    if (i >= numel) return;                                                               \
    const size_t from = info ? strided(i, num_dims, info, info + num_dims) : i;           \
    const In x = inp ? inp[from] : reinterpret_cast<const In*>(out)[i];                   \
    out[i] = formula;                                                                     \
  }
UNARY(usqr_f32, float, float, x* x)
UNARY(uneg_f64, double, double, -x)
UNARY(cast_f32_f16, float, _Float16, _Float16(x))
UNARY(cast_i64_f32, long long, float, float(x))

GLOBAL void affine_f32(size_t numel, size_t num_dims, const size_t* info, const float* inp,
                       float* out, float mul, float add) {
  const size_t i = thread_index();
  if (i >= numel) return;
  const size_t from = info ? strided(i, num_dims, info, info + num_dims) : i;
  const float x = inp ? inp[from] : out[i];
  out[i] = x * mul + add;
}

GLOBAL void badd_f32(size_t numel, size_t num_dims, const size_t* info, const float* lhs,
                     const float* rhs, float* out) {
  const size_t i = thread_index();
  if (i >= numel) return;
  const size_t l = info ? strided(i, num_dims, info, info + num_dims) : i;
  const size_t r = info ? strided(i, num_dims, info, info + 2 * num_dims) : i;
  out[i] = lhs[l] + rhs[r];
}

GLOBAL void where_u8_f32(size_t numel, size_t num_dims, const size_t* info,
                         const unsigned char* ids, const float* t, const float* f, float* out) {
  const size_t i = thread_index();
  if (i >= numel) return;
  const size_t* strides = info + num_dims;
  out[i] = ids[strided(i, num_dims, info, strides)]
               ? t[strided(i, num_dims, info, strides + num_dims)]
               : f[strided(i, num_dims, info, strides + 2 * num_dims)];
}

/// Reverses each block of `threads` elements, in dynamic shared memory.
extern "C" __attribute__((shared)) float row[];
GLOBAL void reverse_f32(const float* in, float* out, int threads) {
  const int t = __builtin_amdgcn_workitem_id_x();
  const size_t first = size_t(__builtin_amdgcn_workgroup_id_x()) * threads;
  row[t] = in[first + t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[first + t] = row[threads - 1 - t];
}
