#include "fused.h"

#include <algorithm>
#include <numeric>

#include "sum.h"

namespace wick::reference {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

/// a b, where 0 counts for more than infinity: a weight of nothing.
Real weighted(Real a, Real b) { return a == 0 ? 0 : a * b; }

/// Results side by side, flat.
Result joined(DType dtype, const std::vector<std::vector<Sum>>& parts) {
  Result result{{dtype, {0}, {}}, {}, 0};
  for (const std::vector<Sum>& part : parts) {
    for (const Sum& sum : part) result.array.values.push_back(sum.value());
  }
  result.array.shape[0] = int64_t(result.array.values.size());
  return result;
}

void append(std::vector<Real>& to, const std::vector<Real>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// ---- normalisation

/// 1 / sqrt(mean(x²) + eps) of each row of D elements.
std::vector<Real> inverse_rms(const Array& x, std::size_t columns, Real eps) {
  std::vector<Real> result;
  for (std::size_t begin = 0; begin < x.values.size(); begin += columns) {
    Sum squares;
    for (std::size_t i = begin; i < begin + columns; i++) squares.add(x.values[i] * x.values[i]);
    result.push_back(1 / std::sqrt(squares.value() / Real(columns) + eps));
  }
  return result;
}

/// A row of layer_norm.
struct LayerNormRow {
  Real mean = 0, r = 0;  // r = 1 / sqrt(mean((x - mean)²) + eps)
  Real size = 0;         // mean(|x|): one rounding of it is what the mean may be off by

  LayerNormRow(const Real* x, std::size_t columns, Real eps) {
    Sum sum, squares;
    for (std::size_t i = 0; i < columns; i++) sum.add(x[i]);
    mean = sum.value() / Real(columns);
    size = sum.magnitude() / Real(columns);
    for (std::size_t i = 0; i < columns; i++) squares.add((x[i] - mean) * (x[i] - mean));
    r = 1 / std::sqrt(squares.value() / Real(columns) + eps);
  }
  Real normal(Real x) const { return (x - mean) * r; }
  Real magnitude(Real x) const { return (std::fabs(x - mean) + size) * r; }
};

// ---- attention

/// The roundings that matmul's bound gives a sum of n products.
Real of_sum(std::size_t n) { return 2 + std::log2(Real(std::max<std::size_t>(n, 1))); }

/// What one query sees, and what comes of it. Keys beyond `keys` are not seen.
struct Query {
  const Real* q;
  std::size_t row;            // of y: (b H + h) T + t
  std::size_t head;           // of k and v: b G + g
  std::vector<Real> weights;  // softmax of the scores
  std::vector<Real> slopes;   // the derivative of the soft cap at each score
  std::vector<Real> doubts;   // roundings by which a weight is off, before they are normalised
  Real doubt = 0;             // their mean, and what the logarithm of the sum adds
  Real sink_weight = 0, sink_doubt = 0;     // the same of the sink
  std::vector<Real> y, magnitude, between;  // [Dv]
};

struct Sizes {
  std::size_t b, h, t, d, g, s, dv;
};

Sizes sizes_of(const Array& q, const Array& k, const Array& v) {
  const auto size = [](const Array& x, std::size_t d) { return std::size_t(x.shape[d]); };
  return {size(q, 0), size(q, 1), size(q, 2), size(q, 3), size(k, 1), size(k, 2), size(v, 3)};
}

/// What a mask adds to a score.
Real bias_of(const Array& mask, std::size_t at) {
  if (mask.dtype != DType::kBool) return mask.values[at];
  return mask.values[at] != 0 ? 0 : -kInfinity;
}

/// The softmax of the scores of keys [first, keys) and the sink; nothing where no key is seen. A score is off by
/// its sum's roundings (of q k), by one for the scale, four for the soft cap, one for the difference
/// to the highest, and the exponential by one or two.
void weigh(Query& query, const Array& k, const Sizes& n, std::size_t first, std::size_t keys,
           Real scale, Real sink, const Attention& attention) {
  const Array* mask = attention.mask;
  const Real cap = attention.soft_cap;
  std::vector<Real> scores;
  Real highest = -kInfinity;
  for (std::size_t j = 0; j < keys; j++) {
    const Real bias = mask ? bias_of(*mask, query.row * n.s + j) : 0;
    query.slopes.push_back(1);
    if (bias == -kInfinity || j < first) {  // not seen
      scores.push_back(-kInfinity);
      query.doubts.push_back(0);
      continue;
    }
    Sum score;
    for (std::size_t d = 0; d < n.d; d++) {
      score.add(query.q[d] * k.values[(query.head * n.s + j) * n.d + d]);
    }
    Real product = scale * score.value();
    Real doubt = scale * score.magnitude() * (of_sum(n.d) + attention.stored_roundings);
    if (cap > 0) {
      const Real t = std::tanh(product / cap);
      query.slopes.back() = 1 - t * t;
      product = cap * t;
      doubt = doubt * query.slopes.back() + 4 * std::fabs(product);
    }
    scores.push_back(product + bias);
    query.doubts.push_back(doubt + std::fabs(scores.back()) + 2);
    if (std::isnan(scores.back()) || scores.back() > highest)
      highest = std::isnan(highest) ? highest : scores.back();
  }
  if (highest == -kInfinity) return void(query.weights.assign(keys, 0));
  if (sink > highest) highest = sink;
  Sum total;
  total.add(std::exp(sink - highest));
  for (const Real score : scores) total.add(std::exp(score - highest));
  for (std::size_t j = 0; j < keys; j++) {
    query.weights.push_back(std::exp(scores[j] - highest) / total.value());
    if (scores[j] == -kInfinity) continue;
    query.doubts[j] += std::fabs(scores[j] - highest);
    query.doubt += weighted(query.weights[j], query.doubts[j]);
  }
  query.sink_weight = std::exp(sink - highest) / total.value();
  if (query.sink_weight > 0) query.sink_doubt = std::fabs(sink - highest) + std::fabs(sink) + 2;
  query.doubt += query.sink_weight * query.sink_doubt;
  query.doubt += std::fabs(highest + std::log(total.value())) + of_sum(keys);
}

void attend(Query& query, const Array& v, const Sizes& n) {
  for (std::size_t d = 0; d < n.dv; d++) {
    const auto value = [&](std::size_t j) { return v.values[(query.head * n.s + j) * n.dv + d]; };
    Sum y, off;
    for (std::size_t j = 0; j < query.weights.size(); j++) y.add(query.weights[j] * value(j));
    // A weight that is off by a share moves y towards or away from the key's value by that share.
    for (std::size_t j = 0; j < query.weights.size(); j++) {
      off.add(query.weights[j] * query.doubts[j] * std::fabs(value(j) - y.value()));
    }
    query.y.push_back(y.value());
    off.add(query.sink_weight * query.sink_doubt * std::fabs(y.value()));
    // The sum of products, and that of the weights which divides it.
    const Real sums = (y.magnitude() + std::fabs(y.value())) * of_sum(query.weights.size());
    query.magnitude.push_back(sums + off.value());
    query.between.push_back(y.magnitude());
  }
}

/// Calls f(query) for each.
template <class F>
void for_queries(const Array& q, const Array& k, const Array& v, const Array& positions,
                 const Attention& attention, const F& f) {
  const Sizes n = sizes_of(q, k, v);
  const Real scale = attention.scale != 0 ? attention.scale : 1 / std::sqrt(Real(n.d));
  for (std::size_t row = 0; row < n.b * n.h * n.t; row++) {
    const std::size_t t = row % n.t, h = row / n.t % n.h, b = row / n.t / n.h;
    Query query{};
    query.q = &q.values[row * n.d];
    query.row = row;
    query.head = b * n.g + h / (n.h / n.g);
    int64_t first = 0, end = int64_t(n.s);
    if (attention.causal) {
      const int64_t position = int64_t(positions.values[b * n.t + t]);
      end = std::min(end, position + 1);
      if (attention.window > 0) first = std::max<int64_t>(0, position + 1 - attention.window);
    }
    if (attention.first_keys)
      first = std::max(first, int64_t(attention.first_keys->values[b * n.t + t]));
    end = std::max<int64_t>(end, 0);
    weigh(query, k, n, std::size_t(first), std::size_t(end), scale,
          attention.sinks ? attention.sinks->values[h] : -kInfinity, attention);
    attend(query, v, n);
    f(query);
  }
}

/// A gradient that is summed up, and what its roundings are multiplied by.
struct Gathered {
  std::vector<Sum> sums;
  std::vector<Real> magnitude, between, kept;
  Real each;  // the roundings of a term as one of so many

  Gathered(std::size_t n, std::size_t terms)
      : sums(n), magnitude(n, 0), between(n, 0), kept(n, 0), each(of_sum(terms)) {}
  void add(std::size_t at, Real term, Real of_roundings, Real of_between, Real of_kept) {
    sums[at].add(term);
    magnitude[at] += std::fabs(term) * each + of_roundings;
    between[at] += of_between;
    kept[at] += of_kept;
  }
};

// ---- sampling

/// The position along the kept ids at which their share exceeds `share`.
std::size_t pick(const std::vector<Real>& kept, Real share) {
  const Real total = std::accumulate(kept.begin(), kept.end(), Real(0));
  Real reached = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < kept.size(); i++) {
    if (kept[i] == 0) continue;
    reached += kept[i];
    last = i;
    if (reached > share * total) break;
  }
  return last;
}

/// One row's choice.
struct Draw {
  std::vector<Real> exponentials;  // 0 for those that top_k leaves out
  std::vector<Real> edges;         // logits, falling: all of at least the n-th of these are kept
  std::vector<Real> shares;        // of them
  Real rounding = 0;               // by which a share may be off

  Draw(const Real* logits, std::size_t size, DType dtype, const Sampling& sampling) {
    std::vector<Real> falling(logits, logits + size);
    std::sort(falling.rbegin(), falling.rend());
    const std::size_t kept = sampling.top_k > 0 ? std::size_t(sampling.top_k) : size;
    const Real lowest = falling[std::min(kept, size) - 1];
    Real total = 0, shifts = 0;
    for (std::size_t i = 0; i < size; i++) {
      const Real shift = (logits[i] - falling[0]) / sampling.temperature;
      exponentials.push_back(logits[i] >= lowest ? std::exp(shift) : 0);
      total += exponentials[i];
      shifts += weighted(exponentials[i], std::fabs(shift));
    }
    // Each exponential is off by a few roundings and twice its exponent's; their sum, added up in
    // whatever order, by less than a sixteenth of its length.
    rounding = unit_roundoff(accumulator(dtype)) * (16 + 4 * shifts / total + Real(size) / 16);
    for (std::size_t i = 0; i < size && falling[i] >= lowest; i++) {
      const Real e = std::exp((falling[i] - falling[0]) / sampling.temperature) / total;
      if (i == 0 || falling[i] != falling[i - 1]) {
        edges.push_back(falling[i]);
        shares.push_back(shares.empty() ? 0 : shares.back());
      }
      shares.back() += e;
    }
  }

  /// How many of the edges it takes to reach top_p.
  std::size_t reach(Real top_p) const {
    const auto at = std::find_if(shares.begin(), shares.end(), [&](Real s) { return s >= top_p; });
    return at == shares.end() || top_p >= 1 ? shares.size() : std::size_t(at - shares.begin()) + 1;
  }

  std::size_t choose(const Real* logits, std::size_t reached, Real share, Real min_p) const {
    std::vector<Real> kept = exponentials;
    for (std::size_t i = 0; i < kept.size(); i++) {
      if (!(logits[i] >= edges[reached - 1]) || kept[i] < min_p) kept[i] = 0;
    }
    return pick(kept, share);
  }
};

std::size_t first_largest(const Real* logits, std::size_t size) {
  return std::size_t(std::max_element(logits, logits + size) - logits);
}

}  // namespace

DType accumulator(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Result rms_norm(const Array& x, const Array& weight, Real eps) {
  const std::size_t columns = weight.values.size();
  const std::vector<Real> r = inverse_rms(x, columns, eps);
  Result result{{x.dtype, x.shape, {}}, {}, int64_t(columns)};
  for (std::size_t i = 0; i < x.values.size(); i++) {
    result.array.values.push_back(x.values[i] * r[i / columns] * weight.values[i % columns]);
    result.magnitude.push_back(std::fabs(result.array.values.back()));
  }
  return result;
}

// gx = r (gy w - x r² mean(gy w x)), gw = sum(gy x r).
Result rms_norm_gradient(const Array& gy, const Array& x, const Array& weight, Real eps) {
  const std::size_t columns = weight.values.size();
  const std::vector<Real> r = inverse_rms(x, columns, eps);
  std::vector<Sum> gx(x.values.size()), gw(columns);
  std::vector<Real> magnitude;
  for (std::size_t row = 0; row < r.size(); row++) {
    Sum along;
    for (std::size_t i = 0; i < columns; i++) {
      const std::size_t p = row * columns + i;
      along.add(gy.values[p] * weight.values[i] * x.values[p] / Real(columns));
      gw[i].add(gy.values[p] * x.values[p] * r[row]);
    }
    const Real square = r[row] * r[row];
    for (std::size_t i = 0; i < columns; i++) {
      const std::size_t p = row * columns + i;
      gx[p].add(r[row] * gy.values[p] * weight.values[i]);
      gx[p].add(-r[row] * x.values[p] * square * along.value());
      magnitude.push_back(r[row] * (std::fabs(gy.values[p] * weight.values[i]) +
                                    std::fabs(x.values[p]) * square * along.magnitude()));
    }
  }
  Result result = joined(x.dtype, {gx, gw});
  result.magnitude = magnitude;
  for (const Sum& sum : gw) result.magnitude.push_back(sum.magnitude());
  result.terms = int64_t(std::max(columns, r.size()));
  return result;
}

Result layer_norm(const Array& x, const Array& weight, const Array* bias, Real eps) {
  const std::size_t columns = weight.values.size();
  Result result{{x.dtype, x.shape, {}}, {}, int64_t(columns)};
  for (std::size_t begin = 0; begin < x.values.size(); begin += columns) {
    const LayerNormRow row(&x.values[begin], columns, eps);
    for (std::size_t i = 0; i < columns; i++) {
      const Real v = x.values[begin + i], w = weight.values[i];
      const Real y = row.normal(v) * w + (bias ? bias->values[i] : 0);
      result.array.values.push_back(y);
      result.magnitude.push_back(row.magnitude(v) * std::fabs(w) + std::fabs(y));
    }
  }
  return result;
}

// With g = gy w and h = (x - mean) r: gx = r (g - mean(g) - h mean(g h)), gw = sum(gy h), gb = sum(gy).
Result layer_norm_gradient(const Array& gy, const Array& x, const Array& weight, Real eps) {
  const std::size_t columns = weight.values.size(), rows = x.values.size() / columns;
  std::vector<Sum> gx(x.values.size()), gw(columns), gb(columns);
  std::vector<Real> magnitude, of_weight(columns);
  for (std::size_t begin = 0; begin < x.values.size(); begin += columns) {
    const LayerNormRow row(&x.values[begin], columns, eps);
    const Real* const upstream = &gy.values[begin];
    Sum g, along;
    Real along_magnitude = 0;
    for (std::size_t i = 0; i < columns; i++) {
      const Real v = x.values[begin + i], here = upstream[i] * weight.values[i] / Real(columns);
      g.add(here);
      along.add(here * row.normal(v));
      along_magnitude += std::fabs(here) * row.magnitude(v);
      gw[i].add(upstream[i] * row.normal(v));
      of_weight[i] += std::fabs(upstream[i]) * row.magnitude(v);
      gb[i].add(upstream[i]);
    }
    for (std::size_t i = 0; i < columns; i++) {
      const Real v = x.values[begin + i], here = upstream[i] * weight.values[i];
      gx[begin + i].add(row.r * here);
      gx[begin + i].add(-row.r * g.value());
      gx[begin + i].add(-row.r * row.normal(v) * along.value());
      magnitude.push_back(row.r *
                          (std::fabs(here) + g.magnitude() + row.magnitude(v) * along_magnitude));
    }
  }
  Result result = joined(x.dtype, {gx, gw, gb});
  result.magnitude = magnitude;
  result.magnitude.insert(result.magnitude.end(), of_weight.begin(), of_weight.end());
  for (const Sum& sum : gb) result.magnitude.push_back(sum.magnitude());
  result.terms = int64_t(std::max(columns, rows));
  return result;
}

Result rope(const Array& x, const Array& cos, const Array& sin, const Array& positions,
            const Rope& options) {
  const bool interleaved = options.interleaved;
  const int64_t half = x.shape[3] / 2;
  Result result{{x.dtype, x.shape, {}}, {}, 2};
  result.array = build(x.dtype, x.shape, [&](const Index& index) {
    const int64_t i = index[3];
    const int64_t pair = interleaved ? i / 2 : i % half;
    const bool second = interleaved ? i % 2 == 1 : i >= half;
    Index other = index;
    other[3] = interleaved ? i ^ 1 : (i + half) % (2 * half);
    const Real position =
        positions
            .values[std::size_t(index[0] * x.shape[options.token_dim] + index[options.token_dim])];
    const std::size_t at = std::size_t(int64_t(position) * half + pair);
    const Real own = x.values[std::size_t(reference::position(x.shape, index))] * cos.values[at];
    const Real across = x.values[std::size_t(reference::position(x.shape, other))] * sin.values[at];
    result.magnitude.push_back(std::fabs(own) + std::fabs(across));
    return second ? own + across : own - across;
  });
  return result;
}

ProductsResult sdpa(const Array& q, const Array& k, const Array& v, const Array& positions,
                    const Attention& attention) {
  const Shape shape{q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
  ProductsResult all{{{q.dtype, shape, {}}, {}, k.shape[2]}, {}, {}};
  for_queries(q, k, v, positions, attention, [&](const Query& query) {
    append(all.result.array.values, query.y);
    append(all.result.magnitude, query.magnitude);
    append(all.between, query.between);
  });
  all.kept.assign(all.between.size(), 0);
  return all;
}

// With P the weights and dP = gy v of a query and key: dS = P (dP - gy y) cap'(S), gq = scale dS k,
// gk = scale dS q, gv = P gy.
ProductsResult sdpa_gradient(const Array& gy, const Array& q, const Array& k, const Array& v,
                             const Array& positions, const Attention& attention) {
  const Sizes n = sizes_of(q, k, v);
  const Real scale = attention.scale != 0 ? attention.scale : 1 / std::sqrt(Real(n.d));
  const std::size_t sharing = n.t * (n.h / n.g);  // queries that share a key
  Gathered gq(q.values.size(), n.s), gk(k.values.size(), sharing), gv(v.values.size(), sharing),
      gs(attention.sinks ? n.h : 0, n.b * n.t);
  for_queries(q, k, v, positions, attention, [&](const Query& query) {
    const Real* g = &gy.values[query.row * n.dv];
    Sum with_y;
    Real y_off = 0;
    for (std::size_t d = 0; d < n.dv; d++) {
      with_y.add(g[d] * query.y[d]);
      y_off += std::fabs(g[d]) * query.magnitude[d];
    }
    if (attention.sinks) {
      const Real weight = query.sink_weight, value = weight * with_y.value();
      gs.add(query.row / n.t % n.h, -value,
             std::fabs(value) * (query.sink_doubt + query.doubt) +
                 weight * (with_y.magnitude() * of_sum(n.dv) + y_off),
             0, weight * with_y.magnitude());
    }
    for (std::size_t j = 0; j < query.weights.size(); j++) {
      const std::size_t key = (query.head * n.s + j) * n.d, value = (query.head * n.s + j) * n.dv;
      Sum with_v;
      for (std::size_t d = 0; d < n.dv; d++) with_v.add(g[d] * v.values[value + d]);
      const Real weight = query.weights[j], doubt = query.doubts[j] + query.doubt;
      const Real dp = weight * (with_v.value() - with_y.value()), slope = query.slopes[j];
      const Real ds = dp * slope;
      const Real of_slope = attention.soft_cap > 0 ? std::fabs(dp) * (4 + query.doubts[j]) : 0;
      const Real off = std::fabs(ds) * doubt + of_slope +
                       weight * ((with_v.magnitude() + with_y.magnitude()) * of_sum(n.dv) + y_off);
      const Real kept = weight * with_y.magnitude();
      for (std::size_t d = 0; d < n.d; d++) {
        const Real by_k = scale * std::fabs(k.values[key + d]),
                   by_q = scale * std::fabs(query.q[d]);
        gq.add(query.row * n.d + d, scale * ds * k.values[key + d], by_k * off,
               by_k * std::fabs(ds), by_k * kept);
        gk.add(key + d, scale * ds * query.q[d], by_q * off, by_q * std::fabs(ds), by_q * kept);
      }
      for (std::size_t d = 0; d < n.dv; d++)
        gv.add(value + d, weight * g[d], weight * doubt * std::fabs(g[d]), weight * std::fabs(g[d]),
               0);
    }
  });
  ProductsResult all{joined(q.dtype, {gq.sums, gk.sums, gv.sums, gs.sums}), {}, {}};
  for (const Gathered* part : {&gq, &gk, &gv, &gs}) {
    append(all.result.magnitude, part->magnitude);
    append(all.between, part->between);
    append(all.kept, part->kept);
  }
  all.result.terms = int64_t(std::max(n.s, sharing));
  return all;
}

// upstream / N (softmax - onehot); the softmax as exp(x - l), with l the logarithm of the sum.
Result cross_entropy_gradient(const Array& logits, const Array& targets, const Array& upstream) {
  const std::size_t columns = std::size_t(logits.shape[1]);
  const Real each = upstream.values[0] / Real(logits.shape[0]);
  const Result logs = log_softmax(logits, -1);
  Result result{{logits.dtype, logits.shape, {}}, {}, logs.terms};
  for (std::size_t p = 0; p < logits.values.size(); p++) {
    const bool target = std::size_t(targets.values[p / columns]) == p % columns;
    const Real softmax = std::exp(logs.array.values[p]);
    const Real l = logits.values[p] - logs.array.values[p];
    result.array.values.push_back(each * (softmax - target));
    result.magnitude.push_back(std::fabs(each) *
                               (softmax * (1 + logs.magnitude[p] + std::fabs(l)) + target));
  }
  return result;
}

Result adamw(const Array& parameter, const Array& gradient, const Array& mean, const Array& square,
             const AdamW& o) {
  const std::size_t n = parameter.values.size();
  Result result{
      {parameter.dtype, {3, int64_t(n)}, std::vector<Real>(3 * n)}, std::vector<Real>(3 * n), 3};
  const DType wide = accumulator(parameter.dtype);
  const Real mean_scale = 1 / (1 - std::pow(o.beta1, Real(o.step)));
  const Real square_scale = 1 / (1 - std::pow(o.beta2, Real(o.step)));
  for (std::size_t i = 0; i < n; i++) {
    const Real g = gradient.values[i];
    const Real m = o.beta1 * mean.values[i] + (1 - o.beta1) * g;
    const Real s = o.beta2 * square.values[i] + (1 - o.beta2) * g * g;
    const Real step = o.rate * mean_scale / (std::sqrt(s * square_scale) + o.eps);
    const Real decayed = parameter.values[i] * (1 - o.rate * o.weight_decay);
    // A mean that is nearly nothing is off by a subnormal, which the step makes larger.
    const Real m_off = std::fabs(o.beta1 * mean.values[i]) + std::fabs((1 - o.beta1) * g) +
                       smallest_subnormal(wide) / unit_roundoff(wide);
    result.array.values[i] = decayed - step * m;
    result.array.values[n + i] = m;
    result.array.values[2 * n + i] = s;
    result.magnitude[i] = std::fabs(decayed) + step * (m_off + std::fabs(m));
    result.magnitude[n + i] = m_off;
    result.magnitude[2 * n + i] = s;
  }
  return result;
}

Samples sample(const Array& logits, const Array& uniform, const Sampling& sampling) {
  const std::size_t size = std::size_t(logits.shape[1]);
  Samples samples{{{DType::kI64, uniform.shape, {}}, {}, 0}, {}};
  samples.or_else = samples.result;
  for (std::size_t row = 0; row < uniform.values.size(); row++) {
    const Real* x = &logits.values[row * size];
    std::size_t chosen, or_else;
    if (sampling.temperature == 0) {
      chosen = or_else = first_largest(x, size);
    } else {
      const Draw draw(x, size, logits.dtype, sampling);
      const Real u = uniform.values[row];
      const std::size_t reached = draw.reach(sampling.top_p);
      or_else = chosen = draw.choose(x, reached, u, sampling.min_p);
      for (const Real off : {draw.rounding, -draw.rounding}) {
        const std::size_t otherwise = draw.reach(std::min(Real(1), sampling.top_p + off));
        if (sampling.top_p < 1 && otherwise != reached)
          or_else = draw.choose(x, otherwise, u, sampling.min_p);
      }
      for (const Real off : {draw.rounding, -draw.rounding}) {
        const std::size_t neighbour =
            draw.choose(x, reached, std::clamp(u + off, Real(0), Real(1)), sampling.min_p);
        const std::size_t nearly = draw.choose(x, reached, u, sampling.min_p * (1 + off));
        if (nearly != chosen) or_else = nearly;
        if (neighbour != chosen) or_else = neighbour;
      }
    }
    samples.result.array.values.push_back(Real(chosen));
    samples.or_else.array.values.push_back(Real(or_else));
  }
  return samples;
}

Result append_tokens(const Array& drawn, const Array& grows, const Array& tokens,
                     const Array& positions, const Array& state, const Array& history) {
  const std::size_t rows = drawn.values.size();
  std::vector<Real> last = tokens.values, marked, places = positions.values, states = state.values,
                    all = history.values;
  for (std::size_t b = 0; b < rows; b++) {
    if (grows.values[b] != 0) {
      last[b] = std::max(Real(0), drawn.values[b]);
      places[b]++, states[3 * b + 1]++, states[3 * b + 2]++;
    }
    marked.push_back(drawn.values[b] < 0 ? drawn.values[b] : last[b]);
    const Real length = Real(history.shape[1]);
    if (places[b] >= 0 && places[b] < length)
      all[b * std::size_t(length) + std::size_t(places[b])] = last[b];
  }
  Result result{{DType::kI64, {}, {}}, {}, 0};
  for (const std::vector<Real>* part : {&last, &marked, &places, &states, &all})
    append(result.array.values, *part);
  result.array.shape = {int64_t(result.array.values.size())};
  return result;
}

}  // namespace wick::reference
