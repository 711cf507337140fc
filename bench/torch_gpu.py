#!/usr/bin/env python3
"""Attention and matrix products of wick beside PyTorch's on an NVIDIA GPU, in one process.

    bench/torch_gpu.py [sdpa] [masked] [gradient] [decode] [matmul] [epilogue] [exact] [rows]    default: all

Needs the package wick with the module for NVIDIA GPUs, and PyTorch with CUDA. A row has PyTorch's time divided by wick's, both times
(medians), both rates, and the largest difference of the results. WICK_GPU_LIBS=off times wick's own kernels where it would else call
the vendor's.
"""
import itertools
import sys
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

import wick

DEVICE = wick.Device("cuda:0")


def torch_ms(call: Callable[[], torch.Tensor], runs: int) -> float:
    times = []
    for _ in range(runs + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times[3:])[runs // 2]


def wick_ms(call: Callable[[], wick.Tensor], runs: int) -> float:
    times = []
    for _ in range(6):
        DEVICE.synchronize()
        begin = time.perf_counter()
        for _ in range(runs):
            call()
        DEVICE.synchronize()
        times.append((time.perf_counter() - begin) / runs * 1e3)
    return sorted(times[1:])[2]


def row(name: str, of_torch: Callable[[], torch.Tensor], of_wick: Callable[[], wick.Tensor], flops: float = 0, moved: float = 0,
        runs: int = 20) -> None:
    """Compares and times two calls. flops: of the product; moved: bytes that must be read, where that is the limit."""
    y = of_torch().float()
    difference = (torch.from_dlpack(of_wick()).float() - y).abs().max().item()
    theirs, ours = torch_ms(of_torch, runs), wick_ms(of_wick, runs)
    rates = [f"{(flops / ms / 1e9 if flops else moved / ms / 1e6):7.0f}" for ms in (theirs, ours)]
    print(f"{theirs / ours:5.2f}  {name:44} torch {theirs:8.4f} ms {rates[0]}  wick {ours:8.4f} ms {rates[1]} "
          f"{'TFLOP/s' if flops else 'GB/s'}  difference {difference:.1e} of {y.abs().max().item():.1e}", flush=True)


def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


def sdpa() -> None:
    """Prompts: [batch, heads, key heads, length, D]."""
    for b, h, g, s, d in ((4, 32, 32, 4096, 128), (4, 32, 8, 4096, 128), (8, 16, 16, 2048, 64), (4, 32, 32, 2048, 80), (4, 32, 32, 2048, 96),
                          (2, 16, 8, 4096, 256), (1, 32, 8, 4096, 128), (1, 32, 8, 512, 128)):
        for dtype in (torch.bfloat16, torch.float16):
            q, k, v = normal(b, h, s, d, dtype=dtype), normal(b, g, s, d, dtype=dtype), normal(b, g, s, d, dtype=dtype)
            x, y, z = (wick.from_dlpack(t) for t in (q, k, v))
            for causal in (True, False):
                row(f"sdpa {str(dtype)[6:]} {b}x{h}/{g}x{s}x{d}{' causal' if causal else ''}",
                    lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != g),
                    lambda: wick.sdpa(x, y, z, is_causal=causal), flops=(2 if causal else 4) * b * h * s * s * d, runs=8)


def masks(b: int, h: int, s: int) -> list[tuple[str, torch.Tensor]]:
    """Sequences of unequal length, padded; a bias of each head and pair, as ALiBi's."""
    seen = torch.arange(s, device="cuda") < torch.randint(s // 2, s + 1, (b, 1, 1, 1), device="cuda")
    return [("padded", seen), ("biased", normal(1, h, s, s))]


def masked() -> None:
    """sdpa under those masks."""
    for b, h, s, d in ((16, 12, 512, 64), (4, 32, 2048, 128)):
        q, k, v = normal(b, h, s, d), normal(b, h, s, d), normal(b, h, s, d)
        x, y, z = (wick.from_dlpack(t) for t in (q, k, v))
        for name, mask in masks(b, h, s):
            m = wick.from_dlpack(mask)
            row(f"sdpa bfloat16 {b}x{h}x{s}x{d} {name}", lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
                lambda: wick.sdpa(x, y, z, mask=m), flops=4 * b * h * s * s * d, runs=8)


def compare_gradients(out: torch.Tensor, of: Sequence[torch.Tensor], seed: torch.Tensor, own: wick.Tensor, own_of: Sequence[wick.Var],
                      own_seed: wick.Tensor) -> None:
    theirs = torch.autograd.grad(out, of, seed, retain_graph=True)
    ours = wick.grad(own, own_of, seed=own_seed)
    for name, a, b in zip("qkv", theirs, ours):
        difference = (torch.from_dlpack(b).float() - a.float()).abs().max().item()
        print(f"      g{name}: difference {difference:.1e} of {a.abs().max().item():.1e}")


def gradient() -> None:
    """Backward of prompts: the gradients of q, k and v, after one forward."""
    for b, h, g, s, d in ((4, 32, 32, 4096, 128), (4, 32, 8, 4096, 128), (8, 16, 16, 2048, 64), (4, 32, 32, 2048, 80), (4, 32, 32, 2048, 96),
                          (2, 16, 8, 4096, 256)):
        for dtype in (torch.bfloat16, torch.float16):
            q, k, v = (normal(b, n, s, d, dtype=dtype).requires_grad_() for n in (h, g, g))
            seed = normal(b, h, s, d, dtype=dtype)
            x, y, z = (wick.Var(wick.from_dlpack(t.detach())) for t in (q, k, v))
            own_seed = wick.from_dlpack(seed)
            for causal in (True, False):
                out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != g)
                own = wick.sdpa(x, y, z, is_causal=causal)
                compare_gradients(out, (q, k, v), seed, own, [x, y, z], own_seed)
                row(f"gradient {str(dtype)[6:]} {b}x{h}/{g}x{s}x{d}{' causal' if causal else ''}",
                    lambda: torch.autograd.grad(out, (q, k, v), seed, retain_graph=True)[2],
                    lambda: wick.grad(own, [x, y, z], seed=own_seed)[2], flops=(5 if causal else 10) * b * h * s * s * d, runs=8)
    masked_gradient()


def masked_gradient() -> None:
    """Backward under masks, which need no gradient."""
    for b, h, s, d in ((16, 12, 512, 64), (4, 32, 2048, 128)):
        q, k, v = (normal(b, h, s, d).requires_grad_() for _ in range(3))
        seed = normal(b, h, s, d)
        x, y, z = (wick.Var(wick.from_dlpack(t.detach())) for t in (q, k, v))
        own_seed = wick.from_dlpack(seed)
        for name, mask in masks(b, h, s):
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            own = wick.sdpa(x, y, z, mask=wick.from_dlpack(mask))
            compare_gradients(out, (q, k, v), seed, own, [x, y, z], own_seed)
            row(f"gradient bfloat16 {b}x{h}x{s}x{d} {name}", lambda: torch.autograd.grad(out, (q, k, v), seed, retain_graph=True)[2],
                lambda: wick.grad(own, [x, y, z], seed=own_seed)[2], flops=10 * b * h * s * s * d, runs=8)


def decode() -> None:
    """A few queries over 8,192 keys."""
    for b, t in ((1, 1), (8, 1), (32, 1), (1, 4), (1, 16), (1, 64)):
        q, k, v = normal(b, 32, t, 128), normal(b, 8, 8192, 128), normal(b, 8, 8192, 128)
        x, y, z = (wick.from_dlpack(tensor) for tensor in (q, k, v))
        row(f"sdpa bfloat16 {b}x32/8x{t} over 8192x128", lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            lambda: wick.sdpa(x, y, z), moved=4 * k.numel())


def matmul() -> None:
    for dtype in (torch.bfloat16, torch.float16):
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 14336, 4096), (1024, 1024, 1024), (512, 4096, 4096),
                        (128, 4096, 14336), (64, 28672, 8192)):
            a, b, c = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), normal(n, k, dtype=dtype)
            x, y, z = (wick.from_dlpack(t) for t in (a, b, c))
            row(f"{str(dtype)[6:]} {m}x{n}x{k}", lambda: a @ b, lambda: x @ y, flops=2 * m * n * k)
            row(f"{str(dtype)[6:]} {m}x{n}x{k}, b transposed", lambda: a @ c.T, lambda: x @ z.transpose(0, 1), flops=2 * m * n * k)
    a, b = normal(64, 1024, 1024), normal(64, 1024, 1024)
    x, y = wick.from_dlpack(a), wick.from_dlpack(b)
    row("bfloat16 64 of 1024x1024x1024", lambda: a @ b, lambda: x @ y, flops=2 * 64 * 1024**3)


def epilogue() -> None:
    """A layer of a network at once: a product with a bias, an activation and a residual."""
    for m, n, k in ((4096, 4096, 4096), (64, 14336, 4096), (1, 14336, 4096)):
        a, w, b, r = normal(m, k), normal(n, k) / k**0.5, normal(n), normal(m, n)
        x, weight, bias, residual = (wick.from_dlpack(t) for t in (a, w, b, r))
        flops = 2 * m * n * k
        row(f"linear bfloat16 {m}x{n}x{k}", lambda: F.linear(a, w, b), lambda: wick.linear(x, weight, bias), flops=flops)
        row(f"linear bfloat16 {m}x{n}x{k} + residual", lambda: F.linear(a, w, b) + r,
            lambda: wick.linear(x, weight, bias, residual=residual), flops=flops)
        row(f"gelu(linear) bfloat16 {m}x{n}x{k}", lambda: F.gelu(F.linear(a, w, b)),
            lambda: wick.linear(x, weight, bias, activation="gelu"), flops=flops)
        row(f"gelu(linear) bfloat16 {m}x{n}x{k} + residual", lambda: F.gelu(F.linear(a, w, b)) + r,
            lambda: wick.linear(x, weight, bias, activation="gelu", residual=residual), flops=flops)
        row(f"gelu(linear) bfloat16 {m}x{n}x{k} to float32", lambda: F.gelu(F.linear(a, w, b)).float(),
            lambda: wick.linear(x, weight, bias, activation="gelu", dtype=wick.f32), flops=flops)


def exact() -> None:
    """f32 without TF32, and f64."""
    for dtype in (torch.float32, torch.float64):
        for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (1024, 1024, 1024), (512, 4096, 4096)):
            a, b, c = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), normal(n, k, dtype=dtype)
            x, y, z = (wick.from_dlpack(t) for t in (a, b, c))
            row(f"{str(dtype)[6:]} {m}x{n}x{k}", lambda: a @ b, lambda: x @ y, flops=2 * m * n * k)
            row(f"{str(dtype)[6:]} {m}x{n}x{k}, b transposed", lambda: a @ c.T, lambda: x @ z.transpose(0, 1), flops=2 * m * n * k)
    a, b = normal(64, 1024, 1024, dtype=torch.float32), normal(64, 1024, 1024, dtype=torch.float32)
    x, y = wick.from_dlpack(a), wick.from_dlpack(b)
    row("float32 64 of 1024x1024x1024", lambda: a @ b, lambda: x @ y, flops=2 * 64 * 1024**3)


def rows() -> None:
    """A few rows by weights that no cache holds: the GB/s at which those are read."""
    for n, k in ((1024, 8192), (4096, 8192), (28672, 8192), (14336, 4096)):
        weights = [normal(n, k) for _ in range(max(2, 3 * 10**8 // (2 * n * k)))]
        transposed = [wick.from_dlpack(w).transpose(0, 1) for w in weights]
        for m in (1, 2, 4, 5, 8, 16, 17, 32, 33, 64, 65, 128, 129, 256):
            a = normal(m, k)
            x, turns, own_turns = wick.from_dlpack(a), itertools.cycle(weights), itertools.cycle(transposed)
            row(f"bfloat16 {m} rows by {n}x{k}", lambda: a @ next(turns).T, lambda: x @ next(own_turns), moved=2 * n * k, runs=30)


if __name__ == "__main__":
    groups = {"sdpa": sdpa, "masked": masked, "gradient": gradient, "decode": decode, "matmul": matmul, "epilogue": epilogue, "exact": exact, "rows": rows}
    chosen = sys.argv[1:] or list(groups)
    if unknown := [name for name in chosen if name not in groups]:
        sys.exit(f"torch_gpu.py: no group {unknown[0]!r}; there are {', '.join(groups)}")
    print(torch.__version__, torch.cuda.get_device_name())
    for name in chosen:
        if name == "gradient":
            gradient()
            continue
        with wick.no_grad(), torch.no_grad():
            groups[name]()
