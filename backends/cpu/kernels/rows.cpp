// One row of softmax, rms_norm, cross_entropy and their gradients: in chunks that are converted
// where the dtype is narrow. Sums of chunks are added up in double.
#include "rows.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// What statistics of T are kept in, and what is computed in.
template <class T>
using Statistic = Compute<T>;

/// f(chunk's first element, its count), over n elements.
template <class F>
WICK_HD void chunks(int64 n, F f) {
  for (int64 i = 0; i < n; i += kChunk) f(i, smaller(kChunk, n - i));
}

template <class T>
Statistic<T> largest_of(const T* x, int64 n) {
  using C = Statistic<T>;
  alignas(64) C buffer[kChunk];
  C m = lowest<C>();
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        m = largest(fetch(x + i, count, buffer), count, m);
      });
  return m;
}

/// y = exp(x - m); returns their sum.
template <class C>
C exponentials(const C* x, C m, C* y, int64 n) {
  using L = Lanes<C>;
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L e = exp(at(x, lowest<C>()) - L(m));
        at.store(e, y);
        return e;
      });
}
/// The same of a whole row. Keeps the exponentials where y holds what is computed in.
template <class T>
double exponentials_of(const T* x, Statistic<T> m, T* y, int64 n) {
  using C = Statistic<T>;
  alignas(64) C buffer[kChunk];
  double sum = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        C* const to = y ? place(y + i, buffer) : buffer;
        sum += double(exponentials(fetch(x + i, count, buffer), m, to, count));
      });
  return sum;
}

/// y = x · factor.
template <class C>
void scale(const C* x, C factor, C* y, int64 n) {
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) { at.store(at(x) * Lanes<C>(factor), y); });
}

template <class T>
void softmax(const void* from, void* to, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  alignas(64) C buffer[kChunk];
  const C m = largest_of(x, n);
  const C factor = C(1 / exponentials_of(x, m, kSame<T, C> ? y : nullptr, n));
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        if constexpr (kSame<T, C>) {
          scale(y + i, factor, y + i, count);
        } else {
          exponentials(fetch(x + i, count, buffer), m, buffer, count);
          scale(buffer, factor, buffer, count);
          put(buffer, y + i, count);
        }
      });
}

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

template <class T>
void cross_entropy(const void* from, int64 target, void* loss, void* l, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  const C m = largest_of(x, n);
  const double rest = __builtin_log(exponentials_of(x, m, static_cast<T*>(nullptr), n));
  *static_cast<C*>(loss) = C(rest - (double(widen_one<C>(x + target)) - double(m)));
  *static_cast<C*>(l) = C(double(m) + rest);
}

/// g = gloss exp(x - l).
template <class C>
void weighted_exponentials(const C* x, C l, C gloss, C* g, int64 n) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at)
             __attribute__((always_inline)) { at.store(exp(at(x) - L(l)) * L(gloss), g); });
}

template <class T>
void cross_entropy_gradient(const void* from, int64 target, const void* log_sum,
                            const void* upstream, void* to, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  T* g = static_cast<T*>(to);
  const C l = *static_cast<const C*>(log_sum), gloss = *static_cast<const C*>(upstream);
  alignas(64) C buffer[kChunk];
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        C* const values = place(g + i, buffer);
        weighted_exponentials(fetch(x + i, count, buffer), l, gloss, values, count);
        if (target >= i && target < i + count) values[target - i] -= gloss;
        put(values, g + i, count);
      });
}

template <class T>
constexpr Softmax kSoftmaxOf = {softmax<T>};
template <class T>
constexpr RmsNorm kRmsNormOf = {rms_norm<T>};
template <class T>
constexpr RmsNormGradient kRmsNormGradientOf = {rms_norm_gradient<T>};
template <class T>
constexpr CrossEntropy kCrossEntropyOf = {cross_entropy<T>};
template <class T>
constexpr CrossEntropyGradient kCrossEntropyGradientOf = {cross_entropy_gradient<T>};

template <class T>
void add_rows_of(Table& table) {
  const auto add = [&table](const Op& op, auto run, const void* data) {
    table.add(op, kDTypeOf<T>, {.accepts = accepts_unit_strides, .run = run, .data = data});
  };
  add(kSoftmax, run_softmax, &kSoftmaxOf<T>);
  add(kRmsNorm, run_rms_norm, &kRmsNormOf<T>);
  add(kRmsNormGradient, run_rms_norm_gradient, &kRmsNormGradientOf<T>);
  add(kCrossEntropy, run_cross_entropy, &kCrossEntropyOf<T>);
  add(kCrossEntropyGradient, run_cross_entropy_gradient, &kCrossEntropyGradientOf<T>);
}

}  // namespace

template <>
void add_family<"rows">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() { add_rows_of<T>(table); });
}

}  // namespace wick::cpu::WICK_ISA
