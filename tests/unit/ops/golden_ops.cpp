#include "golden_ops.h"

#include <cmath>

namespace wick::test {
namespace {

using Inputs = std::vector<Tensor>;

Dims dims_of(const Settings& options, const char* key) {
  return Dims(std::span<const int64_t>(options.integers(key)));
}

GoldenOp unary(Tensor (*f)(Tensor)) {
  return [f](const Inputs& x, const Settings&) { return f(x[0]); };
}
GoldenOp binary(Tensor (*f)(Tensor, const Tensor&)) {
  return [f](const Inputs& x, const Settings&) { return f(x[0], x[1]); };
}

std::optional<Number> bound(const Settings& options, const char* key) {
  if (!options.has(key)) return {};
  return Number(options.real(key));
}

void add_elementwise(std::map<std::string, GoldenOp>& ops) {
  const std::pair<const char*, Tensor (*)(Tensor)> unaries[] = {{"neg", neg},
                                                                {"abs", wick::abs},
                                                                {"relu", relu},
                                                                {"square", square},
                                                                {"reciprocal", reciprocal},
                                                                {"sqrt", wick::sqrt},
                                                                {"rsqrt", rsqrt},
                                                                {"exp", wick::exp},
                                                                {"exp2", exp2},
                                                                {"expm1", expm1},
                                                                {"log", wick::log},
                                                                {"log2", log2},
                                                                {"log10", log10},
                                                                {"log1p", log1p},
                                                                {"sin", wick::sin},
                                                                {"cos", wick::cos},
                                                                {"tan", tan},
                                                                {"asin", asin},
                                                                {"acos", acos},
                                                                {"atan", atan},
                                                                {"sinh", sinh},
                                                                {"cosh", cosh},
                                                                {"tanh", tanh},
                                                                {"asinh", asinh},
                                                                {"acosh", acosh},
                                                                {"atanh", atanh},
                                                                {"erf", erf},
                                                                {"erfc", erfc},
                                                                {"lgamma", wick::lgamma},
                                                                {"digamma", digamma},
                                                                {"sigmoid", sigmoid},
                                                                {"silu", silu},
                                                                {"gelu", gelu},
                                                                {"gelu_tanh", gelu_tanh},
                                                                {"floor", wick::floor},
                                                                {"ceil", wick::ceil},
                                                                {"round", wick::round},
                                                                {"trunc", wick::trunc},
                                                                {"sign", sign}};
  for (const auto& [name, f] : unaries) ops[name] = unary(f);
  const std::pair<const char*, Tensor (*)(Tensor, const Tensor&)> binaries[] = {
      {"add", add},         {"sub", sub},       {"mul", mul},
      {"div", div},         {"pow", pow},       {"maximum", maximum},
      {"minimum", minimum}, {"atan2", atan2},   {"remainder", remainder},
      {"fmod", fmod},       {"swiglu", swiglu}, {"floor_divide", floor_divide}};
  for (const auto& [name, f] : binaries) ops[name] = binary(f);

  ops["frac"] = [](const Inputs& x, const Settings&) { return frac(x[0]); };
  ops["softplus"] = [](const Inputs& x, const Settings& o) {
    return softplus(x[0], o.real_or("beta", 1), o.real_or("threshold", 20));
  };
  ops["elu"] = [](const Inputs& x, const Settings& o) { return elu(x[0], o.real_or("alpha", 1)); };
  ops["leaky_relu"] = [](const Inputs& x, const Settings& o) {
    return leaky_relu(x[0], o.real("slope"));
  };
  ops["affine"] = [](const Inputs& x, const Settings& o) {
    return affine(x[0], o.real("scale"), o.real("offset"));
  };
  ops["clamp"] = [](const Inputs& x, const Settings& o) {
    return clamp(x[0], {.min = bound(o, "min"), .max = bound(o, "max")});
  };
  ops["hypot"] = [](const Inputs& x, const Settings&) { return hypot(x[0], x[1]); };
  ops["logaddexp"] = [](const Inputs& x, const Settings&) { return logaddexp(x[0], x[1]); };
  ops["pow_number"] = [](const Inputs& x, const Settings& o) {
    return pow(x[0], o.real("exponent"));
  };
  ops["where"] = [](const Inputs& x, const Settings&) { return where(x[0], x[1], x[2]); };
  ops["masked_fill"] = [](const Inputs& x, const Settings& o) {
    return masked_fill(x[0], x[1], o.real("value"));
  };
  ops["lerp"] = [](const Inputs& x, const Settings&) { return lerp(x[0], x[1], x[2]); };
  ops["addcmul"] = [](const Inputs& x, const Settings& o) {
    return addcmul(x[0], x[1], x[2], o.real("value"));
  };
  ops["addcdiv"] = [](const Inputs& x, const Settings& o) {
    return addcdiv(x[0], x[1], x[2], o.real("value"));
  };
}

void add_fused(std::map<std::string, GoldenOp>& ops) {
  ops["softmax"] = [](const Inputs& x, const Settings& o) {
    return softmax(x[0], o.integer("dim"));
  };
  ops["log_softmax"] = [](const Inputs& x, const Settings& o) {
    return log_softmax(x[0], o.integer("dim"));
  };
  ops["cross_entropy"] = [](const Inputs& x, const Settings&) { return cross_entropy(x[0], x[1]); };
  ops["rms_norm"] = [](const Inputs& x, const Settings& o) {
    return rms_norm(x[0], x[1], o.real("eps"));
  };
}

ReduceOptions reduce_of(const Settings& o) {
  return {.dims = dims_of(o, "dims"), .keepdim = o.flag_or("keepdim", false)};
}
int64_t dim_of(const Settings& o) { return o.integer("dim", -8); }

void add_reductions(std::map<std::string, GoldenOp>& ops) {
  const std::pair<const char*, Tensor (*)(const Tensor&, const ReduceOptions&)> reductions[] = {
      {"sum", sum}, {"mean", mean}, {"amax", amax}, {"amin", amin},
      {"max", max}, {"min", min},   {"prod", prod}, {"logsumexp", logsumexp}};
  for (const auto& [name, f] : reductions)
    ops[name] = [f = f](const Inputs& x, const Settings& o) { return f(x[0], reduce_of(o)); };
  const auto var_of = [](const Settings& o) {
    return VarOptions{.dims = dims_of(o, "dims"),
                      .correction = o.real_or("correction", 1),
                      .keepdim = o.flag_or("keepdim", false)};
  };
  ops["var"] = [=](const Inputs& x, const Settings& o) { return var(x[0], var_of(o)); };
  ops["std"] = [=](const Inputs& x, const Settings& o) { return wick::std(x[0], var_of(o)); };
  ops["norm"] = [](const Inputs& x, const Settings& o) {
    const auto* text = std::get_if<std::string>(&o.find("p")->value);
    return norm(x[0], text ? HUGE_VAL : o.real("p"), reduce_of(o));
  };
  ops["argmax"] = [](const Inputs& x, const Settings& o) {
    return argmax(x[0], dims_of(o, "dims")[0], o.flag_or("keepdim", false));
  };
  const std::pair<const char*, Tensor (*)(const Tensor&, int64_t)> scans[] = {
      {"cumsum", cumsum}, {"cumprod", cumprod}, {"logcumsumexp", logcumsumexp}};
  for (const auto& [name, f] : scans)
    ops[name] = [f = f](const Inputs& x, const Settings& o) { return f(x[0], dim_of(o)); };
  ops["cummax"] = [](const Inputs& x, const Settings& o) { return cummax(x[0], dim_of(o)).values; };
  ops["cummin"] = [](const Inputs& x, const Settings& o) { return cummin(x[0], dim_of(o)).values; };

  const auto order = [](const Settings& o) {
    return SortOptions{.descending = o.flag_or("descending", false)};
  };
  ops["sort"] = [=](const Inputs& x, const Settings& o) {
    return sort(x[0], dim_of(o), order(o)).values;
  };
  ops["argsort"] = [=](const Inputs& x, const Settings& o) {
    return argsort(x[0], dim_of(o), order(o));
  };
  ops["topk"] = [](const Inputs& x, const Settings& o) {
    return topk(x[0], o.integer("k"), dim_of(o), {.largest = o.flag_or("largest", true)}).values;
  };
  ops["kthvalue"] = [](const Inputs& x, const Settings& o) {
    return kthvalue(x[0], o.integer("k"), dim_of(o)).values;
  };
  ops["median"] = [](const Inputs& x, const Settings& o) { return median(x[0], dim_of(o)).values; };
}

void add_indexing(std::map<std::string, GoldenOp>& ops) {
  ops["index_select"] = [](const Inputs& x, const Settings& o) {
    return index_select(x[0], dim_of(o), x[1]);
  };
  ops["index_add"] = [](const Inputs& x, const Settings& o) {
    return index_add(x[0], dim_of(o), x[1], x[2]);
  };
  ops["gather"] = [](const Inputs& x, const Settings& o) { return gather(x[0], dim_of(o), x[1]); };
  ops["scatter_add"] = [](const Inputs& x, const Settings& o) {
    return scatter_add(x[0], dim_of(o), x[1], x[2]);
  };
  ops["scatter"] = [](const Inputs& x, const Settings& o) {
    return scatter(x[0], dim_of(o), x[1], x[2]);
  };
  ops["take_along_dim"] = [](const Inputs& x, const Settings& o) {
    return take_along_dim(x[0], x[1], dim_of(o));
  };
  ops["index_fill"] = [](const Inputs& x, const Settings& o) {
    return index_fill(x[0], dim_of(o), x[1], o.real("value"));
  };
  ops["embedding"] = [](const Inputs& x, const Settings&) { return embedding(x[0], x[1]); };
  ops["masked_select"] = [](const Inputs& x, const Settings&) { return masked_select(x[0], x[1]); };
  ops["index_put"] = [](const Inputs& x, const Settings& o) {
    const std::vector<Index> ids(x.begin() + 1, x.end() - 1);
    return index_put(x[0], ids, x.back(), {.accumulate = o.flag_or("accumulate", false)});
  };
}

void add_shapes(std::map<std::string, GoldenOp>& ops) {
  ops["narrow"] = [](const Inputs& x, const Settings& o) {
    return narrow(x[0], dim_of(o), o.integer("start"), o.integer("length"));
  };
  ops["cat"] = [](const Inputs& x, const Settings& o) { return cat(x, dim_of(o)); };
  ops["stack"] = [](const Inputs& x, const Settings& o) { return stack(x, dim_of(o)); };
  ops["roll"] = [](const Inputs& x, const Settings& o) {
    return roll(x[0], dims_of(o, "shifts"), dims_of(o, "dims"));
  };
  ops["flip"] = [](const Inputs& x, const Settings& o) { return flip(x[0], dims_of(o, "dims")); };
  ops["unfold"] = [](const Inputs& x, const Settings& o) {
    return unfold(x[0], dim_of(o), o.integer("size"), o.integer("step"));
  };
  ops["repeat_interleave"] = [](const Inputs& x, const Settings& o) {
    return repeat_interleave(x[0], o.integer("repeats"), dim_of(o));
  };
  ops["repeat"] = [](const Inputs& x, const Settings& o) {
    return repeat(x[0], dims_of(o, "repeats"));
  };
  ops["tile"] = [](const Inputs& x, const Settings& o) {
    return tile(x[0], dims_of(o, "repeats"));
  };
  ops["transpose"] = [](const Inputs& x, const Settings& o) {
    return transpose(x[0], o.integer("dim0"), o.integer("dim1"));
  };
  ops["permute"] = [](const Inputs& x, const Settings& o) {
    return permute(x[0], dims_of(o, "order"));
  };
  ops["reshape"] = [](const Inputs& x, const Settings& o) {
    const Tensor from = o.flag_or("transposed", false) ? transpose(x[0]) : x[0];
    return reshape(from, dims_of(o, "shape"));
  };
  ops["broadcast_to"] = [](const Inputs& x, const Settings& o) {
    return broadcast_to(x[0], dims_of(o, "shape"));
  };
  ops["tril"] = [](const Inputs& x, const Settings& o) {
    return tril(x[0], o.integer("diagonal", -8));
  };
  ops["triu"] = [](const Inputs& x, const Settings& o) {
    return triu(x[0], o.integer("diagonal", -8));
  };
  ops["diagonal"] = [](const Inputs& x, const Settings& o) {
    return diagonal(x[0], o.integer("offset", -8));
  };
  ops["pad"] = [](const Inputs& x, const Settings& o) {
    static const std::map<std::string, PadMode> modes = {{"constant", PadMode::kConstant},
                                                         {"reflect", PadMode::kReflect},
                                                         {"replicate", PadMode::kReplicate},
                                                         {"circular", PadMode::kCircular}};
    std::vector<Padding> padding;
    const std::vector<int64_t> before = o.integers("before"), after = o.integers("after");
    for (size_t d = 0; d < before.size(); d++) padding.push_back({before[d], after[d]});
    return pad(x[0], padding, {.mode = modes.at(o.text("mode")), .value = o.real_or("value", 0)});
  };
}

void add_products(std::map<std::string, GoldenOp>& ops) {
  ops["matmul"] = [](const Inputs& x, const Settings&) { return matmul(x[0], x[1]); };
  ops["outer"] = [](const Inputs& x, const Settings&) { return outer(x[0], x[1]); };
  ops["kron"] = [](const Inputs& x, const Settings&) { return kron(x[0], x[1]); };
  ops["cross"] = [](const Inputs& x, const Settings& o) { return cross(x[0], x[1], dim_of(o)); };
  ops["addmm"] = [](const Inputs& x, const Settings& o) {
    return addmm(x[0], x[1], x[2], {.beta = o.real("beta"), .alpha = o.real("alpha")});
  };
  ops["baddbmm"] = [](const Inputs& x, const Settings& o) {
    return baddbmm(x[0], x[1], x[2], {.beta = o.real("beta"), .alpha = o.real("alpha")});
  };
  ops["tensordot"] = [](const Inputs& x, const Settings& o) {
    return tensordot(x[0], x[1], dims_of(o, "dims_a"), dims_of(o, "dims_b"));
  };
  ops["einsum"] = [](const Inputs& x, const Settings& o) { return einsum(o.text("text"), x); };
  ops["linear"] = [](const Inputs& x, const Settings&) { return linear(x[0], x[1], x[2]); };
}

Pair pair_of(const Settings& o, const char* key, Pair otherwise) {
  if (!o.has(key)) return otherwise;
  const std::vector<int64_t> both = o.integers(key);
  return both.size() == 1 ? Pair(both[0]) : Pair(both[0], both[1]);
}

void add_windows(std::map<std::string, GoldenOp>& ops) {
  const auto bias = [](const Inputs& x) { return x.size() > 2 ? x[2] : Tensor(); };
  ops["conv1d"] = [=](const Inputs& x, const Settings& o) {
    return conv1d(x[0], x[1],
                  {.bias = bias(x),
                   .stride = o.integer_or("stride", 1),
                   .padding = o.integer_or("padding", 0),
                   .dilation = o.integer_or("dilation", 1),
                   .groups = o.integer_or("groups", 1)});
  };
  ops["conv_transpose1d"] = [=](const Inputs& x, const Settings& o) {
    return conv_transpose1d(x[0], x[1],
                            {.bias = bias(x),
                             .stride = o.integer_or("stride", 1),
                             .padding = o.integer_or("padding", 0),
                             .dilation = o.integer_or("dilation", 1),
                             .groups = o.integer_or("groups", 1)});
  };
  const auto padding = [](const Settings& o) {
    const Pair both = pair_of(o, "padding", 0);
    return Padding2d(both.height, both.width);
  };
  ops["conv2d"] = [=](const Inputs& x, const Settings& o) {
    return conv2d(x[0], x[1],
                  {.bias = bias(x),
                   .stride = pair_of(o, "stride", 1),
                   .padding = padding(o),
                   .dilation = pair_of(o, "dilation", 1),
                   .groups = o.integer_or("groups", 1)});
  };
  ops["conv_transpose2d"] = [=](const Inputs& x, const Settings& o) {
    return conv_transpose2d(x[0], x[1],
                            {.bias = bias(x),
                             .stride = pair_of(o, "stride", 1),
                             .padding = padding(o),
                             .output_padding = pair_of(o, "output_padding", 0),
                             .dilation = pair_of(o, "dilation", 1),
                             .groups = o.integer_or("groups", 1)});
  };

  ops["max_pool2d"] = [](const Inputs& x, const Settings& o) {
    const Pair kernel = pair_of(o, "kernel", 1);
    return max_pool2d(x[0], kernel,
                      {.stride = pair_of(o, "stride", kernel),
                       .padding = pair_of(o, "padding", 0),
                       .dilation = pair_of(o, "dilation", 1),
                       .ceil_mode = o.flag_or("ceil_mode", false)});
  };
  ops["avg_pool2d"] = [](const Inputs& x, const Settings& o) {
    const Pair kernel = pair_of(o, "kernel", 1);
    AvgPool2dOptions options{.stride = pair_of(o, "stride", kernel),
                             .padding = pair_of(o, "padding", 0),
                             .ceil_mode = o.flag_or("ceil_mode", false),
                             .count_include_pad = o.flag_or("count_include_pad", true)};
    if (o.has("divisor_override")) options.divisor_override = o.integer("divisor_override");
    return avg_pool2d(x[0], kernel, options);
  };
  ops["max_pool1d"] = [](const Inputs& x, const Settings& o) {
    return max_pool1d(x[0], o.integer("kernel"),
                      {.stride = o.integer("stride"), .padding = o.integer("padding")});
  };
  ops["avg_pool1d"] = [](const Inputs& x, const Settings& o) {
    return avg_pool1d(x[0], o.integer("kernel"),
                      {.stride = o.integer("stride"), .padding = o.integer("padding")});
  };
  ops["adaptive_avg_pool2d"] = [](const Inputs& x, const Settings& o) {
    return adaptive_avg_pool2d(x[0], pair_of(o, "size", 1));
  };
  ops["adaptive_max_pool2d"] = [](const Inputs& x, const Settings& o) {
    return adaptive_max_pool2d(x[0], pair_of(o, "size", 1));
  };

  const auto align = [](const Settings& o) {
    return UpsampleOptions{.align_corners = o.flag_or("align_corners", false)};
  };
  ops["upsample_nearest1d"] = [](const Inputs& x, const Settings& o) {
    return upsample_nearest1d(x[0], o.integer("size"));
  };
  ops["upsample_nearest2d"] = [](const Inputs& x, const Settings& o) {
    return upsample_nearest2d(x[0], pair_of(o, "size", 1));
  };
  ops["upsample_bilinear2d"] = [=](const Inputs& x, const Settings& o) {
    return upsample_bilinear2d(x[0], pair_of(o, "size", 1), align(o));
  };
  ops["upsample_bicubic2d"] = [=](const Inputs& x, const Settings& o) {
    return upsample_bicubic2d(x[0], pair_of(o, "size", 1), align(o));
  };
}

std::map<std::string, GoldenOp> all_ops() {
  std::map<std::string, GoldenOp> ops;
  add_elementwise(ops);
  add_reductions(ops);
  add_indexing(ops);
  add_shapes(ops);
  add_products(ops);
  add_windows(ops);
  add_fused(ops);
  return ops;
}

}  // namespace

const std::map<std::string, GoldenOp>& golden_ops() {
  static const std::map<std::string, GoldenOp> ops = all_ops();
  return ops;
}

}  // namespace wick::test
