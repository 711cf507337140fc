"""Grammars of JSON Schemas that hypothesis makes up, held to jsonschema in both directions.

Texts of the grammar: documents by random walks over the masks of a vocabulary are valid by jsonschema, numbers compared as decimals.
Values of the schema: documents that hypothesis-jsonschema draws are texts of the grammar, written as it asks for: compact, properties in
the order of the schema, numbers without exponent and rounded to six decimals, if the schema still allows them. Left out are documents
with numbers of more than 19 digits before the point, strings that end with a newline, before which Python's "$" matches, and objects that
reach "minProperties" only by several names that the schema does not have.

WICK_TEST_DOCUMENTS=10000 sets the number of documents in each direction, and `pytest -s` prints the counts.
"""
import collections
import copy
import decimal
import json
import os
import random
import re
import warnings

import numpy as np
import pytest

import wick

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
hypothesis_jsonschema = pytest.importorskip("hypothesis_jsonschema", reason="hypothesis-jsonschema is not installed")
st = hypothesis.strategies

DOCUMENTS = int(os.environ.get("WICK_TEST_DOCUMENTS", "200"))
PER_SCHEMA = 5
MAX_TOKENS = 5000
SETTINGS = {"deadline": None, "database": None, "suppress_health_check": list(hypothesis.HealthCheck)}
FORMATS = ["date", "time", "date-time", "duration", "uuid", "email", "hostname", "ipv4", "ipv6", "uri"]
PATTERNS = ["^[a-c]{1,3}$", "^x", "y$", "[0-9]", "^(ab|cd)*$", "^[^a]b?$", "a.?b?"]
NAMES = ["a", "b", "c", "long name", "ü", 'q"']


# Schemas of the keywords that wick serves.
def bounds(of, names):
    """Some of the keywords, with values in order."""
    return st.tuples(st.lists(of, min_size=2, max_size=2).map(sorted), st.lists(st.sampled_from([0, 1]), unique=True, max_size=2)).map(
        lambda drawn: {names[i]: drawn[0][i] for i in sorted(drawn[1])})


small = st.integers(0, 4)
values = st.one_of(st.none(), st.booleans(), st.integers(-1000, 1000), st.decimals(-9, 9, places=2).map(float),
                   st.text(st.characters(codec="utf-8"), max_size=4), st.lists(st.integers(0, 9), max_size=2),
                   st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), max_size=2))
lows = st.sampled_from(["minimum", "exclusiveMinimum"])
highs = st.sampled_from(["maximum", "exclusiveMaximum"])


def numbers(kind, of):
    return st.tuples(lows, highs).flatmap(lambda names: bounds(of, names)).map(lambda b: {"type": kind, **b})


scalars = st.one_of(
    st.sampled_from([True, {}, {"type": "null"}, {"type": "boolean"}, {"type": ["integer", "null"]}, {"type": "number"}]),
    numbers("integer", st.integers(-10**9, 10**9)), numbers("integer", st.integers(-20, 20)),
    numbers("number", st.decimals(-100, 100, places=3).map(float)), numbers("number", st.integers(-5, 5)),
    bounds(small, ["minLength", "maxLength"]).map(lambda b: {"type": "string", **b}),
    st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.sampled_from(FORMATS).map(lambda name: {"type": "string", "format": name}),
    st.lists(values, min_size=1, max_size=4).map(lambda items: {"enum": items}), values.map(lambda value: {"const": value}))


def arrays(inner):
    return st.fixed_dictionaries({"type": st.just("array")}, optional={
        "items": inner, "prefixItems": st.lists(inner, min_size=1, max_size=2)}).flatmap(
            lambda schema: bounds(small, ["minItems", "maxItems"]).map(lambda b: {**schema, **b}))


@st.composite
def objects(draw, inner):
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    schema = {"type": "object", "properties": {name: draw(inner) for name in names}}
    required = draw(st.lists(st.sampled_from(names + ["other"]), unique=True, max_size=3))
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.one_of(st.just(False), inner))
    if draw(st.integers(0, 3)) == 0:
        schema["patternProperties"] = {draw(st.sampled_from(["^n[0-9]$", "^z"])): draw(inner)}
    if draw(st.integers(0, 5)) == 0:
        schema["propertyNames"] = {"maxLength": 9}
    if draw(st.integers(0, 5)) == 0:
        schema.update(draw(bounds(small, ["minProperties", "maxProperties"])))
    return schema


def joined(inner):
    disjoint = st.tuples(numbers("integer", st.integers(-99, 99)), arrays(inner), objects(inner), st.sampled_from(PATTERNS).map(
        lambda pattern: {"type": "string", "pattern": pattern}))
    return st.one_of(st.lists(inner, min_size=1, max_size=3).map(lambda list: {"anyOf": list}), disjoint.map(lambda list: {"oneOf": [*list]}),
                     st.tuples(numbers("integer", st.integers(-99, 99)), numbers("number", st.integers(-99, 99))).map(lambda list: {"allOf": [*list]}))


trees = st.recursive(scalars, lambda inner: st.one_of(arrays(inner), objects(inner), joined(inner)), max_leaves=6)


@st.composite
def schemas(draw):
    schema = draw(st.one_of(objects(trees), trees))
    kind = draw(st.integers(0, 7))
    if kind == 0:  # a value that has a name
        return {"$defs": {"x": schema}, "type": "array", "items": {"$ref": "#/$defs/x"}, "maxItems": 2}
    if kind == 1:  # a list of nodes
        node = {"type": "object", "properties": {"value": schema, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["next"], "additionalProperties": False}
        return {"$defs": {"node": node}, "$ref": "#/$defs/node"}
    return schema


# Documents of a grammar.
@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """All bytes, and tokens of several that begin and end in the middle of JSON's parts and of characters."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}
    vocabulary = {names[byte]: byte for byte in range(256)}
    merges = []
    for token in ['{"', '":', '": ', '","', '"}', '"],', "]}", "}}", "tru", "true", "null", "12", "-1", '":"', 'a":', "ab", "é", '"é', "\n    ", "2024-", "::"]:
        left, *rest = [names[byte] for byte in token.encode()]
        for right in rest:
            if left + right not in vocabulary:
                merges.append(f"{left} {right}")
                vocabulary[left + right] = len(vocabulary)
            left += right
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "tokenizer.json").write_text(json.dumps({
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}, "decoder": {"type": "ByteLevel"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "added_tokens": [{"id": len(vocabulary), "content": "<end>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False}]}))
    return wick.load_tokenizer(folder)


class Walks:
    """Random texts of a grammar. Along the text, tokens that close a string, list or object become likelier, and those that open one rarer."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.end = tokenizer.id_of("<end>")
        self.texts = [tokenizer.decode([i]) for i in range(self.end)] + [""]
        self.weight = np.array([1 if text.isascii() else 0.2 for text in self.texts])
        self.inside = np.array([float(text.startswith('"')) for text in self.texts])
        self.outside = np.array([-1.0 if text.startswith(("{", "[")) else float(text[-1:] in "}]") for text in self.texts])  # the end closes too

    def document(self, grammar, seed):
        """A text; None if it did not end in time."""
        generator = random.Random(seed)
        state, ids, in_string, escaped = wick.GrammarState(grammar, self.tokenizer, [self.end]), [], False, False
        while len(ids) < MAX_TOKENS:
            allowed = np.flatnonzero(np.unpackbits(state.mask().numpy().view(np.uint8), bitorder="little"))
            power = (self.inside if in_string else self.outside)[allowed]
            weights = self.weight[allowed] * (2 + len(ids) ** 2 / 50) ** power
            token = generator.choices(allowed.tolist(), weights.tolist())[0]
            assert state.accept(token)
            if token == self.end:
                return self.tokenizer.decode(ids)
            ids.append(token)
            for character in self.texts[token]:
                in_string ^= character == '"' and not escaped
                escaped = character == "\\" and not escaped
        return None


def exact(text):
    return json.loads(text, parse_float=decimal.Decimal)


def validator(schema):
    """Compares numbers as decimals, as they are written."""
    return jsonschema.Draft202012Validator(exact(json.dumps(schema)), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def grammar_of(schema, counts):
    """The grammar, or the error for a schema that has no value or is not supported."""
    counts["schemas"] += 1
    try:
        return wick.Grammar.json_schema(schema)
    except NotImplementedError as error:
        counts["schemas that wick does not support"] += 1
        return error
    except ValueError as error:
        assert "no text" in str(error) or "no value" in str(error), error
        counts["schemas without a value"] += 1
        return error


def run(property_of, counts, other):
    """Runs the property in rounds, the same ones each time, until there are enough documents."""
    examples, rounds = max(20, DOCUMENTS // PER_SCHEMA // 10), 0
    while counts["documents"] < DOCUMENTS:
        given = hypothesis.given(schemas(), other)(lambda schema, drawn: property_of(schema, drawn))
        hypothesis.settings(max_examples=examples, **SETTINGS)(hypothesis.seed(rounds)(given))()
        rounds += 1
        assert rounds < 100, counts
    print(f"\n{property_of.__name__}:", ", ".join(f"{count} {name}" for name, count in counts.items()))


def test_texts_of_the_grammar_are_values_of_the_schema(tokenizer):
    counts, walks = collections.Counter(), Walks(tokenizer)

    def texts_are_valid(schema, seed):
        grammar = grammar_of(schema, counts)
        if isinstance(grammar, Exception):
            return
        check = validator(schema)
        for i in range(PER_SCHEMA):
            text = walks.document(grammar, seed + i)
            if text is None:
                counts["documents that did not end in time"] += 1
                continue
            hypothesis.note(text)
            check.validate(exact(text))
            assert grammar.matches(text)
            counts["documents"] += 1

    run(texts_are_valid, counts, st.integers(0, 2**32))
    assert counts["documents that did not end in time"] <= DOCUMENTS // 100
    assert counts["schemas that wick does not support"] <= counts["schemas"] // 10


# Documents of a schema.
class NotCompared(Exception):
    """The grammar has no spelling of the document."""


def rounded(value):
    if isinstance(value, float):
        return round(value, 6) + 0.0  # -0.0 becomes 0.0
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {name: rounded(item) for name, item in value.items()} if isinstance(value, dict) else value


def written_number(number):
    text = format(decimal.Decimal(repr(number)), "f")
    if len(text.lstrip("-").partition(".")[0]) > 19:
        raise NotCompared("digits")
    return text


def branch_of(value, schema, root):
    """The schema without references and alternatives, of which it takes the first that the value satisfies."""
    while isinstance(schema, dict):
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
            continue
        key = next((key for key in ("anyOf", "oneOf") if key in schema), None)
        if key is None:
            return schema
        schema = next(one for one in schema[key] if validator({**one, "$defs": root.get("$defs", {})} if isinstance(one, dict) else one).is_valid(
            exact(json.dumps(value))))
    return {}


def written(value, schema, root):
    """The document as the grammar spells it. Errors: NotCompared."""
    schema = branch_of(value, schema, root)
    if "enum" in schema or "const" in schema:  # as the schema has it
        choices = schema.get("enum", [schema.get("const")])
        value = next(choice for choice in choices if not isinstance(choice, bool) ^ isinstance(value, bool) and choice == value)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str):
        if value.endswith("\n"):
            raise NotCompared("a newline at the end")
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return written_number(value)
    if isinstance(value, list):
        prefix = schema.get("prefixItems", [])
        return "[" + ",".join(written(item, prefix[i] if i < len(prefix) else schema.get("items", {}), root) for i, item in enumerate(value)) + "]"
    if isinstance(value, dict):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        order = [*properties, *(name for name in required if name not in properties)]
        names = sorted(value, key=lambda name: order.index(name) if name in order else len(order))

        def of(name):
            if name in properties:
                return properties[name]
            for pattern, inner in schema.get("patternProperties", {}).items():
                if re.search(pattern, name):
                    return inner
            return schema.get("additionalProperties", {})

        if any(name.endswith("\n") for name in names):
            raise NotCompared("a newline at the end")
        known = sum(name in order for name in names)
        if known + min(1, len(names) - known) < schema.get("minProperties", 0):
            raise NotCompared("several names that the schema does not have")
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{written(value[name], of(name), root)}" for name in names) + "}"
    return json.dumps(value)


def test_values_of_the_schema_are_texts_of_the_grammar():
    if not hasattr(hypothesis.internal.conjecture.utils.many, "more"):
        pytest.skip("hypothesis-jsonschema draws no objects with this hypothesis; hypothesis 6.170.8 is one that it works with")
    counts = collections.Counter()

    def values_are_texts(schema, data):
        grammar = grammar_of(schema, counts)
        if isinstance(grammar, NotImplementedError):
            return
        check = validator(schema)
        for _ in range(PER_SCHEMA):
            try:
                drawn = hypothesis_jsonschema.from_schema(copy.deepcopy(schema))  # which it sorts
                if drawn.is_empty:
                    return
                value = rounded(data.draw(drawn))
            except hypothesis_jsonschema._canonicalise.HypothesisRefResolutionError:
                counts["schemas that hypothesis-jsonschema does not support"] += 1
                return
            if not check.is_valid(exact(json.dumps(value))):  # by prefixItems, which hypothesis-jsonschema does not know, or rounded
                counts["documents that are not valid"] += 1
                continue
            try:
                text = written(value, schema, schema)
            except NotCompared:
                counts["documents that are not compared"] += 1
                continue
            hypothesis.note(text)
            assert not isinstance(grammar, ValueError), grammar
            assert grammar.matches(text)
            counts["documents"] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of patterns and long representations
        run(values_are_texts, counts, st.data())
    assert counts["documents that are not compared"] <= counts["documents"]
