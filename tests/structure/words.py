"""STYLE.md's "Plain English" and "Names", as far as a pattern can tell: words that comments avoid, their width, names of types and constants."""
import re

import comments
import tree

# The folders whose comments are held to the words and, in C++, to the width; in Python docstrings are comments too.
FOLDERS = ("backends/cpu/kernels", "backends/gpu/kernels", "cli", "include/wick", "python", "src/dist", "src/doctor", "src/load", "src/models", "src/serve", "src/text",
           "tests/python", "tests/unit/cli")
COLUMNS = 100

# Each word and the advice. In backquotes, or called, a word is a name of the code; "None" is Python's.
_WORDS = {
    "behind": "write after, past, or the next",
    "what": "name the thing",
    "none": "write that there is no such thing, or the value that says so",
    "those of": "repeat the noun",
    "that of": "repeat the noun",
    "told": "write reported, or raises",
    "so far": "write running, or earlier",
    "by way of": "write through, or with",
}


def _pattern(word):
    """Finds a word or phrase, also at the start of a sentence, and wrapped to the next line of the comment."""
    start = word[0] if word == "none" else f"[{word[0]}{word[0].upper()}]"
    gap = r"(?: +| *\n *(?://[/ ]*|# *)?)"
    return re.compile(r"(?<![`\w])" + start + word[1:].replace(" ", gap) + r"(?![`\w(])")


_PATTERNS = {word: _pattern(word) for word in _WORDS}

# The folders without a name of _NAMES, which says less than it could, and without "behind" in comments.
_NAMED = (*FOLDERS, "backends", "src/base", "src/core", "src/generate", "src/io", "src/ops", "src/scalar", "src/train", "tests/conformance")
_NAMES = {
    re.compile(r"\bkMost(?:[A-Z]\w*)?\b"): "limits are called kMax*",
    re.compile(r"\b(?:struct|class)\s+Place\b"): "say which place: a tile, a line of source, a folder",
}


def _blocks(name, text):
    """(line, text) of every comment; comments of consecutive lines are one, so that a phrase may wrap."""
    first, block = 0, ""
    for line, comment in sorted(comments.comments(name, text)):
        if block and line == first + block.count("\n") + 1:
            block += "\n" + comment
        else:
            if block:
                yield first, block
            first, block = line, comment
    if block:
        yield first, block


def _inside(name, folders):
    return any(str(name).startswith(folder + "/") for folder in folders)


def violations(root):
    result = []
    for name in tree.files(root):
        is_clean, is_named, is_python = _inside(name, FOLDERS), _inside(name, _NAMED), name.suffix == ".py"
        if not (is_clean or is_named) or not (is_python or name.suffix in tree.CPP_ENDINGS):
            continue
        text = tree.read(root, name)
        if text is None:
            continue
        lines = text.splitlines()
        for first, block in _blocks(name, text):
            for word, pattern in _PATTERNS.items():
                for match in pattern.finditer(block) if is_clean or word == "behind" else ():
                    line = first + block.count("\n", 0, match.start())
                    result.append(f"{name}:{line}: the comment says \"{word}\": {_WORDS[word]}")
            if is_clean and not is_python:
                for line in range(first, first + block.count("\n") + 1):
                    if len(lines[line - 1]) > COLUMNS:
                        result.append(f"{name}:{line}: the comment ends in column {len(lines[line - 1])}, expected at most {COLUMNS}")
        if is_named and not is_python:
            code = tree.code_of(text)
            for pattern, advice in _NAMES.items():
                for match in pattern.finditer(code):
                    line = code.count("\n", 0, match.start()) + 1
                    result.append(f"{name}:{line}: the name {match.group().split()[-1]}: {advice}")
    return result
