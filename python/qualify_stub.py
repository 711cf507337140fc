#!/usr/bin/env python3
"""Writes builtins.float for float in the annotations of a stub: wick.float and Tensor.float have the name too.

    qualify_stub.py _wick.pyi
"""
import pathlib
import re
import sys

NAMES = re.compile(r"(?:(?<=[:>|,] )|(?<=\[))(bool|float|int)\b")


def qualified(stub):
    lines = [NAMES.sub(r"builtins.\1", line) if re.match(r" *def ", line) else line for line in stub.splitlines(keepends=True)]
    return "".join(lines) if "import builtins\n" in lines else "import builtins\n" + "".join(lines)


def main():
    path = pathlib.Path(sys.argv[1])
    path.write_text(qualified(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
