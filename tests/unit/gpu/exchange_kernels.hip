// Every exchange of ctx.h's shuffle_xor, for rocm_kernel_test.cpp. Blocks have two waves.
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

/// words, pairs: [wave, 2 wave]. Row 0 is the input; row m becomes what lane ^ m has of it.
extern "C" WICK_KERNEL void exchange([[maybe_unused]] int32* words, [[maybe_unused]] int64* pairs) {
#if defined(WICK_DEVICE_PASS)
  exchange_all<1>(Ctx<kDeviceWave, 2 * kDeviceWave, NoMatrix>{}, words, pairs);
#endif
}

}  // namespace wick::gpu
