#!/usr/bin/env python3
"""Makes cases.json and cases.safetensors: ops and their gradients as PyTorch has them.

    make.py [FOLDER]        needs torch and safetensors; written with PyTorch 2.15 on a CPU

A case is an op by wick's name, options by the names of its parameters, inputs, a seed (the gradient of the output), the
output, and the gradients of the floating inputs; `transposed`: the op is handed the first input transposed. Values stand on a
coarse grid where a case is about ties.
"""
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

cases, tensors = [], {}
random = torch.Generator().manual_seed(7)


def values(*shape, dtype=torch.float32, low=-2.0, high=2.0, grid=0.0, no_gradient=False):
    x = torch.rand(shape, generator=random, dtype=torch.float64) * (high - low) + low
    if grid:
        x = torch.round(x / grid) * grid
    x = x.to(dtype)
    x.constant = no_gradient
    return x


def ids(*shape, limit, distinct=False):
    if distinct:  # along the last dim
        rows = [torch.randperm(limit, generator=random)[: shape[-1]] for _ in range(math.prod(shape[:-1]))]
        x = torch.stack(rows).reshape(shape)
    else:
        x = torch.randint(0, limit, shape, generator=random)
    x.constant = True
    return x


def mask(*shape):
    x = torch.rand(shape, generator=random) > 0.5
    x.constant = True
    return x


def case(op, function, inputs, transposed=False, **options):
    leaves = []
    for x in inputs:
        wanted = x.is_floating_point() and not getattr(x, "constant", False)
        leaves.append(x.detach().clone().requires_grad_(wanted))
    y = function(*leaves)
    name = f"{len(cases):03}"
    tensors[f"{name}.y"] = y.detach().contiguous().clone()
    entry = {"op": op, "inputs": len(inputs), "gradients": []}
    if options:
        entry["options"] = options
    if transposed:
        entry["transposed"] = True
    if op == "digamma":
        entry["tolerance"] = 1e-6  # PyTorch's trigamma is no better
    for i, x in enumerate(leaves):
        tensors[f"{name}.x{i}"] = x.detach().contiguous().clone()
    wanted = [i for i, x in enumerate(leaves) if x.requires_grad]
    if y.requires_grad:
        seed = values(*y.shape, dtype=torch.float64, grid=0.25).to(y.dtype)
        tensors[f"{name}.seed"] = seed
        found = torch.autograd.grad(y, [leaves[i] for i in wanted], seed, allow_unused=True)
        for i, g in zip(wanted, found):
            if g is not None:
                entry["gradients"].append(i)
                tensors[f"{name}.g{i}"] = g.contiguous().clone()
    cases.append(entry)


f32, f64, bf16, f16 = torch.float32, torch.float64, torch.bfloat16, torch.float16

# ---- elementwise, one operand; (low, high) where the function is smooth enough to compare
UNARY = {
    "neg": (torch.neg, -2, 2), "abs": (torch.abs, -2, 2), "relu": (torch.relu, -2, 2), "square": (torch.square, -2, 2),
    "reciprocal": (torch.reciprocal, 0.5, 2), "sqrt": (torch.sqrt, 0.25, 3), "rsqrt": (torch.rsqrt, 0.25, 3), "exp": (torch.exp, -2, 2),
    "exp2": (torch.exp2, -2, 2), "expm1": (torch.expm1, -2, 2), "log": (torch.log, 0.25, 3), "log2": (torch.log2, 0.25, 3),
    "log10": (torch.log10, 0.25, 3), "log1p": (torch.log1p, -0.5, 3), "sin": (torch.sin, -4, 4), "cos": (torch.cos, -4, 4),
    "tan": (torch.tan, -1, 1), "asin": (torch.asin, -0.9, 0.9), "acos": (torch.acos, -0.9, 0.9), "atan": (torch.atan, -3, 3),
    "sinh": (torch.sinh, -2, 2), "cosh": (torch.cosh, -2, 2), "tanh": (torch.tanh, -2, 2), "asinh": (torch.asinh, -3, 3),
    "acosh": (torch.acosh, 1.25, 3), "atanh": (torch.atanh, -0.8, 0.8), "erf": (torch.erf, -2, 2), "erfc": (torch.erfc, -2, 2),
    "lgamma": (torch.lgamma, 0.5, 4), "digamma": (torch.digamma, 0.5, 4), "sigmoid": (torch.sigmoid, -4, 4), "silu": (F.silu, -4, 4),
    "gelu": (F.gelu, -3, 3), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), -3, 3), "floor": (torch.floor, -4, 4),
    "ceil": (torch.ceil, -4, 4), "round": (torch.round, -4, 4), "trunc": (torch.trunc, -4, 4), "sign": (torch.sign, -2, 2),
    "frac": (torch.frac, -4, 4), "softplus": (F.softplus, -4, 4), "elu": (F.elu, -3, 3),
}
for op, (function, low, high) in UNARY.items():
    case(op, function, [values(3, 4, low=low, high=high)])
    case(op, function, [values(2, 1, 5, dtype=f64, low=low, high=high)])
    if op not in ("lgamma", "digamma", "tan"):
        case(op, function, [values(7, dtype=bf16, low=low, high=high)])
for op in ("abs", "relu", "square", "round", "floor", "sign", "elu", "softplus"):  # on kinks and steps
    case(op, UNARY[op][0], [values(5, 5, low=-2, high=2, grid=0.5)])
case("leaky_relu", lambda x: F.leaky_relu(x, 0.25), [values(4, 4, grid=0.5)], slope=0.25)
case("elu", lambda x: F.elu(x, 1.5), [values(4, 4)], alpha=1.5)
case("affine", lambda x: x * 2.5 - 1.25, [values(4, 4)], scale=2.5, offset=-1.25)
case("softplus", lambda x: F.softplus(x, 2, 1), [values(4, 4)], beta=2.0, threshold=1.0)
for low, high in ((-1, 1), (None, 0.5), (-0.5, None)):
    case("clamp", lambda x: torch.clamp(x, low, high), [values(5, 5, grid=0.5)], **{k: float(v) for k, v in (("min", low), ("max", high)) if v is not None})

# ---- elementwise, two operands: broadcasting, mixed dtypes, ties
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "minimum": torch.minimum,
    "pow": torch.pow, "atan2": torch.atan2, "hypot": torch.hypot, "logaddexp": torch.logaddexp,
    "remainder": torch.remainder, "fmod": torch.fmod, "floor_divide": lambda a, b: torch.floor(a / b),
}
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (2, 3))]
for op, function in BINARY.items():
    positive = op in ("pow", "div", "remainder", "fmod", "floor_divide")
    low = 0.5 if positive else -2
    for i, (a, b) in enumerate(SHAPES):
        if op == "floor_divide" and i > 1:
            continue
        dtype = f64 if i % 2 else f32
        case(op, function, [values(*a, dtype=dtype, low=low), values(*b, dtype=dtype, low=low)])
    if op not in ("hypot", "floor_divide", "remainder", "fmod"):
        case(op, function, [values(6, dtype=bf16, low=low, grid=0.125), values(6, dtype=bf16, low=low, grid=0.125)])
for op in ("maximum", "minimum"):
    case(op, BINARY[op], [values(6, 6, grid=0.5), values(6, 6, grid=0.5)])
    case(op, BINARY[op], [values(6, 6, grid=0.5), values(6, grid=0.5)])
for op in ("add", "mul", "sub", "div"):
    case(op, BINARY[op], [values(3, 4, low=1), values(4, dtype=f64, low=1)])
    case(op, BINARY[op], [values(3, 4, low=1), values(dtype=f64, low=1)])
    case(op, BINARY[op], [values(3, 4, dtype=bf16, low=1), values(4, low=1)])
case("pow", torch.pow, [torch.tensor([0.0, 0.0, -2.0, -1.5, 3.0]), torch.tensor([0.0, 2.0, 2.0, 3.0, -1.0])])
case("pow", lambda x: x**3, [values(5)], b=3.0)
case("pow", lambda x: x**0.5, [values(5, low=0.25)], b=0.5)
for a, b, c in [((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), (3, 4)), ((), (3, 4), (4,))]:
    case("where", lambda m, x, y: torch.where(m, x, y), [mask(3, 4), values(*b), values(*c)])
    case("where", lambda m, x, y: torch.where(m, x, y), [mask(*a), values(*b, dtype=f64), values(*c, dtype=f64)])
case("masked_fill", lambda x, m: x.masked_fill(m, 7.0), [values(3, 4), mask(3, 4)], value=7.0)
case("masked_fill", lambda x, m: x.masked_fill(m, -1.0), [values(3, 4), mask(4)], value=-1.0)
case("lerp", torch.lerp, [values(3, 4), values(3, 4), values(3, 4, low=0, high=1)])
case("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=2.0), [values(3, 4), values(3, 4), values(4)], value=2.0)
case("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b, value=2.0), [values(3, 4), values(3, 4), values(4, low=1)], value=2.0)

# ---- reductions: several dims, ties, zeros
for dims in ([], [0], [1], [-1], [0, 2], [0, 1, 2]):
    d = dims or None
    for keepdim in (False, True):
        if keepdim and not dims:
            continue
        o = {"dims": dims, "keepdim": keepdim}
        x = lambda: values(3, 4, 2)
        case("sum", lambda x: torch.sum(x, d, keepdim) if d else torch.sum(x), [x()], **o)
        case("mean", lambda x: torch.mean(x, d, keepdim) if d else torch.mean(x), [values(3, 4, 2, dtype=f64)], **o)
        case("amax", lambda x: torch.amax(x, d or [], keepdim), [values(3, 4, 2, grid=1.0)], **o)
        case("amin", lambda x: torch.amin(x, d or [], keepdim), [values(3, 4, 2, grid=1.0)], **o)
        case("var", lambda x: torch.var(x, d, keepdim=keepdim), [x()], **o)
        case("logsumexp", lambda x: torch.logsumexp(x, d or [0, 1, 2], keepdim), [x()], **o)
    if len(dims) == 1:
        dim = dims[0]
        o = {"dims": dims, "keepdim": False}
        case("max", lambda x: torch.max(x, dim)[0], [values(3, 4, 2, grid=1.0)], **o)
        case("min", lambda x: torch.min(x, dim)[0], [values(3, 4, 2, grid=1.0)], **o)
        case("prod", lambda x: torch.prod(x, dim), [values(3, 4, 2, grid=0.5)], **o)
        case("stddev", lambda x: torch.std(x, dim), [values(3, 4, 2, dtype=f64)], **o)
        case("argmax", lambda x: torch.argmax(x, dim), [values(3, 4, 2)], dim=dim, keepdim=False)
        for op in ("cumsum", "cumprod", "logcumsumexp"):
            case(op, lambda x: getattr(torch, op)(x, dim), [values(3, 4, 2, grid=0.5)], dim=dim)
        case("cummax", lambda x: torch.cummax(x, dim)[0], [values(3, 4, 2)], dim=dim)
        case("cummin", lambda x: torch.cummin(x, dim)[0], [values(3, 4, 2)], dim=dim)
        for p in (0.0, 1.0, 2.0, 3.0, math.inf):
            case("norm", lambda x: torch.linalg.vector_norm(x, p, dim), [values(3, 4, 2)], p="inf" if p == math.inf else p, **o)
case("max", lambda x: torch.max(x), [values(3, 4, grid=1.0)], dims=[], keepdim=False)
case("prod", lambda x: torch.prod(x), [torch.tensor([2.0, 0.0, 3.0, 0.5])], dims=[], keepdim=False)
case("prod", lambda x: torch.prod(x), [torch.tensor([2.0, 0.0, 3.0, 0.0])], dims=[], keepdim=False)
case("cumprod", lambda x: torch.cumprod(x, 0), [torch.tensor([2.0, 0.0, 3.0, 0.0, 1.5])], dim=0)
case("var", lambda x: torch.var(x, correction=0), [values(3, 4)], dims=[], keepdim=False, correction=0)

# ---- sorting
for dim in (0, 1, -1):
    for descending in (False, True):
        case("sort", lambda x: torch.sort(x, dim, descending, stable=True)[0] if False else torch.sort(x, dim=dim, descending=descending, stable=True)[0],
             [values(5, 6)], dim=dim, descending=descending)
        case("argsort", lambda x: torch.sort(x, dim=dim, descending=descending, stable=True)[1], [values(5, 6, grid=1.0)], dim=dim, descending=descending)
        case("topk", lambda x: torch.topk(x, 3, dim, descending)[0], [values(5, 6)], k=3, dim=dim, largest=descending)
    case("kthvalue", lambda x: torch.kthvalue(x, 2, dim)[0], [values(5, 6)], k=2, dim=dim)
    case("median", lambda x: torch.median(x, dim)[0], [values(5, 6)], dim=dim)

# ---- indexing: repeated ids, fewer off the axis
for dim in (0, 1, 2):
    shape = [4, 5, 3]
    n = shape[dim]
    case("index_select", lambda x, i: torch.index_select(x, dim, i), [values(*shape), ids(6, limit=n)], dim=dim)
    src = list(shape)
    src[dim] = 6
    case("index_add", lambda x, i, s: torch.index_add(x, dim, i, s), [values(*shape), ids(6, limit=n), values(*src)], dim=dim)
    small = [3, 4, 2]
    small[dim] = 7
    case("gather", lambda x, i: torch.gather(x, dim, i), [values(*shape), ids(*small, limit=n)], dim=dim)
    case("scatter_add", lambda x, i, s: torch.scatter_add(x, dim, i, s), [values(*shape), ids(*small, limit=n), values(*small)], dim=dim)
    few = [3, 4, 2]
    few[dim] = 2
    unique = ids(*[few[d] for d in range(3) if d != dim], 2, limit=n, distinct=True).movedim(-1, dim).contiguous()
    unique.constant = True
    case("scatter", lambda x, i, s: torch.scatter(x, dim, i, s), [values(*shape), unique, values(*few)], dim=dim)
    case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, dim), [values(*shape), ids(*small[:dim], 7, *small[dim + 1:], limit=n) if False else ids(*[shape[d] if d != dim else 7 for d in range(3)], limit=n)], dim=dim)
    case("index_fill", lambda x, i: torch.index_fill(x, dim, i, 2.0), [values(*shape), ids(2, limit=n)], dim=dim, value=2.0)
case("embedding", lambda w, i: F.embedding(i, w), [values(5, 3), ids(2, 6, limit=5)])
case("masked_select", torch.masked_select, [values(4, 5), mask(4, 5)])
case("masked_select", torch.masked_select, [values(4, 5), mask(5)])
for accumulate in (False, True):
    i, j = ids(4, limit=4), ids(4, limit=5)
    if not accumulate:
        i = torch.tensor([0, 1, 2, 3])
        i.constant = True
    case("index_put", lambda x, i, j, v: torch.index_put(x, (i, j), v, accumulate), [values(4, 5), i, j, values(4)], accumulate=accumulate)
    case("index_put", lambda x, i, v: torch.index_put(x, (i,), v, accumulate), [values(4, 5), i, values(5)], accumulate=accumulate)
case("index_put", lambda x, i, v: torch.index_put(x, (i,), v, True), [values(4, 5), torch.tensor([1, 1, 1, 0]), values(4, 5)], accumulate=True)

# ---- shape
for dim in (0, 1, -1):
    case("narrow", lambda x: torch.narrow(x, dim, 1, 2), [values(3, 4, 3)], dim=dim, start=1, length=2)
    case("cat", lambda a, b: torch.cat([a, b], dim), [values(3, 3, 3), values(3, 3, 3)], dim=dim)
    case("stack", lambda a, b: torch.stack([a, b], dim), [values(3, 4), values(3, 4)], dim=dim)
    case("roll", lambda x: torch.roll(x, 2, dim), [values(3, 4, 3)], shifts=[2], dims=[dim])
    case("flip", lambda x: torch.flip(x, [dim]), [values(3, 4, 3)], dims=[dim])
    case("unfold", lambda x: x.unfold(dim, 2, 1), [values(3, 4, 3)], dim=dim, size=2, step=1)
    case("repeat_interleave", lambda x: torch.repeat_interleave(x, 2, dim), [values(3, 4, 3)], times=2, dim=dim)
case("unfold", lambda x: x.unfold(0, 3, 2), [values(9)], dim=0, size=3, step=2)
case("repeat", lambda x: x.repeat(2, 3), [values(3, 4)], times=[2, 3])
case("tile", lambda x: torch.tile(x, (2,)), [values(3, 4)], times=[2])
case("transpose", lambda x: x.transpose(0, 2), [values(3, 4, 2)], dim0=0, dim1=2)
case("permute", lambda x: x.permute(2, 0, 1), [values(3, 4, 2)], order=[2, 0, 1])
case("reshape", lambda x: x.reshape(6, 4), [values(3, 4, 2)], shape=[6, 4])
case("reshape", lambda x: x.t().reshape(12), [values(3, 4)], shape=[12], transposed=True)
case("broadcast_to", lambda x: x.expand(3, 4, 2), [values(4, 1)], shape=[3, 4, 2])
for offset in (-1, 0, 2):
    case("tril", lambda x: torch.tril(x, offset), [values(4, 5)], diagonal=offset)
    case("triu", lambda x: torch.triu(x, offset), [values(2, 4, 5)], diagonal=offset)
    case("diagonal", lambda x: torch.diagonal(x, offset), [values(4, 5)], offset=offset)
for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "replicate"), ("circular", "circular")):
    case("pad", lambda x: F.pad(x, (2, 1), mode), [values(2, 3, 4)], padding=[[0, 0], [0, 0], [2, 1]], mode=name)
    case("pad", lambda x: F.pad(x, (1, 2, 1, 0), mode), [values(2, 2, 3, 4)], padding=[[0, 0], [0, 0], [1, 0], [1, 2]], mode=name)
case("pad", lambda x: F.pad(x, (1, -1), value=3.0), [values(3, 4)], padding=[[0, 0], [1, -1]], mode="constant", value=3.0)

# ---- products
for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
             ((2, 1, 3, 4), (3, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 1, 3, 4), (1, 2, 1, 4, 2))]:
    case("matmul", torch.matmul, [values(*a), values(*b)])
    case("matmul", torch.matmul, [values(*a, dtype=f64), values(*b, dtype=f64)])
case("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0), [values(3, 5), values(3, 4), values(4, 5)], beta=0.5, alpha=2.0)
case("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2.0), [values(2, 3, 5), values(2, 3, 4), values(2, 4, 5)], beta=0.5, alpha=2.0)
case("outer", torch.outer, [values(3), values(4)])
case("kron", torch.kron, [values(2, 3), values(3, 2)])
case("cross", lambda a, b: torch.linalg.cross(a, b), [values(4, 3), values(4, 3)], dim=-1)
case("tensordot", lambda a, b: torch.tensordot(a, b, 2), [values(2, 3, 4), values(3, 4, 5)], dims_a=[1, 2], dims_b=[0, 1])
case("tensordot", lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), [values(2, 3, 4), values(4, 2, 5)], dims_a=[0, 2], dims_b=[1, 0])
for text, shapes in [("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ii->i", [(4, 4)]), ("ii", [(4, 4)]),
                     ("ij->ji", [(3, 4)]), ("ij,kj->", [(3, 4), (2, 4)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]), ("i,j->ij", [(3,), (4,)]),
                     ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("ijk,jk", [(2, 3, 4), (3, 4)])]:
    case("einsum", lambda *x: torch.einsum(text, *x), [values(*s) for s in shapes], equation=text)
case("linear", F.linear, [values(2, 3, 4), values(5, 4), values(5)])

# ---- convolution
CONV2D = [dict(), dict(stride=[2, 1]), dict(padding=[1, 2]), dict(dilation=[2, 1]), dict(groups=2), dict(stride=[2, 2], padding=[1, 1], dilation=[1, 2], groups=2)]
for o in CONV2D:
    g = o.get("groups", 1)
    case("conv2d", lambda x, w, b: F.conv2d(x, w, b, **o), [values(2, 4, 6, 7), values(6, 4 // g, 3, 2), values(6)], **o)
    case("conv2d", lambda x, w: F.conv2d(x, w, **o), [values(1, 4, 6, 7, dtype=f64), values(4, 4 // g, 3, 3, dtype=f64)], **o)
    case("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, **o), [values(2, 4, 4, 5), values(4, 6 // g, 3, 2), values(6)], **o)
case("conv2d", lambda x, w: F.conv2d(x, w, padding=1, groups=4), [values(2, 4, 5, 5), values(4, 1, 3, 3)], padding=[1, 1], groups=4)
case("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), output_padding=(1, 2)), [values(1, 2, 3, 4), values(2, 3, 3, 3)], stride=[2, 3], output_padding=[1, 2])
for o in (dict(), dict(stride=2), dict(padding=2, dilation=2), dict(groups=2)):
    g = o.get("groups", 1)
    case("conv1d", lambda x, w, b: F.conv1d(x, w, b, **o), [values(2, 4, 9), values(6, 4 // g, 3), values(6)], **o)
    case("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, **o), [values(2, 4, 5), values(4, 6 // g, 3)], **o)

# ---- pooling: overlaps, ties, padding, ceil
POOL = [dict(kernel=[2, 2]), dict(kernel=[3, 2], stride=[1, 2]), dict(kernel=[3, 3], stride=[2, 2], padding=[1, 1]),
        dict(kernel=[2, 3], stride=[2, 2], ceil_mode=True), dict(kernel=[3, 3], stride=[2, 2], padding=[1, 1], ceil_mode=True)]
for o in POOL:
    t = {("kernel_size" if k == "kernel" else k): v for k, v in o.items()}
    case("max_pool2d", lambda x: F.max_pool2d(x, **t), [values(2, 3, 7, 8)], **o)
    case("max_pool2d", lambda x: F.max_pool2d(x, **t), [values(1, 2, 6, 7, dtype=f64)], **o)
    case("avg_pool2d", lambda x: F.avg_pool2d(x, **t), [values(2, 3, 7, 8)], **o)
    case("avg_pool2d", lambda x: F.avg_pool2d(x, count_include_pad=False, **t), [values(1, 2, 6, 7, dtype=f64)], count_include_pad=False, **o)
case("max_pool2d", lambda x: F.max_pool2d(x, 2, dilation=2, stride=1), [values(1, 2, 6, 6)], kernel=[2, 2], stride=[1, 1], dilation=[2, 2])
case("max_pool2d", lambda x: F.max_pool2d(x, 2, 1), [values(1, 2, 5, 5, grid=1.0)], kernel=[2, 2], stride=[1, 1])
case("avg_pool2d", lambda x: F.avg_pool2d(x, 2, divisor_override=3), [values(1, 2, 6, 6)], kernel=[2, 2], divisor_override=3)
case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), [values(2, 3, 9)], kernel=3, stride=2, padding=1)
case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), [values(2, 3, 9)], kernel=3, stride=2, padding=1)
for size in ([1, 1], [3, 2], [5, 7]):
    case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, size), [values(2, 2, 7, 5)], size=size)
    case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, size), [values(2, 2, 7, 5)], size=size)

# ---- resampling
for size in ([4, 6], [8, 9], [3, 5], [7, 4]):
    case("upsample_nearest2d", lambda x: F.interpolate(x, size, mode="nearest"), [values(2, 2, 4, 3)], size=size)
    for align in (False, True):
        case("upsample_bilinear2d", lambda x: F.interpolate(x, size, mode="bilinear", align_corners=align), [values(2, 2, 4, 3)], size=size, align_corners=align)
        case("upsample_bicubic2d", lambda x: F.interpolate(x, size, mode="bicubic", align_corners=align), [values(1, 2, 4, 3)], size=size, align_corners=align)
case("upsample_nearest1d", lambda x: F.interpolate(x, 7, mode="nearest"), [values(2, 2, 4)], size=7)

# ---- fused ops
case("softmax", lambda x: F.softmax(x, 1), [values(3, 5)], dim=1)
case("softmax", lambda x: F.softmax(x, 0), [values(3, 5, dtype=f64)], dim=0)
case("log_softmax", lambda x: F.log_softmax(x, 1), [values(3, 5)], dim=1)
case("cross_entropy", F.cross_entropy, [values(4, 5), ids(4, limit=5)])
case("rms_norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-5), [values(3, 5), values(5)], eps=1e-5)
case("swiglu", lambda a, b: F.silu(a) * b, [values(3, 5), values(3, 5)])

folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
lines = ",\n".join(json.dumps(c) for c in cases)
(folder / "cases.json").write_text('{"cases": [\n' + lines + "\n]}\n")
save_file(tensors, folder / "cases.safetensors")
differentiated = sum(bool(c["gradients"]) for c in cases)
print(f"{len(cases)} cases, {differentiated} with gradients, {len({c['op'] for c in cases})} ops")
