"""Fixtures of all tests: the devices, and the manifest of ops."""
import importlib.util
import json
import os
import pathlib
import shutil
import shlex
import signal
import string
import subprocess
import sys

import pytest

import wick

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "docs" / "reference" / "ops.json"
sys.path.insert(0, str(ROOT / "tests" / "docs"))  # pages, which reads the tables of docs


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """A shell that runs the tests in the background has them and their children ignore SIGINT, which some tests send."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


# WICK_TEST_DEVICES=rocm:0 runs the tests on a GPU too.
DEVICES = ["cpu", "emu:32", *os.environ.get("WICK_TEST_DEVICES", "").split()]


@pytest.fixture(params=DEVICES)
def device(request):
    return wick.Device(request.param)


@pytest.fixture
def gpu():
    """A device with memory that other libraries can address."""
    found = [d for d in map(wick.Device, DEVICES) if d.type in ("rocm", "cuda")]
    return found[0] if found else pytest.skip("WICK_TEST_DEVICES names no GPU")


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def ops():
    """The ops of the manifest by name."""
    return {op["name"]: op for op in json.loads(MANIFEST.read_text(encoding="utf-8"))["ops"]}


def generator():
    """python/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "python" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def program():
    """The program wick beside the package: of a build, or of a wheel."""
    package = pathlib.Path(wick.__file__).resolve().parent
    for path in (package.parents[1] / "bin/wick", package / "bin/wick"):
        if path.is_file():
            return path
    return pytest.skip("the program wick is not there")


@pytest.fixture(scope="session")
def letters_folder(tmp_path_factory):
    """A small llama with a token for each of 48 letters."""
    folder = tmp_path_factory.mktemp("served") / "letters"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(ROOT / "tests/golden" / "decoders/llama_linear" / name, folder)
    letters = string.ascii_letters[:48]
    (folder / "tokenizer.json").write_text(json.dumps(
        {"model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []},
         "decoder": {"type": "Fuse"}, "added_tokens": []}))
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}A{% endif %}")
    return folder


@pytest.fixture
def page_folder(letters_folder, tmp_path, monkeypatch):
    """The current folder, with the files that pages of docs name: the model ORG/NAME and model.gguf."""
    shutil.copytree(letters_folder, tmp_path / "ORG/NAME")
    shutil.copy(ROOT / "tests/golden/decoders/llama_linear/model.gguf", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WICK_DEVICE", "cpu")
    return tmp_path


def run_command(program, command, folder, stdin="abc\n"):
    """Runs a command of a page, `wick ...`, in the folder: it must succeed. A server has to start, at any port, and to end in order."""
    words = [str(program), *shlex.split(command)[1:]]
    if words[1] == "serve":
        if "--port" in words:
            del words[words.index("--port"):words.index("--port") + 2]
        with subprocess.Popen([*words, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as server:
            line = server.stdout.readline()
            server.send_signal(signal.SIGTERM)
            errors = server.communicate(timeout=60)[1]
        assert " serves " in line and server.returncode == 0, errors
        return line
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout
