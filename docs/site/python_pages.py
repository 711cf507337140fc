#!/usr/bin/env python3
"""Writes the pages of the Python package from its type stub and its sources, without importing it.

    python_pages.py STUB OUT      _wick.pyi of a build, a folder
"""
import ast
import copy
import json
import pathlib
import re
import sys

import doc_text

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PACKAGE = _ROOT / "python/wick"

# The pages of classes and functions that are no ops; the others are on the page of the ops.
_PAGES = {
    "tensors": ("Tensors and devices", [
        "DType", "Device", "Tensor", "Var", "tensor", "from_dlpack", "devices", "rocm_is_available", "rocm_device_count", "cuda_is_available",
        "cuda_device_count", "manual_seed", "no_grad", "set_matmul_precision", "matmul_precision", "set_deterministic", "deterministic",
        "set_round_activations", "round_activations", "set_printoptions"]),
    "kernels": ("Kernels, streams and graphs", [
        "Function", "elementwise_kernel", "ElementwiseKernel", "compile_kernel", "CompiledKernel", "KernelModule", "KernelFunction", "Stream",
        "Event", "Graph"]),
    "language": ("Language models", [
        "load", "LanguageModel", "Chat", "Session", "KvCache", "Engine", "EngineText", "serve", "Server", "Grammar", "GrammarState",
        "load_tokenizer", "Tokenizer", "TokenStream", "StopStrings", "download"]),
    "images": ("Images", ["read_image", "ImageProcessor", "load_image_text", "ImageTextModel", "late_interaction"]),
    "files": ("Files and quantized weights", ["load_safetensors", "save_safetensors", "load_gguf", "QTensor", "QMatMul"]),
}
_MODULES = {"nn": ["nn.py", "module.py"], "optim": ["optim.py"], "functional": ["functional.py"]}


class _Source:
    """The functions, by name with all overloads, and the classes of a file."""

    def __init__(self, path):
        self.functions, self.classes, self.constants = {}, {}, {}
        self.doc = ast.get_docstring(tree := ast.parse(path.read_text(encoding="utf-8")))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
                self.constants[node.target.id] = node.value.value


_constants = {}  # of the stub, which stand for themselves in signatures


def _plain(text):
    """An annotation or a default value as users write it."""
    text = re.sub(r"\b_wick\.(_\w+)", lambda match: repr(_constants.get(match[1], match[1])), text)
    text = re.sub(r"\b(?:builtins|wick|_wick|types|collections\.abc|typing)\.(?=[A-Za-z])", "", text)
    return text.replace("EllipsisType", "ellipsis")


def _signature(name, node, method):
    arguments = copy.deepcopy(node.args)
    if method and not _decorated(node, "staticmethod"):
        (arguments.posonlyargs or arguments.args)[:1] = []
    result = f" -> {_plain(ast.unparse(node.returns))}" if node.returns and name != "__init__" else ""
    return f"{name}({_plain(ast.unparse(arguments)).removeprefix('/, ').removeprefix('/')}){result}"


def _decorated(node, name):
    return any(isinstance(d, ast.Name) and d.id == name or isinstance(d, ast.Attribute) and d.attr == name for d in node.decorator_list)


def _overloads(name, nodes, method=False):
    """The signatures without those that differ from an earlier one only in NumPy's names of keywords, and the first text."""
    seen, signatures, text = set(), [], ""
    for node in nodes:
        text = text or ast.get_docstring(node) or ""
        signature = _signature(name, node, method)
        key = re.sub(r"\b(?:axis|axes|dims)\b", "dim", signature).replace("keepdims", "keepdim")
        if key not in seen:
            seen.add(key)
            signatures.append(signature)
    return signatures, text


def _directive(kind, signatures, text, options=(), body=""):
    head = f".. py:{kind}:: "
    lines = [head + signatures[0], *(" " * len(head) + signature for signature in signatures[1:])]
    lines += [f"   {option}" for option in options]
    content = "\n\n".join(part for part in (doc_text.converted(text, doc_text.Rst), body) if part)
    return "\n".join(lines) + "\n\n" + "".join(f"   {line}".rstrip() + "\n" for line in content.splitlines()) + "\n"


def _function(name, nodes, kind="function"):
    return _directive(kind, *_overloads(name, nodes))


def _members(node, functions=()):
    """The attributes and methods of a class. Methods that are ops stand in one line."""
    methods, attributes, values, ops = {}, [], [], []
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name == "__call__"):
            if _decorated(item, "property"):
                kind = _plain(ast.unparse(item.returns)) if item.returns else ""
                attributes.append(_directive("attribute", [item.name], ast.get_docstring(item) or "", [f":type: {kind}"] if kind else []))
            elif not _decorated(item, "setter"):
                methods.setdefault(item.name, []).append(item)
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant):
            values += [target.id for target in item.targets if isinstance(target, ast.Name)]
    body = ("Values: " + ", ".join(f"``{value}``" for value in values) + "\n\n") if values else ""
    body += "".join(attributes)
    for name, nodes in methods.items():
        if name in functions and not any(ast.get_docstring(n) for n in nodes):
            ops.append(name)
        else:
            options = [":staticmethod:"] if _decorated(nodes[0], "staticmethod") else [":classmethod:"] if _decorated(nodes[0], "classmethod") else []
            body += _directive("method", *_overloads(name, nodes, method=True), options)
    if ops:
        body += "Ops that are methods too: " + ", ".join(f":py:func:`{name}`" for name in sorted(ops)) + ".\n"
    return body


def _class(name, node, stub, functions=()):
    """A class, with the members of its private base in the stub."""
    inits = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    body = _members(node, functions)
    public = []
    for base in node.bases:
        text = ast.unparse(base)
        if text.startswith("_wick._"):
            body += _members(stub.classes[text.removeprefix("_wick.")])
        elif text not in ("enum.Enum", "object") and not text.startswith("Protocol"):
            public.append(_plain(text))
    private = name in ("LanguageModel", "Chat", "Engine", "EngineText", "ImageTextModel", "Server")  # made by functions and methods
    signatures = [name] if private or not inits else [signature.replace("__init__", name, 1) for signature in _overloads("__init__", inits, True)[0]]
    text = ast.get_docstring(node) or ""
    made = next((ast.get_docstring(init) for init in inits if ast.get_docstring(init)), "") if not private else ""
    if public:
        text += ("\n\n" if text else "") + f"A {', '.join(public)}."
    return _directive("class", signatures, text + ("\n\n" if text and made else "") + made, body=body)


def _titled(text, mark="="):
    return f"{text}\n{mark * len(text)}\n\n"


def _package():
    """{public name: source} of what python/wick/__init__.py takes from the files beside it, and its own functions."""
    init = ast.parse((_PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = {}
    for node in init.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and node.module != "_wick":
            source = _Source(_PACKAGE / f"{node.module}.py")
            found |= {alias.asname: source for alias in node.names if alias.asname == alias.name}
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = _Source(_PACKAGE / "__init__.py")
    return found


def main():
    stub, out = _Source(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    _constants.update(stub.constants)
    sources = _package()
    functions = {name for name in stub.functions if not name.startswith("_")}
    classes = {name for name in stub.classes if not name.startswith("_")}
    left = {name for name in functions | classes | set(sources)}

    def entry(name):
        source = sources.get(name, stub)
        if name not in left:
            sys.exit(f"python_pages: wick has no {name}, or two pages have it")
        left.discard(name)
        if name in source.classes:
            return _class(name, source.classes[name], stub, functions)
        return _function(name, source.functions[name])

    module = ".. py:currentmodule:: wick\n\n"
    pages = {page: _titled(title) + module + "".join(map(entry, names)) for page, (title, names) in _PAGES.items()}

    ops = json.loads((_ROOT / "docs/reference/ops.json").read_text(encoding="utf-8"))
    headers = {}
    for op in ops["ops"]:
        names = [op["name"], *op.get("aliases", [])]
        headers.setdefault(op["header"], []).extend(name for name in names if name in left and name in functions)
    text = _titled("Ops") + module
    for header, names in headers.items():
        if names:
            text += _titled(header.removeprefix("ops/").removeprefix("core/").removesuffix(".h").replace("_", " ").capitalize(), "-") + "".join(map(entry, dict.fromkeys(names)))
    others = sorted(name for name in left if name in functions)
    text += _titled("Others", "-") + "".join(map(entry, others))
    pages["ops"] = text
    if left:
        pages["others"] = _titled("Others") + module + "".join(map(entry, sorted(left)))

    for name, files in _MODULES.items():
        text = _titled(f"wick.{name}") + f".. py:module:: wick.{name}\n\n"
        for index, source in enumerate(_Source(_PACKAGE / file) for file in files):
            if index == 0 and source.doc:
                text += doc_text.converted(source.doc, doc_text.Rst) + "\n\n"
            text += "".join(_class(n, node, stub) for n, node in source.classes.items() if not n.startswith("_"))
            text += "".join(_function(n, nodes) for n, nodes in source.functions.items() if not n.startswith("_"))
        pages[name] = text

    init = _Source(_PACKAGE / "__init__.py")
    order = ["tensors", "ops", "nn", "optim", "functional", "kernels", "language", "images", "files", *(["others"] if "others" in pages else [])]
    index = _titled("Python reference") + ".. py:module:: wick\n\n" + doc_text.converted(init.doc, doc_text.Rst) + "\n\n"
    index += "``wick.array_api`` has the functions of the Python array API standard.\n\n"
    index += ".. toctree::\n   :titlesonly:\n\n" + "".join(f"   {page}\n" for page in order)
    for page, text in {**pages, "index": index}.items():
        (out / f"{page}.rst").write_text(text, encoding="utf-8")


main()
