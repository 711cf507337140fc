"""wick's errors as Python's, with wick's text."""
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
])  # fmt: skip
def test_the_code_chooses_the_exception(call, error, text):
    with pytest.raises(error, match=text):
        call()
