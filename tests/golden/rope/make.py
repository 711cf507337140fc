#!/usr/bin/env python3
"""Makes expected.json: frequencies and attention factors of scaled rotary embeddings. Ran with torch 2.15.0, transformers 5.24.0.

    tests/golden/rope/make.py
"""
import json
import pathlib

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

HERE = pathlib.Path(__file__).resolve().parent
SHORT, LONG = [1.0, 1.05, 1.1, 1.3, 1.5, 1.75, 2.0, 2.5], [1.1, 1.5, 2.0, 4.5, 9.0, 17.0, 33.0, 64.5]
# theta, head_dim, positions, what is trained; then the options of the scaling
CASES = [
    (10000.0, 64, 4096, 2048, dict(rope_type="linear", factor=2.5)),
    (10000.0, 64, 2048, 2048, dict(rope_type="dynamic", factor=2.0)),
    (10000.0, 64, 5000, 2048, dict(rope_type="dynamic", factor=2.0)),
    (10000.0, 128, 65536, 4096, dict(rope_type="yarn", factor=16.0)),
    (1000000.0, 128, 131072, 32768, dict(rope_type="yarn", factor=4.0, attention_factor=1.0)),
    (150000.0, 64, 131072, 4096, dict(rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0, truncate=False)),
    (10000.0, 64, 163840, 4096, dict(rope_type="yarn", factor=40.0, mscale=1.0, mscale_all_dim=0.707)),
    (500000.0, 128, 131072, 8192, dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)),
    (500000.0, 64, 131072, 8192, dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0)),
    (10000.0, 16, 32, 32, dict(rope_type="longrope", factor=8.0, short_factor=SHORT, long_factor=LONG)),
    (10000.0, 16, 64, 32, dict(rope_type="longrope", factor=8.0, short_factor=SHORT, long_factor=LONG)),
]

expected = []
for theta, head_dim, positions, trained, options in CASES:
    kind = options["rope_type"]
    scaling = dict(options, rope_theta=theta)
    if kind in ("yarn", "llama3", "longrope"):
        scaling["original_max_position_embeddings"] = trained
    longest = trained if kind == "dynamic" else positions
    config = transformers.LlamaConfig(hidden_size=head_dim * 4, num_attention_heads=4, head_dim=head_dim,
                                      max_position_embeddings=longest, rope_parameters=dict(scaling))
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=positions)
    expected.append(dict(head_dim=head_dim, positions=positions, max_position_embeddings=longest, rope_parameters=scaling,
                         attention_factor=factor, frequencies=frequencies.tolist()))
lines = ",\n".join("  " + json.dumps(case) for case in expected)
(HERE / "expected.json").write_text('{"cases": [\n' + lines + "\n]}\n")
