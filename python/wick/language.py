"""Language models: loading, generating, chatting."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any

from . import _wick
from ._wick import Device, DType, Session


def _answer(model: LanguageModel, session: Session, max_tokens: int, stop: str | Sequence[str]) -> Iterator[str]:
    """Yields the text that follows the session's tokens, piece by piece, up to a stop string or the model's own end."""
    pieces = _wick.TokenStream(model.tokenizer, skip_special=True)
    stops = _wick.StopStrings([stop] if isinstance(stop, str) else list(stop))
    for _ in range(max_tokens):
        if session.length() > session.capacity:
            break
        token = session.step()[0]
        if session.stopped():
            break
        text = stops.push(pieces.push(token))
        if text:
            yield text
        if stops.stopped:
            return
    text = stops.push(pieces.finish()) + stops.finish()
    if text:
        yield text


class Chat:
    """A conversation. Calling it with a message yields the answer piece by piece:

    chat = model.chat(system="Answer in one sentence.")
    for piece in chat("Why is the sky blue?"):
        print(piece, end="", flush=True)

    `messages` holds the conversation so far, as dicts of role and content. Once it outgrows the context (`capacity` tokens),
    the model reads it without its oldest turns, the system message kept; the first time, a warning says so.
    """

    def __init__(self, model: LanguageModel, system: str | None = None, max_tokens: int = 1024,
                 stop: str | Sequence[str] = (), **session: Any) -> None:
        self.messages = [{"role": "system", "content": system}] if system else []
        self._model, self._max_tokens, self._stop = model, max_tokens, stop
        self._session = model.session(**session)
        self._said = False

    def __call__(self, message: str) -> Iterator[str]:
        """Yields the answer piece by piece. One that the caller does not read to its end stays in the conversation as far as
        it was read."""
        question = {"role": "user", "content": message}
        capacity = self._session.capacity
        ids, left_out = self._model.chat_window([*self.messages, question], capacity, self._max_tokens)
        if left_out and not self._said:
            self._said = True
            warnings.warn(f"the context of {capacity} tokens is full: the oldest turns are left out from now on", stacklevel=2)
        # The session keeps the tokens that the conversation begins with, but for the last, whose logits it needs again.
        held, kept = self._session.history(), 0
        while kept < min(len(held), len(ids) - 1) and held[kept] == ids[kept]:
            kept += 1
        self._session.rewind(kept)
        self._session.append(ids[kept:])
        self.messages.append(question)
        answer: list[str] = []
        try:
            for piece in _answer(self._model, self._session, self._max_tokens, self._stop):
                answer.append(piece)
                yield piece
        finally:
            self.messages.append({"role": "assistant", "content": "".join(answer)})


class LanguageModel:
    """A decoder with its tokenizer and its files' settings. wick.load makes one."""

    def __init__(self, model: _wick._LanguageModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, prompt: str | Sequence[int], *, max_tokens: int = 256, stop: str | Sequence[str] = (),
                 **session: Any) -> Iterator[str]:
        """Yields the text that continues the prompt, piece by piece: "".join(model.generate("The sky is")).

        prompt      a text, or a list of token ids
        stop        texts that end the answer and are not part of it
        session     temperature (0: the likeliest token), top_k, top_p, min_p, repetition_penalty, capacity; without them the
                    model's own, else temperature 0.3 and min_p 0.2
        """
        running = self.session(**session)
        running.append(self.prompt_ids(prompt) if isinstance(prompt, str) else list(prompt))
        return _answer(self, running, max_tokens, stop)

    def chat(self, system: str | None = None, *, max_tokens: int = 1024, stop: str | Sequence[str] = (),
             **session: Any) -> Chat:
        """A conversation by the model's chat template; see Chat. Options are those of generate."""
        return Chat(self, system, max_tokens, stop, **session)

    def __repr__(self) -> str:
        return f"wick.LanguageModel(vocab_size={self.vocab_size}, positions={self.max_position_embeddings})"


def load(path: str | PathLike[str], device: Device | str | None = None, dtype: DType | str | None = None, positions: int = 0,
         progress: Callable[[int, int], object] | None = None) -> LanguageModel:
    """Loads a language model from a folder as the HuggingFace hub has it, or from a GGUF file.

    path       the folder or the file
    device     where it computes; None: the best device of this machine
    dtype      of the computation; None: the device's preferred one
    positions  the most tokens of a text; 0: as many as the model was trained for
    progress   is called with (bytes read, all bytes) after each tensor
    """
    return LanguageModel(_wick._load(path, device, dtype, positions, progress))
