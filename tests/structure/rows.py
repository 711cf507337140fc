"""Every op has its proof: a row of the conformance tables."""
import json
import pathlib
import re
import subprocess

import ops
import tree

# Makers and views launch no kernel of their own, and users' ops are theirs: a unit test that names them is their proof.
_BY_UNIT_TEST = {
    header: f"tests/unit/ops/{header.removesuffix('.h')}_test.cpp" for header in ("create.h", "shape.h", "arrange.h", "random.h", "custom_op.h")}


def public_ops(root):
    """(header, function) of each op of the manifest that gives a Tensor; aliases are names of the same."""
    for op in json.loads((pathlib.Path(root) / "docs/reference/ops.json").read_text())["ops"]:
        if any(overload["result"] == "Tensor" for overload in op["overloads"]):
            yield op["header"].removeprefix("ops/"), op["name"]


def violations(root, conformance):
    run = subprocess.run([conformance, "--list"], capture_output=True, text=True)
    if run.returncode:
        return [f"{conformance} --list failed: {run.stderr.strip()}"]
    rows = {line.split()[0] for line in run.stdout.splitlines() if line.split()}
    result = [f"{file}: the op {op} has no conformance row" for file, op in ops.records(root) if op not in rows]
    for header, function in public_ops(root):
        if function in rows:
            continue
        unit_test = _BY_UNIT_TEST.get(header)
        if not unit_test:
            result.append(f"include/wick/ops/{header}: {function} has no conformance row")
        elif not (path := pathlib.Path(root) / unit_test).is_file() or not re.search(rf"\b{function}\(", tree.code_of(path.read_text())):
            result.append(f"include/wick/ops/{header}: {function} has neither a conformance row nor a test in {unit_test}")
    return result
