"""Doc comments and docstrings as Markdown for Doxygen, or as reStructuredText for Sphinx.

STYLE.md's form of them is plain text in columns: a line for each parameter, its shape and its dtypes, then paragraphs that begin with
Returns, Errors, Max error and Source. Here a parameter becomes an item of a list, and each of these words a paragraph of its own.
"""
import re

_ENTRY = re.compile(r"^([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*) {2,}(\S.*)$")
_WORDS = re.compile(r"^(Returns|Errors?|Max error|Source|Yields|Raises)(:?)(?= )(?!: as\b)")
_CODE = re.compile(r"(`[^`]+`)")


class Markdown:
    """In which Doxygen sees no marks of HTML and no commands."""

    @staticmethod
    def plain(text):
        text = re.sub(r"([\\*@#%\[\]])", r"\\\1", text)
        text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return re.sub(r"(?<![\w:])Error(?=:(?!:)|$)", "%Error", text)  # the word, not a link to the class

    @staticmethod
    def code(text):
        return f"`{text}`"

    literal_block = ""  # stands before a block of code


class Rst:
    @staticmethod
    def plain(text):
        return re.sub(r"([\\*`|_])", r"\\\1", text)

    @staticmethod
    def code(text):
        return f"``{text}``"

    literal_block = "::\n\n"


def inline(text, markup=Markdown):
    """A line of text with code in backquotes."""
    parts = _CODE.split(text)
    return "".join(markup.code(part[1:-1]) if i % 2 else markup.plain(part.replace("`", "'")) for i, part in enumerate(parts))


def _entry(names, rest, markup):
    """`x` `[..., D]`: f16 or f32"""
    columns = [column for column in re.split(r" {2,}", rest) if column]
    shape = columns.pop(0) if len(columns) > 1 else ""
    text = " ".join(columns)
    if not shape and (match := re.match(r"(\[[^\[\]]*\](?: or \[[^\[\]]*\])*)(?=$|[ ,;:.])", text)):
        shape, text = match[1], text[match.end():].lstrip(" ,;:")
    return f"- {markup.code(names)}" + (f" {markup.code(shape)}" if shape else "") + (f": {inline(text, markup)}" if text else "")


def converted(text, markup=Markdown):
    """A doc comment, without its comment marks, or a docstring, without its indentation."""
    blocks, open_entry, is_code = [], False, False
    for line in text.expandtabs().splitlines():
        stripped = line.strip()
        if not stripped:
            is_code = is_code and bool(blocks) and blocks[-1] != ""
            blocks.append("")
            open_entry = False
            continue
        indent = len(line) - len(line.lstrip())
        before = blocks[-1] if blocks else ""
        entry = _ENTRY.match(line)
        if entry and indent == 0:
            if before and not before.startswith("- "):
                blocks.append("")
            blocks.append(_entry(entry[1], entry[2], markup))
            open_entry, is_code = True, False
        elif indent >= 3 and open_entry:
            blocks[-1] += " " + inline(re.sub(r" {2,}", " ", stripped), markup)
        elif indent >= 2 and not open_entry and (before == "" or before.endswith(":") or is_code):
            if not is_code:
                blocks += [""] if before else []
                blocks.append(markup.literal_block + "    " + line[2:].rstrip())
            else:
                blocks.append("    " + line[2:].rstrip())
            is_code = True
            continue
        else:
            word = _WORDS.match(line)
            if before and (open_entry or word or is_code):
                blocks.append("")
            open_entry = is_code = False
            if word:
                line = f"**{markup.plain(word[1])}**{word[2]}" + inline(line[word.end():], markup)
            else:
                line = inline(line, markup)
            blocks.append("\\" + line if re.match(r"[-+] ", line) else re.sub(r"^(\d+)([.)] )", r"\1\\\2", line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(blocks)).strip()
