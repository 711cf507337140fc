"""Language models and files: held to goldens of transformers, and to the logits of the model itself."""
import json
import os
import pathlib
import shutil
import signal
import string
import threading

import numpy as np
import pytest

import wick

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
DECODERS = ["llama_linear", "qwen3", "gemma3", "gpt2", "mixtral", "phi3"]


@pytest.fixture
def folder(tmp_path):
    """A small llama with a token for each of 48 letters and a chat template."""
    source = GOLDEN / "decoders/llama_linear"
    for name in ("config.json", "model.safetensors"):
        shutil.copy(source / name, tmp_path)
    letters = (string.ascii_letters)[:48]
    tokenizer = {"model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []},
                 "decoder": {"type": "Fuse"}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}A{% endif %}")
    return tmp_path


def greedy(model, text, count, device):
    """The likeliest continuation, each token from the logits of the whole text."""
    ids = model.prompt_ids(text)
    for _ in range(count):
        ids.append(int(model.logits(wick.Tensor([ids], device=device))[0, -1].argmax().item()))
    return model.tokenizer.decode(ids[-count:])


@pytest.mark.parametrize("name", DECODERS)
def test_logits_are_those_of_transformers(name, device):
    model = wick.load(GOLDEN / "decoders" / name, device=device, dtype=wick.f32)
    expected = wick.load_safetensors(GOLDEN / "decoders" / name / "expected.safetensors")
    for i in range(3):
        ids = expected[f"ids.{i}"].reshape([1, -1]).to(device)
        np.testing.assert_allclose(model.logits(ids)[0].numpy(), expected[f"logits.{i}"].numpy(), rtol=1e-4, atol=1e-4)


def test_generate_streams_the_likeliest_text(folder, device):
    model = wick.load(folder, device=device, dtype=wick.f32)
    pieces = list(model.generate("abc", max_tokens=10, temperature=0))
    assert "".join(pieces) == greedy(model, "abc", 10, device) and len(pieces) == 10
    assert "".join(model.generate(model.prompt_ids("abc"), max_tokens=3, temperature=0)) == "".join(pieces[:3])


def test_generate_ends_at_a_stop_string(folder):
    model = wick.load(folder, device="cpu")
    text = "".join(model.generate("abc", max_tokens=10, temperature=0))
    stop = text[4:6]
    assert "".join(model.generate("abc", max_tokens=10, temperature=0, stop=stop)) == text[:text.index(stop)]


def test_sampling_follows_the_seed(folder):
    model = wick.load(folder, device="cpu")

    def sampled(seed):
        wick.Device("cpu").manual_seed(seed)
        return "".join(model.generate("abc", max_tokens=20, temperature=5))

    assert sampled(1) == sampled(1) != sampled(2)


def test_chat_keeps_the_conversation(folder, device):
    model = wick.load(folder, device=device)
    chat = model.chat(system="ab", temperature=0, max_tokens=5)
    first = "".join(chat("cd"))
    assert first == greedy(model, "sabucdA", 5, device)
    assert "".join(chat("e")) == greedy(model, f"sabucda{first}ueA", 5, device)
    assert [m["role"] for m in chat.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_a_chat_that_outgrows_the_context_forgets_its_oldest_turns(folder):
    model = wick.load(folder, device="cpu")
    chat = model.chat(system="ab", temperature=0, max_tokens=3, capacity=24)
    with pytest.warns(UserWarning, match="the context of 24 tokens is full") as said:
        answers = ["".join(chat("cd")) for _ in range(5)]
    assert len(said) == 1 and all(answers)
    assert len(chat.messages) == 11
    last = f"sabucda{answers[2]}ucda{answers[3]}ucdA"  # the system message, two turns and the question
    assert answers[4] == greedy(model, last, 3, "cpu")
    with pytest.raises(IndexError, match="takes 32 tokens with the system message, the context has 24"):
        list(chat("c" * 27))


def test_an_answer_may_be_left_early(folder):
    model = wick.load(folder, device="cpu")
    chat = model.chat(temperature=0, max_tokens=30)
    answer = chat("ab")
    part = next(answer) + next(answer)
    answer.close()
    assert chat.messages[-1] == {"role": "assistant", "content": part}
    assert "".join(chat("c")) == greedy(model, f"uaba{part}ucA", 30, "cpu")


def test_ctrl_c_interrupts_generation(folder):
    model = wick.load(folder, device="cpu")
    seen = []
    with pytest.raises(KeyboardInterrupt):
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        for _ in range(100_000):
            for piece in model.generate("abc", max_tokens=100, temperature=1):
                seen.append(piece)
    assert seen


def test_errors_name_the_file(tmp_path):
    with pytest.raises(OSError, match="missing"):
        wick.load(tmp_path / "missing")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="config.json"):
        wick.load(tmp_path)


def test_a_model_without_tokenizer_says_so():
    model = wick.load(GOLDEN / "decoders/llama_linear", device="cpu")
    assert model.tokenizer is None
    with pytest.raises(NotImplementedError, match="tokenizer"):
        model.prompt_ids("abc")


def test_tokenizers(folder):
    tokenizer = wick.load_tokenizer(folder)
    assert tokenizer.encode("cab") == [2, 0, 1] and tokenizer.decode([2, 0, 1]) == "cab"
    ids, tokens, offsets = tokenizer.encode_with_offsets("cab")
    assert (ids, tokens, offsets) == ([2, 0, 1], ["c", "a", "b"], [(0, 1), (1, 2), (2, 3)])
    assert tokenizer.vocab_size == 48 and tokenizer.id_of("d") == 3 and tokenizer.id_of("dd") is None


def test_safetensors_are_those_of_the_package(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    tensors = {"a": wick.rand([3, 4]), "b": wick.arange(7), "c": wick.Tensor([True, False])}
    wick.save_safetensors(tmp_path / "x.safetensors", tensors, {"made": "here"})
    theirs = package.load_file(tmp_path / "x.safetensors")
    assert set(theirs) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(theirs[name], tensor.numpy())
    package.save_file({"z": np.arange(6, dtype=np.float16).reshape(2, 3)}, tmp_path / "y.safetensors")
    assert wick.load_safetensors(tmp_path / "y.safetensors")["z"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gguf_files(device):
    path = GOLDEN / "decoders/llama_linear/model.gguf"
    tensors = wick.load_gguf(path, device)
    weights = wick.load_safetensors(GOLDEN / "decoders/llama_linear/model.safetensors")
    np.testing.assert_array_equal(tensors["token_embd.weight"].numpy(), weights["model.embed_tokens.weight"].numpy())
    model = wick.load(path, device=device, dtype=wick.f32)
    expected = wick.load_safetensors(GOLDEN / "decoders/llama_linear/expected.safetensors")
    ids = expected["ids.1"].reshape([1, -1]).to(device)
    np.testing.assert_allclose(model.logits(ids)[0].numpy(), expected["logits.1"].numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama_linear", "gemma3", "gpt2"])
def test_a_cache_gives_the_logits_of_the_whole_text(name, device):
    model = wick.load(GOLDEN / "decoders" / name, device=device, dtype=wick.f32)
    ids = wick.randint(0, model.vocab_size, [2, 12], device=device)
    whole = model.logits(ids).numpy()
    cache = model.make_cache(batch=2, capacity=16)
    assert (cache.batch, cache.length, cache.capacity) == (2, 0, 16) and model.device == device
    for begin, end in ((0, 5), (5, 6), (6, 12)):
        np.testing.assert_allclose(model.logits(ids[:, begin:end], cache).numpy(), whole[:, begin:end], rtol=1e-4, atol=1e-4)
        assert cache.length == end
    cache.rewind(4)
    np.testing.assert_allclose(model.logits(ids[:, 4:9], cache=cache).numpy(), whole[:, 4:9], rtol=1e-4, atol=1e-4)
    assert model.hidden(ids).shape[:2] == ids.shape


def test_errors_of_a_cache():
    model = wick.load(GOLDEN / "decoders/llama_linear", device="cpu", dtype=wick.f32)
    cache = model.make_cache(capacity=4)
    model.logits(wick.Tensor([[1, 2, 3]]), cache)
    with pytest.raises(IndexError, match="4"):
        model.logits(wick.Tensor([[1, 2]]), cache)
    with pytest.raises(IndexError, match="rewind: length: expected 0 to 3, got 4"):
        cache.rewind(4)
    with pytest.raises(ValueError, match="ids: expected 1 sequences, as the cache has, got 2"):
        model.logits(wick.Tensor([[1], [2]]), cache)
    with pytest.raises(ValueError, match=r"ids: expected \[B, T\]"):
        model.logits(wick.Tensor([1]), cache)
    assert cache.length == 3
