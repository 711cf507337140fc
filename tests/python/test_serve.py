"""`wick serve`, asked by OpenAI's own client, which checks the form of each answer."""
import re
import signal
import subprocess

import numpy as np
import pytest

import wick

openai = pytest.importorskip("openai", reason="openai is not installed")

KEY = "secret"


@pytest.fixture(scope="module")
def url(program, letters_folder):
    command = [program, "serve", "-m", letters_folder, "--port", "0", "--device", "cpu", "--api-key", KEY, "--alias", "other"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    match = re.fullmatch(r"(http://127\.0\.0\.1:\d+) serves letters\n", line)
    assert match, line + process.stderr.read()
    yield match.group(1)
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert "POST /v1/chat/completions 200 " in log
    assert "ending" in log and KEY not in log


@pytest.fixture
def client(url):
    with openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def expected(letters_folder):
    """The likeliest 5 tokens after the prompt of a question "abc"."""
    model = wick.load(letters_folder, device="cpu")
    return "".join(model.generate("uabcA", max_tokens=5, temperature=0))


QUESTION = [{"role": "user", "content": "abc"}]
GREEDY = {"model": "letters", "temperature": 0, "max_tokens": 5}


def test_a_chat_is_answered(client, expected):
    answer = client.chat.completions.create(messages=QUESTION, **GREEDY)
    assert answer.choices[0].message.content == expected
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.prompt_tokens == 5 and answer.usage.completion_tokens == 5
    assert answer.usage.prompt_tokens_details.cached_tokens >= 0


def test_a_chat_is_streamed(client, expected):
    chunks = list(client.chat.completions.create(messages=QUESTION, stream=True, stream_options={"include_usage": True}, **GREEDY))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == expected
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 10


def test_log_probabilities_are_of_the_tokens(client, expected):
    answer = client.chat.completions.create(messages=QUESTION, logprobs=True, top_logprobs=3, **GREEDY)
    tokens = answer.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == expected
    for token in tokens:
        assert token.top_logprobs[0].token == token.token and token.logprob <= 0
        assert bytes(token.bytes).decode() == token.token


def test_a_text_is_continued(client, expected):
    answer = client.completions.create(prompt="uabcA", logprobs=2, **GREEDY)
    assert answer.choices[0].text == expected
    assert "".join(answer.choices[0].logprobs.tokens) == expected
    parts = client.completions.create(prompt="uabcA", stream=True, **GREEDY)
    assert "".join(part.choices[0].text for part in parts if part.choices) == expected


def test_embeddings_are_those_of_the_model(client, letters_folder):
    answer = client.embeddings.create(model="letters", input=["abc", "d"])  # the client asks for base64
    expected = wick.load(letters_folder, device="cpu").embed("abc").numpy()
    np.testing.assert_array_equal(np.array(answer.data[0].embedding, np.float32), expected)
    assert len(answer.data) == 2 and answer.usage.prompt_tokens == 4


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["letters", "other"]
    assert client.models.retrieve("other").id == "other"


def test_errors_are_those_of_the_client(client, url):
    with pytest.raises(openai.BadRequestError, match="'temperature': expected") as error:
        client.chat.completions.create(messages=QUESTION, model="letters", temperature=-1)
    assert error.value.param == "temperature" and error.value.type == "invalid_request_error"
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(messages=QUESTION, model="gpt-4o")
    assert error.value.code == "model_not_found"
    with openai.OpenAI(base_url=url + "/v1", api_key="wrong") as other, pytest.raises(openai.AuthenticationError):
        other.models.list()


def test_a_stream_that_is_closed_ends_its_text(client):
    with client.chat.completions.create(messages=QUESTION, model="letters", stream=True, extra_body={"ignore_eos": True}) as stream:
        next(iter(stream))
    assert client.chat.completions.create(messages=QUESTION, **GREEDY).choices[0].message.content
