// Products and convolutions that rocBLAS and MIOpen serve, or do not, on rocm:0. The libraries are fakes that compute on the host,
// with a fault at choice; each case runs in a process of its own, since libraries are opened once. With
// `--work products` (or convolutions) the program runs on whatever libraries the environment gives it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "devices/absent.h"
#include "wick/wick.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// ---- the work of a process

/// Integers in [-2, 2], exact in every dtype.
Tensor integers(const Shape& shape, DType dtype, uint32_t seed) {
  std::vector<float> values(size_t(numel(shape)));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = float(int(seed >> 16) % 5 - 2);
  }
  return Tensor::from(values, shape).to(dtype);
}

struct Tally {
  int equal = 0, wrong = 0;
  void add(const Tensor& got, const Tensor& expected) {
    const bool same = got.to(Device::cpu()).to(DType::kF64).to_vector<double>() ==
                      expected.to(DType::kF64).to_vector<double>();
    (same ? equal : wrong)++;
  }
  void print(const char* what) const {
    std::printf("%s: %d equal, %d wrong\n", what, equal, wrong);
  }
};

void multiply(const Device& device) {
  Tally tally;
  const auto both = [&](const Tensor& a, const Tensor& b) {
    tally.add(matmul(a.to(device), b.to(device)), matmul(a, b));
  };
  for (const DType t : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64}) {
    both(integers({70, 48}, t, 1), integers({48, 33}, t, 2));
    both(integers({1, 48}, t, 1), integers({48, 33}, t, 2));
    both(integers({70, 48}, t, 1), integers({48, 1}, t, 2));
    both(integers({3, 20, 40}, t, 1), integers({3, 40, 24}, t, 2));
    both(integers({2, 3, 20, 40}, t, 1), integers({40, 24}, t, 2));
    // Views: transposed, a part of a matrix, and a matrix for all batches.
    const Tensor a = integers({70, 48}, t, 3), b = integers({48, 33}, t, 4);
    const Tensor a_there = a.to(device), b_there = b.to(device);
    tally.add(matmul(transpose(b_there), transpose(a_there)), matmul(transpose(b), transpose(a)));
    tally.add(matmul(a_there, transpose(integers({33, 48}, t, 5).to(device))),
              matmul(a, transpose(integers({33, 48}, t, 5))));
    tally.add(matmul(narrow(a_there, 1, 3, 40), narrow(b_there, 0, 5, 40)),
              matmul(narrow(a, 1, 3, 40), narrow(b, 0, 5, 40)));
    const Tensor batches = integers({4, 20, 70}, t, 6);
    tally.add(matmul(batches.to(device), broadcast_to(a_there, {4, 70, 48})),
              matmul(batches, broadcast_to(a, {4, 70, 48})));
  }
  // Large enough for the table of WICK_GPU_LIBS=auto.
  both(integers({256, 256}, DType::kF32, 1), integers({256, 512}, DType::kF32, 2));
  std::vector<std::thread> threads;
  const Tensor a = integers({64, 64}, DType::kF32, 7), b = integers({64, 64}, DType::kF32, 8);
  const Tensor a_there = a.to(device), b_there = b.to(device);
  std::vector<Tensor> results(6);
  for (Tensor& result : results) threads.emplace_back([&] { result = matmul(a_there, b_there); });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) tally.add(result, matmul(a, b));
  tally.print("products");
}

void convolve(const Device& device) {
  Tally tally;
  for (const DType t : {DType::kF32, DType::kF16, DType::kBf16}) {
    struct Layer {
      int64_t stride, padding, dilation, groups;
    };
    for (const Layer& l : {Layer{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 2, 1}, {1, 1, 1, 2}}) {
      const Tensor x = integers({2, 8, 14, 13}, t, 1), w = integers({6, 8 / l.groups, 3, 3}, t, 2);
      const Conv2dOptions options{
          .stride = l.stride, .padding = l.padding, .dilation = l.dilation, .groups = l.groups};
      const Var x_here(x), w_here(w), x_there(x.to(device)), w_there(w.to(device));
      const Tensor y_here = conv2d(x_here, w_here, options);
      const Tensor y_there = conv2d(x_there, w_there, options);
      tally.add(y_there.detach(), y_here.detach());
      const Tensor seed = integers(y_here.shape(), t, 3);
      const auto here = grad(y_here, {x_here, w_here}, {.seed = seed});
      const auto there = grad(y_there, {x_there, w_there}, {.seed = seed.to(device)});
      for (size_t i = 0; i < 2; i++) tally.add(there[i], here[i]);
    }
  }
  tally.print("convolutions");
}

void print_runtime() {
  for (const BackendStatus& status : backend_status())
    if (status.name == "rocm")
      for (const std::string& line : status.runtime) std::printf("runtime: %s\n", line.c_str());
}

int work(const std::string& what) {
  try {
    const Device device = Device::rocm(0);
    if (what == "products") multiply(device);
    if (what == "convolutions") convolve(device);
    print_runtime();
    return 0;
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
}

// ---- the cases

class RocmLibraries : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!test::find_device("rocm:0", &why)) GTEST_SKIP() << why;
    char name[] = "/tmp/wick_libraries_XXXXXX";
    folder_ = mkdtemp(name);
    fs::permissions(folder_, fs::perms(0755));
    fs::create_directories(folder_ + "/rocblas/library");
    for (const char* target : {"gfx1100", "gfx1201", "gfx942", "gfx950"})
      std::ofstream(folder_ + "/rocblas/library/TensileLibrary_lazy_" + target + ".dat") << "index";
    use("librocblas.so.5");
    fs::copy_file(WICK_FAKE_LIBRARIES "/libMIOpen.so.1", folder_ + "/libMIOpen.so.1");
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void use(const std::string& file) {
    fs::remove(folder_ + "/librocblas.so.5");
    fs::copy_file(WICK_FAKE_LIBRARIES "/" + file, folder_ + "/librocblas.so.5");
  }
  /// What the work prints with these variables. It logs to log().
  std::string run(const std::string& libraries, const std::string& fault = "",
                  const std::string& more = "", const std::string& work = "products") {
    fs::remove(folder_ + "/log");
    const char* path = std::getenv("LD_LIBRARY_PATH");
    const std::string command = "WICK_GPU_LIBS='" + libraries + "' FAKE_LIBRARY='" + fault +
                                "' FAKE_LIBRARY_LOG=" + folder_ +
                                "/log LD_LIBRARY_PATH=" + folder_ + ":" + (path ? path : "") + " " +
                                more + " '" + fs::read_symlink("/proc/self/exe").string() +
                                "' --work " + work + " 2>&1";
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    for (char part[4096]; const size_t n = fread(part, 1, sizeof part, pipe);) text.append(part, n);
    pclose(pipe);
    return text;
  }
  std::vector<std::string> log() const {
    std::ifstream file(folder_ + "/log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  std::string folder_;
};

constexpr const char* kAllEqual = "products: 43 equal, 0 wrong";

TEST_F(RocmLibraries, ANamedOneServesEveryProductItCan) {
  const std::string text = run("rocblas");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_TRUE(
      has(text, "rocBLAS 9.8.7.fake (" + folder_ + "/librocblas.so.5), agrees with wick's kernels"))
      << text;
  const std::vector<std::string> lines = log();
  const auto served = [&](const std::string& product) {
    return std::find(lines.begin(), lines.end(), product) != lines.end();
  };
  // rocBLAS's rows are wick's columns.
  for (const char* type : {"151", "150", "168", "152"}) {
    const std::string t = std::string(" ") + type + " ";
    EXPECT_TRUE(served("NN" + t + "33x70x48 batches 1")) << type;
    EXPECT_TRUE(served("TT" + t + "70x33x48 batches 1")) << type;
    EXPECT_TRUE(served("TN" + t + "33x70x48 batches 1")) << type;
    EXPECT_TRUE(served("NN" + t + "33x70x40 batches 1")) << type;
    EXPECT_TRUE(served("NN" + t + "24x20x40 batches 3")) << type;
    EXPECT_TRUE(served("NN" + t + "48x20x70 batches 4")) << type;
  }
}

TEST_F(RocmLibraries, AutoServesTheSizesOfTheTable) {
  const std::string text = run("auto");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  std::vector<std::string> lines = log();
  // The first two are the self-check's, of batches of 3.
  ASSERT_GE(lines.size(), 3u) << text;
  EXPECT_EQ(lines[2], "NN 151 512x256x256 batches 1");
}

TEST_F(RocmLibraries, OffOpensNothing) {
  const std::string text = run("off", "aborts");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_FALSE(has(text, "rocBLAS")) << text;
  EXPECT_TRUE(log().empty());
}

TEST_F(RocmLibraries, AWrongNumberIsFoundBeforeAnyoneSeesIt) {
  const std::string text = run("rocblas", "wrong");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_TRUE(has(text, "rocBLAS is not used: ")) << text;
  EXPECT_TRUE(has(text, "a small matmul in f32 differs from wick's")) << text;
}

TEST_F(RocmLibraries, WithoutFilesForTheCardItIsNotOpened) {
  fs::remove_all(folder_ + "/rocblas");
  const std::string text = run("rocblas", "aborts");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_TRUE(has(text, "has no kernels for gfx")) << text;
  EXPECT_TRUE(has(text, "in " + folder_ + "/rocblas/library")) << text;
}

TEST_F(RocmLibraries, FilesOfAnotherFolder) {
  fs::rename(folder_ + "/rocblas/library", folder_ + "/elsewhere");
  const std::string text = run("rocblas", "", "ROCBLAS_TENSILE_LIBPATH=" + folder_ + "/elsewhere");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_FALSE(log().empty());
}

TEST_F(RocmLibraries, ItsFailuresCostNoProduct) {
  for (const auto& [fault, line] : std::vector<std::pair<std::string, std::string>>{
           {"create", "rocblas_create_handle: rocblas_status_memory_error"},
           {"product", "rocblas_gemm_strided_batched_ex: rocblas_status_internal_error"},
           {"later", "rocblas_gemm_strided_batched_ex: rocblas_status_internal_error"}}) {
    const std::string text = run("rocblas", fault);
    EXPECT_TRUE(has(text, kAllEqual)) << fault << ": " << text;
    EXPECT_TRUE(has(text, "rocBLAS is not used: ")) << fault << ": " << text;
    EXPECT_TRUE(has(text, line)) << fault << ": " << text;
  }
}

TEST_F(RocmLibraries, AProductItDoesNotServeIsWicks) {
  const std::string text = run("rocblas", "unsupported");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
}

TEST_F(RocmLibraries, AnIncompleteLibraryIsNamed) {
  use("incomplete/librocblas.so.5");
  const std::string text = run("rocblas");
  EXPECT_TRUE(has(text, kAllEqual)) << text;
  EXPECT_TRUE(has(text, "librocblas.so.5 lacks rocblas_set_atomics_mode")) << text;
}

constexpr const char* kAllConvolved = "convolutions: 36 equal, 0 wrong";

TEST_F(RocmLibraries, MiopenServesConvolutionsWhenNamed) {
  const std::string text = run("miopen", "", "", "convolutions");
  EXPECT_TRUE(has(text, kAllConvolved)) << text;
  EXPECT_TRUE(has(text, "MIOpen 9.8.7 (" + folder_ + "/libMIOpen.so.1), agrees")) << text;
  const std::vector<std::string> lines = log();
  for (const char* what : {"forward", "input", "weight"})
    for (const char* type : {"1", "0", "5"})
      for (const char* groups : {"1", "2"}) {
        const std::string line = std::string(what) + " " + type + " 8 to 6 groups " + groups;
        EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line;
      }
  EXPECT_FALSE(has(run("auto", "create", "", "convolutions"), "MIOpen"));
}

TEST_F(RocmLibraries, MiopensFailuresCostNoConvolution) {
  for (const auto& [fault, line] : std::vector<std::pair<std::string, std::string>>{
           {"create", "miopenCreate: miopenStatusInternalError"},
           {"convolution", "miopenConvolution...Immediate: miopenStatusInternalError"},
           {"wrong", "a small conv in f32 differs from wick's"}}) {
    const std::string text = run("miopen", fault, "", "convolutions");
    EXPECT_TRUE(has(text, kAllConvolved)) << fault << ": " << text;
    EXPECT_TRUE(has(text, "MIOpen is not used: ")) << fault << ": " << text;
    EXPECT_TRUE(has(text, line)) << fault << ": " << text;
  }
  EXPECT_TRUE(has(run("miopen", "solutions", "", "convolutions"), kAllConvolved));
}

TEST_F(RocmLibraries, AnUnknownNameIsAnError) {
  const std::string text = run("rocblast");
  EXPECT_TRUE(has(text, "WICK_GPU_LIBS is \"rocblast\", expected auto, off, or some of")) << text;
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--work") == 0) return wick::work(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
