#!/usr/bin/env python3
"""The cases of libraries.cpp in PyTorch: a line "case<TAB>milliseconds" for each. TF32 is off."""
import time

import torch
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEVICE = "cuda"


def time_of(call):
    """Milliseconds of a call: the median of five batches, each of some 4 ms."""
    call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = int(min(max(0.004 / max(time.perf_counter() - begin, 1e-6), 1), 200))
    batches = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        batches.append((time.perf_counter() - begin) / count * 1e3)
    return sorted(batches)[2]


def report(name, call):
    print(f"{name}\t{time_of(call):.5f}", flush=True)


def uniform(shape, dtype):
    return (torch.rand(shape, device=DEVICE) * 2 - 1).to(dtype)


def layers():
    yield from [(64, 64, 64, 56, 3), (64, 256, 256, 14, 3), (64, 512, 512, 7, 3), (64, 256, 64, 56, 1), (8, 3, 64, 224, 7),
                (1, 64, 64, 56, 3), (16, 16, 16, 32, 3)]


def main():
    for type_name, dtype in {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64}.items():
        shapes = [(m, side, side) for side in (64, 256, 1024, 4096) for m in (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048)
                  if m <= 16 * side]
        for m, n, k in shapes + [(8, 28672, 8192), (64, 28672, 8192), (512, 4096, 14336), (256, 256, 65536)]:
            x, w = uniform((m, k), dtype), uniform((n, k), dtype)
            report(f"linear {type_name} {m}x{n}x{k}", lambda: F.linear(x, w))
        for side in (512, 1024, 2048, 4096, 8192):
            a, b = uniform((side, side), dtype), uniform((side, side), dtype)
            report(f"matmul {type_name} {side}", lambda: a @ b)
        for count, side in ((64, 1024), (512, 128), (512, 64), (4096, 32)):
            a, b = uniform((count, side, side), dtype), uniform((count, side, side), dtype)
            report(f"matmul {type_name} {count}x{side}", lambda: a @ b)
        for images, channels, out, size, kernel in layers():
            x, w = uniform((images, channels, size, size), dtype), uniform((out, channels, kernel, kernel), dtype)
            name = f"{type_name} {images}x{channels}x{size} to {out} k{kernel}"
            report("conv2d " + name, lambda: F.conv2d(x, w, padding=kernel // 2))
            y = F.conv2d(x, w, padding=kernel // 2)
            for what in ("input", "weight"):
                xv, wv = x.clone().requires_grad_(what == "input"), w.clone().requires_grad_(what == "weight")
                of = xv if what == "input" else wv
                result = F.conv2d(xv, wv, padding=kernel // 2)
                report(f"conv2d_{what}_gradient " + name, lambda: torch.autograd.grad(result, of, y, retain_graph=True))


if __name__ == "__main__":
    main()
