"""docs/from-pytorch.md: each line of it runs, and where PyTorch and transformers are installed, both sides give the same."""
import numpy as np
import pytest

import pages
import wick
from conftest import run_command

PAGE = "from-pytorch.md"


def rows(section, column):
    """Pairs of the other's cell and wick's."""
    return [(row.cells[column], row.cells["wick"]) for row in pages.tables(PAGE) if row.section == section]


TENSORS = rows("Tensors and layers", "PyTorch")
DEVICES = rows("Devices, speed and kernels", "PyTorch")
MODELS = rows("Language models, from transformers", "transformers")
codes = pages.codes


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


def test_the_list_is_long():
    assert sum(len(codes(theirs)) for theirs, _ in TENSORS) > 100


@pytest.mark.parametrize("theirs, ours", TENSORS, ids=lambda cell: cell[:40])
def test_the_lines_run(theirs, ours, tmp_path):
    for index, code in enumerate(codes(theirs)):
        if ours.startswith("not there"):
            with pytest.raises((AttributeError, TypeError)):
                pages.run(code, wick_names(tmp_path))
        elif ours.startswith("same"):
            pages.run(code, wick_names(tmp_path))
    if ours.startswith("`"):
        names = wick_names(tmp_path)
        assert len(codes(ours)) == len(codes(theirs))
        for code in codes(ours):  # one after the other, as they load files that earlier ones save
            pages.run(code, names)


@pytest.mark.parametrize("theirs, ours", [row for row in TENSORS if not row[1].startswith("not there")], ids=lambda cell: cell[:40])
def test_results_are_pytorchs(theirs, ours, torch, tmp_path):
    mine, others = wick_names(tmp_path), torch_names(torch, tmp_path / "theirs")
    (tmp_path / "theirs").mkdir()
    for index, code in enumerate(codes(theirs)):
        value = pages.run(code if ours.startswith("same") else codes(ours)[index], mine)
        compare(plain(value), plain(pages.run(code, others)), "other numbers" not in ours)


def programs():
    """The two training loops: PyTorch's and wick's."""
    texts = [text for _, language, text in pages.blocks(PAGE) if language == "python"]
    assert [text.split("\n")[0] for text in texts] == ["import torch", "import wick"]
    return texts


def trained(text):
    names = {"__name__": "page"}
    exec(compile(text, PAGE, "exec"), names)
    assert names["accuracy"] > 0.9
    return names


def test_the_training_loop_learns(page_folder):
    names = trained(programs()[1])
    assert sorted(wick.load_safetensors("net.safetensors")) == sorted(names["net"].state_dict())


def test_pytorch_loads_the_trained_weights(torch, page_folder):
    theirs, ours = (trained(text) for text in programs())
    load_file = pytest.importorskip("safetensors.torch").load_file
    theirs["net"].load_state_dict(load_file("net.safetensors"))
    with torch.no_grad():
        expected = theirs["net"](torch.tensor(ours["points"].numpy()))
    np.testing.assert_allclose(ours["net"](ours["points"]).numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def require_names(code, modules):
    """Each dotted name of a piece of code that a test cannot run is there."""
    for first, parts in pages.dotted_names(code):
        value = modules.get(first)
        if value is None:
            continue
        for part in parts:
            assert hasattr(value, part), f"{code}: no {part}"
            value = getattr(value, part)


@pytest.mark.parametrize("theirs, ours", DEVICES, ids=lambda cell: cell[:40])
def test_the_lines_of_devices_run(theirs, ours, tmp_path, monkeypatch):
    monkeypatch.setenv("WICK_DEVICE", "cpu")
    code = 'extern "C" void cube(const WickTensor*, int, WickTensor*, int) {}'
    names = wick_names(tmp_path) | {"device": wick.Device("cpu"), "net": wick.nn.Linear(2, 3), "tensor": wick.ones(2), "code": code}
    for piece in pages.runs(ours):
        pages.run(piece, names)
    for piece in codes(ours)[len(pages.runs(ours)):]:
        if piece.startswith("wick."):
            require_names(piece, {"wick": wick})


@pytest.mark.parametrize("theirs", [theirs for theirs, _ in DEVICES], ids=lambda cell: cell[:40])
def test_pytorch_has_the_names_of_devices(theirs, torch):
    for piece in codes(theirs):
        require_names(piece, {"torch": torch})


MESSAGES = [{"role": "user", "content": "abc"}]
IDS = [0, 1, 2]


def model_names():
    return {"wick": wick, "ids": IDS, "messages": MESSAGES, "model": wick.load("ORG/NAME")}


@pytest.mark.parametrize("theirs, ours", [row for row in MODELS if pages.runs(row[1])], ids=lambda cell: cell[:40])
def test_the_lines_of_models_run(theirs, ours, program, page_folder):
    names = model_names()
    for piece in pages.runs(ours):
        if pages.is_command(piece):
            run_command(program, piece, page_folder)
        else:
            pages.run(piece, names)


def transformers_names(transformers, torch):
    folder = "ORG/NAME"
    return {"torch": torch, "AutoModelForCausalLM": transformers.AutoModelForCausalLM, "AutoTokenizer": transformers.AutoTokenizer,
            "TextIteratorStreamer": transformers.TextIteratorStreamer, "StaticCache": transformers.StaticCache, "ids": IDS, "messages": MESSAGES,
            "model": transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
            "tokenizer": transformers.AutoTokenizer.from_pretrained(folder)}


@pytest.mark.parametrize("theirs, ours", [row for row in MODELS if pages.runs(row[1]) and not pages.is_command(pages.runs(row[1])[0])],
                         ids=lambda cell: cell[:40])
def test_models_give_what_transformers_give(theirs, ours, torch, page_folder):
    transformers = pytest.importorskip("transformers")
    mine, others = model_names(), transformers_names(transformers, torch)
    for index, piece in enumerate(codes(theirs)):
        expected, value = pages.run(piece, others), pages.run(codes(ours)[index], mine)
        if "do_sample=True" in piece:
            continue
        if isinstance(value, wick.Tensor):
            np.testing.assert_allclose(value.numpy(), expected.detach().numpy(), rtol=1e-3, atol=1e-4)
        elif isinstance(value, str) and not isinstance(expected, str):
            assert value == others["tokenizer"].decode(expected[0][len(IDS):])
        elif isinstance(expected, str) and not isinstance(value, str):
            assert mine["model"].tokenizer.decode(value) == expected
        elif isinstance(value, (int, str, list)):
            assert value == expected
