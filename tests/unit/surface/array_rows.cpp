// Ops on whole arrays that candle's BackendStorage does not have.
#include <cmath>

#include "rows.h"

namespace wick::test {
namespace {

using D = const Device&;

/// Runs f of the device.
Run of(std::function<Tensor(const Device&)> f) {
  return [f](D d) { return values(f(d)); };
}
/// The sizes of f of the device.
Run sizes_of(std::function<Tensor(const Device&)> f) {
  return [f](D d) {
    const Tensor y = f(d);
    return std::vector<double>(y.shape().begin(), y.shape().end());
  };
}
/// Whether f gives on the device what it gives on the CPU under the same seed: all random numbers.
Run as_on_cpu(std::function<Tensor(const Device&)> f) {
  return [f](D d) {
    d.set_seed(3);
    const std::vector<double> here = values(f(d));
    Device::cpu().set_seed(3);
    return std::vector<double>{double(here == values(f(Device::cpu()))), double(here.size())};
  };
}

/// 0 ... 5 as an image [1, 1, 2, 3].
Tensor image(D d) { return reshape(six(d), {1, 1, 2, 3}); }
Tensor row(D d, const std::vector<float>& x) { return floats(d, x, {1, 1, int64_t(x.size())}); }
Tensor integers(D d, const std::vector<int64>& x) { return Tensor::from(x, d); }

std::vector<SurfaceRow> arrange_rows() {
  return {
      row_of("diagonal", of([](D d) { return diagonal(six(d)); }), {0, 4}),
      row_of("clone", of([](D d) { return clone(transpose(six(d))); }), {0, 3, 1, 4, 2, 5}),
      row_of("unfold", of([](D d) { return unfold(six(d), 1, 2, 1); }), {0, 1, 1, 2, 3, 4, 4, 5}),
      row_of("stack", of([](D d) {
               return stack({floats(d, {1, 2}), floats(d, {3, 4})}, 1);
             }),
             {1, 3, 2, 4}),
      row_of("repeat", of([](D d) {
               return repeat(floats(d, {1, 2}), {2, 2});
             }),
             {1, 2, 1, 2, 1, 2, 1, 2}),
      row_of("tile", of([](D d) { return tile(six(d), {2}); }),
             {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}),
      row_of("repeat_interleave", of([](D d) {
               return repeat_interleave(floats(d, {1, 2}), 2, 0);
             }),
             {1, 1, 2, 2}),
      row_of("roll", of([](D d) {
               return roll(floats(d, {1, 2, 3}), {1}, {0});
             }),
             {3, 1, 2}),
      row_of("flip", of([](D d) { return flip(six(d), {1}); }), {2, 1, 0, 5, 4, 3}),
      row_of("rot90", of([](D d) { return rot90(six(d)); }), {2, 5, 1, 4, 0, 3}),
      row_of("diag_embed", of([](D d) {
               return diag_embed(floats(d, {1, 2}));
             }),
             {1, 0, 0, 2}),
      row_of("diag", of([](D d) { return diag(floats(d, {1}), 1); }), {0, 1, 0, 0}),
      row_of("trace", of([](D d) { return trace(six(d)); }), {4}),
      row_of("tril", of([](D d) { return tril(six(d)); }), {0, 0, 0, 3, 4, 0}),
      row_of("triu", of([](D d) { return triu(six(d)); }), {0, 1, 2, 0, 4, 5}),
      row_of("pad", of([](D d) {
               return pad(floats(d, {1, 2}), {{1, 1}}, {.value = 9});
             }),
             {9, 1, 2, 9}),
      row_of("pixel_shuffle", of([](D d) {
               return pixel_shuffle(floats(d, {0, 1, 2, 3, 4, 5, 6, 7}, {4, 1, 2}), 2);
             }),
             {0, 2, 1, 3, 4, 6, 5, 7}),
      row_of("pixel_unshuffle", of([](D d) {
               return pixel_unshuffle(floats(d, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 4}), 2);
             }),
             {0, 2, 1, 3, 4, 6, 5, 7}),
      row_of("reshape", sizes_of([](D d) {
               return reshape(six(d), {3, -1});
             }),
             {3, 2}),
      row_of("flatten", sizes_of([](D d) { return flatten(image(d), 1); }), {1, 6}),
      row_of("permute", of([](D d) {
               return permute(six(d), {1, 0});
             }),
             {0, 3, 1, 4, 2, 5}),
      row_of("movedim", of([](D d) { return movedim(six(d), 0, 1); }), {0, 3, 1, 4, 2, 5}),
      row_of("unsqueeze", sizes_of([](D d) { return unsqueeze(six(d), 1); }), {2, 1, 3}),
      row_of("squeeze", sizes_of([](D d) { return squeeze(image(d), 0); }), {1, 2, 3}),
      row_of("select", of([](D d) { return select(six(d), 1, -1); }), {2, 5}),
      row_of("broadcast_to", of([](D d) {
               return broadcast_to(floats(d, {1, 2}), {2, 2});
             }),
             {1, 2, 1, 2}),
      row_of("broadcast_left", of([](D d) {
               return broadcast_left(floats(d, {1, 2}), {2});
             }),
             {1, 2, 1, 2}),
      row_of("split", of([](D d) { return split(six(d), 2, 1)[1]; }), {2, 5}),
      row_of("chunk", of([](D d) { return chunk(six(d), 2, 1)[0]; }), {0, 1, 3, 4}),
      row_of("unbind", of([](D d) { return unbind(six(d), 0)[1]; }), {3, 4, 5}),
  };
}

std::vector<SurfaceRow> create_rows() {
  return {
      row_of("full", of([](D d) { return full({2}, 2.5, {.device = d}); }), {2.5, 2.5}),
      row_of("full_like", of([](D d) {
               return full_like(floats(d, {1, 2}), 7);
             }),
             {7, 7}),
      row_of("zeros_like", of([](D d) {
               return zeros_like(floats(d, {1, 2}));
             }),
             {0, 0}),
      row_of("ones_like", of([](D d) {
               return ones_like(floats(d, {3, 2}));
             }),
             {1, 1}),
      row_of("empty_like", sizes_of([](D d) { return empty_like(six(d)); }), {2, 3}),
      row_of("arange", of([](D d) { return arange(3, {.dtype = DType::kI64, .device = d}); }),
             {0, 1, 2}),
      row_of("linspace", of([](D d) { return linspace(0, 1, 3, {.device = d}); }), {0, 0.5, 1}),
      row_of("eye", of([](D d) { return eye(2, {.device = d}); }), {1, 0, 0, 1}),
      row_of("tril_mask", of([](D d) { return tril_mask(2, 3, 0, d); }), {1, 0, 0, 1, 1, 0}),
      row_of("triu_mask", of([](D d) { return triu_mask(2, 3, 0, d); }), {1, 1, 1, 0, 1, 1}),
      row_of("meshgrid", of([](D d) {
               return meshgrid({floats(d, {1, 2}), floats(d, {3, 4})})[0];
             }),
             {1, 1, 2, 2}),
      row_of("one_hot", of([](D d) {
               return one_hot(integers(d, {2, 0}), 3);
             }),
             {0, 0, 1, 1, 0, 0}),
      row_of("rand_like", as_on_cpu([](D d) { return rand_like(six(d)); }), {1, 6}),
      row_of("randn_like", as_on_cpu([](D d) { return randn_like(six(d)); }), {1, 6}),
      row_of("randint", as_on_cpu([](D d) {
               return randint(2, 50, {9}, {.dtype = DType::kI64, .device = d});
             }),
             {1, 9}),
      row_of("randperm",
             as_on_cpu([](D d) { return randperm(9, {.dtype = DType::kI64, .device = d}); }),
             {1, 9}),
      row_of("bernoulli", as_on_cpu([](D d) { return bernoulli(0.5, {40}, {.device = d}); }),
             {1, 40}),
      row_of("dropout_mask", as_on_cpu([](D d) { return dropout_mask({40}, 0.5, {.device = d}); }),
             {1, 40}),
      row_of("multinomial", of([](D d) {
               return multinomial(floats(d, {0, 1, 0}), 2, {.replacement = true});
             }),
             {1, 1}),
      row_of("rope_tables", of([](D d) { return rope_tables(2, 2, 1e4, {.device = d}).sin; }),
             {0, std::sin(1.0)}),
  };
}

std::vector<SurfaceRow> index_rows() {
  return {
      row_of("embedding", of([](D d) { return embedding(six(d), integers(d, {1})); }), {3, 4, 5}),
      row_of("scatter", of([](D d) {
               return scatter(six(d), 1, ids_of(d, {2, 0}, {2, 1}), floats(d, {7, 8}, {2, 1}));
             }),
             {0, 1, 7, 8, 4, 5}),
      row_of("index_copy", of([](D d) {
               return index_copy(six(d), 0, integers(d, {1}), floats(d, {7, 8, 9}, {1, 3}));
             }),
             {0, 1, 2, 7, 8, 9}),
      row_of("index_fill", of([](D d) { return index_fill(six(d), 1, integers(d, {0}), 9); }),
             {9, 1, 2, 9, 4, 5}),
      row_of("take", of([](D d) {
               return take(six(d), integers(d, {5, -5}));
             }),
             {5, 1}),
      row_of("take_along_dim", of([](D d) {
               return take_along_dim(six(d), ids_of(d, {2, 0}, {2, 1}), 1);
             }),
             {2, 3}),
      row_of("index", of([](D d) {
               return index(six(d), {1, Slice{.start = 1}});
             }),
             {4, 5}),
      row_of("index_put",
             of([](D d) { return index_put(six(d), {Index(integers(d, {1}))}, floats(d, {7})); }),
             {0, 1, 2, 7, 7, 7}),
      row_of("index_put_", of([](D d) {
               Var x(six(d), false);
               index_put_(x, {0}, 9);
               return x.tensor();
             }),
             {9, 9, 9, 3, 4, 5}),
      row_of("slice_scatter", of([](D d) {
               return slice_scatter(six(d), floats(d, {7, 8}, {2, 1}), 1, {.start = 2});
             }),
             {0, 1, 7, 3, 4, 8}),
      row_of("slice_assign", of([](D d) {
               return slice_assign(six(d), {Slice{.start = 1}}, floats(d, {7, 8, 9}, {1, 3}));
             }),
             {0, 1, 2, 7, 8, 9}),
      row_of("nonzero", of([](D d) {
               return nonzero(floats(d, {0, 5, 0, 7}));
             }),
             {1, 3}),
      row_of("masked_select", of([](D d) { return masked_select(six(d), gt(six(d), 3)); }), {4, 5}),
      row_of("unique", of([](D d) {
               return unique(floats(d, {3, 1, 3})).values;
             }),
             {1, 3}),
      row_of("unique_consecutive", of([](D d) {
               return unique_consecutive(floats(d, {1, 1, 2, 1})).values;
             }),
             {1, 2, 1}),
      row_of("searchsorted", of([](D d) {
               return searchsorted(floats(d, {1, 3, 5}), floats(d, {3, 4}));
             }),
             {1, 2}),
      row_of("bucketize", of([](D d) {
               return bucketize(floats(d, {3, 4}), floats(d, {1, 3, 5}), {.right = true});
             }),
             {2, 2}),
      row_of("bincount", of([](D d) {
               return bincount(integers(d, {1, 1, 3}));
             }),
             {0, 2, 0, 1}),
      row_of("histc", of([](D d) {
               return histc(floats(d, {0, 1, 2, 3, 3}), 2);
             }),
             {2, 3}),
  };
}

std::vector<SurfaceRow> reduce_rows() {
  const double log2 = std::log(2.0);
  return {
      row_of("mean", of([](D d) { return mean(six(d), {.dims = {1}}); }), {1, 4}),
      row_of("amax", of([](D d) { return amax(six(d), {.dims = {1}}); }), {2, 5}),
      row_of("amin", of([](D d) { return amin(six(d), {.dims = {0}}); }), {0, 1, 2}),
      row_of("prod", of([](D d) { return prod(six(d), {.dims = {1}}); }), {0, 60}),
      row_of("any", of([](D d) { return any(narrow(six(d), 1, 0, 1), {.dims = {1}}); }), {0, 1}),
      row_of("all", of([](D d) { return all(six(d), {.dims = {1}}); }), {0, 1}),
      row_of("max_with_indices", of([](D d) { return max_with_indices(six(d), 1).indices; }),
             {2, 2}),
      row_of("min_with_indices", of([](D d) { return min_with_indices(six(d), 1).values; }),
             {0, 3}),
      row_of("var", of([](D d) {
               return var(floats(d, {1, 2, 3, 4}));
             }),
             {5 / 3.0}),
      row_of("stddev", of([](D d) {
               return stddev(floats(d, {1, 2, 3, 4}));
             }),
             {std::sqrt(5 / 3.0)}),
      row_of("var_mean", of([](D d) {
               return var_mean(floats(d, {1, 2, 3, 4})).mean;
             }),
             {2.5}),
      row_of("logsumexp", of([](D d) { return logsumexp(zeros({4}, {.device = d})); }), {2 * log2}),
      row_of("sum_of_squares", of([](D d) {
               return sum_of_squares(floats(d, {3, 4}));
             }),
             {25}),
      row_of("norm", of([](D d) {
               return norm(floats(d, {3, 4}));
             }),
             {5}),
      row_of("count_nonzero", of([](D d) { return count_nonzero(six(d)); }), {5}),
      row_of("nansum", of([](D d) {
               return nansum(floats(d, {1, NAN, 2}));
             }),
             {3}),
      row_of("nanmean", of([](D d) {
               return nanmean(floats(d, {1, NAN, 2}));
             }),
             {1.5}),
      row_of("cumprod", of([](D d) {
               return cumprod(floats(d, {1, 2, 3}), 0);
             }),
             {1, 2, 6}),
      row_of("cummax", of([](D d) {
               return cummax(floats(d, {1, 3, 2}), 0).values;
             }),
             {1, 3, 3}),
      row_of("cummin", of([](D d) {
               return cummin(floats(d, {3, 1, 2}), 0).indices;
             }),
             {0, 1, 1}),
      row_of("logcumsumexp", of([](D d) { return logcumsumexp(zeros({2}, {.device = d}), 0); }),
             {0, log2}),
      row_of("kthvalue", of([](D d) {
               return kthvalue(floats(d, {3, 1, 2}), 2).values;
             }),
             {2}),
      row_of("median", of([](D d) {
               return median(floats(d, {3, 1, 2, 4})).values;
             }),
             {2}),
      row_of("mode", of([](D d) {
               return mode(floats(d, {1, 2, 2})).values;
             }),
             {2}),
      row_of("quantile", of([](D d) {
               return quantile(floats(d, {1, 2, 3, 4}), 0.5);
             }),
             {2.5}),
      row_of("log_softmax", of([](D d) {
               return log_softmax(zeros({1, 2}, {.device = d}));
             }),
             {-log2, -log2}),
      row_of("cross_entropy", of([](D d) {
               return cross_entropy(zeros({2, 4}, {.device = d}), integers(d, {0, 3}));
             }),
             {2 * log2}),
      row_of("nll_loss", of([](D d) {
               return nll_loss(floats(d, {-1, -2, -3, -4}, {2, 2}), integers(d, {1, 0}));
             }),
             {2.5}),
      row_of("sample", of([](D d) {
               return sample(floats(d, {0, 5, 1}, {1, 3}), floats(d, {0.5f}), {.temperature = 0});
             }),
             {1}),
      row_of("sample_settings",
             of([](D d) { return sample_settings({{.temperature = 0.5, .top_k = 3}}, d); }),
             {0.5, 3, 1, 0, 1, 0, 0}),
      row_of("append_tokens_", of([](D d) {
               const auto ids = [&](const Shape& shape) {
                 return Var(zeros(shape, {.dtype = DType::kI64, .device = d}), false);
               };
               Var tokens = ids({1, 1}), marked = ids({1, 1}), positions = ids({1, 1}),
                   state = ids({1, 3}), history = ids({1, 2});
               const Tensor seven = full({1}, 7, {.dtype = DType::kI64, .device = d});
               append_tokens_({tokens, marked, positions, state, history}, seven,
                              reshape(seven, {1, 1}));
               return history.tensor();
             }),
             {0, 7}),
  };
}

std::vector<SurfaceRow> product_rows() {
  return {
      row_of("linear", of([](D d) {
               return linear(six(d), ones({1, 3}, {.device = d}));
             }),
             {3, 12}),
      row_of("linear_parts", of([](D d) {
               return cat(linear_parts(six(d), {ones({1, 3}, {.device = d}), six(d)}), -1);
             }),
             {3, 5, 14, 12, 14, 50}),
      row_of("gated_linear", of([](D d) {
               return gated_linear(six(d), ones({1, 3}, {.device = d}), ones({1, 3}, {.device = d}),
                                   Activation::kRelu);
             }),
             {9, 144}),
      row_of(
          "rms_norm_linear_parts", of([](D d) {
            const Tensor x = full({1, 3}, 4, {.device = d});  // 1 after the norm, times the scale
            return cat(rms_norm_linear_parts(x, reshape(narrow(six(d), 0, 0, 1), {3}),
                                             {ones({1, 3}, {.device = d}), six(d)}, {}, 0),
                       -1);
          }),
          {3, 5, 14}),
      row_of("rms_norm_gated_linear", of([](D d) {
               const Tensor x = full({1, 3}, 4, {.device = d});
               return rms_norm_gated_linear(x, ones({3}, {.device = d}),
                                            ones({1, 3}, {.device = d}),
                                            ones({1, 3}, {.device = d}), Activation::kRelu, 0);
             }),
             {9}),
      row_of("expert_linear", of([](D d) {
               return expert_linear(six(d), reshape(six(d), {2, 1, 3}),
                                    reshape(integers(d, {1, 0}), {2, 1}));
             }),
             {14, 14}),
      row_of("gated_expert_linear", of([](D d) {
               return gated_expert_linear(six(d), reshape(six(d), {2, 1, 3}),
                                          reshape(six(d), {2, 1, 3}),
                                          reshape(integers(d, {1, 0}), {2, 1}), Activation::kRelu);
             }),
             {196, 196}),
      row_of("expert_linear_sum", of([](D d) {
               return expert_linear_sum(reshape(six(d), {1, 2, 3}), reshape(six(d), {2, 1, 3}),
                                        reshape(integers(d, {1, 0}), {1, 2}),
                                        ones({1, 2}, {.device = d}) * 0.5,
                                        ones({1, 1}, {.device = d}));
             }),
             {15}),
      row_of("select_experts",
             of([](D d) { return cast(select_experts(six(d), 2).indices, DType::kF32); }),
             {2, 1, 2, 1}),
      row_of("quantize_i8",
             [](D d) {
               const RowsInI8 y = quantize_i8(arange(32, {.device = d}) * 4.0);
               return values(narrow(y.codes, 0, 0, 3));
             },
             {0, 4, 8}),
      row_of(
          "dequantize_i8",
          [](D d) {
            const Tensor codes = cast(full({32}, 3.0, {.device = d}), DType::kI8);
            return values(narrow(
                dequantize_i8(codes, cast(full({1}, 0.5, {.device = d}), DType::kF16), DType::kF32),
                0, 0, 2));
          },
          {1.5, 1.5}),
      row_of("ssd",
             [](D d) {
               const TensorAndState r =
                   ssd(floats(d, {1, 2}, {1, 1, 1, 2}), floats(d, {2}, {1, 1, 1}),
                       zeros({1}, {.device = d}), floats(d, {3}, {1, 1, 1, 1}),
                       floats(d, {5}, {1, 1, 1, 1}),
                       {.d = ones({1}, {.device = d}), .state = ones({1, 1, 2, 1}, {.device = d})});
               return values(stack({flatten(r.y), flatten(r.state)}));
             },
             {36, 67, 7, 13}),
      row_of("gated_delta_rule",
             [](D d) {
               const TensorAndState r =
                   gated_delta_rule(floats(d, {1, 1}, {1, 1, 1, 2}),
                                    floats(d, {0, 1}, {1, 1, 1, 2}), floats(d, {4}, {1, 1, 1, 1}),
                                    zeros({1, 1, 1}, {.device = d}), floats(d, {0.5}, {1, 1, 1}),
                                    {.scale = 2, .state = floats(d, {1, 2}, {1, 1, 2, 1})});
               return values(cat({flatten(r.y), flatten(r.state)}));
             },
             {8, 1, 3}),
      row_of("dot", of([](D d) {
               return dot(floats(d, {1, 2}), floats(d, {3, 4}));
             }),
             {11}),
      row_of("mv", of([](D d) {
               return mv(six(d), floats(d, {1, 1, 1}));
             }),
             {3, 12}),
      row_of("bmm", of([](D d) {
               const Tensor x = reshape(six(d), {1, 2, 3});
               return bmm(x, transpose(x));
             }),
             {5, 14, 14, 50}),
      row_of("addmm", of([](D d) {
               return addmm(ones({2, 2}, {.device = d}), six(d), transpose(six(d)), {.beta = 2});
             }),
             {7, 16, 16, 52}),
      row_of("baddbmm", of([](D d) {
               const Tensor x = reshape(six(d), {1, 2, 3});
               return baddbmm(ones({1, 2, 2}, {.device = d}), x, transpose(x), {.alpha = 2});
             }),
             {11, 29, 29, 101}),
      row_of("outer", of([](D d) {
               return outer(floats(d, {1, 2}), floats(d, {3, 4}));
             }),
             {3, 4, 6, 8}),
      row_of("kron", of([](D d) {
               return kron(floats(d, {1, 2}, {1, 2}), floats(d, {3, 4}, {2, 1}));
             }),
             {3, 6, 4, 8}),
      row_of("cross", of([](D d) {
               return cross(floats(d, {1, 0, 0}), floats(d, {0, 1, 0}));
             }),
             {0, 0, 1}),
      row_of("tensordot", of([](D d) { return tensordot(six(d), six(d), 2); }), {55}),
      row_of("einsum", of([](D d) {
               return einsum("ij,kj->ik", {six(d), six(d)});
             }),
             {5, 14, 14, 50}),
      row_of("backward", of([](D d) {
               const Var x(floats(d, {1, 2}));
               backward(sum(x.tensor() * x.tensor()));
               return x.grad();
             }),
             {2, 4}),
      row_of("grad", of([](D d) {
               const Var x(floats(d, {1, 2}));
               return grad(sum(x.tensor() * 3), {x.tensor()})[0];
             }),
             {3, 3}),
      row_of("adamw_", of([](D d) {
               Var x(floats(d, {1, 2}), false), mean(zeros({2}, {.device = d}), false),
                   squares(zeros({2}, {.device = d}), false);
               adamw_(x, floats(d, {0.5f, -0.5f}), mean, squares, 1,
                      {.rate = 0.125, .weight_decay = 0});
               return x.tensor();
             }),
             {0.875, 2.125}),
  };
}

std::vector<SurfaceRow> window_rows() {
  return {
      row_of("unfold2d", of([](D d) { return unfold2d(image(d), 2); }), {0, 1, 1, 2, 3, 4, 4, 5}),
      row_of("fold2d", of([](D d) {
               return fold2d(unfold2d(image(d), 2), {2, 3}, 2);
             }),
             {0, 2, 2, 3, 8, 5}),
      row_of("max_pool1d", of([](D d) {
               return max_pool1d(row(d, {1, 3, 2, 5}), 2);
             }),
             {3, 5}),
      row_of("max_pool1d_with_indices", of([](D d) {
               return max_pool1d_with_indices(row(d, {1, 3, 2, 5}), 2).indices;
             }),
             {1, 3}),
      row_of("max_pool2d_with_indices", of([](D d) {
               return max_pool2d_with_indices(image(d), 2, {.stride = Pair(1)}).indices;
             }),
             {4, 5}),
      row_of("avg_pool1d", of([](D d) {
               return avg_pool1d(row(d, {1, 3, 2, 5}), 2);
             }),
             {2, 3.5}),
      row_of("adaptive_avg_pool1d", of([](D d) {
               return adaptive_avg_pool1d(row(d, {1, 3, 2, 5}), 2);
             }),
             {2, 3.5}),
      row_of("adaptive_avg_pool2d", of([](D d) { return adaptive_avg_pool2d(image(d), 1); }),
             {2.5}),
      row_of("adaptive_max_pool1d", of([](D d) {
               return adaptive_max_pool1d(row(d, {1, 3, 2, 5}), 2);
             }),
             {3, 5}),
      row_of("adaptive_max_pool2d", of([](D d) {
               return adaptive_max_pool2d(image(d), {2, 1});
             }),
             {2, 5}),
      row_of("adaptive_max_pool2d_with_indices", of([](D d) {
               return adaptive_max_pool2d_with_indices(image(d), {1, 3}).indices;
             }),
             {3, 4, 5}),
      row_of("lp_pool2d", of([](D d) { return lp_pool2d(image(d), 2, 2, {.stride = Pair(1)}); }),
             {std::sqrt(26.0), std::sqrt(46.0)}),
      row_of("max_unpool2d", of([](D d) {
               return max_unpool2d(floats(d, {7}, {1, 1, 1, 1}), ids_of(d, {3}, {1, 1, 1, 1}), 2);
             }),
             {0, 0, 0, 7}),
      row_of("upsample_nearest_exact1d", of([](D d) {
               return upsample_nearest_exact1d(row(d, {1, 2}), 3);
             }),
             {1, 2, 2}),
      row_of("upsample_nearest_exact2d", of([](D d) {
               return upsample_nearest_exact2d(floats(d, {1, 2}, {1, 1, 1, 2}), {1, 3});
             }),
             {1, 2, 2}),
      row_of("upsample_linear1d", of([](D d) {
               return upsample_linear1d(row(d, {0, 3}), 4, {.align_corners = true});
             }),
             {0, 1, 2, 3}),
      row_of("upsample_bicubic2d", of([](D d) {
               return upsample_bicubic2d(image(d), {2, 3}, {.align_corners = true});
             }),
             {0, 1, 2, 3, 4, 5}),
      row_of("interpolate", of([](D d) {
               return interpolate(row(d, {1, 2}), {.scale = {2}});
             }),
             {1, 1, 2, 2}),
      row_of("grid_sample", of([](D d) {
               return grid_sample(image(d), floats(d, {-1, 1, 0, 0}, {1, 1, 2, 2}),
                                  {.align_corners = true});
             }),
             {3, 2.5}),
  };
}

}  // namespace

std::vector<SurfaceRow> array_rows() {
  std::vector<SurfaceRow> rows = arrange_rows();
  for (auto* more : {create_rows, index_rows, reduce_rows, product_rows, window_rows})
    for (SurfaceRow& row : more()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace wick::test
