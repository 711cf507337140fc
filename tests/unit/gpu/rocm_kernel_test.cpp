// Users' code objects on rocm:0: wick::rocm, by the kernels of plan_kernels.hip. By those of exchange_kernels.hip,
// the exchanges between threads that wick's own kernels use (device/ctx_amd.h).
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
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

/// The bundle compressed as clang's --offload-compress does: version 2 of its header.
std::string compressed(const std::string& bundle) {
  std::string packed(ZSTD_compressBound(bundle.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bundle.data(), bundle.size(), 3));
  const uint16_t version_and_method[] = {2, 1};  // zstd
  const uint32_t sizes[] = {uint32_t(24 + packed.size()), uint32_t(bundle.size())};
  const uint64_t hash = 0;
  std::string head = "CCOB";
  head.append(reinterpret_cast<const char*>(version_and_method), 4);
  head.append(reinterpret_cast<const char*>(sizes), 8);
  head.append(reinterpret_cast<const char*>(&hash), 8);
  return head + packed;
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
  rocm::Module exchange_kernels() const {
    return rocm::Module::load(
        device_, std::string(WICK_EXCHANGE_KERNELS) + "/exchange_kernels." + target_ + ".hsaco");
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
  const Tensor product = empty({4, 6});
  module.function("bmul_f32").launch_with_layout_info({x, y}, product);
  expect_same(product, x * y);
  module.function("bmul_f32").launch_with_layout_info({x, x}, product);
  expect_same(product, x * x);
  module.function("bmul_f32").launch_with_layout_info({y, row}, product);
  expect_same(product, y * row);

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
  kernels().function("reverse_f32").launch(8, 64, 64 * sizeof(float), x, y);
  expect_same(y, flip(x, {1}));
}

TEST_F(RocmKernel, ShuffleXorReadsTheLaneOfEachMask) {
  const int64_t wave = device_.info().wave, threads = 2 * wave;
  std::vector<int32_t> words(size_t(wave * threads));
  std::vector<int64_t> pairs(words.size());
  for (int64_t t = 0; t < threads; t++) {
    words[size_t(t)] = int32_t(uint32_t(t + 1) * 0x9e3779b9u);
    pairs[size_t(t)] = int64_t(uint64_t(t + 1) * 0x9e3779b97f4a7c15u);
  }
  const Tensor y = Tensor::from(words, {wave, threads}, device_);
  const Tensor wide = Tensor::from(pairs, {wave, threads}, device_);
  exchange_kernels().function("exchange").launch(1, uint32_t(threads), 0, y, wide);
  for (int64_t mask = 1; mask < wave; mask++)
    for (int64_t t = 0; t < threads; t++) {
      words[size_t(mask * threads + t)] = words[size_t(t ^ mask)];
      pairs[size_t(mask * threads + t)] = pairs[size_t(t ^ mask)];
    }
  EXPECT_EQ(y.to_vector<int32_t>(), words);
  EXPECT_EQ(wide.to_vector<int64_t>(), pairs);
}

TEST_F(RocmKernel, ShuffleXorReadsLanesThatDoNotUseItsResult) {
  const int64_t wave = device_.info().wave, threads = 2 * wave;
  const size_t lanes = size_t(threads);
  std::vector<int32_t> values(lanes), expected(lanes * size_t(wave));
  std::iota(values.begin(), values.end(), 5);
  for (int64_t mask = 1; mask < wave; mask++)
    for (int64_t t = 0; t < threads; t++)
      if (t % wave < 4)
        expected[size_t(mask * threads + t)] = int32_t(mask) * values[size_t(t ^ mask)];
  const Tensor x = Tensor::from(values, {threads}, device_);
  const Tensor y = zeros({wave, threads}, {.dtype = DType::kI32, .device = device_});
  exchange_kernels().function("exchange_some").launch(1, threads, 0, x, y);
  EXPECT_EQ(y.to_vector<int32_t>(), expected);
}

TEST_F(RocmKernel, SyncSharedOrdersSharedMemory) {
  std::vector<int32_t> values(size_t(2 * device_.info().wave));
  std::iota(values.begin(), values.end(), 5);
  const Tensor x = Tensor::from(values, {int64_t(values.size())}, device_);
  const Tensor y = empty(x.shape(), DType::kI32);
  exchange_kernels().function("reverse").launch(1, uint32_t(values.size()), 0, x, y, 5);
  expect_same(y, flip(x, {0}));
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
  const std::string plain = bundle({"gfx942", "gfx1100"});
  const std::string path = folder.write("kernels.fatbin", plain);
  if (target_ != "gfx942" && target_ != "gfx1100") {
    EXPECT_ERROR(rocm::Module::load(device_, path), kKernelNotFound,
                 "it has code for gfx942, gfx1100, this GPU is " + target_);
    return;
  }
  const Tensor x = counting({100});
  for (const std::string& file : {path, folder.write("packed.fatbin", compressed(plain))}) {
    const Tensor y = empty({100});
    rocm::Module::load(device_, file).function("usqr_f32").launch_with_layout_info({x}, y);
    expect_same(y, wick::square(x));
  }
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
  for (const std::string& whole :
       {read(code_object(target_)), bundle({target_}), compressed(bundle({target_}))}) {
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

/// An op whose forward is one launch of a kernel with layout info; its output is like the last input.
class KernelOp : public CustomOp {
 public:
  using Gradient = std::function<std::vector<Tensor>(std::span<const Tensor>, const Tensor&)>;
  KernelOp(rocm::Function kernel, int num_inputs, Gradient gradient)
      : kernel_(std::move(kernel)), num_inputs_(num_inputs), gradient_(std::move(gradient)) {}
  const char* name() const override { return kernel_.name().c_str(); }
  int num_inputs() const override { return num_inputs_; }
  Tensor rocm(std::span<const Tensor> in) const override {
    const Tensor& last = in.back();
    const Tensor y = Tensor::empty(last.shape(), {.dtype = last.dtype(), .device = last.device()});
    if (in.size() == 1) kernel_.launch_with_layout_info({in[0]}, y);
    if (in.size() == 2) kernel_.launch_with_layout_info({in[0], in[1]}, y);
    if (in.size() == 3) kernel_.launch_with_layout_info({in[0], in[1], in[2]}, y);
    return y;
  }
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    return gradient_(in, gradient);
  }

 private:
  rocm::Function kernel_;
  int num_inputs_;
  Gradient gradient_;
};

TEST_F(RocmKernel, IsACustomOpOfOneToThreeInputsWithAGradient) {
  const rocm::Module module = kernels();
  const KernelOp square_op(module.function("usqr_f32"), 1,
                           [](auto in, const Tensor& g) { return std::vector{g * in[0] * 2}; });
  // The gradient of the product is the product, by the same kernel.
  std::shared_ptr<const KernelOp> product;
  product = std::make_shared<KernelOp>(
      module.function("bmul_f32"), 2, [&product](auto in, const Tensor& g) {
        return std::vector{apply(*product, in[1], g), apply(*product, in[0], g)};
      });
  const KernelOp choice(module.function("where_u8_f32"), 3, [](auto in, const Tensor& g) {
    const Tensor yes = in[0] != 0;
    return std::vector{Tensor(), where(yes, g, zeros_like(g)), where(yes, zeros_like(g), g)};
  });
  const Tensor condition = (counting({5, 3}) > 1).to(DType::kU8);

  const auto loss = [&](const Var& x, const Var& y, bool by_kernels) {
    const Tensor t = transpose(x.tensor(), 0, 1);
    if (!by_kernels)
      return sum(where(condition != 0, square(t) * y.tensor(), y.tensor()) * counting({5, 3}));
    return sum(
        apply(choice, condition, apply(*product, apply(square_op, t), y.tensor()), y.tensor()) *
        counting({5, 3}));
  };
  Var x[2] = {Var(counting({3, 5})), Var(counting({3, 5}))};
  Var y[2] = {Var(counting({5, 3}) / 4), Var(counting({5, 3}) / 4)};
  for (const int by_kernels : {0, 1}) backward(loss(x[by_kernels], y[by_kernels], by_kernels));
  expect_same(x[1].grad(), x[0].grad());
  expect_same(y[1].grad(), y[0].grad());

  const Tensor second =
      grad(sum(grad(sum(apply(*product, apply(square_op, x[0].tensor()), x[0].tensor())),
                    {x[0].tensor()}, {.create_graph = true})[0]),
           {x[0].tensor()})[0];
  expect_same(second, x[0].tensor().detach() * 6);  // of x^3
}

/// Overwrites its target by a kernel that takes nullptr for it among its inputs.
class KernelInplaceOp : public InplaceOp {
 public:
  KernelInplaceOp(rocm::Function kernel, int num_inputs)
      : kernel_(std::move(kernel)), num_inputs_(num_inputs) {}
  const char* name() const override { return kernel_.name().c_str(); }
  int num_inputs() const override { return num_inputs_; }
  void rocm(const Tensor& target, std::span<const Tensor> others) const override {
    if (num_inputs_ == 1) kernel_.launch_with_layout_info({Tensor()}, target);
    if (num_inputs_ == 2) kernel_.launch_with_layout_info({Tensor(), others[0]}, target);
    if (num_inputs_ == 3) kernel_.launch_with_layout_info({others[0], Tensor(), others[1]}, target);
  }

 private:
  rocm::Function kernel_;
  int num_inputs_;
};

TEST_F(RocmKernel, IsAnInplaceOpOfOneToThreeInputs) {
  const rocm::Module module = kernels();
  Var x(counting({4, 5}));
  Tensor expected = counting({4, 5});
  apply_(KernelInplaceOp(module.function("usqr_f32"), 1), x);
  expected = square(expected);
  expect_same(x.tensor().detach(), expected);
  apply_(KernelInplaceOp(module.function("bmul_f32"), 2), x, counting({5}));
  expected = expected * counting({5});
  expect_same(x.tensor().detach(), expected);
  const Tensor condition = (counting({4, 1}) > -4).to(DType::kU8);
  apply_(KernelInplaceOp(module.function("where_u8_f32"), 3), x, condition, counting({5}));
  expect_same(x.tensor().detach(), where(condition != 0, expected, counting({5})));

  const Tensor y = sum(square(x));
  apply_(KernelInplaceOp(module.function("usqr_f32"), 1), x);
  EXPECT_ERROR(backward(y), kModifiedInPlace, "");
}

TEST_F(RocmKernel, AnOpWithoutARocmBodySaysSo) {
  const auto op =
      custom_op("cube", {.cpu = [](std::span<const HostView> in) { return in[0].tensor(); }});
  EXPECT_ERROR(apply(op, counting({2})), kUnsupported, "no rocm implementation for cube");
}

TEST(KernelModule, OnACpuIsRefused) {
  EXPECT_ERROR(rocm::Module::load(Device::cpu(), "kernels.hsaco"), kUnsupported,
               "kernels.hsaco: expected a device that loads kernels, got cpu");
}

}  // namespace
}  // namespace wick::test
