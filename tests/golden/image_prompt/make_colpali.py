#!/usr/bin/env python3
"""Makes small random ColPalis, and the vectors and scores that transformers computes with them. Ran with torch 2.15.0, transformers 5.24.0,
tokenizers 0.23.3 and Pillow 13.0.0, after make.py and make_prompts.py, whose tokenizer and image processor they have.

    tests/golden/image_prompt/make_colpali.py

colpali/ is as transformers saves a ColPaliForRetrieval, with processor_config.json; colpali_engine/ has the names and the config of the models
that the authors' colpali-engine publishes, and no text of a processor: queries then begin with "Query: ".

MODEL/expected.safetensors has two rows of tokens, of an image with a text and of a query, the latter with padding to the left: pixel_values
[1, 3, size, size], input_ids [2, T], attention_mask [2, T]; and, computed in f32, embeddings [2, T, dim] and hidden_states.I. MODEL/ranked.safetensors
has for query I its query.I.input_ids [T] and query.I [T, dim], for image file I image.I.input_ids [P] and image.I [P, dim], and scores
[queries, images].
"""
import json
import pathlib
import shutil

import safetensors.torch
import torch
import transformers
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "paligemma"
DIM = 128
QUERIES = ("a cat in a hat", "where is the rat?", "")
IMAGES = ("photo.png", "rgba.png", "gray.png")
MODELS = {"colpali": "Question: ", "colpali_engine": "Query: "}


def opened(file):
    return ImageOps.exif_transpose(Image.open(HERE.parent / "images" / file)).convert("RGB")


def make_processor(query_prefix):
    image_processor = transformers.SiglipImageProcessorPil.from_pretrained(SOURCE)
    image_processor.image_seq_length = json.loads((SOURCE / "preprocessor_config.json").read_text())["image_seq_length"]
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(SOURCE)
    return transformers.ColPaliProcessor(image_processor, tokenizer, query_prefix=query_prefix)


def forward_of(model, processor):
    """A batch of an image's prompt and a query, padded by hand: the processor takes one or the other."""
    image, query = processor(images=[opened(IMAGES[0])]), processor(text=[QUERIES[0]])
    rows = [image["input_ids"][0], query["input_ids"][0]]
    length = max(len(row) for row in rows) + 2
    ids, mask = torch.zeros(2, length, dtype=torch.int64), torch.zeros(2, length, dtype=torch.int64)
    for row, tokens in enumerate(rows):
        ids[row, length - len(tokens):] = tokens
        mask[row, length - len(tokens):] = 1
    output = model(input_ids=ids, pixel_values=image["pixel_values"], attention_mask=mask, token_type_ids=torch.zeros_like(ids),
                   output_hidden_states=True)
    return {"pixel_values": image["pixel_values"], "input_ids": ids, "attention_mask": mask, "embeddings": output.embeddings} | {
        f"hidden_states.{i}": states for i, states in enumerate(output.hidden_states)}


def ranked_of(model, processor):
    expected, vectors = {}, {"query": [], "image": []}
    for kind, items in (("query", QUERIES), ("image", IMAGES)):
        for i, item in enumerate(items):
            inputs = processor(text=[item]) if kind == "query" else processor(images=[opened(item)])
            assert not inputs["token_type_ids"].any() and inputs["attention_mask"].all()
            inputs.pop("labels", None)
            expected[f"{kind}.{i}.input_ids"] = inputs["input_ids"][0]
            expected[f"{kind}.{i}"] = model(**inputs).embeddings[0]
            vectors[kind].append(expected[f"{kind}.{i}"])
            print(kind, repr(item), inputs["input_ids"][0].tolist())
    return expected | {"scores": processor.score_retrieval(vectors["query"], vectors["image"])}


def as_published(folder):
    """Renames the tensors and the config of transformers' class as the authors' files have them."""
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    renamed = {}
    for key, tensor in weights.items():
        name = key.removeprefix("vlm.").replace("embedding_proj_layer.", "custom_text_proj.")
        name = name.replace("vision_tower.", "vision_tower.vision_model.")
        renamed[name if name.startswith("custom_text_proj.") else "model." + name] = tensor
    safetensors.torch.save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config = {**config["vlm_config"], "architectures": ["ColPali"], "transformers_version": config["transformers_version"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def save(tensors, path):
    safetensors.torch.save_file({key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}, path)


for seed, (name, query_prefix) in enumerate(MODELS.items()):
    torch.manual_seed(seed)
    folder = HERE / name
    config = transformers.ColPaliConfig(vlm_config=transformers.PaliGemmaConfig.from_pretrained(SOURCE), embedding_dim=DIM)
    model = transformers.ColPaliForRetrieval(config)
    for key, parameter in model.named_parameters():
        is_norm = parameter.dim() == 1 and "layer_norm" in key
        torch.nn.init.normal_(parameter, 1 if is_norm else 0, 0.2 if parameter.dim() == 1 else 0.35)
    model.save_pretrained(folder)
    model = transformers.ColPaliForRetrieval.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    processor = make_processor(query_prefix)
    with torch.no_grad():
        save(forward_of(model, processor), folder / "expected.safetensors")
        ranked = ranked_of(model, processor)
    save(ranked, folder / "ranked.safetensors")
    print(ranked["scores"])
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SOURCE / file, folder / file)
    if name == "colpali":
        processor.to_json_file(folder / "processor_config.json")
    else:
        as_published(folder)
        shutil.copy(SOURCE / "preprocessor_config.json", folder / "preprocessor_config.json")
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
