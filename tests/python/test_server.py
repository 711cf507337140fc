"""wick.serve: the server in this process, asked by OpenAI's client."""
import gc
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

import wick

QUESTION = [{"role": "user", "content": "abc"}]


@pytest.fixture(scope="module")
def model(letters_folder):
    return wick.load(letters_folder, device="cpu")


def status_of(url, key=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def ends(url):
    """Whether nothing takes connections there any more."""
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url + "/health", timeout=5)
    return True


def test_openais_client_is_answered(model):
    openai = pytest.importorskip("openai", reason="openai is not installed")
    expected = "".join(model.generate("uabcA", max_tokens=5, temperature=0))
    lines = []
    with wick.serve(model, port=0, parallel=2, name="letters", alias="other", api_key="secret", log=lines.append, log_prompts=True) as server:
        assert server.url == f"http://127.0.0.1:{server.port}" and repr(server) == f"wick.Server({server.url!r})"
        with openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0) as client:
            options = {"model": "other", "messages": QUESTION, "temperature": 0, "max_tokens": 5}
            answer = client.chat.completions.create(**options)
            assert answer.choices[0].message.content == expected and answer.model == "letters"
            parts = client.chat.completions.create(stream=True, **options)
            assert "".join(part.choices[0].delta.content or "" for part in parts) == expected
            assert [model.id for model in client.models.list()] == ["letters", "other"]
            choice = client.chat.completions.create(model="letters", messages=QUESTION, extra_body={"guided_choice": ["xyz"]})
            assert choice.choices[0].message.content == "xyz"
        with openai.OpenAI(base_url=server.url + "/v1", api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        assert "".join(model.generate("uabcA", max_tokens=5, temperature=0)) == expected  # beside the server
    assert ends(server.url) and repr(server) == f"wick.Server({server.url!r}, stopped)" and server.wait()
    assert any("POST /v1/chat/completions 200 " in line for line in lines) and not any("secret" in line for line in lines)


def test_a_path_and_a_folder_of_models_are_served(letters_folder, tmp_path):
    openai = pytest.importorskip("openai", reason="openai is not installed")
    for name in ("a", "b"):
        shutil.copytree(letters_folder, tmp_path / name)
    def ids(**options):
        with wick.serve(port=0, device="cpu", **options) as server, openai.OpenAI(base_url=server.url + "/v1", api_key="any") as client:
            listed = list(client.models.list())
            client.chat.completions.create(model=listed[-1].id, messages=QUESTION, max_tokens=1)
            return {model.id: model.status["value"] for model in listed}

    assert ids(models=tmp_path) == {"a": "unloaded", "b": "unloaded"}
    assert ids(model=tmp_path / "a", models=tmp_path, alias=["c"], max_models=2) == {"a": "loaded", "c": "loaded", "b": "unloaded"}
    assert ids(model=str(letters_folder)) == {"letters": "loaded"}
    assert ids(model=wick.load(letters_folder, device="cpu"), models=tmp_path) == {"wick": "loaded", "a": "unloaded", "b": "unloaded"}


def test_the_environment_has_a_key(model, monkeypatch):
    monkeypatch.setenv("WICK_API_KEY", "from outside")
    with wick.serve(model, port=0) as server:
        assert status_of(server.url + "/v1/models") == 401 and status_of(server.url + "/v1/models", "from outside") == 200
    with wick.serve(model, port=0, api_key=()) as server:
        assert status_of(server.url + "/v1/models") == 200


def test_a_server_that_nobody_holds_ends(model):
    server = wick.serve(model, port=0)
    url = server.url
    assert status_of(url + "/health") == 200
    del server
    gc.collect()
    assert ends(url)


def test_wait_ends_when_another_thread_stops_the_server(model):
    server = wick.serve(model, port=0)
    assert not server.wait(0.05)
    threading.Timer(0.2, server.stop).start()
    assert server.wait(30) and server.stop() and ends(server.url)


def test_a_port_that_is_taken_is_an_error_before_the_model_is_loaded(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"no model")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1:{port}|port {port}|{port}"):
            wick.serve(tmp_path / "broken.gguf", port=port)
    with pytest.raises(ValueError, match=r"broken\.gguf: byte 0"):
        wick.serve(tmp_path / "broken.gguf", port=0)
    with pytest.raises(FileNotFoundError):
        wick.serve(tmp_path / "missing.gguf", port=0)


@pytest.mark.parametrize(("options", "error"), [
    ({"port": 65536}, "port: expected 0 to 65535"), ({"parallel": 0}, "sequences"), ({"kv": "f3"}, "f3"), ({"max_body": 0}, "max_body"),
    ({"api_key": ""}, "api_keys"), ({"max_time": -1}, "max_time"), ({"device": "tpu"}, "tpu"), ({"dtype": "f33"}, "dtype")])
def test_options_outside_their_range_are_named(model, options, error):
    with pytest.raises(ValueError, match=error):
        wick.serve(model, **{"port": 0, **options})


def test_wrong_arguments_are_named(model, tmp_path):
    for arguments, error in (({}, "expected a model"), ({"model": model, "alias": 3}, "alias: expected a str or a list of str"),
                             ({"model": model, "log": 3}, "log: expected a function"), ({"models": tmp_path, "name": "a"}, "name and alias")):
        with pytest.raises(TypeError, match=error):
            wick.serve(port=0, **arguments)
    with pytest.raises(ValueError, match="expected GGUF files"):
        wick.serve(models=tmp_path, port=0)


SCRIPT = """
import os, sys, threading, urllib.request, wick
server = wick.serve(sys.argv[1], port=0, device="cpu", drain=0.5, context=1 << 17, log=lambda line: None)
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        del server
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), urllib.request.urlopen(server.url + "/health").status)
if sys.argv[2] == "long":  # a request that goes on for longer than the drain
    body = b'{"prompt": "abc", "max_tokens": 1000000, "ignore_eos": true, "stream": true}'
    request = urllib.request.Request(server.url + "/v1/completions", body, {"Content-Type": "application/json"})
    answer = urllib.request.urlopen(request)
    threading.Thread(target=answer.read, daemon=True).start()
if sys.argv[2] in ("wait", "long"):
    print("ready", flush=True)
    print("ended", server.wait())
"""


@pytest.fixture(scope="module")
def long_folder(letters_folder, tmp_path_factory):
    """The model with room for texts of many seconds."""
    folder = tmp_path_factory.mktemp("long") / "letters"
    shutil.copytree(letters_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 1 << 17}))
    return folder


@pytest.mark.parametrize("use", ["wait", "long"])
def test_ctrl_c_ends_a_script_that_waits(long_folder, use):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, long_folder, use], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick.__file__).resolve().parents[1])})
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    time.sleep(0.2)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (0, "ended True\n", "")
    if use == "long":
        assert time.monotonic() - start > 0.5  # the drain


@pytest.mark.parametrize(("use", "printed"), [("nothing", ""), ("fork", "7 200\n")])
def test_a_server_ends_with_the_program_and_outlives_a_fork(long_folder, use, printed):
    done = subprocess.run([sys.executable, "-c", SCRIPT, long_folder, use], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick.__file__).resolve().parents[1])})
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
