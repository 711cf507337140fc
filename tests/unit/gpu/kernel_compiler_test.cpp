// The compilers of kernels at run time: NVRTC where it is installed, which needs no card, and a fake
// of both (fake_rtc/). Each test of a fake runs in a child of this process, since a library is
// never closed.
#include "runtime/kernel_compiler.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "runtime/kernel_preamble.h"

namespace wick::gpu {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << std::string(text)

// ---- images

struct Section {
  std::string name;
  uint32 type;
};

/// The sections of an ELF file of 64 bits.
std::vector<Section> sections_of(const std::string& image, Elf64_Ehdr& header) {
  std::vector<Section> sections;
  header = {};
  if (image.size() < sizeof header || image.compare(0, 4, ELFMAG) != 0) return sections;
  std::memcpy(&header, image.data(), sizeof header);
  const auto read = [&](int i) {
    Elf64_Shdr section{};
    std::memcpy(&section, image.data() + header.e_shoff + size_t(i) * sizeof section,
                sizeof section);
    return section;
  };
  const Elf64_Shdr names = read(header.e_shstrndx);
  for (int i = 0; i < header.e_shnum; i++)
    sections.push_back({image.data() + names.sh_offset + read(i).sh_name, read(i).sh_type});
  return sections;
}
bool has_section(const std::string& image, const std::string& name) {
  Elf64_Ehdr header;
  for (const Section& section : sections_of(image, header))
    if (section.name == name && section.type == SHT_PROGBITS) return true;
  return false;
}

// One source for all vendors: no include, names of the preamble, shared memory and a shuffle.
constexpr char kBlockSum[] = R"(
extern "C" __global__ void block_sum(const float* x, float* y, int64_t n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step, 32);
  const uint32_t lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  if (lane == 0) partial[wave] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 1; i < (blockDim.x + 31) / 32; i++) sum += partial[i];
    y[0] = sum;
  }
}
)";

// ---- hipRTC, by the fake

const std::string kFakes = WICK_FAKE_RTC_FOLDER;
const std::string kClang = WICK_AMD_CLANG;

/// Runs a test's body in a child with these variables, and takes over its failures.
void in_child(const std::vector<std::pair<const char*, std::string>>& environment,
              const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "see the child's failure above; status " << status;
}

Failure compile_amd(const KernelText& source, CompiledKernels& compiled,
                    const std::string& folder = kFakes + "/amd") {
  return compile_kernels(Vendor::kAmd, folder, source, compiled);
}
template <class F>
F* fake(F*, const char* name) {
  void* handle = dlopen((kFakes + "/amd/libhiprtc.so.7").c_str(), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(dlsym(handle, name));
}
std::string fake_log() { return fake(static_cast<const char* (*)()>(nullptr), "fake_rtc_log")(); }

TEST(Hiprtc, IsGivenTheFullArchitectureAndTheUsersOptionsLast) {
  in_child({{"FAKE_RTC_MESSAGES", "axpy.hip:1:1: warning: odd\n"}}, [] {
    EXPECT_EQ(dlopen((kFakes + "/amd/libhiprtc.so.7").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
    CompiledKernels compiled;
    const Failure failure = compile_amd(
        {kBlockSum, "axpy.hip", {"-DN=4", "-std=c++20"}, "gfx90a:sramecc+:xnack-"}, compiled);
    ASSERT_TRUE(failure.ok()) << failure.text;
    EXPECT_EQ(fake_log(),
              "compile axpy.hip --offload-arch=gfx90a:sramecc+:xnack- -std=c++17 -DN=4 "
              "-std=c++20\n");
    EXPECT_EQ(compiled.image, std::string("image\0of axpy.hip", 17));
    EXPECT_EQ(compiled.log, "axpy.hip:1:1: warning: odd");
    EXPECT_EQ(fake(static_cast<int (*)()>(nullptr), "fake_rtc_programs_alive")(), 0);
  });
}

TEST(Hiprtc, IsGivenNamesWithoutFolders) {
  in_child({}, [] {
    CompiledKernels compiled;
    for (const char* name : {"../../etc/passwd", "a b\n\"c\".hip", ""})
      EXPECT_TRUE(compile_amd({kBlockSum, name, {}, "gfx1100"}, compiled).ok());
    EXPECT_HAS(fake_log(), "compile _._.._etc_passwd ");
    EXPECT_HAS(fake_log(), "compile a_b__c_.hip ");
    EXPECT_HAS(fake_log(), "compile kernel ");
  });
}

TEST(Hiprtc, SaysWhatFailed) {
  const auto failure_of = [](const char* result) {
    setenv("FAKE_RTC_RESULT", result, 1);
    CompiledKernels compiled;
    const Failure failure = compile_amd({kBlockSum, "k.hip", {}, "gfx1100"}, compiled);
    EXPECT_TRUE(compiled.image.empty());
    return failure;
  };
  in_child({{"FAKE_RTC_MESSAGES", "k.hip:3:1: error: no\n1 error\n"}}, [&] {
    const Failure wrong = failure_of("6");
    EXPECT_EQ(wrong.code, StatusCode::kInvalidArgument);
    EXPECT_EQ(wrong.text,
              "k.hip for gfx1100 (hipRTC 7): CompileProgram: ERROR_COMPILATION\n"
              "k.hip:3:1: error: no\n1 error");
    EXPECT_EQ(failure_of("1").code, StatusCode::kOutOfMemory);
    EXPECT_EQ(failure_of("11").code, StatusCode::kDeviceError);
    EXPECT_HAS(failure_of("11").text, "CompileProgram: error 11\n");
    EXPECT_EQ(fake(static_cast<int (*)()>(nullptr), "fake_rtc_programs_alive")(), 0);
  });
}

TEST(Hiprtc, ThatLacksFunctionsIsNotUsed) {
  in_child({}, [] {
    CompiledKernels compiled;
    const Failure failure =
        compile_amd({kBlockSum, "k.hip", {}, "gfx1100"}, compiled, kFakes + "/incomplete");
    EXPECT_EQ(failure.code, StatusCode::kUnsupported);
    EXPECT_HAS(failure.text, "libhiprtc.so.7 lacks hiprtcGetCodeSize, hiprtcGetCode; ");
  });
}

TEST(Hiprtc, ThatIsAbsentIsNamedWithThePackageThatBringsIt) {
  for (const char* name :
       {"libhiprtc.so.8", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"})
    if (void* real = dlopen(name, RTLD_LAZY))
      GTEST_SKIP() << (dlclose(real), name) << " is in the loader's path";
  in_child({{"WICK_SYSTEM_ROOT", "/nonexistent"}, {"ROCM_PATH", ""}, {"HIP_PATH", ""}}, [] {
    CompiledKernels compiled;
    std::string identity;
    const Failure failure = compile_amd({kBlockSum, "k.hip", {}, "gfx1100"}, compiled, "");
    EXPECT_EQ(failure.code, StatusCode::kUnsupported);
    EXPECT_HAS(failure.text,
               "kernels cannot be compiled: no hipRTC: libhiprtc.so.8, .7, .6, .5 not found; "
               "searched: the loader's path, $ROCM_PATH/lib, ");
    EXPECT_HAS(failure.text, "; hipRTC comes with ROCm 6 and newer");
    EXPECT_EQ(compiler_identity(Vendor::kAmd, "", "gfx1100", identity).code,
              StatusCode::kUnsupported);
  });
}

TEST(Hiprtc, IsNamedInTheKeyOfACacheByItsFilesVersion) {
  in_child({}, [] {
    const fs::path folder = fs::temp_directory_path() / ("wick_hiprtc_" + std::to_string(getpid()));
    fs::create_directory(folder);
    fs::copy_file(kFakes + "/amd/libhiprtc.so.7", folder / "libhiprtc.so.7.2.53211");
    fs::create_symlink("libhiprtc.so.7.2.53211", folder / "libhiprtc.so.7");
    std::string identity;
    const Failure failure =
        compiler_identity(Vendor::kAmd, folder, "gfx90a:sramecc+:xnack-", identity);
    EXPECT_TRUE(failure.ok()) << failure.text;
    EXPECT_EQ(identity.compare(0, 34, "hiprtc 7.2 gfx90a:sramecc+:xnack- "), 0) << identity;
    fs::remove_all(folder);
  });
}

// What hipRTC would compile: clang on the preamble and the source, after a header whose shuffles
// refuse masks of 32 bits.
constexpr char kShuffles[] = R"(
extern "C" __global__ void shuffles(float* x, const int64_t* ids) {
  const unsigned mask = 0xffffffff;
  float sum = __shfl_sync(mask, x[ids[0]], 0);
  sum += __shfl_up_sync(mask, sum, 1) + __shfl_xor_sync(mask, sum, 1, 32);
  x[threadIdx.x] = __shfl_down_sync(mask, sum, 1, 32);
}
)";
TEST(Hiprtc, ThePreambleMakesOneSourceOfTwo) {
  if (kClang.empty()) GTEST_SKIP() << "built without clang++-19";
  in_child({{"FAKE_RTC_CLANG", kClang}}, [] {
    CompiledKernels compiled;
    for (const char* architecture : {"gfx1100", "gfx90a:sramecc+:xnack-"}) {
      const Failure failure =
          compile_amd({std::string(kBlockSum) + kShuffles, "k.hip", {}, architecture}, compiled);
      ASSERT_TRUE(failure.ok()) << failure.text;
      Elf64_Ehdr header;
      sections_of(compiled.image, header);
      EXPECT_EQ(header.e_machine, 224);  // EM_AMDGPU
      EXPECT_HAS(compiled.image, "block_sum.kd");
      EXPECT_HAS(compiled.image, "shuffles.kd");
    }
    const std::string wrong = "__global__ void f(float* x) {\n  x[0] = 1\n}\n";
    const Failure failure = compile_amd({wrong, "wrong.hip", {}, "gfx1100"}, compiled);
    EXPECT_EQ(failure.code, StatusCode::kInvalidArgument);
    EXPECT_HAS(failure.text, "wrong.hip:2:11: error: expected ';'");
  });
}

// ---- NVRTC, by the fake

/// The result of a compilation in a new process, by the NVRTC of a folder.
std::string compiled_beside(const std::string& folder) {
  const std::string program = fs::read_symlink("/proc/self/exe");
  std::string text;
  FILE* pipe = popen(("'" + program + "' --nvidia '" + folder + "'").c_str(), "r");
  for (char part[4096]; const size_t n = fread(part, 1, sizeof part, pipe);) text.append(part, n);
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

TEST(FakeNvrtc, ItsSecondHalfIsOpenedFromItsOwnFolder) {
  const std::string folder = fs::temp_directory_path() / ("wick_nvrtc_" + std::to_string(getpid()));
  fs::create_directory(folder);
  fs::copy_file(kFakes + "/nvidia/libnvrtc.so.13", folder + "/libnvrtc.so.13");
  EXPECT_HAS(compiled_beside(folder), "failed to open libnvrtc-builtins.so.13.0");
  fs::copy_file(kFakes + "/builtins/libnvrtc-builtins.so.13.0",
                folder + "/libnvrtc-builtins.so.13.0");
  EXPECT_EQ(compiled_beside(folder), "compiled");
  fs::remove_all(folder);
}

// ---- NVRTC itself

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    std::string identity;
    const Failure failure = compiler_identity(Vendor::kNvidia, "", "sm_90", identity);
    if (failure.code == StatusCode::kUnsupported) GTEST_SKIP() << failure.text;
    ASSERT_TRUE(failure.ok()) << failure.text;
  }
  static Failure compile(const KernelText& source, CompiledKernels& compiled) {
    return compile_kernels(Vendor::kNvidia, "", source, compiled);
  }
};

TEST_F(Nvrtc, MakesACubinOfTheArchitecture) {
  CompiledKernels compiled;
  const std::string source = std::string(kBlockSum) + kShuffles;
  const Failure failure = compile({source, "block_sum.cu", {}, "sm_90"}, compiled);
  ASSERT_TRUE(failure.ok()) << failure.text;
  Elf64_Ehdr header;
  ASSERT_FALSE(sections_of(compiled.image, header).empty());
  EXPECT_EQ(header.e_machine, 190);  // EM_CUDA
  const uint32 architecture =
      header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
  EXPECT_EQ(architecture, 90u);
  EXPECT_TRUE(has_section(compiled.image, ".text.block_sum"));
  EXPECT_TRUE(has_section(compiled.image, ".text.shuffles"));
  EXPECT_FALSE(has_section(compiled.image, ".text.other"));
}

TEST_F(Nvrtc, GivesTheCompilersLinesForAnError) {
  CompiledKernels compiled;
  const std::string source = "__global__ void f(float* x) {\n  x[0] = 1\n}\n";
  const Failure failure = compile({source, "wrong.cu", {}, "sm_90"}, compiled);
  EXPECT_EQ(failure.code, StatusCode::kInvalidArgument);
  EXPECT_HAS(failure.text, "wrong.cu for sm_90 (NVRTC ");
  EXPECT_HAS(failure.text, "\nwrong.cu(3): error: expected a \";\"");
  EXPECT_HAS(compiled.log, "wrong.cu(3): error: expected a \";\"");
  EXPECT_TRUE(compiled.image.empty());
}

TEST_F(Nvrtc, TakesOptionsAndGivesWarnings) {
  CompiledKernels compiled;
  const std::string source =
      "extern \"C\" __global__ void SELECTED(float* x) {\n  int unused;\n  x[0] = 1;\n}\n";
  const Failure failure =
      compile({source, "", {"-DSELECTED=chosen", "--std=c++20"}, "sm_90"}, compiled);
  ASSERT_TRUE(failure.ok()) << failure.text;
  EXPECT_TRUE(has_section(compiled.image, ".text.chosen"));
  EXPECT_HAS(compiled.log, "kernel(2): warning");

  const Failure refused = compile({source, "k.cu", {"--no-such-option"}, "sm_90"}, compiled);
  EXPECT_EQ(refused.code, StatusCode::kInvalidArgument);
  EXPECT_HAS(refused.text, "--no-such-option");
}

TEST_F(Nvrtc, MakesPtxForACardThatItDoesNotKnow) {
  CompiledKernels compiled;
  const Failure failure = compile({kBlockSum, "block_sum.cu", {}, "sm_999"}, compiled);
  ASSERT_TRUE(failure.ok()) << failure.text;
  EXPECT_HAS(compiled.image, ".target sm_");
  EXPECT_HAS(compiled.image, ".entry block_sum(");
  EXPECT_EQ(compiled.image.find('\0'), std::string::npos);

  const Failure old = compile({kBlockSum, "block_sum.cu", {}, "sm_20"}, compiled);
  EXPECT_EQ(old.code, StatusCode::kUnsupported);
  EXPECT_HAS(old.text, "has no code for sm_20: the oldest that it knows is sm_");
}

TEST_F(Nvrtc, RefusesTextsThatAreNone) {
  CompiledKernels compiled;
  const KernelText none{"", "k.cu", {}, "sm_90"};
  const KernelText cut{std::string("int x;\0int y;", 13), "k.cu", {}, "sm_90"};
  const KernelText other{kBlockSum, "k.cu", {}, "gfx1100"};
  for (const KernelText& source : {none, cut, other})
    EXPECT_EQ(compile(source, compiled).code, StatusCode::kInvalidArgument);
  EXPECT_HAS(compile(cut, compiled).text, "the source has a 0 at byte 6");
  EXPECT_HAS(compile(other, compiled).text, "expected an architecture such as sm_90");
}

TEST_F(Nvrtc, IsNamedInTheKeyOfACache) {
  std::string identity, other;
  ASSERT_TRUE(compiler_identity(Vendor::kNvidia, "", "sm_90", identity).ok());
  ASSERT_TRUE(compiler_identity(Vendor::kNvidia, "", "sm_80", other).ok());
  EXPECT_EQ(identity.compare(0, 6, "nvrtc "), 0) << identity;
  EXPECT_HAS(identity, " sm_90 ");
  EXPECT_NE(identity, other);
}

}  // namespace
}  // namespace wick::gpu

int main(int argc, char** argv) {
  using namespace wick::gpu;
  if (argc == 3 && std::strcmp(argv[1], "--nvidia") == 0) {
    CompiledKernels compiled;
    const Failure failure =
        compile_kernels(Vendor::kNvidia, argv[2], {kBlockSum, "k.cu", {}, "sm_90"}, compiled);
    std::fputs(failure.ok() ? "compiled" : failure.text.c_str(), stdout);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
