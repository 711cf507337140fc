#!/usr/bin/env python3
"""Makes small random models that compare images with texts, beside this, and what transformers computes with them. Ran with
torch 2.15.0, transformers 5.24.0 and safetensors 0.8.0.

    tests/golden/image_text/make.py

MODEL/expected.safetensors has the inputs pixel_values [2, 3, size, size], input_ids [3, T] and attention_mask [3, T], and computed in
f32: image_features, text_features, image_embeds, text_embeds, logits_per_image, vision_model_output.last_hidden_state,
vision_model_output.hidden_states.I and the same of text_model_output, without the mask; masked.text_features and
masked.logits_per_image with it; and gradient.NAME of sum(weights * logits_per_image), masked, in siglip and clip.
"""
import pathlib

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
IMAGES, LENGTHS = 2, (7, 4, 10)

# Heads of 8 and 4; a size of images that leaves a rest beside the patches; features of other sizes than hidden states.
_siglip_vision = dict(hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3, image_size=20, patch_size=6, layer_norm_eps=1e-3)
_siglip_text = dict(vocab_size=40, hidden_size=16, intermediate_size=28, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=10,
                    projection_size=24, layer_norm_eps=1e-2, pad_token_id=1)
_clip_vision = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, image_size=20, patch_size=10, layer_norm_eps=1e-3)
_clip_text = dict(vocab_size=40, hidden_size=24, intermediate_size=28, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=12,
                  eos_token_id=7, pad_token_id=7, bos_token_id=3)
MODELS = {
    "siglip": (transformers.SiglipModel, transformers.SiglipConfig(vision_config=_siglip_vision, text_config=_siglip_text), torch.float32),
    # The size of the features is not given, and erf in place of tanh.
    "siglip_gelu": (transformers.SiglipModel, transformers.SiglipConfig(
        vision_config=_siglip_vision | dict(num_hidden_layers=1, hidden_act="gelu"),
        text_config=_siglip_text | dict(num_hidden_layers=1, hidden_act="gelu", hidden_size=24, num_attention_heads=2, projection_size=None)), torch.bfloat16),
    "clip": (transformers.CLIPModel, transformers.CLIPConfig(vision_config=_clip_vision, text_config=_clip_text, projection_dim=12), torch.float32),
    # The end of a text is its largest id, as configs of an early version have it.
    "clip_largest_id": (transformers.CLIPModel, transformers.CLIPConfig(
        vision_config=_clip_vision | dict(num_hidden_layers=1, hidden_act="gelu"),
        text_config=_clip_text | dict(num_hidden_layers=1, hidden_act="gelu", eos_token_id=2, pad_token_id=1), projection_dim=12), torch.float16),
}


def ids_of(name, config, generator):
    """Rows [3, T], padded to the right, and a mask."""
    text = config.text_config
    ids = torch.full((len(LENGTHS), max(LENGTHS)), text.pad_token_id)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(LENGTHS):
        ids[row, :length] = torch.randint(8, 39, (length,), generator=generator)
        mask[row, :length] = 1
        if name.startswith("clip"):
            ids[row, length - 1] = 39 if text.eos_token_id == 2 else text.eos_token_id
    mask[2, :2] = 0  # padding to the left, which changes the results of causal attention too
    return ids, mask


def flat(name, output):
    tensors = {f"{name}.last_hidden_state": output.last_hidden_state}
    return tensors | {f"{name}.hidden_states.{i}": states for i, states in enumerate(output.hidden_states)}


for seed, (name, (model_class, config, dtype)) in enumerate(MODELS.items()):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    folder = HERE / name
    model = model_class(config)
    for parameter_name, parameter in model.named_parameters():
        is_norm = "norm" in parameter_name and parameter_name.endswith("weight")
        torch.nn.init.normal_(parameter, 2 if parameter_name == "logit_scale" else 1 if is_norm else 0, 0.3)
    model.to(dtype).save_pretrained(folder)
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    size = config.vision_config.image_size
    pixels = torch.randn(IMAGES, 3, size, size, generator=generator)
    ids, mask = ids_of(name, config, generator)
    expected = {"pixel_values": pixels, "input_ids": ids, "attention_mask": mask}
    output = model(input_ids=ids, pixel_values=pixels, output_hidden_states=True)
    expected |= {key: output[key] for key in ("image_embeds", "text_embeds", "logits_per_image")}
    expected |= flat("vision_model_output", output.vision_model_output) | flat("text_model_output", output.text_model_output)
    expected["image_features"] = model.get_image_features(pixels).pooler_output
    expected["text_features"] = model.get_text_features(ids).pooler_output
    expected["masked.text_features"] = model.get_text_features(ids, attention_mask=mask).pooler_output
    logits = model(input_ids=ids, pixel_values=pixels, attention_mask=mask).logits_per_image
    expected["masked.logits_per_image"] = logits
    if name in ("siglip", "clip"):
        expected["weights"] = torch.randn(logits.shape, generator=generator)
        (expected["weights"] * logits).sum().backward()
        expected |= {f"gradient.{key}": parameter.grad for key, parameter in model.named_parameters()}
    safetensors.torch.save_file({key: tensor.detach().clone().contiguous() for key, tensor in expected.items()}, folder / "expected.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
