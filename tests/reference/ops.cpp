#include "ops.h"

#include <algorithm>

#include "sum.h"

namespace wick::reference {
namespace {

std::vector<bool> reduced_dims(const Array& x, const Reduction& reduction) {
  std::vector<bool> reduced(x.shape.size(), reduction.dims.empty());
  for (const int64_t dim : reduction.dims) {
    reduced[std::size_t(normalize_dim(dim, x.shape.size()))] = true;
  }
  return reduced;
}

/// Calls step(i, value) for every element, i the position of the result that it belongs to.
template <class Step>
Shape walk_reduction(const Array& x, const Reduction& reduction, const Step& step) {
  const std::vector<bool> reduced = reduced_dims(x, reduction);
  Shape kept = x.shape, shape;
  for (std::size_t d = 0; d < kept.size(); d++) {
    if (reduced[d]) kept[d] = 1;
    if (!reduced[d] || reduction.keepdim) shape.push_back(kept[d]);
  }
  Index within(kept.size());
  std::size_t p = 0;
  build(x.dtype, x.shape, [&](const Index& index) {
    for (std::size_t d = 0; d < index.size(); d++) within[d] = reduced[d] ? 0 : index[d];
    step(std::size_t(position(kept, within)), x.values[p]);
    return x.values[p++];
  });
  return shape;
}

std::size_t reduced_size(const Array& x, const Reduction& reduction) {
  const std::vector<bool> reduced = reduced_dims(x, reduction);
  std::size_t n = 1;
  for (std::size_t d = 0; d < reduced.size(); d++) n *= reduced[d] ? 1 : std::size_t(x.shape[d]);
  return n;
}

Result result_of(DType dtype, const Shape& shape, const std::vector<Sum>& sums) {
  Result result{{dtype, shape, {}}, {}, 0};
  for (const Sum& sum : sums) {
    result.array.values.push_back(sum.value());
    result.magnitude.push_back(sum.magnitude());
    result.terms = std::max(result.terms, sum.terms());
  }
  return result;
}

Shape without_last(const Shape& shape, std::size_t count) {
  return Shape(shape.begin(), shape.end() - std::ptrdiff_t(count));
}

/// x [..., dim, ...] with the index along dim replaced.
Index replaced(Index index, int dim, int64_t at) {
  index[std::size_t(dim)] = at;
  return index;
}

/// Adds src's elements to x where target(index) says, one after another.
template <class Target>
Result added(const Array& x, const Array& src, const Target& target) {
  std::vector<Sum> sums(x.values.size()), added(x.values.size());
  for (std::size_t i = 0; i < sums.size(); i++) sums[i].add(x.values[i]);
  for (std::size_t p = 0; p < src.values.size(); p++) {
    const auto to = std::size_t(position(x.shape, target(index_at(src.shape, int64_t(p)))));
    sums[to].add(src.values[p]);
    added[to].add(src.values[p]);
  }
  Result result = result_of(x.dtype, x.shape, sums);
  // Terms that are alike err alike, by what x has grown to.
  for (std::size_t i = 0; i < sums.size(); i++) {
    const Real grown = added[i].magnitude();
    if (grown > 0) result.magnitude[i] *= added[i].serial_magnitude() / grown;
  }
  if (!is_floating(x.dtype)) {
    for (Real& value : result.array.values) value = wrap(x.dtype, Wide(value));
  }
  return result;
}

/// What softmax knows of each element's line along dim.
struct Line {
  Real highest = -std::numeric_limits<Real>::infinity();
  Sum exponentials;  // of exp(x - highest)
  Sum shifts;        // of exp(x - highest) · |x - highest|
};

struct Lines {
  Reduction reduction;
  std::vector<Line> lines;
};

Lines softmax_lines(const Array& x, int64_t dim) {
  Lines result{{{dim}, true}, {}};
  result.lines.resize(reduced_size(x, result.reduction));
  walk_reduction(x, result.reduction, [&](std::size_t i, Real value) {
    Real& highest = result.lines[i].highest;
    if (std::isnan(value) || value > highest) highest = std::isnan(highest) ? highest : value;
  });
  walk_reduction(x, result.reduction, [&](std::size_t i, Real value) {
    Line& line = result.lines[i];
    const Real e = std::exp(value - line.highest);
    line.exponentials.add(e);
    line.shifts.add(e == 0 ? 0 : e * std::fabs(value - line.highest));
  });
  return result;
}

}  // namespace

DType promote(DType lhs, DType rhs) {
  if (lhs == rhs) return lhs;
  // The enumeration goes by kind, then by width.
  const DType low = std::min(lhs, rhs), high = std::max(lhs, rhs);
  if (is_integer(low) && is_integer(high)) {
    for (const DType dtype : {DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32,
                              DType::kI32, DType::kU64, DType::kI64}) {
      const bool holds = lowest(dtype) <= std::min(lowest(low), lowest(high)) &&
                         largest(dtype) >= std::max(largest(low), largest(high));
      if (holds) return dtype;
    }
  }
  if (low == DType::kF8E4M3 && high == DType::kF8E5M2) return DType::kF16;
  if (low == DType::kBf16 && high == DType::kF16) return DType::kF32;
  return high;
}

Real digamma(Real x) {
  const Real pi = std::acos(Real(-1));
  if (x == 0) return std::copysign(std::numeric_limits<Real>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<Real>::quiet_NaN();
    return digamma(1 - x) - pi / std::tan(pi * (x - std::nearbyint(x)));
  }
  Real sum = 0;
  for (; x < 1000; x += 1) sum -= 1 / x;
  const Real y = 1 / (x * x);
  return sum + std::log(x) - 1 / (2 * x) - y * (1 / Real(12) - y * (1 / Real(120) - y / 252));
}

Real trigamma(Real x) {
  const Real pi = std::acos(Real(-1));
  if (x <= 0) {
    const Real s = std::sin(pi * (x - std::nearbyint(x)));
    return pi / s * (pi / s) - trigamma(1 - x);
  }
  Real sum = 0;
  for (; x < 1000; x += 1) sum += 1 / (x * x);
  const Real y = 1 / (x * x);
  return sum + 1 / x + y / 2 + y / x * (1 / Real(6) - y * (1 / Real(30) - y / 42));
}

Real polygamma(int order, Real x) {
  if (std::isnan(x)) return x;
  Real factor = -1;
  for (int i = 1; i <= order; i++) factor *= -i;
  if (x <= 0 && x == std::floor(x)) return factor * std::numeric_limits<Real>::infinity();
  // The sum of (x + k)^-s: its first terms, then the integral and its corrections: each is what is
  // said of the last, times (s + i) (s + i + 1) / from^2 and a ratio of Bernoulli's numbers.
  const Real s = order + 1;
  const auto power_of = [order](Real base) {  // of few factors: each is rounded
    Real power = 1 / base;
    for (int i = 0; i < order; i++) power /= base;
    return power;
  };
  const auto upward = [&](Real from) {
    Real sum = 0;
    if (std::isinf(from)) return sum;
    for (; from < 40 + 5 * s; from += 1) sum += power_of(from);
    const Real power = power_of(from);
    sum += power * (from / (s - 1) + Real(0.5));
    Real rising = s / from;
    const Real weights[] = {1 / Real(12), -1 / Real(720), 1 / Real(30240), -1 / Real(1209600),
                            1 / Real(47900160)};
    Real i = 1;
    for (const Real weight : weights) {
      sum += power * weight * rising;
      rising *= (s + i) * (s + i + 1) / (from * from);
      i += 2;
    }
    return sum;
  };
  if (x > 0) return factor * upward(x);
  const Real sign = order % 2 ? 1 : -1, above = std::ceil(x) - x;
  return factor * (upward(1 - above) + sign * (upward(above) - upward(1 - x)));
}

DType promote(const Array& lhs, const Array& rhs) {
  const auto kind = [](DType dtype) { return is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; };
  if (lhs.shape.empty() != rhs.shape.empty()) {
    const Array& with_dims = lhs.shape.empty() ? rhs : lhs;
    const Array& without = lhs.shape.empty() ? lhs : rhs;
    if (kind(with_dims.dtype) >= kind(without.dtype)) return with_dims.dtype;
  }
  return promote(lhs.dtype, rhs.dtype);
}

DType floating(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }

Result sum(const Array& x, const Reduction& reduction) {
  std::vector<Sum> sums(reduced_size(x, reduction));
  if (is_floating(x.dtype)) {
    const Shape shape =
        walk_reduction(x, reduction, [&](std::size_t i, Real v) { sums[i].add(v); });
    return result_of(x.dtype, shape, sums);
  }
  std::vector<Wide> totals(sums.size(), 0);
  const Shape shape =
      walk_reduction(x, reduction, [&](std::size_t i, Real v) { totals[i] += Wide(v); });
  const DType dtype = x.dtype == DType::kU64 ? DType::kU64 : DType::kI64;
  Result result{{dtype, shape, {}}, {}, 0};
  for (const Wide total : totals) result.array.values.push_back(wrap(dtype, total));
  return result;
}

Result mean(const Array& x, const Reduction& reduction) {
  std::vector<Sum> sums(reduced_size(x, reduction));
  const Shape shape = walk_reduction(x, reduction, [&](std::size_t i, Real v) { sums[i].add(v); });
  Result result = result_of(floating(x.dtype), shape, sums);
  // Counted from the shape: also right where there is nothing to walk over.
  const Real count = sums.empty() ? 0 : Real(x.values.size()) / Real(sums.size());
  for (std::size_t i = 0; i < sums.size(); i++) {
    result.array.values[i] /= count;
    result.magnitude[i] /= count;
  }
  return result;
}

Result max(const Array& x, const Reduction& reduction) {
  std::vector<Real> highest(reduced_size(x, reduction), -std::numeric_limits<Real>::infinity());
  const Shape shape = walk_reduction(x, reduction, [&](std::size_t i, Real v) {
    if (std::isnan(v) || v > highest[i]) highest[i] = std::isnan(highest[i]) ? highest[i] : v;
  });
  return {{x.dtype, shape, highest}, {}, 0};
}

Result matmul(const Array& a, const Array& b) {
  Array lhs = a, rhs = b;
  if (a.shape.size() == 1) lhs.shape.insert(lhs.shape.begin(), 1);
  if (b.shape.size() == 1) rhs.shape.push_back(1);
  const int64_t m = lhs.shape[lhs.shape.size() - 2], k = lhs.shape.back(), n = rhs.shape.back();
  const Shape batch = broadcast(without_last(lhs.shape, 2), without_last(rhs.shape, 2));
  const auto with = [&](int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  lhs = expand(lhs, with(m, k));
  rhs = expand(rhs, with(k, n));
  const DType promoted = promote(a.dtype, b.dtype),
              dtype = promoted == DType::kBool ? DType::kI64 : promoted;
  std::vector<Sum> sums(std::size_t(numel(with(m, n))));
  std::vector<Wide> integers(sums.size());  // what sums of integers wrap to
  for (int64_t p = 0; p < int64_t(sums.size()); p++) {
    const int64_t column = p % n, row = p / n;  // row counts through the batch
    const int64_t first = row / m * k;
    for (int64_t i = 0; i < k; i++) {
      const Real x = lhs.values[std::size_t(row * k + i)],
                 y = rhs.values[std::size_t((first + i) * n + column)];
      sums[std::size_t(p)].add(x * y);
      Wide& integer = integers[std::size_t(p)];
      if (!is_floating(dtype))
        integer = Wide(wrap(dtype, integer + Wide(wrap(dtype, multiply(Wide(x), Wide(y))))));
    }
  }
  Shape shape = batch;
  if (a.shape.size() > 1) shape.push_back(m);
  if (b.shape.size() > 1) shape.push_back(n);
  Result result = result_of(dtype, shape, sums);
  for (std::size_t p = 0; p < sums.size(); p++) result.magnitude[p] = sums[p].serial_magnitude();
  for (std::size_t p = 0; p < integers.size() && !is_floating(dtype); p++)
    result.array.values[p] = Real(integers[p]);
  return result;
}

Result linear(const Array& x, const Array& weight, const Array* bias) {
  Result result = matmul(x, permute(weight, {1, 0}));
  if (!bias) return result;
  for (std::size_t p = 0; p < result.array.values.size(); p++) {
    const Real term = bias->values[p % bias->values.size()];
    result.array.values[p] += term;
    result.magnitude[p] += std::fabs(term);
  }
  result.terms++;
  return result;
}

Result expert_linear(const Array& x, const Array& weight, const Array& ids) {
  const int64_t tokens = ids.shape[0], slots = ids.shape[1], k = x.shape.back();
  Array each = x;
  if (x.shape.size() == 2) {
    each.shape = {tokens, 1, k};
    each = expand(each, {tokens, slots, k});
  }
  each.shape = {tokens * slots, 1, k};
  Result y = matmul(each, permute(index_select(weight, 0, ids).array, {0, 2, 1}));
  y.array.shape = {tokens, slots, weight.shape[1]};
  y.array.dtype = x.dtype;
  return y;
}

Result index_select(const Array& x, int64_t dim, const Array& ids) {
  const int d = normalize_dim(dim, x.shape.size());
  return {build(x.dtype, replaced(x.shape, d, int64_t(ids.values.size())),
                [&](const Index& index) {
                  const Real id = ids.values[std::size_t(index[std::size_t(d)])];
                  return x.values[std::size_t(position(x.shape, replaced(index, d, int64_t(id))))];
                }),
          {},
          0};
}

Result gather(const Array& x, int64_t dim, const Array& ids) {
  const int d = normalize_dim(dim, x.shape.size());
  return {build(x.dtype, ids.shape,
                [&](const Index& index) {
                  const Real id = ids.values[std::size_t(position(ids.shape, index))];
                  return x.values[std::size_t(position(x.shape, replaced(index, d, int64_t(id))))];
                }),
          {},
          0};
}

Result embedding(const Array& weight, const Array& ids) {
  Shape shape = ids.shape;
  shape.push_back(weight.shape[1]);
  return {build(weight.dtype, shape,
                [&](Index index) {
                  const int64_t column = index.back();
                  index.pop_back();
                  const Real id = ids.values[std::size_t(position(ids.shape, index))];
                  return weight.values[std::size_t(int64_t(id) * weight.shape[1] + column)];
                }),
          {},
          0};
}

Result index_add(const Array& x, int64_t dim, const Array& ids, const Array& src) {
  const int d = normalize_dim(dim, x.shape.size());
  return added(x, src, [&](const Index& index) {
    return replaced(index, d, int64_t(ids.values[std::size_t(index[std::size_t(d)])]));
  });
}

Result scatter_add(const Array& x, int64_t dim, const Array& ids, const Array& src) {
  const int d = normalize_dim(dim, x.shape.size());
  return added(x, src, [&](const Index& index) {
    return replaced(index, d, int64_t(ids.values[std::size_t(position(ids.shape, index))]));
  });
}

Result scatter(const Array& x, int64_t dim, const Array& ids, const Array& src) {
  const int d = normalize_dim(dim, x.shape.size());
  const Array spread = expand(ids, src.shape);
  Result result{x, {}, 0};
  for (std::size_t p = 0; p < src.values.size(); p++) {
    const Index to = replaced(index_at(src.shape, int64_t(p)), d, int64_t(spread.values[p]));
    result.array.values[std::size_t(position(x.shape, to))] = src.values[p];
  }
  return result;
}

Result cat(const std::vector<Array>& arrays, int64_t dim) {
  const int d = normalize_dim(dim, arrays[0].shape.size());
  Shape shape = replaced(arrays[0].shape, d, 0);
  for (const Array& x : arrays) shape[std::size_t(d)] += x.shape[std::size_t(d)];
  return {build(arrays[0].dtype, shape,
                [&](const Index& index) {
                  int64_t at = index[std::size_t(d)];
                  const Array* x = arrays.data();
                  for (; at >= x->shape[std::size_t(d)]; x++) at -= x->shape[std::size_t(d)];
                  return x->values[std::size_t(position(x->shape, replaced(index, d, at)))];
                }),
          {},
          0};
}

Result where(const Array& condition, const Array& a, const Array& b) {
  const DType dtype = promote(a, b);
  const Shape shape = broadcast(condition.shape, broadcast(a.shape, b.shape));
  const Array mask = expand(convert(condition, DType::kBool), shape);
  const Array yes = expand(convert(a, dtype), shape), no = expand(convert(b, dtype), shape);
  Result result{no, {}, 0};
  for (std::size_t p = 0; p < mask.values.size(); p++) {
    if (mask.values[p] != 0) result.array.values[p] = yes.values[p];
  }
  return result;
}

// y = e_i / S with e_i = exp(d_i), d_i = x_i - highest, S = sum(e). A relative error u of d_i costs
// y · |d_i| · u, and those under S cost y · sum(y_j |d_j|) · u.
Result softmax(const Array& x, int64_t dim) {
  const Lines lines = softmax_lines(x, dim);
  Result result{{x.dtype, x.shape, {}},
                {},
                x.shape.empty() ? 1 : x.shape[std::size_t(normalize_dim(dim, x.shape.size()))]};
  walk_reduction(x, lines.reduction, [&](std::size_t i, Real value) {
    const Line& line = lines.lines[i];
    const Real total = line.exponentials.value(), shift = value - line.highest;
    const Real y = std::exp(shift) / total;
    result.array.values.push_back(y);
    result.magnitude.push_back(y == 0 ? 0
                                      : y * (1 + std::fabs(shift) + line.shifts.value() / total));
  });
  return result;
}

// y = d_i - log(S): errors of d_i and of the logarithm's result count in full, those of S as
// relative ones.
Result log_softmax(const Array& x, int64_t dim) {
  const Lines lines = softmax_lines(x, dim);
  Result result{{x.dtype, x.shape, {}},
                {},
                x.shape.empty() ? 1 : x.shape[std::size_t(normalize_dim(dim, x.shape.size()))]};
  walk_reduction(x, lines.reduction, [&](std::size_t i, Real value) {
    const Line& line = lines.lines[i];
    const Real total = line.exponentials.value(), shift = value - line.highest;
    result.array.values.push_back(shift - std::log(total));
    result.magnitude.push_back(1 + std::fabs(shift) + std::log(total) +
                               line.shifts.value() / total);
  });
  return result;
}

namespace {

/// Losses of rows of logarithms, each the sum of -share(row, class) · logarithm, with its magnitude.
/// The mean divides by `count`.
template <class Share>
Result loss_of(const Result& logs, const Shape& shape, const Share& share,
               Loss::Reduction reduction, Real count) {
  const DType dtype = logs.array.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const std::size_t classes = std::size_t(logs.array.shape.back());
  Sum total, total_magnitude;
  Result each{{dtype, shape, {}}, {}, logs.terms};
  for (std::size_t at = 0; at < logs.array.values.size(); at += classes) {
    Sum loss, magnitude;
    for (std::size_t c = 0; c < classes; c++) {
      const Real part = share(at / classes, c), logarithm = logs.array.values[at + c];
      if (part == 0) continue;  // of a logarithm that may be infinite
      loss.add(-part * logarithm);
      magnitude.add(part * (logs.magnitude[at + c] + std::fabs(logarithm)));
    }
    each.array.values.push_back(loss.value());
    each.magnitude.push_back(magnitude.value());
    total.add(loss.value());
    total_magnitude.add(magnitude.value());
  }
  if (reduction == Loss::Reduction::kNone) return each;
  const Real divisor = reduction == Loss::Reduction::kMean ? count : 1;
  return {{dtype, {}, {total.value() / divisor}}, {total_magnitude.value() / divisor}, logs.terms};
}

Real weight_of(const Loss& loss, std::size_t c) {
  return loss.weight ? loss.weight->values[c] : Real(1);
}

Result loss_of_classes(const Result& logs, const Array& targets, const Loss& loss) {
  Sum weights;
  for (const Real target : targets.values)
    if (target != loss.ignored) weights.add(weight_of(loss, std::size_t(target)));
  const Real shared = loss.smoothing / Real(logs.array.shape.back());
  const auto share = [&](std::size_t row, std::size_t c) -> Real {
    const Real target = targets.values[row];
    if (target == loss.ignored) return 0;
    return weight_of(loss, c) * ((target == Real(c) ? 1 - loss.smoothing : 0) + shared);
  };
  return loss_of(logs, targets.shape, share, loss.reduction, weights.value());
}

}  // namespace

Result cross_entropy(const Array& logits, const Array& targets, const Loss& loss) {
  return loss_of_classes(log_softmax(logits, -1), targets, loss);
}

Result cross_entropy_of_probabilities(const Array& logits, const Array& p, const Loss& loss) {
  const std::size_t classes = std::size_t(logits.shape[1]);
  const auto share = [&](std::size_t row, std::size_t c) {
    const Real own = p.values[row * classes + c] * (1 - loss.smoothing);
    return weight_of(loss, c) * (own + loss.smoothing / Real(classes));
  };
  return loss_of(log_softmax(logits, -1), {logits.shape[0]}, share, loss.reduction,
                 Real(logits.shape[0]));
}

Result nll_loss(const Array& log_probabilities, const Array& targets, const Loss& loss) {
  const Result logs{log_probabilities, std::vector<Real>(log_probabilities.values.size()), 1};
  return loss_of_classes(logs, targets, loss);
}

}  // namespace wick::reference
