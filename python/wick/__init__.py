"""Tensors, gradients and language models, on the CPU, on AMD and on NVIDIA GPUs.

    import wick

    w = wick.Var(wick.randn([10, 784], device="rocm"))
    loss = wick.cross_entropy(images @ w.transpose(0, 1), labels)
    loss.backward()
    w.grad
"""
import contextlib
from collections.abc import Iterator

from . import _wick
from . import array_api as array_api, dist as dist, functional as functional, nn as nn, optim as optim
from ._wick import *  # noqa: F403
from .engine import Engine as Engine, EngineText as EngineText
from .function import Function as Function
from .hub import download as download
from .images import ImageTextModel as ImageTextModel, load_image_text as load_image_text
from .language import Chat as Chat, LanguageModel as LanguageModel, load as load, load_tokenizer as load_tokenizer
from .server import Server as Server, serve as serve

__version__: str = vars(_wick)["__version__"]

for _name in ("DType", "Device", "Tensor", "Var", "Tokenizer", "TokenStream", "StopStrings", "Session", "QTensor", "QMatMul", "KvCache", "Stream",
              "Event", "Graph", "ImageProcessor", "Grammar", "GrammarState"):
    getattr(_wick, _name).__module__ = "wick"


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Stops the recording of this thread's ops: `with wick.no_grad():`, or as a decorator."""
    scope = _wick._NoGrad()
    try:
        yield
    finally:
        scope.close()
