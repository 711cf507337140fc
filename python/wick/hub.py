"""Models of the HuggingFace hub, by name in place of a path."""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from os import PathLike

from . import _wick
from ._wick import Device


class _Bar:
    """The progress of a download on stderr, if that is a terminal, from the second second on."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._start = self._drawn = time.monotonic()
        self._first: int | None = None
        self._is_drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if not self._shows or total == 0 or now - self._start < 1 or now - self._drawn < 0.1:
            return
        rate = (done - self._first) / (now - self._start)
        left = f"  {(total - done) / rate:.0f} s left" if rate > 0 else ""
        sys.stderr.write(f"\r\033[K{self._name}: {done >> 20:,} of {total >> 20:,} MiB  {rate / 2**20:.0f} MiB/s{left}")
        sys.stderr.flush()
        self._drawn, self._is_drawn = now, True

    def note(self, line: str) -> None:
        self.clear()
        print("wick:", line, file=sys.stderr)

    def clear(self) -> None:
        if self._is_drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        self._is_drawn = False


def _fetch(model: str, device: Device | str | None, weights: bool, progress: Callable[[int, int], object] | None) -> str:
    bar = _Bar(model)
    try:
        return _wick._fetch(model, device, weights, progress or bar, bar.note)
    finally:
        bar.clear()


def local_path(model: str | PathLike[str], device: Device | str | None = None, weights: bool = True) -> str | PathLike[str]:
    """The path of a model that a function's argument names. A Path is never a name of the hub, nor is text that is not UTF-8."""
    if not isinstance(model, str) or not model.isascii():
        return model
    return _fetch(model, device, weights, None)


def download(model: str, device: Device | str | None = None, progress: Callable[[int, int], object] | None = None) -> str:
    """Downloads the missing files of a model of the HuggingFace hub, and returns its path: a folder, or a GGUF file.

    wick.download("HuggingFaceTB/SmolLM2-135M-Instruct")
    wick.download("ORG/NAME:Q4_K_M@v1.0")

    model     ORG/NAME[:FILE or TYPE][@REVISION]; a path is returned as it is
    device    of several GGUF types, the largest quantized one that fits its free memory; None: the best device of this machine
    progress  is called often with (bytes that are there, all bytes), in place of a bar on a terminal

    The files lie in the cache of huggingface_hub, and its environment variables set the hub, the token and the cache.
    Errors: FileNotFoundError for a model or revision that the hub does not have; PermissionError for one that it does not give to
    this user; other OSErrors without a network and for a full disk; ValueError for a choice that the repository does not have;
    NotImplementedError for a repository without files that wick reads; MemoryError if no type fits.
    """
    return _fetch(os.fspath(model), device, True, progress)
