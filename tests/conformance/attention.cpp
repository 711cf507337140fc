// sdpa, under masks and in windows too, and its gradient. Options in geometries: whether causal, the
// scale in hundredths (0: 1 / sqrt(D)), the window and the soft cap in hundredths.
#include <array>
#include <cmath>
#include <span>

#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/attention.h"
#include "wick/core/var.h"
#include "wick/ops/arrange.h"
#include "wick/ops/attention.h"
#include "wick/ops/autograd.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

bool is_causal(const Case& c) { return c.geometry.dims.at(0) != 0; }
double scale_of(const Case& c) { return double(c.geometry.dims.at(1)) / 100; }
int64_t window_of(const Case& c) { return c.geometry.dims.at(2); }
double soft_cap_of(const Case& c) { return double(c.geometry.dims.at(3)) / 100; }

SdpaOptions options_of(const Case& c, const Tensor& positions) {
  return {.is_causal = is_causal(c),
          .positions = is_causal(c) ? positions : Tensor(),
          .scale = scale_of(c),
          .window = window_of(c),
          .soft_cap = soft_cap_of(c)};
}

reference::Attention attention_of(const Case& c) {
  return {.scale = Real(scale_of(c)),
          .causal = is_causal(c),
          .window = window_of(c),
          .soft_cap = Real(soft_cap_of(c))};
}

/// q, k and v as models have them: [B, T, H, D], seen as [B, H, T, D].
Tensor heads_first(const Tensor& x) { return transpose(x, 1, 2); }
Array heads_first(const Array& x) { return reference::permute(x, {0, 2, 1, 3}); }

struct AttentionSizes {
  int64_t b, h, g, t, s, d;
  bool causal = true;
  int64_t scale = 0, window = 0, soft_cap = 0;
};

const AttentionSizes kAttentions[] = {
    {1, 1, 1, 1, 1, 8},          {1, 2, 1, 1, 2, 8},    {1, 1, 1, 2, 2, 8, false},
    {1, 2, 2, 2, 1, 4},          {1, 2, 1, 2, 3, 4},    {2, 1, 1, 2, 2, 4, false, 30},
    {2, 4, 1, 1, 70, 32},        {1, 4, 4, 7, 7, 8},    {2, 4, 2, 5, 33, 64},
    {1, 2, 1, 33, 33, 80},       {1, 4, 2, 1, 200, 64}, {1, 2, 2, 3, 70, 128, false},
    {1, 4, 1, 17, 200, 32},      {1, 2, 2, 70, 70, 32}, {2, 2, 1, 20, 70, 64, true, 25},
    {2, 3, 3, 5, 17, 16, false}, {0, 2, 1, 3, 5, 8},    {1, 4, 2, 1, 2, 4},
    {2, 6, 3, 5, 9, 8},          {1, 2, 1, 0, 5, 8},    {1, 2, 1, 3, 0, 8},
    {1, 2, 1, 130, 150, 64},
};

const AttentionSizes kWindows[] = {
    {1, 1, 1, 1, 3, 8, true, 0, 1},        {1, 2, 1, 2, 9, 8, true, 0, 4},
    {2, 4, 2, 5, 33, 64, true, 0, 6, 300}, {1, 4, 1, 1, 200, 32, true, 0, 70},
    {1, 2, 2, 70, 70, 32, true, 0, 9},     {2, 3, 3, 5, 17, 16, false, 0, 0, 200},
    {2, 6, 3, 5, 9, 8, true, 30, 2, 500},  {1, 4, 1, 17, 200, 32, true, 0, 80},
    {0, 2, 1, 3, 5, 8, true, 0, 2},        {1, 2, 1, 3, 0, 8, true, 0, 2, 100},
    {1, 2, 1, 130, 150, 64, true, 0, 65},  {1, 2, 2, 3, 70, 128, false, 0, 0, 5000},
};

/// The operands of sdpa, after `leading` ones of q's shape.
std::vector<Geometry> attention_geometries(std::span<const AttentionSizes> sizes, int leading) {
  std::vector<Geometry> result;
  for (const AttentionSizes& n : sizes) {
    Geometry geometry{{}, {n.causal, n.scale, n.window, n.soft_cap}};
    for (int i = 0; i <= leading; i++) geometry.operands.push_back({n.b, n.t, n.h, n.d});
    for (int i = 0; i < 2; i++) geometry.operands.push_back({n.b, n.s, n.g, n.d});
    geometry.operands.push_back({n.b, n.t});
    result.push_back(geometry);
  }
  return result;
}

/// Positions may lie beyond the last key. They come in no order.
Array positions(const Case& c, Random& random) {
  const std::size_t last = c.geometry.operands.size() - 1;
  return random_ids(c.geometry.operands[last], c.geometry.operands[last - 1][1] + 2, random);
}

// A query whose scores are all -inf has no result that anyone promises, so q and k carry NaN and
// small numbers, and no infinity. Nor may what is not seen be NaN or infinite in v, where a weight
// of 0 multiplies it; in k it may. Nor is v infinite where a weight of f16 may round to 0.
Array special_operand(std::size_t operand, const Case& c, Random& random) {
  const bool is_v = operand == 2, all_seen = !is_causal(c);
  Array x = sprinkled_array(c.dtypes[0], c.geometry.operands[operand], {-2, 2}, random);
  if (is_v && all_seen && c.dtypes[0] != DType::kF16) return x;
  for (Real& value : x.values) {
    if (std::isinf(value) || (is_v && !all_seen && std::isnan(value))) value = 1;
  }
  if (!is_v || all_seen) return x;
  // The first key is seen by all.
  const HostShape& shape = x.shape;
  const int64_t line = shape[2] * shape[3];
  for (int64_t b = 0; b < shape[0] && line > 0 && shape[1] > 0; b++) {
    if (random.below(2)) continue;
    x.values[std::size_t(b * shape[1] * line + random.below(line))] =
        std::numeric_limits<Real>::quiet_NaN();
  }
  return x;
}

/// f8 goes through matrix units as bf16.
DType product_operand(DType dtype) {
  return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2 ? DType::kBf16 : dtype;
}

/// Adds what matrix units and the kept y may be off by to a result's magnitude, so that `c`
/// roundings of the accumulator allow it.
Result with_narrow_products(reference::ProductsResult all, double c) {
  const DType dtype = all.result.array.dtype;
  const Real u = Real(c) * reference::unit_roundoff(reference::accumulator(dtype));
  const Real between = reference::unit_roundoff(product_operand(dtype)) / u;
  const Real kept = reference::unit_roundoff(dtype) / u;
  for (std::size_t i = 0; i < all.between.size(); i++) {
    all.result.magnitude[i] += between * all.between[i] + kept * all.kept[i];
  }
  return std::move(all.result);
}

// The reference counts the roundings of each step, and of a sum those that matmul's bound gives it.
constexpr double kAttentionRoundings = 2;

Row sdpa_row() {
  Row row;
  row.op = "sdpa";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return sdpa(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]), options_of(c, x[3]));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_narrow_products(reference::sdpa(heads_first(x[0]), heads_first(x[1]),
                                                heads_first(x[2]), x[3], attention_of(c)),
                                kAttentionRoundings);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 3) return positions(c, random);
    return c.values == Values::kSpecial
               ? special_operand(operand, c, random)
               : random_array(c.dtypes[0], c.geometry.operands[operand], {-2, 2}, random);
  };
  for (const DType d : kFloats) row.dtypes.push_back({d, d, d, DType::kI64});
  row.geometries = attention_geometries(kAttentions, 0);
  row.tolerance = sums(kAttentionRoundings);
  row.loose = kHoldsOnCards;
  row.may_flush = {DType::kBf16, DType::kF16};  // as matmul's
  row.fused = true;
  row.differentiable = {0, 1, 2};
  row.bench =
      Geometry{{{1, 512, 16, 64}, {1, 512, 4, 64}, {1, 512, 4, 64}, {1, 512}}, {1, 0, 0, 0}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSdpa, d[0]}};
  };
  return row;
}

/// The gradients of q, k and v, by backward, which takes the kernel where the mode allows it.
Row sdpa_gradient_row() {
  Row row = sdpa_row();
  row.op = "sdpa_gradient";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const Var q(x[1]), k(x[2]), v(x[3]);
    backward(sdpa(heads_first(q), heads_first(k), heads_first(v), options_of(c, x[4])),
             {.seed = heads_first(x[0])});
    std::vector<Tensor> parts;
    for (const Var* var : {&q, &k, &v}) {
      const Tensor g = heads_first(var->grad());
      parts.push_back(reshape(g, {g.numel()}));
    }
    return cat(parts, 0);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_narrow_products(
        reference::sdpa_gradient(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]),
                                 heads_first(x[3]), x[4], attention_of(c)),
        kAttentionRoundings);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 4) return positions(c, random);
    return random_array(c.dtypes[0], c.geometry.operands[operand], {-2, 2}, random);
  };
  row.dtypes.clear();
  for (const DType d : kFloats) row.dtypes.push_back({d, d, d, d, DType::kI64});
  row.geometries = attention_geometries(kAttentions, 1);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.differentiable = {};
  row.bench->operands.insert(row.bench->operands.begin(), row.bench->operands[0]);
  row.kernels = [](const std::vector<DType>& d) {
    const DType x = d[0];
    return std::vector<KernelQuestion>{{kSdpaGradient, x}};
  };
  return row;
}

/// A row of sdpa with windows and soft caps.
Row windowed(Row row, int leading) {
  row.op += "(window)";
  row.geometries = attention_geometries(kWindows, leading);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.bench = {};
  return row;
}

/// Masks by whether keys are seen, or by what is added to their scores, -infinity among it.
Array mask(const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[3];
  const DType dtype = c.dtypes[3];
  if (dtype == DType::kBool) return random_array(dtype, shape, {0, 1}, random);
  Array x = random_array(dtype, shape, {-3, 3}, random);
  const Real unseen =
      reference::round_to_format(dtype, -std::numeric_limits<Real>::infinity());  // NaN of f8e4m3
  for (Real& value : x.values)
    if (std::isinf(unseen) && random.below(4) == 0) value = unseen;
  return x;
}

/// sdpa with a mask, and positions from 0 on.
Row masked_row(bool is_bool) {
  Row row = sdpa_row();
  row.op = is_bool ? "sdpa_masked(bool)" : "sdpa_masked";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return sdpa(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]),
                {.mask = x[3], .is_causal = is_causal(c), .scale = scale_of(c)});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const HostShape &q = x[0].shape, &k = x[1].shape;
    const Array all = reference::expand(x[3], {q[0], q[2], q[1], k[1]});
    Array positions{DType::kI64, {q[0], q[1]}, {}};
    for (int64_t i = 0; i < q[0] * q[1]; i++) positions.values.push_back(Real(i % q[1]));
    reference::Attention attention = attention_of(c);
    attention.mask = &all;
    return with_narrow_products(reference::sdpa(heads_first(x[0]), heads_first(x[1]),
                                                heads_first(x[2]), positions, attention),
                                kAttentionRoundings);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return operand == 3 ? mask(c, random)
                        : random_array(c.dtypes[0], c.geometry.operands[operand], {-2, 2}, random);
  };
  row.dtypes.clear();
  for (const DType d : kFloats) row.dtypes.push_back({d, d, d, is_bool ? DType::kBool : d});
  if (!is_bool) row.dtypes.push_back({DType::kBf16, DType::kBf16, DType::kBf16, DType::kF32});
  row.geometries.clear();
  struct Sizes {
    AttentionSizes n;
    HostShape mask;
  };
  for (const auto& [n, mask] : {Sizes{{1, 1, 1, 1, 1, 8, false}, {}},
                                {{2, 2, 1, 3, 4, 8, false}, {2, 2, 3, 4}},
                                {{2, 4, 2, 3, 5, 8, true}, {3, 5}},
                                {{2, 4, 2, 5, 5, 4, false, 30}, {2, 1, 1, 5}},
                                {{1, 6, 3, 2, 7, 16, true}, {6, 1, 7}},
                                {{2, 2, 1, 20, 70, 64, false}, {2, 1, 20, 70}},
                                {{0, 2, 1, 3, 5, 8, true}, {3, 5}},
                                {{1, 2, 1, 3, 0, 8, false}, {3, 0}}})
    row.geometries.push_back(
        {{{n.b, n.t, n.h, n.d}, {n.b, n.s, n.g, n.d}, {n.b, n.s, n.g, n.d}, mask},
         {n.causal, n.scale, 0, 0}});
  row.special = false;  // NaN times the weight 0 of what is not seen
  if (!is_bool) row.differentiable.push_back(3);
  row.bench = {};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSdpaMasked, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"attention">() {
  return {sdpa_row(),
          sdpa_gradient_row(),
          windowed(sdpa_row(), 0),
          windowed(sdpa_gradient_row(), 1),
          masked_row(true),
          masked_row(false)};
}

}  // namespace wick::conformance
