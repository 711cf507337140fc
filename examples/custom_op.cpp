// An op of one's own: the activation "snake", x + sin(a x)^2 / a, with a learned a. Written once as
// a class with an implementation per device and a backward, fitted to a wave, and checked.
//
//   custom_op [--device auto]
//
// Source of the activation: Ziyin et al. 2020, arXiv:2006.08195.
#include <cmath>
#include <cstdio>
#include <string_view>

#include "wick/wick.h"

namespace {

using wick::Tensor;
using wick::Var;

/// y = x + sin(a x)^2 / a. x: any shape, f32. a: [1], f32.
class Snake : public wick::CustomOp {
 public:
  const char* name() const override { return "snake"; }
  int num_inputs() const override { return 2; }

  /// Plain loops over the elements, which contiguous() puts in row-major order.
  Tensor cpu(std::span<const wick::HostView> in) const override {
    const wick::HostView x = in[0].contiguous();
    const Tensor y = Tensor::empty(x.shape());
    const auto from = x.values<float>();
    const auto to = wick::HostTarget(y).values<float>();
    const float a = *in[1].data<float>();
    for (size_t i = 0; i < from.size(); i++) {
      const float wave = std::sin(a * from[i]);
      to[i] = from[i] + wave * wave / a;
    }
    return y;
  }
  /// A card gets a kernel here; wick's own ops serve until there is one.
  Tensor emulated(std::span<const Tensor> in) const override { return in_ops(in); }

  /// dy/dx = 1 + sin(2 a x), dy/da = (a x sin(2 a x) - sin(a x)^2) / a^2: in ops, so that it runs
  /// wherever they do and can be differentiated again.
  std::vector<Tensor> backward(std::span<const Tensor> in, const Tensor&,
                               const Tensor& gradient) const override {
    const Tensor &x = in[0], &a = in[1];
    const Tensor slope = wick::sin(a * x * 2);
    const Tensor of_a = (a * x * slope - wick::square(wick::sin(a * x))) / wick::square(a);
    return {gradient * (slope + 1), wick::sum(gradient * of_a, {.keepdim = true})};
  }

 private:
  static Tensor in_ops(std::span<const Tensor> in) {
    return in[0] + wick::square(wick::sin(in[1] * in[0])) / in[1];
  }
};

/// Doubles what it is given, in its memory.
class Double : public wick::InplaceOp {
 public:
  const char* name() const override { return "double"; }
  void cpu(wick::HostTarget target, std::span<const wick::HostView>) const override {
    for (float& x : target.values<float>()) x *= 2;
  }
};

int run(const wick::Device& device) {
  // Points of the wave that a = 3 makes; the fit starts at 2.5.
  constexpr int kPoints = 64;
  std::vector<float> xs(kPoints), ys(kPoints);
  for (size_t i = 0; i < kPoints; i++) {
    xs[i] = float(i) / 32 - 1;
    ys[i] = xs[i] + std::pow(std::sin(3 * xs[i]), 2.0f) / 3;
  }
  const Tensor x = Tensor::from(xs, device), target = Tensor::from(ys, device);
  Var a(Tensor::from(std::vector<float>{2.5f}, device));
  float loss_value = 0;
  for (int step = 0; step < 200; step++) {
    a.zero_grad();
    const Tensor loss = wick::mean(wick::square(apply(Snake(), x, a.tensor()) - target));
    wick::backward(loss);
    a.set_(a.tensor().detach() - a.grad() * 2);
    loss_value = loss.item<float>();
  }
  std::printf("a is %.4f, the loss %.2g\n", double(a.tensor().item<float>()), double(loss_value));
  bool good = std::abs(a.tensor().item<float>() - 3) < 1e-2f;

  // The same kind of op from functions, with no class: it has no backward, and says so.
  const auto half = wick::custom_op(
      "half", {.cpu = [](std::span<const wick::HostView> in) { return in[0].tensor() / 2; }});
  if (device.is_cpu()) {
    Var doubled(wick::ones({2}));
    apply_(Double(), doubled);
    good = good &&
           apply(half, doubled.tensor().detach()).to_vector<float>() == std::vector<float>{1, 1};
    try {
      wick::backward(wick::sum(apply(half, doubled.tensor())));
      good = false;
    } catch (const wick::Error& e) {
      std::printf("%s\n", e.what());
    }
  }

  // A kernel from a formula, compiled for the CPU at its first call. It has no gradient.
  if (device.is_cpu()) {
    const auto snake =
        wick::elementwise_kernel("snake", "a + sin(b * a) * sin(b * a) / b", {.inputs = 2});
    const Tensor difference = snake(x, a.tensor()) - apply(Snake(), x, a.tensor());
    good = good && wick::max(wick::abs(difference)).item<float>() < 1e-6f;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view device = "auto";
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::string_view(argv[i]) == "--device") device = argv[i + 1];
  try {
    return run(wick::Device::parse(device));
  } catch (const wick::Error& e) {
    std::fprintf(stderr, "custom_op: %s\n", e.what());
    return 1;
  }
}
