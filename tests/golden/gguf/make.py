#!/usr/bin/env python3
"""Writes GGUF files with gguf-py, and what they hold to expected.json beside them. Ran with the gguf package in
llama-cpp-python 0.3.36's source archive (vendor/llama.cpp/gguf-py; gguf 0.19.0 has another size for q8_1).

    PYTHONPATH=.../gguf-py tests/golden/gguf/make.py
"""
import json
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType, GGUFWriter

HERE = pathlib.Path(__file__).parent


def bytes_of(seed, n):
    return np.array([(7 * i + 31 * seed) % 256 for i in range(n)], np.uint8)


def add_tensors(writer, tensors, types):
    """Two rows of one block for each type; the bytes of tensor k are 31 k + 7 i."""
    for t in types:
        elements, size = GGML_QUANT_SIZES[t]
        name, seed = "a." + t.name.lower(), len(tensors)
        writer.add_tensor(name, bytes_of(seed, 2 * size).reshape(2, size), raw_shape=(2, size), raw_dtype=t)
        tensors[name] = {"type": t.name.lower(), "shape": [2, elements], "bytes": 2 * size, "seed": seed}


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# Every type of value.
V = GGUFValueType
metadata = {"general.architecture": "test"}
writer = GGUFWriter(HERE / "all.gguf", "test")
for key, value, kind in [
        ("u8", 255, V.UINT8), ("i8", -128, V.INT8), ("u16", 65535, V.UINT16), ("i16", -32768, V.INT16),
        ("u32", 2**32 - 1, V.UINT32), ("i32", -2**31, V.INT32), ("u64", 2**63 - 1, V.UINT64), ("i64", -2**63, V.INT64),
        ("f32", 0.15625, V.FLOAT32), ("f64", 0.1, V.FLOAT64), ("true", True, V.BOOL), ("false", False, V.BOOL),
        ("text", "a \"line\"\nGr\u00fc\u00dfe \U0001f56f", V.STRING), ("no text", "", V.STRING)]:
    writer.add_key_value(key, value, kind)
    metadata[key] = value
for key, value, kind in [
        ("u8s", [0, 1, 255], V.UINT8), ("i32s", [-1, 2], V.INT32), ("f32s", [0.5, -2.0], V.FLOAT32), ("f64s", [0.1], V.FLOAT64),
        ("bools", [True, False, True], V.BOOL), ("texts", ["a", "", "\u00e9"], V.STRING), ("u64s", [2**63 - 1], V.UINT64),
        ("nested", [[1, 2], [3]], V.ARRAY), ("deeper", [[["a"], ["b", "c"]]], V.ARRAY)]:
    writer.add_key_value(key, value, V.ARRAY, kind)
    metadata[key] = value
tensors = {}
add_tensors(writer, tensors, GGMLQuantizationType)
writer.add_tensor("b.four", np.arange(24, dtype=np.float32).reshape(2, 3, 1, 4))
tensors["b.four"] = {"type": "f32", "shape": [2, 3, 1, 4], "bytes": 96}
write(writer)

# Three files of two tensors each, but one of one.
parts = {}
writer = GGUFWriter(HERE / "split.gguf", "test", split_max_tensors=2)
add_tensors(writer, parts, list(GGMLQuantizationType)[:5])
write(writer)

with open(HERE / "expected.json", "w") as file:
    json.dump({"metadata": metadata, "tensors": tensors, "split": parts}, file, indent=1)
    file.write("\n")
