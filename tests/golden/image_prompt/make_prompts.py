#!/usr/bin/env python3
"""Makes a tokenizer and an image processor for the models beside this, and what transformers continues prompts of image files and texts
with. Ran with torch 2.15.0, transformers 5.24.0, tokenizers 0.23.3 and Pillow 13.0.0, after make.py.

    tests/golden/image_prompt/make_prompts.py

Both have tokenizer.json, with the parts of Gemma's, and tokenizer_config.json; paligemma/ has preprocessor_config.json, paligemma2/
processor_config.json. MODEL/prompts.safetensors has for prompt I the ids that PaliGemmaProcessor makes, I.input_ids [T], and the ids of the
greedy continuation with a penalty of repetitions, I.generated [N], as far as they are far from a tie.
"""
import pathlib

import safetensors.torch
import tokenizers
import torch
import transformers
from PIL import Image, ImageOps
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
IMAGE, VOCABULARY, SIZE, TOKENS = 40, 48, 20, 4
PENALTY = 2.0  # without it, random models repeat one token
PROMPTS = (
    (("photo.png",), "a cat in a hat"),
    (("rgba.png", "gray.png"), "the cats"),
    (("photo.png",), ""),
    # Placeholders within the text.
    (("photo.png", "alpha.webp"), "a cat <image> and a hat <image> sit"),
)


def make_tokenizer():
    special = ["<pad>", "<bos>", "<eos>", "<unk>"]
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    trainer = trainers.BpeTrainer(vocab_size=IMAGE, special_tokens=special, initial_alphabet=list("abcdefghilmnorstuw.▁\n"), show_progress=False)
    tokenizer.train_from_iterator(["the cat sat on the mat in the hat", "a cat in a hat and a rat"] * 4, trainer)
    assert tokenizer.get_vocab_size() == IMAGE, tokenizer.get_vocab_size()
    tokenizer.add_special_tokens([tokenizers.AddedToken("<image>", normalized=False, special=True)])
    tokenizer.add_tokens([tokenizers.AddedToken(f"<loc{i:04}>", normalized=False) for i in range(VOCABULARY - IMAGE - 1)])
    assert tokenizer.token_to_id("<image>") == IMAGE
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 1)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>",
                                                extra_special_tokens={"image_token": "<image>"})


def opened(file):
    return ImageOps.exif_transpose(Image.open(HERE.parent / "images" / file)).convert("RGB")


def continued(model, inputs):
    """The ids up to the first that is nearly as likely as another."""
    output = model.generate(**inputs, do_sample=False, repetition_penalty=PENALTY, max_new_tokens=10, return_dict_in_generate=True,
                            output_scores=True)
    best = torch.cat(output.scores).topk(2).values
    ids = output.sequences[0, inputs["input_ids"].shape[1]:].tolist()
    clear = [i != 2 and pair[0] - pair[1] > 3e-3 for i, pair in zip(ids, best)]
    count = clear.index(False) if False in clear else len(clear)
    assert count >= 2, best
    return torch.tensor(ids[:count])


for name in ("paligemma", "paligemma2"):
    folder = HERE / name
    image_processor = transformers.SiglipImageProcessorPil(size={"height": SIZE, "width": SIZE})
    image_processor.image_seq_length = TOKENS
    make_tokenizer().save_pretrained(folder)
    if name == "paligemma":
        image_processor.save_pretrained(folder)
    processor = transformers.PaliGemmaProcessor(image_processor, make_tokenizer())
    if name == "paligemma2":
        processor.to_json_file(folder / "processor_config.json")
    model = transformers.PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    expected = {}
    for i, (files, text) in enumerate(PROMPTS):
        text = text if "<image>" in text else "<image>" * len(files) + text
        inputs = processor(images=[[opened(file) for file in files]], text=[text], return_tensors="pt")
        inputs.pop("labels", None)
        expected[f"{i}.input_ids"] = inputs["input_ids"][0]
        expected[f"{i}.generated"] = continued(model, inputs)
        print(name, files, repr(text), inputs["input_ids"][0].tolist(), expected[f"{i}.generated"].tolist())
    safetensors.torch.save_file({key: tensor.clone().contiguous() for key, tensor in expected.items()}, folder / "prompts.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
