#!/usr/bin/env python3
"""Makes golden_ops.cpp, the calls of golden_ops.h, of the manifest of public ops: golden_ops.py OPS.JSON OUTPUT."""
import json
import pathlib
import re
import sys

# What golden_ops.h reads of a case, and the C++ type that keeps it.
VALUES = {t: t for t in ("bool", "int", "int64_t", "double", "Number", "Dims", "Pair", "Padding1d", "Padding2d", "Padding")}
VALUES |= {"Shape": "Dims", "std::string_view": "std::string", "std::string": "std::string"}


def plain(written):
    """A parameter's type as a value's: const Tensor& is Tensor."""
    return re.sub(r"^const |&+$", "", written)


class Calls:
    def __init__(self, manifest):
        self.types = manifest["types"]
        self.enums = set()

    def value(self, written):
        """The C++ type that keeps a value of this type; None if cases cannot give one."""
        written = plain(written)
        if written in VALUES:
            return VALUES[written]
        if self.types.get(written, {}).get("kind") == "enum":
            self.enums.add(written)
            return written
        if m := re.fullmatch(r"std::(optional|vector)<(.*)>", written):
            inner = self.value(m[2])
            return inner and f"std::{m[1]}<{inner}>"
        return None

    def overload(self, op, overload):
        """The lines of one overload; None if cases cannot call it."""
        steps, arguments, needed, known = [], [], [], []
        parameters = overload["parameters"]
        least = most = 0
        for i, p in enumerate(parameters):
            written, name = plain(p["type"]), p["name"]
            argument, default = f"{name}_", p.get("default")
            arguments.append(argument)
            options = self.types.get(written, {}) if written.endswith("Options") else {}
            if written == "Tensor":
                least, most = least + (default is None), most + 1
                steps.append(f"const Tensor {argument} = a.tensor();")
            elif written in ("std::vector<Tensor>", "std::vector<Index>"):
                rest = sum(plain(q["type"]) == "Tensor" for q in parameters[i + 1:])
                least, most = least + 1, 99
                steps.append(f"const {written} {argument} = a.tensors<{written[12:-1]}>({rest});")
            elif options:
                steps.append(f"{written} {argument}{' = ' + default if default not in (None, '{}') else ''};")
                for field in options["fields"]:
                    if field["type"] == "Tensor":
                        most += 1
                    elif self.value(field["type"]):
                        known.append(field["name"])
                    elif field["type"].startswith("std::optional<"):
                        continue  # cases cannot give it: it stays empty
                    else:
                        return None
                    steps.append(f'a.set("{field["name"]}", {argument}.{field["name"]});')
            elif value := self.value(written):
                (needed if default is None else known).append(name)
                get = f'get<{value}>("{name}")' if default is None else f'get_or<{value}>("{name}", {default})'
                steps.append(f"const {value} {argument} = a.{get};")
            else:
                return None
        if most == 0:
            return None
        result = overload["result"]
        first = self.types.get(result, {}).get("fields", [{}])[0]
        if result != "Tensor" and first.get("type") != "Tensor":
            return None
        member = "" if result == "Tensor" else "." + first["name"]
        names = [", ".join(f'"{n}"' for n in which) for which in (needed, known)]
        return [f"if (a.fit({least}, {most}, {{{names[0]}}}, {{{names[1]}}})) {{", *("  " + s for s in steps),
                f"  return wick::{op}({', '.join(arguments)}){member};", "}"]

    def of(self, op):
        found = [lines for o in op["overloads"] if (lines := self.overload(op["name"], o))]
        if not found:
            return []
        return [f'ops["{op["name"]}"] = [](const std::vector<Tensor>& x, const Settings& o) -> Tensor {{', "  GoldenArguments a(x, o);",
                *("  " + line for lines in found for line in lines),
                f'  fail(ErrorCode::kInvalidArgument, "{op["name"]}", "no overload takes the case\'s inputs and options");', "};"]

    def names(self, enum):
        snake = lambda name: re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("k")).lower()
        rows = [f'        {{"{snake(v["name"])}", {enum}::{v["name"]}}},' for v in self.types[enum]["values"]]
        return ["template <>", f"struct GoldenNames<{enum}> {{", f"  static std::map<std::string, {enum}> all() {{", "    return {", *rows,
                "    };", "  }", "};"]


manifest = json.loads(pathlib.Path(sys.argv[1]).read_text())
calls = Calls(manifest)
body = [line for op in manifest["ops"] for line in calls.of(op)]
names = [line for enum in sorted(calls.enums) for line in calls.names(enum)]
pathlib.Path(sys.argv[2]).write_text("\n".join([
    "// Made by golden_ops.py of docs/reference/ops.json.", '#include "golden_ops.h"', "", "namespace wick::test {", "", *names, "",
    "const std::map<std::string, GoldenOp>& golden_ops() {", "  static const std::map<std::string, GoldenOp> all = [] {",
    "    std::map<std::string, GoldenOp> ops;", *("    " + line for line in body), "    return ops;", "  }();", "  return all;", "}", "",
    "}  // namespace wick::test", ""]))
