#include "wick/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/attention.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/matmul.h"
#include "wick/ops/quantize.h"
#include "wick/ops/reduce.h"
#include "wick/ops/search.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();  // the score of such a key

/// The operands of a call. Those that it does not have are empty.
struct Operands {
  Tensor q, k, v, positions;       // positions: [B, T], read where causal
  Tensor first_keys, sinks, bias;  // [B, T], [H] and [B, H, T, S]
};

/// The operands of the inputs that the tape has: those of a call that are not empty.
Operands operands_of(const std::vector<Tensor>& inputs, const SdpaAttributes& a) {
  size_t i = 4;
  const auto next = [&](bool is_given) { return is_given ? inputs[i++] : Tensor(); };
  Operands x{inputs[0], inputs[1], inputs[2], inputs[3], {}, {}, {}};
  x.first_keys = next(a.has_first_keys != 0);
  x.sinks = next(a.has_sinks != 0);
  x.bias = next(i < inputs.size());
  return x;
}

/// softmax over the last dim; 0 where all scores are kUnseen.
Tensor softmax_of_seen(const Tensor& scores) {
  const Tensor sees = ne(amax(scores.detach(), {.dims = {-1}, .keepdim = true}), kUnseen);
  return where(sees, softmax(where(sees, scores, 0)), 0);
}

/// The weights of keys, by their scores [B, G, H / G, T, S] and the sinks [H].
Tensor weights_beside(const Tensor& sinks, const Tensor& scores) {
  Shape shape = scores.shape();
  shape[4] = 1;
  const Tensor sink = broadcast_to(reshape(sinks, {1, shape[1], shape[2], 1, 1}), shape);
  return narrow(softmax_of_seen(cat({scores, sink}, -1)), -1, 0, scores.size(-1));
}

/// Whether a query attends to a key [B, 1, 1, T, S], where anything but a mask limits that.
Tensor seen_keys(const Operands& x, const SdpaAttributes& a) {
  const Tensor key = arange(x.k.size(2), {.dtype = DType::kI64, .device = x.k.device()});
  const auto column = [](const Tensor& of_queries) {
    return reshape(of_queries, {of_queries.size(0), 1, 1, of_queries.size(1), 1});
  };
  Tensor seen;
  const auto limit = [&](const Tensor& to) { seen = seen ? logical_and(seen, to) : to; };
  if (a.causal) limit(le(key, column(x.positions)));
  if (a.window > 0) limit(gt(key, column(x.positions) - a.window));
  if (x.first_keys) limit(ge(key, column(x.first_keys)));
  return seen;
}

Tensor sdpa_composite(const Operands& x, SdpaAttributes a) {
  const int64_t b = x.q.size(0), h = x.q.size(1), t = x.q.size(2), d = x.q.size(3);
  const int64_t g = x.k.size(1);
  const DType dtype = accumulator_of(x.q.dtype());
  const Tensor queries = reshape(cast(x.q, dtype), {b, g, h / g, t, d});
  const Tensor keys = unsqueeze(cast(x.k, dtype), 2),
               values = unsqueeze(cast(x.v, dtype), 2);        // [B, G, 1, S, D]
  Tensor scores = matmul(queries, transpose(keys)) * a.scale;  // [B, G, H / G, T, S]
  if (a.soft_cap > 0) scores = tanh(scores / a.soft_cap) * a.soft_cap;
  const bool is_limited = a.causal || x.first_keys;
  if (is_limited) scores = where(seen_keys(x, a), scores, kUnseen);
  if (x.bias) scores = scores + reshape(x.bias, scores.shape());
  const Tensor weights = x.sinks                ? weights_beside(x.sinks, scores)
                         : is_limited || x.bias ? softmax_of_seen(scores)
                                                : softmax(scores);
  return cast(reshape(matmul(weights, values), {b, h, t, x.v.size(3)}), x.q.dtype());
}

/// The gradient of sinks [H]: - sum over b and t of exp(sink - l) sum over d of gy y.
Tensor sinks_gradient(const Tensor& sinks, const Tensor& gy, const Tensor& y, const Tensor& l) {
  const Tensor delta = sum(cast(gy, l.dtype()) * cast(y, l.dtype()), {.dims = {-1}});
  const Tensor weight = exp(reshape(sinks, {sinks.size(0), 1}) - l);  // [B, H, T]
  return -sum(where(ne(l, kUnseen), weight * delta, 0), {.dims = {0, 2}});
}

/// The gradients of q, k and v, computed by the kernel, and that of sinks. No kernel computes that of a
/// bias, and none takes a bias beside first keys: they would be nine inputs.
bool gradient(const RuleContext& c, std::span<Tensor> g, const Tensor& l,
              const SdpaAttributes& attributes, bool is_biased) {
  const int sinks = attributes.has_first_keys ? 5 : 4;
  const int bias = attributes.has_sinks ? sinks + 1 : sinks;
  if (is_biased && (attributes.has_first_keys || c.wants(bias))) return false;
  for (int i = 0; i < 3; i++) g[size_t(i)] = empty_transposed(c.input_shape(i), c.input(i));
  const Tensor positions = c.input(3), y = c.output();
  // The kernel reads no absent operand: any tensor of its dtype stands in.
  const Tensor last = is_biased                   ? c.input(bias)
                      : attributes.has_first_keys ? c.input(4)
                                                  : positions;
  if (!run_fused(is_biased ? kSdpaMaskedGradient : kSdpaGradient,
                 {unit_stride(c.gradient), unit_stride(c.input(0)), unit_stride(c.input(1)),
                  unit_stride(c.input(2)), as_is(positions), as_is(y), as_is(l), as_is(last)},
                 {as_is(g[0]), as_is(g[1]), as_is(g[2])}, attributes_of(attributes)))
    return false;
  if (attributes.has_sinks && c.wants(sinks))
    g[size_t(sinks)] = sinks_gradient(c.input(sinks), c.gradient, y, l);
  return true;
}

/// The op of checked operands: `a` names those beside the bias that it has.
Tensor attend(const char* op, const Operands& x, const SdpaAttributes& a) {
  const auto& [q, k, v, positions, first_keys, sinks, bias] = x;
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2);
  // Laid out as [B, T, H, D], so that joining the heads needs no copy.
  const Tensor y = empty_transposed({b, h, t, v.size(3)}, q);
  if (k.size(2) == 0) {  // no query attends to a key
    std::vector<const Tensor*> inputs{&q, &k, &v};
    for (const Tensor* given : {&sinks, &bias})
      if (*given) inputs.push_back(given);
    return record_constant(op, zeros(y.shape(), {.dtype = y.dtype(), .device = y.device()}),
                           inputs);
  }
  const Tensor l =
      Tensor::empty({b, h, t}, {.dtype = accumulator_of(q.dtype()), .device = q.device()});
  // The kernel reads no absent operand: any tensor of its dtype stands in.
  const Tensor &first_keys_or_any = first_keys ? first_keys : positions,
               &sinks_or_any = sinks ? sinks : l;
  const auto composite = [a](const auto& in) { return sdpa_composite(operands_of(in, a), a); };
  const auto kernel = [l, a, is_biased = bool(bias)](const auto& c, auto g) {
    return gradient(c, g, l, a, is_biased);
  };
  if (bias)
    return fused({.op = kSdpaMasked,
                  .inputs = {&q, &k, &v, &positions, &first_keys, &sinks, &bias},
                  .in = {unit_stride(q), unit_stride(k), unit_stride(v), as_is(positions),
                         as_is(first_keys_or_any), contiguous(sinks_or_any), as_is(bias)},
                  .out = {as_is(y), as_is(l)},
                  .attributes = attributes_of(a),
                  .composite = composite,
                  .keep = kKeepInputs | kKeepOutput,
                  .gradient = kernel});
  return fused({.op = kSdpa,
                .inputs = {&q, &k, &v, &positions, &first_keys, &sinks},
                .in = {unit_stride(q), unit_stride(k), unit_stride(v), as_is(positions),
                       as_is(first_keys_or_any), contiguous(sinks_or_any)},
                .out = {as_is(y), as_is(l)},
                .attributes = attributes_of(a),
                .composite = composite,
                .keep = kKeepInputs | kKeepOutput,
                .gradient = kernel});
}

/// The numbers that a mask adds to the scores [B, H, T, S], a broadcast view.
Tensor bias_of(const Tensor& mask, const Tensor& q, int64_t keys) {
  const Shape scores{q.size(0), q.size(1), q.size(2), keys};
  check_same_device("sdpa", q, mask);
  check(mask.dtype() == DType::kBool || is_floating(mask.dtype()), ErrorCode::kDTypeMismatch,
        "sdpa", "expected a mask of bool or floating, got ", dtype_name(mask.dtype()));
  Dims strides;
  check(broadcast_strides(mask.layout(), scores, &strides), ErrorCode::kShapeMismatch, "sdpa",
        "expected a mask that broadcasts to ", scores, ", got ", mask.shape());
  const DType dtype = accumulator_of(q.dtype());
  const TensorOptions options{.dtype = dtype, .device = q.device()};
  return broadcast_to(
      mask.dtype() == DType::kBool ? where(mask, zeros({}, options), kUnseen) : cast(mask, dtype),
      scores);
}

/// Sinks [H] as the kernels take them.
Tensor checked_sinks(const char* op, const Tensor& q, const Tensor& sinks, int64_t heads) {
  check_same_device(op, q, sinks);
  check(is_floating(sinks.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected sinks of a floating dtype, got ", dtype_name(sinks.dtype()));
  check(sinks.shape() == Shape({heads}), ErrorCode::kShapeMismatch, op, "expected sinks ",
        Shape({heads}), ", one of each head of q, got ", sinks.shape());
  return cast(sinks, accumulator_of(q.dtype()));
}

/// Checks devices, ranks and dtypes; `expected` describes the shapes.
void check_operands(const char* op, const Tensor& q, const Tensor& k, const Tensor& v, int rank,
                    const char* expected) {
  for (const Tensor* x : {&q, &k, &v}) {
    check_defined(op, *x);
    check_same_device(op, q, *x);
    check(x->rank() == rank, ErrorCode::kShapeMismatch, op, "expected ", expected, ", got ",
          x->shape());
  }
}
void check_one_dtype(const char* op, const Tensor& q, const Tensor& k, const Tensor& v) {
  for (const Tensor* x : {&q, &k, &v})
    check(is_floating(q.dtype()) && x->dtype() == q.dtype(), ErrorCode::kDTypeMismatch, op,
          "expected q, k and v of one floating dtype, got ", dtype_name(q.dtype()), " and ",
          dtype_name(x->dtype()));
}

/// Of k or v in i8.
void check_scales(const char* name, const Tensor& x, const Tensor& scales) {
  check_same_device("sdpa", x, scales);
  Shape expected = x.shape();
  check(expected[3] % kScaleGroup == 0, ErrorCode::kShapeMismatch, "sdpa",
        "expected k and v in i8 ", "of a multiple of ", kScaleGroup, " elements a head, got ",
        x.shape());
  expected[3] /= kScaleGroup;
  check(scales.dtype() == DType::kF16 && scales.shape() == expected,
        scales.dtype() == DType::kF16 ? ErrorCode::kShapeMismatch : ErrorCode::kDTypeMismatch,
        "sdpa", "expected ", name, " ", expected, " of f16, got ", scales.shape(), " of ",
        dtype_name(scales.dtype()));
}

/// Whether k and v are of another dtype than q, which is checked.
bool is_mixed(const Tensor& q, const Tensor& k, const Tensor& v, const SdpaOptions& o) {
  const bool has_scales = o.key_scales && o.value_scales;
  check(has_scales || (!o.key_scales && !o.value_scales), ErrorCode::kInvalidArgument, "sdpa",
        "expected key_scales and value_scales, or neither");
  if (!has_scales && k.dtype() == q.dtype()) {
    check_one_dtype("sdpa", q, k, v);
    return false;
  }
  check(is_floating(q.dtype()) && k.dtype() == v.dtype() &&
            (has_scales ? k.dtype() == DType::kI8 : is_floating(k.dtype())),
        ErrorCode::kDTypeMismatch, "sdpa",
        "expected q, and k and v of one dtype, all floating, or k and v of i8 with scales, got ",
        dtype_name(q.dtype()), ", ", dtype_name(k.dtype()), " and ", dtype_name(v.dtype()),
        has_scales ? " with scales" : "");
  if (has_scales) {
    check_scales("key_scales", k, o.key_scales);
    check_scales("value_scales", v, o.value_scales);
  }
  return true;
}
/// k or v in the dtype of q.
Tensor in_dtype(const Tensor& x, const Tensor& scales, DType dtype) {
  return scales ? dequantize_i8(x, scales, dtype) : cast(x, dtype);
}
/// Runs the kernel of k and v in another dtype; empty if there is none.
Tensor attend_mixed(const Operands& x, const Tensor& key_scales, const Tensor& value_scales,
                    const SdpaAttributes& a) {
  const auto& [q, k, v, positions, first_keys, sinks, bias] = x;
  const Tensor y = empty_transposed({q.size(0), q.size(1), q.size(2), v.size(3)}, q);
  const Tensor l = Tensor::empty({q.size(0), q.size(1), q.size(2)},
                                 {.dtype = accumulator_of(q.dtype()), .device = q.device()});
  const Tensor any_scales =
      key_scales ? Tensor()
                 : Tensor::empty({1, 1, 1, 1}, {.dtype = DType::kF16, .device = q.device()});
  const bool ran =
      run_fused(kSdpaMixed,
                {unit_stride(q), unit_stride(k), unit_stride(v), as_is(positions),
                 as_is(first_keys ? first_keys : positions), contiguous(sinks ? sinks : l),
                 unit_stride(key_scales ? key_scales : any_scales),
                 unit_stride(value_scales ? value_scales : any_scales)},
                {as_is(y), as_is(l)}, attributes_of(a));
  return ran ? y : Tensor();
}

/// The rows [B, S] of a pool at which the keys of blocks [B, N] lie.
Tensor rows_of_blocks(const Tensor& blocks, int64_t block, int64_t pool) {
  const int64_t b = blocks.size(0), n = blocks.size(1);
  const Tensor inside = logical_and(ge(blocks, 0), lt(blocks, pool / block));
  const Tensor first = where(inside, blocks, 0) * block;  // [B, N]
  const Tensor at = arange(block, {.dtype = DType::kI64, .device = blocks.device()});
  return reshape(unsqueeze(first, 2) + at, {b, n * block});
}
/// x [1, G, P, D] as [B, G, S, D], of the blocks [B, N].
Tensor gathered(const Tensor& x, const Tensor& blocks, int64_t block) {
  const Tensor rows = rows_of_blocks(blocks, block, x.size(2));
  const int64_t b = rows.size(0), s = rows.size(1);
  const Tensor all = index_select(squeeze(x, 0), 1, reshape(rows, {b * s}));  // [G, B S, D]
  return transpose(reshape(all, {x.size(1), b, s, x.size(3)}), 0, 1);
}
/// Runs the kernel of keys in blocks; empty if there is none.
Tensor attend_in_blocks(const Operands& x, const SdpaOptions& o, const Tensor& blocks,
                        SdpaAttributes a, bool mixed) {
  const auto& [q, k, v, positions, first_keys, sinks, bias] = x;
  a.block = int32_t(o.block_size);
  const Tensor y = empty_transposed({q.size(0), q.size(1), q.size(2), v.size(3)}, q);
  const Tensor l = Tensor::empty({q.size(0), q.size(1), q.size(2)},
                                 {.dtype = accumulator_of(q.dtype()), .device = q.device()});
  const Tensor any_scales =
      o.key_scales ? Tensor()
                   : Tensor::empty({1, 1, 1, 1}, {.dtype = DType::kF16, .device = q.device()});
  const FusedOperand queries = unit_stride(q), keys = unit_stride(k), values = unit_stride(v),
                     at = as_is(positions), table = as_is(blocks),
                     sinks_or_any = contiguous(sinks ? sinks : l);
  const FusedOperands out = {as_is(y), as_is(l)};
  const bool ran =
      mixed  ? run_group(kSdpaMixed,
                         {queries, keys, values, at, table, sinks_or_any,
                          unit_stride(o.key_scales ? o.key_scales : any_scales),
                          unit_stride(o.value_scales ? o.value_scales : any_scales)},
                         out, attributes_of(a))
      : bias ? run_group(kSdpaMasked, {queries, keys, values, at, table, sinks_or_any, as_is(bias)},
                         out, attributes_of(a))
             : run_group(kSdpa, {queries, keys, values, at, table, sinks_or_any}, out,
                         attributes_of(a));
  return ran ? y : Tensor();
}

/// The blocks as kernels take them, i64.
Tensor checked_blocks(const Tensor& q, const Tensor& k, const SdpaOptions& o) {
  const int64_t block = o.block_size;
  check(block > 0 && block <= (1 << 30) && (block & (block - 1)) == 0, ErrorCode::kInvalidArgument,
        "sdpa", "expected a block_size that is a power of two, got ", block);
  check_same_device("sdpa", q, o.blocks);
  check(o.blocks.rank() == 2 && o.blocks.size(0) == q.size(0), ErrorCode::kShapeMismatch, "sdpa",
        "expected blocks [", q.size(0), ", N], got ", o.blocks.shape());
  check(k.size(2) >= block, ErrorCode::kShapeMismatch, "sdpa", "expected at least one block of ",
        block, " rows in the pool, got k ", k.shape());
  return ids_as_i64("sdpa", "blocks", o.blocks);
}

/// Whether the shapes agree in all dims but the last.
bool same_but_last(const Tensor& k, const Tensor& v) {
  return std::equal(k.shape().begin(), k.shape().end() - 1, v.shape().begin());
}

void check_limits(const char* op, int64_t window, double soft_cap, bool is_causal) {
  check(window >= 0 && soft_cap >= 0, ErrorCode::kInvalidArgument, op,
        "expected a window and a soft cap of at least 0, got ", window, " and ", soft_cap);
  check(window == 0 || is_causal, ErrorCode::kInvalidArgument, op,
        "expected is_causal with a window: it is counted back from the query's position");
}

double scale_of(double scale, int64_t head_dim) {
  return scale != 0 ? scale : 1 / std::sqrt(double(std::max<int64_t>(head_dim, 1)));
}

/// Makes queries see only the first lengths[b] keys: by their positions, which are then not those that
/// windows are counted back from.
void limit_keys(Operands& x, SdpaAttributes& a, const Tensor& lengths) {
  const int64_t b = x.q.size(0), t = x.q.size(2);
  check_same_device("sdpa", x.q, lengths);
  check(lengths.shape() == Shape({b}), ErrorCode::kShapeMismatch, "sdpa", "expected lengths ",
        Shape({b}), ", one of each batch, got ", lengths.shape());
  const Tensor last =
      broadcast_to(reshape(ids_as_i64("sdpa", "lengths", lengths) - 1, {b, 1}), {b, t});
  if (a.window > 0) {
    x.first_keys = x.positions - (a.window - 1);
    a.has_first_keys = 1, a.window = 0;
  }
  x.positions = a.causal ? minimum(x.positions, last) : last;
  a.causal = 1;
}

/// Of packed sequences: the keys that the tokens [N] of q see, as first keys and positions [1, N]. Those
/// of sequence i are tokens q_offsets[i] to q_offsets[i + 1] - 1. A token beyond the last sequence sees
/// the keys of an empty one.
void limit_to_sequences(Operands& x, const Tensor& q_offsets, const Tensor& k_offsets,
                        bool is_causal) {
  const int64_t n = x.q.size(2), sequences = q_offsets.size(0) - 1;
  const Tensor token = reshape(first_positions(1, n, x.q.device()), {n});
  const Tensor sequence = searchsorted(narrow(q_offsets, 0, 1, sequences), token, {.right = true});
  const Tensor next = minimum(sequence + 1, sequences);
  const Tensor k_end = index_select(k_offsets, 0, next);
  x.first_keys = reshape(index_select(k_offsets, 0, sequence), {1, n});
  // A causal sequence's last token sees its last key.
  const Tensor behind =
      is_causal ? k_end - maximum(index_select(q_offsets, 0, next) - token, 1) : k_end - 1;
  x.positions = reshape(behind, {1, n});
}

Tensor checked_offsets(const char* what, const Tensor& q, const Tensor& offsets) {
  check_defined("sdpa_varlen", offsets);
  check_same_device("sdpa_varlen", q, offsets);
  check(offsets.rank() == 1 && offsets.size(0) > 1, ErrorCode::kShapeMismatch, "sdpa_varlen",
        "expected ", what, " [B + 1] of at least one sequence, got ", offsets.shape());
  return ids_as_i64("sdpa_varlen", what, offsets);
}

/// x [N, H, D] as [1, H, N, D].
Tensor heads_first(const Tensor& x) { return unsqueeze(transpose(x, 0, 1), 0); }

}  // namespace

Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v, const SdpaOptions& options) {
  check_operands("sdpa", q, k, v, 4, "[B, H, T, D]");
  const bool mixed = is_mixed(q, k, v, options);
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2), g = k.size(1);
  const bool in_blocks = bool(options.blocks);
  check(k.size(0) == (in_blocks ? 1 : b) && k.size(3) == q.size(3) && same_but_last(k, v) &&
            g > 0 && h % g == 0,
        ErrorCode::kShapeMismatch, "sdpa", "expected k [", in_blocks ? "1" : "B",
        ", G, S, D] and v [", in_blocks ? "1" : "B",
        ", G, S, Dv] with B and D of q and G a divisor of its heads, got q ", q.shape(), ", k ",
        k.shape(), ", v ", v.shape());
  const Tensor blocks = in_blocks ? checked_blocks(q, k, options) : Tensor();
  const int64_t keys = in_blocks ? blocks.size(1) * options.block_size : k.size(2);
  Operands x{q, k, v, {}, {}, {}, {}};
  if (options.positions) {
    check(options.is_causal, ErrorCode::kInvalidArgument, "sdpa",
          "expected is_causal with positions: without it a query attends to every key");
    check_same_device("sdpa", q, options.positions);
    x.positions = checked_positions("sdpa", options.positions, b, t);
  } else {
    x.positions = first_positions(b, t, q.device());
  }
  if (options.mask) x.bias = bias_of(options.mask, q, keys);
  if (options.sinks) x.sinks = checked_sinks("sdpa", q, options.sinks, h);
  check_limits("sdpa", options.window, options.soft_cap, options.is_causal);
  SdpaAttributes a{.scale = scale_of(options.scale, q.size(3)),
                   .soft_cap = options.soft_cap,
                   .window = options.window,
                   .causal = options.is_causal,
                   .has_sinks = bool(options.sinks)};
  if (options.lengths) limit_keys(x, a, options.lengths);
  Tensor key_scales = options.key_scales, value_scales = options.value_scales;
  if (in_blocks) {
    const bool records = recording({&q, &k, &v, &x.sinks, &x.bias});
    if (!x.first_keys && !(mixed && x.bias) && keys > 0 && !records)
      if (const Tensor y = attend_in_blocks(x, options, blocks, a, mixed)) return y;
    const auto gather = [&](Tensor& of) {
      if (of) of = gathered(of, blocks, options.block_size);
    };
    gather(x.k), gather(x.v), gather(key_scales), gather(value_scales);
  }
  if (mixed) {
    if (!x.bias && keys > 0 && !recording({&q, &k, &v, &x.sinks}))
      if (const Tensor y = attend_mixed(x, key_scales, value_scales, a)) return y;
    x.k = in_dtype(x.k, key_scales, q.dtype());
    x.v = in_dtype(x.v, value_scales, q.dtype());
  }
  return attend("sdpa", x, a);
}

Tensor sdpa_varlen(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_offsets,
                   const Tensor& k_offsets, const SdpaVarlenOptions& options) {
  check_operands("sdpa_varlen", q, k, v, 3, "q [N, H, D], k [M, G, D] and v [M, G, Dv]");
  check_one_dtype("sdpa_varlen", q, k, v);
  const int64_t h = q.size(1), g = k.size(1);
  check(k.size(2) == q.size(2) && same_but_last(k, v) && g > 0 && h % g == 0,
        ErrorCode::kShapeMismatch, "sdpa_varlen",
        "expected k [M, G, D] and v [M, G, Dv] with D of q and G a divisor of its heads, got q ",
        q.shape(), ", k ", k.shape(), ", v ", v.shape());
  const Tensor q_starts = checked_offsets("q_offsets", q, q_offsets),
               k_starts = checked_offsets("k_offsets", q, k_offsets);
  check(q_starts.shape() == k_starts.shape(), ErrorCode::kShapeMismatch, "sdpa_varlen",
        "expected q_offsets and k_offsets of as many sequences, got ", q_starts.shape(), " and ",
        k_starts.shape());
  check_limits("sdpa_varlen", options.window, options.soft_cap, options.is_causal);
  Operands x{heads_first(q), heads_first(k), heads_first(v), {}, {}, {}, {}};
  if (options.sinks) x.sinks = checked_sinks("sdpa_varlen", q, options.sinks, h);
  limit_to_sequences(x, q_starts, k_starts, options.is_causal);
  const Tensor y = attend("sdpa_varlen", x,
                          {.scale = scale_of(options.scale, q.size(2)),
                           .soft_cap = options.soft_cap,
                           .window = options.window,
                           .causal = 1,
                           .has_first_keys = 1,
                           .has_sinks = bool(options.sinks)});
  return transpose(squeeze(y, 0), 0, 1);
}

}  // namespace wick
