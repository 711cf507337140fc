"""Pages in Markdown: links inside the repository, and blocks of code.

A link leads to a file or folder of the repository, and its anchor to a heading as GitHub names it. Blocks of Python compile, blocks of
JSON parse. A whole program in C++ is on a page whose programs a test compiles.
"""
import ast
import json
import pathlib
import posixpath
import re
import unicodedata
import urllib.parse

import tree

# Pages whose programs in C++ are compiled: README.md by tests/unit/cli, the pages of this list by tests/docs.
_COMPILED_BY = "tests/docs/CMakeLists.txt"
_COMPILED = ("README.md",)

_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`)(?:.|\n(?!\n))*?(?<!`)\1(?!`)")
_TARGET = r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)"
_IMAGE = re.compile(r"!\[[^\]]*" + _TARGET)
_LINK = re.compile(r"\[(?:[^\[\]\\]|\\.|\[[^\]]*\])*" + _TARGET)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def _indented_blanked(text):
    """Blocks that are indented by four spaces after an empty line are code."""
    lines, code, empty = [], False, True
    for line in text.split("\n"):
        code = line.startswith("    ") and (code or empty) or code and not line.strip()
        empty = not line.strip()
        lines.append("" if code else line)
    return "\n".join(lines)


def slug(heading, seen):
    """GitHub's anchor of a heading; `seen` counts those of the page before it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    kept = "".join(c for c in text.strip().lower() if c in "-_ " or unicodedata.category(c)[0] in "LNM")
    name = kept.replace(" ", "-")
    count = seen.get(name, 0)
    seen[name] = count + 1
    return f"{name}-{count}" if count else name


def anchors(text):
    seen = {}
    return {slug(heading, seen) for heading in _HEADING.findall(_FENCE.sub(_blank, text))}


def links(text):
    """(line, target) of each link that is not in code."""
    prose = _CODE.sub(_blank, _indented_blanked(_FENCE.sub(_blank, text)))
    for pattern in (_IMAGE, _LINK, _REFERENCE):
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start()) + 1, match[1]
        prose = _IMAGE.sub(_blank, prose)  # an image may be the text of a link


def blocks(text):
    """(line of the first line of code, language, code) of each fenced block, without the indentation of the fence."""
    for match in _FENCE.finditer(text):
        code = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        yield text.count("\n", 0, match.start(3)) + 1, match[2], code


def _link_violation(name, target, pages, names, folders):
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    where = posixpath.normpath(posixpath.join(str(name.parent), path)) if path else str(name)
    if where not in names and where not in folders and where != ".":
        return f"the link {target} leads to {where}, which does not exist"
    if anchor and where in pages and anchor not in pages[where]:
        return f"the link {target} leads to a heading that {where} does not have"
    return None


def _compiled(root):
    listed = pathlib.Path(root) / _COMPILED_BY
    found = re.search(r"^set\(pages ([^)]*)\)", listed.read_text(), re.MULTILINE) if listed.is_file() else None
    return {*_COMPILED, *(f"docs/{page}" for page in (found[1].split() if found else ()))}


def _block_violation(name, line, language, code, compiled):
    if language in ("python", "py"):
        try:
            compile(code, str(name), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return f"{name}:{line + (error.lineno or 1) - 1}: the block of Python does not compile: {error.msg}"
    elif language == "json":
        try:
            json.loads(code)
        except ValueError as error:
            return f"{name}:{line}: the block of JSON does not parse: {error}"
    elif language == "cpp" and re.search(r"^int main\(", code, re.MULTILINE) and str(name) not in compiled:
        return f"{name}:{line}: no test compiles this program; list the page in {_COMPILED_BY}"
    return None


def violations(root):
    every = tree.files(root)
    texts = {name: tree.read(root, name) or "" for name in every if name.suffix == ".md"}
    pages = {str(name): anchors(text) for name, text in texts.items()}
    names = {str(name) for name in every}
    folders = {str(parent) for name in every for parent in name.parents}
    compiled = _compiled(root)
    result = []
    for name, text in texts.items():
        for line, target in links(text):
            wrong = None if _SCHEME.match(target) else _link_violation(name, target, pages, names, folders)
            if wrong:
                result.append(f"{name}:{line}: {wrong}")
        for line, language, code in blocks(text):
            wrong = _block_violation(name, line, language, code, compiled)
            if wrong:
                result.append(wrong)
    return result
