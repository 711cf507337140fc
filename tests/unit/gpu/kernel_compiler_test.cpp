// The compilers of kernels at run time: NVRTC where it is installed, which needs no card, and a fake
// of both (fake_rtc/). Each test of a fake runs in a child of this process, since a library is
// never closed.
#include "runtime/kernel_compiler.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/kernel_preamble.h"

namespace wick::gpu {
namespace {

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

// ---- NVRTC itself

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    std::string identity;
    const Failure failure = compiler_identity(Vendor::kNvidia, "", "sm_90", identity);
    if (failure.code == StatusCode::kUnsupported) GTEST_SKIP() << failure.text;
    ASSERT_TRUE(failure.ok()) << failure.text;
  }
  static Failure compile(const KernelSource& source, CompiledKernels& compiled) {
    return compile_kernels(Vendor::kNvidia, "", source, compiled);
  }
};

TEST_F(Nvrtc, MakesACubinOfTheArchitecture) {
  CompiledKernels compiled;
  const Failure failure = compile({kBlockSum, "block_sum.cu", {}, "sm_90"}, compiled);
  ASSERT_TRUE(failure.ok()) << failure.text;
  Elf64_Ehdr header;
  ASSERT_FALSE(sections_of(compiled.image, header).empty());
  EXPECT_EQ(header.e_machine, 190);  // EM_CUDA
  const uint32 architecture =
      header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
  EXPECT_EQ(architecture, 90u);
  EXPECT_TRUE(has_section(compiled.image, ".text.block_sum"));
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
  const KernelSource none{"", "k.cu", {}, "sm_90"};
  const KernelSource cut{std::string("int x;\0int y;", 13), "k.cu", {}, "sm_90"};
  const KernelSource other{kBlockSum, "k.cu", {}, "gfx1100"};
  for (const KernelSource& source : {none, cut, other})
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
