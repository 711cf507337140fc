#!/usr/bin/env python3
"""Makes model.gguf from a model beside this by the conversion of https://github.com/ggml-org/llama.cpp, without a vocabulary.
Ran with the sources in llama-cpp-python 0.3.36's archive.

    tests/golden/decoders/make_gguf.py LLAMA_CPP_SOURCES [NAME ...]
"""
import json
import pathlib
import shutil
import sys
import tempfile

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelBase, ModelType, get_model_class  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {
    "llama_llama3": gguf.LlamaFileType.MOSTLY_BF16,
    "llama_yarn": gguf.LlamaFileType.ALL_F32,
    "llama_linear": gguf.LlamaFileType.MOSTLY_F16,
    "qwen3": gguf.LlamaFileType.ALL_F32,
    "gemma3_bf16": gguf.LlamaFileType.MOSTLY_BF16,
    "qwen2": gguf.LlamaFileType.ALL_F32,
    "smollm3": gguf.LlamaFileType.ALL_F32,
    "gemma": gguf.LlamaFileType.ALL_F32,
    "gemma2": gguf.LlamaFileType.ALL_F32,
    "granite": gguf.LlamaFileType.ALL_F32,
    "olmo": gguf.LlamaFileType.ALL_F32,
    "olmo2": gguf.LlamaFileType.ALL_F32,
    "olmo3": gguf.LlamaFileType.ALL_F32,
    "exaone4": gguf.LlamaFileType.ALL_F32,
    "exaone4_full": gguf.LlamaFileType.MOSTLY_BF16,
    "phi3": gguf.LlamaFileType.ALL_F32,
    "phi3_longrope": gguf.LlamaFileType.ALL_F32,
    "phi3_longrope_long": gguf.LlamaFileType.ALL_F32,
    "starcoder2": gguf.LlamaFileType.ALL_F32,
    "ernie4_5": gguf.LlamaFileType.ALL_F32,
    "stablelm": gguf.LlamaFileType.ALL_F32,
    "stablelm_parallel": gguf.LlamaFileType.ALL_F32,
    "chatglm": gguf.LlamaFileType.ALL_F32,
    "glm4": gguf.LlamaFileType.ALL_F32,
    "phi": gguf.LlamaFileType.ALL_F32,
    "gpt2": gguf.LlamaFileType.ALL_F32,
    "gpt_bigcode": gguf.LlamaFileType.ALL_F32,
    "falcon": gguf.LlamaFileType.ALL_F32,
    "falcon_grouped": gguf.LlamaFileType.ALL_F32,
    "mixtral": gguf.LlamaFileType.ALL_F32,
    "qwen2_moe": gguf.LlamaFileType.MOSTLY_BF16,
    "qwen3_moe_renormalized": gguf.LlamaFileType.MOSTLY_BF16,
    "granitemoehybrid": gguf.LlamaFileType.ALL_F32,
    "granitemoehybrid_nope": gguf.LlamaFileType.ALL_F32,
    "mamba2": gguf.LlamaFileType.ALL_F32,
    "granitemoe": gguf.LlamaFileType.ALL_F32,
    "lfm2_bf16": gguf.LlamaFileType.MOSTLY_BF16,
    "qwen3_next": gguf.LlamaFileType.ALL_F32,
    "qwen3_5": gguf.LlamaFileType.ALL_F32,
    "qwen3_5_moe": gguf.LlamaFileType.ALL_F32,
    "gpt_oss_mxfp4": gguf.LlamaFileType.ALL_F32,
    "glm4_moe": gguf.LlamaFileType.ALL_F32,
    "olmoe": gguf.LlamaFileType.ALL_F32,
    "seed_oss": gguf.LlamaFileType.ALL_F32,
    "hunyuan_v1_dense": gguf.LlamaFileType.ALL_F32,
    "cohere2": gguf.LlamaFileType.ALL_F32,
    "ernie4_5_moe": gguf.LlamaFileType.ALL_F32,
    "minimax_m2": gguf.LlamaFileType.ALL_F32,
    "deepseek_v2_lite_dense": gguf.LlamaFileType.ALL_F32,
    "mistral4_dense": gguf.LlamaFileType.ALL_F32,
    "llama4_long": gguf.LlamaFileType.ALL_F32,
    "gemma4": gguf.LlamaFileType.ALL_F32,
    "gemma4_moe": gguf.LlamaFileType.ALL_F32,
    "gemma4_images": gguf.LlamaFileType.MOSTLY_BF16,
}

def yielding(modify_tensors):
    """StableLM's conversion returns its stacked norms where it has to yield them."""
    def modified(self, data, name, bid):
        returned = yield from modify_tensors(self, data, name, bid)
        yield from returned or ()
    return modified


for name, file_type in MODELS.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for file in (HERE / name).iterdir():
            if file.name != "expected.safetensors" and file.suffix != ".gguf":
                shutil.copy(file, folder)
        # Gemma's conversion counts the tokens.
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {str(i): i for i in range(48)}}, "added_tokens": []}))
        with torch.inference_mode():
            architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
            model_class = (get_model_class("Ministral3ForCausalLM").Mistral4Model if architecture == "Mistral4ForCausalLM"
                           else get_model_class(architecture))
            model_class.set_vocab = lambda self: None
            model_class.no_mtp = True  # the folders have no layers that guess the tokens after the next
            model_class.modify_tensors = yielding(model_class.modify_tensors)
            model = model_class(folder, file_type, HERE / name / "model.gguf", eager=True, model_name=name)
            if name.endswith("_dense"):  # transformers' defaults of keys that config.json lacks
                for key in ("n_routed_experts", "n_shared_experts", "n_group", "topk_group", "topk_method", "routed_scaling_factor",
                            "norm_topk_prob", "num_experts_per_tok", "moe_intermediate_size"):
                    model.hparams.pop(key, None)
            model.write()
