// A block of columns of a state of gated_delta_rule, token after token.
#include "dispatch/delta_rule.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "kernels/token_numbers.h"
#include "scalar/unary.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// Two registers of columns.
template <class C>
inline constexpr int64 kWidth = 2 * Lanes<C>::kCount;

/// Two registers side by side.
template <class C>
struct Pair {
  using L = Lanes<C>;
  L low, high;

  static WICK_HD Pair load(const C* from) { return {L::load(from), L::load(from + L::kCount)}; }
  static WICK_HD Pair all(C value) { return {L(value), L(value)}; }
  WICK_HD void store(C* to) const { low.store(to), high.store(to + L::kCount); }
  friend WICK_HD Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
  friend WICK_HD Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
  friend WICK_HD Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
  friend WICK_HD Pair fma(Pair a, Pair b, Pair c) {
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
  }
};

/// The state is `keys` rows, an even number. The sums over even and odd rows hide an addition's
/// latency.
template <class C>
Pair<C> product(const C* state, const C* k, int64 keys) {
  Pair<C> even = Pair<C>::all(0), odd = even;
  for (int64 i = 0; i < keys; i += 2) {
    even = fma(Pair<C>::all(k[i]), Pair<C>::load(state + i * kWidth<C>), even);
    odd = fma(Pair<C>::all(k[i + 1]), Pair<C>::load(state + (i + 1) * kWidth<C>), odd);
  }
  return even + odd;
}

/// state = kept state + k uᵀ. Returns stateᵀ q.
template <class C>
Pair<C> advance(C* state, C kept, const C* k, Pair<C> u, const C* q, int64 keys) {
  Pair<C> sums[2] = {Pair<C>::all(0), Pair<C>::all(0)};
  for (int64 i = 0; i < keys; i += 2)
    for (int64 j = 0; j < 2; j++) {
      C* const row = state + (i + j) * kWidth<C>;
      const Pair<C> next = fma(Pair<C>::all(k[i + j]), u, Pair<C>::load(row) * Pair<C>::all(kept));
      next.store(row);
      sums[j] = fma(Pair<C>::all(q[i + j]), next, sums[j]);
    }
  return sums[0] + sums[1];
}

/// x / sqrt(sum of squares + eps).
template <class C>
void normalize(C* x, int64 n, C eps) {
  const C squares = sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const auto value = at(x);
        return value * value;
      });
  const C factor = C(1) / C(__builtin_sqrt(double(squares + eps)));
  for (int64 i = 0; i < n; i++) x[i] *= factor;
}

/// The logarithm of the factor on the state.
template <class T, class C>
C logarithm(const DeltaRuleColumns& of, const char* decay) {
  const C raw = read_either<T>(decay, of.is_wide);
  if (!of.a_log) return raw;
  const C slope = -C(__builtin_exp(double(*static_cast<const C*>(of.a_log))));
  return slope * of_one(Softplus(), raw + *static_cast<const C*>(of.dt_bias), 1, 20);
}

template <class T>
void columns(const DeltaRuleColumns& of) {
  using C = Compute<T>;
  alignas(64) C state[kMaxKeySize * kWidth<C>];
  alignas(64) C q[kMaxKeySize], k[kMaxKeySize], v[kWidth<C>], y[kWidth<C>];
  const int64 keys = of.keys + of.keys % 2;
  const size_t row_bytes = size_t(of.columns) * sizeof(C);
  memset(state, 0, size_t(keys * kWidth<C>) * sizeof(C));
  for (int64 i = 0; i < of.keys && of.before; i++)
    memcpy(state + i * kWidth<C>, static_cast<const C*>(of.before) + i * of.row, row_bytes);
  q[keys - 1] = k[keys - 1] = C(0);
  memset(v, 0, sizeof v);
  for (int64 t = 0; t < of.tokens; t++) {
    T* const to = reinterpret_cast<T*>(of.y.data + t * of.y.stride);
    if (t >= of.read) {
      for (int64 i = 0; i < of.columns; i++) to[i] = from_wide<T>(C(0));
      continue;
    }
    load<T, C>(of.q.data + t * of.q.stride, 1, of.keys, q);
    load<T, C>(of.k.data + t * of.k.stride, 1, of.keys, k);
    load<T, C>(of.v.data + t * of.v.stride, 1, of.columns, v);
    if (of.eps > 0) normalize(q, of.keys, C(of.eps)), normalize(k, of.keys, C(of.eps));
    const C raw = read_either<T>(of.beta.data + t * of.beta.stride, of.is_wide);
    const C beta = of.has_sigmoid ? of_one(Sigmoid(), raw) : raw;
    const C kept =
        C(__builtin_exp(double(logarithm<T, C>(of, of.decay.data + t * of.decay.stride))));
    const Pair<C> known = product(state, k, keys) * Pair<C>::all(kept);
    const Pair<C> u = (Pair<C>::load(v) - known) * Pair<C>::all(beta);
    (advance(state, kept, k, u, q, keys) * Pair<C>::all(C(of.scale))).store(y);
    store<T, C>(y, to, 1, of.columns);
  }
  for (int64 i = 0; i < of.keys; i++)
    memcpy(static_cast<C*>(of.state) + i * of.row, state + i * kWidth<C>, row_bytes);
}

}  // namespace

template <>
void add_family<"delta_rule">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr DeltaRule data{kWidth<Compute<T>>, columns<T>};
    const Kernel kernel{.accepts = DeltaRule::accepts, .run = DeltaRule::run, .data = &data};
    table.add(DeltaRule::kOp, kDTypeOf<T>, kernel);
    if constexpr (!kSame<T, Compute<T>>)
      table.add(DeltaRule::kOp, kDTypeOf<T>, kDTypeOf<Compute<T>>, kernel);
  });
}

}  // namespace wick::cpu::WICK_ISA
