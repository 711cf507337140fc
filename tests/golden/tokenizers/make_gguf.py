#!/usr/bin/env python3
"""Makes small vocabularies as GGUF files have them, and the ids that llama.cpp gives for some texts.

    make_gguf.py LLAMA_IDS FOLDER

LLAMA_IDS is the program of llama_ids.cpp, built with the llama.cpp that llama-cpp-python 0.3.36 carries. FOLDER gets the metadata
as JSON, one vocabulary for each model, and the expected ids: by model, by pre-tokenizer (or other variant), by text. Needs the
Python packages gguf 0.19.0 and tokenizers 0.23.3.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import gguf
import make
from tokenizers import pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
PRES = ["default", "gpt-2", "llama-bpe", "smaug-bpe", "smollm", "qwen2", "tekken", "falcon", "qwen35"]


def byte_level():
    tokenizer = make.byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), 330, ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<mask>"))
    file = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(file["vocab"], key=file["vocab"].get) + ["<tool>", "k>x"]
    types = [CONTROL] * 5 + [NORMAL] * (len(tokens) - 7) + [USER_DEFINED] * 2
    # The byte of \r has no token, as in SmolLM2; a merge leads to a spelling that is no token.
    tokens[tokens.index("\u010d")] = "unused"
    merges = [" ".join(pair) for pair in file["merges"]] + ["z y", "z \u010d"]
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
            "tokenizer.ggml.merges": merges, "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1}


def sentencepiece():
    file = json.loads(make.llama2().to_str())["model"]
    tokens = sorted(file["vocab"], key=file["vocab"].get) + ["<|endoftext|>", "<|im_start|>", "<tool>", "xy", "\uff21\uff22"]  # the last of characters that are no tokens
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * (len(tokens) - 264) + [CONTROL, CONTROL, USER_DEFINED, NORMAL, NORMAL]
    # Some tokens share a score: then the leftmost pair merges first.
    scores = [0.0] * 259 + [-float(index // 3) for index in range(len(tokens) - 259)]
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
            "tokenizer.ggml.scores": scores, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 0}


def write_gguf(path, metadata):
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in metadata.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, [item.encode() if isinstance(item, str) else item for item in value])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def ids(program, path, add_special, parse_special):
    texts = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in make.TEXTS)
    run = subprocess.run([program, path, str(add_special), str(parse_special)], input=texts, capture_output=True, check=True)
    return [[int(index) for index in line.split()] for line in run.stdout.decode().split("\n")[:-1]]


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    variants = {
        "gguf_gpt2": (byte_level(), [{"tokenizer.ggml.pre": pre} for pre in PRES]),
        "gguf_llama": (sentencepiece(), [{}, {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.add_eos_token": True},
                                         {"general.name": "Phi-3-mini"}]),
    }
    for name, (metadata, changes) in variants.items():
        make.write(folder / f"{name}.json", metadata)
        rows = []
        for change in changes:
            with tempfile.TemporaryDirectory() as temporary:
                path = f"{temporary}/v.gguf"
                write_gguf(path, metadata | change)
                rows.append({"metadata": change, "ids": ids(program, path, 1, 1), "special_as_text": ids(program, path, 0, 0)})
        make.write(folder / f"{name}.expected.json", rows)


if __name__ == "__main__":
    main()
