"""A server of models for OpenAI's clients, in this process."""
from __future__ import annotations

import os
import signal
import threading
import weakref
from collections.abc import Callable, Sequence
from os import PathLike
from types import TracebackType

from . import _wick
from ._wick import Device, DType
from .hub import local_path
from .language import LanguageModel

_SLICE = 0.05  # seconds between two looks for Ctrl-C
_IDLE_SECONDS = 300.0  # of the models of a folder, as `wick serve` has it


def _texts(name: str, given: str | Sequence[str] | None) -> list[str]:
    texts = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"serve: {name}: expected a str or a list of str, got {type(given).__name__}")
    return list(texts)


def _stop(server: _wick._Server, pid: int, lock: threading.Lock, stopped: threading.Event, seconds: float) -> bool:
    if pid != os.getpid():  # a fork, whose parent has the server's threads
        return True
    with lock:
        if stopped.is_set():
            return True
        ended = server.stop(seconds)
        stopped.set()
        return ended


class Server:
    """A server that answers OpenAI's clients, from a thread of its own; wick.serve makes one.

    with wick.serve(model, port=0) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="any")

    It stops at the end of the `with`, by stop(), when no variable holds it any longer, and when the program ends.
    """

    def __init__(self, server: _wick._Server, drain: float) -> None:
        self._server = server
        self._url, self._port = server.url, server.port
        self._drain = drain
        self._stopped = threading.Event()
        self._parts = (server, os.getpid(), threading.Lock(), self._stopped)
        weakref.finalize(self, _stop, *self._parts, 0.0)

    @property
    def url(self) -> str:
        """http://HOST:PORT; a client's base_url is this with /v1."""
        return self._url

    @property
    def port(self) -> int:
        """The port, also if serve was given port 0."""
        return self._port

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the server has stopped, in a script: wick.serve(model).wait(). Returns whether it has, after at most
        `timeout` seconds.

        Ctrl-C stops the server and ends the wait, without an exception: requests that run have serve's `drain` seconds to end;
        another Ctrl-C ends the process.
        """
        try:
            return self._stopped.wait(timeout)
        except KeyboardInterrupt:
            before = signal.signal(signal.SIGINT, signal.SIG_DFL)
            try:
                self.stop()
            finally:
                signal.signal(signal.SIGINT, before)
            return True

    def stop(self, drain: float | None = None) -> bool:
        """Takes no further requests. Those that run may go on for `drain` seconds (None: serve's), then they end with an error.
        Returns whether all ended by themselves. The server gives back its memory, and cannot start again.
        """
        return _stop(*self._parts, self._drain if drain is None else drain)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop(0 if kind else None)

    def __repr__(self) -> str:
        return f"wick.Server({self.url!r}{', stopped' if self._stopped.is_set() else ''})"


def serve(model: LanguageModel | str | PathLike[str] | None = None, *, models: str | PathLike[str] | None = None,
          host: str = "127.0.0.1", port: int = 8080, name: str | None = None, alias: str | Sequence[str] = (),
          api_key: str | Sequence[str] | None = None, parallel: int = 8, context: int | None = None,
          cache_tokens: int | None = None, queue: int = 256, chunk: int = 512, kv: str | None = None, batch_invariant: bool = False,
          cors: str | Sequence[str] = (), allow_host: str | Sequence[str] = (), max_connections: int = 512, max_body: int = 32,
          max_time: float = 3600, max_models: int = 1, idle: float | None = None, model_wait: float = 300, drain: float = 30,
          device: Device | str | None = None, dtype: DType | str | None = None, tokenizer_pre: str = "",
          log: Callable[[str], object] | None = None, log_prompts: bool = False) -> Server:
    """Starts the server of `wick serve` in this process, for OpenAI's clients, and returns once it answers:

    with wick.serve("model.gguf", port=0, parallel=8) as server:
        print(server.url)  # http://127.0.0.1:PORT

    A script that only serves waits for Ctrl-C: wick.serve("model.gguf").wait()

    model            a LanguageModel, which the program may go on using, or the path or the name on the hub of one, as of wick.load
    models           a folder whose models are served too, or alone, each loaded when a request names it
    host, port       where it takes connections; port 0: any free one, which server.port tells
    name, alias      the model's id, and further names; without name the name of its file or folder, "wick" for a LanguageModel
    api_key          a key, or several, of which requests must have one; None: the environment's WICK_API_KEY, if it is set
    parallel         texts that grow at once
    context          tokens of a text with its prompt; None: 4096, or the model's maximum
    cache_tokens     tokens of all texts together that the cache has room for; None: parallel times context
    queue, chunk     texts that wait, and tokens of prompts that are read between two steps, as of wick.Engine
    kv               how the cache holds keys and values: "f16", "f8" or "q8_0"; None: as the model computes them
    batch_invariant  computes each text in the same way whatever runs beside it, as of wick.Engine
    cors             origins whose pages may send requests; "*": all
    allow_host       names that clients may reach the server by, beside localhost, host and addresses; "*": any
    max_connections  connections at once
    max_body         MiB of a request, images included
    max_time         seconds that a request may take
    max_models       models that are loaded at once
    idle             seconds without requests after which a model is unloaded; 0: never; None: 300 with models, else never
    model_wait       seconds that a request waits until its model is loaded
    drain            seconds that requests may go on when the server stops
    device, dtype, tokenizer_pre  of models that the server loads, as of wick.load
    log              a function that gets a line for each request, from any thread, with its prompt if log_prompts is True

    The port is taken before a model is loaded. Errors: OSError if another program has the port; ValueError for an option
    outside its range; as wick.load and wick.Engine.
    """
    given = model if isinstance(model, LanguageModel) else None
    path = None if given is not None or model is None else os.fspath(local_path(model, device))  # type: ignore[arg-type]
    if path is None and given is None:
        if models is None:
            raise TypeError("serve: expected a model, its path, or models=FOLDER")
        if name is not None or _texts("alias", alias):
            raise TypeError("serve: name and alias are those of a model beside models=FOLDER")
    keys = _texts("api_key", os.environ.get("WICK_API_KEY") or None if api_key is None else api_key)
    if idle is None:
        idle = 0.0 if models is None else _IDLE_SECONDS
    server = Server(_wick._Server(
        given, path, models, [name or "", *_texts("alias", alias)], device, dtype, tokenizer_pre, host, port, keys, parallel,
        context or 0, cache_tokens or 0, queue, chunk, kv or "", batch_invariant, _texts("cors", cors), _texts("allow_host", allow_host),
        max_connections, max_body, max_time, max_models, idle, model_wait, log, log_prompts), drain)
    try:
        while not server._server.wait_until_ready(_SLICE):
            pass  # Ctrl-C raises here
    except BaseException:
        server.stop(0)
        raise
    return server
