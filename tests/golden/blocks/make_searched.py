#!/usr/bin/env python3
"""Writes searched.safetensors: elements, and the blocks that ggml's search quantizes them to. Ran with llama.cpp of
llama-cpp-python 0.3.36's source archive.

    tests/golden/blocks/make_searched.py PATH/TO/libggml-base.so
"""
import ctypes
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

ggml = ctypes.CDLL(sys.argv[1])
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
POINTER = ctypes.c_void_p

random = np.random.default_rng(37)
rows = [random.normal(0, 1, 256), random.uniform(-0.01, 0.01, 256), random.normal(1, 0.2, 256),
        random.normal(0, 1, 256) * np.exp(random.normal(0, 2, 256)), -np.abs(random.normal(0, 1e-3, 256)),
        np.where(np.arange(256) < 64, 100, 1) * random.normal(0, 1, 256)]
x = np.array(rows, np.float32)
tensors = {"x": x}
for name, number, size in (("q2_k", 10, 84), ("q3_k", 11, 110), ("q4_k", 12, 144), ("q5_k", 13, 176), ("q6_k", 14, 210),
                           ("iq4_nl", 20, 8 * 18), ("iq4_xs", 23, 136)):
    blocks = np.zeros((len(rows), size), np.uint8)
    ggml.ggml_quantize_chunk(number, x.ctypes.data_as(POINTER), blocks.ctypes.data_as(POINTER), ctypes.c_int64(0),
                             ctypes.c_int64(len(rows)), ctypes.c_int64(256), None)
    tensors[name] = blocks
save_file(tensors, pathlib.Path(__file__).parent / "searched.safetensors")
