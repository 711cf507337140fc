// The interface between a kernel and its device, implemented for AMD, NVIDIA and the emulator.
//
//   struct K {
//     struct Args {...};                       // plain data, by value
//     static constexpr int threads(int wave);  // per block, a multiple of the wave
//     static Grid grid(int wave, const Args&); // blocks; called on the host
//     template <class Ctx>
//     struct Shared {...};                     // a block's shared memory; no initializers
//     template <class Ctx>
//     static WICK_DEVICE void run(const Ctx&, Shared<Ctx>&, const Args&);
//
//     static constexpr int kResidentBlocks = 2;   // optional: NVIDIA's compiler limits registers so
//                                                 // that so many blocks fit on a multiprocessor
//     static constexpr bool kUsesMatrix = true;   // required if it uses mma.h: the emulator then
//                                                 // runs every vendor's layout
//     static constexpr bool kUsesDoubles = true;  // required beside it for mma.h's f64: only layouts
//                                                 // that have them
//     template <class Ctx>                        // optional: calls ctx.prefetch for constants, before
//     static WICK_DEVICE void prefetch(const Ctx&, const Args&);  // the kernels ahead have finished
//     static constexpr bool kSumsByLayout = true; // required if the order of its sums depends on that
//   };
//
// Ctx::kWave, kThreads, kWaves and Matrix (mma_layout.h) are constants. Blocks are one-dimensional;
// grids have up to three dimensions (y and z below 65,536). Every thread of the block must call sync
// and sync_shared in the same place, and every lane of the wave a wave operation (shuffle, shuffle_xor,
// ballot, those of mma.h). thread, lane, wave and block may be called anywhere.
//
// After sync(), the block's threads see what each of them wrote before. sync_shared() promises that of
// shared memory alone: AMD's cards then need not wait for accesses to global memory that are on their way.
//
// shuffle(v, lane) is v of another lane; shuffle_xor<mask>(v) that of lane() ^ mask, 0 < mask < kWave, which
// is faster on AMD's cards. v has 4 or 8 bytes.
//
// Ctx::Words are 16 bytes. A pack that is loaded as Words and cast when it is used is one load: else AMD's
// compiler may split the load, or transpose the pack, and wait for it, where it is loaded.
//
// prefetch(from, bytes) begins to bring bytes < 2^32, which all lie in one allocation, into the cache; a block's share
// of it is kPrefetchBytes. Only sm_90 and later start a kernel early and call K::prefetch.
//
// Where Ctx::kCopiesAsync, copies into shared memory run beside other work:
//   copy_async(to, from, inside)   begins to copy 16 bytes, both aligned to 16; zeros unless inside,
//                                  when `from` may be any address
//   commit_copies()                makes a group of the thread's copies since the last commit
//   wait_copies<n>()               waits until at most n groups of the thread are on their way; the
//                                  other threads see the bytes after a sync
#pragma once
#include "device/mma_layout.h"
#include "device/pass.h"
#include "wick/abi/op.h"

namespace wick::gpu {

struct Grid {
  int x = 1, y = 1, z = 1;
};

/// Calls f<mask>() for mask = most, most / 2 ... least, which are powers of 2; not at all if most < least.
template <int most, int least, class F>
WICK_INLINE void masks_down(const F& f) {
  if constexpr (most >= least) {
    f.template operator()<most>();
    masks_down<most / 2, least>(f);
  }
}
/// Calls f<mask>() for mask = least, 2 least ... below end.
template <int least, int end, class F>
WICK_INLINE void masks_up(const F& f) {
  if constexpr (least < end) {
    f.template operator()<least>();
    masks_up<2 * least, end>(f);
  }
}

namespace detail {
struct SomeCtx;
template <class K>
concept HasArgs = requires {
  typename K::Args;
}
&&__is_trivially_copyable(typename K::Args);
template <class K>
concept HasThreads = requires {
  requires kSame<decltype(K::threads(32)), int>;
};
template <class K>
concept HasGrid = requires(const typename K::Args& args) {
  requires kSame<decltype(K::grid(32, args)), Grid>;
};
template <class K>
concept HasRun = requires(const SomeCtx& ctx, typename K::template Shared<SomeCtx>& shared,
                          const typename K::Args& args) {
  requires kSame<decltype(K::run(ctx, shared, args)), void>;
};
}  // namespace detail

/// Whether K is a kernel as described above. If not, check_kernel<K>() reports what it lacks.
template <class K>
concept IsKernel =
    detail::HasArgs<K> && detail::HasThreads<K> && detail::HasGrid<K> && detail::HasRun<K>;
template <class K>
constexpr bool check_kernel() {
  static_assert(detail::HasArgs<K>, "a kernel K has a struct Args of plain data");
  static_assert(detail::HasThreads<K>, "a kernel K has static constexpr int threads(int wave)");
  static_assert(detail::HasGrid<K>, "a kernel K has static Grid grid(int wave, const Args&)");
  static_assert(detail::HasRun<K>,
                "a kernel K has template <class Ctx> struct Shared, and template <class Ctx> "
                "static void run(const Ctx&, Shared<Ctx>&, const Args&)");
  return true;
}

}  // namespace wick::gpu

#if defined(WICK_AMD)
#include "device/ctx_amd.h"
#elif defined(WICK_NVIDIA)
#include "device/ctx_nvidia.h"
#else
#include "device/ctx_emulated.h"
#endif
