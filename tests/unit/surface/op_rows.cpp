// Ops under the names of candle's BackendStorage.
#include <cmath>

#include "rows.h"

namespace wick::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double tanh_gelu(double x) {
  return x * logistic(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

Run where_of(DType condition) {
  return [condition](const Device& d) {
    const Tensor c = Tensor::from(std::vector<float>{1, 0, 1}, d).to(condition);
    return values(where(c, floats(d, {1, 2, 3}, {3}), floats(d, {4, 5, 6}, {3})));
  };
}

Run custom(int inputs) {
  return [inputs](const Device& d) {
    // Written in ops for every device; the CPU's by hand.
    const auto add_up = [](std::span<const Tensor> in) {
      Tensor y = in[0] * 1;
      for (size_t i = 1; i < in.size(); i++) y = y + in[i];
      return y;
    };
    const auto by_hand = [](std::span<const HostView> in) {
      const Tensor y = zeros(in[0].shape());
      for (const HostView& x : in)
        for (size_t i = 0; i < size_t(y.numel()); i++)
          HostTarget(y).values<float>()[i] += x.contiguous().values<float>()[i];
      return y;
    };
    const auto op = custom_op(
        "add_up",
        {.num_inputs = inputs, .cpu = by_hand, .rocm = add_up, .cuda = add_up, .emulated = add_up});
    const Tensor x = floats(d, {1, 2}, {2});
    return values(inputs == 1 ? apply(op, x) : inputs == 2 ? apply(op, x, x) : apply(op, x, x, x));
  };
}

/// target = 2 target + the others.
class TwiceAndMore : public InplaceOp {
 public:
  explicit TwiceAndMore(int inputs) : inputs_(inputs) {}
  const char* name() const override { return "twice_and_more"; }
  int num_inputs() const override { return inputs_; }
  void cpu(HostTarget target, std::span<const HostView> others) const override {
    for (size_t i = 0; i < size_t(target.tensor().numel()); i++) {
      float& y = target.values<float>()[i];
      y *= 2;
      for (const HostView& x : others) y += x.contiguous().values<float>()[i];
    }
  }
  void rocm(const Tensor& t, std::span<const Tensor> o) const override { launch(t, o); }
  void cuda(const Tensor& t, std::span<const Tensor> o) const override { launch(t, o); }
  void emulated(const Tensor& t, std::span<const Tensor> o) const override { launch(t, o); }

 private:
  static void launch(const Tensor& target, std::span<const Tensor> others) {
    const CompiledKernel kernel = compile_kernel(target.device(), "twice_and_more", R"(
extern "C" __global__ void twice_and_more(float* y, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * y[i] + (a ? a[i] : 0) + (b ? b[i] : 0);
})");
    const Tensor none;
    kernel.launch(1, 64, 0, target, others.size() > 0 ? others[0] : none,
                  others.size() > 1 ? others[1] : none, int(target.numel()));
  }
  int inputs_;
};
Run custom_in_place(int inputs) {
  return [inputs](const Device& d) {
    Var x(floats(d, {1, 2}, {2}));
    const Tensor other = floats(d, {10, 20}, {2});
    const TwiceAndMore op(inputs);
    if (inputs == 1) apply_(op, x);
    if (inputs == 2) apply_(op, x, other);
    if (inputs == 3) apply_(op, x, other, other);
    return values(x.tensor());
  };
}

}  // namespace

std::vector<SurfaceRow> op_rows() {
  const double e = std::exp(1.0), nan = NAN;
  return {
      {"affine", "affine", of_one([](const Tensor& x) { return affine(x, 2, 1); }), {-2, 1, 2, 5}},
      {"powf", "pow", of_one([](const Tensor& x) { return pow(x, 2.0); }), {2.25, 0, 0.25, 4}},
      {"elu",
       "elu",
       of_one([](const Tensor& x) { return elu(x, 2); }),
       {2 * std::expm1(-1.5), 0, 0.5, 2}},
      {"cmp eq",
       "eq",
       of_two([](const Tensor& a, const Tensor& b) { return eq(a, b); }),
       {0, 0, 1}},
      {"cmp ne",
       "ne",
       of_two([](const Tensor& a, const Tensor& b) { return ne(a, b); }),
       {1, 1, 0}},
      {"cmp lt",
       "lt",
       of_two([](const Tensor& a, const Tensor& b) { return lt(a, b); }),
       {0, 1, 0}},
      {"cmp le",
       "le",
       of_two([](const Tensor& a, const Tensor& b) { return le(a, b); }),
       {0, 1, 1}},
      {"cmp gt",
       "gt",
       of_two([](const Tensor& a, const Tensor& b) { return gt(a, b); }),
       {1, 0, 0}},
      {"cmp ge",
       "ge",
       of_two([](const Tensor& a, const Tensor& b) { return ge(a, b); }),
       {1, 0, 1}},
      {"reduce sum",
       "sum",
       [](const Device& d) { return values(sum(six(d), {.dims = {1}})); },
       {3, 12}},
      {"reduce max",
       "max",
       [](const Device& d) { return values(max(six(d), {.dims = {0}})); },
       {3, 4, 5}},
      {"reduce min",
       "min",
       [](const Device& d) { return values(min(six(d), {.dims = {1}})); },
       {0, 3}},
      {"reduce argmin",
       "argmin",
       [](const Device& d) { return values(argmin(six(d), 1)); },
       {0, 0}},
      {"reduce argmax",
       "argmax",
       [](const Device& d) { return values(argmax(six(d), 0)); },
       {1, 1, 1}},
      {"to_dtype, every pair",
       "cast",
       [](const Device& d) {
         double ones_seen = 0;
         for (int from = 0; from < StoredTypes::kSize; from++)
           for (int to = 0; to < StoredTypes::kSize; to++)
             ones_seen += values(ones({2}, {.dtype = DType(from), .device = d}).to(DType(to)))[1];
         return std::vector<double>{ones_seen};
       },
       {StoredTypes::kSize * StoredTypes::kSize}},
      {"unary neg", "neg", of_one([](const Tensor& x) { return neg(x); }), {1.5, 0, -0.5, -2}},
      {"unary abs", "abs", of_one([](const Tensor& x) { return abs(x); }), {1.5, 0, 0.5, 2}},
      {"unary sign", "sign", of_one([](const Tensor& x) { return sign(x); }), {-1, 0, 1, 1}},
      {"unary recip",
       "reciprocal",
       of_one([](const Tensor& x) { return reciprocal(x); }),
       {-1 / 1.5, HUGE_VAL, 2, 0.5}},
      {"unary exp",
       "exp",
       of_one([](const Tensor& x) { return exp(x * 2); }),
       {std::exp(-3.0), 1, e, std::exp(4.0)}},
      {"unary log",
       "log",
       of_one([](const Tensor& x) { return log(x); }),
       {nan, -HUGE_VAL, std::log(0.5), std::log(2.0)}},
      {"unary sin",
       "sin",
       of_one([](const Tensor& x) { return sin(x); }),
       {std::sin(-1.5), 0, std::sin(0.5), std::sin(2.0)}},
      {"unary cos",
       "cos",
       of_one([](const Tensor& x) { return cos(x); }),
       {std::cos(-1.5), 1, std::cos(0.5), std::cos(2.0)}},
      {"unary tanh",
       "tanh",
       of_one([](const Tensor& x) { return tanh(x); }),
       {std::tanh(-1.5), 0, std::tanh(0.5), std::tanh(2.0)}},
      {"unary sqr",
       "square",
       of_one([](const Tensor& x) { return square(x); }),
       {2.25, 0, 0.25, 4}},
      {"unary sqrt", "sqrt", of_one([](const Tensor& x) { return sqrt(x * x); }), {1.5, 0, 0.5, 2}},
      {"unary gelu",
       "gelu",
       of_one([](const Tensor& x) { return gelu(x); }),
       {-1.5 * 0.0668072012688581, 0, 0.5 * 0.691462461274013, 2 * 0.977249868051821}},
      {"unary gelu tanh",
       "gelu_tanh",
       of_one([](const Tensor& x) { return gelu_tanh(x); }),
       {tanh_gelu(-1.5), 0, tanh_gelu(0.5), tanh_gelu(2)}},
      {"unary erf",
       "erf",
       of_one([](const Tensor& x) { return erf(x); }),
       {std::erf(-1.5), 0, std::erf(0.5), std::erf(2.0)}},
      {"unary relu", "relu", of_one([](const Tensor& x) { return relu(x); }), {0, 0, 0.5, 2}},
      {"unary silu",
       "silu",
       of_one([](const Tensor& x) { return silu(x); }),
       {-1.5 * logistic(-1.5), 0, 0.5 * logistic(0.5), 2 * logistic(2)}},
      {"Sigmoid",
       "sigmoid",
       of_one([](const Tensor& x) { return sigmoid(x); }),
       {logistic(-1.5), 0.5, logistic(0.5), logistic(2)}},
      {"unary floor", "floor", of_one([](const Tensor& x) { return floor(x); }), {-2, 0, 0, 2}},
      {"unary ceil", "ceil", of_one([](const Tensor& x) { return ceil(x); }), {-1, 0, 1, 2}},
      {"unary round", "round", of_one([](const Tensor& x) { return round(x); }), {-2, 0, 0, 2}},
      {"unary in place",
       "silu",
       [](const Device& d) { return values(silu(zeros({3}, {.device = d}))); },
       {0, 0, 0}},
      {"binary add",
       "add",
       of_two([](const Tensor& a, const Tensor& b) { return a + b; }),
       {8, -2, 5}},
      {"binary sub",
       "sub",
       of_two([](const Tensor& a, const Tensor& b) { return a - b; }),
       {2, -8, 0}},
      {"binary mul",
       "mul",
       of_two([](const Tensor& a, const Tensor& b) { return a * b; }),
       {15, -15, 6.25}},
      {"binary div",
       "div",
       of_two([](const Tensor& a, const Tensor& b) { return a / b; }),
       {5 / 3.0, -5 / 3.0, 1}},
      {"binary maximum",
       "maximum",
       of_two([](const Tensor& a, const Tensor& b) { return maximum(a, b); }),
       {5, 3, 2.5}},
      {"binary minimum",
       "minimum",
       of_two([](const Tensor& a, const Tensor& b) { return minimum(a, b); }),
       {3, -5, 2.5}},
      {"binary pow",
       "pow",
       of_two([](const Tensor& a, const Tensor& b) { return pow(a, b); }),
       {125, -125, std::pow(2.5, 2.5)}},
      {"binary remainder",
       "remainder",
       of_two([](const Tensor& a, const Tensor& b) { return remainder(a, b); }),
       {2, 1, 0}},
      {"bitwise and",
       "bitwise_and",
       of_integers([](const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }),
       {8, 2}},
      {"bitwise or",
       "bitwise_or",
       of_integers([](const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }),
       {14, 11}},
      {"bitwise xor",
       "bitwise_xor",
       of_integers([](const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }),
       {6, 9}},
      {"where_cond bool", "where", where_of(DType::kBool), {1, 5, 3}},
      {"where_cond u8", "where", where_of(DType::kU8), {1, 5, 3}},
      {"where_cond u32", "where", where_of(DType::kU32), {1, 5, 3}},
      {"where_cond i64", "where", where_of(DType::kI64), {1, 5, 3}},
      {"where of a comparison and numbers",
       "where gt",
       [](const Device& d) { return values(where(six(d) > 2, 7, -1)); },
       {-1, -1, -1, 7, 7, 7}},
      {"conv1d",
       "conv1d",
       [](const Device& d) {
         return values(conv1d(reshape(six(d), {1, 2, 3}), floats(d, {1, 2, 1, -1}, {1, 2, 2})));
       },
       {1, 4}},
      {"conv_transpose1d",
       "conv_transpose1d",
       [](const Device& d) {
         return values(
             conv_transpose1d(floats(d, {1, 2}, {1, 1, 2}), floats(d, {3, 5}, {1, 1, 2})));
       },
       {3, 11, 10}},
      {"conv2d",
       "conv2d",
       [](const Device& d) {
         return values(conv2d(floats(d, {0, 1, 2, 3, 4, 5}, {1, 1, 2, 3}),
                              floats(d, {1, 1, 1, 1}, {1, 1, 2, 2})));
       },
       {8, 12}},
      {"conv_transpose2d",
       "conv_transpose2d",
       [](const Device& d) {
         return values(
             conv_transpose2d(floats(d, {2}, {1, 1, 1, 1}), floats(d, {1, 2, 3, 4}, {1, 1, 2, 2})));
       },
       {2, 4, 6, 8}},
      {"avg_pool2d",
       "avg_pool2d",
       [](const Device& d) {
         return values(avg_pool2d(floats(d, {0, 1, 2, 3, 4, 5}, {1, 1, 2, 3}), {2, 2},
                                  {.stride = Pair(1, 1)}));
       },
       {2, 3}},
      {"max_pool2d",
       "max_pool2d",
       [](const Device& d) {
         return values(max_pool2d(floats(d, {0, 1, 2, 3, 4, 5}, {1, 1, 2, 3}), {2, 2},
                                  {.stride = Pair(1, 1)}));
       },
       {4, 5}},
      {"upsample_nearest1d",
       "upsample_nearest1d",
       [](const Device& d) {
         return values(upsample_nearest1d(reshape(floats(d, {1, 2}, {2}), {1, 1, 2}), 4));
       },
       {1, 1, 2, 2}},
      {"upsample_nearest2d",
       "upsample_nearest2d",
       [](const Device& d) {
         return values(upsample_nearest2d(reshape(floats(d, {1, 2}, {2}), {1, 1, 1, 2}), {2, 2}));
       },
       {1, 2, 1, 2}},
      {"upsample_bilinear2d",
       "upsample_bilinear2d",
       [](const Device& d) {
         return values(upsample_bilinear2d(reshape(floats(d, {0, 3}, {2}), {1, 1, 1, 2}), {1, 4},
                                           {.align_corners = true}));
       },
       {0, 1, 2, 3}},
      {"gather",
       "gather",
       [](const Device& d) {
         return values(gather(six(d), 1, ids_of(d, {2, 0, 1, 1}, {2, 2})));
       },
       {2, 0, 4, 4}},
      {"scatter_set",
       "scatter_",
       [](const Device& d) {
         Var x(zeros({2, 3}, {.device = d}), false);
         scatter_(x, 1, ids_of(d, {2, 0}, {2, 1}), floats(d, {7, 8}, {2, 1}));
         return values(x.tensor());
       },
       {0, 0, 7, 8, 0, 0}},
      {"scatter_add",
       "scatter_add",
       [](const Device& d) {
         return values(scatter_add(six(d), 1, ids_of(d, {2, 2, 0, 1}, {2, 2}),
                                   floats(d, {1, 1, 1, 1}, {2, 2})));
       },
       {0, 1, 4, 4, 5, 5}},
      {"index_select",
       "index_select",
       [](const Device& d) {
         return values(index_select(six(d), 1, ids_of(d, {2, 0}, {2})));
       },
       {2, 0, 5, 3}},
      {"index_add",
       "index_add",
       [](const Device& d) {
         return values(index_add(six(d), 0, ids_of(d, {1}, {1}), floats(d, {1, 1, 1}, {1, 3})));
       },
       {0, 1, 2, 4, 5, 6}},
      {"matmul",
       "matmul",
       [](const Device& d) { return values(matmul(six(d), transpose(six(d)))); },
       {5, 14, 14, 50}},
      {"argsort",
       "argsort",
       [](const Device& d) {
         return values(argsort(floats(d, {3, 1, 2}, {3})));
       },
       {1, 2, 0}},
      {"sort",
       "sort",
       [](const Device& d) {
         return values(sort(floats(d, {3, 1, 2}, {3}), 0, {.descending = true}).values);
       },
       {3, 2, 1}},
      {"topk",
       "topk",
       [](const Device& d) {
         return values(topk(floats(d, {3, 1, 2}, {3}), 2).values);
       },
       {3, 2}},
      {"cumsum",
       "cumsum",
       [](const Device& d) { return values(cumsum(six(d), 1)); },
       {0, 1, 3, 3, 7, 12}},
      {"SoftmaxLastDim",
       "softmax",
       [](const Device& d) {
         return values(softmax(zeros({1, 4}, {.device = d}), -1));
       },
       {0.25, 0.25, 0.25, 0.25}},
      {"RmsNorm",
       "rms_norm",
       [](const Device& d) {
         return values(rms_norm(floats(d, {3, 4}, {1, 2}), ones({2}, {.device = d}), 0.5));
       },
       {3 / std::sqrt(13.0), 4 / std::sqrt(13.0)}},
      {"rms_norm_residual",
       "rms_norm_residual",
       [](const Device& d) {
         const Tensor one = ones({1, 2}, {.device = d});
         return values(
             rms_norm_residual(floats(d, {3, 4}, {1, 2}), ones({2}, {.device = d}), one, {}, 0.5)
                 .sum);
       },
       {1 + 3 / std::sqrt(13.0), 1 + 4 / std::sqrt(13.0)}},
      {"LayerNorm",
       "layer_norm",
       [](const Device& d) {
         return values(layer_norm(floats(d, {1, 5}, {1, 2}), floats(d, {1, 2}, {2}),
                                  floats(d, {10, 20}, {2}), 5));
       },
       {10 - 2 / 3.0, 20 + 4 / 3.0}},
      {"Rope",
       "rope",
       [](const Device& d) {
         const Tensor x = floats(d, {1, 2}, {1, 1, 1, 2});
         return values(rope(x, zeros({2, 1}, {.device = d}), ones({2, 1}, {.device = d}),
                            ids_of(d, {1}, {1, 1})));
       },
       {-2, 1}},
      {"RopeI",
       "rope_i",
       [](const Device& d) {  // two tokens of a head, the second rotated by a quarter turn
         const Tensor x = floats(d, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 2, 4});
         return values(rope_i(x, floats(d, {1, 1, 0, 0}, {2, 2}), floats(d, {0, 0, 1, 1}, {2, 2})));
       },
       {1, 2, 3, 4, -6, 5, -8, 7}},
      {"RopeThd",
       "rope_thd",
       [](const Device& d) {  // two tokens of a head, the second rotated by a quarter turn
         const Tensor x = floats(d, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 1, 4});
         return values(
             rope_thd(x, floats(d, {1, 1, 0, 0}, {2, 2}), floats(d, {0, 0, 1, 1}, {2, 2})));
       },
       {1, 2, 3, 4, -7, -8, 5, 6}},
      {"Sdpa",
       "sdpa",
       [](const Device& d) {
         const Tensor x = floats(d, {1, 2}, {1, 1, 1, 2});
         return values(sdpa(x, x, x));
       },
       {1, 2}},
      {"SdpaVarlen",
       "sdpa_varlen",
       [](const Device& d) {  // two sequences of one token
         const Tensor x = floats(d, {1, 2}, {2, 1, 1}),
                      at = arange(3, {.dtype = DType::kI64, .device = d});
         return values(sdpa_varlen(x, x, x, at, at));
       },
       {1, 2}},
      {"CausalConv1d",
       "causal_conv1d",
       [](const Device& d) {
         const auto [y, state] =
             causal_conv1d(floats(d, {1, 2, 3}, {1, 3, 1}), floats(d, {10, 1}, {1, 2}),
                           {.state = floats(d, {4}, {1, 1, 1}), .lengths = ids_of(d, {2}, {1})});
         return values(cat({narrow(y, 1, 0, 2), state}, 1));
       },
       {41, 12, 2}},
      {"LinearScan",
       "linear_scan",
       [](const Device& d) {
         const auto [y, state] =
             linear_scan(floats(d, {2, 3}, {1, 2, 1}), floats(d, {1, 10}, {1, 2, 1}),
                         {.state = floats(d, {4}, {1, 1})});
         return values(cat({y, unsqueeze(state, 1)}, 1));
       },
       {9, 37, 37}},
      {"LinearAttention",
       "linear_attention",
       [](const Device& d) {
         const Tensor x = floats(d, {2, 3}, {1, 2, 1, 1});
         const auto [y, state] =
             linear_attention(x, x, x, {.map = FeatureMap::kNone, .normalize = false});
         return values(cat({reshape(y, {2}), reshape(state, {2})}, 0));
       },
       {8, 39, 13, 5}},
      {"quantized storage",
       "",
       [](const Device& d) {  // blocks of equal values, which q8_0 holds exactly
         const Tensor weight = cat({full({1, 32}, 127), full({1, 32}, -254)}, 0);
         const QTensor q = QTensor::quantize_onto(weight, DType::kQ8_0, d);
         std::vector<double> results = {double(q.size_in_bytes()), double(q.device() == d)};
         const Tensor last = narrow(q.dequantize(), 1, 31, 1),
                      row = q.embedding(Tensor::from(std::vector<int64_t>{1}, {1}, d)),
                      product = QMatMul(q)(ones({1, 32}, {.device = d}));
         for (const Tensor& x : {last, narrow(row, 1, 0, 1), product})
           for (const double value : values(x)) results.push_back(value);
         return results;
       },
       {68, 1, 127, -254, -254, 32 * 127, -32 * 254}},
      {"apply_op1", "apply", custom(1), {1, 2}},
      {"apply_op2", "apply", custom(2), {2, 4}},
      {"apply_op3", "apply", custom(3), {3, 6}},
      {"with_gradient",
       "with_gradient",
       [](const Device& d) {
         const Var x(floats(d, {1, 2}, {2}));
         const Tensor y = with_gradient(
             "thrice", x.tensor().detach() * 3, {x.tensor()},
             [](const Tensor&, const Tensor& gradient) { return std::vector{gradient * 3}; });
         backward(sum(y * y));
         return values(x.grad());
       },
       {18, 36}},
      {"inplace_op1", "apply_", custom_in_place(1), {2, 4}},
      {"inplace_op2", "apply_", custom_in_place(2), {12, 24}},
      {"inplace_op3", "apply_", custom_in_place(3), {22, 44}},
      {"compile",
       "",
       [](const Device& d) {
         const Tensor x = floats(d, {1, 2}, {2}), y = Tensor::empty({2}, {.device = d});
         if (d.is_cpu())
           compile_kernel(
               d, "twice",
               "extern \"C\" void twice(const WickTensor* in, int, const WickTensor* out, int) {\n"
               "  for (int64_t i = 0; i < in->shape[0]; i++)\n"
               "    static_cast<float*>(out->data)[i] = 2 * static_cast<float*>(in->data)[i];\n}\n")
               .launch({x}, {y});
         else
           compile_kernel(d, "twice",
                          "extern \"C\" __global__ void twice(const float* x, float* y) {\n"
                          "  y[threadIdx.x] = 2 * x[threadIdx.x];\n}\n")
               .launch(1, 2, 0, x, y);
         return values(y);
       },
       {2, 4}},
      {"formula",
       "",
       [](const Device& d) { return values(elementwise_kernel("f", "a * 2 + 1")(six(d))); },
       {1, 3, 5, 7, 9, 11}},
  };
}

}  // namespace wick::test
