"""The examples run and print the lines that they promise."""
import json
import pathlib
import subprocess
import sys

import pytest
import wick
from test_language import folder  # noqa: F401

MODELS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "examples"
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name, *arguments):
    done = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("device", ["cpu", "emu:64"])
def test_tensors(device):
    assert run("tensors.py", device).splitlines()[-1] == "True"


def test_training_separates_the_spirals():
    assert float(run("train.py", "--device", "cpu").splitlines()[-1].split("%")[0]) > 95


def test_training_is_the_same_on_the_emulator():
    losses = [[line for line in run("train.py", "--device", device, "--steps", 3).splitlines() if "loss" in line]
              for device in ("cpu", "emu:32")]
    assert losses[0] == losses[1]


def test_chat_answers_each_question(folder):  # noqa: F811
    # Room for an answer that goes on until the model happens to end it.
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 2048}))
    assert len(run("chat.py", folder, "ab", "cd").splitlines()) >= 2


@pytest.mark.parametrize("device", ["cpu", "emu:64"])
def test_custom_kernels_differ_little_from_ops(device):
    differences = [float(part.split()[0]) for part in run("custom_kernel.py", device).split(",")]
    assert len(differences) == 3 and max(differences) < 1e-5


def test_embeddings_rank_texts_as_transformers_does():
    texts = ["A loaf of one pound bakes for 30 minutes at 220 degrees.", "The baker opened a second shop last spring.",
             "Glass is made of sand."]
    lines = run("embed.py", MODELS / "gte_qwen", "how long does bread bake", *texts).splitlines()
    query, *others = wick.load_safetensors(MODELS / "gte_qwen" / "expected.safetensors")["embeddings"].numpy()
    expected = sorted(((float(query @ other), text) for other, text in zip(others, texts, strict=True)), reverse=True)
    assert [line[8:] for line in lines] == [text for _, text in expected]
    assert [float(line[:6]) for line in lines] == pytest.approx([score for score, _ in expected], abs=1e-3)


def test_a_gap_is_filled_as_transformers_does():
    filled = run("fill.py", MODELS / "starcoder2", "int square(int x) {\n  return <FILL>;\n}\n")
    golden = wick.load_safetensors(MODELS / "starcoder2" / "expected.safetensors")["tokens.0"].tolist()
    middle = wick.load(MODELS / "starcoder2", device="cpu").tokenizer.decode(golden[-8:-1])
    assert filled.startswith("int square(int x) {\n  return " + middle)


def test_a_model_thinks_or_answers_at_once():
    lines = run("think.py", MODELS / "qwen", "Is 91 prime?").splitlines()
    assert lines[0] == "thinking:" and "at once:" in lines
