#!/usr/bin/env python3
"""Makes refusal_calls.cpp, a call with drawn arguments for each overload of the manifest of public ops: refusal_calls.py OPS.JSON OUTPUT."""
import json
import pathlib
import re
import sys

# What refusal.h draws by itself.
DRAWN = {"bool", "int", "int64_t", "double", "Number", "Dims", "Shape", "Tensor", "Var", "DType", "Device", "Pair", "TensorOptions", "CountOptions", "Index",
         "Padding1d", "Padding2d", "std::string_view"}


def plain(written):
    """A parameter's type as a value's: const Tensor& is Tensor."""
    return re.sub(r"^const |&+$", "", written)


class Calls:
    def __init__(self, manifest):
        self.types = manifest["types"]
        self.made = {}  # a type's name -> the lines that draw one

    def draws(self, written):
        """Whether a value of the type can be drawn; notes how."""
        name = plain(written)
        if m := re.fullmatch(r"std::(optional|vector|array)<(.*?)(?:, \d+)?>", name):
            return self.draws(m[2])
        if name in DRAWN or name in self.made:
            return True
        facts = self.types.get(name)
        if not facts:
            return False
        if facts["kind"] == "enum":
            values = ", ".join(f"{name}::{value['name']}" for value in facts["values"])
            body = [f"return d.one_of<{name}>({{{values}}});"]
        elif all(self.draws(f["type"]) for f in facts["fields"]):
            body = [f"{name} o{{}};", *(f"d.maybe(o.{f['name']});" for f in facts["fields"]), "return o;"]
        else:
            return False
        self.made[name] = ["template <>", f"struct Drawn<{name}> {{", f"  static {name} of(Draw& d) {{", *(f"    {line}" for line in body), "  }",
                           "};"]
        return True

    def of(self, op, overload):
        """The row of one overload; none if its arguments cannot be drawn."""
        parameters = overload["parameters"]
        if not all(self.draws(p["type"]) for p in parameters):
            return []
        lines = []
        for p in parameters:
            kind, default = plain(p["type"]), p.get("default")
            if default is None:
                lines.append(f"auto {p['name']}_ = d.get<{kind}>();")
            else:
                lines += [f"{kind} {p['name']}_ = {default};", f"d.maybe({p['name']}_);"]
        call = f"wick::{op}({', '.join(p['name'] + '_' for p in parameters)});"
        return [f'{{"{op}", [](Draw& d) {{', *("   " + line for line in lines), f"   (void){call}", " }},"]


manifest = json.loads(pathlib.Path(sys.argv[1]).read_text())
calls = Calls(manifest)
rows = [line for op in manifest["ops"] for overload in op["overloads"] for line in calls.of(op["name"], overload)]
pathlib.Path(sys.argv[2]).write_text("\n".join([
    "// Made by refusal_calls.py of docs/reference/ops.json.", '#include "refusal.h"', "", "namespace wick::test {", "",
    *(line for lines in calls.made.values() for line in lines), "", "const std::vector<RefusalCall>& refusal_calls() {",
    "  static const std::vector<RefusalCall> all = {", *("    " + row for row in rows), "  };", "  return all;", "}", "", "}  // namespace wick::test",
    ""]))
