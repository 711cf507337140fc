// Casts of block dtypes beside ggml's, and what other ops answer to a tensor of one: q8_0, whose blocks
// are 32 elements in 34 bytes.
#include <cmath>
#include <functional>
#include <limits>

#include "../exact_activations.h"
#include "../expect.h"
#include "wick/io/safetensors.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Zeros of q8_0.
Tensor blocks(const Shape& shape) {
  const std::vector<uint8_t> bytes(size_t(bytes_of(DType::kQ8_0, numel(shape))));
  return Tensor::from_bytes(bytes.data(), DType::kQ8_0, shape);
}

struct Refusal {
  const char* op;
  std::function<void(const Tensor& x)> run;
};

/// Each is given q8_0 in one place at least, and floats of the same shape elsewhere.
void expect_refusals(const Shape& shape, std::initializer_list<Refusal> refusals) {
  const Tensor x = blocks(shape);
  for (const Refusal& r : refusals) {
    SCOPED_TRACE(r.op);
    try {
      r.run(x);
      ADD_FAILURE() << "throws nothing";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("q8_0"), std::string::npos) << text;
      EXPECT_TRUE(text.starts_with(std::string(r.op) + ":")) << text;
      EXPECT_TRUE(e.code() == ErrorCode::kUnsupported || e.code() == ErrorCode::kDTypeMismatch ||
                  e.code() == ErrorCode::kInvalidArgument)
          << error_code_name(e.code());
    }
  }
}

const std::vector<DType> kBlocks = [] {
  std::vector<DType> all;
  for (int d = 0; d < kNumDTypes; d++)
    if (is_block(DType(d))) all.push_back(DType(d));
  return all;
}();

/// The bits of an f32 tensor, or the bytes of blocks.
std::vector<uint8_t> bytes_in(const Tensor& x) {
  std::vector<uint8_t> bytes(size_t(bytes_of(x.dtype(), x.numel())));
  x.read(bytes.data());
  return bytes;
}

TEST(Blocks, DecodeToTheBitsOfGgml) {
  const NamedTensors golden = load_safetensors(WICK_GOLDEN "/blocks/blocks.safetensors");
  for (const DType dtype : kBlocks) {
    const std::string name = dtype_name(dtype);
    SCOPED_TRACE(name);
    const Tensor expected = golden.at(name + ".elements");
    const Tensor x =
        Tensor::from_bytes(bytes_in(golden.at(name + ".blocks")).data(), dtype, expected.shape());
    EXPECT_EQ(bytes_in(cast(x, DType::kF32)), bytes_in(expected));
  }
}

TEST(Blocks, AreQuantizedToTheBytesOfGgml) {
  const NamedTensors golden = load_safetensors(WICK_GOLDEN "/blocks/blocks.safetensors");
  int quantized = 0;
  for (const DType dtype : kBlocks) {
    const std::string name = dtype_name(dtype);
    SCOPED_TRACE(name);
    if (golden.count(name + ".x") == 0) {
      EXPECT_ERROR(cast(zeros({2, 256}), dtype), kUnsupported,
                   "cast: expected a block dtype that rounding defines (q4_0, q4_1, q5_0, q5_1, "
                   "q8_0, mxfp4, tq1_0, tq2_0), got " +
                       name);
      continue;
    }
    quantized++;
    EXPECT_EQ(bytes_in(cast(golden.at(name + ".x"), dtype)),
              bytes_in(golden.at(name + ".quantized")));
  }
  EXPECT_EQ(quantized, 8);
}

TEST(Blocks, ExponentsOfMxfp4FollowALogarithmRoundedToF32) {
  // Floats around every power of two; each is the largest of its block.
  std::vector<float> x;
  for (int power = -125; power <= 128; power++)
    for (int step = -64; step < 3; step++) {
      const double ulp = std::ldexp(1., power - (step < 0 ? 24 : 23));
      const double size = std::ldexp(1., power) + step * ulp;
      if (size >= std::ldexp(1., -125) && size < std::ldexp(1., 128)) {
        x.resize(x.size() + 32);
        x[x.size() - 7] = float(step % 2 == 0 ? size : -size);
      }
    }
  const int64_t count = int64_t(x.size()) / 32;
  const std::vector<uint8_t> bytes = bytes_in(cast(Tensor::from(x, {count, 32}), DType::kMXFP4));
  for (size_t b = 0; b < size_t(count); b++) {
    const double size = std::abs(double(x[b * 32 + 25]));
    EXPECT_EQ(bytes[b * 17], int(std::floor(float(std::log2(size)))) + 125) << size;
  }
}

TEST(Blocks, SmallElementsOfMxfp4HaveTheLeastExponent) {
  std::vector<float> x(32);
  x[0] = 0x1p-127f, x[1] = -0x1p-128f, x[2] = 0x1p-129f, x[3] = 0x1p-149f;
  const Tensor y = cast(Tensor::from(x, {32}), DType::kMXFP4);
  EXPECT_EQ(bytes_in(y)[0], 0);
  x[2] = x[3] = 0;  // halfway, and below
  EXPECT_EQ(cast(y, DType::kF32).to_vector<float>(), x);
}

TEST(Blocks, WhatF32CannotHoldIsQuantizedAllTheSame) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {infinity, -infinity, nan, 1e-45f, 1e38f}) {
    for (const DType dtype : kBlocks) {
      if (dtype > DType::kQ8_0) continue;
      std::vector<float> values(32, 0.5f);
      values[7] = x;
      EXPECT_EQ(cast(Tensor::from(values, {32}), dtype).numel(), 32) << dtype_name(dtype) << x;
    }
  }
}

TEST(Blocks, ViewsOfRowsConvertAsTheirCopiesDo) {
  const Tensor x = cast(randn({3, 4, 64}), DType::kQ4_1), all = cast(x, DType::kF32);
  EXPECT_EQ(bytes_in(cast(narrow(x, 2, 32, 32), DType::kF32)), bytes_in(narrow(all, 2, 32, 32)));
  EXPECT_EQ(bytes_in(cast(transpose(x, 0, 1), DType::kF32)), bytes_in(transpose(all, 0, 1)));
  EXPECT_EQ(bytes_in(cast(broadcast_to(select(x, 0, 1), {2, 4, 64}), DType::kF32)),
            bytes_in(broadcast_to(select(all, 0, 1), {2, 4, 64})));
  EXPECT_TRUE(x.to(DType::kQ4_1).same(x));
}

TEST(Blocks, RowsAreLookedUpById) {
  const Tensor table = cast(randn({5, 64}), DType::kQ8_0), all = cast(table, DType::kF32);
  const Tensor ids = Tensor::from<int64_t>({4, 0, 4, 1}, {2, 2});
  EXPECT_EQ(bytes_in(embedding(table, ids)), bytes_in(embedding(all, ids)));
  EXPECT_EQ(embedding(table, ids, DType::kBf16).dtype(), DType::kBf16);
  EXPECT_EQ(embedding(all, ids, DType::kF16).dtype(), DType::kF16);
  const Tensor rows = index_select(table, 0, Tensor::from<int64_t>({3}, {1}));
  EXPECT_EQ(rows.dtype(), DType::kQ8_0);
  EXPECT_EQ(bytes_in(rows), bytes_in(narrow(table, 0, 3, 1)));
  EXPECT_EQ(bytes_in(index(table, {Tensor::from<int64_t>({-2}, {1})})), bytes_in(rows));
  EXPECT_EQ(bytes_in(index(table, {eq(arange(5), 3)})), bytes_in(rows));
  EXPECT_ERROR(embedding(table, Tensor::from<int64_t>({5}, {1})), kOutOfRange, "id 5");
  EXPECT_ERROR(index_select(table, 1, ids), kShapeMismatch, "ids of one dim");
  EXPECT_ERROR(index_select(table, 1, reshape(ids, {4})), kUnsupported,
               "index_select: the last dim of q8_0 is in blocks, which do not split");
}

TEST(Blocks, ServeAsWeightsOfEveryFloat) {
  const ExactActivations unrounded;
  const Tensor weight = cast(randn({7, 64}), DType::kQ5_1), bias = randn({7});
  const Tensor wide = cast(weight, DType::kF64), x = randn({2, 3, 64});
  const Tensor exact = linear(cast(x, DType::kF64), wide);
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF8E4M3}) {
    const Tensor y = linear(cast(x, dtype), weight);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), (Shape{2, 3, 7}));
  }
  EXPECT_LT(max(abs(cast(linear(x, weight, bias), DType::kF64) - (exact + cast(bias, DType::kF64))))
                .item<double>(),
            1e-4);
  EXPECT_ERROR(linear(randn({2, 32}), weight), kShapeMismatch,
               "linear: inner dimensions differ: x [2, 32], weight [7, 64]");
  EXPECT_ERROR(linear(zeros({2, 64}, {.dtype = DType::kI32}), weight), kDTypeMismatch,
               "linear: expected a floating x beside q5_1 weights, got i32");
  EXPECT_ERROR(linear(x, zeros({7, 64}, {.dtype = DType::kI8})), kDTypeMismatch,
               "linear: expected weights of f32, another floating or a block dtype, got i8");
}

TEST(Blocks, WeightsPassTheGradientToActivations) {
  const Tensor weight = cast(randn({7, 64}), DType::kQ8_0);
  const Var x(randn({3, 64}));
  const Tensor y = linear(x, weight);
  backward(sum(y));
  const Tensor expected = broadcast_to(sum(cast(weight, DType::kF32), {.dims = {0}}), {3, 64});
  EXPECT_LT(max(abs(x.grad() - expected)).item<float>(), 1e-5);
}

TEST(Blocks, ACastHasNoGradient) {
  const Var v(ones({32}));
  EXPECT_FALSE(cast(cast(v, DType::kQ8_0), DType::kF32).requires_grad());
}

TEST(Blocks, TheirElementsAreNotReadAsAnotherType) {
  const Tensor x = blocks({2, 64});
  EXPECT_ERROR(x.to_vector<float>(), kDTypeMismatch, "expected the tensor's dtype q8_0, got f32");
  EXPECT_ERROR(x.to_vector<uint8>(), kDTypeMismatch, "expected the tensor's dtype q8_0, got u8");
  EXPECT_ERROR(x.item<float>(), kDTypeMismatch, "expected the tensor's dtype q8_0, got f32");
}

TEST(Blocks, PrintingShowsShapeAndDType) {
  EXPECT_EQ(to_string(blocks({2, 64})), "Tensor[[2, 64], q8_0]");
  EXPECT_EQ(to_string(blocks({0, 64})), "Tensor[[0, 64], q8_0]");
  EXPECT_EQ(debug_string(blocks({32})), "Tensor[dims 32; q8_0]");
  EXPECT_EQ(debug_string(blocks({0})), "Tensor[dims 0; q8_0]");
}

TEST(Blocks, AreNotMadeOfNumbers) {
  const TensorOptions options{.dtype = DType::kQ8_0};
  expect_refusals({2, 64},
                  {
                      {"full", [&](const Tensor&) { full({32}, 1, options); }},
                      {"zeros", [&](const Tensor&) { zeros({3}, options); }},
                      {"zeros_like", [](const Tensor& x) { zeros_like(x); }},
                      {"arange", [&](const Tensor&) { arange(32, options); }},
                      {"linspace", [&](const Tensor&) { linspace(0, 1, 32, options); }},
                      {"eye", [&](const Tensor&) { eye(32, options); }},
                      {"one_hot", [](const Tensor&) { one_hot(arange(4), 32, DType::kQ8_0); }},
                      {"rand", [&](const Tensor&) { rand({32}, options); }},
                      {"randn", [&](const Tensor&) { randn({32}, options); }},
                      {"randint", [&](const Tensor&) { randint(0, 5, {32}, options); }},
                      {"randperm", [&](const Tensor&) { randperm(32, options); }},
                      {"bernoulli", [&](const Tensor&) { bernoulli(0.5, {32}, options); }},
                      {"rand_like", [](const Tensor& x) { rand_like(x); }},
                  });
  EXPECT_EQ(empty_like(blocks({2, 64})).dtype(), DType::kQ8_0);
}

TEST(Blocks, ElementwiseOpsRefuseThem) {
  const Tensor y = ones({2, 64});
  expect_refusals({2, 64},
                  {
                      {"exp", [](const Tensor& x) { exp(x); }},
                      {"silu", [](const Tensor& x) { silu(x); }},
                      {"floor", [](const Tensor& x) { floor(x); }},
                      {"round", [](const Tensor& x) { round(x, 2); }},
                      {"bitwise_not", [](const Tensor& x) { bitwise_not(x); }},
                      {"affine", [](const Tensor& x) { affine(x, 2, 1); }},
                      {"softplus", [](const Tensor& x) { softplus(x); }},
                      {"add", [](const Tensor& x) { x + x; }},
                      {"add", [&](const Tensor& x) { x + y; }},
                      {"add", [&](const Tensor& x) { y + x; }},
                      {"mul", [](const Tensor& x) { x * 2; }},
                      {"pow", [](const Tensor& x) { pow(2, x); }},
                      {"div", [](const Tensor& x) { 1 / x; }},
                      {"lerp", [&](const Tensor& x) { lerp(y, x, 0.5); }},
                      {"hypot", [&](const Tensor& x) { hypot(x, y); }},
                      {"eq", [](const Tensor& x) { eq(x, x); }},
                      {"lt", [](const Tensor& x) { lt(x, 0); }},
                      {"isnan", [](const Tensor& x) { isnan(x); }},
                      {"isfinite", [](const Tensor& x) { isfinite(x); }},
                      {"logical_and", [&](const Tensor& x) { logical_and(y, x); }},
                      {"logical_not", [](const Tensor& x) { logical_not(x); }},
                      {"where", [&](const Tensor& x) { where(gt(y, 0), x, y); }},
                      {"where", [&](const Tensor& x) { where(x, y, y); }},
                      {"masked_fill", [&](const Tensor& x) { masked_fill(x, gt(y, 0), 0); }},
                      {"clamp", [](const Tensor& x) { clamp(x, {.min = 0}); }},
                  });
}

TEST(Blocks, ReductionsScansAndSortsRefuseThem) {
  expect_refusals({2, 64}, {
                               {"sum", [](const Tensor& x) { sum(x); }},
                               {"mean", [](const Tensor& x) { mean(x, {.dims = {0}}); }},
                               {"max", [](const Tensor& x) { max(x); }},
                               {"argmax", [](const Tensor& x) { argmax(x, 1); }},
                               {"all", [](const Tensor& x) { all(x); }},
                               {"var", [](const Tensor& x) { var(x); }},
                               {"norm", [](const Tensor& x) { norm(x); }},
                               {"count_nonzero", [](const Tensor& x) { count_nonzero(x); }},
                               {"nansum", [](const Tensor& x) { nansum(x); }},
                               {"cumsum", [](const Tensor& x) { cumsum(x, 0); }},
                               {"cummax", [](const Tensor& x) { cummax(x, 0); }},
                               {"sort", [](const Tensor& x) { sort(x); }},
                               {"topk", [](const Tensor& x) { topk(x, 2); }},
                               {"median", [](const Tensor& x) { median(x); }},
                               {"quantile", [](const Tensor& x) { quantile(x, 0.5); }},
                               {"nonzero", [](const Tensor& x) { nonzero(x); }},
                               {"unique", [](const Tensor& x) { unique(x); }},
                               {"bincount", [](const Tensor& x) { bincount(x); }},
                               {"histc", [](const Tensor& x) { histc(x); }},
                               {"searchsorted", [](const Tensor& x) { searchsorted(x, x); }},
                           });
}

TEST(Blocks, IndexingByIdsAndOtherOrdersRefuseThem) {
  const Tensor y = ones({2, 64}), ids = zeros({2}, {.dtype = DType::kI64}),
               all = zeros({2, 64}, {.dtype = DType::kI64});
  expect_refusals({2, 64},
                  {
                      {"index_select", [&](const Tensor& x) { index_select(x, 1, ids); }},
                      {"embedding", [&](const Tensor& x) { embedding(y, x); }},
                      {"gather", [&](const Tensor& x) { gather(x, 0, all); }},
                      {"scatter", [&](const Tensor& x) { scatter(y, 0, all, x); }},
                      {"scatter_add", [&](const Tensor& x) { scatter_add(x, 0, all, x); }},
                      {"index_add", [&](const Tensor& x) { index_add(x, 0, ids, x); }},
                      {"index",
                       [](const Tensor& x) {
                         index(x, {Slice{{}, {}, -1}});
                       }},
                      {"index", [&](const Tensor& x) { index(y, {x}); }},
                      {"index_put", [&](const Tensor& x) { index_put(x, {0}, y); }},
                      {"index_put", [&](const Tensor& x) { index_put(y, {Ellipsis{}}, x); }},
                      {"slice_assign", [&](const Tensor& x) { slice_assign(x, {Slice{}}, x); }},
                      {"masked_select", [&](const Tensor& x) { masked_select(x, gt(y, 0)); }},
                      {"diagonal", [](const Tensor& x) { diagonal(x); }},
                      {"tril", [](const Tensor& x) { tril(x); }},
                      {"repeat",
                       [](const Tensor& x) {
                         repeat(x, {2, 1});
                       }},
                      {"roll", [](const Tensor& x) { roll(x, {1}, {0}); }},
                      {"flip", [](const Tensor& x) { flip(x, {0}); }},
                      {"unfold", [](const Tensor& x) { unfold(x, 0, 1, 1); }},
                      {"pad",
                       [](const Tensor& x) {
                         pad(x, {{1, 1}});
                       }},
                      {"cat",
                       [&](const Tensor& x) {
                         cat({x, y}, 0);
                       }},
                  });
}

TEST(Blocks, ProductsLayersAndLossesRefuseThem) {
  const Tensor y = ones({64, 64}), ids = zeros({64}, {.dtype = DType::kI64});
  expect_refusals({64, 64}, {
                                {"matmul", [&](const Tensor& x) { matmul(y, x); }},
                                {"matmul", [&](const Tensor& x) { matmul(x, x); }},
                                {"linear", [&](const Tensor& x) { linear(x, y); }},
                                {"linear", [&](const Tensor& x) { linear(ids, x); }},
                                {"kron", [&](const Tensor& x) { kron(x, y); }},
                                {"tensordot", [&](const Tensor& x) { tensordot(x, y, 1); }},
                                {"einsum",
                                 [&](const Tensor& x) {
                                   einsum("ij,kj->ik", {y, x});
                                 }},
                                {"rms_norm", [&](const Tensor& x) { rms_norm(x, ones({64})); }},
                                {"layer_norm", [&](const Tensor& x) { layer_norm(x, ones({64})); }},
                                {"rms_norm",
                                 [](const Tensor&) {
                                   rms_norm(ones({2, 64}), blocks({64}));
                                 }},
                                {"softmax", [](const Tensor& x) { softmax(x); }},
                                {"log_softmax", [](const Tensor& x) { log_softmax(x); }},
                                {"cross_entropy", [&](const Tensor& x) { cross_entropy(x, ids); }},
                                {"multinomial", [](const Tensor& x) { multinomial(x, 1); }},
                                {"conv1d",
                                 [](const Tensor&) {
                                   conv1d(blocks({1, 2, 32}), ones({2, 2, 3}));
                                 }},
                                {"conv2d",
                                 [](const Tensor&) {
                                   conv2d(ones({1, 2, 32, 32}), blocks({2, 2, 3, 32}));
                                 }},
                                {"max_pool2d",
                                 [](const Tensor&) {
                                   max_pool2d(blocks({1, 2, 32, 32}), 2);
                                 }},
                                {"avg_pool2d",
                                 [](const Tensor&) {
                                   avg_pool2d(blocks({1, 2, 32, 32}), 2);
                                 }},
                                {"upsample_nearest2d",
                                 [](const Tensor&) {
                                   upsample_nearest2d(blocks({1, 2, 32, 32}), 2);
                                 }},
                                {"unfold2d",
                                 [](const Tensor&) {
                                   unfold2d(blocks({1, 2, 32, 32}), 2);
                                 }},
                            });
}

TEST(Blocks, OpsOfOnesOwnRefuseThem) {
  const auto same =
      custom_op("same", {.cpu = [](std::span<const HostView> in) { return in[0].tensor(); }});
  const FormulaKernel twice = elementwise_kernel("twice", "a * 2");
  expect_refusals({2, 64}, {{"same", [&](const Tensor& x) { apply(same, x); }},
                            {"twice", [&](const Tensor& x) { twice(x); }}});
}

TEST(Blocks, AVarOfThemHasNoGradientAndIsNotWrittenInPlace) {
  const Tensor x = blocks({2, 64}), y = ones({2, 64});
  EXPECT_ERROR(Var(x), kDTypeMismatch, "requires_grad needs a floating dtype, got q8_0");
  Var v(x, false);
  v.set_(blocks({2, 64}));
  expect_refusals({2, 64}, {
                               {"copy_", [&](const Tensor&) { copy_(v, y); }},
                               {"copy_", [&](const Tensor& b) { copy_(v, b); }},
                               {"fill_", [&](const Tensor&) { fill_(v, 1); }},
                               {"add_", [&](const Tensor&) { add_(v, y); }},
                               {"index_put_", [&](const Tensor&) { index_put_(v, {0}, y); }},
                           });
}

}  // namespace
}  // namespace wick
