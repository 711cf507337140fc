#!/usr/bin/env python3
"""Doxygen's filter of headers: FILE with its doc comments in Markdown, on standard output.

Private members are left out. A comment after a member documents it too. The text of a member group becomes that of each member, since Breathe would put the groups of
all headers on each page.
"""
import pathlib
import re
import sys

import doc_text

_COMMENT = re.compile(r"^([ \t]*)///[ \t]?(.*)$")
_MARK = re.compile(r"@(name\b|[{}])")
# A comment after a member or an enumerator, and its next lines.
_TRAILING = re.compile(r"^(\s*[\w:<>,&*\[\]{}()=.+\- \"'/]*[\w)}\]\"'][;,]?)(\s+)//(?![/!]) ?(?!NOLINT)(.*)$")
_CONTINUED = re.compile(r"^(\s{12,})//(?![/!]) ?(.*)$")
_DECLARATION = re.compile(r"^\s*(?:WICK_API|inline|template|static|virtual|[A-Z]\w* \w+\()")
# Sphinx's parser of C++ lacks texts in several pieces and default values with designators; Doxygen takes two functions for one
# that differ only in the concept of a template's parameter, unless it is a requires clause.
_PIECES = re.compile(r'"\s*\n\s*"')
_CONCEPT = re.compile(r"template <(std::\w+) (\w+)>")
_DESIGNATED = re.compile(r" = (\{\s*\.[^{};]*\});")


class _Filter:
    def __init__(self):
        self.out, self.block, self.indent = [], [], ""
        self.group, self.state = [], None  # None, "text" after @name, "members" after @{

    def end_block(self):
        """Writes the comment that has been read, if there is one."""
        if self.state == "text":
            self.group += self.block
        elif self.block:
            lines = [*self.block, *(["", *self.group] if self.state == "members" else [])]
            self.out += [f"{self.indent}/// {line}".rstrip() for line in doc_text.converted("\n".join(lines)).splitlines()]
        self.block = []

    def mark(self, text):
        self.end_block()
        if text.startswith("@name"):
            self.group, self.state = [], "text"
        else:
            self.state = "members" if text.startswith("@{") else None

    def code(self, line):
        had_comment = bool(self.block)
        self.end_block()
        begins = _DECLARATION.match(line) and (not self.out or self.out[-1].rstrip().endswith((";", "}")) or not self.out[-1].strip())
        if self.state == "members" and begins and not had_comment:
            self.indent, self.block = line[:len(line) - len(line.lstrip())], self.group
            self.state = None  # the group's text once
            self.end_block()
            self.state = "members"
        trailing, continued = _TRAILING.match(line), _CONTINUED.match(line)
        if trailing and not trailing[1].lstrip().startswith(("#", "}", "namespace")):
            line = f"{trailing[1]}{trailing[2]}///< {doc_text.inline(trailing[3])}"
        elif continued and self.out and "///<" in self.out[-1]:
            line = f"{continued[1]}///< {doc_text.inline(continued[2])}"
        self.out.append(line)


def without_private_members(text):
    """The text without the lines from `private:` to the next access specifier or the end of the class, by clang-format's indentation."""
    out, end = [], None
    for line in text.splitlines():
        if end and re.match(end, line):
            end = None
        if private := re.match(r"( *) private:$", line):
            end = rf"{private[1]}(?:\}}| (?:public|protected):$)"
        if end is None:
            out.append(line)
    return "\n".join(out)


def filtered(text):
    text = without_private_members(text)
    text = _PIECES.sub("", text)
    text = _CONCEPT.sub(r"template <class \2> requires \1<\2>", text)
    text = _DESIGNATED.sub(lambda match: f";  // {' '.join(match[1].split())}", text)
    state = _Filter()
    for line in text.splitlines():
        comment = _COMMENT.match(line)
        if comment and _MARK.match(comment[2]):
            state.mark(comment[2])
        elif comment:
            state.indent = comment[1]
            state.block.append(comment[2])
        else:
            state.code(line)
    state.end_block()
    return "\n".join(state.out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(filtered(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
