"""Memory over many calls, many threads, and PyTorch in the same process."""
import gc
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import wick

CALLS = 100_000


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


def train(x, v):
    (x * v).sum().backward()
    v.zero_grad()


def refuse(x, _):
    with pytest.raises(ValueError):
        x.reshape(7)


class Twice(wick.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


CASES = {
    "ops": lambda x, v: x + 1,
    "keywords": lambda x, v: wick.sum(x, dim=-1, keepdim=True),
    "indexing": lambda x, v: x[..., None, :2],
    "ids": lambda x, v: x[:, [0, 2]],
    "numpy": lambda x, v: wick.from_dlpack(x.numpy()),
    "data": lambda x, v: wick.Tensor([[1.0, 2.0], [3.0, 4.0]]).tolist(),
    "results": lambda x, v: x.sort(0).values,
    "writing": lambda x, v: v.add_(1),
    "training": train,
    "functions": lambda x, v: Twice.apply(v).sum().backward(),
    "errors": refuse,
}


@pytest.mark.parametrize("name", CASES)
def test_calls_leak_nothing(name):
    """One small object left by each call, of 48 bytes at least, would be more than the 3 MB that allocators may vary by."""
    x, v = wick.rand([3, 4]), wick.Var(wick.rand([3, 4]))

    def run(count):
        for _ in range(count):
            CASES[name](x, v)
        gc.collect()

    run(CALLS // 10)
    objects, before = len(gc.get_objects()), resident_bytes()
    run(CALLS)
    assert len(gc.get_objects()) - objects < CALLS // 1000
    assert resident_bytes() - before < 3_000_000


def test_threads_compute_side_by_side(device):
    """Each thread has tensors, a gradient and a random sequence of its own, and gets the results of a single thread."""
    def work(n):
        x = wick.Tensor(np.full((8, 8), n, dtype=np.float32), device=device)
        v = wick.Var(x)
        for _ in range(20):
            (v @ x).softmax(-1).square().sum().backward()
        return v.grad.tolist(), (x @ x).tolist()

    expected = [work(n) for n in range(6)]
    results = [None] * 6

    def note(n):
        results[n] = work(n)

    threads = [threading.Thread(target=note, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == expected


BESIDE_TORCH = """
import {0}, {1}
a = torch.rand(64, 64)
x = wick.from_dlpack(a)
difference = ((x @ x).numpy() - (a @ a).numpy()).max()
v = wick.Var(x)
(v @ v).sum().backward()
b = a.clone().requires_grad_()
(b @ b).sum().backward()
gradient = (v.grad.numpy() - b.grad.numpy()).max()
print(difference < 1e-4, gradient < 1e-4, torch.from_dlpack(x).data_ptr() == a.data_ptr())
"""


@pytest.mark.parametrize("first, second", [("torch", "wick"), ("wick", "torch")])
def test_beside_torch_in_both_orders_of_import(torch, first, second):
    run = subprocess.run([sys.executable, "-c", BESIDE_TORCH.format(first, second)], capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.returncode) == ("True True True\n", 0), run.stderr
