"""The list "PyTorch's first hour" of docs/how-to/python.md: each line of it runs."""
import contextlib
import re

import numpy as np
import pytest

import wick
from conftest import ROOT


def rows():
    """Pairs of PyTorch's cell and wick's."""
    text = (ROOT / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
    section = text.split("## PyTorch's first hour\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [(theirs.strip(), ours.strip()) for theirs, ours in lines]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def wick_names(tmp_path):
    model = wick.nn.Sequential(wick.nn.Linear(2, 3), wick.nn.ReLU())
    return {"wick": wick, "torch": wick, "nn": wick.nn, "F": wick.functional, "optim": wick.optim, "np": np, "model": model,
            "x": wick.Tensor([[1.0, 2.0], [3.0, 4.0]]), "v": wick.Var([1.0, 2.0]), "array": np.ones((2, 2), np.float32),
            "ids": wick.Tensor([1, 0]), "images": wick.ones(1, 3, 8, 8), "path": str(tmp_path / "saved")}


def torch_names(torch, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "np": np, "model": model,
            "x": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "v": torch.tensor([1.0, 2.0], requires_grad=True),
            "array": np.ones((2, 2), np.float32), "ids": torch.tensor([1, 0]), "images": torch.ones(1, 3, 8, 8),
            "path": str(tmp_path / "saved")}


def plain(value):
    """Tensors, alone and in lists, as arrays, dtypes and devices as text, so that they can be compared."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return value.detach().numpy()
    return value


def compare(ours, theirs, same_numbers):
    if isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            compare(one, other, same_numbers)
    elif isinstance(theirs, np.ndarray):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if same_numbers:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, (int, float, str, type(None))):
        assert not same_numbers or ours == theirs


def run(code, names):
    """The value of an expression; None of a statement."""
    if re.search(r"\] = ", code):
        exec(code, names)
        return None
    value = eval(code, names)
    if isinstance(value, contextlib.ContextDecorator) or code.endswith("no_grad()"):
        with value:
            return None
    return value


def test_the_list_is_long():
    assert sum(len(codes(theirs)) for theirs, _ in rows()) > 100


@pytest.mark.parametrize("theirs, ours", rows(), ids=lambda cell: cell[:40])
def test_what_the_list_says_of_wick_is_true(theirs, ours, tmp_path):
    for index, code in enumerate(codes(theirs)):
        if ours.startswith("not there"):
            with pytest.raises((AttributeError, TypeError)):
                run(code, wick_names(tmp_path))
        elif ours.startswith("same"):
            run(code, wick_names(tmp_path))
    if ours.startswith("`"):
        names = wick_names(tmp_path)
        assert len(codes(ours)) == len(codes(theirs))
        for code in codes(ours):  # one after the other, as they load files that earlier ones save
            run(code, names)


@pytest.mark.parametrize("theirs, ours", [row for row in rows() if not row[1].startswith("not there")], ids=lambda cell: cell[:40])
def test_results_are_pytorchs(theirs, ours, torch, tmp_path):
    mine, others = wick_names(tmp_path), torch_names(torch, tmp_path / "theirs")
    (tmp_path / "theirs").mkdir()
    for index, code in enumerate(codes(theirs)):
        value = run(code if ours.startswith("same") else codes(ours)[index], mine)
        compare(plain(value), plain(run(code, others)), "other numbers" not in ours)
