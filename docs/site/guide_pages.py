#!/usr/bin/env python3
"""Copies the pages in Markdown that README.md and docs lead to, and the files that they link, and writes the start page.

    guide_pages.py OUT      a folder, in which the paths are those of the repository; README.md is the start page, `index`
"""
import pathlib
import posixpath
import re
import shutil
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "tests/structure"))
import docs  # noqa: E402  reads links
import tree  # noqa: E402

# The menu: (title, pages). A name that ends with / stands for all other pages of the folder. Pages that are reached only by links come last.
_MENU = [
    ("Use wick", ["docs/how-to/install.md", "docs/how-to/run-a-model.md", "docs/how-to/models.md", "docs/how-to/serve.md", "docs/how-to/python.md",
                  "docs/how-to/run-on-amd.md", "docs/how-to/more-than-a-card.md", "docs/how-to/several-cards.md",
                  "docs/how-to/convert-a-model.md", "docs/how-to/train-and-generate.md", "docs/from-pytorch.md", "docs/from-llama.cpp.md",
                  "docs/from-candle.md"]),
    ("Reference", ["reference/python/index.rst", "reference/cpp/index.rst", "docs/reference/"]),
    ("Extend wick", ["docs/how-to/"]),
    ("The project", ["CHANGELOG.md", "docs/speed.md", "docs/proof/", "docs/attention-and-products.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md",
                     "SECURITY.md", "docs/decisions/README.md", "docs/README.md"]),
    ("Decisions", ["docs/decisions/"]),
    ("Folders of the source", ["/"]),
]


def _target(page, link, names):
    """The path of a file or a folder's README that a link inside the repository leads to; None for another link."""
    path = link.partition("#")[0]
    if not path or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return None
    where = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    readme = "README.md" if where == "." else f"{where}/README.md"
    return where if where in names else readme if readme in names else None


def _reached(names):
    """The pages that README.md leads to, by links, with all of docs."""
    found, queue = set(), ["README.md", *(name for name in names if name.startswith("docs/") and name.endswith(".md"))]
    while queue:
        page = queue.pop()
        if page in found:
            continue
        found.add(page)
        for _, link in docs.links(tree.read(_ROOT, page)):
            target = _target(page, link, names)
            if target and target.endswith(".md"):
                queue.append(target)
    return found


def _on_the_site(page, text, names, pages):
    """The page with its links to folders, to README.md and to files as the site has them, and the files to copy."""
    files = set()
    here = posixpath.dirname(page)

    def changed(match):
        target = _target(page, match[2], names)
        if target is None:
            where = posixpath.normpath(posixpath.join(here, match[2].partition("#")[0]))
            is_folder = not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|#", match[2]) and (_ROOT / where).is_dir()
            return f"`{where}`" if is_folder else match.group()  # a folder without a page
        if target.endswith(".md") and target in pages:
            place = "index.md" if target == "README.md" else target
        else:
            files.add(target)
            place = target
        anchor = match[2].partition("#")[2]
        return f"{match[1]}]({posixpath.relpath(place, here or '.')}{'#' + anchor if anchor else ''})"

    # Code keeps its text: marks stand for it meanwhile.
    code = []

    def marked(match):
        code.append(match.group())
        return f"\0{len(code) - 1}\0"

    text = re.sub(r"^( *)```.*?^ *```[ \t]*$|(`+)(?!`).*?(?<!`)\2(?!`)", marked, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(\[(?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", changed, text)
    return re.sub(r"\0(\d+)\0", lambda match: code[int(match[1])], text), files


def _menu(pages):
    """The tables of contents of the start page."""
    left = set(pages) - {"README.md"}
    named = {name for _, entries in _MENU for name in entries if not name.endswith("/")}
    text = ""
    for title, entries in _MENU:
        listed = []
        for entry in entries:
            if entry.endswith("/"):
                listed += sorted(page for page in left - named if page.startswith(entry.lstrip("/")))
            elif entry.startswith("reference/") or entry in left:
                listed.append(entry)
            else:
                sys.exit(f"guide_pages: the menu has {entry}, which is no page")
            left -= set(listed)
        if listed:
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n\n" + "".join(f"{page}\n" for page in listed) + "```\n"
    return text


def main():
    out = pathlib.Path(sys.argv[1])
    names = {str(name) for name in tree.files(_ROOT)}
    pages = _reached(names)
    for page in sorted(pages):
        text, files = _on_the_site(page, tree.read(_ROOT, page), names, pages)
        if page == "README.md":
            text += _menu(pages)
        path = out / ("index.md" if page == "README.md" else page)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for file in files:
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_ROOT / file, out / file)
    print(f"pages: {len(pages)}")


main()
