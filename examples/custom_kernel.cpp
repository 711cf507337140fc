// Ops of one's own from HIP kernels in a code object: the activation "squareplus", (x + sqrt(x^2 +
// b)) / 2, with a gradient; and an op that scales a matrix's columns in place. Compares both with
// wick's own ops.
//
//   custom_kernel --code custom_kernel.hsaco [--device rocm]
//
// examples/custom_kernel.hip has the kernels and says how to compile them.
// Source of the activation: Barron 2021, arXiv:2112.11687.
#include <cstdio>
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
  Squareplus(const wick::rocm::Module& code, float b)
      : kernel_(code.function("squareplus")), b_(b) {}
  const char* name() const override { return "squareplus"; }

  Tensor rocm(std::span<const Tensor> in) const override {
    check_operand(name(), in[0]);
    const Tensor x = in[0].contiguous();
    const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
    const int64_t n = x.numel();
    kernel_.launch((n + kThreads - 1) / kThreads, kThreads, 0, x, y, b_, n);
    return y;
  }
  /// dy/dx = (1 + x / sqrt(x^2 + b)) / 2
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    return {gradient * (in[0] / wick::sqrt(wick::square(in[0]) + b_) + 1) / 2};
  }

 private:
  wick::rocm::Function kernel_;  // keeps the code loaded
  float b_;
};

/// Multiplies each column of a matrix by its scale, in the matrix's memory.
class ScaleColumns : public wick::InplaceOp {
 public:
  explicit ScaleColumns(const wick::rocm::Module& code) : kernel_(code.function("scale_columns")) {}
  const char* name() const override { return "scale_columns"; }
  int num_inputs() const override { return 2; }

  void rocm(const Tensor& target, std::span<const Tensor> others) const override {
    check_operand(name(), target);
    check_operand(name(), others[0]);
    const Tensor scale = others[0].contiguous();
    wick::check(target.rank() == 2 && target.is_contiguous() &&
                    scale.shape() == wick::Shape{target.size(1)},
                wick::ErrorCode::kShapeMismatch, name(), "expected a matrix and a scale a column");
    const int64_t n = target.numel();
    kernel_.launch((n + kThreads - 1) / kThreads, kThreads, 0, target, scale, target.size(1), n);
  }

 private:
  wick::rocm::Function kernel_;
};

float largest_difference(const Tensor& a, const Tensor& b) {
  return wick::max(wick::abs(a.detach() - b.detach())).item<float>();
}

int run(const wick::Device& device, const std::string& path) {
  const auto code = wick::rocm::Module::load(device, path);
  const Squareplus squareplus(code, 4);
  Var x(wick::randn({60, 100}, {.device = device})), same_x(x.tensor().detach());

  const Tensor y = apply(squareplus, wick::transpose(x.tensor()));
  wick::backward(wick::sum(wick::square(y)));
  const Tensor same_y =
      wick::transpose(same_x.tensor() + wick::sqrt(wick::square(same_x.tensor()) + 4)) / 2;
  wick::backward(wick::sum(wick::square(same_y)));
  const float of_y = largest_difference(y, same_y),
              of_x = largest_difference(x.grad(), same_x.grad());

  const Tensor scale = wick::arange(0, 100, 1, {.device = device});
  const Tensor scaled = x.tensor().detach() * scale;
  apply_(ScaleColumns(code), x, scale);
  const float of_scaled = largest_difference(x.tensor(), scaled);
  std::printf("largest differences from wick's ops: y %.2g, gradient %.2g, scaled %.2g\n",
              double(of_y), double(of_x), double(of_scaled));
  return of_y < 1e-6f && of_x < 1e-5f && of_scaled == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string device = "rocm", code;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--device") device = argv[i + 1];
    if (std::string_view(argv[i]) == "--code") code = argv[i + 1];
  }
  if (code.empty()) {
    std::fprintf(stderr, "custom_kernel: expected --code FILE, a code object\n");
    return 2;
  }
  try {
    return run(wick::Device::parse(device), code);
  } catch (const wick::Error& e) {
    std::fprintf(stderr, "custom_kernel: %s\n", e.what());
    return 1;
  }
}
