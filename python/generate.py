#!/usr/bin/env python3
"""Writes the bindings of all ops from docs/reference/ops.json, at build time.

    generate.py ops.json FOLDER     writes a header, one C++ file for the module and PARTS files with bindings
    generate.py ops.json            prints the ops that cannot be bound, and why
"""
import json
import keyword
import pathlib
import re
import sys

# The bindings are shared out among this many files, which compile side by side.
PARTS = 8

# Habits of other libraries: their names of wick's parameters. Each makes further overloads of every function that has such a
# parameter.
SPELLINGS = {
    "PyTorch": {"dims": "dim"},
    "NumPy": {"dims": "axis", "dim": "axis", "keepdim": "keepdims"},
}

# Names of functions in other libraries, beside the aliases that C++ has.
MORE_NAMES = {"reshape": ["view"], "cat": ["concat", "concatenate"], "clamp": ["clip"]}

# Functions whose list of tensors may also be given tensor by tensor, as in einsum("i,i", a, b).
SEPARATE_TENSORS = {"einsum", "meshgrid"}

# The exceptions that wick's errors are in Python.
EXCEPTIONS = {
    "ValueError": ["kInvalidArgument", "kShapeMismatch", "kDeviceMismatch", "kFormat"],
    "TypeError": ["kDTypeMismatch"],
    "IndexError": ["kOutOfRange"],
    "NotImplementedError": ["kUnsupported"],
    "MemoryError": ["kOutOfMemory"],
    "OSError": ["kIo"],
    "RuntimeError": ["kModuleMissing", "kRuntimeMissing", "kDeviceMissing", "kRocm", "kCuda", "kKernelNotFound",
                     "kKernelModuleNotLoaded", "kKernelError", "kModifiedInPlace", "kNoGradient"],
}
EXCEPTION_OF = {code: exception for exception, codes in EXCEPTIONS.items() for code in codes}

# Functions whose first parameter has one of these names are methods of Tensor too, and these functions. `target` is a Var.
RECEIVERS = {"x", "a", "target"}
MORE_METHODS = {"backward"}

# Not bound, since Python has another way to do the same or the C++ type has no counterpart.
NOT_BOUND = {
    "apply": "takes a C++ template's pack of operands",
    "apply_": "takes a C++ template's pack of operands",
    "custom_op": "wick.Function is its form in Python",
    "with_gradient": "wick.Function is its form in Python",
    "arange": "src/spellings.cpp binds it, with end and step that may be missing",
    "print_options": "returns a C++ struct of options",
}

DEVICE_OPTION = {"name": "device", "type": "Device", "default": "Device::cpu()"}
TENSOR_OPTIONS = [{"name": "dtype", "type": "DType", "default": "DType::kF32"}, DEVICE_OPTION]
COUNT_OPTIONS = [{"name": "dtype", "type": "std::optional<DType>", "default": "{}"}, DEVICE_OPTION]
# C++ types that the casters of src/casters.h and nanobind convert, or that src/kernels.cpp binds.
CONVERTED = {
    "Tensor", "Var", "Number", "DType", "Device", "Dims", "Shape", "Slice", "Index", "Padding1d", "Padding2d", "bool", "int",
    "int64_t", "double", "std::string", "std::string_view", "void", "FormulaKernel", "CompiledKernel",
}


class Unbindable(Exception):
    """Why a function cannot be bound."""


def plain(cpp_type):
    """The type without const and reference."""
    return re.sub(r"^const |&$", "", cpp_type)


class Manifest:
    """The functions and types of ops.json, and which types are bound how."""

    def __init__(self, path):
        content = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.functions = content["ops"] + content["functions"]
        self.types = content["types"]
        self.types["TensorOptions"] = {"kind": "struct", "fields": TENSOR_OPTIONS}
        self.types["CountOptions"] = {"kind": "struct", "fields": COUNT_OPTIONS}
        self.enums, self.tuples = set(), set()
        self.enumerators = {v["name"] for t in self.types.values() for v in t.get("values", [])}

    def is_options(self, cpp_type):
        return cpp_type.endswith("Options") or cpp_type == "RopeScaling"

    def require(self, cpp_type):
        """Notes that the type is used; raises Unbindable if nothing converts it."""
        cpp_type = plain(cpp_type)
        inner = re.fullmatch(r"std::(?:optional|vector|array)<(.*?)(?:, \d+)?>", cpp_type)
        known = self.types.get(cpp_type, {})
        if inner:
            self.require(inner[1])
        elif cpp_type in CONVERTED:
            pass
        elif known.get("kind") == "enum":
            self.enums.add(cpp_type)
        elif known.get("kind") == "struct" and not self.is_options(cpp_type):
            self.tuples.add(cpp_type)
            for field in known["fields"]:
                self.require(field["type"])
        else:
            raise Unbindable(f"nothing converts {cpp_type}")


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def argument_type(cpp_type, enums):
    """The C++ type that holds an argument as Python gives it."""
    if cpp_type in enums:
        return f"EnumArgument<{cpp_type}>"
    return {"Device": "DeviceArgument", "DType": "DTypeArgument",
            "std::optional<DType>": "std::optional<DTypeArgument>"}.get(cpp_type, cpp_type)


class Argument:
    """A parameter in Python: one of C++, or a field of one that is a struct of options."""

    def __init__(self, name, cpp_type, default, enums=frozenset()):
        self.name, self.default = name, default
        self.type = argument_type(plain(cpp_type), enums)
        self.is_named = self.type != plain(cpp_type) and self.type != "DeviceArgument"  # its value is looked up by name

    @property
    def declaration(self):
        by_value = self.type in {"bool", "int", "int64_t", "double", "Number", "std::string_view"}
        if self.type in {"Var", "Target"}:
            return f"{self.type}{'&' if self.type == 'Var' else ''} {self.name}"
        return f"{self.type} {self.name}" if by_value else f"const {self.type}& {self.name}"

    def annotation(self, spelling):
        """nb::arg(...), with the default."""
        text = f'nb::arg("{python_name(spelling.get(self.name, self.name))}")'
        if self.default is None:
            return text
        if self.type == "Tensor" or self.type.startswith("std::optional"):
            return text + " = nb::none()"
        return f"{text} = {self.type}({self.default})" if self.is_named or self.type == "DeviceArgument" else f"{text} = {self.default}"

    def value(self, op):
        """The C++ expression of the argument that an op gets."""
        return f'value_of({self.name}, "{op}", "{python_name(self.name)}")' if self.is_named else self.name


def arguments_of(op, parameter, manifest):
    """The Python parameters of a C++ parameter, and the C++ expression that makes it of them."""
    cpp_type, default = plain(parameter["type"]), parameter.get("default")
    if manifest.is_options(cpp_type):
        struct = cpp_type + (default or "{}")
        fields = [f for f in manifest.types[cpp_type]["fields"]]
        for field in fields:
            manifest.require(field["type"])
        arguments = [Argument(f["name"], f["type"], f"{struct}.{f['name']}", manifest.enums) for f in fields]
        return arguments, f"{cpp_type}{{" + ", ".join(f".{a.name} = {a.value(op)}" for a in arguments) + "}"
    manifest.require(cpp_type)
    if default is not None and not default.startswith(cpp_type + "::"):
        default = cpp_type + (default if default.startswith("{") else f"({default})")
    argument = Argument(parameter["name"], cpp_type, default, manifest.enums)
    return [argument], argument.value(op)


def declarations(arguments):
    return ", ".join(a.declaration for a in arguments)


def separate_sizes(overload, arguments):
    """The argument whose ints may also be given one by one, as in reshape(x, 2, 3): sizes or dims, alone or before options, at
    the beginning or after a tensor. None if no argument is like that."""
    kinds = [plain(p["type"]) for p in overload["parameters"]]
    at = 1 if kinds[:1] == ["Tensor"] else 0
    last = kinds[at:at + 1] in (["Dims"], ["Shape"]) and all(kind.endswith("Options") for kind in kinds[at + 1:at + 2])
    return arguments[at] if last and "default" not in overload["parameters"][at] else None


def docstring(overload, manifest):
    """The comment of C++ with the names that its errors and enumerators have in Python."""
    group = overload.get("group", {})
    paragraphs = [overload.get("doc", "")] + ([group["doc"]] if group.get("doc") else [])

    def name(match):
        code = match[0]
        if code in EXCEPTION_OF:
            return EXCEPTION_OF[code]
        return f'"{snake(code)}"' if code in manifest.enumerators else code.removeprefix("k").lower()

    text = re.sub(r"\bk[A-Z][A-Za-z0-9]*\b", name, "\n\n".join(p for p in paragraphs if p))
    text = re.sub(r"\w+Error(?:,\s\w+Error)+", lambda m: ", ".join(dict.fromkeys(re.split(r",\s", m[0]))), text)
    return re.sub(r"(\w+)\.size\(\)", r"len(\1)", text.replace("an empty Tensor()", "None"))


def bind_overload(name, overload, manifest):
    """The C++ statement that binds an overload in each spelling."""
    manifest.require(overload["result"])
    arguments, expressions = [], []
    for parameter in overload["parameters"]:
        more, expression = arguments_of(name, parameter, manifest)
        arguments += more
        expressions.append(expression)
    names = [a.name for a in arguments]
    if len(set(names)) != len(names):
        raise Unbindable("two options have the same name")
    result = f"wick::{name}({', '.join(expressions)})"
    if overload["result"] in manifest.enums:  # its name in Python
        result = f"{argument_type(overload['result'], manifest.enums)}({result})"
    body = f"return {result};"
    if arguments and arguments[0].type == "Var" and overload["result"] == "void":
        arguments[0].type = "Target"
        expressions[0] += ".var"
        body = f"wick::{name}({', '.join(expressions)}); return {arguments[0].name};"
    lines = [f"  {{\n    const auto f = []({declarations(arguments)}) {{ {body} }};"]
    bound = set()
    for spelling in [{}, *SPELLINGS.values()]:
        annotations = "".join(", " + a.annotation(spelling) for a in arguments)
        if annotations in bound:
            continue
        doc = f', R"doc({docstring(overload, manifest)})doc"' if not bound else ', ""'
        bound.add(annotations)
        lines.append(f'    m.def("{name}", f, WithoutGil(){annotations}{doc});')
    sizes = separate_sizes(overload, arguments)
    if sizes:
        passed = ", ".join("sizes" if a is sizes else a.name for a in arguments)
        signature = declarations(arguments).replace(sizes.declaration, f"const nb::args& {sizes.name}")
        annotations = "".join(", " + a.annotation({}) for a in arguments)
        lines.append(f"    const auto g = [f]({signature}) {{ const {sizes.type} sizes = Dims(separate<std::vector<int64_t>>({sizes.name})); "
                     f"const ReleasedGil others_run; return f({passed}); }};")
        lines.append(f'    m.def("{name}", g{annotations}, "");')
    tensors = [a for a in arguments if a.type == "std::vector<Tensor>"] if name in SEPARATE_TENSORS else []
    for list_of in tensors:
        signature = declarations(arguments).replace(list_of.declaration, f"const nb::args& {list_of.name}")
        passed = ", ".join("tensors" if a is list_of else a.name for a in arguments)
        annotations = "".join(", " + a.annotation({}) for a in arguments)
        lines.append(f"    const auto h = [f]({signature}) {{ const auto tensors = separate<std::vector<Tensor>>({list_of.name}); "
                     f"const ReleasedGil others_run; return f({passed}); }};")
        lines.append(f'    m.def("{name}", h{annotations}, "");')
    return "\n".join(lines) + "\n  }\n"


def bind_function(function, manifest):
    """Binds all overloads, and makes the function a method if its first parameter says so."""
    name = function["name"]
    if name in NOT_BOUND:
        raise Unbindable(NOT_BOUND[name])
    text = "".join(bind_overload(name, overload, manifest) for overload in function["overloads"])
    aliases = "".join(f'  m.attr("{alias}") = m.attr("{name}");\n' for alias in aliases_of(function))
    first = (function["overloads"][0]["parameters"] or [{"name": "", "type": ""}])[0]
    methods = ""
    if first["name"] in RECEIVERS and plain(first["type"]) in {"Tensor", "Var"} or name in MORE_METHODS:
        receiver = plain(first["type"])
        methods = "".join(f'  add_method(m.attr("{receiver}"), "{n}", m.attr("{name}"));\n' for n in [name, *aliases_of(function)])
    return text + aliases + methods


def aliases_of(function):
    """An alias whose parameters are others than the op's, as rope_i has, is no second name of it."""
    own = [] if function["name"] == "rope" else function.get("aliases", [])
    return own + MORE_NAMES.get(function["name"], [])


def snake(enumerator):
    """kAlignCorners: align_corners"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enumerator[1:]).lower()


def header(manifest):
    """ops.h: how enumerations and structs are converted."""
    text = '#pragma once\n#include "casters.h"\n\nnamespace wick::python {\n\n'
    for name in sorted(manifest.enums):
        pairs = ", ".join(f'{{"{snake(v["name"])}", {name}::{v["name"]}}}' for v in manifest.types[name]["values"])
        literal = ", ".join(f"'{snake(v['name'])}'" for v in manifest.types[name]["values"])
        text += (f"template <>\nstruct Names<{name}> {{\n  static constexpr std::pair<std::string_view, {name}> kNames[] = {{{pairs}}};\n"
                 f'  static constexpr auto kType = nb::detail::const_name("typing.Literal[{literal}]");\n}};\n')
    for name in sorted(manifest.tuples):
        members = ", ".join(f"&{name}::{f['name']}" for f in manifest.types[name]["fields"])
        text += f"template <>\nstruct Fields<{name}> {{\n  static constexpr auto kMembers = std::make_tuple({members});\n}};\n"
    text += "\n}  // namespace wick::python\n\nnamespace nanobind::detail {\n\n"
    for name in sorted(manifest.tuples):
        text += f"template <>\nstruct type_caster<wick::{name}> : TupleCaster<wick::{name}> {{}};\n"
    return text + "\n}  // namespace nanobind::detail\n"


def exceptions():
    """The header with the exceptions of errors. The compiler finds codes that EXCEPTIONS lacks."""
    cases = "".join(f"    case ErrorCode::{code}:\n      return PyExc_{exception};\n" for code, exception in EXCEPTION_OF.items())
    return ('#pragma once\n#include <Python.h>\n\n#include "wick/base/error.h"\n\nnamespace wick::python {\n\n'
            f"inline PyObject* exception_of(ErrorCode code) {{\n  switch (code) {{\n{cases}  }}\n  return PyExc_RuntimeError;\n}}\n\n"
            "}  // namespace wick::python\n")


def main_file(manifest, results):
    """ops.cpp: the types of results, then all parts."""
    parts = range(PARTS)
    text = '#include "bind.h"\n#include "ops.h"\n\nnamespace wick::python {\n\n'
    text += "".join(f"void bind_ops_{i}(nb::module_& m);\n" for i in parts)
    text += "\nvoid bind_ops(nb::module_& m) {\n  const nb::object namedtuple = nb::module_::import_(\"collections\").attr(\"namedtuple\");\n"
    for name in sorted(results):
        fields = " ".join(f["name"] for f in manifest.types[name]["fields"])
        text += f'  m.attr("{name}") = namedtuple("{name}", "{fields}");\n'
        text += f'  named_tuple<{name}> = m.attr("{name}").ptr();\n'
    text += "".join(f"  bind_ops_{i}(m);\n" for i in parts)
    return text + "}\n\n}  // namespace wick::python\n"


def generate(path):
    """The files' texts by name, and by name the reasons why an op cannot be bound."""
    manifest = Manifest(path)
    bound, unbound = [], {}
    for function in manifest.functions:
        try:
            bound.append(bind_function(function, manifest))
        except Unbindable as reason:
            unbound[function["name"]] = str(reason)
    results = {o["result"] for f in manifest.functions for o in f["overloads"]} & manifest.tuples
    files = {"exceptions.h": exceptions(), "ops.h": header(manifest), "ops.cpp": main_file(manifest, results)}
    for i in range(PARTS):
        body = "".join(bound[i::PARTS])
        files[f"ops_{i}.cpp"] = (f'#include "ops.h"\n\nnamespace wick::python {{\n\nvoid bind_ops_{i}(nb::module_& m) {{\n{body}}}\n\n'
                                 "}  // namespace wick::python\n")
    return files, unbound, len(bound)


def main():
    files, unbound, bound = generate(sys.argv[1])
    for folder in sys.argv[2:]:
        for name, text in files.items():
            file = pathlib.Path(folder, name)
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
    for name, reason in sorted(unbound.items()):
        print(f"{name}: {reason}")
    print(f"{bound} functions bound, {len(unbound)} not")


if __name__ == "__main__":
    main()
