"""Language models: loading, generating, chatting."""
from __future__ import annotations

import difflib
import inspect
import json
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from . import _wick
from ._wick import Device, DType, Grammar, Session, Tensor, Tokenizer
from .hub import local_path

Message = dict[str, Any]


def _keywords(function: Callable[..., Any]) -> list[tuple[str, str, str]]:
    """The keywords of sessions that a method of LanguageModel takes: (name, type, meaning)."""
    of_several = {"sequences", "each"} if function.__name__ != "session" else set()
    return [keyword for keyword in _wick._session_keywords() if keyword[0] not in of_several]


def _require_keywords(function: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raises TypeError for an option that is no keyword of sessions, with the right ones, the nearest first."""
    keywords = [name for name, _, _ in _keywords(function)]
    own = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for wrong in options:
        if wrong not in keywords:
            nearest = difflib.get_close_matches(wrong, [*own, *keywords], n=len(own) + len(keywords), cutoff=0)
            raise TypeError(f"{function.__name__}: no keyword {wrong!r}; expected {', '.join(nearest)}")


def _stops(stop: str | Sequence[str]) -> list[str]:
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, (list, tuple)) or not all(isinstance(text, str) for text in stops):
        raise TypeError(f"stop: expected a str or a list of str, got {stop!r}")
    _wick.StopStrings(list(stops))  # refuses an empty one
    return list(stops)


def _limit(max_tokens: int | None) -> int | None:
    if max_tokens is None:
        return None
    try:
        limit = operator.index(max_tokens)
    except TypeError:
        raise TypeError(f"max_tokens: expected an int or None, got {max_tokens!r}") from None
    if limit < 0:
        raise ValueError(f"max_tokens: expected at least 0, got {limit}")
    return limit


def _held_to(grammar: Grammar | None) -> Grammar | None:
    """The grammar; raises TypeError, naming the constructors, for another object."""
    if grammar is None or isinstance(grammar, Grammar):
        return grammar
    if isinstance(grammar, str):
        makers = "wick.Grammar.gbnf, regex or json_schema makes one of a text, wick.Grammar.choice of the texts to choose from"
    elif isinstance(grammar, (dict, bool)) or hasattr(grammar, "model_json_schema"):
        makers = "wick.Grammar.json_schema makes one of a schema"
    elif isinstance(grammar, (list, tuple)):
        makers = "wick.Grammar.choice makes one of a list of texts"
    else:
        makers = "wick.Grammar.gbnf, regex, choice, json_object and json_schema make one"
    raise TypeError(f"grammar: expected a wick.Grammar or None, got {type(grammar).__name__}; {makers}")


def _tokenizer(model: LanguageModel) -> Tokenizer:
    if model.tokenizer is None:
        raise NotImplementedError("the model has no tokenizer; model.session() samples ids")
    return model.tokenizer


def _pieces(text: Any, model: LanguageModel) -> Iterator[str]:
    """Yields the pieces of a text, whose model lives as long."""
    while (piece := text.next()) is not None:
        yield piece


class Chat:
    """A conversation. Calling it with a message yields the answer piece by piece:

        chat = model.chat(system="Answer in one sentence.")
        for piece in chat("Why is the sky blue?"):
            print(piece, end="", flush=True)

    `messages` holds the conversation, as dicts of role and content. Once it outgrows the context (`capacity` tokens),
    the model reads it without its oldest turns, the system message kept; the first time, a warning says so. A question that
    fails leaves the conversation as it was.
    """

    def __init__(self, model: LanguageModel, messages: Sequence[Message], options: dict[str, Any], *, max_tokens: int | None,
                 stop: str | Sequence[str], grammar: Grammar | None, tools: Sequence[dict[str, Any]] | None,
                 template: dict[str, Any] | None) -> None:
        _wick._check_messages(messages)
        _wick._check_chat_options(tools, template)
        self._grammar = _held_to(grammar)
        self.messages: list[Message] = list(messages)
        self._chat = _wick._Chat(model, _limit(max_tokens), _stops(stop), tools, template, options)
        self._said = False
        self._turn, self._before = 0, -1  # the number of the question; messages before it while its answer is open

    def __call__(self, message: str | Message | Sequence[Message] = (), *, grammar: Grammar | None = None) -> Iterator[str]:
        """Yields the answer piece by piece. One that the caller does not read to its end stays in the conversation as far as
        it was read.

        message  the user's text; or a message or a list of them, dicts of role and content, such as the results of tools;
                 without it the model answers the conversation as it is
        grammar  holds this answer to a wick.Grammar; None: to the grammar of the conversation, if it has one
        """
        held_to = _held_to(grammar) or self._grammar
        if isinstance(message, str):
            new: Sequence[Message] = [{"role": "user", "content": message}]
        else:
            new = [message] if isinstance(message, dict) else message
        _wick._check_messages(new)
        if not self.messages and not new:
            raise ValueError("chat: expected a message, the conversation has none")
        return self._answer(list(new), held_to)

    def _answer(self, new: list[Message], grammar: Grammar | None) -> Iterator[str]:
        self._end()  # an earlier answer
        self._chat.begin(self.messages, new, grammar)
        self._before = len(self.messages)
        self.messages.extend(new)
        self._turn += 1
        turn = self._turn
        try:
            if self._chat.forgot and not self._said:
                self._said = True
                warnings.warn(f"the context of {self._chat.capacity} tokens is full: the oldest turns are left out from now on",
                              stacklevel=2)
            while turn == self._turn and (piece := self._chat.next()) is not None:
                yield piece
        finally:
            if turn == self._turn:
                self._end()

    def _end(self) -> None:
        """Adds the answer to the messages as far as it was read; a question that failed leaves them."""
        before, self._before = self._before, -1
        if before < 0:
            return
        answer = self._chat.end()
        if answer is None:
            del self.messages[before:]
        else:
            self.messages.append({"role": "assistant", "content": answer})

    @property
    def seed(self) -> int:
        """The seed of the conversation; another one with it and the same messages samples the same."""
        return self._chat.seed

    @property
    def capacity(self) -> int:
        """Tokens that the conversation may have before its oldest turns are left out."""
        return self._chat.capacity

    def __repr__(self) -> str:
        return (f"wick.Chat(messages={len(self.messages)}, length={self._chat.length}, capacity={self._chat.capacity}, "
                f"seed={self.seed})")


class Outputs(dict[str, Tensor]):
    """The named tensors that a model gives; outputs.logits is outputs["logits"]."""

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the model gave no {name!r}; it gave {', '.join(self)}") from None


def _ranked(query: str, images: Sequence[Any], embed: Callable[[str], Tensor],
            score: Callable[[Tensor, Any], Tensor]) -> list[tuple[int, float]]:
    """(index, score) of each image, the best first. One image at a time is in memory."""
    if not isinstance(query, str):
        raise TypeError(f"rank: expected a str as query, got {query!r}")
    if not isinstance(images, (list, tuple)):
        raise TypeError(f"rank: expected a list of images, got {type(images).__name__}")
    embedded = embed(query)
    return sorted(enumerate([float(score(embedded, image).item()) for image in images]), key=lambda pair: -pair[1])


class LanguageModel(_wick._LanguageModel):
    """A model with its tokenizer and its files' settings. wick.load makes one."""

    def __call__(self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, *,
                 output_hidden_states: bool = False, **inputs: Tensor) -> Outputs:
        """The logits [B, T, vocab_size] of input_ids [B, T], under the names of transformers: model(input_ids=ids).logits. A model with
        a vector for each token gives .embeddings [B, T, embedding_dim].

        attention_mask        [B, T]: 0 for padding, to the left or the right of a row's tokens
        inputs_embeds         [B, T, hidden_size], in place of input_ids
        output_hidden_states  also last_hidden_state and hidden_states.I, the input of layer I
        """
        given = {"input_ids": input_ids, "attention_mask": attention_mask, **inputs}
        return Outputs(self._forward({name: tensor for name, tensor in given.items() if tensor is not None}, output_hidden_states))

    def session(self, **options: Any) -> Session:
        """A Session, which samples token by token: append, then step."""
        _require_keywords(self.session, options)
        return self._session(options)

    def generate(self, prompt: str | Iterable[int], *, images: Any = (), max_tokens: int | None = _wick._MAX_TOKENS,
                 stop: str | Sequence[str] = (), grammar: Grammar | None = None, **options: Any) -> Iterator[str]:
        """Yields the text that continues the prompt, piece by piece: "".join(model.generate("The sky is")).

        prompt              a text, or a list of token ids
        images              an image that the text is about, or a list of them, as LanguageModel.prompt takes them; among ids, the
                            images of their placeholders
        max_tokens          the most tokens of the answer; None: until the model ends it or the context is full
        stop                texts that end the answer and are not part of it
        grammar             holds the text to a wick.Grammar, which ends it where nothing can follow
        """
        _require_keywords(self.generate, options)
        _tokenizer(self)
        stops, limit, held_to = _stops(stop), _limit(max_tokens), _held_to(grammar)
        if not isinstance(prompt, Iterable):
            raise TypeError(f"prompt: expected a str or a list of token ids, got {prompt!r}")
        pixel_values = None
        if isinstance(images, (list, tuple)) and not images:
            ids = self.prompt_ids(prompt) if isinstance(prompt, str) else list(prompt)
        elif isinstance(prompt, str):
            ids, pixel_values = self.prompt(prompt, images)
        else:
            ids, pixel_values = list(prompt), self.pixel_values(images)
        return _pieces(_wick._Generation(self, ids, limit, stops, held_to, options, pixel_values), self)

    def chat(self, system: str | Sequence[Message] | None = None, *, messages: Sequence[Message] = (),
             max_tokens: int | None = None, stop: str | Sequence[str] = (), grammar: Grammar | None = None,
             tools: Sequence[dict[str, Any]] | None = None, template: dict[str, Any] | None = None, **options: Any) -> Chat:
        """A conversation by the model's chat template, or in plain turns of a model that reads images; see Chat.

        system              the system message, or the messages that the conversation begins with
        messages            those messages: dicts of role and content, of images, which are as LanguageModel.prompt takes them, and further
                            keys that the template reads, as tool_calls
        max_tokens          the most tokens of an answer; None: until the model ends it or the context is full
        stop                texts that end an answer and are not part of it
        grammar             holds each answer to a wick.Grammar; a question may have another one
        tools               functions that the model may call: JSON schemas, as dicts
        template            variables of the template: {"enable_thinking": False}
        """
        _require_keywords(self.chat, options)
        _tokenizer(self)
        if not self.has_chat_template and not self.reads_images:
            raise NotImplementedError("the model has no chat template; model.generate() continues texts")
        if isinstance(system, str):
            messages = [{"role": "system", "content": system}, *messages] if system else messages
        elif system is not None:
            if messages:
                raise TypeError("chat: messages are given twice")
            messages = system
        return Chat(self, messages, options, max_tokens=max_tokens, stop=stop, grammar=grammar, tools=tools, template=template)

    def rank(self, query: str, images: Sequence[Any]) -> list[tuple[int, float]]:
        """(index, score) of each image, the best first, of a model with a vector for each token (ColPali): wick.late_interaction of
        embed_query and embed_image. Images are paths, bytes of files, or pixels u8 [H, W, 3].
        """
        return _ranked(query, images, self.embed_query, lambda text, image: _wick.late_interaction(text, [self.embed_image(image)]))

    def __repr__(self) -> str:
        return (f"wick.LanguageModel(model_type={self.model_type!r}, vocab_size={self.vocab_size}, "
                f"positions={self.positions}, device='{self.device}', dtype={self.dtype})")


def _document_options() -> None:
    """Adds the keywords of sessions to the documentation of the methods that take them."""
    for method in (LanguageModel.session, LanguageModel.generate, LanguageModel.chat):
        text = inspect.cleandoc(method.__doc__ or "")
        keywords = "".join(f"{name:<20}{meaning} ({kind})\n" for name, kind, meaning in _keywords(method))
        method.__doc__ = f"{text}\n\nNone, or without these: the model's own, else temperature 0.3 and min_p 0.2.\n\n{keywords}"


_document_options()


_MAX_LAYERS = 1 << 16  # DecoderConfig::kMaxLayers


def load(path: str | PathLike[str], device: Device | str | Sequence[Device | str] | None = None, dtype: DType | str | None = None,
         positions: int = 0, progress: Callable[[int, int], object] | None = None, *, tokenizer_pre: str = "",
         split: Literal["auto"] | Sequence[int] | None = None, cpu_experts: int | bool = 0, context: int = 0,
         tensor_parallel: int = 1) -> LanguageModel:
    """Loads a language model from the HuggingFace hub, from a folder as the hub has it, or from a GGUF file.

        wick.load("HuggingFaceTB/SmolLM2-135M-Instruct")
        wick.load("model.gguf", device="cuda", split="auto")  # the layers that do not fit on the card are on the CPU

    path           the folder or the file; or ORG/NAME[:FILE or TYPE][@REVISION], which wick.download brings if no file or folder has
                   this name
    device         where it computes; None: the best device of this machine; several share the layers in this order
    dtype          of the computation; None: the device's preferred one
    positions      the most tokens of a text; 0: as many as the model was trained for
    progress       is called with (bytes read, all bytes) after each tensor
    split          the layers on each device, the last number for the CPU if it is not listed; "auto": as many on the device as fit, the
                   others on the CPU; None, with several devices: as many on each as fit. LanguageModel.split says the result
    cpu_experts    the experts of so many first layers are on the CPU; True: of all
    context        tokens for whose cache "auto" leaves room; 0: 4096, or as many as the model has positions
    tokenizer_pre  the pre-tokenizer of a GGUF file that names an unknown one or does not name it, such as "qwen2"
    tensor_parallel  so many processes share the weights and compute together, each on its card or with its share of the CPU's cores.
                   This process starts the others, unless `wick launch` or torchrun has started them all. Then load returns on
                   rank 0 alone: the other ranks compute with it until its model is gone, and raise SystemExit

    Errors: FileNotFoundError and other OSErrors; ValueError for damaged files, naming the file; NotImplementedError for a
    family that wick lacks; MemoryError, before a weight is read, for a model larger than the device's memory; as wick.download.
    """
    devices = [] if device is None else [device] if isinstance(device, (Device, str)) else list(device)
    if isinstance(split, str) and split != "auto":
        raise ValueError(f'split: expected "auto" or a number of layers for each device, got {split!r}')
    layers = [] if split is None or split == "auto" else list(split)
    experts = _MAX_LAYERS if cpu_experts is True else int(cpu_experts)
    # Of several devices, the CPU has the most room for a file of the hub.
    place = "cpu" if split is not None or len(devices) > 1 else devices[0] if devices else None
    ranks = operator.index(tensor_parallel)
    if ranks < 1:
        raise ValueError(f"tensor_parallel: expected at least 1, got {ranks}")
    file = local_path(path, place)
    command = _command_of_rank(file, devices, dtype, positions, tokenizer_pre, ranks) if ranks > 1 else []
    model = _wick._load(file, devices, dtype, positions, tokenizer_pre, progress, layers, split == "auto", experts, context, ranks, command)
    if ranks > 1 and _wick._follow(model):
        raise SystemExit(0)
    return LanguageModel(model)


def _command_of_rank(path: str | PathLike[str], devices: Sequence[Device | str], dtype: DType | str | None, positions: int,
                     tokenizer_pre: str, ranks: int) -> list[str]:
    """The command of the processes that share a model with this one: each loads it and follows rank 0."""
    arguments = {"path": fspath(path), "device": str(devices[0]) if devices else None,
                 "dtype": None if dtype is None else str(dtype).removeprefix("wick."), "positions": positions,
                 "tokenizer_pre": tokenizer_pre, "tensor_parallel": ranks}
    program = "import json, sys; sys.path.append(sys.argv[1]); import wick; wick.load(**json.loads(sys.argv[2]))"
    return [sys.executable, "-c", program, str(Path(__file__).parents[1]), json.dumps(arguments)]


def load_tokenizer(path: str | PathLike[str], tokenizer_pre: str = "") -> Tokenizer:
    """The tokenizer of a folder with tokenizer.json, of a GGUF file, or of a model of the HuggingFace hub, whose weights stay there if it
    has a folder.

    tokenizer_pre  the pre-tokenizer of a GGUF file that names an unknown one or does not name it, such as "qwen2"
    """
    return _wick._load_tokenizer(local_path(path, weights=False), tokenizer_pre)
