// What kernels need from the runtime. rt_rocm.cpp, rt_cuda.cpp and rt_emu.cpp each implement it.
#pragma once
#include "device/ctx.h"
#include "wick/abi/backend.h"

namespace wick::gpu {

/// The wave width of the device with this ordinal.
int wave_of(int32 device);

/// Backend::find_kernels for a device of these families: writes the kernels in order of preference and
/// returns their number (registry.cpp).
int32 look_up(int32 device, unsigned families, const KernelQuery*, const Kernel** kernels);
/// Backend::list_ops.
int32 list_ops(const Op* const** ops);

#if !defined(WICK_EMULATED)
/// Launches the kernel that the compiler registered for this stub, with a copy of args. An error names
/// the kernel. The last argument of every kernel is the stream's ErrorRecord*.
/// shared_bytes: of dynamic shared memory.
Status launch_stub(const void* stub, const char* kernel, Grid grid, int threads, int shared_bytes,
                   const void* args, const Call& call);

/// The module's table.
const Backend& backend();

/// A stream of the vendor's runtime, for a vendor's library.
struct NativeStream {
  void* handle;
  bool capturing;  // into a graph: nothing may wait for the device or allocate
};
/// Calls work(context, stream) with the call's device current and its stream; errors of later calls name
/// `kernel` as the stream's last.
Status with_native_stream(const char* kernel, const Call& call,
                          Status (*work)(void* context, NativeStream), void* context);

template <class K>
Status launch(const typename K::Args& args, const Call& call) {
  static_assert(check_kernel<K>());
  const int wave = wave_of(call.device);
  return launch_stub(reinterpret_cast<const void*>(&entry<K>), call.op->name, K::grid(wave, args),
                     K::threads(wave), kDynamicBytes<K>, &args, call);
}
#endif

}  // namespace wick::gpu
#if defined(WICK_EMULATED)
#include "runtime/launch_emulated.h"  // template <class K> Status launch(const typename K::Args&, const Call&)
#endif
