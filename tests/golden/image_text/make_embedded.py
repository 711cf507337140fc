#!/usr/bin/env python3
"""Makes the files of processors in siglip/ and clip/ beside this, and what transformers computes with these from files of images and
from texts. Ran with torch 2.15.0, transformers 5.24.0, tokenizers 0.23.3 and Pillow 13.0.0, after make.py.

    tests/golden/image_text/make_embedded.py

siglip/ has processor_config.json, as transformers 5 writes it, clip/ preprocessor_config.json; both have tokenizer.json and
tokenizer_config.json. MODEL/embedded.safetensors has image_embeds [FILES, D], text_embeds [TEXTS, D] and scores [TEXTS, FILES], in f32:
the probabilities of siglip's sigmoid, and clip's scaled cosines.
"""
import pathlib

import safetensors.torch
import tokenizers
import torch
import transformers
from PIL import Image, ImageOps
from tokenizers import decoders, models, normalizers, processors

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("photo.png", "rgba.png", "gray.png", "alpha.webp")
TEXTS = ("A cat", "two dogs", "")


def tokenizer_of(before, after, pad):
    """Letters in lower case are tokens; spaces vanish. The tokens before and after a text have ids."""
    vocab = {chr(ord("a") + i): 8 + i for i in range(26)} | before | after | pad
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.add_special_tokens(sorted(vocab, key=vocab.get)[:len(before | after | pad)])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "")])
    tokenizer.decoder = decoders.Fuse()
    template = " ".join([*before, "$A", *after])
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=list((before | after).items()))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=next(iter(pad)))


def opened(file):
    return ImageOps.exif_transpose(Image.open(HERE.parent / "images" / file)).convert("RGB")


for name in ("siglip", "clip"):
    folder = HERE / name
    if name == "siglip":
        tokenizer = tokenizer_of({}, {"</s>": 7}, {"<pad>": 1})
        image_processor = transformers.SiglipImageProcessorPil(size={"height": 20, "width": 20})
        transformers.SiglipProcessor(image_processor, tokenizer).save_pretrained(folder)
        rows = tokenizer(TEXTS, padding="max_length", max_length=10, return_tensors="pt", return_attention_mask=False)
        model = transformers.SiglipModel.from_pretrained(folder, dtype=torch.float32)
    else:
        tokenizer = tokenizer_of({"<s>": 3}, {"</s>": 7}, {"</s>": 7})
        image_processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 20}, crop_size={"height": 20, "width": 20})
        tokenizer.save_pretrained(folder)
        image_processor.save_pretrained(folder)
        rows = tokenizer(TEXTS, padding=True, return_tensors="pt")
        model = transformers.CLIPModel.from_pretrained(folder, dtype=torch.float32)
    rows.pop("token_type_ids", None)
    with torch.no_grad():
        output = model.eval()(pixel_values=image_processor([opened(file) for file in FILES], return_tensors="pt").pixel_values, **rows)
    scores = output.logits_per_text.sigmoid() if name == "siglip" else output.logits_per_text
    expected = {"image_embeds": output.image_embeds, "text_embeds": output.text_embeds, "scores": scores}
    safetensors.torch.save_file({key: tensor.contiguous() for key, tensor in expected.items()}, folder / "embedded.safetensors")
    print(name, rows.input_ids.tolist(), scores)
    for file in folder.iterdir():
        file.chmod(0o644)
