// Uses an installed wick: the CPU, gradients, and a module that libwick finds beside itself.
#include <wick/wick.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// d/dx sum(silu(x W)) at x = [1, 2], W = [[1, 0], [0, -1]]: silu'(1) and -silu'(-2).
std::vector<float> gradient_on(const wick::Device& device) {
  const wick::Var x(wick::Tensor::from(std::vector<float>{1, 2}, {1, 2}, device));
  const wick::Tensor w = wick::Tensor::from(std::vector<float>{1, 0, 0, -1}, {2, 2}, device);
  wick::backward(wick::sum(wick::silu(wick::matmul(x, w))));
  return x.grad().to_vector<float>();
}

bool check(const wick::Device& device) {
  const std::vector<float> got = gradient_on(device);
  std::printf("%s: %.6f %.6f\n", wick::to_string(device).c_str(), double(got[0]), double(got[1]));
  return std::abs(got[0] - 0.927671f) < 1e-5f && std::abs(got[1] - 0.090784f) < 1e-5f;
}

}  // namespace

int main() try {
  return check(wick::Device::cpu()) && check(wick::Device::emulated(32)) ? 0 : 1;
} catch (const wick::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
