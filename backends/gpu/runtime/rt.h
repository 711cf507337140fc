// What kernels of the table need of the runtime they stand on: rt_rocm.cpp, rt_cuda.cpp and rt_emu.cpp
// each provide it.
#pragma once
#include "device/ctx.h"
#include "wick/abi/backend.h"

namespace wick::gpu {

/// Threads of a wave on the device with this ordinal.
int wave_of(int32 device);

/// The table's find_kernels for a device of these families: kernels in order of preference, how many
/// (registry.cpp).
int32 look_up(int32 device, unsigned families, const KernelQuery*, const Kernel** kernels);
/// The table's list_ops.
int32 list_ops(const Op* const** ops);

#if !defined(WICK_EMULATED)
/// Launches the kernel that the compiler registered for this stub; args is copied. Names the kernel
/// when it fails. The last argument of every kernel is the stream's ErrorRecord*.
Status launch_stub(const void* stub, const char* kernel, Grid grid, int threads, const void* args,
                   const Call& call);

template <class K>
Status launch(const typename K::Args& args, const Call& call) {
  static_assert(check_kernel<K>());
  const int wave = wave_of(call.device);
  return launch_stub(reinterpret_cast<const void*>(&entry<K>), call.op->name, K::grid(wave, args),
                     K::threads(wave), &args, call);
}
#endif

}  // namespace wick::gpu
#if defined(WICK_EMULATED)
#include "runtime/launch_emulated.h"  // template <class K> Status launch(const typename K::Args&, const Call&)
#endif
