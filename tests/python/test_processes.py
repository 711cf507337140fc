"""Forks, spawned processes and Ctrl-C."""
import ctypes
import signal
import subprocess
import sys
import time

import pytest
from test_language import folder  # noqa: F401

import wick


def run(program, *arguments):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


# Tries each use in a child of its own and prints the result.
FORK = """
import os, sys, wick
USES = {
    "op": lambda: KEPT + KEPT,
    "list": lambda: wick.Tensor([1, 2]),
    "item": lambda: KEPT.item(),
    "numpy": lambda: KEPT.numpy(),
    "device": lambda: wick.Device("cpu"),
    "load": lambda: wick.load("nowhere"),
    "backward": lambda: SUM.backward(),
}
if "before" in sys.argv:
    KEPT = wick.Var([2.0])
    SUM = KEPT * 2
for name, use in USES.items():
    sys.stdout.flush()
    if os.fork() == 0:
        if "before" not in sys.argv:
            KEPT = wick.Var([2.0])
            SUM = KEPT * 2
        try:
            use()
            print(name, "works")
        except RuntimeError as error:
            print(name, "spawn" in str(error))
        except OSError:
            print(name, "works")
        sys.stdout.flush()
        os._exit(0)
    os.wait()
if "before" in sys.argv:
    print("parent", (KEPT + KEPT).item())
"""
USES = ["op", "list", "item", "numpy", "device", "load", "backward"]


def test_a_fork_after_a_use_raises_and_names_spawn():
    assert run(FORK, "before") == [f"{use} True" for use in USES] + ["parent 4.0"]


def test_a_fork_before_any_use_works():
    assert run(FORK) == [f"{use} works" for use in USES]


PROCESSES = """
import multiprocessing, sys, wick

def double(x):
    return x * 2

if __name__ == "__main__":
    x = wick.Tensor([1.0, 2.0], device=sys.argv[2])
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        try:
            print([(y.tolist(), str(y.device)) for y in pool.map(double, [x, x + 1])])
        except RuntimeError as error:
            print("spawn" in str(error))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_start_anew_take_tensors(method, device, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROCESSES)
    done = subprocess.run([sys.executable, path, method, str(device)], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"[([2.0, 4.0], '{device}'), ([4.0, 6.0], '{device}')]\n", done.stderr


TRAINING = """
import sys, wick
v = wick.Var(wick.ones(8))
optimizer = wick.optim.AdamW([v])
steps = 0
print("ready", flush=True)
try:
    while True:
        (v * v).sum().backward()
        optimizer.step()
        steps += 1
except KeyboardInterrupt:
    print(steps > 0, (v + 1).shape)
"""
GENERATE = """
import sys, wick
model = wick.load(sys.argv[1], device="cpu")
pieces = 0
print("ready", flush=True)
try:
    while True:
        for piece in model.generate("abc", max_tokens=50, temperature=1):
            pieces += 1
except KeyboardInterrupt:
    print(pieces > 0, len(list(model.generate("abc", max_tokens=3, temperature=0))))
"""
CHAT = """
import sys, wick
model = wick.load(sys.argv[1], device="cpu")
pieces = 0
print("ready", flush=True)
try:
    while True:
        chat = model.chat(max_tokens=50, temperature=1)
        for piece in chat("abc"):
            pieces += 1
except KeyboardInterrupt:
    print(pieces > 0, {message["role"] for message in chat.messages} <= {"user", "assistant"})
"""
LOAD = """
import sys, wick
loads = 0
print("ready", flush=True)
try:
    while True:
        wick.load(sys.argv[1], device="cpu")
        loads += 1
except KeyboardInterrupt:
    print(loads > 0, (wick.ones(1) + 1).item())
"""


@pytest.mark.parametrize("program, printed", [
    (TRAINING, "True (8,)"), (GENERATE, "True 3"), (CHAT, "True True"), (LOAD, "True 2.0")],
    ids=["training", "generate", "chat", "load"])
def test_ctrl_c_interrupts(program, printed, folder):  # noqa: F811
    process = subprocess.Popen([sys.executable, "-c", program, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (out, errors, process.returncode) == (printed + "\n", "", 0)


def test_ctrl_c_ends_a_load_between_two_tensors(folder):  # noqa: F811
    signals = []

    def handler(*_):
        signals.append(1)
        if len(signals) == 3:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        # A signal arrives at each tensor. No code of Python runs there that would handle it.
        with pytest.raises(KeyboardInterrupt):
            wick.load(folder, device="cpu", progress=ctypes.pythonapi.PyErr_SetInterrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(signals) == 3
