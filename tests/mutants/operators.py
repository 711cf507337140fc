"""The operators: each yields (begin, end, text) of what it would put in place of code[begin:end]."""
import re

import cpp

OPERATORS = {}
_LEAVES = ("return", "continue", "break", "throw")


def operator(name):
    def add(function):
        OPERATORS[name] = function
        return function
    return add


def _put(code, i, text):
    return code.tokens[i].start, code.tokens[i].end, text


def _cut_after(code, i, last):
    """Cuts from the end of token i to that of token last."""
    return code.tokens[i].end, code.tokens[last].end, ""


def _source(code, first, last):
    return code.text[code.tokens[first].start:code.tokens[last].end]


def _remove_statement(code, first, semicolon):
    begin, end = code.tokens[first].start, code.tokens[semicolon].end
    if "\n" not in code.text[begin:end]:
        yield begin, end, ";"
    elif code[semicolon + 1] != "else":
        yield begin, begin, "if (false) "


def _bounds(code):
    """The comparisons in the headers of for loops."""
    for _, opened, closed in code.headers("for"):
        inside = code.within(opened)
        semicolons = [i for i in inside if code[i] == ";"]
        if len(semicolons) == 2:
            yield from (i for i in inside if semicolons[0] < i < semicolons[1] and code[i] in ("<", "<=", ">", ">="))


@operator("off by one")
def _(code):
    for i in range(len(code.tokens)):
        if code[i] in ("+", "-") and code[i + 1] == "1" and code.is_binary(i):
            yield _cut_after(code, i - 1, i + 1)
    for i in _bounds(code):
        yield _put(code, i, {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[code[i]])


@operator("other comparison")
def _(code):
    others = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
    bounds = set(_bounds(code))
    for i in range(len(code.tokens)):
        if code[i] in others and code.is_binary(i) and i not in bounds:
            yield _put(code, i, others[code[i]])


_CHECK = re.compile(r"check(_\w+)?")


@operator("dropped guard")
def _(code):
    for i, opened, closed in code.headers("if"):
        body = closed + 2 if code[closed + 1] == "{" else closed + 1
        if code[body] not in _LEAVES and not code[body].startswith("fail"):
            continue
        end = code.partner.get(closed + 1) if code[closed + 1] == "{" else code.statement_end(body)
        if end is not None and code[end + 1] != "else":
            yield code.tokens[i].start, code.tokens[i].start, "if (false) "
            yield code.tokens[opened].end, code.tokens[closed].start, "true"
    for first, semicolon in code.statements():
        if _CHECK.fullmatch(code[first]) and code[first + 1] == "(":
            yield from _remove_statement(code, first, semicolon)


@operator("swapped operands")
def _(code):
    for i in range(1, len(code.tokens)):
        if code[i] in ("-", "/") and code.is_binary(i):
            begin, end = code.primary_begin(i - 1), code.primary_end(i + 1)
            if end is not None and code[i + 1] != "1":
                swapped = f"{_source(code, i + 1, end)} {code[i]} {_source(code, begin, i - 1)}"
                yield code.tokens[begin].start, code.tokens[end].end, swapped
        if code[i] == "(" and i in code.partner and code.kind(i - 1) == "name" and code[i - 1] not in cpp.KEYWORDS:
            yield from _swapped_arguments(code, i)


def _swapped_arguments(code, opened):
    """Neighbours of a call that are both the name of something, or a member's: a, x.b, p->c."""
    commas = [opened, *(i for i in code.within(opened) if code[i] == ","), code.partner[opened]]
    arguments = [(a + 1, b - 1) for a, b in zip(commas, commas[1:])]
    for (a, a_end), (b, b_end) in zip(arguments, arguments[1:]):
        first, second = (_source(code, x, y) if x <= y else "" for x, y in ((a, a_end), (b, b_end)))
        if first != second and all(re.fullmatch(r"[a-z]\w*((\.|->)[a-z]\w*)*", x) for x in (first, second)) and \
                not {first, second} & {"true", "false", "nullptr", "this", *cpp.KEYWORDS}:
            yield code.tokens[a].start, code.tokens[b_end].end, f"{second}, {first}"


@operator("other arithmetic")
def _(code):
    others = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}
    assignments = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
    for i in range(1, len(code.tokens)):
        if code[i] in others and code.is_binary(i) and "text" not in (code.kind(i - 1), code.kind(i + 1)):
            yield _put(code, i, others[code[i]])
        elif code[i] in assignments and code.kind(i + 1) != "text":
            yield _put(code, i, assignments[code[i]])
        elif code[i] in ("<<", ">>") and code.kind(i - 1) == "number" and code.is_binary(i):
            yield _put(code, i, {"<<": ">>", ">>": "<<"}[code[i]])
        elif code[i] == "-" and code.adjacent(i) and code.kind(i + 1) == "name" and not code.is_operand_end(i - 1):
            yield _put(code, i, "")


@operator("lost term")
def _(code):
    for i in range(1, len(code.tokens)):
        if code[i] in ("+", "-") and code.is_binary(i) and code[i + 1] != "1":
            end = code.term_end(i + 1)
            if end is not None:
                yield _cut_after(code, i - 1, end)
            if code[i] == "+":
                begin = code.primary_begin(i - 1)
                if not (code[begin - 1] in ("*", "/", "%") and code.is_binary(begin - 1)):
                    yield code.tokens[begin].start, code.tokens[i + 1].start, ""


@operator("wrong dtype")
def _(code):
    dtypes = {"kF32": "kF64", "kF64": "kF32", "kF16": "kBF16", "kBF16": "kF16", "kI64": "kI32", "kI32": "kI64", "kU8": "kI8",
              "kI8": "kU8", "kBool": "kU8"}
    types = {"int64": "int32", "int64_t": "int32_t", "uint64": "uint32", "uint64_t": "uint32_t", "double": "float"}
    for i in range(len(code.tokens)):
        if code[i] in dtypes and code[i - 1] == "::" and code[i - 2] == "DType":
            yield _put(code, i, dtypes[code[i]])
        elif code[i] in types and code[i - 1] not in ("::", "<"):
            converts = code[i + 1] == "(" and code.adjacent(i) and code[i + 2] != ")"
            declares = code.kind(i + 1) == "name" and code[i + 2] in ("=", "{") and code[code.around[i]] in ("{", "(")
            if converts or declares:
                yield _put(code, i, types[code[i]])


@operator("missing barrier")
def _(code):
    for first, semicolon in code.statements():
        if code[semicolon - 1] == ")":
            called = code[code.partner[semicolon - 1] - 1]
            if re.fullmatch(r"(sync|barrier|fence|synchronize)(_\w+)?", called):
                yield from _remove_statement(code, first, semicolon)


@operator("wrong stride")
def _(code):
    for i in range(len(code.tokens)):
        if code.kind(i) != "name":
            continue
        strides, sizes = "stride" in code[i].lower(), re.fullmatch(r"\w*(shape|sizes|dims)_?", code[i])
        opened = i + 1
        if strides and code[opened] == "(" and code[opened + 1] == ")":
            continue
        if (strides or sizes) and code[opened] in ("[", "(") and code.adjacent(i) and code[opened - 1] != "]":
            if code.kind(opened + 1) == "number" and code[opened + 2] in ("]", ")"):
                yield _put(code, opened + 1, "0" if code[opened + 1] != "0" else "1")
            elif strides and code[opened] == "[" and opened in code.partner and opened + 1 < code.partner[opened]:
                closed = code.partner[opened]
                yield code.tokens[closed].start, code.tokens[closed].start, " + 1"
        if strides:
            begin, end = code.primary_begin(i), i
            while code[end + 1] == "[" and end + 1 in code.partner:
                end = code.partner[end + 1]
            if code[end + 1] not in ("(", ".", "->") and any(code[j] == "*" and code.is_binary(j) for j in (begin - 1, end + 1)):
                yield code.tokens[begin].start, code.tokens[end].end, "1"


@operator("and/or")
def _(code):
    for i in range(1, len(code.tokens)):
        if code[i] in ("&&", "||") and code.is_binary(i):
            yield _put(code, i, {"&&": "||", "||": "&&"}[code[i]])


@operator("negated condition")
def _(code):
    for _, opened, closed in code.headers("if", "while"):
        inside = code.within(opened)
        if any(code[i] in (";", "=") for i in inside):
            continue  # it declares something
        begin, end = opened + 1, closed - 1
        if code[begin] == "!" and code.primary_end(begin) == end:
            yield _put(code, begin, "")
        else:
            yield code.tokens[begin].start, code.tokens[end].end, f"!({_source(code, begin, end)})"


@operator("min/max")
def _(code):
    for i in range(2, len(code.tokens)):
        if code[i] in ("min", "max") and code[i - 1] == "::" and code[i - 2] == "std":
            yield _put(code, i, {"min": "max", "max": "min"}[code[i]])


@operator("deleted statement")
def _(code):
    for first, semicolon in code.statements():
        yield from _remove_statement(code, first, semicolon)


@operator("other constant")
def _(code):
    for i in range(len(code.tokens)):
        text = code[i]
        if code.kind(i) != "number" or code[i - 1] == "<" and code.adjacent(i - 1) or code[i + 1] == ">" and code.adjacent(i):
            continue
        if text == "0":
            yield _put(code, i, "1")
        elif text == "1":
            yield _put(code, i, "0")
            yield _put(code, i, "2")
        elif re.fullmatch(r"[1-9][0-9]*", text):
            yield _put(code, i, str(int(text) + 1))
        elif re.fullmatch(r"[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?f?", text):
            suffix = "f" if text.endswith("f") else ""
            value = float(text.removesuffix("f"))
            yield _put(code, i, repr(2 * value if value else 1.0) + suffix)


@operator("true/false")
def _(code):
    for i in range(len(code.tokens)):
        if code[i] in ("true", "false") and code.kind(i) == "name":
            yield _put(code, i, {"true": "false", "false": "true"}[code[i]])
