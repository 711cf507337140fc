"""The records of ops (wick/abi/op.h): where each is, and that no two share a name or an id."""
import pathlib
import re

import tree

_RECORD = re.compile(r'\b(?:constexpr\s+Op\s+\w+\s*\{|WICK_FORMULA\(\s*\w+,)\s*"([^"]*)"')


def records(root):
    """(file, name) of every op: in abi/ops/<family>.h, or with its formula: in a struct, or a line of WICK_FORMULA."""
    root = pathlib.Path(root)
    for header in sorted((root / "include/wick/abi/ops").glob("*.h")) + sorted((root / "src/scalar").glob("*.h")):
        for name in _RECORD.findall(tree.without_comments(header.read_text())):
            yield str(header.relative_to(root)), name


def id_of(name):
    """What hash_text of wick/abi/op.h makes of a name: FNV-1a of 64 bits."""
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return h


def violations(root, id_of=id_of):
    first, result = {}, []
    for file, name in records(root):
        known = first.setdefault(id_of(name), (file, name))
        if known != (file, name):
            result.append(f"{file}: the op {name} has the id of {known[1]} ({known[0]})")
        elif not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            result.append(f"{file}: the op's name is \"{name}\", expected small letters, digits and _")
    seen = set()
    for entry in records(root):
        if entry in seen:
            result.append(f"{entry[0]}: the op {entry[1]} has two records")
        seen.add(entry)
    return result if seen else ["include/wick/abi/ops, src/scalar: no records of ops"]
