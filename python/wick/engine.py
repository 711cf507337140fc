"""Texts of many requests at once."""
from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from . import _wick
from ._wick import Grammar
from .language import LanguageModel, Message, _held_to, _limit, _stops

_OF_SESSIONS = {"capacity", "cache_tokens", "chunk", "sequences", "each", "kv", "graphs"}  # not of a request
_SLICE = 0.2  # seconds between two looks for Ctrl-C


def _require_keywords(options: dict[str, Any]) -> None:
    keywords = [name for name, _, _ in _wick._session_keywords() if name not in _OF_SESSIONS]
    for wrong in options:
        if wrong not in keywords:
            raise TypeError(f"submit: no keyword {wrong!r}; expected {', '.join(keywords)}")


class _Waiter:
    """An event loop's task that waits for a text; the engine's thread wakes it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None

    def arm(self) -> asyncio.Event:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        return self._news

    def __call__(self) -> None:
        if self._loop is not None and self._news is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)


class EngineText(Iterator[str], AsyncIterator[str]):
    """A text that an Engine generates: `for piece in text`, or `async for piece in text`.

    A text that no variable holds any longer is cancelled.
    """

    def __init__(self, engine: _wick._Engine, ids: list[int], **given: Any) -> None:
        self._waiter = _Waiter()
        self._stream = engine.submit(ids, on_news=self._waiter, **given)

    def __next__(self) -> str:
        while (piece := self._stream.next(_SLICE)) is not None:
            if piece:
                return piece
        raise StopIteration

    async def __anext__(self) -> str:
        while True:
            news = self._waiter.arm()
            piece = self._stream.next(0)
            if piece is None:
                raise StopAsyncIteration
            if piece:
                return piece
            await news.wait()

    def finish(self) -> str:
        """Waits for the rest, and returns the whole text."""
        for _ in self:
            pass
        return self.text

    def cancel(self) -> None:
        """Ends the text; its sequence is free before the next step."""
        self._stream.cancel()

    @property
    def text(self) -> str:
        """The text as far as it was read."""
        return self._stream.text

    @property
    def ids(self) -> list[int]:
        """Its tokens."""
        return self._stream.ids

    @property
    def ending(self) -> str:
        """Why it ended: "end", "stop", "length", "context" or "interrupted", which it also is before its end."""
        return self._stream.ending

    @property
    def prompt_tokens(self) -> int:
        """The tokens of its prompt."""
        return self._stream.prompt_tokens

    @property
    def cached_tokens(self) -> int:
        """Those tokens of its prompt that an earlier text had left in the cache; known once it has ended."""
        return self._stream.cached_tokens

    @property
    def logprobs(self) -> list[tuple[tuple[int, float], list[tuple[int, float]]]]:
        """For each token its id and log probability by the model, and the likeliest tokens' with their log probabilities; see submit."""
        return self._stream.logprobs

    def __repr__(self) -> str:
        return f"wick.EngineText(tokens={len(self.ids)}, ending={self.ending!r})"


class Engine:
    """Generates texts of many requests at once, which join and leave between two steps:

    engine = wick.Engine(model, sequences=16)
    texts = [engine.submit(prompt, max_tokens=50) for prompt in prompts]
    print([text.finish() for text in texts])

    A prompt that begins as an earlier text did reads only the rest. A text does not depend on those beside it.
    """

    def __init__(self, model: LanguageModel, *, sequences: int = 8, capacity: int | None = None, cache_tokens: int | None = None,
                 chunk: int = 512, queue: int = 256, kv: str | None = None, graphs: bool = True, batch_invariant: bool = False) -> None:
        """
        sequences  the most texts that grow at once
        capacity   tokens of a text with its prompt; None: at most 4096 of the model's positions
        cache_tokens  tokens of all texts together that the cache has room for; None: all that they can have. If they need
                   more, the youngest text waits
        chunk      the most tokens of prompts that are read between two steps
        queue      the most requests that wait; submit refuses further ones
        kv         how the cache holds keys and values: "f16", "f8" or "q8_0"; None: as the model computes them
        graphs     captures steps that are alike once, and queues them at once
        batch_invariant  computes a text in the same way whatever runs beside it, so that its tokens are the same alone and in
                   a crowd in every dtype and on every device; few or short texts take longer then
        """
        self._model = model
        self._engine = _wick._Engine(model, sequences, capacity or 0, cache_tokens or 0, chunk, queue, kv or "", graphs, batch_invariant)

    def submit(self, prompt: str | Iterable[int] | Sequence[Message], *, max_tokens: int | None = None, stop: str | Sequence[str] = (),
               grammar: Grammar | None = None, logprobs: int | None = None, skip_special: bool = True,
               tools: Sequence[dict[str, Any]] | None = None, template: dict[str, Any] | None = None, **options: Any) -> EngineText:
        """Queues a request, and returns its text as it grows. Threads may call it.

        prompt        a text to continue, a list of token ids, or the messages of a chat: dicts of role and content
        max_tokens    the most tokens of the text; None: until the model ends it or it is full
        stop          texts that end the text and are not part of it
        grammar       holds the text to a wick.Grammar, which ends it where nothing can follow
        logprobs      asks for each token's log probability beside so many of the likeliest tokens with theirs
        skip_special  leaves special tokens out of the text
        tools         of a chat: functions that the model may call, as LanguageModel.chat takes them
        template      of a chat: variables of the template
        options       temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty, logit_bias, seed,
                      stop_ids and on_logits, as of LanguageModel.generate; the engine's thread calls on_logits

        Errors: ValueError for a prompt that is empty or too long; MemoryError if the queue is full.
        """
        _require_keywords(options)
        if isinstance(prompt, str):
            ids = self._model.prompt_ids(prompt)
        elif not isinstance(prompt, Iterable):
            raise TypeError(f"prompt: expected a str, a list of token ids or of messages, got {prompt!r}")
        else:
            items: list[Any] = list(prompt)
            if items and isinstance(items[0], dict):
                ids = self._model.chat_ids(items, tools=tools, template=template)
            else:
                ids = items
        limit = _limit(max_tokens)
        return EngineText(self._engine, ids, max_tokens=limit, stop=_stops(stop), grammar=_held_to(grammar),
                          logprobs=None if logprobs is None else operator.index(logprobs), skip_special=skip_special, keywords=options, pixel_values=None)

    def stats(self) -> dict[str, int]:
        """Counts since the engine began, and its state now: running and waiting requests, tokens, steps, positions of the cache."""
        return self._engine.stats()

    @property
    def sequences(self) -> int:
        """The most texts that grow at once."""
        return self._engine.sequences

    @property
    def capacity(self) -> int:
        """Tokens that a text with its prompt may have."""
        return self._engine.capacity

    def __repr__(self) -> str:
        return f"wick.Engine(sequences={self.sequences}, capacity={self.capacity})"
