"""tests/serve/load.py against `wick serve`: a crowd, and clients that misbehave."""
import re
import signal
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def server(program, letters_folder):
    command = [program, "serve", letters_folder, "--port", "0", "--device", "cpu", "--parallel", "4", "--queue", "6", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    match = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert match, line + process.stderr.read()
    yield process, match.group()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log


def load(server, job, *flags):
    process, url = server
    command = [sys.executable, ROOT / "tests/serve/load.py", job, url, "--vocab", "48", "--prompt", "12", "--tokens", "8", *flags]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_crowd_gets_all_of_its_tokens(server):
    printed = load(server, "crowd", "--clients", 4, "--requests", 20)
    assert re.match(r"4 clients, 20 requests of 12 tokens, 8 tokens each: [\d.]+ requests/s, [\d.]+ tokens/s, first token ", printed), printed


def test_a_first_token_is_timed_beside_streams(server):
    assert " times" in load(server, "first", "--streams", 2, "--repeat", 2, "--settle", 0.2)


def test_clients_that_misbehave_take_nothing_from_others(server):
    printed = load(server, "soak", "--clients", 12, "--minutes", 0.1, "--pid", server[0].pid)
    for kind in ("whole", "hang up", "reset", "read slowly", "short body", "long body", "bad json", "bad head"):
        assert re.search(rf"[1-9]\d* {kind}", printed), printed
