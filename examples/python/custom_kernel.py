#!/usr/bin/env python3
"""The activation squareplus, (x + sqrt(x^2 + b)) / 2, as a kernel from a formula and from source, with a gradient:

    custom_kernel.py [DEVICE]

Prints the largest differences from wick's own ops. Source of the activation: Barron 2021, arXiv:2112.11687.
"""
import sys
from typing import Any

import wick

GPU_SOURCE = """
extern "C" __global__ void squareplus(const float* x, float* y, float b, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[i] + sqrtf(x[i] * x[i] + b)) / 2;
}"""
# A kernel of the CPU gets whole tensors. b is the second.
CPU_SOURCE = """
#include <cmath>
extern "C" void squareplus(const WickTensor* inputs, int, const WickTensor* outputs, int) {
  const float* x = static_cast<const float*>(inputs[0].data);
  const float b = *static_cast<const float*>(inputs[1].data);
  float* y = static_cast<float*>(outputs[0].data);
  long long n = 1;
  for (int d = 0; d < inputs[0].rank; d++) n *= inputs[0].shape[d];
  for (long long i = 0; i < n; i++) y[i] = (x[i] + std::sqrt(x[i] * x[i] + b)) / 2;
}"""

device = wick.Device(sys.argv[1] if len(sys.argv) > 1 else "auto")
kernel = wick.compile_kernel(device, "squareplus", CPU_SOURCE if device.type == "cpu" else GPU_SOURCE)


class Squareplus(wick.Function):
    @staticmethod
    def forward(ctx: Any, x: wick.Tensor, b: float) -> wick.Tensor:
        ctx.save_for_backward(x)
        ctx.b = b
        x = x.contiguous()
        y = wick.empty_like(x)
        if device.type == "cpu":
            kernel.launch([x, wick.Tensor(b)], [y])
        else:
            kernel.launch((x.numel() + 255) // 256, 256, x, y, b, x.numel())
        return y

    @staticmethod
    def backward(ctx: Any, gradient: wick.Tensor) -> tuple[wick.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradient * (x / (x.square() + ctx.b).sqrt() + 1) / 2, None


formula = wick.elementwise_kernel("squareplus", "(x + sqrt(x * x + 4)) / 2", names=["x"])
x, same_x = wick.Var(wick.randn(60, 100, device=device)), wick.Var(wick.zeros(60, 100, device=device))
same_x.set_(x)

y = Squareplus.apply(x.T, 4.0)
y.square().sum().backward()
same_y = (same_x.T + (same_x.T.square() + 4).sqrt()) / 2
same_y.square().sum().backward()


def difference(a: wick.Tensor, b: wick.Tensor) -> float:
    return float((a - b).abs().max())


print(f"{difference(y, same_y):.2g} from source, {difference(formula(x.T), same_y):.2g} from a formula, "
      f"{difference(x.grad, same_x.grad):.2g} in the gradient")
