#!/usr/bin/env python3
"""Writes expected.json: the types that llama-quantize gives the tensors of small models in files of each type, and with
which it starts: a name, a shape (row-major), and a type for each of "types". Ran with llama.cpp and gguf-py of
llama-cpp-python 0.3.36's source archive.

    PYTHONPATH=.../gguf-py tests/golden/file_types/make.py PATH/TO/llama-quantize
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGUFReader, GGUFWriter

HERE = pathlib.Path(__file__).parent
TYPES = ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k_s", "q3_k_m", "q3_k_l", "q4_k_s",
         "q4_k_m", "q5_k_s", "q5_k_m", "q6_k", "iq4_nl", "iq4_xs", "mxfp4_moe", "tq1_0", "tq2_0"]


def tensors(layers, row, tied, experts, values_only):
    names = {"token_embd.weight": (2, row), "output_norm.weight": (row,), "rope_freqs.weight": (4,)}
    if not tied:
        names["output.weight"] = (2, row)
    if values_only:
        return {f"blk.{i}.attn_v.weight": (2, row) for i in range(layers)}
    for i in range(layers):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            names[f"blk.{i}.{part}.weight"] = (2, row)
        names[f"blk.{i}.attn_norm.weight"] = (row,)
        for part in ("ffn_down", "ffn_up"):
            names[f"blk.{i}.{part}{'_exps' if experts else ''}.weight"] = (experts, 2, row) if experts else (2, row)
        if experts:
            names[f"blk.{i}.ffn_gate_inp.weight"] = (2, row)
    names["blk.0.attn_v.bias"] = (row,)
    names["blk.0.ffn_gate.weight"] = (1, row)
    return names


def write(path, architecture, layers, row, tied=True, experts=0, heads=2, values_only=False):
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_context_length(32)
    writer.add_embedding_length(row)
    writer.add_feed_forward_length(row)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
    shapes = tensors(layers, row, tied, experts, values_only)
    for name, shape in shapes.items():
        writer.add_tensor(name, np.zeros(shape, np.float32 if len(shape) == 1 else np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return shapes


expected = {"types": TYPES, "models": []}
for model in (dict(architecture="llama", layers=9, row=256), dict(architecture="llama", layers=10, row=256, tied=False),
              dict(architecture="qwen3", layers=8, row=96), dict(architecture="qwen3", layers=2, row=40, tied=False),
              dict(architecture="llama", layers=9, row=256, tied=False, experts=8),
              dict(architecture="llama", layers=80, row=256, values_only=True),
              dict(architecture="llama", layers=17, row=256, tied=False, heads=4),
              dict(architecture="llama", layers=2, row=256, tied=False, experts=4, heads=8)):
    with tempfile.TemporaryDirectory() as folder:
        whole = f"{folder}/whole.gguf"
        shapes = write(whole, **model)
        found = {name: [] for name in shapes}
        for kind in TYPES:
            out = f"{folder}/{kind}.gguf"
            subprocess.run([sys.argv[1], whole, out, kind.upper(), "1"], check=True, capture_output=True)
            for t in GGUFReader(out).tensors:
                found[t.name].append(t.tensor_type.name.lower())
    rows = [f"{name} {'x'.join(map(str, shapes[name]))} {' '.join(types)}" for name, types in found.items()]
    expected["models"].append({"architecture": model["architecture"], "layers": model["layers"],
                               "experts": model.get("experts", 0), "heads": model.get("heads", 2), "tensors": rows})

with open(HERE / "expected.json", "w") as file:
    json.dump(expected, file, indent=1)
    file.write("\n")
