"""CHANGELOG.md begins with the version that CMakeLists.txt has, and is in the form of Keep a Changelog."""
import pathlib
import re

_HOME, _PAGE = "CMakeLists.txt", "CHANGELOG.md"
_PROJECT = re.compile(r"^project\(wick VERSION (\d+\.\d+\.\d+) ", re.MULTILINE)
_RELEASE = re.compile(r"\[(\d+\.\d+\.\d+)\] - (Unreleased|\d{4}-\d{2}-\d{2})")
_KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def violations(root):
    home, page = pathlib.Path(root) / _HOME, pathlib.Path(root) / _PAGE
    project = _PROJECT.search(home.read_text()) if home.is_file() else None
    if not project:
        return [f"{_HOME}: no project(wick VERSION a.b.c ...)"]
    if not page.is_file():
        return [f"no {_PAGE}"]
    result, releases = [], []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("## "):
            release = _RELEASE.fullmatch(line[3:])
            if not release:
                result.append(f'{_PAGE}:{number}: "{line}", expected "## [1.2.3] - Unreleased" or a date in its place')
                continue
            releases.append(tuple(int(part) for part in release[1].split(".")))
            if release[2] == "Unreleased" and len(releases) > 1:
                result.append(f"{_PAGE}:{number}: a version below another one is released")
        elif line.startswith("### ") and line[4:] not in _KINDS:
            result.append(f'{_PAGE}:{number}: "{line}", expected one of {", ".join(_KINDS)}')
    written = ".".join(str(part) for part in releases[0]) if releases else "no version"
    if written != project[1]:
        result.append(f"{_PAGE}: begins with {written}, {_HOME} has {project[1]}")
    if releases != sorted(set(releases), reverse=True):
        result.append(f"{_PAGE}: the versions do not fall from top to bottom")
    return result
