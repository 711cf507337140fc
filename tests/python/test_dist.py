"""Groups of processes: programs that `wick launch` starts."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from test_language import folder  # noqa: F401

import wick

_START = """
import sys
import numpy as np
import wick
group = wick.dist.init()
rank, size = group.rank, group.world_size
"""


def launch(program, ranks, code):
    package = pathlib.Path(wick.__file__).parents[1]
    start = f"import sys; sys.path.insert(0, {str(package)!r})\n{_START}"
    return subprocess.run([program, "launch", "-n", str(ranks), "--plain", sys.executable, "-c", start + code], capture_output=True,
                          text=True, timeout=120)


def expect_ranks(program, ranks, code):
    done = launch(program, ranks, code + "\nprint('done')")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n" * ranks


def test_a_process_without_a_launcher_is_alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"):
        monkeypatch.delenv(name, raising=False)
    group = wick.dist.init()
    assert repr(group) == "ProcessGroup(rank=0, world_size=1)"
    assert group.all_reduce(wick.Tensor([1.0, 2.0])).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r'all_reduce: op: expected "sum", "mean", "max" or "min", got "product"'):
        group.all_reduce(wick.Tensor([1.0]), "product")
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(ValueError, match="WORLD_SIZE: expected the number of ranks, as RANK is set"):
        wick.dist.init()


def test_collectives(program):
    expect_ranks(program, 3, """
x = wick.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) + 10 * rank)
of = [np.arange(6).reshape(2, 3) + 10 * r for r in range(size)]
check = np.testing.assert_array_equal
check(group.all_reduce(x).numpy(), sum(of))
check(group.all_reduce(x, "mean").numpy(), sum(of) / 3)
check(group.all_reduce(x, "max").numpy(), of[2])
check(group.all_gather(x, dim=1).numpy(), np.concatenate(of, 1))
check(group.reduce_scatter(x, dim=1).numpy(), sum(of)[:, rank:rank + 1])
check(group.all_to_all(x, 1, 0).numpy(), np.concatenate([o[:, rank:rank + 1] for o in of], 0))
check(group.broadcast(x, root=1).numpy(), of[1])
group.barrier()
if rank == 0:
    group.send(x, 2)
elif rank == 2:
    check(group.recv((2, 3), 0).numpy(), of[0])
v = wick.Var(wick.Tensor([float(rank)]))
(group.all_reduce(v * v) * (rank + 1)).sum().backward()
check(v.grad.numpy(), [2 * rank * 6])
""")


def test_a_rank_that_raises_is_named(program):
    done = launch(program, 2, """
if rank == 1:
    raise SystemExit(3)
group.all_reduce(wick.Tensor([1.0]))
""")
    assert done.returncode == 1
    assert "all_reduce: rank 1 has " in done.stderr or "rank 1 exits with status 3" in done.stderr


def test_data_parallel_trains_as_one_process_does(program, tmp_path):
    code = f"""
rng = np.random.default_rng(1)
x, y = rng.normal(size=(7, 5)).astype(np.float32), rng.normal(size=(7, 1)).astype(np.float32)
start = rng.normal(size=(5, 1)).astype(np.float32)
rows = slice(7 * rank // size, 7 * (rank + 1) // size)
weight = wick.Var(wick.Tensor(start))
optimizer = wick.dist.DataParallel({{"weight": weight}}, group, lr=0.1)
alone = wick.Var(wick.Tensor(start))
reference = wick.optim.AdamW({{"weight": alone}}, lr=0.1)
for step in range(8):
    off = wick.Tensor(x[rows]) @ weight - wick.Tensor(y[rows])
    optimizer.backward((off * off).sum() / 7.0)
    optimizer.step()
    off = wick.Tensor(x) @ alone - wick.Tensor(y)
    (off * off).mean().backward()
    reference.step()
np.testing.assert_allclose(weight.numpy(), alone.numpy(), atol=1e-5)
state = optimizer.state_dict()
assert state.keys() == reference.state_dict().keys()
reference.load_state_dict(state)
optimizer.load_state_dict(reference.state_dict())
"""
    expect_ranks(program, 2, code)


GENERATE = """
import json, sys, wick
model = wick.load(sys.argv[1], device="cpu", dtype="f32", tensor_parallel=int(sys.argv[2]))
session = model.session(temperature=0, capacity=32)
session.append([3, 1, 4, 1, 5])
print(json.dumps([session.step()[0] for _ in range(8)]))
"""


def generate(folder, ranks, launcher=()):  # noqa: F811
    package = pathlib.Path(wick.__file__).parents[1]
    program = f"import sys; sys.path.insert(0, {str(package)!r})\n{GENERATE}"
    command = [*launcher, sys.executable, "-c", program, str(folder), str(ranks)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_model_is_shared_with_processes_of_its_own(folder):  # noqa: F811
    alone = generate(folder, 1)
    assert alone.returncode == 0, alone.stderr
    shared = generate(folder, 2)
    assert shared.returncode == 0, shared.stderr
    assert (shared.stdout, shared.stderr) == (alone.stdout, "")


def test_a_model_is_shared_by_the_ranks_of_a_launcher(program, folder):  # noqa: F811
    launched = generate(folder, 2, [program, "launch", "-n", "2", "--plain"])
    assert launched.returncode == 0, launched.stderr
    assert launched.stdout == generate(folder, 1).stdout


def test_a_model_that_cannot_be_shared_is_refused(folder):  # noqa: F811
    with pytest.raises(ValueError, match="tensor_parallel: expected at least 1, got 0"):
        wick.load(folder, tensor_parallel=0)
    with pytest.raises(ValueError, match="are too few for 16 ranks"):
        wick.load(folder, device="cpu", tensor_parallel=16)
    with pytest.raises(NotImplementedError, match="have a device each"):
        wick.load(folder, device="cpu", split=[1, 1], tensor_parallel=2)
