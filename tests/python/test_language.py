"""Language models and files: held to goldens of transformers, and to the logits of the model itself."""
import errno
import gc
import json
import os
import pathlib
import re
import shutil
import signal
import string
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import wick

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
DECODERS = ["llama_linear", "qwen3", "gemma3", "gpt2", "mixtral", "phi3"]


@pytest.fixture
def manifest_types():
    """The structs of C++'s public headers."""
    return json.loads((GOLDEN.parents[1] / "docs/reference/ops.json").read_text(encoding="utf-8"))["types"]


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


@pytest.mark.parametrize("manual_seed", [wick.manual_seed, lambda seed: wick.Device("cpu").manual_seed(seed)])
def test_sampling_follows_the_seed(folder, manual_seed):
    model = wick.load(folder, device="cpu")

    def sampled(seed):
        manual_seed(seed)
        return "".join(model.generate("abc", max_tokens=20, temperature=5))

    assert sampled(1) == sampled(1) != sampled(2)


def test_a_session_without_a_seed_draws_its_own(folder):
    model = wick.load(folder, device="cpu")
    program = """
import sys, wick
model = wick.load(sys.argv[1], device="cpu")
print("".join(model.generate("abc", max_tokens=20, temperature=5)))"""

    def run():
        return subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True).stdout

    assert len({run(), run(), run()}) == 3
    assert len({model.session().seed for _ in range(3)}) == 3


def test_a_seed_repeats_a_text_whatever_else_draws(folder, device):
    model = wick.load(folder, device=device)

    def sampled(seed):
        return "".join(model.generate("abc", max_tokens=20, temperature=5, seed=seed))

    device.manual_seed(3)
    numbers = wick.rand([4], device=device).tolist()
    device.manual_seed(3)
    first = sampled(2**64 - 1)
    assert wick.rand([4], device=device).tolist() == numbers  # the session draws from a generator of its own
    assert first == sampled(2**64 - 1) != sampled(1)
    ids = model.session(seed=1, temperature=5)
    ids.append(model.prompt_ids("abc"))
    assert model.tokenizer.decode([ids.step()[0] for _ in range(20)]) == sampled(1)
    assert ids.seed == 1 and "seed=1" in repr(ids)


def test_graphs_change_no_token(folder, device):
    model = wick.load(folder, device=device)
    texts = ["".join(model.generate("abc", max_tokens=20, temperature=5, seed=3, graphs=graphs)) for graphs in (True, False)]
    assert texts[0] == texts[1]
    with pytest.raises(TypeError, match="graphs: expected a bool, got"):
        model.session(graphs=1)


def test_keywords_are_the_options_of_cpp(manifest_types):
    """session.h's structs and the keywords are one list."""
    fields = {f["name"] for struct in ("Sampling", "SessionOptions") for f in manifest_types[struct]["fields"]}
    assert {name for name, _, _ in wick._wick._session_keywords()} == fields - {"sampling"}
    for method in (wick.LanguageModel.session, wick.LanguageModel.generate, wick.LanguageModel.chat):
        for name in fields - {"sampling", "sequences", "each"}:
            assert f"\n{name} " in method.__doc__


def test_sequences_have_settings_of_their_own(folder, device):
    model = wick.load(folder, device=device, dtype=wick.f32)
    each = [{"temperature": 0}, {"temperature": 3, "seed": 8}, {"repetition_penalty": 2.0}]
    together = model.session(sequences=3, each=each, temperature=2, min_p=0, seed=4, stop_ids=[])
    prompts = [model.prompt_ids(text) for text in ("abc", "k", "fed")]
    together.append_each(prompts)
    for _ in range(6):
        together.step()
    for b, own in enumerate(each):
        alone = model.session(**{"temperature": 2, "min_p": 0, "seed": 4 + b, "stop_ids": [], **own})
        alone.append(prompts[b])
        for _ in range(6):
            alone.step()
        assert together.history(b) == alone.history()

    favourite = model.tokenizer.id_of("k")
    together.set_sampling(1, logit_bias={favourite: 1e4})
    assert together.step()[1] == favourite
    mask = np.zeros([3, 2], np.uint32)
    mask[:, 0] = 1 << 5
    together.set_mask(wick.Tensor(mask))
    assert together.step() == [5, 5, 5]
    together.set_mask(None)
    assert together.step()[1] == favourite

    with pytest.raises(ValueError, match="each: expected no settings or those of each sequence, got 1"):
        model.session(sequences=2, each=[{}])
    with pytest.raises(TypeError, match="no keyword of sampling: capacity"):
        model.session(each=[{"capacity": 3}])
    with pytest.raises(TypeError, match="each: expected a dict of keywords for each sequence, got 3"):
        model.session(each=[3])
    with pytest.raises(TypeError, match="generate: no keyword 'each'"):
        model.generate("abc", each=[{}])
    with pytest.raises(TypeError, match="no keyword of sampling: chunk"):
        together.set_sampling(0, chunk=3)
    with pytest.raises(IndexError, match="sequence 3 of 3"):
        together.set_sampling(3, temperature=0)


def test_penalties_and_bias(folder):
    model = wick.load(folder, device="cpu", dtype=wick.f32)
    greedy_text = "".join(model.generate("abc", max_tokens=12, temperature=0))

    def text(**options):
        return "".join(model.generate("abc", max_tokens=12, temperature=0, **options))

    favourite = model.tokenizer.id_of("k")
    assert text(logit_bias={favourite: 1e4}) == "k" * 12
    assert greedy_text[0] not in text(logit_bias={model.tokenizer.id_of(greedy_text[0]): -float("inf")})
    # Greatly penalized, no letter occurs twice; the prompt's letters count too.
    for penalty in ({"presence_penalty": 1e4}, {"frequency_penalty": 1e4}):
        assert len(set("abc" + text(**penalty))) == 15
    assert text(logit_bias={favourite: 100}, repetition_penalty=1e6)[:2].count("k") == 1
    assert text(top_k=1, min_p=None, top_p=None, seed=None, logit_bias=None) == greedy_text
    assert text(stop_ids=[model.tokenizer.id_of(greedy_text[3])]) == greedy_text[:greedy_text.index(greedy_text[3])]
    assert "".join(model.generate("abc", max_tokens=None, temperature=0, capacity=9)) == greedy_text[:7]


def test_a_text_ends_at_the_stop_ids_of_the_model_unless_others_are_given(folder):
    def load(stop):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"eos_token_id": stop}))
        return wick.load(folder, device="cpu", dtype=wick.f32)

    model = load(0)
    prompt, count = model.chat_ids([{"role": "user", "content": "ab"}]), 8
    whole = "".join(model.generate(prompt, max_tokens=count, temperature=0, stop_ids=[]))
    assert len(whole) == count and len(set(whole[:5])) > 2
    third, other = (model.tokenizer.id_of(letter) for letter in (whole[2], whole[4]))

    def texts(**options):
        """Of generate, of a chat, and of a session."""
        yield "".join(model.generate(prompt, max_tokens=count, temperature=0, **options))
        yield "".join(model.chat(max_tokens=count, temperature=0, **options)("ab"))
        session = model.session(temperature=0, **options)
        session.append(prompt)
        ids = [session.step()[0] for _ in range(count) if not session.stopped()]
        yield model.tokenizer.decode(ids[:-1] if session.stopped() else ids)

    model = load(third)
    assert model.stop_ids == [third]
    assert set(texts()) == set(texts(stop_ids=None)) == {whole[:whole.index(whole[2])]}
    assert set(texts(stop_ids=[other])) == {whole[:whole.index(whole[4])]}
    assert set(texts(stop_ids=[])) == {whole}


def test_a_function_changes_the_logits(folder, device):
    model = wick.load(folder, device=device, dtype=wick.f32)
    seen = []

    def only_k(logits):
        seen.append(logits.shape)
        k = wick.arange(48, device=device) == model.tokenizer.id_of("k")
        return wick.where(k, logits, wick.full([], -float("inf"), device=device))

    assert "".join(model.generate("abc", max_tokens=4, on_logits=only_k)) == "kkkk"
    assert seen == [(1, 48)] * 4

    def fails(logits):
        raise KeyError("mine")

    for wrong, error, text in ((fails, KeyError, "mine"), (lambda logits: None, TypeError, "on_logits: expected a Tensor, got None"),
                               (lambda logits: logits[:, :3], ValueError, r"on_logits: expected logits \[1, 48\], got \[1, 3\]")):
        with pytest.raises(error, match=text):
            list(model.generate("abc", max_tokens=4, on_logits=wrong))


def test_a_function_that_refers_to_its_session_is_collected(folder):
    model = wick.load(folder, device="cpu")

    class Watch:
        def __call__(self, logits):
            return logits

    watch = Watch()
    watch.session = model.session(on_logits=watch)
    gone = weakref.ref(watch)
    del watch
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("options, error, text", [
    ({"top_n": 3}, TypeError, "no keyword 'top_n'; expected top_p, top_k, "),
    ({"temprature": 3}, TypeError, "no keyword 'temprature'; expected temperature, "),
    ({"max_token": 3}, TypeError, "no keyword 'max_token'; expected max_tokens, "),
    ({"temperature": "hot"}, TypeError, "temperature: expected a number, got 'hot'"),
    ({"temperature": -1}, ValueError, "temperature: expected a number of at least 0, got -1"),
    ({"temperature": float("nan")}, ValueError, "temperature: expected a number of at least 0, got nan"),
    ({"top_k": 1.5}, TypeError, "top_k: expected an int, got 1.5"),
    ({"top_k": -2}, ValueError, "top_k: expected at least 0, got -2"),
    ({"top_k": 2**64}, ValueError, "top_k: expected an int of 64 bits"),
    ({"top_p": 0}, ValueError, r"top_p: expected a number in \(0, 1\], got 0"),
    ({"min_p": 2}, ValueError, r"min_p: expected a number in \[0, 1\], got 2"),
    ({"seed": -1}, ValueError, r"seed: expected an int from 0 to 2\^64 - 1, got -1"),
    ({"seed": 1.0}, TypeError, "seed: expected an int, got 1.0"),
    ({"logit_bias": [1]}, TypeError, r"logit_bias: expected a dict of token ids and numbers, got \[1\]"),
    ({"logit_bias": {"a": 1}}, TypeError, "logit_bias: expected an int, got 'a'"),
    ({"logit_bias": {48: 1}}, ValueError, "logit_bias: expected ids of the vocabulary, got 48"),
    ({"on_logits": 5}, TypeError, "on_logits: expected a function, got 5"),
    ({"stop": 5}, TypeError, "stop: expected a str or a list of str, got 5"),
    ({"stop": [""]}, ValueError, "empty"),
    ({"stop_ids": 5}, TypeError, "stop_ids: expected a list of token ids, got 5"),
    ({"max_tokens": "many"}, TypeError, "max_tokens: expected an int or None, got 'many'"),
    ({"max_tokens": -1}, ValueError, "max_tokens: expected at least 0, got -1"),
    ({"sequences": 2}, TypeError, "no keyword 'sequences'"),
    ({"capacity": -1}, ValueError, "capacity: expected at least 0, got -1"),
])  # fmt: skip
def test_a_wrong_option_is_refused_at_once(folder, options, error, text):
    model = wick.load(folder, device="cpu")
    for call in (lambda: model.generate("abc", **options), lambda: model.chat(**options)):
        with pytest.raises(error, match=text):
            call()


def test_wrong_keywords_of_session_and_chat(folder):
    model = wick.load(folder, device="cpu")
    with pytest.raises(TypeError, match="session: no keyword 'max_tokens'; expected .*sequences"):
        model.session(max_tokens=3)
    with pytest.raises(TypeError, match="chat: no keyword 'sytem'; expected system, "):
        model.chat(sytem="ab")
    with pytest.raises(TypeError, match="prompt: expected a str or a list of token ids, got 5"):
        model.generate(5)


def test_a_chat_takes_lists_of_messages(folder):
    model = wick.load(folder, device="cpu", dtype=wick.f32)
    begun = [{"role": "system", "content": "ab"}, {"role": "user", "content": "cd"}, {"role": "assistant", "content": "ef"}]
    question = {"role": "user", "content": [{"type": "text", "text": "g"}]}
    options = {"temperature": 0, "max_tokens": 5, "stop_ids": []}
    for chat in (model.chat(begun, **options), model.chat(messages=begun, **options),
                 model.chat("ab", messages=begun[1:], **options)):
        assert "".join(chat("g")) == greedy(model, "sabucdaefugA", 5, "cpu")
        assert chat.messages[:3] == begun and len(begun) == 3
    for chat, message in ((model.chat(**options), [*begun, question]),
                          (model.chat(begun, **options), question),
                          (model.chat([*begun, question], **options), ())):
        answer = "".join(chat(message))
        assert answer == greedy(model, "sabucdaefugA", 5, "cpu")
        assert chat.messages == [*begun, question, {"role": "assistant", "content": answer}]
    assert model.chat_ids([question], add_generation_prompt=False) == model.prompt_ids("ug")


def test_special_tokens_that_a_user_types_are_text(folder):
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["added_tokens"] = [{"id": 48, "content": "AuA", "special": True, "normalized": False}]
    path.write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text("{% for m in messages %}AuA{{ m.content | trim }}{% endfor %}{{ end }}")
    model = wick.load(folder, device="cpu")
    a, u = model.tokenizer.encode("A")[0], model.tokenizer.encode("u")[0]
    ids = model.chat_ids([{"role": "user", "content": "AuAu"}], template={"end": "AuA"})
    assert ids == [48, a, u, a, u, 48] and model.prompt_ids("AuA") == [48]


@pytest.mark.parametrize("messages, error, text", [
    ("hello", TypeError, r'messages: expected a list of dicts of "role" and "content", got \'hello\''),
    (["hello"], TypeError, r'messages\[0\]: expected a dict of "role" and "content", got \'hello\''),
    ([{"role": "user", "content": "a"}, {"content": "b"}], ValueError, r'messages\[1\]: expected a "role", got {\'content\': \'b\'}'),
    ([{"role": "user"}], ValueError, r'messages\[0\]: expected a "content", got {\'role\': \'user\'}'),
    ([{"role": 5, "content": "a"}], TypeError, r'messages\[0\]\["role"\]: expected a str, got 5'),
    ([{"role": "user", "content": 5}], TypeError, r'messages\[0\]\["content"\]: expected a str, or a list of text parts, got 5'),
    ([{"role": "user", "content": None}], TypeError, r'messages\[0\]\["content"\]: expected a str'),
    ([{"role": "user", "content": ["a"]}], TypeError, r'\["content"\]\[0\]: expected {"type": "text", "text": ...}, got \'a\''),
    ([{"role": "user", "content": [{"type": "image", "url": "x"}]}], ValueError, r'\["content"\]\[0\]: expected {"type": "text"'),
    ([{"role": "user", "content": "a", "more": {1, 2}}], TypeError, r'messages\[0\]\["more"\]: expected None, a bool, an int, '),
])  # fmt: skip
def test_a_message_of_another_form_is_refused_at_once(folder, messages, error, text):
    model = wick.load(folder, device="cpu")
    for call in (model.chat_ids, lambda m: model.chat(messages=m), *([] if messages == "hello" else [model.chat()])):
        with pytest.raises(error, match=text):
            call(messages)


def test_a_message_that_contains_itself(folder):
    model = wick.load(folder, device="cpu")
    message = {"role": "user", "content": "a"}
    message["itself"] = message
    with pytest.raises(ValueError, match="at most 200 levels of lists and dicts"):
        model.chat()([message])
    with pytest.raises(ValueError, match="chat: expected a message, the conversation has none"):
        model.chat()()


def test_tools_and_variables_reach_the_template(folder):
    (folder / "chat_template.jinja").write_text(
        "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}{% if enable_thinking is defined and not enable_thinking %}N{% endif %}"
        "{% for m in messages %}{{ m.role[0] }}{% if m.content is none %}{{ m.tool_calls[0].function.arguments.x }}"
        "{% else %}{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}A{% endif %}")
    model = wick.load(folder, device="cpu", dtype=wick.f32)
    tools = [{"type": "function", "function": {"name": "fg", "parameters": {"required": ["x"], "n": 1.5, "b": True}}}]
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "fg", "arguments": {"x": "hi"}}}]}
    chat = model.chat("ab", tools=tools, template={"enable_thinking": False}, temperature=0, max_tokens=4)
    first = "".join(chat("c"))
    assert first == greedy(model, "fgNsabucA", 4, "cpu")
    second = "".join(chat([call, {"role": "tool", "content": "e"}]))
    assert second == greedy(model, f"fgNsabuca{first}ahiteA", 4, "cpu")
    ids = model.chat_ids([{"role": "user", "content": "c"}], tools=tools, template={"enable_thinking": False})
    assert model.tokenizer.decode(ids) == "fgNucA"
    with pytest.raises(TypeError, match=r"tools\[0\]: expected a dict, got 'fg'"):
        model.chat(tools=["fg"])
    with pytest.raises(TypeError, match="template: expected a dict, got True"):
        model.chat(template=True)


def test_help_and_reprs(folder, tmp_path):
    model = wick.load(folder, device="cpu", dtype=wick.f32)
    for name in ("logits", "hidden", "embed", "chat_ids", "tokenizer", "device", "dtype", "vocab_size", "make_cache", "generate"):
        assert name in dir(model) and getattr(wick.LanguageModel, name).__doc__, name
    assert repr(model) == "wick.LanguageModel(model_type='llama', vocab_size=48, positions=64, device='cpu', dtype=wick.f32)"
    session = model.session(capacity=20, seed=7)
    session.append([1, 2])
    assert repr(session) == "wick.Session(length=2, capacity=20, seed=7)"
    assert repr(model.session(sequences=2, capacity=20, seed=7)) == "wick.Session(lengths=[0, 0], capacity=20, seed=7)"
    assert repr(model.make_cache(2, 16)) == "wick.KvCache(batch=2, length=0, capacity=16)"
    assert repr(model.tokenizer) == "wick.Tokenizer(vocab_size=48)"
    assert repr(model.chat("ab", capacity=20, seed=7)) == "wick.Chat(messages=1, length=0, capacity=20, seed=7)"
    stops = wick.StopStrings(["x", "yz"])
    assert repr(stops) == "wick.StopStrings(['x', 'yz'])"
    stops.push("ax")
    assert repr(stops) == "wick.StopStrings(['x', 'yz'], stopped=True)"


def test_docstrings_of_language_models_speak_python():
    for thing in (wick.LanguageModel, wick._wick._LanguageModel, wick.Chat, wick.Session, wick.KvCache, wick.Tokenizer,
                  wick.TokenStream, wick.StopStrings, wick.load, wick.load_tokenizer):
        texts = [thing.__doc__, *(getattr(thing, name).__doc__ for name in dir(thing) if not name.startswith("_"))]
        assert all(texts), thing
        assert not [text for text in texts if re.search(r"\bk[A-Z]", text)]


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


def test_a_new_question_ends_the_answer_before(folder):
    model = wick.load(folder, device="cpu")
    chat = model.chat(temperature=0, max_tokens=5, stop_ids=[])
    answer = chat("ab")
    part = next(answer)
    second = "".join(chat("c"))
    assert list(answer) == [] and [m["content"] for m in chat.messages] == ["ab", part, "c", second]
    assert second == greedy(model, f"uaba{part}ucA", 5, "cpu")


def test_a_question_that_fails_leaves_the_conversation(folder):
    model = wick.load(folder, device="cpu")
    calls = []

    def fails_later(logits):
        calls.append(logits)
        if len(calls) == 7:
            raise KeyError("mine")
        return logits

    chat = model.chat(temperature=0, max_tokens=5, stop_ids=[], on_logits=fails_later)
    first = "".join(chat("ab"))
    before = list(chat.messages)
    with pytest.raises(KeyError, match="mine"):
        list(chat("c"))
    assert chat.messages == before
    assert "".join(chat("d")) == greedy(model, f"uaba{first}udA", 5, "cpu")


def test_a_cache_is_no_larger_than_it_must_be(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 100_000}))
    model = wick.load(folder, device="cpu")
    assert model.positions == 100_000 and model.chat().capacity == 4096
    assert model.chat(capacity=5000).capacity == 5000
    small = wick.load(folder, device="cpu", positions=50)
    assert small.chat().capacity == 50


def test_a_chat_that_its_own_function_refers_to_is_collected(folder):
    model = wick.load(folder, device="cpu")

    class Watch:
        def __call__(self, logits):
            return logits

    for use in (lambda watch: model.chat(on_logits=watch), lambda watch: model.generate("abc", on_logits=watch)):
        watch = Watch()
        watch.text = use(watch)
        gone = weakref.ref(watch)
        del watch
        gc.collect()
        assert gone() is None


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


@pytest.mark.parametrize("open_file", [wick.load, wick.load_tokenizer, wick.load_safetensors, wick.load_gguf])
def test_a_missing_file_is_a_file_not_found_error(tmp_path, open_file):
    with pytest.raises(FileNotFoundError, match="^" + re.escape(str(tmp_path / "no-such")) + ": ") as caught:
        open_file(tmp_path / "no-such")
    assert caught.value.errno == errno.ENOENT


def test_other_errors_of_files_are_those_of_python(tmp_path):
    with pytest.raises(IsADirectoryError, match="cannot be replaced: not a regular file"):
        wick.save_safetensors(tmp_path, {"a": wick.ones([1])})
    with pytest.raises(FileNotFoundError, match="cannot be written"):
        wick.save_safetensors(tmp_path / "none/x.safetensors", {"a": wick.ones([1])})
    with pytest.raises(FileNotFoundError, match="expected model.safetensors"):
        wick.load_safetensors(tmp_path)
    with pytest.raises(NotADirectoryError):
        wick.save_safetensors(pathlib.Path(__file__) / "x", {"a": wick.ones([1])})
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        wick.load_safetensors(tmp_path / "fifo")


def test_errors_name_the_file(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="config.json"):
        wick.load(tmp_path)


@pytest.mark.parametrize("dtype", ["f33", "i32", wick.q4_0, 5])
def test_a_dtype_that_models_do_not_compute_in(dtype):
    with pytest.raises(ValueError, match="dtype: expected f32, bf16, f16 or f64, got "):
        wick.load(GOLDEN / "decoders/llama_linear", device="cpu", dtype=dtype)
    assert wick.load(GOLDEN / "decoders/llama_linear", device="cpu", dtype="float16").dtype == wick.f16


def test_a_model_without_tokenizer_says_so():
    model = wick.load(GOLDEN / "decoders/llama_linear", device="cpu")
    assert model.tokenizer is None
    for call in (model.prompt_ids, model.generate, model.chat):
        with pytest.raises(NotImplementedError, match="tokenizer"):
            call("abc")


def test_a_model_without_chat_template_says_so(folder):
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(NotImplementedError, match="no chat template; model.generate"):
        wick.load(folder, device="cpu").chat()


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


@pytest.mark.parametrize("kv, most", [("f16", 0.05), ("f8", 8)])
def test_a_cache_of_fewer_bits_gives_nearly_those_logits(device, kv, most):
    model = wick.load(GOLDEN / "decoders/llama_linear", device=device, dtype=wick.f32)
    ids = wick.randint(0, model.vocab_size, [2, 12], device=device)
    whole = model.logits(ids).numpy()
    cache = model.make_cache(batch=2, capacity=16, kv=kv)
    logits = np.concatenate([model.logits(ids[:, at : at + 4], cache).numpy() for at in (0, 4, 8)], 1)
    error = np.abs(logits - whole).max()
    assert 0 < error < most
    assert model.session(kv=kv, capacity=8).capacity == 8
    with pytest.raises(ValueError, match='expected f16, f8 or q8_0, got "q4"'):
        model.make_cache(kv="q4")


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


@pytest.mark.parametrize("devices", [["emu:32", "cpu"], ["cpu", "emu:64"], ["emu:64", "emu:32"]])
@pytest.mark.parametrize("name", ["llama/grouped", "decoders/qwen2_moe"])
def test_layers_over_devices_give_the_logits_of_one(name, devices):
    ids = wick.tensor([[1, 5, 7, 30, 2]], dtype="i64")
    whole = wick.load(GOLDEN / name, "cpu")
    split = wick.load(GOLDEN / name, devices, split=[1, 1])
    assert split.devices == [wick.Device(device) for device in devices] and split.device == wick.Device(devices[-1])
    assert split.split.startswith(f"{devices[0]}: layers 0 to 0, ")
    logits = split(ids.to(split.device)).logits
    assert logits.device == split.device
    assert float(wick.amax(wick.abs(logits.to("cpu") - whole(ids).logits)).item()) < 1e-4


def test_splits_take_auto_a_second_number_for_the_cpu_and_experts():
    assert wick.load(GOLDEN / "llama/grouped", "emu:32", split=[1, 1]).devices == [wick.Device("emu:32"), wick.Device("cpu")]
    assert wick.load(GOLDEN / "llama/grouped", "emu:32", split="auto").split.startswith("emu:32: layers 0 to 1, ")
    assert wick.load(GOLDEN / "decoders/mixtral", "emu:32", cpu_experts=True).split.endswith(" of weights")
    assert wick.load(GOLDEN / "llama/grouped", "cpu").split == ""
    with pytest.raises(ValueError, match="split: expected the model's 2 layers in all, got 3"):
        wick.load(GOLDEN / "llama/grouped", "emu:32", split=[1, 2])
    with pytest.raises(ValueError, match="split: expected \"auto\" or a number of layers for each device, got 'even'"):
        wick.load(GOLDEN / "llama/grouped", "emu:32", split="even")
    with pytest.raises(NotImplementedError, match="cannot be split over devices"):
        wick.load(GOLDEN / "mamba", ["emu:32", "cpu"])
