"""Tensors, gradients and language models, on the CPU, on AMD and on NVIDIA GPUs.

    import wick

    w = wick.Var(wick.randn([10, 784], device="rocm"))
    loss = wick.cross_entropy(images @ w.transpose(0, 1), labels)
    loss.backward()
    w.grad
"""
import contextlib

from . import _wick, nn, optim  # noqa: F401
from ._wick import *  # noqa: F403
from .language import Chat, LanguageModel, load  # noqa: F401


@contextlib.contextmanager
def no_grad():
    """Stops the recording of this thread's ops: `with wick.no_grad():`, or as a decorator."""
    scope = _wick._NoGrad()
    try:
        yield
    finally:
        scope.close()
