"""The code on pages of docs: cells of tables, by the table's columns, and fenced blocks."""
import ast
import contextlib
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Row:
    page: str
    line: int
    section: str
    cells: dict  # by the column's heading

    def __str__(self):
        return f"{self.page}:{self.line}"


def tables(page):
    """The rows of all tables of a page in docs."""
    section, columns, found = "", None, []
    for number, line in enumerate((DOCS / page).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        if columns is None:
            columns = cells
        elif not set(line) <= set("|- :"):
            if len(cells) != len(columns):
                raise ValueError(f"{page}:{number}: {len(cells)} cells, the table has {len(columns)} columns")
            found.append(Row(page, number, section, dict(zip(columns, cells))))
    return found


def codes(cell):
    """The pieces of code in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def runs(cell):
    """The pieces of code that a test runs: those with which a cell begins."""
    return codes(re.match(r"(?:`[^`]+` *)*", cell).group())


def blocks(page):
    """(line of the first line of code, language, code) of each fenced block."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(2)) + 1, match[1], match[2]) for match in _FENCE.finditer(text)]


def is_command(code):
    return code.startswith("wick ")


def run(code, names):
    """The value of an expression of Python; None of statements."""
    try:
        expression = compile(code, "<page>", "eval")
    except SyntaxError:
        exec(code, names)
        return None
    value = eval(expression, names)
    if isinstance(value, contextlib.ContextDecorator) or code.endswith("no_grad()"):
        with value:
            return None
    return value


def dotted_names(code):
    """The names such as torch.cuda.Stream that the code reads, the longest of each."""
    found = []
    for node in ast.walk(ast.parse(code)):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name):
            found.append((node.id, parts[::-1]))
    return found
