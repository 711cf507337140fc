"""Texts held to grammars: generate, chats, engines, and masks for a sampling of one's own."""
import copy
import json
import re
import shutil
import string

import numpy as np
import pytest

import wick

from test_language import folder  # noqa: F401: a small model of letters

PERSON = {"type": "object", "properties": {"name": {"enum": ["ann", "bob"]}, "age": {"type": "integer", "minimum": 0, "maximum": 99}},
          "required": ["name", "age"], "additionalProperties": False}
WORDS = wick.Grammar.choice(["abc", "xyz"])


@pytest.fixture(scope="module")
def json_folder(letters_folder, tmp_path_factory):
    """A small llama whose 48 tokens are those that JSON needs."""
    folder = tmp_path_factory.mktemp("json")  # noqa: F811
    shutil.copytree(letters_folder, folder, dirs_exist_ok=True)
    tokens = '{}[]":,. \n' + string.digits + string.ascii_lowercase + "AB"
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {token: i for i, token in enumerate(tokens)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="module")
def json_model(json_folder):
    return wick.load(json_folder, device="cpu", dtype="f32")


def text_of(model, grammar, **options):
    return "".join(model.generate("abc", grammar=grammar, max_tokens=200, stop_ids=[], **options))


def test_a_text_is_one_of_the_grammar(json_model):
    person = wick.Grammar.json_schema(PERSON)
    for seed in range(10):
        options = {"temperature": 1, "seed": seed}
        assert text_of(json_model, WORDS, **options) in ("abc", "xyz")
        assert re.fullmatch("[a-c]{3}x{1,5}y", text_of(json_model, wick.Grammar.regex("[a-c]{3}x{1,5}y"), **options))
        assert text_of(json_model, wick.Grammar.gbnf('root ::= "a" b* "c"\nb ::= "b"'), **options).replace("b", "") == "ac"
        found = json.loads(text_of(json_model, person, **options))
        assert found["name"] in ("ann", "bob") and 0 <= found["age"] <= 99 and len(found) == 2


def test_schemas_are_dicts_texts_bools_and_classes():
    class Person:
        @classmethod
        def model_json_schema(cls):
            return PERSON

    text = '{"name":"ann","age":7}'
    for schema in (PERSON, json.dumps(PERSON), Person, True, "true"):
        grammar = wick.Grammar.json_schema(schema)
        assert grammar.matches(text) and not grammar.matches(text[:-1])
    assert not wick.Grammar.json_schema(PERSON).matches('{"age":7,"name":"ann"}')  # in the order of the properties
    assert wick.Grammar.json_object().matches("{}") and not wick.Grammar.json_object().matches("[]")


def test_a_model_of_pydantic_is_a_schema():
    pydantic = pytest.importorskip("pydantic")

    class Point(pydantic.BaseModel):
        model_config = {"extra": "forbid"}
        x: int
        tags: list[str] = []

    class Path(pydantic.BaseModel):
        model_config = {"extra": "forbid"}
        points: list[Point]

    grammar = wick.Grammar.json_schema(Path)
    text = '{"points": [{"x": 1}, {"x": -2, "tags": ["a"]}]}'
    assert grammar.matches(text) and Path.model_validate_json(text).points[1].tags == ["a"]
    assert not grammar.matches('{"points": [{"x": "1"}]}') and not grammar.matches('{"points": [], "more": 1}')


def test_answers_of_a_chat_are_held_to_its_grammar_or_to_the_questions(folder):  # noqa: F811
    model = wick.load(folder, device="cpu")
    chat = model.chat(grammar=WORDS, stop_ids=[])
    assert "".join(chat("a")) in ("abc", "xyz")
    assert "".join(chat("b", grammar=wick.Grammar.choice(["one"]))) == "one"
    assert "".join(chat("c")) in ("abc", "xyz")
    free = model.chat(max_tokens=9, temperature=0, stop_ids=[])
    assert "".join(free("a", grammar=WORDS)) in ("abc", "xyz")
    assert len("".join(free("b"))) == 9  # held to nothing
    assert [message["role"] for message in free.messages] == ["user", "assistant"] * 2


def test_texts_of_an_engine_have_grammars_of_their_own(folder):  # noqa: F811
    model = wick.load(folder, device="cpu", dtype="f32")
    engine = wick.Engine(model, sequences=3)
    options = {"max_tokens": 9, "temperature": 0, "stop_ids": []}
    texts = [engine.submit("abc", grammar=grammar, **options) for grammar in (WORDS, None, wick.Grammar.choice(["one", "two"]))]
    held, free, other = [text.finish() for text in texts]
    assert held in ("abc", "xyz") and other in ("one", "two") and texts[0].ending == "end"
    assert free == "".join(model.generate("abc", **options))


@pytest.mark.parametrize(("grammar", "constructor"), [
    ("[a-z]+", "gbnf, regex or json_schema"), (PERSON, r"Grammar\.json_schema makes"), (["a"], r"Grammar\.choice makes"), (3, "json_object")])
def test_an_object_that_is_no_grammar_names_the_constructor(folder, grammar, constructor):  # noqa: F811
    model = wick.load(folder, device="cpu")
    chat, engine = model.chat(), wick.Engine(model)
    for use in (lambda: model.generate("abc", grammar=grammar), lambda: model.chat(grammar=grammar), lambda: chat("abc", grammar=grammar),
                lambda: engine.submit("abc", grammar=grammar)):
        with pytest.raises(TypeError, match="grammar: expected a wick.Grammar or None, got .*" + constructor):
            use()


def test_errors_name_the_place():
    for make, kind, text in (
            (lambda: wick.Grammar.gbnf("root ::= other"), ValueError, "other"),
            (lambda: wick.Grammar.regex("(a"), ValueError, "regex"),
            (lambda: wick.Grammar.regex(r"(a)\1"), NotImplementedError, "regex"),
            (lambda: wick.Grammar.choice([]), ValueError, "choice"),
            (lambda: wick.Grammar.json_schema({"properties": {"a": {"not": {}}}}), NotImplementedError, "#/properties/a/not"),
            (lambda: wick.Grammar.json_schema({"type": "text"}), ValueError, "#/type"),
            (lambda: wick.Grammar.json_schema(False), ValueError, "json schema"),
            (lambda: wick.Grammar.json_schema("{"), ValueError, "json schema"),
            (lambda: wick.Grammar.json_schema({"enum": [{1}]}), TypeError, r'json schema\["enum"\]'),
            (lambda: wick.Grammar.json_schema(3), TypeError, "expected a dict, a bool, JSON text, or a class"),
            (lambda: wick.Grammar.json_schema(None), TypeError, "got None")):
        with pytest.raises(kind, match=text):
            make()


def allowed(state):
    """The ids of a mask."""
    return set(np.flatnonzero(np.unpackbits(state.mask().numpy().view(np.uint8), bitorder="little")).tolist())


def test_a_state_masks_the_ids_of_a_session(json_model):
    tokenizer = json_model.tokenizer
    ids = {tokenizer.token(i): i for i in range(48)}
    state = wick.GrammarState(wick.Grammar.regex("a(b|cd)?"), tokenizer, [ids["B"]])
    assert allowed(state) == {ids["a"]} and not state.may_end and state.mask_size >= 48
    assert not state.accept(ids["b"]) and state.accept(ids["a"])
    assert allowed(state) == {ids["b"], ids["c"], ids["B"]} and state.may_end and not state.has_ended
    other = copy.copy(state)
    assert other.accept_text("c") and other.accept_text(b"d") and not other.accept_text("d")
    assert allowed(other) == {ids["B"]} and state.accept(ids["B"]) and state.has_ended
    with pytest.raises(TypeError, match="accept_text: expected a str or bytes"):
        other.accept_text(3)
    session = json_model.session(temperature=1, seed=3, stop_ids=[])
    session.append(json_model.prompt_ids("abc"))
    state = wick.GrammarState(wick.Grammar.json_schema(PERSON), tokenizer)
    text = []
    while not state.has_ended:
        session.set_mask(state.mask()[None])
        text.append(session.step()[0])
        assert state.accept(text[-1])
    assert json.loads(tokenizer.decode(text))["name"] in ("ann", "bob")


def test_a_vocabulary_without_the_bytes_is_an_error(json_model):
    with pytest.raises(NotImplementedError):
        wick.GrammarState(wick.Grammar.choice(["é"]), json_model.tokenizer).mask()
