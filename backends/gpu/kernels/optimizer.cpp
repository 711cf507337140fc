// adamw: parameter, mean and square updated in place, elementwise.
#include "wick/abi/ops/optimizer.h"
#include "kernels/row_groups.h"

namespace wick::gpu {
namespace {

// A thread takes 16 bytes of each operand. Values stored in a narrow type are rounded once; the
// step is computed from the unrounded values.
template <class T>
struct AdamW {
  using C = Compute<T>;
  static constexpr int kThreads = 256, kPack = kFloatPack<T>;
  struct Args {
    T *parameter, *mean, *square;
    const T* gradient;
    uint32 numel;
    bool aligned;
    C decay;                           // 1 - rate weight_decay
    C rate, beta1, beta2, new1, new2;  // new: 1 - beta
    C mean_scale, square_scale, eps;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(ceil_div(a.numel, uint32(kThreads * kPack)))};
  }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 i = (uint32(ctx.block().x) * kThreads + ctx.thread()) * kPack;
    if (i >= a.numel) return;
    C g[kPack], mean[kPack], square[kPack], parameter[kPack];
    load_part(a.gradient, i, a.numel, a.aligned, C(0), g);
    load_part(a.mean, i, a.numel, a.aligned, C(0), mean);
    load_part(a.square, i, a.numel, a.aligned, C(0), square);
    load_part(a.parameter, i, a.numel, a.aligned, C(0), parameter);
    for (int e = 0; e < kPack; e++) {
      mean[e] = a.beta1 * mean[e] + a.new1 * g[e];
      square[e] = a.beta2 * square[e] + a.new2 * (g[e] * g[e]);
      const C step = mean[e] * a.mean_scale / (sqrt(square[e] * a.square_scale) + a.eps);
      parameter[e] = parameter[e] * a.decay - a.rate * step;
    }
    store_part(a.mean, i, a.numel, a.aligned, mean);
    store_part(a.square, i, a.numel, a.aligned, square);
    store_part(a.parameter, i, a.numel, a.aligned, parameter);
  }
};

template <class T>
struct AdamWLaunch {
  using C = Compute<T>;
  static constexpr Signature signature{kAdamW, kDTypeOf<T>, kKernelAccumulates};
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View* const all_x[] = {&call.in[0], &call.out[0], &call.out[1], &call.out[2]};
    for (const View* x : all_x)
      if (const char* why = check_vector(*x, call.in[0].numel())) return why;
    return nullptr;
  }
  static Status run(const Call& call) {
    const auto& a = *static_cast<const AdamWAttributes*>(call.attributes);
    Operands<4> all;
    const View* const views[] = {&call.out[0], &call.out[1], &call.out[2], &call.in[0]};
    bool aligned = true;
    for (int o = 0; o < 4; o++) {
      all.data[o] = static_cast<char*>(views[o]->data);
      all.element_bytes[o] = sizeof(T);
      aligned = aligned && is_aligned(all.data[o]);
    }
    all.add_dim(call.in[0].numel(), {1, 1, 1, 1});
    return for_each_part(all, [&](const Operands<4>& part) {
      T* data[4];
      for (int o = 0; o < 4; o++) data[o] = reinterpret_cast<T*>(part.data[o]);
      return launch<AdamW<T>>(
          {data[0], data[1], data[2], data[3], uint32(part.numel()), aligned,
           C(1 - a.rate * a.weight_decay), C(a.rate), C(a.beta1), C(a.beta2), C(1 - a.beta1),
           C(1 - a.beta2), C(a.mean_scale), C(a.square_scale), C(a.eps)},
          call);
    });
  }
};

}  // namespace

template <>
void add_family<"optimizer">(KernelList& list) {
  add_kernels<AdamWLaunch>(list, "contiguous", FloatTypes{});
}

}  // namespace wick::gpu
