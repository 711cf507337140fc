"""Every folder says what it is."""
import pathlib

import tree

# Every folder below these opens with a README of 5 to 15 lines; the others need one, of any length.
_ALL_BELOW = ("src", "backends")
_THESE = ("include/wick", "cli", "python", "examples", "bench", "docs", "scripts")
_CHILDREN_OF = ("tests",)
LINES = range(5, 16)


def violations(root):
    root = pathlib.Path(root)
    folders = {parent for name in tree.files(root) for parent in name.parents}
    result = []
    for folder in sorted(folders):
        top = folder.parts[0] if folder.parts else ""
        below = top in _ALL_BELOW and len(folder.parts) > 1
        if not below and str(folder) not in _THESE and not (top in _CHILDREN_OF and len(folder.parts) == 2):
            continue
        readme = root / folder / "README.md"
        if not readme.is_file():
            result.append(f"{folder}: no README.md (what it is, what it may include, which file to read first)")
        elif below and len(readme.read_text().splitlines()) not in LINES:
            result.append(f"{folder}/README.md: {len(readme.read_text().splitlines())} lines, expected {LINES.start} to {LINES.stop - 1}")
    return result
