#!/usr/bin/env python3
"""Writes blocks.safetensors: random blocks of each type and the elements that gguf-py decodes them to, and elements and the
blocks that it quantizes them to. Ran with gguf 0.19.0 and NumPy 2.4; ggml's C code in
llama-cpp-python 0.3.36's source archive, compiled with -ffp-contract=off, gives the same bytes.

    tests/golden/blocks/make.py
"""
import json
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

F16_FIELDS = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
              "Q6_K": [208], "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "IQ2_XXS": [0],
              "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": [], "TQ1_0": [52], "TQ2_0": [64]}
MXFP4_EXPONENTS = [0, 1, 127]
QUANTIZED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "TQ1_0", "TQ2_0"]
ROWS = 3

random = np.random.default_rng(36)
tensors = {}
for name, fields in F16_FIELDS.items():
    kind = GGMLQuantizationType[name]
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS, size), dtype=np.uint8)
    for field in fields:
        blocks[:, field:field + 2] = random.normal(0, 0.1, (ROWS, 1)).astype(np.float16).view(np.uint8)
    if name == "MXFP4":
        blocks[:, 0] = MXFP4_EXPONENTS
    if name == "IQ1_M":  # the upper halves of 4 bytes have 2 to 2.25
        blocks[:, 49:56:2] = blocks[:, 49:56:2] % 16 + [[0, 0, 0, 64]]
    tensors[f"{name.lower()}.blocks"] = blocks
    tensors[f"{name.lower()}.elements"] = quants.dequantize(blocks, kind).reshape(ROWS, elements)
    if name in QUANTIZED:
        x = random.normal(0, 1, (6, elements)).astype(np.float32)
        x[0], x[1], x[2] = 0, -2.5, np.arange(elements) - 16
        if name == "MXFP4":  # the logarithms of 1024 - 5 ulp and of smaller floats are not rounded to 10
            x[3, 0], x[4, 0] = 1024 - 5 * 2 ** -14, 1024 - 6 * 2 ** -14
        tensors[f"{name.lower()}.x"] = x
        tensors[f"{name.lower()}.quantized"] = quants.quantize(x, kind).reshape(6, size)

header, data = {}, b""
for name, x in tensors.items():
    header[name] = {"dtype": {"uint8": "U8", "float32": "F32"}[x.dtype.name], "shape": list(x.shape),
                    "data_offsets": [len(data), len(data) + x.nbytes]}
    data += x.tobytes()
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
(pathlib.Path(__file__).parent / "blocks.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
