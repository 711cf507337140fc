// Every exchange of ctx.h's shuffle_xor, and its sync_shared, for rocm_kernel_test.cpp. Blocks have two waves.
#include "device/ctx.h"

namespace wick::gpu {

template <int mask, class C>
WICK_DEVICE void exchange_all(const C& ctx, int32* words, int64* pairs) {
  if constexpr (mask < C::kWave) {
    const int at = mask * C::kThreads + ctx.thread();
    words[at] = ctx.template shuffle_xor<mask>(words[ctx.thread()]);
    pairs[at] = ctx.template shuffle_xor<mask>(pairs[ctx.thread()]);
    exchange_all<mask + 1>(ctx, words, pairs);
  }
}

template <int mask, class C>
WICK_DEVICE void exchange_for_some(const C& ctx, const int32* x, int32* y) {
  if constexpr (mask < C::kWave) {
    const int32 other = ctx.template shuffle_xor<mask>(x[ctx.thread()] * mask);
    if (ctx.lane() < 4) y[mask * C::kThreads + ctx.thread()] = other;
    exchange_for_some<mask + 1>(ctx, x, y);
  }
}

/// y[m] = m x of lane ^ m in the first 4 lanes of each wave, which alone use it. x: [2 wave]. y: [wave, 2 wave].
extern "C" WICK_KERNEL void exchange_some([[maybe_unused]] const int32* x,
                                          [[maybe_unused]] int32* y) {
#if defined(WICK_DEVICE_PASS)
  exchange_for_some<1>(Ctx<kDeviceWave, 2 * kDeviceWave, NoMatrix>{}, x, y);
#endif
}

/// words, pairs: [wave, 2 wave]. Row 0 is the input; row m becomes what lane ^ m has of it.
extern "C" WICK_KERNEL void exchange([[maybe_unused]] int32* words, [[maybe_unused]] int64* pairs) {
#if defined(WICK_DEVICE_PASS)
  exchange_all<1>(Ctx<kDeviceWave, 2 * kDeviceWave, NoMatrix>{}, words, pairs);
#endif
}

/// y = x in reverse, `rounds` times, through shared memory. x, y: [2 wave].
extern "C" WICK_KERNEL void reverse([[maybe_unused]] const int32* x, [[maybe_unused]] int32* y,
                                    [[maybe_unused]] int rounds) {
#if defined(WICK_DEVICE_PASS)
  const Ctx<kDeviceWave, 2 * kDeviceWave, NoMatrix> ctx{};
  __attribute__((shared)) static int32 values[ctx.kThreads];
  int32 value = x[ctx.thread()];
  for (int i = 0; i < rounds; i++) {
    values[ctx.thread()] = value;
    ctx.sync_shared();
    value = values[ctx.kThreads - 1 - ctx.thread()];
    ctx.sync_shared();
  }
  y[ctx.thread()] = value;
#endif
}

}  // namespace wick::gpu
