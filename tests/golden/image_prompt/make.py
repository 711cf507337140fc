#!/usr/bin/env python3
"""Makes small random models that read images beside text, and what transformers computes with them. Ran with torch 2.15.0,
transformers 5.24.0 and safetensors 0.8.0.

    tests/golden/image_prompt/make.py

MODEL/expected.safetensors has the inputs pixel_values [2, 3, size, size], input_ids [2, T], attention_mask [2, T] with padding to the
left of row 1, and token_type_ids [2, T]: 0 for the prompt, an image and a text, 1 for the tokens after it. Computed in f32:
image_features [2, tokens, hidden_size], logits [2, T, vocab_size] and hidden_states.I, and causal.logits of ids without an image.
"""
import pathlib

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
IMAGE, TOKENS, VOCABULARY = 40, 4, 48
PROMPTS, ANSWERS = (9, 4), (7, 5)  # tokens of text in each row

_vision = dict(model_type="siglip_vision_model", hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3, image_size=20,
               patch_size=10, layer_norm_eps=1e-3, vision_use_head=False)
_text = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=8, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
MODELS = {
    "paligemma": dict(_text, model_type="gemma"),
    # The window is shorter than a prompt, which its tokens see whole.
    "paligemma2": dict(_text, model_type="gemma2", num_key_value_heads=1, sliding_window=6, query_pre_attn_scalar=12, attn_logit_softcapping=2.0,
                       final_logit_softcapping=4.0),
}


def rename(folder, name):
    """PaliGemma's tower as published files name it; PaliGemma 2's parts as transformers 5 has them in memory."""
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    pairs = [("vision_tower.", "vision_tower.vision_model.")] if name == "paligemma" else [
        ("language_model.model.", "model.language_model."), ("vision_tower.", "model.vision_tower.vision_model."),
        ("multi_modal_projector.", "model.multi_modal_projector.")]
    renamed = {}
    for key, tensor in weights.items():
        for file, other in pairs:
            key = other + key.removeprefix(file) if key.startswith(file) else key
        renamed[key] = tensor
    safetensors.torch.save_file(renamed, folder / "model.safetensors", {"format": "pt"})


def rows(generator):
    length = TOKENS + max(p + a for p, a in zip(PROMPTS, ANSWERS))
    ids, mask, types = (torch.zeros(2, length, dtype=torch.int64) for _ in range(3))
    for row, (prompt, answer) in enumerate(zip(PROMPTS, ANSWERS)):
        begin = length - TOKENS - prompt - answer
        ids[row, begin:] = torch.randint(3, IMAGE, (length - begin,), generator=generator)
        ids[row, begin:begin + TOKENS] = IMAGE
        mask[row, begin:] = 1
        types[row, length - answer:] = 1
    return ids, mask, types


def require_same(model, ids, types, pixels, logits):
    """Reading the prompt, then the answer in parts, is the same for transformers; wick's tests do it."""
    prompt, cache, parts = int((types == 0).sum()), transformers.DynamicCache(config=model.config.get_text_config()), []
    parts.append(model(input_ids=ids[:, :prompt], pixel_values=pixels, token_type_ids=types[:, :prompt], cache=cache).logits)
    for first, end in ((prompt, prompt + 1), (prompt + 1, prompt + 2), (prompt + 2, ids.shape[1])):
        parts.append(model(input_ids=ids[:, first:end], token_type_ids=types[:, first:end], cache=cache).logits)
    difference = (torch.cat(parts, 1) - logits).abs().max().item()
    assert difference < 1e-4, difference


for seed, (name, text) in enumerate(MODELS.items()):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    folder = HERE / name
    config = transformers.PaliGemmaConfig(vision_config=_vision, text_config=text, image_token_index=IMAGE, projection_dim=16, vocab_size=VOCABULARY,
                                          hidden_size=16)
    model = transformers.PaliGemmaForConditionalGeneration(config)
    for key, parameter in model.named_parameters():
        is_norm = parameter.dim() == 1 and "layer_norm" in key
        torch.nn.init.normal_(parameter, 1 if is_norm else 0, 0.2 if parameter.dim() == 1 else 0.35)
    model.save_pretrained(folder)
    model = transformers.PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    pixels = torch.randn(2, 3, 20, 20, generator=generator)
    ids, mask, types = rows(generator)
    expected = {"pixel_values": pixels, "input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    with torch.no_grad():
        output = model(input_ids=ids, pixel_values=pixels, attention_mask=mask, token_type_ids=types, output_hidden_states=True)
        require_same(model, ids[:1], types[:1], pixels[:1], output.logits[:1])
        expected["image_features"] = model.get_image_features(pixels).pooler_output
        text_ids = torch.randint(3, IMAGE, (1, 8), generator=generator)
        expected["causal.input_ids"] = text_ids
        expected["causal.logits"] = model(input_ids=text_ids, token_type_ids=torch.ones_like(text_ids)).logits
    expected["logits"] = output.logits
    expected |= {f"hidden_states.{i}": states for i, states in enumerate(output.hidden_states)}
    safetensors.torch.save_file({key: tensor.detach().clone().contiguous() for key, tensor in expected.items()}, folder / "expected.safetensors")
    rename(folder, name)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
