"""The files of a source tree, and what stands in a C++ file beside comments and texts."""
import pathlib
import re
import subprocess

CPP_ENDINGS = {".h", ".hpp", ".inc", ".cpp", ".cc", ".c", ".cu", ".hip"}


def files(root):
    """Paths relative to root, sorted: what git tracks or would, or everything but builds where root is no checkout."""
    root = pathlib.Path(root)
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True) if (root / ".git").exists() else None
    if listed and listed.returncode == 0:
        names = {pathlib.PurePosixPath(name) for name in listed.stdout.split("\0") if name}
        return sorted(name for name in names if (root / name).is_file())
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(pathlib.PurePosixPath(path) for path in found if not str(path).startswith(("build", ".git/")))


def cpp_files(root):
    return [name for name in files(root) if name.suffix in CPP_ENDINGS]


def read(root, name):
    """The text of a file; None if it is not text."""
    content = (pathlib.Path(root) / name).read_bytes()
    return None if b"\0" in content else content.decode("utf-8", errors="replace")


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
# In the order in which a compiler would take them: whichever begins first hides the others.
_NOT_CODE = re.compile(
    r'//(?:[^\\\n]|\\.|\\\n)*'                       # comment to the end of the line
    r'|/\*.*?\*/'                                    # comment
    r'|R"([^()\\\s]{0,16})\(.*?\)\1"'                # raw text
    r'|"(?:[^"\\\n]|\\.|\\\n)*"'                     # text
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'",         # character; after a digit it separates thousands
    re.DOTALL)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """The text with comments and literals blanked; lines keep their numbers."""
    return _NOT_CODE.sub(_blank, text)


def without_comments(text):
    """The text with comments blanked alone."""
    return _NOT_CODE.sub(lambda m: _blank(m) if m.group().startswith(("//", "/*")) else m.group(), text)


def comments(text):
    """(line, text) of every comment."""
    for match in _NOT_CODE.finditer(text):
        if match.group().startswith(("//", "/*")):
            yield text.count("\n", 0, match.start()) + 1, match.group()


def includes(text):
    """(line, file, whether it stands in quotes) of every #include that is not in a comment."""
    for match in _INCLUDE.finditer(without_comments(text)):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match.group(1) or match.group(2), match.group(1) is not None
