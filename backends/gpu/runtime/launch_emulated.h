// Launches on the emulator: binds the context to a wave width and a matrix layout. The rest is
// ordinary code that takes an emu::BoundKernel (rt_emu.cpp).
#pragma once
#include "device/ctx.h"
#include "wick/abi/backend.h"

namespace wick::gpu {
namespace emu {

/// Runs a kernel bound to each layout that its device may have, the default one first. Check mode runs
/// all of them. flags: those of the kernel's own signature, if it is launched by itself.
Status launch_layouts(const BoundKernel* layouts, int count, const Call& call, uint32 flags);

/// Runs a kernel of the table: once, or in every way in check mode.
Status run_kernel(const Kernel& kernel, const Call& call, Status (*run)(const Call&));

template <class Matrix>
inline constexpr const char* kLayoutName = "";
template <>
inline constexpr const char* kLayoutName<MatrixGfx9> = "gfx9";
template <>
inline constexpr const char* kLayoutName<MatrixGfx11> = "gfx11";
template <>
inline constexpr const char* kLayoutName<MatrixGfx12> = "gfx12";
template <>
inline constexpr const char* kLayoutName<MatrixSm80> = "sm80";

/// The unmodified context. Tests pass another template, whose context wraps C and plants bugs.
template <class C>
using Itself = C;

template <class K>
constexpr bool sums_by_layout() {
  if constexpr (requires { K::kSumsByLayout; }) return K::kSumsByLayout;
  return false;
}

template <class K, class Base, template <class> class Around>
BoundKernel bind(const typename K::Args& args, const Grid& grid) {
  using C = Around<Base>;
  using Shared = typename K::template Shared<C>;
  static_assert(C::kThreads % C::kWave == 0 && 0 < C::kThreads && C::kThreads <= kMaxThreads);
  static_assert(sizeof(Shared) <=
                (kSame<typename C::Matrix, MatrixSm80> ? kMaxSharedBytes : kSharedBytes));
  const auto thread = [](const BoundKernel& kernel, Block* block, void* shared, int thread,
                         const int at[3]) {
    Copies copies;
    const C ctx{Base{kernel.record, block, thread, {at[0], at[1], at[2]}, &copies}};
    K::run(ctx, *static_cast<Shared*>(shared), *static_cast<const typename K::Args*>(kernel.args));
  };
  return {.threads = C::kThreads,
          .wave = C::kWave,
          .grid = {grid.x, grid.y, grid.z},
          .layout = kLayoutName<typename C::Matrix>,
          .sums_by_layout = sums_by_layout<K>(),
          .shared_bytes = sizeof(Shared),
          .args = &args,
          .args_bytes = sizeof(args),
          .record = nullptr,
          .thread = thread};
}

template <class K, int wave, template <class> class Around, class... Layouts>
Status launch_wave(const typename K::Args& args, const Call& call) {
  const Grid grid = K::grid(wave, args);
  const BoundKernel layouts[] = {
      bind<K, Ctx<wave, K::threads(wave), Layouts>, Around>(args, grid)...};
  uint32 flags = 0;
  if constexpr (requires { K::signature.flags; }) flags = K::signature.flags;
  return launch_layouts(layouts, sizeof...(Layouts), call, flags);
}

}  // namespace emu

/// Runs K on the device call.device, whose ordinal is its wave width. Synchronous.
template <class K, template <class> class Around = emu::Itself>
Status launch(const typename K::Args& args, const Call& call) {
  static_assert(check_kernel<K>());
  using emu::launch_wave;
  if constexpr (requires { requires K::kUsesMatrix; }) {
    if (call.device == 64) return launch_wave<K, 64, Around, MatrixGfx9>(args, call);
    if constexpr (requires { requires K::kUsesDoubles; })
      return launch_wave<K, 32, Around, MatrixSm80>(args, call);
    else
      return launch_wave<K, 32, Around, MatrixSm80, MatrixGfx11, MatrixGfx12>(args, call);
  } else {
    if (call.device == 64) return launch_wave<K, 64, Around, NoMatrix>(args, call);
    return launch_wave<K, 32, Around, NoMatrix>(args, call);
  }
}

}  // namespace wick::gpu
