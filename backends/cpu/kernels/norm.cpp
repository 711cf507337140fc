// One row of rms_norm and layer_norm, and of their gradients.
#include "dispatch/norm.h"

#include "kernels/kernels.h"
#include "kernels/rows.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
C sum_of_squares(const C* x, int64 n) {
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const Lanes<C> v = at(x);
        return v * v;
      });
}
template <class C>
void scale_by(const C* x, const C* weight, C r, C* y, int64 n) {
  each<C>(
      n, [&](auto at)
             __attribute__((always_inline)) { at.store(at(x) * Lanes<C>(r) * at(weight), y); });
}

template <class T>
void rms_norm(const void* from, const void* by, double eps, void* to, void* statistic, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  const T* weight = static_cast<const T*>(by);
  T* y = static_cast<T*>(to);
  alignas(64) C values[kChunk], weights[kChunk];
  double sum = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        sum += double(sum_of_squares(fetch(x + i, count, values), count));
      });
  const C r = C(1 / __builtin_sqrt(sum / double(n) + eps));
  *static_cast<C*>(statistic) = r;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        scale_by(fetch(x + i, count, values), fetch(weight + i, count, weights), r,
                 place(y + i, values), count);
        put(values, y + i, count);
      });
}

template <class C>
C sum_of_products(const C* a, const C* b, const C* c, int64 n) {
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) { return at(a) * at(b) * at(c); });
}
/// gx = r gy weight - factor x.
template <class C>
void combine(const C* gy, const C* x, const C* weight, C r, C factor, C* gx, int64 n) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        at.store(fma(at(gy) * at(weight), L(r), at(x) * L(-factor)), gx);
      });
}

/// gx = r gy w - r³ x mean(gy w x).
template <class T>
void rms_norm_gradient(const void* upstream, const void* from, const void* by,
                       const void* statistic, void* to, int64 n) {
  using C = Statistic<T>;
  const T* gy = static_cast<const T*>(upstream);
  const T* x = static_cast<const T*>(from);
  const T* weight = static_cast<const T*>(by);
  T* gx = static_cast<T*>(to);
  const C r = *static_cast<const C*>(statistic);
  alignas(64) C gradients[kChunk], values[kChunk], weights[kChunk];
  double sum = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        sum += double(sum_of_products(fetch(gy + i, count, gradients),
                                      fetch(weight + i, count, weights),
                                      fetch(x + i, count, values), count));
      });
  const C factor = C(double(r) * double(r) * double(r) * (sum / double(n)));
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        combine(fetch(gy + i, count, gradients), fetch(x + i, count, values),
                fetch(weight + i, count, weights), r, factor, place(gx + i, values), count);
        put(values, gx + i, count);
      });
}

template <class C>
C sum_of(const C* x, int64 n) {
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) { return at(x); });
}
template <class C>
C sum_of_square_deviations(const C* x, C mean, int64 n) {
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const Lanes<C> v = at(x, mean) - Lanes<C>(mean);
        return v * v;
      });
}
/// y = (x - mean) r weight + bias, if there is one.
template <class C>
void normalize(const C* x, C mean, C r, const C* weight, const C* bias, C* y, int64 n) {
  using L = Lanes<C>;
  const auto scaled = [&](auto at) __attribute__((always_inline)) {
    return (at(x) - L(mean)) * L(r) * at(weight);
  };
  if (bias)
    each<C>(
        n, [&](auto at) __attribute__((always_inline)) { at.store(scaled(at) + at(bias), y); });
  else
    each<C>(
        n, [&](auto at) __attribute__((always_inline)) { at.store(scaled(at), y); });
}

template <class T>
void layer_norm(const void* from, const void* by, const void* plus, double eps, void* to,
                void* mean_to, void* r_to, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  const T* weight = static_cast<const T*>(by);
  const T* bias = static_cast<const T*>(plus);
  T* y = static_cast<T*>(to);
  alignas(64) C values[kChunk], weights[kChunk], biases[kChunk];
  double sum = 0, squares = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        sum += double(sum_of(fetch(x + i, count, values), count));
      });
  const C mean = C(sum / double(n));
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        squares += double(sum_of_square_deviations(fetch(x + i, count, values), mean, count));
      });
  const C r = C(1 / __builtin_sqrt(squares / double(n) + eps));
  *static_cast<C*>(mean_to) = mean;
  *static_cast<C*>(r_to) = r;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        normalize(fetch(x + i, count, values), mean, r, fetch(weight + i, count, weights),
                  bias ? fetch(bias + i, count, biases) : nullptr, place(y + i, values), count);
        put(values, y + i, count);
      });
}

template <class C>
C sum_of_products(const C* a, const C* b, int64 n) {
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) { return at(a) * at(b); });
}
template <class C>
C sum_of_products_of_deviations(const C* a, const C* b, const C* x, C mean, int64 n) {
  using L = Lanes<C>;
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) { return at(a) * at(b) * (at(x) - L(mean)); });
}
/// gx = r gy weight - less - factor (x - mean).
template <class C>
void combine(const C* gy, const C* x, const C* weight, C mean, C r, C less, C factor, C* gx,
             int64 n) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L back = fma(at(x) - L(mean), L(-factor), L(-less));
        at.store(fma(at(gy) * at(weight), L(r), back), gx);
      });
}

/// gx = r (gy w - mean(gy w)) - r³ (x - mean) mean(gy w (x - mean)).
template <class T>
void layer_norm_gradient(const void* upstream, const void* from, const void* by,
                         const void* mean_from, const void* r_from, void* to, int64 n) {
  using C = Statistic<T>;
  const T* gy = static_cast<const T*>(upstream);
  const T* x = static_cast<const T*>(from);
  const T* weight = static_cast<const T*>(by);
  T* gx = static_cast<T*>(to);
  const C mean = *static_cast<const C*>(mean_from), r = *static_cast<const C*>(r_from);
  alignas(64) C gradients[kChunk], values[kChunk], weights[kChunk];
  double sum = 0, along = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        const C* const g = fetch(gy + i, count, gradients);
        const C* const w = fetch(weight + i, count, weights);
        sum += double(sum_of_products(g, w, count));
        along +=
            double(sum_of_products_of_deviations(g, w, fetch(x + i, count, values), mean, count));
      });
  const C less = C(double(r) * (sum / double(n)));
  const C factor = C(double(r) * double(r) * double(r) * (along / double(n)));
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        combine(fetch(gy + i, count, gradients), fetch(x + i, count, values),
                fetch(weight + i, count, weights), mean, r, less, factor, place(gx + i, values),
                count);
        put(values, gx + i, count);
      });
}

}  // namespace

template <>
void add_family<"norm">(Table& table) {
  add_floats(table, []<class T>() { return RmsNorm{rms_norm<T>}; });
  add_floats(table, []<class T>() { return RmsNormGradient{rms_norm_gradient<T>}; });
  add_floats(table, []<class T>() { return LayerNorm{layer_norm<T>}; });
  add_floats(table, []<class T>() { return LayerNormGradient{layer_norm_gradient<T>}; });
}

}  // namespace wick::cpu::WICK_ISA
