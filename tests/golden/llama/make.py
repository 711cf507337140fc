#!/usr/bin/env python3
"""Makes the models beside this and their logits. Ran with torch 2.15.0, transformers 5.23.0, safetensors 0.8.0.

    tests/golden/llama/make.py
"""
import pathlib

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
# Grouped queries, heads of another size than hidden_size / heads; and biases, tied embeddings.
MODELS = {
    "grouped": dict(num_attention_heads=4, num_key_value_heads=2, head_dim=8, rope_theta=500.0, rms_norm_eps=1e-5),
    "biased": dict(num_attention_heads=2, num_key_value_heads=2, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
}
LENGTHS = (3, 11, 7)

for name, options in MODELS.items():
    torch.manual_seed(7)
    config = transformers.LlamaConfig(vocab_size=48, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                      max_position_embeddings=64, initializer_range=0.5, bos_token_id=1, eos_token_id=2, **options)
    model = transformers.LlamaForCausalLM(config).eval()
    for parameter in model.parameters():  # norms' weights and biases are not ones and zeros
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.2)
    model.save_pretrained(HERE / name)
    (HERE / name / "generation_config.json").unlink(missing_ok=True)
    expected = {}
    for row, length in enumerate(LENGTHS):
        ids = torch.randint(0, 48, (1, length))
        with torch.no_grad():
            expected[f"ids.{row}"], expected[f"logits.{row}"] = ids[0], model(ids).logits[0].contiguous()
    safetensors.torch.save_file(expected, HERE / name / "expected.safetensors")
