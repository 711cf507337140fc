"""Images, their processors and models that compare them with texts: held to goldens of Pillow and transformers."""
import json
import pathlib
import shutil

import numpy as np
import pytest

import wick

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
IMAGES, MODELS = GOLDEN / "images", GOLDEN / "image_text"
FILES = [IMAGES / name for name in ("photo.png", "rgba.png", "gray.png", "alpha.webp")]
TEXTS = ["A cat", "two dogs", ""]


@pytest.mark.parametrize("file", ["rgb.png", "cmyk.jpg", "exif6.jpg", "alpha.webp"])
def test_read_image_gives_the_pixels_of_pillow(file):
    expected = wick.load_safetensors(IMAGES / "decoded.safetensors")[file].numpy()
    image = wick.read_image(IMAGES / file)
    assert image.dtype == wick.u8 and np.array_equal(image.numpy(), expected)
    assert np.array_equal(wick.read_image((IMAGES / file).read_bytes()).numpy(), expected)


def test_read_image_says_why_it_cannot(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.png"):
        wick.read_image(tmp_path / "nothing.png")
    with pytest.raises(ValueError, match="expected a PNG, JPEG or WebP image, got a file of another kind"):
        wick.read_image(b"text")
    with pytest.raises(ValueError, match="expected at most 10 pixels, got 53 x 37"):
        wick.read_image(IMAGES / "photo.png", max_pixels=10)
    with pytest.raises(TypeError, match="image: expected a path or bytes, got 3"):
        wick.read_image(3)


def test_processor_gives_the_pixels_of_transformers(device):
    configs = json.loads((IMAGES / "processors.json").read_text(encoding="utf-8"))["configs"]
    expected = wick.load_safetensors(IMAGES / "processors.safetensors")
    for key in list(expected)[:6]:
        index, file = key.split(".", 1)
        processor = wick.ImageProcessor(configs[int(index)])
        given = (IMAGES / file, (IMAGES / file).read_bytes(), wick.read_image(IMAGES / file), wick.read_image(IMAGES / file).numpy())
        for image in given:
            pixels = processor(image, device=device)
            assert str(pixels.device) == str(device)
            np.testing.assert_array_equal(pixels.numpy().ravel(), expected[key].numpy().ravel())
        assert processor([*given], dtype=wick.bf16).shape == (4, *pixels.shape[1:])


def test_processor_of_a_folder(tmp_path):
    for name in ("siglip", "clip"):  # processor_config.json and preprocessor_config.json
        assert wick.ImageProcessor(MODELS / name)(FILES).shape == (4, 3, 20, 20)
    with pytest.raises(ValueError, match="expected preprocessor_config.json or processor_config.json"):
        wick.ImageProcessor(tmp_path)
    with pytest.raises(NotImplementedError, match="image_processor_type"):
        wick.ImageProcessor({"image_processor_type": "Other"})
    with pytest.raises(TypeError, match="ImageProcessor: expected a dict or the path of a folder"):
        wick.ImageProcessor(3)


def test_processor_refuses_arrays_that_are_no_images():
    processor = wick.ImageProcessor(MODELS / "siglip")
    with pytest.raises(TypeError, match="image: expected u8, got f32"):
        processor(np.zeros((4, 4, 3), np.float32))
    with pytest.raises(ValueError, match=r"image: expected \[H, W, 3\], got \[4, 4\]"):
        processor(np.zeros((4, 4), np.uint8))
    with pytest.raises(ValueError, match="expected images"):
        processor([])


@pytest.mark.parametrize("name", ["siglip", "clip"])
def test_embeddings_and_scores_are_those_of_transformers(name, device):
    model = wick.load_image_text(MODELS / name, device=device, dtype=wick.f32)
    expected = wick.load_safetensors(MODELS / name / "embedded.safetensors")
    images, texts = model.embed_images(FILES), model.embed_texts(TEXTS)
    np.testing.assert_allclose(images.numpy(), expected["image_embeds"].numpy(), atol=1e-5)
    np.testing.assert_allclose(texts.numpy(), expected["text_embeds"].numpy(), atol=1e-5)
    scores = expected["scores"].numpy()
    np.testing.assert_allclose(model.scores(texts, images).numpy(), scores, atol=1e-4)
    ranked = model.rank(TEXTS[0], FILES)
    assert [index for index, _ in ranked] == list(np.argsort(-scores[0]))
    np.testing.assert_allclose([score for _, score in ranked], np.sort(scores[0])[::-1], atol=1e-4)


@pytest.mark.parametrize("name", ["siglip", "clip"])
def test_a_call_gives_the_tensors_of_transformers(name, device):
    model = wick.load_image_text(MODELS / name, device=device, dtype=wick.f32)
    expected = wick.load_safetensors(MODELS / name / "expected.safetensors")
    out = model(input_ids=expected["input_ids"], pixel_values=expected["pixel_values"], output_hidden_states=True)
    for key in ("image_embeds", "text_embeds", "logits_per_image", "vision_model_output.hidden_states.1"):
        np.testing.assert_allclose(out[key].numpy(), expected[key].numpy(), atol=1e-4)
    masked = model(expected["input_ids"], expected["pixel_values"], expected["attention_mask"])
    np.testing.assert_allclose(masked.logits_per_image.numpy(), expected["masked.logits_per_image"].numpy(), atol=1e-4)
    assert "text_embeds" not in model(pixel_values=expected["pixel_values"])
    with pytest.raises(ValueError, match='does not read "positions"'):
        model(positions=expected["input_ids"])


def test_gradients_pass_through_a_call():
    model = wick.load_image_text(MODELS / "clip", device="cpu", dtype=wick.f32)
    pixels = wick.Var(wick.load_safetensors(MODELS / "clip" / "expected.safetensors")["pixel_values"])
    model(pixel_values=pixels).image_embeds[0, 0].backward()
    assert np.abs(pixels.grad.numpy()[0]).max() > 0 and not pixels.grad.numpy()[1].any()


def test_models_say_what_they_are_and_what_they_lack(tmp_path):
    model = wick.load_image_text(MODELS / "siglip", device="cpu")
    assert repr(model) == "wick.ImageTextModel(model_type='siglip', projection_dim=24, device='cpu', dtype=wick.f32)"
    assert model.tokenizer.decode(model.tokenizer.encode("Ab"), True) == "ab" and model.warnings == []
    assert model.image_processor(FILES[0]).shape == (1, 3, 20, 20)
    with pytest.raises(TypeError, match="rank: expected a str as query"):
        model.rank(["A cat"], FILES)
    with pytest.raises(TypeError, match="rank: expected a list of images"):
        model.rank("A cat", FILES[0])
    with pytest.raises(TypeError, match="texts: expected a str"):
        model.embed_texts([3])
    with pytest.raises(IndexError, match="at most 10 tokens"):
        model.embed_texts("a text that is too long")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(MODELS / "siglip" / name, tmp_path)
    bare = wick.load_image_text(tmp_path, device="cpu")
    assert bare.tokenizer is None and bare.image_processor is None
    with pytest.raises(NotImplementedError, match="the model has no image processor"):
        bare.embed_images(FILES)
    with pytest.raises(NotImplementedError, match="the model has no tokenizer"):
        bare.embed_texts("A cat")
    with pytest.raises(NotImplementedError, match="one of type llama continues or embeds texts"):
        wick.load_image_text(GOLDEN / "llama/grouped")
    with pytest.raises(NotImplementedError, match="one of type siglip compares images with texts"):
        wick.load(MODELS / "siglip")
    with pytest.raises(FileNotFoundError):
        wick.load_image_text(tmp_path / "nothing")


def test_late_interaction_sums_the_best_matches():
    query = wick.randn([5, 8])
    documents = [wick.randn([3, 8]), wick.randn([7, 8])]
    expected = [(query.numpy() @ document.numpy().T).max(1).sum() for document in documents]
    np.testing.assert_allclose(wick.late_interaction(query, documents).numpy(), expected, rtol=1e-5)


QUERIES = ["a cat in a hat", "where is the rat?", ""]


@pytest.mark.parametrize("name", ["colpali", "colpali_engine"])
def test_vectors_of_queries_and_images_are_those_of_transformers(name):
    folder = GOLDEN / "image_prompt" / name
    model, expected = wick.load(folder, device="cpu"), wick.load_safetensors(folder / "ranked.safetensors")
    assert model.model_type == "colpali" and model.embedding_dim == 128 and model.reads_images
    for i, query in enumerate(QUERIES):
        assert model.query_ids(query) == expected[f"query.{i}.input_ids"].tolist()
        np.testing.assert_allclose(model.embed_query(query).numpy(), expected[f"query.{i}"].numpy(), atol=1e-4)
        scores = expected["scores"].numpy()[i]
        ranked = model.rank(query, FILES[:3])
        assert [index for index, _ in ranked] == np.argsort(-scores).tolist()
        np.testing.assert_allclose([score for _, score in sorted(ranked)], scores, atol=1e-4)
    for image in (FILES[1], FILES[1].read_bytes(), wick.read_image(FILES[1]), [FILES[1]]):
        np.testing.assert_allclose(model.embed_image(image).numpy(), expected["image.1"].numpy(), atol=1e-4)


def test_a_colpali_gives_the_embeddings_of_transformers():
    folder = GOLDEN / "image_prompt" / "colpali"
    model, expected = wick.load(folder, device="cpu"), wick.load_safetensors(folder / "expected.safetensors")
    outputs = model(expected["input_ids"], expected["attention_mask"], pixel_values=expected["pixel_values"])
    np.testing.assert_allclose(outputs.embeddings.numpy(), expected["embeddings"].numpy(), atol=1e-4)
    with pytest.raises(AttributeError, match="it gave embeddings"):
        outputs.logits
    with pytest.raises(NotImplementedError, match="embed_query and embed_image give them"):
        model.embed("a cat")
    with pytest.raises(NotImplementedError, match="continues no text"):
        list(model.generate("a cat"))
    with pytest.raises(ValueError, match="expected one image, got 2"):
        model.embed_image(FILES[:2])
    with pytest.raises(IndexError, match="exceeds the 64 positions"):
        model.embed_query("a" * 200)
    with pytest.raises(TypeError, match="rank: expected a list of images"):
        model.rank("a cat", FILES[0])
    other = wick.load(GOLDEN / "image_prompt" / "paligemma", device="cpu")
    assert other.embedding_dim == 0
    with pytest.raises(NotImplementedError, match="expected a model with a vector for each token"):
        other.rank("a cat", FILES)


def greedy(**more):
    return dict(temperature=0, repetition_penalty=2.0, stop_ids=[], **more)


def test_generate_about_images_is_that_of_transformers():
    folder = GOLDEN / "image_prompt" / "paligemma"
    model, expected = wick.load(folder, device="cpu"), wick.load_safetensors(folder / "prompts.safetensors")
    photo = IMAGES / "photo.png"
    text = model.tokenizer.decode(expected["0.generated"].tolist())
    for images in ([photo], str(photo), photo.read_bytes(), [wick.read_image(photo)]):
        assert "".join(model.generate("a cat in a hat", images=images, max_tokens=9, **greedy())) == text
    ids, pixels = model.prompt("the cats", FILES[1:3])
    assert ids == expected["1.input_ids"].tolist() and pixels.shape == (2, 3, 20, 20)
    count = len(expected["1.generated"])
    assert "".join(model.generate(ids, images=FILES[1:3], max_tokens=count, **greedy())) == model.tokenizer.decode(
        expected["1.generated"].tolist())
    session = model.session(**greedy())
    session.append(ids, pixels)
    assert [session.step()[0] for _ in range(count)] == expected["1.generated"].tolist()


def test_chat_about_images():
    model = wick.load(GOLDEN / "image_prompt" / "paligemma", device="cpu")
    question = {"role": "user", "content": "a cat in a hat", "images": [IMAGES / "photo.png"]}
    chat = model.chat(max_tokens=4, **greedy())
    answer = "".join(chat(question))
    assert answer == "".join(model.generate("a cat in a hat", images=question["images"], max_tokens=4, **greedy()))
    assert chat.messages == [question, {"role": "assistant", "content": answer}]
    "".join(chat("the cats"))
    assert len(chat.messages) == 4


def test_images_that_a_model_does_not_take(tmp_path):
    model = wick.load(GOLDEN / "image_prompt" / "paligemma", device="cpu")
    with pytest.raises(ValueError, match="expected a <image> in the text for each of 1 images, got 2"):
        model.generate("<image><image>", images=IMAGES / "photo.png")
    with pytest.raises(FileNotFoundError, match="nothing.png"):
        model.generate("a", images=[tmp_path / "nothing.png"])
    with pytest.raises(ValueError, match="expected a PNG, JPEG or WebP image"):
        model.generate("a", images=[b"text"])
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / "decoders" / "llama_linear" / name, tmp_path / name)
    shutil.copy(GOLDEN / "image_prompt" / "paligemma" / "tokenizer.json", tmp_path / "tokenizer.json")
    with pytest.raises(NotImplementedError, match="a model of type llama reads no images"):
        wick.load(tmp_path, device="cpu").generate("a", images=[IMAGES / "photo.png"])
