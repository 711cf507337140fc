// y += a x: the user's kernel of rocm_memory_test.cpp. clang compiles it without HIP's headers.
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void axpy(float* y,
                                                                                  const float* x,
                                                                                  float a, int n) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] += a * x[i];
}
