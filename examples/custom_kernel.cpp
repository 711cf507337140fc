// Ops of one's own from kernels: the activation "squareplus", (x + sqrt(x^2 + b)) / 2, with a
// gradient; and an op that scales a matrix's columns in place. Compares both with wick's own ops.
//
//   custom_kernel --source custom_kernel.hip [--device emu:32]   compiles the kernels now
//   custom_kernel --code custom_kernel.hsaco [--device rocm]     loads a code object
//
// examples/custom_kernel.hip has the kernels, one text for every GPU and the emulator.
// Source of the activation: Barron 2021, arXiv:2112.11687.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "wick/wick.h"

namespace {

using wick::Tensor;
using wick::Var;

constexpr int64_t kThreads = 256;

void check_operand(const char* op, const Tensor& x) {
  wick::check(x.dtype() == wick::DType::kF32, wick::ErrorCode::kDTypeMismatch, op, "expected f32");
}

/// y = (x + sqrt(x^2 + b)) / 2. x: any shape, f32.
class Squareplus : public wick::CustomOp {
 public:
  Squareplus(const wick::KernelFunction& kernel, float b) : kernel_(kernel), b_(b) {}
  const char* name() const override { return "squareplus"; }

  Tensor rocm(std::span<const Tensor> in) const override { return launch(in); }
  Tensor cuda(std::span<const Tensor> in) const override { return launch(in); }
  Tensor emulated(std::span<const Tensor> in) const override { return launch(in); }
  /// dy/dx = (1 + x / sqrt(x^2 + b)) / 2
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    return {gradient * (in[0] / wick::sqrt(wick::square(in[0]) + b_) + 1) / 2};
  }

 private:
  Tensor launch(std::span<const Tensor> in) const {
    check_operand(name(), in[0]);
    const Tensor x = in[0].contiguous();
    const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
    const int64_t n = x.numel();
    kernel_.launch((n + kThreads - 1) / kThreads, kThreads, 0, x, y, b_, n);
    return y;
  }

  wick::KernelFunction kernel_;  // keeps the code loaded
  float b_;
};

/// Multiplies each column of a matrix by its scale, in the matrix's memory.
class ScaleColumns : public wick::InplaceOp {
 public:
  explicit ScaleColumns(const wick::KernelFunction& kernel) : kernel_(kernel) {}
  const char* name() const override { return "scale_columns"; }
  int num_inputs() const override { return 2; }

  void rocm(const Tensor& y, std::span<const Tensor> in) const override { launch(y, in); }
  void cuda(const Tensor& y, std::span<const Tensor> in) const override { launch(y, in); }
  void emulated(const Tensor& y, std::span<const Tensor> in) const override { launch(y, in); }

 private:
  void launch(const Tensor& target, std::span<const Tensor> others) const {
    check_operand(name(), target);
    check_operand(name(), others[0]);
    const Tensor scale = others[0].contiguous();
    wick::check(target.rank() == 2 && target.is_contiguous() &&
                    scale.shape() == wick::Shape{target.size(1)},
                wick::ErrorCode::kShapeMismatch, name(), "expected a matrix and a scale a column");
    const int64_t n = target.numel();
    kernel_.launch((n + kThreads - 1) / kThreads, kThreads, 0, target, scale, target.size(1), n);
  }

  wick::KernelFunction kernel_;
};

float largest_difference(const Tensor& a, const Tensor& b) {
  return wick::max(wick::abs(a.detach() - b.detach())).item<float>();
}

/// A kernel by its name, compiled from the source or found in the code object.
wick::KernelFunction kernel_of(const wick::Device& device, const std::string& source,
                               const std::string& code, const std::string& name) {
  if (!code.empty()) return wick::KernelModule::load(device, code).function(name);
  std::ifstream file(source);
  wick::check(file.good(), wick::ErrorCode::kIo, source, "cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return wick::compile_kernel(device, name, text).function();
}

int run(const wick::Device& device, const std::string& source, const std::string& code) {
  const Squareplus squareplus(kernel_of(device, source, code, "squareplus"), 4);
  Var x(wick::randn({60, 100}, {.device = device})), same_x(x.tensor().detach());

  const Tensor y = apply(squareplus, wick::transpose(x.tensor()));
  wick::backward(wick::sum(wick::square(y)));
  const Tensor same_y =
      wick::transpose(same_x.tensor() + wick::sqrt(wick::square(same_x.tensor()) + 4)) / 2;
  wick::backward(wick::sum(wick::square(same_y)));
  const float of_y = largest_difference(y, same_y),
              of_x = largest_difference(x.grad(), same_x.grad());

  const Tensor scale = wick::arange(0, 100, 1, {.dtype = wick::DType::kF32, .device = device});
  const Tensor scaled = x.tensor().detach() * scale;
  apply_(ScaleColumns(kernel_of(device, source, code, "scale_columns")), x, scale);
  const float of_scaled = largest_difference(x.tensor(), scaled);
  std::printf("largest differences from wick's ops: y %.2g, gradient %.2g, scaled %.2g\n",
              double(of_y), double(of_x), double(of_scaled));
  return of_y < 1e-6f && of_x < 1e-5f && of_scaled == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "auto", source, code;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--device") device = argv[i + 1];
    if (std::string_view(argv[i]) == "--source") source = argv[i + 1];
    if (std::string_view(argv[i]) == "--code") code = argv[i + 1];
  }
  if (source.empty() == code.empty()) {
    std::fprintf(stderr, "custom_kernel: expected --source FILE or --code FILE\n");
    return 2;
  }
  try {
    return run(wick::Device::parse(device), source, code);
  } catch (const wick::Error& e) {
    std::fprintf(stderr, "custom_kernel: %s\n", e.what());
    return 1;
  }
}
