#!/usr/bin/env python3
"""Makes the ids that llama.cpp gives with each of the pre-tokenizers it knows, over one small vocabulary.

    make_gguf_pre.py LLAMA_IDS LLAMA_VOCAB_CPP FOLDER

LLAMA_IDS is the program of llama_ids.cpp, built with the llama.cpp that llama-cpp-python 0.3.36 carries; LLAMA_VOCAB_CPP its
file of vocabularies, of which only the names are read. FOLDER gets gguf_pre.json: the texts, two vocabularies as metadata
("bytes" spelled in the byte alphabet, "characters" with tokens <0xXX>), and rows of names that give the same ids. The vocabularies are
trained on the texts without pre-tokenizer, so that tokens show where a text is cut. Needs gguf 0.19.0 and tokenizers 0.23.3.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, pre_tokenizers, trainers
from tokenizers.models import BPE

import make_gguf

TEXTS = [
    "",
    "   ",
    "It's WE'LL they'Re I'M x'd; don't 'tis",
    "CamelCase HTTPServer iPhone snake_case x=y+z; /* a//b */ a/\n/b $5 <b> {c} ~d^|`e",
    "1 12 123 1234 12345 1234567 a1b22  333.4444,55555 \u0661\u0662\u0663\u0664 7\u0665\u0666 \u00bd\u2167",
    "tab\t\tend \r\n\n  next \n \n\n  x   \n",
    "a  b   c      d                    e",
    "caf\u00e9 cafe\u0301 e\u0301e \u00c5\u01c5 \u0130\u01c6 \u0440\u0443\u0441\u0441\u041a\u0418\u0419 \u0301x \u02b0y",
    "\u65e5\u672c\u8a9e\u3068\u30ab\u30ca\u3001\u3002\uff01\u4f60\u597d 3\u4e16\u754c\u300c\u5f15\u7528\u300d\ud55c\uad6d\uc5b4 \u3105\u3106 \u2018q\u2019 \u201cd\u201d\u2026\u2014x\u3000y\u3005z",
    "\u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940\u0964 \u0627\u0644\u0639\u0631\u0628\u064a\u0629\u060c \u1793\u17b8 \u1019\u103c\u1014\u103a",
    "\U0001f600\u200d\U0001f468 <sentinel:12> IMGIMGABCDZ IMGIMGXZ [x] (y|z) a.b,c!d?e",
    "\u00a0x\u2003y\u0085z\u2028w \u200b v\u3000\u3000u",
    "a\n\nb\n\n\nc \u2581d",
    "f();\ng();\n\n\n\nx'sab y'sab y'tem x'tem \n\n \n\n a\n\n\n\nf();\ng();\n",
]
# The only model whose files have this pre-tokenizer.
MODELS = {"whitespace": {"tokenizer.ggml.model": "whitespace"}}


def names_of(source):
    return list(dict.fromkeys(re.findall(r'tokenizer_pre == "([^"]+)"', source)))


def vocabulary_of(texts, special, alphabet, pre_tokenizer):
    tokenizer = Tokenizer(BPE())
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=900, min_frequency=1, special_tokens=special, initial_alphabet=alphabet, show_progress=False, max_token_length=6)
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [" ".join(pair) for pair in model["merges"]]
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": merges,
            "tokenizer.ggml.token_type": [make_gguf.CONTROL] * 2 + [make_gguf.NORMAL] * (len(tokens) - 2),
            "tokenizer.ggml.bos_token_id": 0, "tokenizer.ggml.eos_token_id": 1}


def ids(program, metadata):
    with tempfile.TemporaryDirectory() as folder:
        make_gguf.write_gguf(f"{folder}/v.gguf", metadata)
        texts = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in TEXTS)
        run = subprocess.run([program, f"{folder}/v.gguf", "1", "1"], input=texts, capture_output=True, check=True)
    return [[int(index) for index in line.split()] for line in run.stdout.decode().split("\n")[:-1]]


def main():
    program, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), pathlib.Path(sys.argv[3])
    ends = ["<s>", "</s>"]
    vocabularies = {
        "bytes": vocabulary_of(TEXTS, ends, pre_tokenizers.ByteLevel.alphabet(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
        "characters": vocabulary_of([text.replace(" ", "\u2581") for text in TEXTS], ends + [f"<0x{byte:02X}>" for byte in range(256)], [], None),
    }
    types = vocabularies["characters"]["tokenizer.ggml.token_type"]
    types[2:258] = [make_gguf.BYTE] * 256
    rows = []
    for name in names_of(source):
        kind = "characters" if name in ("gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace") else "bytes"
        result = ids(program, vocabularies[kind] | {"tokenizer.ggml.pre": name} | MODELS.get(name, {}))
        row = next((row for row in rows if row["vocabulary"] == kind and row["ids"] == result), None)
        if row and name not in MODELS:
            row["names"].append(name)
        else:
            rows.append({"names": [name], "vocabulary": kind, "metadata": MODELS.get(name, {}), "ids": result})
    (folder / "gguf_pre.json").write_text(json.dumps({"texts": TEXTS, "vocabularies": vocabularies, "rows": rows}, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
