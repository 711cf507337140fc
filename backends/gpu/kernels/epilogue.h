// The epilogue of a product: y = f(sum + bias) + residual, in the sums' type, rounded once. Kernels
// of products apply it to their sums; FinishProduct applies it in place, to a result that another
// kernel or a library has written.
#pragma once
#include "kernels/common.h"
#include "scalar/unary.h"
#include "wick/abi/ops/linear_epilogue.h"

namespace wick::gpu {

/// x[i] = f(x[i]), with the formulas' code once.
template <class C, int n>
WICK_DEVICE void activate(EpilogueActivation activation, Pack<C, n>& x) {
  const auto each = [&](const auto& f) {
    WICK_UNROLL
    for (int e = 0; e < n; e++) x.v[e] = f(x.v[e]);
  };
  switch (activation) {
    case EpilogueActivation::kNone:
      return;
    case EpilogueActivation::kRelu:
      return each(Relu());
    case EpilogueActivation::kSilu:
      return each(Silu());
    case EpilogueActivation::kGelu:
      return each(Gelu());
    case EpilogueActivation::kGeluTanh:
      return each(GeluTanh());
  }
}

/// The epilogue of a product of T, as a kernel has it.
template <class T>
struct Epilogue {
  using C = Compute<T>;
  const T* bias;         // of a column; or nullptr
  const void* residual;  // laid out as the result, in its dtype; or nullptr
  EpilogueActivation activation;
  bool is_wide;  // the result is of C

  static Epilogue none() { return {nullptr, nullptr, EpilogueActivation::kNone, false}; }
  /// The epilogue of a call of linear_epilogue.
  static Epilogue of(const Call& call) {
    const auto& a = *static_cast<const EpilogueAttributes*>(call.attributes);
    return {a.has_bias ? call.in[2].as<const T>() : nullptr,
            a.has_residual ? call.in[3].data : nullptr, a.activation,
            call.out[0].dtype != kDTypeOf<T>};
  }
  static const char* check(const Call& call) {
    const auto& a = *static_cast<const EpilogueAttributes*>(call.attributes);
    const View &weight = call.in[1], &bias = call.in[2], &residual = call.in[3], &y = call.out[0];
    if (weight.rank != 2 || y.rank != 2) return "x and the weight are not matrices";
    if (a.has_bias && !(bias.rank == 1 && bias.shape[0] == weight.shape[0] && bias.contiguous()))
      return "the bias is not one contiguous row";
    if (a.has_residual && !(residual.rank == 2 && residual.shape[0] == y.shape[0] &&
                            residual.shape[1] == y.shape[1] && residual.contiguous()))
      return "the residual does not lie as the result";
    return nullptr;
  }
  /// Whether there is more to do than to add a bias and to round.
  WICK_HD bool is_more_than_bias() const {
    return residual || activation != EpilogueActivation::kNone || is_wide;
  }
  /// Whether neighbours along n can be read and written n at a time, if the result's can.
  bool in_packs() const { return is_aligned(bias) && is_aligned(residual); }

  /// A sum of column n with its bias.
  WICK_DEVICE C with_bias(C sum, int n) const { return bias ? sum + widen<C>(bias[n]) : sum; }

  /// Finishes the sums of neighbours from `column` on, of which the row has `left`, and stores them
  /// from element `at` of the result y on. packs: as one pack.
  template <int n>
  WICK_DEVICE void store(void* y, int64 at, int column, int left, bool packs, Pack<C, n> x) const {
    if (bias) add(bias + column, left, packs, x);
    activate(activation, x);
    if (!kSame<T, C> && is_wide)
      add_and_store<C>(y, at, left, packs, x);
    else
      add_and_store<T>(y, at, left, packs, x);
  }

 private:
  template <class X, int n>
  static WICK_DEVICE void add(const X* from, int left, bool packs, Pack<C, n>& x) {
    Pack<X, n> more;
    if (packs)
      more = load_pack<n>(from);
    else
      one_by_one([&] {
        for (int e = 0; e < n; e++) more.v[e] = e < left ? from[e] : X{};
      });
    for (int e = 0; e < n; e++) x.v[e] += widen<C>(more.v[e]);
  }
  template <class X, int n>
  WICK_DEVICE void add_and_store(void* y, int64 at, int left, bool packs, Pack<C, n>& x) const {
    if (residual) add(static_cast<const X*>(residual) + at, left, packs, x);
    X* const to = static_cast<X*>(y) + at;
    Pack<X, n> rounded;
    for (int e = 0; e < n; e++) rounded.v[e] = narrow<X>(x.v[e]);
    if (packs)
      store_pack(to, rounded);
    else
      one_by_one([&] {
        for (int e = 0; e < n; e++)
          if (e < left) to[e] = rounded.v[e];
      });
  }
};

// y = f(y + bias) + residual, in place.
template <class T>
struct FinishProduct {
  static constexpr int kThreads = 256, kPack = 4;
  struct Args {
    T* y;  // contiguous
    Epilogue<T> epilogue;
    int64 first, end;  // elements
    int32 n;           // of a row
    bool packs;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(ceil_div<int64>(a.end - a.first, kThreads * kPack))};
  }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using C = Compute<T>;
    const int64 at = a.first + (int64(ctx.block().x) * kThreads + ctx.thread()) * kPack;
    if (at >= a.end) return;
    const int column = a.epilogue.bias ? int(at % a.n) : 0;
    Pack<C, kPack> x;
    if (a.packs) {
      const auto y = load_pack<kPack>(a.y + at);
      for (int e = 0; e < kPack; e++) x.v[e] = widen<C>(y.v[e]);
      a.epilogue.store(a.y, at, column, kPack, true, x);
      return;
    }
    WICK_ROLL
    for (int e = 0; e < kPack && at + e < a.end; e++) {
      const Pack<C, 1> one{{widen<C>(a.y[at + e])}};
      a.epilogue.store(a.y, at + e, (column + e) % a.n, 1, false, one);
    }
  }
};

/// Applies an epilogue to the result of a call of linear_epilogue of T.
template <class T>
Status finish_product(const Call& call, const Epilogue<T>& epilogue) {
  if (!epilogue.bias && !epilogue.is_more_than_bias()) return {};
  using K = FinishProduct<T>;
  const View& y = call.out[0];
  const bool packs = y.shape[1] % K::kPack == 0 && is_aligned(y.data) && epilogue.in_packs();
  for (int64 first = 0, count = y.numel(); first < count; first += kLaunchLimit) {
    const int64 end = count - first < kLaunchLimit ? count : first + kLaunchLimit;
    const Status status =
        launch<K>({y.as<T>(), epilogue, first, end, int32(y.shape[1]), packs}, call);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace wick::gpu
