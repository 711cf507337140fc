"""docs/from-llama.cpp.md: each command, flag and call of Python of wick's columns runs; tests/docs has the calls of C++."""
import json
import shutil
import subprocess

import pytest

import pages
import wick
from conftest import run_command
from test_hub import Hub, Repository, hub_server

PAGE = "from-llama.cpp.md"
ROWS = pages.tables(PAGE)
COMMANDS = [code for row in ROWS for cell in row.cells.values() for code in pages.runs(cell) if pages.is_command(code)]
FLAGS = [(flag, command) for row in ROWS if row.cells.get("of") for flag in pages.runs(row.cells["wick"]) for command in row.cells["of"].split(", ")]
PYTHON = [code for row in ROWS for code in pages.runs(row.cells.get("wick, Python", "")) if not pages.is_command(code)]
HOW = {"chat": "wick chat model.gguf -p abc", "generate": "wick generate model.gguf -p abc", "serve": "wick serve model.gguf",
       "bench": "wick bench model.gguf --prompt 4 --tokens 4 --repeat 1", "perplexity": "wick perplexity model.gguf text.txt"}


@pytest.fixture(scope="module")
def files(program, letters_folder, tmp_path_factory):
    """A folder with the files that the page names. The model has two heads of 32 elements and 8192 positions."""
    made = tmp_path_factory.mktemp("page")
    folder = made / "folder"
    shutil.copytree(letters_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "max_position_embeddings": 8192}
    (folder / "config.json").write_text(json.dumps(config))
    wick.manual_seed(1)
    sizes = {"q_proj": [64, 32], "k_proj": [32, 32], "v_proj": [32, 32], "o_proj": [32, 64]}
    weights = {"model.embed_tokens.weight": wick.randn(48, 32), "model.norm.weight": wick.ones(32), "lm_head.weight": wick.randn(48, 32)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        weights |= {f"{at}self_attn.{name}.weight": wick.randn(*size) for name, size in sizes.items()}
        weights |= {f"{at}mlp.{name}_proj.weight": wick.randn(config["intermediate_size"], 32) for name in ("gate", "up")}
        weights |= {f"{at}mlp.down_proj.weight": wick.randn(32, config["intermediate_size"])}
        weights |= {f"{at}{name}_layernorm.weight": wick.ones(32) for name in ("input", "post_attention")}
    wick.save_safetensors(folder / "model.safetensors", weights)
    for name, words in {"model.gguf": ["convert"], "model-f16.gguf": ["convert", "--dtype", "f16"]}.items():
        subprocess.run([program, *words, folder, made / name], check=True, capture_output=True)
    (made / "folders").mkdir()
    shutil.copy(made / "model.gguf", made / "folders")
    (made / "prompt.txt").write_text("abc")
    (made / "text.txt").write_text("abcdefgh" * 1100)
    (made / "list.gbnf").write_text('root ::= "ab" | "cd"\n')
    (made / "schema.json").write_text('{"const": true}')
    return made


@pytest.fixture
def page_files(files, tmp_path, monkeypatch):
    """The current folder, a copy of the files, and a hub that has ORG/NAME."""
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(files, tmp_path / "work", copy_function=shutil.copy)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("WICK_DEVICE", "cpu")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    with Hub() as hub:
        hub.repositories["ORG/NAME"] = Repository({"NAME-Q8_0.gguf": (files / "model.gguf").read_bytes()})
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield tmp_path / "work"


def test_the_page_is_read():
    assert len(COMMANDS) > 15 and len(FLAGS) > 40 and len(PYTHON) > 8
    assert hub_server


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(command, program, page_files):
    run_command(program, command, page_files)


@pytest.mark.parametrize("flag, command", FLAGS)
def test_the_flags_are_taken(flag, command, program, page_files):
    run_command(program, f"{HOW[command]} {flag}", page_files)


@pytest.mark.parametrize("code", PYTHON)
def test_the_calls_of_python_run(code, page_files):
    messages = [{"role": "system", "content": "abc"}, {"role": "user", "content": "abc"}]
    model = wick.load("model.gguf")
    assert pages.run(code, {"wick": wick, "model": model, "messages": messages, "ids": [0, 1, 2], "text": 'root ::= "ab"'}) is not None
