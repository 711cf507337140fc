#!/usr/bin/env python3
"""Writes a test for each row of the tables whose column of C++ has code, and for each whole program on the pages.

    cpp_cells.py FILE PAGE...      pages of docs
"""
import pathlib
import re
import sys

import pages

COLUMN = "wick, C++"
_NEEDS_CARD = re.compile(r"\bDevice::(cuda|rocm)\(")


def _identifier(text):
    return "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", text))


def _row(row, suite):
    lines = []
    for code in pages.runs(row.cells.get(COLUMN, "")):
        if not pages.is_command(code):
            lines.append(f"    {code}" if code.endswith(";") else f"    (void)({code});")
    if not lines:
        return ""
    body = "\n".join(lines)
    if _NEEDS_CARD.search(body):
        body = f"    expect_here_or_missing([&] {{\n{body}\n    }});"
    return f'TEST_F({suite}, Line{row.line}) {{\n#line {row.line} "docs/{row.page}"\n{body}\n}}\n'


def _program(line, text, page, suite):
    """The program in a namespace of its own; its includes stand before all namespaces."""
    includes = "".join(found + "\n" for found in re.findall(r"^#include .*$", text, re.MULTILINE))
    rest = re.sub(r"^#include .*$", "", text, flags=re.MULTILINE).replace("int main(", "int program(")
    rest = re.sub(r"^using namespace wick;$", "using namespace ::wick;", rest, flags=re.MULTILINE)
    space = f"program_{suite}_{line}"
    return includes, (f'namespace {space} {{\n#line {line} "docs/{page}"\n{rest}}}\n'
                      f"TEST_F({suite}, Program{line}) {{ EXPECT_EQ({space}::program(), 0); }}\n")


def main():
    out, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    includes, tests = "", ""
    for page in names:
        suite = _identifier(page.removesuffix(".md"))
        tests += f"class {suite} : public Page {{}};\n"
        before = len(tests)
        for row in pages.tables(page):
            tests += _row(row, suite)
        for line, language, text in pages.blocks(page):
            if language == "cpp" and re.search(r"^int main\(", text, re.MULTILINE):
                own, program = _program(line, text, page, suite)
                includes += own
                tests += program
        if len(tests) == before:
            sys.exit(f"cpp_cells: docs/{page} has no code in C++")
    out.write_text(f'// Written by tests/docs/cpp_cells.py.\n{includes}#include "page.h"\n\nnamespace wick::test {{\n{tests}}}  // namespace wick::test\n')


main()
