// Kernels that are compiled while the test runs; what is compiled is kept in a folder of the
// test's.
#include "wick/ops/formula.h"

#include <cmath>
#include <thread>

#include "../expect.h"
#include "../temporary_folder.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::TemporaryFolder;

class OwnCache : public testing::Environment {
 public:
  void SetUp() override { setenv("WICK_CACHE_DIR", folder_.path().c_str(), 1); }

 private:
  TemporaryFolder folder_;
};
const auto* const kOwnCache = testing::AddGlobalTestEnvironment(new OwnCache);

TEST(Formula, ComputesInEveryFloat) {
  const FormulaKernel kernel = elementwise_kernel("mix", "a * b + sin(c)", {.inputs = 3});
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBf16, DType::kF8E4M3}) {
    const auto of = [&](std::vector<float> v) { return Tensor::from(v).to(dtype); };
    const Tensor a = of({1, -2, 0.5f}), b = of({3, 0.25f, -1}), c = of({0, 1, -2});
    const Tensor y = kernel(a, b, c);
    EXPECT_EQ(y.dtype(), dtype);
    const Tensor wide = dtype == DType::kF64 ? y : y.to(DType::kF64);
    const std::vector<double> values = wide.to_vector<double>();
    const std::vector<double> expected = {3, -0.5 + std::sin(1.0), -0.5 - std::sin(2.0)};
    const Tensor rounded = Tensor::from(expected).to(dtype).to(DType::kF64);
    for (size_t i = 0; i < 3; i++)
      EXPECT_NEAR(values[i], rounded.to_vector<double>()[i], dtype == DType::kF32 ? 1e-6 : 1e-14)
          << dtype_name(dtype);
  }
}

TEST(Formula, BroadcastsPromotesAndTakesAnyLayout) {
  const FormulaKernel kernel = elementwise_kernel("mix", "a * b + sin(c)", {.inputs = 3});
  const Tensor a = arange(6).to(DType::kF32), zero = full({}, 0, {.dtype = DType::kF64});
  const Tensor rows = reshape(a, {2, 3}), columns = reshape(a, {3, 2});
  const Tensor y = kernel(rows, transpose(columns), zero);
  EXPECT_EQ(y.dtype(), DType::kF32);  // a tensor without dims does not promote
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 2, 8, 3, 12, 25}));
  EXPECT_EQ(kernel(reshape(arange(2), {2, 1}), rows, zero).to_vector<float>(),
            (std::vector<float>{0, 0, 0, 3, 4, 5}));
  EXPECT_EQ(kernel(zeros({0, 3}), zeros({3}), zero).shape(), (Shape{0, 3}));
  EXPECT_EQ(kernel(full({}, 2.0), full({}, 3.0), full({}, 0.0)).item<float>(), 6);
  EXPECT_EQ(kernel(ones({2}), ones({2}, {.dtype = DType::kF64}), zero).dtype(), DType::kF64);
  EXPECT_ERROR(kernel(ones({2}), ones({3}), zero), kShapeMismatch, "mix");
  EXPECT_ERROR(kernel(ones({2}), ones({2})), kInvalidArgument, "mix: expected 3 inputs, got 2");
  EXPECT_ERROR(kernel(ones({2}), ones({2}), Tensor()), kInvalidArgument, "mix");
}

TEST(Formula, LargeOnesUseAllThreadsAndGiveTheSame) {
  const FormulaKernel kernel = elementwise_kernel("mix", "a * b + sin(c)", {.inputs = 3});
  const Tensor x = rand({300, 700}), scale = rand({700}), none = zeros({300, 1});
  EXPECT_EQ(kernel(x, scale, none).to_vector<float>(), (x * scale).to_vector<float>());
  EXPECT_EQ(kernel(transpose(x), transpose(x), zeros({})).to_vector<float>(),
            square(transpose(x)).to_vector<float>());
}

TEST(Formula, IntegersWrapAndDivideByZero) {
  const FormulaKernel kernel =
      elementwise_kernel("rest", "x % y + x * 2 - y", {.names = {"x", "y"}});
  const Tensor x = Tensor::from(std::vector<int32>{7, -7, 7, INT32_MAX}),
               y = Tensor::from(std::vector<int32>{3, 3, 0, -1});
  EXPECT_EQ(kernel(x, y).to_vector<int32>(), (std::vector<int32>{12, -15, 14, -1}));
  EXPECT_EQ(kernel(full({}, true, {.dtype = DType::kBool}), full({}, true, {.dtype = DType::kBool}))
                .item<int64>(),
            1);
  EXPECT_EQ(
      kernel(full({1}, INT64_MIN, {.dtype = DType::kI64}), full({1}, -1, {.dtype = DType::kI64}))
          .item<int64>(),
      1);
  const Tensor big = Tensor::from(std::vector<uint64>{~uint64{0}});
  EXPECT_EQ(kernel(big, Tensor::from(std::vector<uint64>{10})).item<uint64>(),
            ~uint64{0} % 10 + ~uint64{0} * 2 - 10);
  EXPECT_EQ(kernel(Tensor::from(std::vector<float>{-7}), Tensor::from(std::vector<float>{3}))
                .item<float>(),
            2 - 14 - 3);
  EXPECT_EQ(elementwise_kernel("half", "a / 2")(arange(4)).to_vector<float>(),
            (std::vector<float>{0, 0.5f, 1, 1.5f}));
}

TEST(Formula, ChoicesAndComparisons) {
  const Tensor x = Tensor::from(std::vector<float>{-2, 0, 3, NAN});
  EXPECT_EQ(elementwise_kernel("inside", "a >= 0 && !(a > 2)")(x).to_vector<bool>(),
            (std::vector<bool>{false, true, false, false}));
  const std::vector<float> y =
      elementwise_kernel("steps", "a < 0 ? -1 : a == 0 ? .5 : max(a, 1e0) + (a > 1)")(x)
          .to_vector<float>();
  EXPECT_EQ(y[0], -1);
  EXPECT_EQ(y[1], 0.5f);
  EXPECT_EQ(y[2], 4);
  EXPECT_TRUE(std::isnan(y[3]));  // max lets it through
}

TEST(Formula, EveryFunctionIsTheOpOfItsName) {
  // One kernel, which is compiled once; b says which of them it computes.
  struct Pair {
    const char* formula;
    Tensor (*op)(Tensor);
  };
  const Pair pairs[] = {
      {"abs(a)", abs},   {"sign(a)", sign},   {"relu(a)", relu},       {"floor(a)", floor},
      {"ceil(a)", ceil}, {"round(a)", round}, {"trunc(a)", trunc},     {"exp(a)", exp},
      {"exp2(a)", exp2}, {"expm1(a)", expm1}, {"tanh(a)", tanh},       {"sin(a)", sin},
      {"cos(a)", cos},   {"tan(a)", tan},     {"atan(a)", atan},       {"sinh(a)", sinh},
      {"cosh(a)", cosh}, {"erf(a)", erf},     {"sigmoid(a)", sigmoid}, {"silu(a)", silu}};
  const Tensor x = Tensor::from(std::vector<double>{-2.5, -1.5, -0.5, 0.25, 0.5, 1.5, 2.75});
  std::string formula = "b == 0 ? log(abs(a))";
  int count = 1;
  for (const Pair& pair : pairs) {
    formula += " : b == " + std::to_string(count++) + " ? " + pair.formula;
  }
  const FormulaKernel kernel =
      elementwise_kernel("every",
                         formula +
                             " : b == 100 ? min(a, 1) + clamp(a, 0, 1) + pow(2, a) + "
                             "atan2(a, 2) + hypot(a, 3) + fmod(a, 1) + log2(8) + "
                             "log10(100) + log1p(0) + sqrt(4) + rsqrt(4) + asin(0) + "
                             "acos(1) + pi - pi : 0",
                         {.inputs = 2});
  count = 1;
  for (const Pair& pair : pairs) {
    const std::vector<double> found = kernel(x, full({}, count++)).to_vector<double>();
    const std::vector<double> expected = pair.op(x).to_vector<double>();
    for (size_t i = 0; i < found.size(); i++)
      EXPECT_NEAR(found[i], expected[i], 1e-14 * std::max(1.0, std::abs(expected[i])))
          << pair.formula;
  }
  const double a = 1.5;
  EXPECT_NEAR(
      kernel(full({}, a, {.dtype = DType::kF64}), full({}, 100)).item<double>(),
      1 + 1 + std::pow(2, a) + std::atan2(a, 2) + std::sqrt(a * a + 9) + 0.5 + 3 + 2 + 2 + 0.5,
      1e-13);
}

TEST(Formula, IntegersStayIntegersWhereTheOpsDo) {
  const Tensor x = Tensor::from(std::vector<int32>{-7, 0, 5, INT32_MIN});
  // pow(x, 3) + floor_divide(x, 2) * 100 + fmod(x, 4), modulo 2^32
  EXPECT_EQ(elementwise_kernel("whole", "pow(a, 3) + floor_divide(a, 2) * 100 + fmod(a, 4)")(x)
                .to_vector<int32>(),
            (std::vector<int32>{-343 - 400 - 3, 0, 125 + 200 + 1, 0}));
  EXPECT_EQ(elementwise_kernel("same", "round(a) + trunc(a) - ceil(a) + floor(a) - a")(x)
                .to_vector<int32>(),
            x.to_vector<int32>());
  EXPECT_EQ(elementwise_kernel("finite", "isfinite(a) && !isnan(a) ? square(a) : 1")(x)
                .to_vector<int32>(),
            (std::vector<int32>{49, 0, 25, 0}));
  EXPECT_EQ(
      elementwise_kernel("bits", "bitwise_xor(bitwise_left_shift(a, 1), 3)")(x).to_vector<int32>(),
      (std::vector<int32>{-14 ^ 3, 3, 10 ^ 3, 3}));
  EXPECT_ERROR(elementwise_kernel("bits", "bitwise_and(a, 1)")(ones({2})), kDTypeMismatch,
               "bits: 'bitwise_and' takes only integers, got f32");
}

TEST(Formula, ClampIsMaximumThenMinimum) {
  const FormulaKernel kernel = elementwise_kernel("limits", "clamp(a, b, c)", {.inputs = 3});
  const Tensor x = Tensor::from(std::vector<double>{NAN, -INFINITY, -3, -0.0, 1, 7, INFINITY});
  for (const auto& [low, high] : {std::pair{-2., 3.}, {3., -2.}, {0., 0.}, {-2., double(NAN)}}) {
    const std::vector<double> found = kernel(x, full({}, low), full({}, high)).to_vector<double>(),
                              expected = minimum(maximum(x, low), high).to_vector<double>();
    for (size_t i = 0; i < found.size(); i++)
      EXPECT_TRUE(found[i] == expected[i] || (found[i] != found[i] && expected[i] != expected[i]))
          << i << ": " << found[i] << ", expected " << expected[i];
  }
  const std::vector<int64_t> whole{INT64_MIN, -1, 4, INT64_MAX};
  EXPECT_EQ(elementwise_kernel("limits", "clamp(a, -1, 4)")(Tensor::from(whole)).to_vector<int64>(),
            (std::vector<int64>{-1, -1, 4, 4}));
}

TEST(Formula, FloatsOfEveryLengthAndStrideFillLanes) {
  const FormulaKernel kernel = elementwise_kernel("lanes", "a > b ? a - b : -1", {.inputs = 2});
  const FormulaKernel larger = elementwise_kernel("larger", "a > b || a == 3", {.inputs = 2});
  for (int64_t n = 0; n <= 70; n++) {
    const Tensor a = arange(n).to(DType::kF32), wide = rand({n, 3});
    const Tensor b = narrow(wide, 1, 1, 1) * 40;
    EXPECT_EQ(kernel(reshape(a, {n, 1}), b).to_vector<float>(),
              where(gt(reshape(a, {n, 1}), b), reshape(a, {n, 1}) - b, -1).to_vector<float>());
    const Tensor column = narrow(wide, 1, 2, 1);
    EXPECT_EQ(
        larger(reshape(a, {n, 1}), column).to_vector<bool>(),
        logical_or(gt(reshape(a, {n, 1}), column), eq(reshape(a, {n, 1}), 3)).to_vector<bool>());
  }
}

TEST(Formula, ABadFormulaIsAnErrorWithItsPosition) {
  const auto bad = [](const std::string& formula, const char* error) {
    EXPECT_ERROR(elementwise_kernel("bad", formula, {.inputs = 2}), kInvalidArgument, error);
  };
  bad("", "bad: '': at 1: expected a value, got the end");
  bad("a +", "bad: 'a +': at 4: expected a value, got the end");
  bad("a b", "at 3: expected an operator or the end, got 'b'");
  bad("(a", "at 3: expected ')', got the end");
  bad("a)", "at 2: expected an operator or the end, got ')'");
  bad("c", "at 1: unknown name 'c'");
  bad("a + foo(b)", "at 5: unknown name 'foo'");
  bad("sin a", "expected '(', got 'a'");
  bad("sin(a, b)", "expected ')', got ','");
  bad("min(a)", "expected ',', got ')'");
  bad("elu(a)", "expected ',', got ')'");
  bad("elu(a, 1, 2, 3)", "expected ')', got ','");
  bad("a / bitwise_or(a, b)",
      "at 5: 'bitwise_or' takes only integers, but the formula computes in fl");
  for (const char* real : {"pi", "inf", "nan", "0.5", "1e3"})
    bad(std::string(real) + " + bitwise_or(a, b)",
        "'bitwise_or' takes only integers, but the formula computes in fl");
  bad("a ? b", "expected ':', got the end");
  bad("a < b < a", "chained comparisons need parentheses");
  bad("1.5.2", "a number runs into '.'");
  bad("2a", "a number runs into 'a'");
  bad("1e", "exponent has no digits");
  bad(".", "a number has no digits");
  bad("1e999", "the number is out of range of f64");
  bad("99999999999999999999", "the number is out of range of i64");
  bad(std::string(300, '('), "it is nested more than 200 levels deep");
  bad(std::string(300, '-') + "a", "it is nested more than 200 levels deep");
  bad("a" + std::string(20'000, ' '), "expected at most 10000 characters, got 20001");
  bad(std::string("a\0b", 3), "got byte 0");
  bad("a\xc3\xa9", "got byte 195");
}

TEST(Formula, NothingButAFormulaReachesTheCompiler) {
  for (const char* text : {"a; int main()",
                           "system(\"id\")",
                           "a\n#include </etc/passwd>",
                           "a // b",
                           "a /* b */ + 1",
                           "'a'",
                           "$(id)",
                           "`id`",
                           "a = b",
                           "a++",
                           "a--b)",
                           "a[0]",
                           "&a",
                           "*a",
                           "a->b",
                           "a::b",
                           "std",
                           "a, b",
                           "a \\\n b",
                           "{a}",
                           "a ?? b",
                           "data",
                           "wick_formula",
                           "asm(1)",
                           "f_sin(a)"})
    EXPECT_ERROR(elementwise_kernel("bad", text, {.inputs = 2}), kInvalidArgument, ": at ");
  EXPECT_ERROR(elementwise_kernel("bad", "a", {.names = {"a b"}}), kInvalidArgument,
               "'a b' is not an identifier");
  EXPECT_ERROR(elementwise_kernel("bad", "x", {.names = {"x", "x"}}), kInvalidArgument,
               "two inputs");
  EXPECT_ERROR(elementwise_kernel("bad", "a", {.inputs = 0}), kInvalidArgument, "1 to 8 inputs");
  EXPECT_ERROR(elementwise_kernel("bad", "a", {.inputs = 9}), kInvalidArgument, "1 to 8 inputs");
}

TEST(Formula, NamesMayBeWordsOfTheLanguage) {
  EXPECT_EQ(elementwise_kernel("words", "return + int", {.names = {"return", "int"}})(arange(3),
                                                                                      arange(3))
                .to_vector<int64>(),
            (std::vector<int64>{0, 2, 4}));
}

TEST(Formula, HasNoGradientAndSaysSo) {
  const Var x(ones({2}));
  const Tensor y = elementwise_kernel("half", "a / 2")(x.tensor());
  EXPECT_ERROR(backward(sum(y)), kNoGradient, "the formula kernel half has no gradient");
}

TEST(Formula, ServesSeveralThreadsAtOnce) {
  const FormulaKernel kernel = elementwise_kernel("threads", "a * 3 + 1");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      EXPECT_EQ(kernel(arange(3)).to_vector<int64>(), (std::vector<int64>{1, 4, 7}));
    });
  for (std::thread& t : threads) t.join();
}

// ---- kernels from source

constexpr const char* kAddRows = R"(
extern "C" void add_rows(const WickTensor* in, int num_in, const WickTensor* out, int num_out) {
  // out[i, j] = in[i, j] + num_in
  for (int64_t i = 0; i < out->shape[0]; i++)
    for (int64_t j = 0; j < out->shape[1]; j++)
      static_cast<float*>(out->data)[i * out->strides[0] + j * out->strides[1]] =
          static_cast<const float*>(in->data)[i * in->strides[0] + j * in->strides[1]] +
          float(num_in + 10 * num_out + 100 * in->rank + 1000 * in->dtype);
}
)";

TEST(CompileKernel, RunsOnTensorsOfAnyLayout) {
  const CompiledKernel kernel = compile_kernel(Device::cpu(), "add_rows", kAddRows);
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = Tensor::empty({2, 3});
  kernel.launch({transpose(x)}, {y});
  const float more = 211 + 1000 * float(DType::kF32);
  EXPECT_EQ(y.to_vector<float>(),
            (std::vector<float>{1 + more, 3 + more, 5 + more, 2 + more, 4 + more, 6 + more}));
  EXPECT_ERROR(kernel.launch({Tensor()}, {y}), kInvalidArgument, "add_rows");
}

TEST(CompileKernel, TheCompilersComplaintIsTheError) {
  EXPECT_ERROR(compile_kernel(Device::cpu(), "wrong", "int f() { return nothing_like_this; }"),
               kInvalidArgument, "nothing_like_this");
  EXPECT_ERROR(compile_kernel(Device::cpu(), "wrong", "\n\nint f() { return nothing_like_this; }"),
               kInvalidArgument, "wrong:3:");
  EXPECT_ERROR(compile_kernel(Device::cpu(), "missing", "int other;"), kKernelNotFound,
               "expected a function extern \"C\" missing");
  EXPECT_ERROR(compile_kernel(Device::cpu(), "a\"b", ""), kInvalidArgument, "is not an identifier");
}

}  // namespace
}  // namespace wick
