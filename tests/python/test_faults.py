"""Input that once ended the process, or its exit, raises an exception."""
import pickle
import subprocess
import sys

import numpy as np
import pytest

import wick


def test_a_list_that_contains_itself():
    itself = []
    itself.append(itself)
    with pytest.raises(ValueError, match="at most 64 levels of nested lists"):
        wick.Tensor(itself)


def test_a_list_of_many_levels():
    deep = 1.0
    for _ in range(64):
        deep = [deep]
    assert wick.Tensor(deep).ndim == 64
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="at most 64 levels of nested lists"):
        wick.Tensor(deep)


@pytest.mark.parametrize("shape", [(3,), (), (-32,), (2**62, 4), (32, 2**61)])
def test_a_state_of_blocks_with_a_shape_that_does_not_fit(shape):
    for dtype in (wick.q4_0, wick.q6_k):
        with pytest.raises(ValueError):
            wick.Tensor.__new__(wick.Tensor).__setstate__((b"\0" * 12, dtype, shape, wick.Device("cpu")))


def test_every_changed_byte_of_a_pickle_is_an_exception_or_a_tensor():
    program = """
import pickle, sys, wick
good = pickle.dumps(wick.Tensor([1., 2., 3.]))
outcomes = set()
for at in range(len(good)):
    for value in (0, 1, 2, 19, 27, 40, 127, 128, 255, good[at] ^ 1, good[at] ^ 0x80):
        bad = bytearray(good)
        bad[at] = value
        try:
            outcomes.add(type(pickle.loads(bytes(bad))).__name__)
        except Exception:
            outcomes.add("exception")
print(sorted(outcomes & {"Tensor", "exception"}))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "['Tensor', 'exception']\n"


@pytest.mark.parametrize("work", ["wick.matmul(a, a)", "a.tolist()", "(v * v).sum().backward()"])
def test_a_daemon_thread_does_not_keep_the_interpreter_from_its_end(work):
    program = f"""
import threading, time, wick
a, v = wick.ones([64, 64]), wick.Var(wick.ones([64]))
def run():
    while True: {work}
for _ in range(2): threading.Thread(target=run, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("operation", [
    lambda t, n: t == n, lambda t, n: n == t, lambda t, n: t != n, lambda t, n: t < n, lambda t, n: t + n, lambda t, n: n + t,
    lambda t, n: n * t, lambda t, n: t - n])
def test_operators_refuse_an_array(operation):
    with pytest.raises(TypeError, match="make a tensor of the array"):
        operation(wick.Tensor([1.0, 2.0]), np.array([1.0, 2.0], dtype="f4"))


def test_a_tensor_equals_no_other_object():
    tensor = wick.Tensor([1.0])
    assert (tensor == None) is False  # noqa: E711
    assert (tensor != "text") is True
    with pytest.raises(TypeError):
        tensor + "text"
