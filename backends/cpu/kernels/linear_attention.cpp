// Linear attention of a group of heads: S += phi(k) [v | 1], y = phi(q) S, token after token.
#include "dispatch/linear_attention.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// phi of n elements.
template <class C, class T>
void features(const T* x, int64 n, int32 map, C* phi) {
  if (map != 2) {
    load<T, C>(x, 1, n, phi);
    if (map == 1)
      each<C>(
          n, [&](auto at) __attribute__((always_inline)) {
            using L = Lanes<C>;
            const L e = at(static_cast<const C*>(phi));
            at.store(larger(e, L(C(0))) + exp(-larger(-e, L(C(0)))), phi);
          });
    return;
  }
  const C scale = C(__builtin_pow(double(n), -0.25)), root = C(__builtin_sqrt(0.5));
  C* const z = phi + 1;
  phi[0] = 1;
  load<T, C>(x, 1, n, z);
  for (int64 i = 0; i < n; i++) z[i] = z[i] * scale;
  for (int64 i = 0; i < n; i++)
    for (int64 j = 0; j < n; j++) z[n + i * n + j] = z[i] * z[j] * root;
}

/// sums = sum over f of phi[f] S[f], where S += added[f] [v | 1] before if there is one.
template <class C, bool adds>
WICK_HD void read(const LinearAttentionGroup& g, const C* phi, const C* added, const C* v,
                  const C* from, C* S, C* sums) {
  using L = Lanes<C>;
  const int64 columns = g.values + 1;
  memset(sums, 0, size_t(columns) * sizeof(C));
  for (int64 f = 0; f < g.features; f++) {
    const L factor(phi[f]), more(adds ? added[f] : C(0));
    C* const row = S + f * columns;
    const C* const before = from ? from + f * columns : nullptr;
    each<C>(
        columns, [&](auto at) __attribute__((always_inline)) {
          L s = before ? at(before) : L(C(0));
          if constexpr (adds) {
            s = s + more * at(v);
            at.store(s, row);
          }
          at.store(at(static_cast<const C*>(sums)) + factor * s, sums);
        });
  }
}

template <class T>
void group(const LinearAttentionGroup& g) {
  using C = Compute<T>;
  alignas(64) C phi_k[kMaxFeatures], phi_q[kMaxFeatures], v[kMaxValues], sums[kMaxValues];
  C* const S = static_cast<C*>(g.new_state);
  const C* from = static_cast<const C*>(g.state);  // where the state is now; nullptr: 0
  for (int64 t = 0; t < g.length; t++) {
    features(static_cast<const T*>(g.k) + t * g.k_token, g.elements, g.map, phi_k);
    load<T, C>(static_cast<const T*>(g.v) + t * g.v_token, 1, g.values, v);
    v[g.values] = 1;
    for (int64 h = 0; h < g.heads; h++) {
      features(static_cast<const T*>(g.q) + t * g.q_token + h * g.q_head, g.elements, g.map, phi_q);
      if (h == 0)
        read<C, true>(g, phi_q, phi_k, v, from, S, sums);
      else
        read<C, false>(g, phi_q, phi_k, v, from, S, sums);
      from = S;
      if (g.normalize) {
        const C total = sums[g.values] + C(g.eps);
        for (int64 i = 0; i < g.values; i++) sums[i] = sums[i] / total;
      }
      store<T, C>(sums, static_cast<T*>(g.y) + t * g.y_token + h * g.y_head, 1, g.values);
    }
  }
  const size_t bytes = size_t(g.features * (g.values + 1)) * sizeof(C);
  if (g.length == 0 && from) memcpy(S, from, bytes);
  if (g.length == 0 && !from) memset(S, 0, bytes);
  for (int64 t = g.length; t < g.tokens; t++)
    for (int64 h = 0; h < g.heads; h++)
      memset(static_cast<void*>(static_cast<T*>(g.y) + t * g.y_token + h * g.y_head), 0,
             size_t(g.values) * sizeof(T));
}

}  // namespace

template <>
void add_family<"linear_attention">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr LinearAttention data{group<T>};
    table.add(LinearAttention::kOp, kDTypeOf<T>,
              {.accepts = LinearAttention::accepts, .run = LinearAttention::run, .data = &data});
  });
}

}  // namespace wick::cpu::WICK_ISA
