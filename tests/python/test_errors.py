"""wick's errors as Python's, with wick's text."""
import re

import pytest

import wick

ONES = wick.ones([2, 3])


@pytest.mark.parametrize("call, error, text", [
    (lambda: ONES @ ONES, ValueError, "matmul: inner dimensions differ"),
    (lambda: ONES.sum(dims=5), IndexError, "sum: "),
    (lambda: ONES & 1, TypeError, "bitwise_and: "),
    (lambda: ONES[2], IndexError, "index: "),
    (lambda: ONES + wick.ones([2, 3], device="emu:32"), ValueError, "emu:32"),
    (lambda: wick.Device("tpu"), ValueError, "tpu"),
    (lambda: wick.zeros([1], device="cuda:99"), RuntimeError, "cuda"),
    (lambda: ONES.sum().backward(), RuntimeError, "backward"),
    (lambda: wick.zeros([2**60]), MemoryError, "."),
    (lambda: ONES.sum(dimz=1), TypeError, "incompatible function arguments"),
    (lambda: wick.zeros(2, dtype="float33"), ValueError, 'zeros: dtype: expected one of bool, .*f32, .*got "float33"'),
    (lambda: wick.Tensor([1], dtype="f33"), ValueError, 'Tensor: dtype: expected one of .*got "f33"'),
    (lambda: wick.arange(3, dtype="f33"), ValueError, 'arange: dtype: '),
    (lambda: wick.pad(ONES, [(1, 1)], mode="reflec"), ValueError, 'pad: mode: expected one of "constant", "reflect", .*got "reflec"'),
    (lambda: wick.cross_entropy(ONES, ONES, reduction="avg"), ValueError, 'cross_entropy: reduction: expected one of "mean", "sum", "none"'),
    (lambda: wick.pad(ONES, (1, 1)), TypeError, "padding: collections.abc.Sequence"),
    (lambda: wick.cat(ONES), TypeError, "tensors: "),
    (lambda: wick.stack(wick.Var([1.0, 2.0])), TypeError, "tensors: "),
])  # fmt: skip
def test_the_code_chooses_the_exception(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_docstrings_speak_python():
    for name in dir(wick):
        words = re.findall(r"\bk[A-Z]\w*|std::\w+", getattr(wick, name).__doc__ or "")
        assert not words, (name, words)
    assert "ValueError" in wick.matmul.__doc__ and "IndexError" in wick.cross_entropy.__doc__
