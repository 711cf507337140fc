// sdpa, under masks, in windows, with sinks, in blocks of a pool, of padded and of packed sequences, and
// its gradient. Options in geometries: whether causal, the scale in hundredths (0: 1 / sqrt(D)), the
// window, the soft cap in hundredths, and the keys of a block, if they lie in blocks.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/attention.h"
#include "wick/core/var.h"
#include "wick/ops/arrange.h"
#include "wick/ops/attention.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

bool is_causal(const Case& c) { return c.geometry.dims.at(0) != 0; }
double scale_of(const Case& c) { return double(c.geometry.dims.at(1)) / 100; }
int64_t window_of(const Case& c) { return c.geometry.dims.at(2); }
double soft_cap_of(const Case& c) { return double(c.geometry.dims.at(3)) / 100; }

SdpaOptions options_of(const Case& c, const Tensor& positions, const Tensor& sinks = {}) {
  return {.is_causal = is_causal(c),
          .positions = is_causal(c) ? positions : Tensor(),
          .scale = scale_of(c),
          .window = window_of(c),
          .soft_cap = soft_cap_of(c),
          .sinks = sinks};
}

int64_t block_of(const Case& c) { return c.geometry.dims.size() > 4 ? c.geometry.dims[4] : 0; }

/// x [B, G, S, D] in blocks of a pool [1, G, P, D], the last one first, after a block that no
/// sequence has.
Tensor pool_of(const Tensor& x, int64_t block) {
  const int64_t b = x.size(0), g = x.size(1), n = x.size(2) / block, d = x.size(3);
  const Tensor blocks =
      reshape(permute(reshape(x, {b, g, n, block, d}), {1, 0, 2, 3, 4}), {g, b * n, block, d});
  const double unseen = is_floating(x.dtype()) ? std::nan("") : 99;
  const Tensor first = full({g, 1, block, d}, unseen, {.dtype = x.dtype(), .device = x.device()});
  return reshape(cat({first, flip(blocks, {1})}, 1), {1, g, (b * n + 1) * block, d});
}
/// sdpa of q, k and v with their heads first; of k and v in blocks if the case says so.
Tensor attended(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v,
                SdpaOptions options) {
  const int64_t block = block_of(c);
  if (block == 0) return sdpa(q, k, v, options);
  const int64_t b = k.size(0), n = k.size(2) / block;
  std::vector<int64_t> table;
  for (int64_t i = b * n; i > 0; i--) table.push_back(i);
  options.blocks = Tensor::from(table, {b, n}, k.device());
  options.block_size = block;
  if (options.key_scales) {
    options.key_scales = pool_of(options.key_scales, block);
    options.value_scales = pool_of(options.value_scales, block);
  }
  return sdpa(q, pool_of(k, block), pool_of(v, block), options);
}

/// The operand at `index` of a row that may have it.
Tensor operand_or_none(const std::vector<Tensor>& x, std::size_t index) {
  return x.size() > index ? x[index] : Tensor();
}

/// sinks: the index of that operand, if there is one.
reference::Attention attention_of(const Case& c, const std::vector<Array>& x, std::size_t sinks) {
  return {.scale = Real(scale_of(c)),
          .causal = is_causal(c),
          .window = window_of(c),
          .soft_cap = Real(soft_cap_of(c)),
          .sinks = x.size() > sinks ? &x[sinks] : nullptr};
}

/// q, k and v as models have them: [B, T, H, D], seen as [B, H, T, D].
Tensor heads_first(const Tensor& x) { return transpose(x, 1, 2); }
Array heads_first(const Array& x) { return reference::permute(x, {0, 2, 1, 3}); }

struct AttentionSizes {
  int64_t b, h, g, t, s, d;
  bool causal = true;
  int64_t scale = 0, window = 0, soft_cap = 0;
  int64_t dv = 0;  // of v; 0: d
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

/// v of another size than q and k: in each bucket of sizes, and across them.
const AttentionSizes kValueSizes[] = {
    {1, 2, 1, 2, 3, 4, true, 0, 0, 0, 3},       {1, 2, 1, 1, 5, 8, false, 0, 0, 0, 4},
    {2, 4, 2, 5, 33, 24, true, 0, 6, 300, 64},  {1, 2, 1, 1, 200, 192, true, 0, 0, 0, 128},
    {1, 4, 4, 20, 70, 192, true, 0, 0, 0, 128}, {1, 2, 2, 33, 40, 16, false, 0, 0, 0, 128},
    {1, 2, 1, 70, 70, 64, true, 0, 0, 0, 80},   {1, 4, 2, 3, 70, 32, true, 0, 0, 0, 256},
    {2, 1, 1, 7, 9, 5, false, 30, 0, 0, 3},     {1, 2, 1, 130, 150, 96, true, 0, 65, 0, 64},
};

/// The heads of latent attention: plain, and absorbed, where all queries share a key whose leading
/// part is v.
const AttentionSizes kLatent[] = {
    {1, 4, 4, 9, 9, 192, true, 0, 0, 0, 128},   {2, 20, 1, 1, 70, 576, true, 0, 0, 0, 512},
    {1, 5, 1, 7, 70, 576, true, 14, 0, 0, 512}, {1, 2, 1, 3, 300, 576, false, 0, 0, 0, 512},
    {1, 16, 1, 1, 66, 512, true, 0, 0, 0, 512}, {1, 2, 2, 9, 33, 512, true, 0, 5, 300, 512},
    {1, 3, 1, 2, 5, 257, true, 0, 0, 0, 300},   {0, 2, 1, 3, 5, 576, true, 0, 0, 0, 512},
};

/// The operands of sdpa, after `leading` ones of y's shape.
std::vector<Geometry> attention_geometries(std::span<const AttentionSizes> sizes, int leading) {
  std::vector<Geometry> result;
  for (const AttentionSizes& n : sizes) {
    Geometry geometry{{}, {n.causal, n.scale, n.window, n.soft_cap}};
    const int64_t dv = n.dv > 0 ? n.dv : n.d;
    for (int i = 0; i < leading; i++) geometry.operands.push_back({n.b, n.t, n.h, dv});
    geometry.operands.push_back({n.b, n.t, n.h, n.d});
    geometry.operands.push_back({n.b, n.s, n.g, n.d});
    geometry.operands.push_back({n.b, n.s, n.g, dv});
    geometry.operands.push_back({n.b, n.t});
    result.push_back(geometry);
  }
  return result;
}

/// Positions may lie beyond the last key. They come in no order.
Array positions(std::size_t operand, const Case& c, Random& random) {
  return random_ids(c.geometry.operands[operand], c.geometry.operands[operand - 1][1] + 2, random);
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

/// The reference of sdpa, or of its gradient with gy first. heads(i): operand i as [B, H, T, D].
template <class Heads>
Result expected(bool is_gradient, const Heads& heads, const Array& positions,
                const reference::Attention& attention) {
  return with_narrow_products(
      is_gradient
          ? reference::sdpa_gradient(heads(0), heads(1), heads(2), heads(3), positions, attention)
          : reference::sdpa(heads(0), heads(1), heads(2), positions, attention),
      kAttentionRoundings);
}

Row sdpa_row() {
  Row row;
  row.op = "sdpa";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return attended(c, heads_first(x[0]), heads_first(x[1]), heads_first(x[2]),
                    options_of(c, x[3], operand_or_none(x, 4)));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_narrow_products(reference::sdpa(heads_first(x[0]), heads_first(x[1]),
                                                heads_first(x[2]), x[3], attention_of(c, x, 4)),
                                kAttentionRoundings);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 3) return positions(operand, c, random);
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

/// The gradients of q, k and v and the sinks, if there are any, in one line: by backward, which
/// takes the kernel where the mode allows it.
Tensor gradients_of(const std::vector<Tensor>& x,
                    const std::function<SdpaOptions(const Tensor& sinks)>& options) {
  const Var q(x[1]), k(x[2]), v(x[3]), sinks = x.size() > 5 ? Var(x[5]) : Var();
  backward(sdpa(heads_first(q), heads_first(k), heads_first(v), options(sinks)),
           {.seed = heads_first(x[0])});
  std::vector<Tensor> parts;
  for (const Var* var : {&q, &k, &v}) {
    const Tensor g = heads_first(var->grad());
    parts.push_back(reshape(g, {g.numel()}));
  }
  if (x.size() > 5) parts.push_back(cast(sinks.grad(), x[0].dtype()));
  return cat(parts, 0);
}

Row sdpa_gradient_row() {
  Row row = sdpa_row();
  row.op = "sdpa_gradient";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return gradients_of(x, [&](const Tensor& sinks) { return options_of(c, x[4], sinks); });
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_narrow_products(
        reference::sdpa_gradient(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]),
                                 heads_first(x[3]), x[4], attention_of(c, x, 5)),
        kAttentionRoundings);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 4) return positions(operand, c, random);
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

/// A row of sdpa with v of another size.
Row value_sizes(Row row, int leading) {
  row.op += "(value size)";
  row.geometries = attention_geometries(kValueSizes, leading);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.bench = {};
  return row;
}

/// A row of sdpa with the heads of latent attention. GPUs have no kernel for the gradients of those
/// above 256.
Row latent(Row row) {
  row.op += "(latent)";
  row.geometries = attention_geometries(kLatent, 0);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.bench = {};
  return row;
}

/// Masks by whether keys are seen, or by what is added to their scores, -infinity among it.
Array mask(std::size_t operand, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  const DType dtype = c.dtypes[operand];
  if (dtype == DType::kBool) return random_array(dtype, shape, {0, 1}, random);
  Array x = random_array(dtype, shape, {-3, 3}, random);
  const Real unseen =
      reference::round_to_format(dtype, -std::numeric_limits<Real>::infinity());  // NaN of f8e4m3
  for (Real& value : x.values)
    if (std::isinf(unseen) && random.below(4) == 0) value = unseen;
  return x;
}

/// Operands of sdpa with a mask, after gy for the gradient.
std::vector<Geometry> masked_geometries(bool is_gradient) {
  struct Sizes {
    AttentionSizes n;
    HostShape mask;
  };
  std::vector<Geometry> result;
  for (const auto& [n, mask] : {Sizes{{1, 1, 1, 1, 1, 8, false}, {}},
                                {{2, 2, 1, 3, 4, 8, false}, {2, 2, 3, 4}},
                                {{2, 4, 2, 3, 5, 8, true}, {3, 5}},
                                {{2, 4, 2, 5, 5, 4, false, 30}, {2, 1, 1, 5}},
                                {{1, 6, 3, 2, 7, 16, true}, {6, 1, 7}},
                                {{2, 2, 1, 20, 70, 64, false}, {2, 1, 20, 70}},
                                {{1, 4, 2, 70, 90, 32, true, 0, 9, 300}, {4, 70, 90}},
                                {{2, 4, 2, 33, 40, 128, false, 0, 0, 300}, {2, 1, 1, 40}},
                                {{1, 2, 2, 40, 130, 80, true, 0, 30}, {2, 40, 1}},
                                {{1, 2, 1, 20, 70, 24, true, 0, 0, 0, 64}, {20, 70}},
                                {{1, 2, 1, 5, 9, 64, false, 0, 0, 0, 136}, {2, 1, 9}},
                                {{1, 4, 1, 5, 70, 576, false, 0, 0, 0, 512}, {4, 1, 70}},
                                {{1, 4, 2, 20, 128, 64, true}, {4, 20, 128}},
                                {{0, 2, 1, 3, 5, 8, true}, {3, 5}},
                                {{1, 2, 1, 3, 0, 8, false}, {3, 0}}}) {
    // GPUs have no kernel for the gradient of such heads; see latent.
    if (is_gradient && n.d > 256) continue;
    Geometry geometry = attention_geometries(std::span(&n, 1), is_gradient ? 1 : 0)[0];
    geometry.operands.back() = mask;  // in place of positions
    result.push_back(geometry);
  }
  return result;
}

/// sdpa with a mask, and positions from 0 on; or the gradients of q, k and v.
Row masked_row(bool is_bool, bool is_gradient) {
  const std::size_t q = is_gradient ? 1 : 0, at = q + 3;  // of the mask
  Row row = is_gradient ? sdpa_gradient_row() : sdpa_row();
  row.op = is_gradient ? "sdpa_masked_gradient" : "sdpa_masked";
  if (is_bool) row.op += "(bool)";
  const auto options_under = [=](const Case& c, const Tensor& mask, const Tensor& sinks) {
    SdpaOptions options = options_of(c, {}, sinks);
    options.mask = mask;
    return options;
  };
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    return attended(c, heads_first(x[0]), heads_first(x[1]), heads_first(x[2]),
                    options_under(c, x[3], operand_or_none(x, 4)));
  };
  if (is_gradient)
    row.run = [=](std::vector<Tensor> x, const Case& c) {
      return gradients_of(x, [&](const Tensor& sinks) { return options_under(c, x[4], sinks); });
    };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    const HostShape &of_q = x[q].shape, &of_k = x[q + 1].shape;
    const Array all = reference::expand(x[at], {of_q[0], of_q[2], of_q[1], of_k[1]});
    Array positions{DType::kI64, {of_q[0], of_q[1]}, {}};
    for (int64_t i = 0; i < of_q[0] * of_q[1]; i++) positions.values.push_back(Real(i % of_q[1]));
    reference::Attention attention = attention_of(c, x, at + 1);
    attention.mask = &all;
    const auto heads = [&](std::size_t i) { return heads_first(x[i]); };
    return expected(is_gradient, heads, positions, attention);
  };
  row.make = [=](std::size_t operand, const Case& c, Random& random) {
    return operand == at ? mask(at, c, random)
                         : random_array(c.dtypes[0], c.geometry.operands[operand], {-2, 2}, random);
  };
  row.dtypes.clear();
  for (const DType d : kFloats) {
    row.dtypes.emplace_back(at, d);
    row.dtypes.back().push_back(is_bool ? DType::kBool : d);
  }
  if (!is_bool) {
    row.dtypes.emplace_back(at, DType::kBf16);
    row.dtypes.back().push_back(DType::kF32);
  }
  row.geometries = masked_geometries(is_gradient);
  row.special = false;  // NaN times the weight 0 of what is not seen
  if (!is_bool && !is_gradient) row.differentiable.push_back(3);
  row.bench = {};
  row.kernels = [=](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{is_gradient ? kSdpaMaskedGradient : kSdpaMasked, d[0]}};
  };
  return row;
}

/// A row with sinks, an operand more.
Row with_sinks(Row row) {
  const std::size_t at = row.dtypes[0].size();
  row.op += "(sinks)";
  for (std::vector<DType>& d : row.dtypes) d.push_back(reference::accumulator(d[0]));
  row.dtypes.push_back(row.dtypes[0]);
  row.dtypes.back()[at] = DType::kBf16;
  for (Geometry& geometry : row.geometries) {
    const std::size_t q = at == 5 ? 1 : 0;  // after gy
    geometry.operands.push_back({geometry.operands[q][2]});
  }
  row.make = [make = row.make, at](std::size_t operand, const Case& c, Random& random) {
    return operand == at ? random_array(c.dtypes[at], c.geometry.operands[at], {-3, 3}, random)
                         : make(operand, c, random);
  };
  row.special = false;
  if (!row.differentiable.empty()) row.differentiable.push_back(at);
  row.bench = {};
  return row;
}

/// A mask of bool [B, H, T, S].
Array mask_of(const HostShape& shape,
              const std::function<bool(int64_t b, int64_t t, int64_t s)>& sees) {
  Array mask{DType::kBool, shape, {}};
  for (int64_t b = 0; b < shape[0]; b++)
    for (int64_t h = 0; h < shape[1]; h++)
      for (int64_t t = 0; t < shape[2]; t++)
        for (int64_t s = 0; s < shape[3]; s++) mask.values.push_back(Real(sees(b, t, s)));
  return mask;
}

/// sdpa of padded sequences: the last operand has their lengths, which may be 0 or beyond all keys.
Row lengths_row() {
  Row row = sdpa_row();
  row.op = "sdpa(lengths)";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    SdpaOptions options = options_of(c, x[3]);
    options.lengths = x[4];
    return sdpa(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]), options);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const HostShape &q = x[0].shape, &k = x[1].shape;
    const Array mask = mask_of({q[0], q[2], q[1], k[1]}, [&](int64_t b, int64_t, int64_t s) {
      return Real(s) < x[4].values[std::size_t(b)];
    });
    reference::Attention attention = attention_of(c, x, 5);
    attention.mask = &mask;
    return with_narrow_products(
        reference::sdpa(heads_first(x[0]), heads_first(x[1]), heads_first(x[2]), x[3], attention),
        kAttentionRoundings);
  };
  row.make = [make = row.make](std::size_t operand, const Case& c, Random& random) {
    return operand == 4 ? random_ids(c.geometry.operands[4], c.geometry.operands[1][1] + 2, random)
                        : make(operand, c, random);
  };
  row.geometries = attention_geometries(kWindows, 0);
  for (const Geometry& geometry : attention_geometries(kAttentions, 0))
    row.geometries.push_back(geometry);
  for (Geometry& geometry : row.geometries) geometry.operands.push_back({geometry.operands[0][0]});
  for (std::vector<DType>& d : row.dtypes) d.push_back(DType::kI64);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.bench = {};
  return row;
}

/// Offsets of packed sequences, ascending from 0, up to `size` or less.
Array random_offsets(const HostShape& shape, int64_t size, Random& random) {
  Array offsets = random_ids(shape, size + 1, random);
  offsets.values[0] = 0;
  if (random.below(2)) offsets.values.back() = Real(size);
  std::sort(offsets.values.begin(), offsets.values.end());
  return offsets;
}

/// What queries of packed sequences see.
Array mask_of_sequences(const Case& c, const HostShape& shape, const Array& q, const Array& k) {
  return mask_of(shape, [&](int64_t, int64_t t, int64_t s) {
    for (std::size_t i = 0; i + 1 < q.values.size(); i++) {
      const auto from = [&](const Array& x) { return int64_t(x.values[i]); };
      const auto to = [&](const Array& x) { return int64_t(x.values[i + 1]); };
      if (t < from(q) || t >= to(q) || s < from(k) || s >= to(k)) continue;
      const int64_t ahead = (to(k) - s) - (to(q) - t);  // keys from this one to the query's own
      return !is_causal(c) || (ahead >= 0 && (window_of(c) == 0 || ahead < window_of(c)));
    }
    return false;
  });
}

SdpaVarlenOptions varlen_options_of(const Case& c) {
  return {.is_causal = is_causal(c),
          .scale = scale_of(c),
          .window = window_of(c),
          .soft_cap = soft_cap_of(c)};
}
/// x [N, H, D] as [1, H, N, D].
Tensor packed_heads_first(const Tensor& x) { return unsqueeze(transpose(x, 0, 1), 0); }
Array packed_heads_first(const Array& x) {
  Array y = reference::permute(x, {1, 0, 2});
  y.shape.insert(y.shape.begin(), 1);
  return y;
}

/// sdpa_varlen; operands are q, k, v and the offsets, after gy for the gradient.
Row varlen_row(bool is_gradient) {
  const std::size_t q = is_gradient ? 1 : 0, offsets = q + 3;
  Row row = is_gradient ? sdpa_gradient_row() : sdpa_row();
  row.op = is_gradient ? "sdpa_gradient(varlen)" : "sdpa_varlen";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return packed_heads_first(sdpa_varlen(x[0], x[1], x[2], x[3], x[4], varlen_options_of(c)));
  };
  if (is_gradient)
    row.run = [](std::vector<Tensor> x, const Case& c) {
      const Var q(x[1]), k(x[2]), v(x[3]);
      backward(sdpa_varlen(q, k, v, x[4], x[5], varlen_options_of(c)), {.seed = x[0]});
      std::vector<Tensor> parts;
      for (const Var* var : {&q, &k, &v}) {
        const Tensor g = packed_heads_first(var->grad());
        parts.push_back(reshape(g, {g.numel()}));
      }
      return cat(parts, 0);
    };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    const HostShape &n = x[q].shape, &m = x[q + 1].shape;
    const Array mask = mask_of_sequences(c, {1, n[1], n[0], m[0]}, x[offsets], x[offsets + 1]);
    reference::Attention attention = attention_of(c, x, offsets + 2);
    attention.mask = &mask;
    attention.causal = false;
    attention.window = 0;
    const Array positions{DType::kI64, {1, n[0]}, std::vector<Real>(std::size_t(n[0]), 0)};
    const auto heads = [&](std::size_t i) { return packed_heads_first(x[i]); };
    return expected(is_gradient, heads, positions, attention);
  };
  row.make = [=](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand < offsets) return random_array(c.dtypes[0], shape, {-2, 2}, random);
    return random_offsets(shape, c.geometry.operands[q + operand - offsets][0], random);
  };
  for (std::vector<DType>& d : row.dtypes) d.push_back(DType::kI64);
  row.geometries.clear();
  struct Sizes {
    int64_t sequences, n, m, h, g, d;
    bool causal;
    int64_t scale = 0, window = 0, soft_cap = 0;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 8, false},
                         {2, 3, 4, 2, 1, 4, false},
                         {3, 9, 9, 4, 2, 16, true},
                         {4, 70, 90, 2, 2, 64, true},
                         {5, 150, 150, 2, 1, 32, true, 0, 20},
                         {2, 33, 200, 4, 2, 128, false, 30, 0, 500},
                         {7, 20, 20, 2, 2, 80, true, 0, 3, 300},
                         {2, 0, 5, 2, 1, 8, true},
                         {2, 3, 0, 2, 1, 8, false}}) {
    Geometry geometry{{}, {s.causal, s.scale, s.window, s.soft_cap}};
    for (std::size_t i = 0; i <= q; i++) geometry.operands.push_back({s.n, s.h, s.d});
    for (int i = 0; i < 2; i++) geometry.operands.push_back({s.m, s.g, s.d});
    for (int i = 0; i < 2; i++) geometry.operands.push_back({s.sequences + 1});
    row.geometries.push_back(geometry);
  }
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.bench = {};
  return row;
}

/// What the scales of 32 neighbours and their codes stand for.
Array with_scales(const Array& codes, const Array& scales) {
  Array x = codes;
  for (std::size_t i = 0; i < x.values.size(); i++)
    x.values[i] *= scales.values[i / std::size_t(kScaleGroup)];
  return x;
}

const AttentionSizes kMixedSizes[] = {{1, 1, 1, 1, 1, 32},
                                      {2, 4, 1, 1, 70, 32},
                                      {1, 2, 1, 33, 33, 96},
                                      {1, 4, 2, 1, 200, 64},
                                      {1, 2, 2, 3, 70, 128, false},
                                      {2, 4, 2, 5, 33, 64, true, 0, 6, 300},
                                      {1, 2, 2, 40, 70, 256, true, 25},
                                      {2, 3, 3, 5, 17, 64, true, 0, 0, 0, 128},
                                      {2, 12, 1, 1, 70, 576, true, 0, 0, 0, 512},
                                      {1, 2, 1, 130, 150, 64},
                                      {0, 2, 1, 3, 5, 32},
                                      {1, 2, 1, 3, 0, 32}};

/// The operands of sdpa of another dtype than q, and of their scales.
std::vector<Geometry> mixed_geometries(std::span<const AttentionSizes> sizes, bool has_scales) {
  std::vector<Geometry> geometries = attention_geometries(sizes, 0);
  for (Geometry& geometry : geometries)
    for (const std::size_t of : {1, 2}) {
      if (!has_scales) continue;
      HostShape shape = geometry.operands[of];
      shape[3] /= kScaleGroup;
      geometry.operands.push_back(shape);
    }
  return geometries;
}

/// sdpa with k and v of another dtype than q, of i8 where they have scales, the last two operands.
Row mixed_row(bool has_scales) {
  Row row = sdpa_row();
  row.op = has_scales ? "sdpa_mixed(i8)" : "sdpa_mixed";
  const std::size_t sinks = has_scales ? 6 : 4;
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    SdpaOptions options = options_of(c, x[3], operand_or_none(x, sinks));
    if (has_scales)
      options.key_scales = heads_first(x[4]), options.value_scales = heads_first(x[5]);
    return attended(c, heads_first(x[0]), heads_first(x[1]), heads_first(x[2]), options);
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    reference::Attention attention = attention_of(c, x, sinks);
    // They may be rounded to q's dtype.
    const DType q = c.dtypes[0];
    attention.stored_roundings =
        reference::unit_roundoff(q) / reference::unit_roundoff(reference::accumulator(q));
    const Array k = has_scales ? with_scales(x[1], x[4]) : x[1],
                v = has_scales ? with_scales(x[2], x[5]) : x[2];
    reference::ProductsResult y =
        reference::sdpa(heads_first(x[0]), heads_first(k), heads_first(v), x[3], attention);
    for (std::size_t i = 0; i < y.between.size(); i++)
      y.result.magnitude[i] +=
          attention.stored_roundings / Real(kAttentionRoundings) * y.between[i];
    return with_narrow_products(std::move(y), kAttentionRoundings);
  };
  row.make = [=](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 3) return positions(operand, c, random);
    const Domain domain = operand == 0 || !has_scales ? Domain{-2, 2}
                          : operand < 3               ? Domain{-127, 127}
                                                      : Domain{0.001, 0.016};
    return random_array(c.dtypes[operand], shape, domain, random);
  };
  row.dtypes.clear();
  for (const auto& [q, k] : std::vector<std::array<DType, 2>>{{DType::kF32, DType::kF16},
                                                              {DType::kF32, DType::kF8E4M3},
                                                              {DType::kBf16, DType::kF16},
                                                              {DType::kBf16, DType::kF8E4M3},
                                                              {DType::kF16, DType::kF8E4M3}})
    if (!has_scales) row.dtypes.push_back({q, k, k, DType::kI64});
  for (const DType q : {DType::kF32, DType::kBf16, DType::kF16})
    if (has_scales)
      row.dtypes.push_back({q, DType::kI8, DType::kI8, DType::kI64, DType::kF16, DType::kF16});
  row.geometries = mixed_geometries(kMixedSizes, has_scales);
  row.special = false;  // NaN times the weight 0 of what is not seen
  row.differentiable = {};
  if (has_scales) row.few_layouts = {3, 4, 5};
  row.bench =
      Geometry{{{4, 1, 32, 128}, {4, 1024, 8, 128}, {4, 1024, 8, 128}, {4, 1}}, {1, 0, 0, 0}};
  if (has_scales)
    for (int i = 0; i < 2; i++) row.bench->operands.push_back({4, 1024, 8, 4});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSdpaMixed, d[0], d[1]}};
  };
  return row;
}

/// A row of sdpa with keys in blocks: of as many keys as a power of two divides, at most 64.
Row in_blocks(Row row) {
  row.op += "(blocks)";
  for (Geometry& geometry : row.geometries) {
    const int64_t keys = geometry.operands[1][1];
    int64_t block = 1;
    while (block < 64 && keys % (2 * block) == 0) block *= 2;
    geometry.dims.push_back(block);
  }
  row.special = false;
  row.bench = {};
  return row;
}
const AttentionSizes kInBlocks[] = {
    {1, 1, 1, 1, 2, 8},
    {2, 4, 2, 3, 64, 64},
    {2, 4, 1, 1, 256, 128},
    {3, 2, 2, 5, 24, 16},
    {1, 4, 2, 70, 128, 128},
    {2, 2, 1, 130, 192, 64, false},
    {1, 8, 2, 1, 70, 80},
    {2, 4, 2, 9, 128, 256},
    {2, 6, 1, 1, 128, 576, true, 0, 0, 0, 512},
    {0, 2, 1, 3, 4, 8},
    {2, 2, 1, 4, 320, 32, true, 25},
};
const AttentionSizes kWindowsInBlocks[] = {
    {1, 2, 1, 2, 8, 8, true, 0, 4},          {2, 4, 2, 5, 192, 64, true, 0, 70, 300},
    {1, 2, 2, 150, 256, 128, true, 0, 33},   {2, 8, 1, 1, 256, 64, true, 0, 100},
    {1, 2, 2, 9, 128, 512, true, 0, 5, 300},
};
const AttentionSizes kMixedInBlocks[] = {
    {2, 4, 1, 1, 192, 128},
    {1, 2, 1, 40, 128, 64, false},
    {2, 4, 2, 5, 24, 32, true, 0, 6, 300},
    {2, 2, 2, 3, 128, 256, true, 25},
    {2, 12, 1, 1, 64, 576, true, 0, 0, 0, 512},
};
Row with_geometries(Row row, std::vector<Geometry> geometries) {
  row.geometries = std::move(geometries);
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"attention">() {
  return {sdpa_row(),
          sdpa_gradient_row(),
          windowed(sdpa_row(), 0),
          windowed(sdpa_gradient_row(), 1),
          masked_row(true, false),
          masked_row(false, false),
          masked_row(true, true),
          masked_row(false, true),
          value_sizes(sdpa_row(), 0),
          value_sizes(sdpa_gradient_row(), 1),
          latent(sdpa_row()),
          with_sinks(latent(sdpa_row())),
          with_sinks(sdpa_row()),
          with_sinks(sdpa_gradient_row()),
          with_sinks(masked_row(false, false)),
          with_sinks(masked_row(false, true)),
          lengths_row(),
          mixed_row(false),
          mixed_row(true),
          with_sinks(mixed_row(true)),
          in_blocks(with_geometries(sdpa_row(), attention_geometries(kInBlocks, 0))),
          in_blocks(
              with_geometries(windowed(sdpa_row(), 0), attention_geometries(kWindowsInBlocks, 0))),
          in_blocks(masked_row(false, false)),
          in_blocks(with_geometries(mixed_row(false), mixed_geometries(kMixedInBlocks, false))),
          in_blocks(
              with_sinks(with_geometries(mixed_row(true), mixed_geometries(kMixedInBlocks, true)))),
          varlen_row(false),
          varlen_row(true)};
}

}  // namespace wick::conformance
