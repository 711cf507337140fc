"""Every environment variable that wick reads has a line in docs/reference/environment.md, and every line is read."""
import pathlib
import re

import tree

_PAGE = "docs/reference/environment.md"
_TEXT = re.compile(r'"(WICK_[A-Z0-9_]+)"')
# A name at the start of a table's row.
_LINES = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


def violations(root):
    read = {}
    for name in tree.cpp_files(root):
        if str(name).startswith(("src/", "backends/", "cli/")):
            for variable in _TEXT.findall(tree.without_comments(tree.read(root, name) or "")):
                read.setdefault(variable, name)
    page = pathlib.Path(root) / _PAGE
    text = page.read_text() if page.is_file() else ""
    listed = {variable for cell in _LINES.findall(text) for variable in re.findall(r"WICK_\w+", cell)}
    result = [f"{name}: reads {variable}, which {_PAGE} does not have" for variable, name in sorted(read.items()) if variable not in listed]
    return result + [f"{_PAGE}: has {variable}, which nothing reads" for variable in sorted(listed - set(read))]
