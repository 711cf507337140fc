#!/usr/bin/env python3
"""Prints tensors as PyTorch does, and writes their bytes and texts to expected.json beside this. Ran with torch 2.15.0.

    tests/golden/display/make.py
"""
import json
import math
import pathlib

import torch
from torch._tensor_str import PRINT_OPTS, _tensor_str

DTYPES = {torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.uint16: "u16", torch.int16: "i16", torch.uint32: "u32",
          torch.int32: "i32", torch.uint64: "u64", torch.int64: "i64", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
 torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.float64: "f64"}
nan, inf = math.nan, math.inf
f32, f64, f16 = torch.float32, torch.float64, torch.float16
torch.manual_seed(3)

cases = []


def case(name, x, **options):
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    # The array's rows by brackets, without "tensor(" before and dtype behind.
    entry = {"name": name, "dtype": DTYPES[x.dtype], "shape": list(x.shape), "bytes": bytes(x.contiguous().view(torch.uint8).flatten().tolist()).hex()
             if x.dim() and x.numel() else bytes(x.reshape(-1).view(torch.uint8).tolist()).hex(),
             "precision": PRINT_OPTS.precision, "threshold": int(min(PRINT_OPTS.threshold, 2**62)), "edge_items": PRINT_OPTS.edgeitems,
             "line_width": PRINT_OPTS.linewidth, "text": _tensor_str(x, 0)}
    if options.get("sci_mode") is not None:
        entry["sci_mode"] = options["sci_mode"]
    cases.append(entry)


def t(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


case("scalar", t(3.5))
case("whole scalar", t(-3.0))
case("scalar nan", t(nan))
case("integer scalar", t(7, torch.int64))
case("bool scalar", t(True, torch.bool))
case("nothing", torch.zeros(0))
case("nothing with dims", torch.zeros(2, 0, 3))
case("one", t([1.0]))
case("whole floats", t([[1, -20], [300, 4]]))
case("fractions", t([1.5, -0.25, 100]))
case("zeros", torch.zeros(2, 2))
case("negative zero", t([0.0, -0.0, 1.5]))
case("nan alone", t([nan, inf, -inf]))
case("nan among whole numbers", t([1.0, nan, -inf, 1000]))
case("nan among fractions", t([1.5, nan, inf]))
case("ratio of 1000", t([1.0, 1000.0]))
case("ratio over 1000", t([1.0, 1001.0]))
case("ratio over 1000 with nan and 0", t([0.5, 1001.0, nan, 0, -inf]))
case("over 1e8", t([2e8, 3e8]))
case("1e8", t([1e8, 1e8]))
case("below 1e-4", t([5e-5, 6e-5]))
case("1e-4 in f64", t([1e-4, 2e-4], f64))
case("f64 of large exponents", t([1e300, -1e-300], f64))
case("sci mode off", t([1e-6, 2.5e9]), sci_mode=False)
case("sci mode on", t([1, 20.5]), sci_mode=True)
case("sci mode on, whole", t([[1, 20], [3, 4]]), sci_mode=True)
case("half to even in the last digit", t([0.00005, 0.12345, 2.5, 0.03125], f64), precision=3)
case("precision 0", t([0.5, 1.5, 2.25]), precision=0)
case("precision 10", t([1 / 3, 2 / 3], f64), precision=10)
case("bool", t([[True, False], [False, False]], torch.bool))
case("integers are padded", t([[1, -200], [30, 4]], torch.int32))
for dtype in (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int64):
    case(DTYPES[dtype], torch.arange(12).reshape(3, 4).to(dtype))
case("u64 above 2^63", torch.tensor([2**64 - 1, 5], dtype=torch.uint64))
case("i64 lowest", t([-2**63, 2**63 - 1], torch.int64))
case("f16", t([65504, 1.5, 6e-8], f16))
case("bf16", t([3.14159, -2.71828, 1e5], torch.bfloat16))
case("f8e4m3", t([0.5, 448, -1.75]).to(torch.float8_e4m3fn))
case("f8e5m2", t([0.5, 57344, -1.75]).to(torch.float8_e5m2))
case("three dims", torch.arange(24, dtype=f32).reshape(2, 3, 4))
case("four dims", torch.randn(2, 1, 2, 3))
case("five dims", torch.arange(8).reshape(2, 1, 2, 1, 2))
case("lines that wrap", torch.randn(25))
case("rows that wrap", torch.randn(2, 30))
case("just the line's width", torch.arange(100, 116).to(f32))
case("narrow lines", torch.randn(2, 5), linewidth=20)
case("lines narrower than a number", torch.randn(3), linewidth=3)
case("threshold reached", torch.arange(1000, dtype=torch.int16))
case("summarized vector", torch.arange(1001, dtype=torch.int16))
case("summarized matrix", torch.arange(40 * 30).reshape(40, 30).to(torch.int16))
case("summarized in one dim", torch.arange(300 * 4).reshape(300, 4).to(torch.int16))
case("summarized in the last dim", torch.arange(4 * 300).reshape(4, 300).to(torch.int16))
case("summarized, three dims", torch.arange(8 * 3 * 50).reshape(8, 3, 50).to(torch.int16))
case("summarized floats look at the edges alone", torch.cat([torch.ones(600), t([1e9, 0.5]), torch.ones(600)]).to(torch.bfloat16))
case("edges of one", torch.arange(1200).reshape(30, 40).to(torch.int16), edgeitems=1)
case("edges of none", torch.arange(1200).reshape(30, 40).to(torch.int16), edgeitems=0)
case("edges of none, vector", torch.arange(1200).to(torch.int16), edgeitems=0)
case("threshold 0", torch.arange(6).to(torch.uint8), threshold=0)
case("threshold 5", torch.arange(10).to(torch.uint8), threshold=5)
case("short", torch.randn(9, 9), profile="short")
case("short, summarized", torch.arange(1100).reshape(11, 100).to(torch.int16), profile="short")
case("full", torch.arange(1001).to(torch.int16), profile="full")

path = pathlib.Path(__file__).resolve().parent / "expected.json"
path.write_text(json.dumps({"cases": cases}, indent=0) + "\n")
print(len(cases), "cases")
