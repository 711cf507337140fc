"""Texts of many requests at once: the same as alone, whoever waits for them."""
import asyncio
import gc
import math
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import wick

from test_language import folder  # noqa: F401: a small model

GREEDY = {"temperature": 0, "stop_ids": []}


def alone(model, prompt, tokens):
    return "".join(model.generate(prompt, max_tokens=tokens, **GREEDY))


def test_texts_of_a_crowd_are_the_same_as_alone(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=3)
    prompts = ["abc", "abcdef", "xyz", "q", "hello", "abcdefgh"]
    texts = [engine.submit(prompt, max_tokens=5 + i, **GREEDY) for i, prompt in enumerate(prompts)]
    for i, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        assert text.finish() == alone(model, prompt, 5 + i)
        assert text.ending == "length"
        assert len(text.ids) == 5 + i
        assert text.prompt_tokens == len(prompt)
    stats = engine.stats()
    assert stats["finished"] == 6
    assert stats["generated_tokens"] == sum(5 + i for i in range(6))
    assert repr(engine) == f"wick.Engine(sequences=3, capacity={engine.capacity})"


def test_tasks_and_threads_wait_for_texts(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=2)

    async def read(prompt):
        return "".join([piece async for piece in engine.submit(prompt, max_tokens=8, **GREEDY)])

    async def read_all():
        return await asyncio.gather(*[read(prompt) for prompt in ("abc", "xyz", "hello", "q")])

    assert asyncio.run(read_all()) == [alone(model, prompt, 8) for prompt in ("abc", "xyz", "hello", "q")]
    found = {}
    threads = [threading.Thread(target=lambda p=p: found.update({p: engine.submit(p, max_tokens=8, **GREEDY).finish()}))
               for p in ("abc", "xyz", "hello")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {p: alone(model, p, 8) for p in ("abc", "xyz", "hello")}


def test_chats_are_laid_out_by_the_template(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model)
    text = engine.submit([{"role": "user", "content": "abc"}], max_tokens=4, **GREEDY)
    assert text.finish() == alone(model, "uabcA", 4)


def test_a_known_beginning_is_not_read_again_and_scores_are_log_probabilities(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=1)
    engine.submit("abcdefgh", max_tokens=1, **GREEDY).finish()
    text = engine.submit("abcdefghij", max_tokens=2, logprobs=2, **GREEDY)
    text.finish()
    assert text.cached_tokens == 8
    for (token, score), likeliest in text.logprobs:
        assert likeliest[0] == (token, score)  # greedy
        assert likeliest[1][1] <= score <= 0
    logits = model.logits(wick.Tensor([model.prompt_ids("abcdefghij")]))[0, -1]
    expected = wick.log_softmax(logits, -1)[text.ids[0]].item()
    assert math.isclose(text.logprobs[0][0][1], expected, abs_tol=1e-4)


def test_a_text_that_nobody_holds_is_cancelled(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32", positions=4096)
    engine = wick.Engine(model, sequences=1)
    endless = engine.submit("abc", **GREEDY)
    next(endless)
    del endless
    gc.collect()
    assert engine.submit("abc", max_tokens=3, **GREEDY).finish() == alone(model, "abc", 3)
    assert engine.stats()["cancelled"] == 1
    other = engine.submit("abc", **GREEDY)
    next(other)
    other.cancel()
    other.finish()
    assert other.ending == "interrupted"


def test_an_engine_ends_while_tasks_wait(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32", positions=4096)

    async def main():
        engine = wick.Engine(model, sequences=1)
        text = engine.submit("abc", **GREEDY)
        await anext(text)
        del engine
        gc.collect()
        with pytest.raises(ValueError, match="the engine was destroyed"):
            while True:
                await anext(text)

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start < 20


def test_bad_requests_are_refused(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=1, capacity=8)
    with pytest.raises(TypeError, match="no keyword 'temprature'"):
        engine.submit("abc", temprature=1)
    with pytest.raises(TypeError, match="no keyword 'chunk'"):
        engine.submit("abc", chunk=1)
    with pytest.raises(TypeError, match="prompt: expected"):
        engine.submit(3)
    with pytest.raises(IndexError, match="exceeds the capacity 8"):
        engine.submit("abcdefghi")
    with pytest.raises(ValueError, match="top_p"):
        engine.submit("abc", top_p=3)
    with pytest.raises(ValueError, match="sequences: expected at least 1"):
        wick.Engine(model, sequences=0)


FORK = """
import os, sys, wick
engine = wick.Engine(wick.load(sys.argv[1], device="cpu"))
child = os.fork()
if child == 0:
    del engine
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_drops_an_engine_without_its_thread(folder):  # noqa: F811
    done = subprocess.run([sys.executable, "-c", FORK, folder], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick.__file__).resolve().parents[1])})
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_a_request_changes_its_own_logits(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=2, batch_invariant=True)

    def only_k(logits):
        return wick.where(wick.arange(48, device="cpu") == model.tokenizer.id_of("k"), logits, wick.full([], -float("inf"), device="cpu"))

    def fails(logits):
        raise KeyError("mine")

    changed = engine.submit("abc", max_tokens=4, on_logits=only_k, **GREEDY)
    plain = engine.submit("abc", max_tokens=4, **GREEDY)
    failing = engine.submit("abc", max_tokens=4, on_logits=fails, **GREEDY)
    assert changed.finish() == "kkkk"
    assert plain.finish() == alone(model, "abc", 4)
    with pytest.raises(KeyError, match="mine"):
        failing.finish()
    assert engine.submit("abc", max_tokens=4, **GREEDY).finish() == plain.text
