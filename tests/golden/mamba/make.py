#!/usr/bin/env python3
"""Makes a small random Mamba beside this, its logits and gradients by transformers, and its GGUF file by the conversion of
https://github.com/ggml-org/llama.cpp. Ran with torch 2.15.0, transformers 5.24.0, safetensors 0.8.0 and the sources in
llama-cpp-python 0.3.36's archive.

    tests/golden/mamba/make.py LLAMA_CPP_SOURCES

expected.safetensors: three rows of ids (ids.0 ...), their logits (logits.0 ...), computed in f32, and for row 1 the gradients
(gradient.NAME) of the mean cross entropy of each token's successor.
"""
import pathlib
import shutil
import sys
import tempfile

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
LENGTHS = (3, 21, 70)

torch.manual_seed(7)
config = transformers.MambaConfig(vocab_size=48, hidden_size=16, state_size=4, num_hidden_layers=2, conv_kernel=4, expand=2,
                                  time_step_rank=3, initializer_range=0.4, bos_token_id=1, eos_token_id=2, pad_token_id=None)
model = transformers.MambaForCausalLM(config)
for name, parameter in model.named_parameters():  # norms' weights are not ones, and A differs between channels
    if parameter.dim() == 1 or name.endswith("A_log"):
        torch.nn.init.normal_(parameter, parameter.mean().item(), 0.3)
model.save_pretrained(HERE)
(HERE / "generation_config.json").unlink(missing_ok=True)

model = transformers.MambaForCausalLM.from_pretrained(HERE, dtype=torch.float32).eval()
expected = {}
for row, length in enumerate(LENGTHS):
    ids = torch.randint(0, 48, (1, length))
    logits = model(ids, use_cache=False).logits
    expected[f"ids.{row}"], expected[f"logits.{row}"] = ids[0], logits[0].detach().contiguous()
    if row == 1:
        torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:]).backward()
        for name, parameter in model.named_parameters():
            expected[f"gradient.{name}"] = parameter.grad.contiguous()
safetensors.torch.save_file(expected, HERE / "expected.safetensors")

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
import gguf  # noqa: E402
from conversion import get_model_class  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    for file in ("config.json", "model.safetensors"):
        shutil.copy(HERE / file, folder)
    with torch.inference_mode():
        model_class = get_model_class("MambaForCausalLM")
        model_class.set_vocab = lambda self: None
        model_class(pathlib.Path(folder), gguf.LlamaFileType.ALL_F32, HERE / "model.gguf", eager=True, model_name="mamba").write()
for file in HERE.iterdir():
    file.chmod(0o755 if file.suffix == ".py" else 0o644)
