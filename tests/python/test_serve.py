"""`wick serve`, asked by OpenAI's own client, which checks the form of each answer."""
import contextlib
import json
import re
import shutil
import signal
import string
import subprocess
import typing

import numpy as np
import pytest

import wick

openai = pytest.importorskip("openai", reason="openai is not installed")

KEY = "secret"


@contextlib.contextmanager
def serving(program, ids, *arguments):
    """The URL of a server, and the list that has its log after the end."""
    command = [program, "serve", *arguments, "--port", "0", "--device", "cpu", "--api-key", KEY]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    match = re.fullmatch(r"(http://127\.0\.0\.1:\d+) serves (.*)\n", line)
    assert match and match.group(2) == ids, line + process.stderr.read()
    log = []
    yield match.group(1), log
    process.send_signal(signal.SIGTERM)
    log.append(process.communicate(timeout=60)[1])
    assert process.returncode == 0, log
    assert "ending" in log[0] and KEY not in log[0]


@pytest.fixture(scope="module")
def url(program, letters_folder):
    with serving(program, "letters", "-m", letters_folder, "--alias", "other") as (url, log):
        yield url
    assert "POST /v1/chat/completions 200 " in log[0]


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


def test_a_response_is_answered(client, expected):
    answer = client.responses.create(model="letters", input=QUESTION, temperature=0, max_output_tokens=5, store=False)
    assert answer.output_text == expected and answer.output[0].role == "assistant"
    assert answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens"
    assert answer.usage.input_tokens == 5 and answer.usage.output_tokens == 5 and answer.usage.total_tokens == 10
    assert answer.usage.output_tokens_details.reasoning_tokens == 0 and answer.usage.input_tokens_details.cached_tokens >= 0
    again = client.responses.create(model="letters", input=[*QUESTION, *answer.output, {"role": "user", "content": "d"}], max_output_tokens=1)
    assert again.usage.input_tokens == 5 + 5 + 3  # "uabc", "a" and the answer, "ud", "A"


def test_a_response_is_streamed(client, expected):
    with client.responses.stream(model="letters", input="abc", temperature=0, max_output_tokens=5) as stream:
        events = list(stream)
    final = events[-1].response
    assert final.output_text == expected and final.status == "incomplete"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == expected
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.incomplete"
    plain = list(client.responses.create(model="letters", input="abc", temperature=0, max_output_tokens=5, stream=True))
    assert [event.type for event in plain] == [event.type for event in events]


def test_a_response_is_parsed(program, letters_folder, tmp_path):
    pydantic = pytest.importorskip("pydantic")

    class Answer(pydantic.BaseModel):
        letter: typing.Literal["a"]

    folder = tmp_path / "json"
    shutil.copytree(letters_folder, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokens = list(tokenizer["model"]["vocab"])
    tokens[-5:] = '{}": '
    tokenizer["model"]["vocab"] = {token: i for i, token in enumerate(tokens)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with serving(program, "json", folder) as (url, _), openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0) as client:
        answer = client.responses.parse(model="json", input="abc", text_format=Answer)
        assert answer.output_parsed == Answer(letter="a") and answer.status == "completed"
        with client.responses.stream(model="json", input="abc", text_format=Answer) as stream:
            assert stream.get_final_response().output_parsed == Answer(letter="a")


def test_a_response_that_needs_state_is_refused(client):
    for field, value in (("previous_response_id", "resp_1"), ("store", True), ("background", True)):
        with pytest.raises(openai.BadRequestError) as error:
            client.responses.create(model="letters", input="abc", **{field: value})
        assert error.value.param == field


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


def test_models_of_a_folder_are_loaded_for_requests(program, letters_folder, expected, tmp_path):
    models = tmp_path / "models"
    for name in ("a", "b"):
        shutil.copytree(letters_folder, models / name)
    (models / "broken.gguf").write_bytes(b"GGUF")
    arguments = ("--models", models, "--max-models", "1")
    with serving(program, "a, b, broken", *arguments) as (url, log), openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0) as client:
        def loaded():
            return [model.id for model in client.models.list() if model.status["value"] == "loaded"]

        assert loaded() == []
        for name in ("a", "b", "a"):
            answer = client.chat.completions.create(messages=QUESTION, **{**GREEDY, "model": name})
            assert answer.choices[0].message.content == expected and answer.model == name
            assert loaded() == [name]
        with pytest.raises(openai.InternalServerError, match="the model 'broken' could not be loaded: gguf: broken: ") as error:
            client.chat.completions.create(messages=QUESTION, model="broken")
        assert str(tmp_path) not in str(error.value)
    assert log[0].count("wick: loaded a in ") == 2 and f"could not load broken: gguf: {models}/broken.gguf: " in log[0]


def test_a_port_that_is_taken_is_an_error_before_the_model_is_loaded(program, url, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    port = url.rsplit(":", 1)[1]
    for arguments, error in ((["--port", port], "cannot take connections"), (["--port", "0"], f"gguf: {broken}: byte 0")):
        result = subprocess.run([program, "serve", broken, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 2 and error in result.stderr and not result.stdout


# An answer that calls the tool, as Hermes and Qwen write it.
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "oslo"}}\n</tool_call>'
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "the weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["oslo", "rome"]}}, "required": ["city"], "additionalProperties": False}}}]
WITH_TOOLS = {"model": "caller", "tools": TOOLS, "max_tokens": 200}


@pytest.fixture(scope="module")
def caller(program, letters_folder, tmp_path_factory):
    """A client of a small llama whose template has tools."""
    folder = tmp_path_factory.mktemp("served") / "caller"
    shutil.copytree(letters_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 1024}))
    letters = "012" + string.ascii_lowercase + '{}":,._ \n' + "345678"
    assert letters[config["eos_token_id"]] not in CALL
    markers = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
    flags = {"special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    (folder / "tokenizer.json").write_text(json.dumps(
        {"model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []}, "decoder": {"type": "Fuse"},
         "added_tokens": [{"id": len(letters) + i, "content": marker, **flags} for i, marker in enumerate(markers)]}))
    (folder / "chat_template.jinja").write_text(
        "{# <tool_call> arguments <think> #}{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
        "{% for m in messages %}{{ m.role }} {{ m.content or '' }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name }} {{ c.function.arguments.city }}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant {% endif %}")
    with serving(program, "caller", "-m", folder) as (url, _), openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0) as client:
        yield client


def answering(text):
    """The fields that make the model answer with a text."""
    return {"messages": QUESTION, "extra_body": {"guided_choice": [text]}, **WITH_TOOLS}


def test_a_tool_is_called_and_its_result_comes_back(caller):
    choice = caller.chat.completions.create(**answering("<think>\nhm.\n</think>\ni look.\n" + CALL)).choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content == "i look."
    assert choice.message.reasoning_content == "hm."
    [call] = choice.message.tool_calls
    assert call.type == "function" and call.function.name == "weather" and json.loads(call.function.arguments) == {"city": "oslo"}
    result = {"role": "tool", "tool_call_id": call.id, "content": "cold"}
    last = caller.chat.completions.create(messages=[*QUESTION, choice.message, result], extra_body={"guided_choice": ["it is cold."]}, **WITH_TOOLS)
    assert last.choices[0].message.content == "it is cold." and last.choices[0].message.tool_calls is None
    assert last.choices[0].finish_reason == "stop"


def test_a_tool_is_called_in_a_stream(caller):
    text = "<think>hm.</think>i look.\n" + CALL + "\n" + CALL
    chunks = list(caller.chat.completions.create(stream=True, **answering(text)))
    assert "".join(getattr(chunk.choices[0].delta, "reasoning_content", None) or "" for chunk in chunks) == "hm."
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "i look."
    assert {call.index for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []} == {0, 1}
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    with caller.chat.completions.stream(**answering(text)) as stream:  # the client joins the parts
        final = stream.get_final_completion().choices[0].message
    assert [json.loads(call.function.arguments) for call in final.tool_calls] == [{"city": "oslo"}] * 2
    assert len({call.id for call in final.tool_calls}) == 2 and final.content == "i look."


def test_a_text_that_looks_like_a_call_stays_text(caller):
    text = CALL.replace("weather", "other")
    message = caller.chat.completions.create(**answering(text)).choices[0].message
    assert message.content == text and message.tool_calls is None


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_call_can_be_forced(caller, choice):
    without_reasoning = {"46": -100}  # <think>, whose end random weights would hardly find
    for seed in range(5):
        answer = caller.chat.completions.create(messages=QUESTION, tool_choice=choice, parallel_tool_calls=False, seed=seed,
                                                logit_bias=without_reasoning, **WITH_TOOLS)
        [call] = answer.choices[0].message.tool_calls
        assert call.function.name == "weather" and json.loads(call.function.arguments)["city"] in ("oslo", "rome")


def test_a_schema_that_cannot_be_held_is_named(caller):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"not": {}}}}]
    with pytest.raises(openai.BadRequestError, match="#/not") as error:
        caller.chat.completions.create(model="caller", messages=QUESTION, tools=tools, tool_choice="required")
    assert error.value.param == "tools[0].function.parameters"


# The same tools by the API of responses.
FLAT_TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
WITH_FLAT_TOOLS = {"model": "caller", "tools": FLAT_TOOLS, "max_output_tokens": 200}


def responding(text):
    """The fields that make a response this text."""
    return {"input": QUESTION, "extra_body": {"guided_choice": [text]}, **WITH_FLAT_TOOLS}


def test_a_response_calls_a_tool_and_its_result_comes_back(caller):
    answer = caller.responses.create(**responding("<think>\nhm.\n</think>\ni look.\n" + CALL))
    reasoning, message, call = answer.output
    assert reasoning.type == "reasoning" and reasoning.summary == [] and [part.text for part in reasoning.content] == ["hm."]
    assert message.content[0].text == "i look." == answer.output_text and answer.status == "completed"
    assert call.type == "function_call" and call.name == "weather" and json.loads(call.arguments) == {"city": "oslo"}
    assert call.status == "completed" and call.call_id.startswith("call_")
    assert 0 < answer.usage.output_tokens_details.reasoning_tokens < answer.usage.output_tokens
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "cold"}
    last = caller.responses.create(**{**responding("it is cold."), "input": [*QUESTION, *answer.output, result]})
    assert last.output_text == "it is cold." and [item.type for item in last.output] == ["message"]
    prompt = "weather" + "user abc" + "assistant i look.weather oslo" + "tool cold" + "assistant "  # templates trim a newline after a block
    assert last.usage.input_tokens == len(prompt)


def test_a_response_that_calls_tools_is_streamed(caller):
    fields = responding("<think>hm.</think>i look.\n" + CALL + "\n" + CALL)
    events = list(caller.responses.create(stream=True, **fields))
    kinds = []
    for event in events:
        if event.type != (kinds or [None])[-1]:
            kinds.append(event.type)
    text = ["response.output_item.added", "response.content_part.added", "response.{}_text.delta", "response.{}_text.done", "response.content_part.done",
            "response.output_item.done"]
    call = ["response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done"]
    assert kinds == ["response.created", "response.in_progress", *(kind.format("reasoning") for kind in text), *(kind.format("output") for kind in text),
                     *call, *call, "response.completed"]
    assert "".join(event.delta for event in events if event.type == "response.reasoning_text.delta") == "hm."
    with caller.responses.stream(**fields) as stream:  # the client joins the parts
        snapshots = [event.snapshot for event in stream if event.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "function_call"]
    assert snapshots == [item.arguments for item in final.output[2:]] and json.loads(snapshots[0]) == {"city": "oslo"}
    assert final.output_text == "i look." and len({item.call_id for item in final.output[2:]}) == 2
    single = caller.responses.create(parallel_tool_calls=False, **fields)
    assert [item.type for item in single.output] == ["reasoning", "message", "function_call"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}, {
    "type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "weather"}]}])
def test_a_call_of_a_response_can_be_forced(caller, choice):
    for seed in range(3):
        answer = caller.responses.create(input=QUESTION, tool_choice=choice, parallel_tool_calls=False, **WITH_FLAT_TOOLS,
                                         extra_body={"seed": seed, "logit_bias": {"46": -100}})  # as of chats
        [call] = answer.output
        assert call.name == "weather" and json.loads(call.arguments)["city"] in ("oslo", "rome")


def test_a_schema_of_a_response_that_cannot_be_held_is_named(caller):
    tools = [{"type": "function", "name": "f", "strict": False, "parameters": {"not": {}}}]
    with pytest.raises(openai.BadRequestError, match="#/not") as error:
        caller.responses.create(model="caller", input="abc", tools=tools, tool_choice="required")
    assert error.value.param == "tools[0].parameters"
