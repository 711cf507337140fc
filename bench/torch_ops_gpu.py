#!/usr/bin/env python3
"""Wick's ops, other than attention and matrix products, beside PyTorch's on an NVIDIA GPU, in one process.

    bench/torch_ops_gpu.py [elementwise] [reduce] [norm] [indexing] [sort] [conv]    default: all

Needs the package wick with the module for NVIDIA GPUs, and PyTorch with CUDA. Prints a Markdown table, a row for each op, dtype and
shape: PyTorch's time divided by wick's (medians), both times, and the GB/s at which wick moves the bytes that must be moved, with
their share of a copy's GB/s in the same run. Convolutions have TFLOP/s instead.
"""
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import torch_gpu

import wick


class Row(NamedTuple):
    name: str
    x: torch.Tensor  # what dtype and shape stand for
    of_torch: Callable[[], Any]
    of_wick: Callable[[], Any]
    moved: float = 0
    flops: float = 0


def own(x: torch.Tensor) -> wick.Tensor:
    return wick.from_dlpack(x)


def both(name: str, x: torch.Tensor, y: torch.Tensor | None = None, of_torch: Callable[..., Any] | None = None) -> Row:
    """An elementwise op of the same name in both, which reads its operands and writes as much as one of them."""
    operands = [x] if y is None else [x, y]
    mine, f, g = [own(o) for o in operands], of_torch or getattr(torch, name), getattr(wick, name)
    return Row(name, x, lambda: f(*operands), lambda: g(*mine), (len(operands) + 1) * x.nbytes)


def elementwise(dtype: torch.dtype) -> Iterator[Row]:
    x, y = torch_gpu.normal(1 << 28, dtype=dtype), torch_gpu.normal(1 << 28, dtype=dtype)
    a, b = own(x), own(y)
    yield both("add", x, y)
    yield both("exp", x)
    yield both("silu", x, of_torch=F.silu)
    yield both("gelu_tanh", x, of_torch=lambda t: F.gelu(t, approximate="tanh"))
    yield Row("affine", x, lambda: x * 2.0 + 1.0, lambda: wick.affine(a, 2, 1), 2 * x.nbytes)
    yield Row("where", x, lambda: torch.where(x > 0, x, y), lambda: wick.where(a > 0, a, b), 3 * x.nbytes)
    m, n, bias = x.view(16384, 16384), own(x.view(16384, 16384)), torch_gpu.normal(16384, dtype=dtype)
    own_bias = own(bias)
    yield Row("transpose, contiguous", m, lambda: m.t().contiguous(), lambda: wick.transpose(n).contiguous(), 2 * x.nbytes)
    yield Row("add, broadcast", m, lambda: m + bias, lambda: n + own_bias, 2 * x.nbytes)
    if dtype == torch.float32:
        yield Row("cast to bf16", x, lambda: x.to(torch.bfloat16), lambda: wick.cast(a, wick.bf16), 1.5 * x.nbytes)
    del a, b, m, n
    x, y = x[: 1 << 27], y[: 1 << 27]
    for name in ("sin", "cos", "tan", "atan", "tanh", "sigmoid", "erf", "log", "log1p", "expm1", "lgamma", "digamma", "rsqrt", "relu",
                 "round", "abs"):
        yield both(name, x)
    yield both("gelu", x, of_torch=F.gelu)
    for name in ("fmod", "remainder", "atan2", "maximum"):
        yield both(name, x, y)
    yield both("pow", x.abs(), y)


def reduce(dtype: torch.dtype) -> Iterator[Row]:
    x = torch_gpu.normal(16384, 16384, dtype=dtype)
    a = own(x)
    for name, dim in (("sum", -1), ("sum", 0), ("amax", -1), ("amax", 0), ("prod", -1), ("argmax", -1), ("argmax", 0), ("var", -1),
                      ("logsumexp", -1)):
        f, g = getattr(torch, name), getattr(wick, name)
        yield Row(f"{name} of {'rows' if dim else 'columns'}", x, lambda: f(x, dim), lambda: g(a, dim), x.nbytes)
    yield Row("sum of all", x, lambda: x.sum(), lambda: wick.sum(a), x.nbytes)


def norm(dtype: torch.dtype) -> Iterator[Row]:
    for shape in ((16384, 4096), (4096, 32768)):
        x, w, b = (torch_gpu.normal(*s, dtype=dtype) for s in (shape, shape[1:], shape[1:]))
        a, c, d = own(x), own(w), own(b)
        yield Row("softmax", x, lambda: F.softmax(x, -1), lambda: wick.softmax(a), 2 * x.nbytes)
        yield Row("log_softmax", x, lambda: F.log_softmax(x, -1), lambda: wick.log_softmax(a), 2 * x.nbytes)
        yield Row("rms_norm", x, lambda: F.rms_norm(x, shape[1:], w, 1e-5), lambda: wick.rms_norm(a, c), 2 * x.nbytes)
        yield Row("layer_norm", x, lambda: F.layer_norm(x, shape[1:], w, b), lambda: wick.layer_norm(a, c, d), 2 * x.nbytes)
    x, t = torch_gpu.normal(4096, 32000, dtype=dtype), torch.randint(0, 32000, (4096,), device="cuda")
    a, ids = own(x), own(t)
    yield Row("cross_entropy", x, lambda: F.cross_entropy(x, t), lambda: wick.cross_entropy(a, ids), x.nbytes)


def indexing(dtype: torch.dtype) -> Iterator[Row]:
    w, ids = torch_gpu.normal(131072, 4096, dtype=dtype), torch.randint(0, 131072, (16384,), device="cuda")
    a, i = own(w), own(ids)
    yield Row("index_select of 16384", w, lambda: w.index_select(0, ids), lambda: wick.index_select(a, 0, i), 2 * 16384 * w[0].nbytes)
    x, ix = torch_gpu.normal(8192, 8192, dtype=dtype), torch.randint(0, 8192, (8192, 8192), device="cuda")
    c, j, zeros = own(x), own(ix), torch.zeros_like(x)
    own_zeros = own(zeros)
    moved = 2 * x.nbytes + ix.nbytes
    yield Row("gather of rows", x, lambda: x.gather(1, ix), lambda: wick.gather(c, 1, j), moved)
    yield Row("scatter_add of rows", x, lambda: zeros.scatter_add(1, ix, x), lambda: wick.scatter_add(own_zeros, 1, j, c), moved)
    yield Row("flip of rows", x, lambda: x.flip(1), lambda: wick.flip(c, 1), 2 * x.nbytes)
    yield Row("cat of columns", x, lambda: torch.cat([x, x], 1), lambda: wick.cat([c, c], 1), 4 * x.nbytes)


def sort(dtype: torch.dtype) -> Iterator[Row]:
    x, y = torch_gpu.normal(4096, 32768, dtype=dtype), torch_gpu.normal(131072, 1024, dtype=dtype)
    a, b = own(x), own(y)
    yield Row("cumsum of rows", x, lambda: x.cumsum(-1), lambda: wick.cumsum(a, -1), 2 * x.nbytes)
    yield Row("cumsum of columns", x, lambda: x.cumsum(0), lambda: wick.cumsum(a, 0), 2 * x.nbytes)
    yield Row("argsort of rows", x, lambda: x.argsort(-1), lambda: wick.argsort(a))
    yield Row("argsort of rows", y, lambda: y.argsort(-1), lambda: wick.argsort(b))
    yield Row("sort of rows", x, lambda: x.sort(-1), lambda: wick.sort(a))
    yield Row("topk 64 of rows", x, lambda: x.topk(64, -1), lambda: wick.topk(a, 64), x.nbytes)
    yield Row("nonzero", x, lambda: (x > 0.5).nonzero(), lambda: wick.nonzero(a > 0.5))


def conv(dtype: torch.dtype) -> Iterator[Row]:
    x, w = torch_gpu.normal(64, 64, 56, 56, dtype=dtype), torch_gpu.normal(64, 64, 3, 3, dtype=dtype)
    a, b = own(x), own(w)
    yield Row("conv2d 3x3", x, lambda: F.conv2d(x, w, padding=1), lambda: wick.conv2d(a, b, padding=1), flops=2 * x.numel() * 9 * 64)
    yield Row("max_pool2d 2x2", x, lambda: F.max_pool2d(x, 2), lambda: wick.max_pool2d(a, (2, 2)), 1.25 * x.nbytes)


def main() -> None:
    groups = {f.__name__: f for f in (elementwise, reduce, norm, indexing, sort, conv)}
    chosen = sys.argv[1:] or list(groups)
    if unknown := [name for name in chosen if name not in groups]:
        sys.exit(f"torch_ops_gpu.py: no group {unknown[0]!r}; there are {', '.join(groups)}")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    x = torch_gpu.normal(1 << 28, dtype=torch.float32)
    y = torch.empty_like(x)
    copied = 2 * x.nbytes / torch_gpu.torch_ms(lambda: y.copy_(x), 20) / 1e6
    del x, y
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}; a copy: {copied:.0f} GB/s\n")
    print("| op | dtype | shape | PyTorch / wick | PyTorch ms | wick ms | rate | of a copy's |\n|---|---|---|---|---|---|---|---|")
    for name in chosen:
        for dtype in (torch.float32, torch.bfloat16):
            for row in groups[name](dtype):
                theirs, ours = torch_gpu.torch_ms(row.of_torch, 10), torch_gpu.wick_ms(row.of_wick, 5)
                rate = f"{row.flops / ours / 1e9:.0f} TFLOP/s" if row.flops else f"{row.moved / ours / 1e6:.0f} GB/s" if row.moved else ""
                share = f"{row.moved / ours / 1e6 / copied:.0%}" if row.moved else ""
                print(f"| {row.name} | {str(dtype)[6:]} | {'x'.join(map(str, row.x.shape))} | {theirs / ours:.2f} | {theirs:.3f} "
                      f"| {ours:.3f} | {rate} | {share} |", flush=True)


if __name__ == "__main__":
    with wick.no_grad(), torch.no_grad():
        main()
