"""docs/from-candle.md: each cell of Python runs, and each command; tests/docs has the cells of C++."""
import numpy as np
import pytest

import pages
import wick
from conftest import run_command

PAGE = "from-candle.md"
PYTHON = "wick, Python"
ROWS = [row for row in pages.tables(PAGE) if pages.runs(row.cells.get(PYTHON, ""))]
COMMANDS = [code for row in pages.tables(PAGE) for cell in row.cells.values() for code in pages.codes(cell) if pages.is_command(code)]


def names(folder):
    class Cube(wick.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x * x

    weights = {"weight": wick.ones(4, 3), "bias": wick.zeros(4)}
    wick.save_safetensors("tensors.safetensors", weights)
    x = wick.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    e32 = wick.randn(4, 32)
    return {
        "wick": wick, "nn": wick.nn, "optim": wick.optim, "F": wick.functional, "np": np, "device": wick.Device("cpu"),
        "values": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "x": x, "y": wick.rand(2, 3), "v": wick.Tensor([1.0, 2.0, 3.0]), "t": wick.randn(2, 3, 4),
        "e": wick.randn(4, 5), "k": wick.randn(4, 3), "row": wick.zeros(1, 3), "part": wick.zeros(1, 2), "mask": x > 2, "loss": x.sum(),
        "ids": wick.Tensor([1, 0]), "index": wick.Tensor([[0, 1, 2], [2, 1, 0]]), "targets": wick.Tensor([1, 0]),
        "images": wick.randn(1, 3, 8, 8), "kernel": wick.randn(4, 3, 3, 3), "e32": e32, "x32": wick.randn(2, 32),
        "q": wick.randn(1, 2, 4, 8), "tables": wick.rope_tables(4, 8, 10000.0), "w": wick.Var(wick.randn(4, 3)),
        "path": "tensors.safetensors", "gguf": "model.gguf", "tensors": weights, "q8": wick.QTensor.quantize(e32, "q8_0"), "Cube": Cube,
        "code": 'extern "C" void cube(const WickTensor*, int, WickTensor*, int) {}', "text": "abc",
        "model": wick.load("ORG/NAME"), "tokens": wick.Tensor([[0, 1, 2]]),
    }


def test_the_page_has_both_languages():
    assert sum(len(pages.runs(row.cells[PYTHON])) for row in ROWS) > 150
    assert sum(len(pages.runs(row.cells["wick, C++"])) for row in ROWS) > 150


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_cells_of_python_run(row, page_folder):
    own = names(page_folder)
    for code in pages.runs(row.cells[PYTHON]):
        if any(card in code for card in ('"cuda', '"rocm')):
            try:
                pages.run(code, own)
            except RuntimeError as error:
                assert "none: " in str(error) or "module" in str(error), error
        else:
            pages.run(code, own)


@pytest.mark.parametrize("line, text", [(line, text) for line, language, text in pages.blocks(PAGE) if language == "python"])
def test_the_programs_run(line, text, page_folder):
    exec(compile(text, f"{PAGE}:{line}", "exec"), {"__name__": "page"})


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(command, program, page_folder):
    run_command(program, command, page_folder)
