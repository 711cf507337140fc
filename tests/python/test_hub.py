"""Models of the HuggingFace hub: wick and huggingface_hub, each with the other's cache, against the server of tests/hub."""
import concurrent.futures
import dataclasses
import fcntl
import importlib.util
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from conftest import ROOT

import wick

_SPEC = importlib.util.spec_from_file_location("hub_server", ROOT / "tests" / "hub" / "server.py")
hub_server = importlib.util.module_from_spec(_SPEC)
sys.modules["hub_server"] = hub_server
_SPEC.loader.exec_module(hub_server)
Fault, Hub, Repository = hub_server.Fault, hub_server.Hub, hub_server.Repository

SMALL = ["config.json", "tokenizer.json", "chat_template.jinja"]
NAME = "test/letters"
PROMPT = ["-p", "abc", "--temperature", "0", "--max-tokens", "5", "--device", "cpu"]


@pytest.fixture(scope="module")
def files(letters_folder):
    """The files of a repository: a model's, and others that wick has no use for."""
    others = {"README.md": b"# letters", "pytorch_model.bin": b"no pickle" * 100, "onnx/model.onnx": b"no onnx", ".gitattributes": b"",
              "onnx/config.json": b"{}"}
    return hub_server.files_of(letters_folder) | others


@pytest.fixture(scope="module")
def gguf_files(program, letters_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf")
    for dtype in ("f32", "f16"):
        subprocess.run([program, "convert", letters_folder, folder / f"letters-{dtype.upper()}.gguf", "--dtype", dtype], check=True, capture_output=True)
    subprocess.run([program, "quantize", folder / "letters-F32.gguf", folder / "letters-Q8_0.gguf", "--type", "q8_0"], check=True,
                   capture_output=True)
    return hub_server.files_of(folder)


@pytest.fixture
def hub(files):
    with Hub() as server:
        server.repositories[NAME] = Repository(dict(files))
        yield server


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of HF_HOME, and no other setting of the hub."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_OFFLINE")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    home = tmp_path / "home of the hub"
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    return home


@pytest.fixture
def at_hub(hub, home, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    return hub


def snapshot(home, name=NAME):
    [found] = (home / "hub" / ("models--" + name.replace("/", "--")) / "snapshots").iterdir()
    return found


def blobs(home, name=NAME):
    folder = home / "hub" / ("models--" + name.replace("/", "--")) / "blobs"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def names_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def run(program, *arguments, timeout=60, **environment):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout, env=os.environ | environment)


def fails_in_a_line(result, *parts, status=2):
    assert result.returncode == status, result
    assert result.stderr.startswith("wick: ") and result.stderr.count("\n") == 1 and result.stdout == "", result
    for part in parts:
        assert part in result.stderr, result.stderr
    return True


def huggingface(script):
    """The `result` of a script with huggingface_hub as `hf`, which reads its environment once, in a process of its own."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    script = f"import json, huggingface_hub as hf\n{script}\nprint(json.dumps(result))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def generated(program, model, **environment):
    result = run(program, "generate", "-m", model, *PROMPT, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def download(program, model=NAME, **environment):
    """Downloads a model, by the command that does the least with it. Returns its stderr."""
    result = run(program, "inspect", model, **environment)
    assert result.returncode == 0, result.stderr
    return result.stderr


# ---- the server, held to huggingface_hub

def test_the_server_answers_huggingface_hub(at_hub, home, files):
    path = pathlib.Path(huggingface(f"result = hf.snapshot_download({NAME!r})"))
    assert names_in(path) == sorted(files)
    assert all((path / name).read_bytes() == content for name, content in files.items())
    assert at_hub.paths("files")


def test_the_server_refuses_huggingface_hub(at_hub, home, files):
    at_hub.repositories |= {"test/gated": Repository(dict(files), "gated"), "test/private": Repository(dict(files), "private")}
    errors = huggingface("""
def error_of(name, revision=None):
    try:
        hf.hf_hub_download(name, "config.json", revision=revision)
    except Exception as error:
        return type(error).__name__
result = [error_of("test/gated"), error_of("test/private"), error_of("test/missing"), error_of("test/letters", "v9")]""")
    assert errors == ["GatedRepoError", "RepositoryNotFoundError", "RepositoryNotFoundError", "RevisionNotFoundError"]


# ---- one cache for both

def test_a_model_runs_by_its_name(program, at_hub, home, letters_folder):
    assert generated(program, NAME) == generated(program, letters_folder)
    assert names_in(snapshot(home)) == sorted(SMALL + ["model.safetensors"])
    before = len(at_hub.requests)
    assert generated(program, NAME) == generated(program, f"hf://{NAME}@main")
    assert [r.path for r in at_hub.requests[before:]] == [f"/api/models/{NAME}/revision/main"] * 2


def test_huggingface_hub_reads_the_cache_that_wick_wrote(program, at_hub, home, files, monkeypatch):
    download(program)
    commit = at_hub.repositories[NAME].revisions["main"]
    sizes = {name: len(files[name]) for name in [*SMALL, "model.safetensors"]}
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # where nobody answers
    assert huggingface(f"""
cache = hf.scan_cache_dir()
[repo] = cache.repos
[revision] = repo.revisions
result = [len(cache.warnings), repo.repo_id, revision.commit_hash, sorted(revision.refs), {{f.file_name: f.size_on_disk for f in revision.files}}]""") == [
        0, NAME, commit, ["main"], sizes]
    path = huggingface(f"result = hf.hf_hub_download({NAME!r}, 'model.safetensors', local_files_only=True)")
    assert pathlib.Path(path) == snapshot(home) / "model.safetensors"
    assert huggingface(f"result = hf.snapshot_download({NAME!r}, local_files_only=True, allow_patterns={list(sizes)})") == str(snapshot(home))


def test_huggingface_hub_adds_to_the_cache_that_wick_wrote(program, at_hub, home, files):
    download(program)
    before = len(at_hub.requests)
    huggingface(f"result = hf.snapshot_download({NAME!r})")
    assert names_in(snapshot(home)) == sorted(files)
    digest = digest_of(files["model.safetensors"])
    assert not any(r.method == "GET" and digest in r.path for r in at_hub.requests[before:])


@pytest.mark.parametrize("with_list", [True, False])
def test_wick_reads_the_cache_that_huggingface_hub_wrote(program, at_hub, home, letters_folder, with_list):
    huggingface(f"result = hf.snapshot_download({NAME!r})")
    if not with_list:  # as older ones leave the cache
        shutil.rmtree(home / "hub" / "models--test--letters" / "trees")
    at_hub.requests.clear()
    expected = generated(program, letters_folder)
    assert generated(program, NAME, HF_HUB_OFFLINE="1") == expected and not at_hub.requests
    assert generated(program, NAME) == expected
    assert not any("/resolve/" in path for path in at_hub.paths())


def test_a_cache_without_a_file_is_no_model(program, at_hub, home):
    huggingface(f"result = hf.snapshot_download({NAME!r}, allow_patterns=['config.json', 'tokenizer.json'])")
    assert fails_in_a_line(run(program, "inspect", NAME, HF_HUB_OFFLINE="1"), "HF_HUB_OFFLINE is set", str(home / "hub"))


def test_a_new_commit_replaces_the_earlier_one(program, at_hub, home, files):
    download(program)
    first = at_hub.repositories[NAME].revisions["main"]
    second = at_hub.repositories[NAME].commit(dict(files) | {"config.json": files["config.json"] + b"\n"})
    at_hub.requests.clear()
    at_hub.faults.append(Fault("*/resolve/*", times=99, status=404))
    assert run(program, "inspect", NAME).returncode == 2
    assert run(program, "inspect", NAME, HF_HUB_OFFLINE="1").returncode == 0  # by the first one
    at_hub.faults.clear()
    download(program)
    assert sorted(p.name for p in (home / "hub/models--test--letters/snapshots").iterdir()) == sorted([first, second])
    assert (home / "hub/models--test--letters/refs/main").read_text() == second
    assert at_hub.paths("files") == []  # the weights are the same
    before = len(at_hub.requests)
    download(program, f"{NAME}@{first}")
    assert len(at_hub.requests) == before  # a commit never changes


def test_only_the_tokenizer_of_a_folder_is_downloaded(program, at_hub, home):
    result = run(program, "tokenize", NAME, "--text", "abc", "--json")
    assert result.returncode == 0 and json.loads(result.stdout)["ids"] == [0, 1, 2], result
    assert names_in(snapshot(home)) == sorted(SMALL)


def test_shards_are_those_of_the_index(program, at_hub, home, files):
    torch = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    tensors = torch.load(files["model.safetensors"])
    names = sorted(tensors)
    shards = {f"model-{i + 1:05}-of-00005.safetensors": names[i::5] for i in range(5)}
    parts = {shard: torch.save({name: tensors[name] for name in own}) for shard, own in shards.items()}
    index = {"metadata": {}, "weight_map": {name: shard for shard, own in shards.items() for name in own}}
    rest = {name: files[name] for name in SMALL}
    at_hub.repositories["test/shards"] = Repository(
        rest | parts | {"model.safetensors.index.json": json.dumps(index).encode(), "other.safetensors": b"x"})
    at_hub.faults.append(Fault("/*", times=99, rate=20000))
    assert generated(program, "test/shards") == generated(program, NAME)
    assert names_in(snapshot(home, "test/shards")) == sorted([*rest, *parts, "model.safetensors.index.json"])
    assert 2 <= at_hub.most_running <= 4
    at_hub.repositories["test/wrong"] = Repository(
        rest | {"model.safetensors.index.json": json.dumps({"weight_map": {"x": "../../../etc/passwd"}}).encode()})
    assert fails_in_a_line(run(program, "inspect", "test/wrong"), "names \"../../../etc/passwd\", which the repository does not have")


# ---- GGUF files

@pytest.fixture
def types(at_hub, gguf_files):
    at_hub.repositories["test/types"] = Repository(dict(gguf_files))
    return at_hub


def test_the_type_is_chosen_or_named(program, types, home, letters_folder):
    expected = generated(program, letters_folder)
    result = run(program, "generate", "-m", "test/types:f16", *PROMPT)
    assert result.stdout == expected and "types" not in result.stderr, result
    assert names_in(snapshot(home, "test/types")) == ["letters-F16.gguf"]
    shutil.rmtree(home)
    result = run(program, "generate", "-m", "test/types", *PROMPT)
    assert result.returncode == 0 and "wick: test/types: Q8_0 of 3 types, 0." in result.stderr and "test/types:TYPE" in result.stderr, result
    assert names_in(snapshot(home, "test/types")) == ["letters-Q8_0.gguf"]
    assert generated(program, "test/types", HF_HUB_OFFLINE="1") == result.stdout
    assert fails_in_a_line(run(program, "inspect", "test/types:Q4_K_M"), "it has Q8_0, F16, F32")
    assert fails_in_a_line(run(program, "inspect", "test/types:F32", HF_HUB_OFFLINE="1"), "does not have the model")


def test_a_split_set_comes_whole(program, types, home, gguf_files):
    content = gguf_files["letters-F32.gguf"]
    parts = {f"F32/letters-F32-{i:05}-of-00003.gguf": content[i:] for i in (1, 2, 3)}
    types.repositories["test/split"] = Repository({**parts, "letters-F16-00001-of-00002.gguf": content})
    path = pathlib.Path(wick.download("test/split:F32"))
    assert path == snapshot(home, "test/split") / "F32/letters-F32-00001-of-00003.gguf"
    assert names_in(snapshot(home, "test/split")) == sorted(parts)
    with pytest.raises(ValueError, match="1 of the 2 parts of letters-F16-00001-of-00002.gguf"):
        wick.download("test/split:F16")


# ---- names and paths

def test_a_path_is_never_shadowed(program, at_hub, home, letters_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(letters_folder, tmp_path / "test/letters")
    generated(program, NAME)
    assert wick.load(NAME, device="cpu").vocab_size == 48 and wick.download(NAME) == NAME
    assert at_hub.requests == []
    shutil.rmtree(tmp_path / "test/letters")
    (tmp_path / "test/letters").symlink_to("nowhere")
    assert fails_in_a_line(run(program, "generate", NAME, *PROMPT), "no such file or folder")
    with pytest.raises(FileNotFoundError):
        wick.load(pathlib.Path(f"{NAME}2"))
    for path in ("./test/other", "test/model.gguf", "a/b/c", "other"):
        assert fails_in_a_line(run(program, "generate", path, *PROMPT), "no such file or folder; a model of the HuggingFace hub is ORG/NAME")
    assert at_hub.requests == []
    generated(program, f"hf://{NAME}")
    assert fails_in_a_line(run(program, "generate", "hf://letters", *PROMPT), "expected ORG/NAME[:FILE or TYPE][@REVISION]")


def test_refusals_say_what_to_do(program, at_hub, home, files):
    at_hub.repositories |= {"test/gated": Repository(dict(files), "gated"), "test/private": Repository(dict(files), "private"),
                            "test/letters-large": Repository(dict(files))}
    assert fails_in_a_line(run(program, "inspect", "test/gated"), f"accept terms at {at_hub.endpoint}/test/gated; do that, then set HF_TOKEN")
    at_hub.accepted_tokens.add("other")
    assert fails_in_a_line(run(program, "inspect", "test/gated", HF_TOKEN="other"), "with the account of the token of HF_TOKEN")
    assert fails_in_a_line(run(program, "inspect", "test/private"), "has no such model", "set HF_TOKEN")
    assert fails_in_a_line(run(program, "inspect", "test/private", HF_TOKEN="other"), "only for other users than that of the token of HF_TOKEN")
    assert fails_in_a_line(run(program, "inspect", NAME, HF_TOKEN="wrong"), "does not accept the token of HF_TOKEN")
    assert fails_in_a_line(run(program, "inspect", f"{NAME}@v2"), "the repository has no revision \"v2\"")
    assert fails_in_a_line(run(program, "inspect", "other/letters-huge"), "no such model", "near names are test/letters, test/letters-large",
                           "no file or folder has this name either")
    at_hub.faults.append(Fault("/api/models[?]*", times=9, status=500))
    assert "near names" not in run(program, "inspect", "other/letters-huge").stderr
    assert blobs(home, "test/gated") == [] and blobs(home, "test/private") == []
    download(program, "test/gated", HF_TOKEN="secret")


def test_a_renamed_repository_is_found(program, at_hub, home):
    at_hub.renamed["old/letters"] = NAME
    at_hub.repositories["old/letters"] = at_hub.repositories[NAME]
    download(program, "old/letters")


# ---- the token

def test_the_token_goes_to_the_hub_alone(program, at_hub, home, files):
    at_hub.repositories["test/private"] = Repository(dict(files), "private")
    home.mkdir()
    (home / "token").write_text(" secret\n")
    download(program, "test/private")
    of_hub = [r.headers.get("authorization") for r in at_hub.requests if r.host == "hub"]
    of_files = [r.headers.get("authorization") for r in at_hub.requests if r.host == "files"]
    assert set(of_hub) == {"Bearer secret"} and set(of_files) == {None}
    at_hub.requests.clear()
    download(program, HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
    assert {r.headers.get("authorization") for r in at_hub.requests} == {None}
    # The next page of a list may be anywhere.
    shutil.rmtree(home / "hub")
    at_hub.faults.append(Fault(f"/api/models/{NAME}/tree/*", headers={"Link": f'<{at_hub.files_endpoint}/next>; rel="next"'}))
    at_hub.requests.clear()
    assert run(program, "inspect", NAME).returncode == 2
    assert [r.headers.get("authorization") for r in at_hub.requests if r.host == "files"] == [None]
    assert fails_in_a_line(run(program, "inspect", NAME, HF_TOKEN="a\r\nX: b"), "HF_TOKEN: expected a token of the hub")


def test_the_environment_is_checked(program, home):
    assert fails_in_a_line(run(program, "inspect", NAME, HF_ENDPOINT="ftp://host"), "HF_ENDPOINT: expected a URL")
    assert fails_in_a_line(run(program, "inspect", NAME, HF_HUB_DOWNLOAD_TIMEOUT="soon"), "HF_HUB_DOWNLOAD_TIMEOUT")


def test_the_cache_is_where_the_environment_says(program, at_hub, tmp_path, monkeypatch):
    def cache(**environment):
        for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        path = run(program, "cache", "path").stdout.rstrip()
        assert path == huggingface("from huggingface_hub import constants\nresult = constants.HF_HUB_CACHE")
        return path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OWN", "own")
    assert cache() == f"{tmp_path}/.cache/huggingface/hub"
    assert cache(XDG_CACHE_HOME="/x") == "/x/huggingface/hub"
    assert cache(HF_HOME="~/h") == f"{tmp_path}/h/hub"
    assert cache(HF_HOME="/h", HF_HUB_CACHE="/c/$OWN/${OWN}/$NOT_SET") == "/c/own/own/$NOT_SET"


# ---- faults of networks and servers

FAULTS = {
    "the connection ends": [Fault("/*", cut=1000)],
    "the connection ends again and again": [Fault("/*", cut=1000), Fault("/*", cut=1), Fault("/*", cut=0), Fault("/*", cut=2000)],
    "the length is that of a part": [Fault("/*", cut=1000, whole_until_cut=True)],
    "the length is too large": [Fault("/*", headers={"Content-Length": "1000000"}, cut=100)],
    "too many bytes": [Fault("/*", append=b"x" * 100, headers={"Content-Length": "999999"})],
    "another content": [Fault("/*", change=b"<html>log in</html>")],
    "another content of the same length": [Fault("/*", change=b"SAME")],
    "status 500": [Fault("/*", status=500)],
    "status 503, wait": [Fault("/*", status=503, headers={"Retry-After": "1"})],
    "status 429, wait": [Fault("/*", status=429, headers={"Retry-After": "1"})],
    "status 429, by the hub's limit": [Fault("/*", status=429, headers={"RateLimit": '"api";r=0;t=1'})],
    "status 408": [Fault("/*", status=408)],
    "the link is old": [Fault("/*", status=403)],
    "a range is ignored": [Fault("/*", cut=1000), Fault("/*", ignores_range=True)],
    "another range": [Fault("/*", cut=1000), Fault("/*", wrong_range=True)],
    "the range is refused": [Fault("/*", cut=1000), Fault("/*", status=416)],
    "no bytes for a while": [Fault("/*", stall=3)],
    "it is encoded": [Fault("/*", headers={"Content-Encoding": "gzip"})],
}


def each_at_once(names, check):
    """Calls check(name) for all names, several at a time, since most of it is waiting. An error has the name."""
    def named(name):
        try:
            check(name)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(named, names))


def digest_of(content):
    return hub_server.File(content, True).sha256


def test_a_fault_that_passes_costs_nothing_but_time(program, home, files):
    weights = files["model.safetensors"]

    def check(fault):
        own = home / fault
        with Hub() as hub:
            hub.repositories[NAME] = Repository(dict(files))
            hub.faults = [dataclasses.replace(planted, path=f"/{digest_of(weights)}*") for planted in FAULTS[fault]]
            for planted in hub.faults:
                if planted.change == b"SAME":
                    planted.change = b"x" * len(weights)
            download(program, HF_ENDPOINT=hub.endpoint, HF_HOME=str(own), HF_HUB_DOWNLOAD_TIMEOUT="1")
            assert all(planted.times == 0 for planted in hub.faults)
            # Each fault costs one request more, which waits as long as the server asks.
            times = [request.time for request in hub.requests if request.host == "files"]
            assert len(times) == len(hub.faults) + (0 if "range is ignored" in fault else 1), times
            assert times[1] - times[0] > (1.9 if "limit" in fault else 0.9 if "wait" in fault else 0.4), times
        assert (snapshot(own) / "model.safetensors").read_bytes() == weights
        assert not any(name.endswith(".incomplete") for name in blobs(own))
    each_at_once(FAULTS, check)


@pytest.mark.parametrize("path", ["/api/models/test/letters/revision/*", "/api/models/test/letters/tree/*", "/test/letters/resolve/*/config.json"])
def test_the_hub_itself_may_fail_for_a_while(program, at_hub, home, path):
    at_hub.faults = [Fault(path, status=503), Fault(path, cut=10), Fault(path, status=429, headers={"Retry-After": "1"})]
    download(program)


LASTING = {
    "another content": (Fault("/*", times=99, change=b"x"), "the server sends 1 bytes, the hub lists"),
    "status 500": (Fault("/*", times=99, status=500), "status 500, after 5 attempts"),
    "a long wait": (Fault("/*", times=99, status=429, headers={"Retry-After": "9999"}), "the server asks to wait 9999 s"),
    "status 404": (Fault("/*", times=99, status=404), "answers status 404"),
    "redirects without an end": (Fault("/*", times=99, redirect="/DIGEST?again"), "redirects without an end"),
    "another protocol": (Fault("/*", times=99, redirect="file:///etc/passwd"), "expected a URL of http or https, got \"file:///etc/passwd\""),
    "cut at the start": (Fault("/*", times=99, cut=0), "after 5 attempts"),
}


def test_a_fault_that_lasts_is_an_error_of_one_line(program, home, files):
    digest = digest_of(files["model.safetensors"])

    def check(fault):
        planted, text = LASTING[fault]
        own = home / fault
        with Hub() as hub:
            hub.repositories[NAME] = Repository(dict(files))
            hub.faults = [dataclasses.replace(planted, path=f"/{digest}*", redirect=planted.redirect.replace("DIGEST", digest))]
            result = run(program, "inspect", NAME, HF_ENDPOINT=hub.endpoint, HF_HOME=str(own))
        assert result.returncode == 2 and text in result.stderr and result.stdout == "", result
        assert result.stderr.splitlines()[-1].startswith(f"wick: {NAME}: model.safetensors: "), result
        assert not any(name == digest for name in blobs(own)) and "model.safetensors" not in names_in(own)
    each_at_once(LASTING, check)


def test_wrong_bytes_are_discarded(program, at_hub, home, files):
    weights = files["model.safetensors"]
    digest = digest_of(weights)
    at_hub.faults = [Fault(f"/{digest}*", times=99, change=b"x" * len(weights))]
    assert fails_in_a_line(run(program, "inspect", NAME), "another SHA-256 than the hub lists", "they are discarded")
    assert not any(name.startswith(digest) for name in blobs(home))
    shutil.rmtree(home)
    at_hub.faults = [Fault("*/resolve/*/config.json", times=99, change=b"x" * len(files["config.json"]))]
    assert fails_in_a_line(run(program, "inspect", NAME), "another SHA-1 than the hub lists")
    assert "config.json" not in names_in(home)


@pytest.mark.parametrize("path", ["../../evil", "/tmp/wick-evil", "a/../../../evil", "a\u0000b", "..", "C:/\n"])
def test_paths_of_a_server_stay_in_the_cache(program, at_hub, home, path):
    at_hub.tree_changes = [{"type": "file", "path": path, "oid": "0" * 40, "size": 1}]
    assert fails_in_a_line(run(program, "inspect", NAME), "no path of a file in a repository")
    at_hub.tree_changes = [{"type": "file", "path": "x", "oid": "../" + "0" * 37, "size": 1}]
    assert fails_in_a_line(run(program, "inspect", NAME), "expected an id of git's")
    assert not pathlib.Path("/tmp/wick-evil").exists() and names_in(home) == []


def test_an_answer_that_is_none_of_the_hub(program, at_hub, home):
    at_hub.faults = [Fault("/api/*", times=99, change=b"<html>log in here</html>")]
    assert fails_in_a_line(run(program, "inspect", NAME), "expected JSON as the hub answers")


def test_a_full_disk_is_noticed_before_the_download(program, at_hub, home):
    large = {"type": "file", "path": "m-Q8_0.gguf", "oid": "0" * 40, "size": 1 << 45,
             "lfs": {"oid": "0" * 64, "size": 1 << 45, "pointerSize": 100}}
    at_hub.repositories["test/large"] = Repository({})
    at_hub.tree_changes = [large]
    assert fails_in_a_line(run(program, "inspect", "test/large"), "the download takes 32768.0 GiB, and the disk of ", " free")
    assert not any("/resolve/" in path for path in at_hub.paths())


# ---- interruptions and other programs

@pytest.fixture
def large(at_hub, gguf_files):
    """A repository whose file takes seconds."""
    content = gguf_files["letters-F32.gguf"] + bytes(1 << 20)
    at_hub.repositories["test/slow"] = Repository({"m-F32.gguf": content})
    at_hub.slow = Fault("/*", times=99, rate=400_000)
    at_hub.content = content
    at_hub.digest = digest_of(content)
    return at_hub


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_download_goes_on(program, large, home, kind):
    large.faults = [large.slow]
    process = subprocess.Popen([program, "inspect", "test/slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    part = home / "hub/models--test--slow/blobs" / f"{large.digest}.incomplete"
    wait_for(lambda: part.exists() and part.stat().st_size > 300_000)
    process.send_signal(kind)
    out, err = process.communicate(timeout=20)
    assert process.returncode == (-kind if kind == signal.SIGKILL else 130) and out == "" and err == "", (process.returncode, err)
    assert blobs(home, "test/slow") == [part.name] and not (home / "hub/models--test--slow/snapshots").exists()
    there = part.stat().st_size
    large.faults.clear()
    large.requests.clear()
    download(program, "test/slow")
    assert [r.headers["range"] for r in large.requests if r.host == "files"] == [f"bytes={there}-"]
    assert (snapshot(home, "test/slow") / "m-F32.gguf").read_bytes() == large.content


@pytest.mark.parametrize("left", ["wrong bytes", "too many", "all"])
def test_what_is_left_of_another_download_is_checked(program, large, home, left):
    folder = home / "hub/models--test--slow/blobs"
    folder.mkdir(parents=True)
    bytes_left = {"wrong bytes": b"x" * 5000, "too many": large.content + b"x", "all": large.content}[left]
    (folder / f"{large.digest}.incomplete").write_bytes(bytes_left)
    download(program, "test/slow")
    assert (snapshot(home, "test/slow") / "m-F32.gguf").read_bytes() == large.content
    assert len(large.paths("files")) == {"wrong bytes": 2, "too many": 1, "all": 0}[left]


def test_programs_share_a_download(program, large, home):
    large.faults = [large.slow]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: run(program, "inspect", "test/slow"), range(3)))
    assert all(result.returncode == 0 for result in results), results
    assert len(large.paths("files")) == 1
    assert sum("another program downloads it; waiting" in result.stderr for result in results) == 2


def test_a_lock_of_huggingface_hub_is_kept(program, large, home):
    folder = home / "hub/.locks/models--test--slow"
    folder.mkdir(parents=True)
    with open(folder / f"{large.digest}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen([program, "inspect", "test/slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "another program downloads it; waiting" in process.stderr.readline()
        assert large.paths("files") == []
        assert fails_in_a_line(run(program, "cache", "rm", "test/slow"), "the cache", "does not have it")
    assert process.wait(timeout=20) == 0 and len(large.paths("files")) == 1
    process.communicate()


def test_a_terminal_shows_a_bar(program, large, home):
    large.faults = [large.slow]
    terminal, end = pty.openpty()
    process = subprocess.Popen([program, "inspect", "test/slow"], stdout=subprocess.DEVNULL, stderr=end, env=os.environ | {"TERM": "xterm"})
    os.close(end)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert process.wait(timeout=20) == 0
    assert re.search(rb"\[#+\.+\] 0 of 1 MiB  0 MiB/s  0:0\d left", shown), shown
    assert shown.endswith(b"\r\x1b[K"), shown  # the bar is gone


# ---- without a network

def test_without_a_network(program, at_hub, home, letters_folder):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}"
        started = time.monotonic()
        assert fails_in_a_line(run(program, "chat", NAME, HF_ENDPOINT=closed), NAME, closed, "onnect")
        assert fails_in_a_line(run(program, "chat", NAME, HF_ENDPOINT="http://hub.invalid"), "hub.invalid")
        assert time.monotonic() - started < 20
        assert fails_in_a_line(run(program, "chat", NAME, HF_HUB_OFFLINE="1"), "HF_HUB_OFFLINE is set")
        download(program)
        result = run(program, "generate", NAME, *PROMPT, HF_ENDPOINT=closed)
        assert result.stdout == generated(program, letters_folder) and "; the cache has it" in result.stderr
    at_hub.repositories.clear()
    assert "answers status 401; the cache has it" in run(program, "generate", NAME, *PROMPT).stderr


def test_a_hub_that_is_silent_is_one_that_cannot_be_reached(program, at_hub, home):
    at_hub.faults = [Fault("/api/*", times=9, stall=3)]
    assert fails_in_a_line(run(program, "inspect", NAME, HF_HUB_DOWNLOAD_TIMEOUT="1"), "no byte for 1 s")
    at_hub.faults.clear()
    download(program)
    at_hub.faults = [Fault("/api/*", times=9, stall=3)]
    assert "no byte for 1 s; the cache has it" in download(program, HF_HUB_DOWNLOAD_TIMEOUT="1")


def test_without_libcurl(program, at_hub, home, tmp_path):
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"):
        (tmp_path / name).write_bytes(b"no library")
    assert fails_in_a_line(run(program, "inspect", NAME, LD_LIBRARY_PATH=str(tmp_path)), "downloads need libcurl", "Debian's package is libcurl4")
    download(program)
    assert "the cache has it" in download(program, LD_LIBRARY_PATH=str(tmp_path))
    assert run(program, "inspect", NAME, LD_LIBRARY_PATH=str(tmp_path), HF_HUB_OFFLINE="1").stderr == ""


def test_a_proxy_is_used(program, at_hub, home):
    download(program, HF_ENDPOINT="http://hub.invalid", http_proxy=at_hub.endpoint, no_proxy="localhost")
    assert f"http://hub.invalid/api/models/{NAME}/revision/main" in at_hub.paths("hub")


def test_certificates_are_checked(program, home, files, tmp_path):
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=hub",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
    with Hub((certificate, key)) as hub, Hub() as plain:
        hub.repositories[NAME] = Repository(dict(files))
        assert fails_in_a_line(run(program, "inspect", NAME, HF_ENDPOINT=hub.endpoint), "certificate")
        assert hub.requests == []
        download(program, HF_ENDPOINT=hub.endpoint, SSL_CERT_FILE=certificate)
        shutil.rmtree(home / "hub")
        hub.faults = [Fault("*/resolve/*", redirect=plain.endpoint + "/x")]
        assert fails_in_a_line(run(program, "inspect", NAME, HF_ENDPOINT=hub.endpoint, SSL_CERT_FILE=certificate), "is not protected as")
        assert plain.requests == []


# ---- wick cache

def test_the_cache_is_listed(program, types, home):
    assert run(program, "cache", "list").stdout == ""
    download(program)
    download(program, "test/types:F16")
    (home / "hub/datasets--test--other").mkdir()
    (home / "hub/models--test--letters/blobs" / ("0" * 64 + ".incomplete")).write_bytes(bytes(1 << 20))
    lines = run(program, "cache", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [NAME, "test/types"] and lines[1].endswith("main  F16")
    assert "1.00 MiB incomplete" in lines[0]
    models = [json.loads(line) for line in run(program, "cache", "list", "--json").stdout.splitlines()]
    assert [m["model"] for m in models] == [NAME, "test/types"] and models[0]["revisions"] == ["main"] and models[1]["types"] == ["F16"]
    sizes = huggingface("result = {repo.repo_id: repo.size_on_disk for repo in hf.scan_cache_dir().repos}")
    assert {m["model"]: m["bytes"] - m["incomplete_bytes"] for m in models} == {name: sizes[name] for name in sizes if name.startswith("test/")}
    assert run(program, "cache", "path", NAME, "test/types").stdout.split("\n")[:2] == [
        str(snapshot(home)), str(snapshot(home, "test/types") / "letters-F16.gguf")]
    assert fails_in_a_line(run(program, "cache", "path", "test/types:Q8_0"), "does not have it")


def test_models_are_removed(program, types, home, gguf_files):
    download(program, "test/types:F16")
    download(program, "test/types:Q8_0")
    result = run(program, "cache", "rm", "test/types:Q8_0", "--json")
    assert json.loads(result.stdout)["bytes"] == len(gguf_files["letters-Q8_0.gguf"])
    assert names_in(snapshot(home, "test/types")) == ["letters-F16.gguf"] and len(blobs(home, "test/types")) == 1
    assert fails_in_a_line(run(program, "cache", "rm", "test/types:Q8_0"), "it has F16")
    run(program, "cache", "rm", "test/types")
    assert not (home / "hub/models--test--types").exists()
    assert fails_in_a_line(run(program, "cache", "rm", "test/types"), "does not have it")
    assert fails_in_a_line(run(program, "cache", "rm", "../x"), "expected ORG/NAME") and fails_in_a_line(run(program, "cache", "rm"), "expected a model")
    assert fails_in_a_line(run(program, "cache", "remove"), "remove")


def test_a_revision_is_removed(program, at_hub, home, files):
    download(program)
    first = at_hub.repositories[NAME].revisions["main"]
    at_hub.repositories[NAME].commit(dict(files) | {"config.json": files["config.json"] + b"\n"})
    download(program)
    assert len(blobs(home)) == 5
    assert "removed, 0.00 MiB" in run(program, "cache", "rm", f"{NAME}@{first}").stdout
    assert len(blobs(home)) == 4 and run(program, "inspect", NAME, HF_HUB_OFFLINE="1").returncode == 0
    assert huggingface("result = len(hf.scan_cache_dir().warnings)") == 0
    assert run(program, "cache", "rm", f"{NAME}@main").returncode == 0 and not (home / "hub/models--test--letters").exists()


def test_a_model_is_not_removed_while_it_is_downloaded(program, at_hub, home):
    download(program)
    with open(home / "hub/.locks/models--test--letters" / f"{blobs(home)[0]}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert fails_in_a_line(run(program, "cache", "rm", NAME), "another program downloads it")
    assert run(program, "inspect", NAME, HF_HUB_OFFLINE="1").returncode == 0


def test_the_contents_of_others_stay(program, at_hub, home, tmp_path):
    download(program)
    outside = tmp_path / "precious"
    outside.write_bytes(b"x")
    (snapshot(home) / "link").symlink_to(outside)
    (snapshot(home) / "folder").symlink_to(tmp_path)
    assert run(program, "cache", "rm", NAME).returncode == 0
    assert outside.read_bytes() == b"x" and home.exists()


# ---- Python

def test_python_loads_a_model_by_its_name(at_hub, home, letters_folder, capfd):
    model = wick.load(NAME, device="cpu")
    expected = "".join(wick.load(letters_folder, device="cpu").generate("abc", max_tokens=5, temperature=0))
    assert "".join(model.generate("abc", max_tokens=5, temperature=0)) == expected
    assert wick.load_tokenizer(f"{NAME}@main").encode("abc") == [0, 1, 2]
    assert wick.download(NAME) == str(snapshot(home)) and capfd.readouterr().err == ""


def test_python_sees_the_progress(large, home):
    large.faults = [large.slow]
    seen = []
    assert wick.download("test/slow", progress=lambda done, total: seen.append((done, total))).endswith("/m-F32.gguf")
    totals = [(done, total) for done, total in seen if total]
    assert totals[-1] == (len(large.content), len(large.content)) and totals[0][0] < totals[-1][0] and len(totals) > 5
    shutil.rmtree(home)

    class Stop(Exception):
        pass

    def stop(done, total):
        if done > 100_000:
            raise Stop
    with pytest.raises(Stop):
        wick.download("test/slow", progress=stop)
    [part] = blobs(home, "test/slow")
    assert part.endswith(".incomplete")


def test_python_raises(at_hub, home, files, monkeypatch):
    at_hub.repositories["test/gated"] = Repository(dict(files), "gated")
    at_hub.repositories["test/empty"] = Repository({"pytorch_model.bin": b"x"})
    for name, error in {"test/missing": FileNotFoundError, f"{NAME}@v2": FileNotFoundError, "test/gated": PermissionError,
                        f"{NAME}:Q8_0": ValueError, "test/empty": NotImplementedError, "hf://x": ValueError}.items():
        with pytest.raises(error):
            wick.load(name)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    with pytest.raises(OSError, match="hub.invalid"):
        wick.download(NAME)


def test_a_server_has_the_name_as_its_id(at_hub, home):
    openai = pytest.importorskip("openai", reason="openai is not installed")
    with wick.serve(NAME, port=0, device="cpu") as server, openai.OpenAI(base_url=server.url + "/v1", api_key="any") as client:
        assert [model.id for model in client.models.list()] == [NAME]
        assert client.chat.completions.create(model=NAME, messages=[{"role": "user", "content": "abc"}], max_tokens=1).model == NAME


def test_a_long_list_has_pages(program, at_hub, home, files, monkeypatch):
    monkeypatch.setattr(hub_server, "PAGE", 3)
    download(program)
    assert len([path for path in at_hub.paths() if "/tree/" in path]) == 4
    assert names_in(snapshot(home)) == sorted(SMALL + ["model.safetensors"])
