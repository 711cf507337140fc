#!/usr/bin/env python3
"""Loading a model onto an NVIDIA GPU beside the rates that limit it, in one run.

    bench/load_gpu.py WICK [FOLDER] [GB]     WICK: the program; FOLDER: where the model is written (/tmp/load_gpu), of GB gigabytes (16)

Needs the program with the module for NVIDIA GPUs, PyTorch with CUDA, NumPy, and twice the model's size in memory. The model is a Llama of
random numbers in bf16, which the page cache holds: it is read once before. Prints in GB/s how fast one thread and four read the
file, how fast PyTorch copies pinned memory to the card, and how fast `wick bench` loads (best of three), with its shares of
what limits it.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import torch

PART = 16 << 20


def shapes(layers: int) -> dict[str, list[int]]:
    result = {"model.embed_tokens.weight": [32000, 4096], "model.norm.weight": [4096], "lm_head.weight": [32000, 4096]}
    for i in range(layers):
        result |= {f"model.layers.{i}.{name}.weight": size for name, size in {
            "self_attn.q_proj": [4096, 4096], "self_attn.k_proj": [1024, 4096], "self_attn.v_proj": [1024, 4096],
            "self_attn.o_proj": [4096, 4096], "mlp.gate_proj": [14336, 4096], "mlp.up_proj": [14336, 4096],
            "mlp.down_proj": [4096, 14336], "input_layernorm": [4096], "post_attention_layernorm": [4096]}.items()}
    return result


def write_model(folder: str, size: float) -> str:
    """A folder with config.json and model.safetensors. Returns the latter's path."""
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, "model.safetensors")
    layers = max(1, round((size * 1e9 / 2 - 2 * 32000 * 4096) / 218e6))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as config:
        json.dump({"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": layers,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 4096}, config)
    header, at = {}, 0
    for name, shape in shapes(layers).items():
        bytes_of = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + bytes_of]}
        at += bytes_of
    text = json.dumps(header).encode()
    # Exponents of 2^-7 and 2^-6, so that no number overflows later.
    noise = np.random.default_rng(1).integers(0, 1 << 16, 1 << 25, np.uint16) & 0x80FF | 0x3C00
    with open(file, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        left = at
        while left > 0:
            left -= out.write(noise.tobytes()[:left])
    return file


def read_rate(file: str, threads: int) -> float:
    """Reading from the page cache into buffers of 16 MiB, in bytes per second."""
    size, descriptor = os.path.getsize(file), os.open(file, os.O_RDONLY)

    def read_every(first: int) -> None:
        buffer = bytearray(PART)
        for at in range(first * PART, size, threads * PART):
            os.preadv(descriptor, [buffer], at)

    best = 0.0
    for _ in range(3):
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(read_every, range(threads)))
        best = max(best, size / (time.perf_counter() - begin))
    os.close(descriptor)
    return best


def bus_rate() -> float:
    """Copying pinned memory to the card, in bytes per second."""
    host = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)
    card = torch.empty_like(host, device="cuda")
    best = 0.0
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        card.copy_(host, non_blocking=True)
        torch.cuda.synchronize()
        best = max(best, host.numel() / (time.perf_counter() - begin))
    return best


def load_rate(program: str, folder: str) -> float:
    """What `wick bench` says of its load, in bytes per second."""
    best = 0.0
    for _ in range(3):
        done = subprocess.run([program, "bench", "-m", folder, "--device", "cuda:0", "--prompt", "1", "--tokens", "0"], capture_output=True,
                              text=True, check=True)
        loaded = re.search(r"MiB loaded in .*\(([0-9,]+) MiB/s\)", done.stderr)
        if not loaded:
            sys.exit(f"{program} said nothing of a load: {done.stderr}")
        best = max(best, float(loaded[1].replace(",", "")) * (1 << 20))
    return best


def main() -> None:
    defaults = ["", "/tmp/load_gpu", "16"]
    program, folder, size = [*sys.argv[1:4], *defaults[len(sys.argv[1:4]):]]
    file = write_model(folder, float(size))
    print(f"{torch.cuda.get_device_name()}, {os.path.getsize(file) / 1e9:.1f} GB")
    one, four, bus = read_rate(file, 1), read_rate(file, 4), bus_rate()
    print(f"page cache, one thread: {one / 1e9:.1f} GB/s; four threads: {four / 1e9:.1f} GB/s; bus: {bus / 1e9:.1f} GB/s")
    load = load_rate(program, folder)
    print(f"wick's load: {load / 1e9:.1f} GB/s, {load / min(four, bus):.2f} of the lesser of four threads and the bus, "
          f"{load / min(one, bus):.2f} of the lesser of one thread and the bus")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
