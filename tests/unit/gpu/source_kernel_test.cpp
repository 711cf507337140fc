// Kernels from source, of one text for every GPU, on both wave widths of the emulator and on cards.
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "../expect.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick {
namespace {

class SourceKernel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (!test::find_device(GetParam(), &why)) GTEST_SKIP() << why;
    if (!on_card()) return;
    try {
      compile("empty", "extern \"C\" __global__ void empty() {}");
    } catch (const Error& e) {  // hipRTC and NVRTC are libraries that a machine may lack
      if (e.code() != ErrorCode::kUnsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
  Device device() const { return Device::parse(GetParam()); }
  bool on_card() const { return device().kind() != DeviceKind::kEmulated; }
  CompiledKernel compile(const std::string& name, const std::string& source) const {
    return compile_kernel(device(), name, source);
  }
  template <class T>
  Tensor tensor(const std::vector<T>& x) const {
    return Tensor::from(x, device());
  }
  Tensor zeros_of(const Shape& shape, DType dtype = DType::kF32) const {
    return zeros(shape, {.dtype = dtype, .device = device()});
  }
  int wave() const { return device().info().wave; }
};
INSTANTIATE_TEST_SUITE_P(Waves, SourceKernel, testing::Values("emu:32", "emu:64"));
INSTANTIATE_TEST_SUITE_P(Cards, SourceKernel, testing::Values("rocm:0", "cuda:0"));

/// For what a card does not report, and for texts of its own.
#define SKIP_ON_CARDS() \
  if (on_card()) GTEST_SKIP() << "the emulator's checks and texts"

template <class T = float>
std::vector<T> count_up(int64_t n) {
  std::vector<T> x(static_cast<size_t>(n));
  std::iota(x.begin(), x.end(), T(0));
  return x;
}

bool in_check_mode() {
  const char* mode = std::getenv("WICK_EMU");
  return mode && std::string(mode) == "check";
}

const std::string kAxpy = R"(
extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
})";

TEST_P(SourceKernel, RunsEveryThreadOfAGrid) {
  const auto axpy = compile("axpy", kAxpy);
  const int n = 1000;
  const Tensor x = tensor(count_up(n)), y = tensor(std::vector<float>(n, 1));
  axpy.launch((n + 99) / 100, 100, 0, y, x, 2.0f, n);
  std::vector<float> expected = count_up(n);
  for (float& v : expected) v = 1 + 2 * v;
  EXPECT_EQ(y.to_vector<float>(), expected);
}

TEST_P(SourceKernel, NumbersBlocksAndThreadsInThreeDimensions) {
  const auto kernel = compile("number", R"(
extern "C" __global__ void number(int* y) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] =
      blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z +
      1000 * (threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z);
})");
  const Tensor y = zeros_of({24, 30}, DType::kI32);
  kernel.launch({2, 3, 4}, {5, 3, 2}, 0, y);
  std::vector<int32_t> expected;
  for (int b = 0; b < 24; b++)
    for (int t = 0; t < 30; t++)
      expected.push_back(b % 2 + b / 2 % 3 * 10 + b / 6 * 100 +
                         1000 * (t % 5 + t / 5 % 3 * 10 + t / 15 * 100));
  EXPECT_EQ(y.to_vector<int32_t>(), expected);
}

// Sums in static shared memory, in dynamic shared memory, and by shuffles within a wave.
const char* kReductions[] = {R"(
extern "C" __global__ void sum(const float* x, float* y, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  part[t] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
})",
                             R"(
extern "C" __global__ void sum(const float* x, float* y, int n) {
  extern __shared__ __align__(16) unsigned char memory[];  // of any type
  float* part = reinterpret_cast<float*>(memory);
  const int t = threadIdx.x;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  part[t] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
})",
                             R"(
/* { */ extern __shared__ float waves[];
template <class T>
__device__ T wave_sum(T v) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    v += __shfl_down_sync(~0ull, v, distance);
  return v;
}
extern "C" __global__ void sum(const float* x, float* y, int n) {
  const int t = threadIdx.x;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  mine = wave_sum(mine);
  if (t % warpSize == 0) waves[t / warpSize] = mine;
  __syncthreads();
  if (t < warpSize) {
    mine = wave_sum(t < blockDim.x / warpSize ? waves[t] : 0.0f);
    if (t == 0) y[blockIdx.x] = mine;
  }
})"};

TEST_P(SourceKernel, ReducesABlock) {
  const int n = 5000;
  const Tensor x = tensor(count_up(n));  // sums are exact: below 2^24
  for (const char* source : kReductions) {
    const auto sum = compile("sum", source);
    for (const int threads : {256, 128}) {
      const Tensor y = zeros_of({3});
      sum.launch(3, threads, threads * 4, x, y, n);
      const auto parts = y.to_vector<float>();
      std::vector<float> expected(3, 0);
      for (int i = 0; i < n; i++) expected[size_t(i / threads % 3)] += float(i);
      EXPECT_EQ(parts, expected) << source;
    }
  }
}

TEST_P(SourceKernel, MultipliesMatricesInTiles) {
  const auto product = compile("product", R"(
#define TILE 16
extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int from = 0; from < k; from += TILE) {
    const int i = from + threadIdx.x, j = from + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0;
    bs[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : 0;
    __syncthreads();
    for (int l = 0; l < TILE; l++) sum += as[threadIdx.y][l] * bs[l][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
})");
  const int m = 33, n = 50, k = 41;
  const Tensor a = reshape(remainder(tensor(count_up(m * k)), 7), {m, k}),
               b = reshape(remainder(tensor(count_up(k * n)), 5), {k, n});
  const Tensor c = zeros_of({m, n});
  product.launch({(n + 15) / 16, (m + 15) / 16}, {16, 16}, 0, a, b, c, m, n, k);
  EXPECT_EQ(c.to_vector<float>(), matmul(a, b).to_vector<float>());
}

TEST_P(SourceKernel, CountsWithAtomics) {
  const auto count = compile("count", R"(
extern "C" __global__ void count(const int* x, int* bins, float* sum, unsigned long long* all,
                                 unsigned* largest, int* claimed, int n) {
  __shared__ int mine[8];
  if (threadIdx.x < 8) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&mine[x[i]], 1);
    atomicAdd(sum, 0.5f);
    atomicAdd(all, 1ull << 33);
    atomicMax(largest, unsigned(i));
    if (atomicCAS(claimed, 0, 7) == 0) atomicSub(claimed + 1, 1);
  }
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
})");
  const int n = 1000;
  std::vector<int32_t> x, expected(8, 0);
  for (int i = 0; i < n; i++) x.push_back(i * i % 8), expected[size_t(i * i % 8)]++;
  const Tensor bins = zeros_of({8}, DType::kI32), sum = zeros_of({1}),
               all = zeros_of({1}, DType::kU64), largest = zeros_of({1}, DType::kU32),
               claimed = zeros_of({2}, DType::kI32);
  count.launch(4, 96, 0, tensor(x), bins, sum, all, largest, claimed, n);
  EXPECT_EQ(bins.to_vector<int32_t>(), expected);
  EXPECT_EQ(sum.item<float>(), 500);
  EXPECT_EQ(all.item<uint64_t>(), uint64_t(n) << 33);
  EXPECT_EQ(largest.item<uint32_t>(), uint32_t(n - 1));
  EXPECT_EQ(claimed.to_vector<int32_t>(), (std::vector<int32_t>{7, -1}));  // once
}

TEST_P(SourceKernel, ShufflesWithinAWaveAndItsParts) {
  const auto shuffle = compile("shuffle", R"(
extern "C" __global__ void shuffle(int* y) {
  const int t = threadIdx.x, n = blockDim.x;
  y[t] = __shfl_sync(~0ull, t, 3);
  y[n + t] = __shfl_xor_sync(~0ull, t, 5);
  y[2 * n + t] = __shfl_up_sync(~0ull, t, 2, 8);
  y[3 * n + t] = __shfl_down_sync(~0ull, t, 2, 8);
  y[4 * n + t] = __shfl_sync(~0ull, (long long)t << 40, 9, 8) >> 40;
  y[5 * n + t] = __popcll(__ballot_sync(~0ull, t % 3 == 0));
  y[6 * n + t] = __any_sync(~0ull, t == 1) * 2 + __all_sync(~0ull, t < 32);
  // Halves of 16 lanes, apart.
  const unsigned long long half = 0xffffull << (t % warpSize / 16 * 16);
  y[7 * n + t] = t / 16 % 2 ? __shfl_sync(half, t, t % warpSize / 16 * 16) : -1;
})");
  const int n = 128, w = wave();
  const Tensor y = zeros_of({8, n}, DType::kI32);
  shuffle.launch(1, n, 0, y);
  const auto got = y.to_vector<int32_t>();
  for (int t = 0; t < n; t++) {
    const int first = t / w * w, part = t / 8 * 8;
    int thirds = 0;
    for (int i = first; i < first + w; i++) thirds += i % 3 == 0;
    const int expected[] = {
        first + 3, t ^ 5,  t - 2 < part ? t : t - 2,        t + 2 >= part + 8 ? t : t + 2,
        part + 1,  thirds, 2 * (t < w) + (first + w <= 32), t / 16 % 2 ? t / 16 * 16 : -1};
    for (int i = 0; i < 8; i++) EXPECT_EQ(got[size_t(i * n + t)], expected[i]) << i << " of " << t;
  }
}

TEST_P(SourceKernel, HasWavesThatTheBlockDoesNotFill) {
  SKIP_ON_CARDS();
  const auto last = compile("last", R"(
extern "C" __global__ void last(float* y) {
  const float below = __shfl_down_sync(~0ull, float(threadIdx.x), 1);
  __syncthreads();
  y[threadIdx.x] = below;
})");
  const Tensor y = zeros_of({70});
  last.launch(1, 70, 0, y);
  const auto got = y.to_vector<float>();
  for (int t = 0; t < 70; t++) {
    if (t == 69)
      EXPECT_TRUE(std::isnan(got[69]));  // the lane beyond is not there
    else
      EXPECT_EQ(got[size_t(t)], float(t % wave() == wave() - 1 ? t : t + 1));
  }
}

TEST_P(SourceKernel, KnowsTheMathematicsOfBothVendors) {
  const auto math = compile("math", R"(
extern "C" __global__ void math(const float* x, float* y, double* z) {
  const int i = threadIdx.x;
  y[i] = fmaf(sqrtf(x[i]), rsqrtf(x[i] + 1), max(expf(-x[i]), __fdividef(1.0f, 3))) + min(i, 2);
  z[i] = pow(double(x[i]), 1.5) + erf(0.5) + fabs(-1.0) + __uint_as_float(0x3f800000u);
})");
  const Tensor x = tensor(count_up(40)), y = zeros_of({40}), z = zeros_of({40}, DType::kF64);
  math.launch(1, 40, 0, x, y, z);
  const auto of_y = y.to_vector<float>();
  const auto of_z = z.to_vector<double>();
  for (int i = 0; i < 40; i++) {
    const float v = float(i);
    EXPECT_FLOAT_EQ(of_y[size_t(i)],
                    std::fma(std::sqrt(v), 1 / std::sqrt(v + 1), std::max(std::exp(-v), 1 / 3.0f)) +
                        float(std::min(i, 2)));
    EXPECT_DOUBLE_EQ(of_z[size_t(i)], std::pow(double(v), 1.5) + std::erf(0.5) + 2);
  }
}

TEST_P(SourceKernel, TakesScalarsOfEveryType) {
  const auto kernel = compile("scalars", R"(
struct Pair { float a; int b; };
extern "C" __global__ void scalars(double* y, bool a, signed char b, unsigned short c, int d,
                                   long long e, float f, double g, Pair h, const void* none) {
  const double all[] = {double(a), double(b), double(c), double(d), double(e),
                        double(f), g,         double(h.a), double(h.b), none ? 1.0 : 0.0};
  for (int i = 0; i < 10; i++) y[i] = all[i];
})");
  struct {
    float a;
    int b;
  } const pair{8, 9};
  const Tensor y = zeros_of({10}, DType::kF64);
  kernel.launch(1, 1, 0, y, true, int8_t(-2), uint16_t(65533), -4, int64_t(1) << 40, 6.5f, 7.25,
                pair, nullptr);
  EXPECT_EQ(y.to_vector<double>(),
            (std::vector<double>{1, -2, 65533, -4, 0x1p40, 6.5, 7.25, 8, 9, 0}));
}

TEST_P(SourceKernel, ReportsTheCompilersOwnLines) {
  if (on_card()) {  // NVRTC: "f(2): error: ", hipRTC: "f:2:11: error: "
    EXPECT_ERROR(compile("f", "extern \"C\" __global__ void f(float* y) {\n  y[0] = one;\n}\n"),
                 kInvalidArgument, "error: ");
    return;
  }
  EXPECT_ERROR(compile("f", "extern \"C\" __global__ void f(float* y) {\n  y[0] = 1\n}\n"),
               kInvalidArgument, "f: the compiler rejects the source: f:2:");
  EXPECT_ERROR(compile("f", "extern \"C\" __global__ void f(float* y) { y[0] = one; }\n"),
               kInvalidArgument, "f: the compiler rejects the source: f:1:49: error: ");
}

TEST_P(SourceKernel, IsFoundByItsName) {
  SKIP_ON_CARDS();
  EXPECT_ERROR(compile("other", kAxpy), kKernelNotFound,
               "other: expected a function extern \"C\" __global__ void other(...) in the source");
  EXPECT_ERROR(compile("axpy", kAxpy.substr(kAxpy.find("__global__"))), kKernelNotFound, "axpy");
  for (const std::string& name : std::vector<std::string>{"", "../axpy", "a/b", "a\nb", "1a", "a;b",
                                                          "a\"b", "..", std::string(10'000, 'a')})
    EXPECT_ERROR(compile(name, kAxpy), kInvalidArgument,
                 "compile_kernel: name: expected an identifier of at most 255 characters, got '");
}

TEST_P(SourceKernel, RefusesOtherArgumentsAndTooMuchSharedMemory) {
  SKIP_ON_CARDS();
  const auto axpy = compile("axpy", kAxpy);
  const Tensor x = zeros_of({4});
  EXPECT_ERROR(axpy.launch(1, 4, 0, x, x, 1.0f), kInvalidArgument,
               "axpy: expected 4 arguments, got 3");
  EXPECT_ERROR(axpy.launch(1, 4, 0, x, x, 1.0, 4), kInvalidArgument,
               "axpy: argument 2: expected 4 bytes, got 8");
  EXPECT_ERROR(axpy.launch(1, 1025, 0, x, x, 1.0f, 4), kInvalidArgument, "at most 1024 threads");
  EXPECT_ERROR(axpy.launch(1, 4, (64 << 10) + 1, x, x, 1.0f, 4), kInvalidArgument,
               "shared_bytes: expected 0 to 65536, got 65537");
  EXPECT_ERROR(axpy.launch(1, 4, 0, zeros({4}), x, 1.0f, 4), kDeviceMismatch, "argument 0");
  EXPECT_ERROR(axpy.launch({x}, {x}), kUnsupported, "expected launch(grid, block");

  const std::string uses =
      "extern \"C\" __global__ void f(char* y) { __shared__ char m[BYTES]; "
      "m[threadIdx.x] = 1; __syncthreads(); y[0] = m[0]; }";
  const auto f = compile("f", "#define BYTES 1024\n" + uses);
  f.launch(1, 4, 63 << 10, zeros_of({1}, DType::kU8));
  EXPECT_ERROR(f.launch(1, 4, 64 << 10, x), kInvalidArgument, "expected 0 to 64512, got 65536");
  EXPECT_ERROR(compile("f", "#define BYTES 70000\n" + uses), kInvalidArgument,
               "static shared memory: expected at most 65536 bytes, got 70000");
}

TEST_P(SourceKernel, ReportsBarriersThatSomeThreadsMiss) {
  SKIP_ON_CARDS();
  const auto skips = compile("skips", R"(
extern "C" __global__ void skips(float* y) {
  if (threadIdx.x == 1) return;
  __syncthreads();
  y[0] = 1;
})");
  EXPECT_ERROR(skips.launch(1, 64, 0, zeros_of({1})), kKernelError,
               "skips: divergent: thread 0 waits "
               "at skips:4 (barrier), thread 1 has returned");
  const auto writes = compile("writes", R"(
extern "C" __global__ void writes(float* y) {
  extern __shared__ float m[];
  m[threadIdx.x] = 1;
  y[0] = m[0];
})");
  EXPECT_ERROR(writes.launch(1, 64, 128, zeros_of({1})), kKernelError,
               "past the end of its shared memory of 128 bytes");
}

TEST_P(SourceKernel, FindsNoValuesInSharedMemory) {
  SKIP_ON_CARDS();
  const auto reads = compile("reads", R"(
extern "C" __global__ void reads(float* y, int write) {
  __shared__ float m[64];
  if (write) m[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = m[threadIdx.x];
})");
  const Tensor y = zeros_of({64});
  reads.launch(1, 64, 0, y, 1);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(64, 1));
  if (in_check_mode()) {
    EXPECT_ERROR(reads.launch(1, 64, 0, y, 0), kKernelError, "reads memory that was never written");
    return;
  }
  reads.launch(1, 64, 0, y, 0);
  for (const float v : y.to_vector<float>()) EXPECT_TRUE(std::isnan(v));
}

/// y = x^3, from a kernel, with a gradient.
class Cube : public CustomOp {
 public:
  explicit Cube(const Device& device)
      : kernel_(compile_kernel(device, "cube", R"(
extern "C" __global__ void cube(const float* x, float* y, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] * x[i];
})")) {}
  const char* name() const override { return "cube"; }
  Tensor rocm(std::span<const Tensor> in) const override { return launch(in); }
  Tensor cuda(std::span<const Tensor> in) const override { return launch(in); }
  Tensor emulated(std::span<const Tensor> in) const override { return launch(in); }
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    return {gradient * square(in[0]) * 3};
  }

 private:
  Tensor launch(std::span<const Tensor> in) const {
    const Tensor x = in[0].contiguous();
    const Tensor y = Tensor::empty(x.shape(), {.device = x.device()});
    kernel_.launch((x.numel() + 63) / 64, 64, 0, x, y, x.numel());
    return y;
  }

  CompiledKernel kernel_;
};

TEST_P(SourceKernel, MakesAnOpWithAGradient) {
  Var x(Tensor::from(std::vector<float>{-2, 1, 3, 0.5f, 0, 4}, {2, 3}, device()));
  const Tensor y = apply(Cube(device()), transpose(x.tensor()));
  EXPECT_EQ(transpose(y).to_vector<float>(), (std::vector<float>{-8, 1, 27, 0.125f, 0, 64}));
  backward(sum(y));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{12, 3, 27, 0.75f, 0, 48}));
}

TEST_P(SourceKernel, ComesFromAFormula) {
  const auto mix = elementwise_kernel("mix", "a * b + sin(c)", {.inputs = 3});
  const Tensor a = reshape(tensor(count_up(12)), {3, 4}), b = transpose(reshape(a, {4, 3})),
               c = tensor(count_up(4));
  EXPECT_LT(max(abs(mix(a, b, c) - (a * b + sin(c)))).item<float>(), 1e-6f);
  const auto larger =
      elementwise_kernel("larger", "a > b && !(a == 5) ? a : remainder(b, 3)", {.inputs = 2});
  const Tensor i = tensor(count_up<int64_t>(8)), j = tensor(std::vector<int64_t>{3});
  EXPECT_EQ(larger(i, j).to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0, 0, 4, 0, 6, 7}));
  EXPECT_EQ(elementwise_kernel("is", "a >= 2")(c).dtype(), DType::kBool);
  EXPECT_EQ(elementwise_kernel("half", "a / 2 + 0")(tensor(std::vector<double>{3})).item<double>(),
            1.5);
}

TEST_P(SourceKernel, IsRunInAllWaysByCheckMode) {
  SKIP_ON_CARDS();
  if (!in_check_mode()) GTEST_SKIP() << "source_kernel_test.check runs it: WICK_EMU=check";
  const auto races = compile("races", R"(
extern "C" __global__ void races(int* y) {
  __shared__ int m[128];
  m[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = m[(threadIdx.x + 64) % 128];
})");
  const Tensor y = zeros_of({128}, DType::kI32);
  EXPECT_ERROR(races.launch(1, 128, 0, y), kKernelError, "races: it");
  const auto beyond = compile("beyond", R"(
extern "C" __global__ void beyond(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 1;
  if (threadIdx.x == 0 && x) const_cast<float*>(x)[2] = 1;
})");
  const Tensor x = zeros_of({4}), z = zeros_of({4});
  beyond.launch(1, 64, 0, nullptr, z, 4);
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_ERROR(beyond.launch(1, 64, 0, nullptr, z, 5), kKernelError,
               "beyond: writes bytes 0 to 3 past the end of output 0 (f32 [4])");
  EXPECT_ERROR(beyond.launch(1, 64, 0, x, z, 4), kKernelError,
               "beyond: writes bytes 10 to 11 of input 0");
}

TEST_P(SourceKernel, ReportsLostUpdatesInCheckMode) {
  SKIP_ON_CARDS();
  if (!in_check_mode()) GTEST_SKIP() << "source_kernel_test.check runs it: WICK_EMU=check";
  const auto run = [&](const std::string& body, int blocks = 1, int threads = 32) {
    const auto kernel =
        compile("adds", "extern \"C\" __global__ void adds(int* y, float* z) {\n" + body + "\n}");
    const Tensor y = zeros_of({256}, DType::kI32), z = zeros_of({256});
    kernel.launch(blocks, threads, 64, y, z);
    return y.to_vector<int32_t>()[0];
  };
  const std::string text = "between them";
  EXPECT_ERROR(
      run("y[0] += 1;"), kKernelError,
      "adds: thread 0 of block 0 and thread 1 of block 0 add to, or change, bytes 0 to 3 of "
      "output 0 with no barrier or atomic operation between them (emu:");
  EXPECT_ERROR(run("z[threadIdx.x / 2 + 1] += 1;"), kKernelError, "bytes 4 to 7 of output 1");
  EXPECT_ERROR(run("if (threadIdx.x == 0) y[0] += 1;", 2), kKernelError,
               "thread 0 of block 0 and thread 0 of block 1");
  EXPECT_ERROR(run("if (threadIdx.x % 32 == 0) y[0]++;", 1, 128), kKernelError, text);
  EXPECT_ERROR(run("__shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); s += 1; "
                   "__syncthreads(); if (threadIdx.x == 0) y[0] = s;"),
               kKernelError, "of its static shared memory");
  EXPECT_ERROR(run("extern __shared__ int d[]; if (threadIdx.x == 0) d[1] = 0; __syncthreads(); "
                   "d[1] += 1; __syncthreads(); y[threadIdx.x] = d[1];"),
               kKernelError, "bytes 4 to 7 of its dynamic shared memory");
}

TEST_P(SourceKernel, AcceptsOrderedUpdatesInCheckMode) {
  const auto run = [&](const std::string& body, int blocks, int threads) {
    const auto kernel =
        compile("adds", "extern \"C\" __global__ void adds(int* y) {\n" + body + "\n}");
    const Tensor y = zeros_of({256}, DType::kI32);
    kernel.launch(blocks, threads, 0, y);
    return y.to_vector<int32_t>();
  };
  EXPECT_EQ(run("atomicAdd(&y[0], 1);", 4, 64)[0], 256);
  EXPECT_EQ(run("y[blockIdx.x * blockDim.x + threadIdx.x] += 1; y[threadIdx.x + blockIdx.x * "
                "blockDim.x] += 1;",
                4, 64),
            std::vector<int32_t>(256, 2));
  EXPECT_EQ(run("for (int t = 0; t < 64; t++) { if (threadIdx.x == t) y[0] += 1; "
                "__syncthreads(); }",
                1, 64)[0],
            64);
  EXPECT_EQ(run("for (int t = 0; t < 32; t++) { if (threadIdx.x == t) y[0] += 1; __syncwarp(); }",
                1, 32)[0],
            32);
  // The last block to arrive finishes the work of all.
  EXPECT_EQ(
      run("y[1 + blockIdx.x] = 5; __threadfence(); if (atomicAdd(&y[0], 1) == 3) { for (int i "
          "= 1; i < 5; i++) y[i] += 1; }",
          4, 1)[1],
      6);
  EXPECT_EQ(run("y[0] = 7; if (!y[1]) y[1] = 1;", 2, 64)[1], 1) << "all write the same";
}

TEST(SourceKernelOnTheCpu, HasNoBlocks) {
  EXPECT_ERROR(compile_kernel(Device::cpu(), "f",
                              "extern \"C\" void f(const WickTensor*, int, const "
                              "WickTensor*, int) {}")
                   .launch(1, 1, 0, 1.0f),
               kUnsupported, "f: a kernel of the CPU has no blocks and threads");
}

}  // namespace
}  // namespace wick
