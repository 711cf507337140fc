// Runs a formula over elements on the CPU. This file is not included: its text, with that of
// everything it includes, precedes the formula when wick compiles it (formula_source.h). A formula
// therefore calls the same functions as wick's own kernels.
#pragma once
#include "ops/custom/formula_values.h"

namespace wick::formula {

#if defined(__AVX512F__)
inline constexpr int kLaneBytes = 64;
#elif defined(__AVX__)
inline constexpr int kLaneBytes = 32;
#else
inline constexpr int kLaneBytes = 16;
#endif
template <class S>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kLaneBytes)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kLaneBytes)));
};

/// A register of floats that behaves like an S, built on the compiler's vector extension. No select
/// becomes a branch, which would be mispredicted for half of a formula's operands. Elementary
/// functions call the C library lane by lane.
template <class S>
struct Lanes {
  using Vector = typename VectorOf<S>::type;
  using Mask = decltype(Vector() < Vector());
  static constexpr int kCount = kLaneBytes / int(sizeof(S));

  Vector v;

  Lanes() = default;
  Lanes(Vector vector) : v(vector) {}
  explicit Lanes(S value) : v(value - Vector{}) {}  // x - 0 is x, for -0 too

  friend Lanes operator+(Lanes a, Lanes b) { return a.v + b.v; }
  friend Lanes operator-(Lanes a, Lanes b) { return a.v - b.v; }
  friend Lanes operator*(Lanes a, Lanes b) { return a.v * b.v; }
  friend Lanes operator/(Lanes a, Lanes b) { return a.v / b.v; }
  friend Lanes operator-(Lanes a) { return -a.v; }

  friend Mask operator<(Lanes a, Lanes b) { return a.v < b.v; }
  friend Mask operator<=(Lanes a, Lanes b) { return a.v <= b.v; }
  friend Mask operator>(Lanes a, Lanes b) { return a.v > b.v; }
  friend Mask operator>=(Lanes a, Lanes b) { return a.v >= b.v; }
  friend Mask operator==(Lanes a, Lanes b) { return a.v == b.v; }
  friend Mask operator!=(Lanes a, Lanes b) { return a.v != b.v; }
  friend Lanes select(Mask condition, Lanes a, Lanes b) { return condition ? a.v : b.v; }

  /// Applies f to each lane.
  template <class F>
  static Lanes each(F f, Lanes a, Lanes b = Lanes(S(0))) {
    alignas(kLaneBytes) S x[kCount], y[kCount];
    __builtin_memcpy(x, &a, sizeof a), __builtin_memcpy(y, &b, sizeof b);
    for (int i = 0; i < kCount; i++) x[i] = f(x[i], y[i]);
    __builtin_memcpy(&a, x, sizeof a);
    return a;
  }

  // The functions of scalar/math.h and scalar/gamma.h.
#define WICK_EACH(name)                                      \
  friend Lanes name(Lanes a) {                               \
    return each([](S x, S) { return S(wick::name(x)); }, a); \
  }
#define WICK_EACH_2(name)                                            \
  friend Lanes name(Lanes a, Lanes b) {                              \
    return each([](S x, S y) { return S(wick::name(x, y)); }, a, b); \
  }
  WICK_EACH(abs)
  WICK_EACH(sqrt)
  WICK_EACH(floor)
  WICK_EACH(ceil)
  WICK_EACH(trunc)
  WICK_EACH(round_even)
  WICK_EACH(exp)
  WICK_EACH(exp2)
  WICK_EACH(expm1)
  WICK_EACH(log)
  WICK_EACH(log2)
  WICK_EACH(log10)
  WICK_EACH(log1p)
  WICK_EACH(sin)
  WICK_EACH(cos)
  WICK_EACH(tan)
  WICK_EACH(asin)
  WICK_EACH(acos)
  WICK_EACH(atan)
  WICK_EACH(sinh)
  WICK_EACH(cosh)
  WICK_EACH(tanh)
  WICK_EACH(asinh)
  WICK_EACH(acosh)
  WICK_EACH(atanh)
  WICK_EACH(erf)
  WICK_EACH(erfc)
  WICK_EACH(quick_erfc)
  WICK_EACH(lgamma)
  WICK_EACH(digamma)
  WICK_EACH(trigamma)
  WICK_EACH_2(pow)
  WICK_EACH_2(fmod)
  WICK_EACH_2(atan2)
  WICK_EACH_2(polygamma)
#undef WICK_EACH
#undef WICK_EACH_2
  friend Lanes fma(Lanes a, Lanes b, Lanes c) {
    for (int i = 0; i < kCount; i++) a.v[i] = wick::fma(a.v[i], b.v[i], c.v[i]);
    return a;
  }
};

/// The type of a formula's values: lanes for floats; a single element for integers, whose loops the
/// compiler vectorizes.
template <class S>
struct ValueOf {
  using type = S;
  using Mask = bool;
  static constexpr int kCount = 1;
};
template <class S>
requires(kSame<S, float> || kSame<S, double>) struct ValueOf<S> {
  using type = Lanes<S>;
  using Mask = typename Lanes<S>::Mask;
  static constexpr int kCount = Lanes<S>::kCount;
};
template <class S>
using Value = typename ValueOf<S>::type;
template <class S>
using Mask = typename ValueOf<S>::Mask;

template <class S>
Value<S> number(Mask<S> a) {
  if constexpr (kSame<Mask<S>, bool>)
    return S(a);
  else
    return select(a, Value<S>(S(1)), Value<S>(S(0)));
}

/// Calls F on lanes.
template <class F, class S, class... More>
auto call(Lanes<S> x, More... more) {
  if constexpr (kSame<decltype(F()(x, more...)), bool>) {  // a predicate takes single elements
    Mask<S> y;
    for (int i = 0; i < Lanes<S>::kCount; i++) y[i] = -int(F()(x.v[i], more.v[i]...));
    return y;
  } else {
    return F()(x, more...);
  }
}
template <class S>
Value<S> load(const S* from, int64 stride, int64 count) {
  if constexpr (ValueOf<S>::kCount == 1) {
    return *from;
  } else {
    S x[ValueOf<S>::kCount] = {};
    if (stride == 1 && count == ValueOf<S>::kCount)
      __builtin_memcpy(x, from, sizeof x);
    else
      for (int64 i = 0; i < count; i++) x[i] = from[i * stride];
    Value<S> y;
    __builtin_memcpy(&y, x, sizeof y);
    return y;
  }
}

template <class Y, class V>
void store(V value, Y* to, int64 stride, int64 count) {
  if constexpr (kSame<V, Y>) {
    *to = value;
  } else if constexpr (kSame<Y, bool>) {
    for (int64 i = 0; i < count; i++) to[i * stride] = value[i] != 0;
  } else if (stride == 1 && count == V::kCount) {
    __builtin_memcpy(to, &value, sizeof value);
  } else {
    for (int64 i = 0; i < count; i++) to[i * stride] = value.v[i];
  }
}

/// y = f(x ...) for n elements; i: 0, 1 ... are the indices of the operands x. data: y's pointer,
/// then the operands'; strides: one per pointer, in elements.
template <class S, class Y, int... i, class F>
void run(int64 n, void* const* data, const int64* strides, F f) {
  constexpr int64 step = ValueOf<S>::kCount;
  const auto part = [&](int64 at, int64 count, int64 to, auto... from) {
    store(f(load(static_cast<const S*>(data[i + 1]) + at * from, from, count)...),
          static_cast<Y*>(data[0]) + at * to, to, count);
  };
  int64 at = 0;
  if (((strides[0] == 1) && ... && (strides[i + 1] == 1))) {
#pragma GCC ivdep
    for (; at + step <= n; at += step) part(at, step, 1, (void(i), int64(1))...);
  }
  for (; at < n; at += step) part(at, at + step < n ? step : n - at, strides[0], strides[i + 1]...);
}

}  // namespace wick::formula
