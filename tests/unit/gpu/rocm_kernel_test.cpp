// Users' code objects on rocm:0: wick::rocm, by the kernels of plan_kernels.hip.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "../expect.h"
#include "../temporary_folder.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::string code_object(const std::string& target) {
  return std::string(WICK_PLAN_KERNELS) + "/plan_kernels." + target + ".hsaco";
}

/// A bundle as clang-offload-bundler writes it, of the code objects for these targets.
std::string bundle(const std::vector<std::string>& targets) {
  const auto number = [](uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); };
  constexpr size_t kAlign = 4096;
  std::vector<std::string> ids{"host-x86_64-unknown-linux-gnu-"}, codes{""};
  for (const std::string& target : targets) {
    ids.push_back("hipv4-amdgcn-amd-amdhsa--" + target);
    codes.push_back(read(code_object(target)));
  }
  std::string head = "__CLANG_OFFLOAD_BUNDLE__" + number(ids.size()), body;
  for (size_t i = 0; i < ids.size(); i++) {
    body.resize((body.size() + kAlign - 1) / kAlign * kAlign);
    head += number(kAlign + body.size()) + number(codes[i].size()) + number(ids[i].size()) + ids[i];
    body += codes[i];
  }
  head.resize(kAlign);
  return head + body;
}

class RocmKernel : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    const std::optional<Device> found = find_device("rocm:0", &why);
    if (!found) GTEST_SKIP() << why;
    device_ = *found;
    target_ = std::string(device_.info().architecture);
    target_ = target_.substr(0, target_.find(':'));
    if (!std::filesystem::exists(code_object(target_)))
      GTEST_SKIP() << "no code object for " << target_ << " in this build";
  }
  rocm::Module kernels() const { return rocm::Module::load(device_, code_object(target_)); }
  Tensor counting(const Shape& shape) const {
    std::vector<float> values(size_t(numel(shape)));
    std::iota(values.begin(), values.end(), -5.0f);
    return Tensor::from(values, shape, device_);
  }
  Tensor empty(const Shape& shape, DType dtype = DType::kF32) const {
    return Tensor::empty(shape, {.dtype = dtype, .device = device_});
  }

  Device device_;
  std::string target_;
};

void expect_same(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  std::vector<char> a(size_t(bytes_of(got.dtype(), got.numel()))), b(a.size());
  got.read(a.data());
  expected.read(b.data());
  EXPECT_EQ(a, b);
}

TEST_F(RocmKernel, RunsInOrderWithWicksOps) {
  const rocm::Function square = kernels().function("usqr_f32");  // the module is kept by it
  for (const int64_t n : {1, 255, 256, 1000}) {
    const Tensor y = empty({n});
    square.launch((n + 255) / 256, 256, 0, uint64_t(n), uint64_t(1), nullptr, counting({n}) + 1, y);
    expect_same(y - 1, wick::square(counting({n}) + 1) - 1);
  }
}

TEST_F(RocmKernel, WithLayoutInfoReadsAnyLayout) {
  const rocm::Module module = kernels();
  const Tensor x = counting({3, 4, 5});
  const struct {
    const char* name;
    Tensor x;
  } layouts[] = {
      {"contiguous", x},
      {"transposed", transpose(x, 0, 2)},
      {"offset", narrow(x, 0, 1, 2)},
      {"strided and offset", narrow(x, 1, 1, 2)},
      {"broadcast", broadcast_to(narrow(x, 1, 2, 1), {3, 7, 5})},
      {"scalar", reshape(narrow(narrow(narrow(x, 0, 0, 1), 1, 0, 1), 2, 0, 1), {})},
      {"empty", narrow(x, 0, 0, 0)},
  };
  for (const auto& [name, view] : layouts) {
    SCOPED_TRACE(name);
    const Tensor squared = empty(view.shape());
    module.function("usqr_f32").launch_with_layout_info({view}, squared);
    expect_same(squared, wick::square(view));
    const Tensor scaled = empty(view.shape());
    module.function("affine_f32").launch_with_layout_info({view}, scaled, {2.5f, -1.0f});
    expect_same(scaled, affine(view, 2.5, -1));
    const Tensor halves = empty(view.shape(), DType::kF16);
    module.function("cast_f32_f16").launch_with_layout_info({view}, halves);
    expect_same(halves, view.to(DType::kF16));
    const Tensor integers = view.to(DType::kI64);
    const Tensor floats = empty(view.shape());
    module.function("cast_i64_f32").launch_with_layout_info({integers}, floats);
    expect_same(floats, integers.to(DType::kF32));
    const Tensor doubles = empty(view.shape(), DType::kF64);
    module.function("uneg_f64").launch_with_layout_info({view.to(DType::kF64)}, doubles);
    expect_same(doubles, -view.to(DType::kF64));
  }
}

TEST_F(RocmKernel, WithLayoutInfoHasStridesOfEachInput) {
  const rocm::Module module = kernels();
  const Tensor x = counting({4, 6}), y = transpose(counting({6, 4}), 0, 1), row = counting({6});
  const Tensor sum = empty({4, 6});
  module.function("badd_f32").launch_with_layout_info({x, y}, sum);
  expect_same(sum, x + y);
  module.function("badd_f32").launch_with_layout_info({x, x}, sum);
  expect_same(sum, x + x);
  module.function("badd_f32").launch_with_layout_info({y, row}, sum);
  expect_same(sum, y + row);

  const rocm::Function choose = module.function("where_u8_f32");
  const Tensor condition = (x > 3).to(DType::kU8);
  const Tensor chosen = empty({4, 6});
  choose.launch_with_layout_info({condition, x, x * 2}, chosen);
  expect_same(chosen, where(x > 3, x, x * 2));
  choose.launch_with_layout_info({narrow(condition, 0, 1, 1), y, row}, chosen);
  expect_same(chosen,
              where(broadcast_to(narrow(x > 3, 0, 1, 1), {4, 6}), y, broadcast_to(row, {4, 6})));
}

TEST_F(RocmKernel, WithoutAnInputOverwritesTheOutput) {
  Var x(counting({300}));
  const Tensor before = x.tensor() + 0;
  kernels().function("usqr_f32").launch_with_layout_info({Tensor()}, x);
  expect_same(x.tensor().detach(), wick::square(before).detach());
  kernels().function("affine_f32").launch_with_layout_info({Tensor()}, x, {0.5f, 3.0f});
  expect_same(x.tensor().detach(), affine(wick::square(before), 0.5, 3).detach());
}

TEST_F(RocmKernel, OverwritingAVarIsNoticedByTheTape) {
  Var x(counting({10}));
  const Tensor y = sum(wick::square(x));
  kernels().function("usqr_f32").launch_with_layout_info({Tensor()}, x);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "");
}

TEST_F(RocmKernel, TakesDynamicSharedMemory) {
  const Tensor x = counting({8, 64}), y = empty({8, 64});
  kernels().function("reverse_f32").launch(8, 64, 64 * sizeof(float), x, y, 64);
  expect_same(y, flip(x, {1}));
}

TEST_F(RocmKernel, AnotherStreamIsOrderedByEvents) {
  const rocm::Function square = kernels().function("usqr_f32");
  const rocm::Stream stream(device_);
  EXPECT_NE(stream.native(), rocm::Stream::of(device_).native());
  EXPECT_EQ(rocm::Stream::of(device_).native(), as_rocm(device_).hip_stream());
  const int64_t n = 1000;
  const Tensor y = empty({n});
  {
    const Tensor x = counting({n}) * 2;  // released before the kernel may have run
    stream.wait(rocm::Event(rocm::Stream::of(device_)));
    square.launch((n + 255) / 256, 256, 0, stream, uint64_t(n), uint64_t(1), nullptr, x, y);
  }
  const rocm::Event squared(stream);
  rocm::Stream::of(device_).wait(squared);
  expect_same(y + 1, wick::square(counting({n}) * 2) + 1);
  squared.synchronize();
  EXPECT_TRUE(squared.done());
  stream.synchronize();
}

TEST_F(RocmKernel, ABundleServesItsTargets) {
  const TemporaryFolder folder;
  const std::string path = folder.write("kernels.fatbin", bundle({"gfx942", "gfx1100"}));
  if (target_ != "gfx942" && target_ != "gfx1100") {
    EXPECT_ERROR(rocm::Module::load(device_, path), kKernelNotFound,
                 "it has code for gfx942, gfx1100, this GPU is " + target_);
    return;
  }
  const Tensor x = counting({100}), y = empty({100});
  rocm::Module::load(device_, path).function("usqr_f32").launch_with_layout_info({x}, y);
  expect_same(y, wick::square(x));
}

TEST_F(RocmKernel, CodeForAnotherTargetNamesBoth) {
  const std::string other = target_ == "gfx942" ? "gfx1100" : "gfx942";
  EXPECT_ERROR(
      rocm::Module::load(device_, code_object(other)), kKernelNotFound,
      other + ".hsaco: it has code for " + other + ", this GPU is " + device_.info().architecture);
  const TemporaryFolder folder;
  EXPECT_ERROR(rocm::Module::load(device_, folder.write("other.fatbin", bundle({other}))),
               kKernelNotFound, "it has code for " + other + ", this GPU is ");
}

TEST_F(RocmKernel, AFileCutOffAnywhereIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& whole : {read(code_object(target_)), bundle({target_})}) {
    for (size_t size = 0; size < whole.size(); size += size < 5000 ? 37 : 997) {
      try {
        rocm::Module::load(device_, folder.write("cut", whole.substr(0, size)));
        ADD_FAILURE() << size << " of " << whole.size() << " bytes are taken";
      } catch (const Error& e) {
        EXPECT_TRUE(e.code() == ErrorCode::kInvalidArgument ||
                    e.code() == ErrorCode::kKernelNotFound)
            << e.what();
      }
    }
  }
}

TEST_F(RocmKernel, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_ERROR(rocm::Module::load(device_, folder.file("none.hsaco")), kIo, "none.hsaco");
  EXPECT_ERROR(rocm::Module::load(device_, folder.write("text", "not a code object")),
               kInvalidArgument, "expected a code object (ELF) or a bundle of code objects");
  const rocm::Module module = kernels();
  EXPECT_ERROR(module.function("ucube_f32"), kKernelNotFound, "there is no kernel ucube_f32");
  const rocm::Function square = module.function("usqr_f32");
  const Tensor x = counting({10});
  EXPECT_ERROR(square.launch(1, 256, 0, uint64_t(10), x, x), kInvalidArgument,
               "usqr_f32: expected 5 arguments, got 3");
  EXPECT_ERROR(square.launch(1, 256, 0, 10, uint64_t(1), nullptr, x, x), kInvalidArgument,
               "usqr_f32: argument 0: expected 8 bytes, got 4");
  EXPECT_ERROR(square.launch(1, 512, 0, uint64_t(10), uint64_t(1), nullptr, x, x), kInvalidArgument,
               "usqr_f32: block: expected at most 256 threads, got [512, 1, 1]");
  EXPECT_ERROR(square.launch(1, 256, 1 << 20, uint64_t(10), uint64_t(1), nullptr, x, x),
               kInvalidArgument, "usqr_f32: shared_bytes: expected 0 to ");
  EXPECT_ERROR(square.launch(-1, 256, 0, uint64_t(10), uint64_t(1), nullptr, x, x),
               kInvalidArgument, "usqr_f32: grid: expected sizes of 0 to 2^31 - 1, got [-1, 1, 1]");
  EXPECT_ERROR(square.launch(1, 256, 0, uint64_t(10), uint64_t(1), nullptr, ones({10}), x),
               kDeviceMismatch,
               "usqr_f32: argument 3: expected a tensor on rocm:0, got one on cpu");
  EXPECT_ERROR(square.launch_with_layout_info({x}, transpose(counting({2, 5}), 0, 1)),
               kInvalidArgument, "usqr_f32: output: expected contiguous elements");
  EXPECT_ERROR(square.launch_with_layout_info({x}, counting({7})), kShapeMismatch,
               "usqr_f32: input 0: expected a shape that broadcasts to [7], got [10]");
  x.device().synchronize();
}

TEST(KernelModule, OnACpuIsRefused) {
  EXPECT_ERROR(rocm::Module::load(Device::cpu(), "kernels.hsaco"), kUnsupported,
               "kernels.hsaco: expected a device that loads kernels, got cpu");
}

}  // namespace
}  // namespace wick::test
