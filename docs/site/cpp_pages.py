#!/usr/bin/env python3
"""Writes a page for each public header, in which Breathe puts the declarations that Doxygen has read.

    cpp_pages.py OUT      a folder
"""
import pathlib
import re
import sys

import doc_text

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_INCLUDE = _ROOT / "include"
# In the order in which a user meets them; the names are README.md's and ARCHITECTURE.md's.
_FOLDERS = {
    "core": "Tensors and devices", "ops": "Ops", "nn": "Layers and optimizers", "load": "Loading and converting models", "generate": "Generating text",
    "serve": "The server", "text": "Tokenizers, templates and grammars", "models": "Models", "train": "Training runs", "media": "Images",
    "io": "Files", "hub": "The HuggingFace hub", "doctor": "Diagnosing GPUs", "base": "Errors, settings, threads", "abi": "The interface to backends",
}


def _intro(header):
    """The comment with which a header begins."""
    lines = []
    for line in header.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^//[/!]? ?", "", line))
    if not lines:
        sys.exit(f"cpp_pages: {header.relative_to(_ROOT)} begins with no comment")
    return "\n".join(lines)


def _titled(text, mark="="):
    return f"{text}\n{mark * len(text)}\n\n"


def _page(header):
    name = header.relative_to(_INCLUDE).as_posix()
    title = header.relative_to(_INCLUDE / "wick").as_posix()
    return (f"{_titled(title)}{doc_text.converted(_intro(header), doc_text.Rst)}\n\n``#include <{name}>``\n\n.. doxygenfile:: {name}\n"
            "   :sections: briefdescription detaileddescription innernamespace innerclass func enum typedef var define public-func public-attrib "
            "public-static-func public-static-attrib public-type\n")


def main():
    out = pathlib.Path(sys.argv[1])
    found = sorted(path.name for path in (_INCLUDE / "wick").iterdir() if path.is_dir())
    titles = _FOLDERS | {folder: folder.capitalize() for folder in found if folder not in _FOLDERS}
    index = _titled("C++ reference") + ("``#include <wick/wick.h>`` has all of it but the interface to backends; in CMake ``find_package(wick)`` and "
                                        "``wick::wick``.\n\n.. toctree::\n   :maxdepth: 1\n\n")
    for folder, title in titles.items():
        headers = sorted((_INCLUDE / "wick" / folder).rglob("*.h"))
        listed, names = "", ""
        for header in headers:
            page = header.relative_to(_INCLUDE / "wick" / folder).with_suffix("").as_posix()
            sentence = re.match(r".*?\.(?= |$)|.*", " ".join(_intro(header).split())).group()
            listed += f"- :doc:`{page}.h <{page}>`: {doc_text.inline(sentence, doc_text.Rst)}\n"
            names += f"   {page}\n"
            path = out / folder / f"{page}.rst"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_page(header), encoding="utf-8")
        (out / folder / "index.rst").write_text(f"{_titled(title)}``include/wick/{folder}``\n\n{listed}\n.. toctree::\n   :hidden:\n   :titlesonly:\n\n{names}",
                                                encoding="utf-8")
        index += f"   {folder}/index\n"
    (out / "index.rst").write_text(index, encoding="utf-8")


main()
