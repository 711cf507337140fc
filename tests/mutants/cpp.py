"""C++ code: its tokens, and what belongs together."""
import bisect
import dataclasses
import re

_DIRECTIVE = re.compile(r"#(?:[^\\\n/]|\\.|/\*.*?\*/|//[^\n]*|/)*", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      |(?P<comment>//(?:[^\\\n]|\\.)*|/\*.*?\*/)
      |(?P<text>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"
               |(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
      |(?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z]|[\w.])*)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<sign><<=|>>=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL)

KEYWORDS = frozenset("""alignas auto break case catch class concept const constexpr continue default delete do else enum explicit
    extern for friend goto if inline mutable namespace new noexcept operator private protected public requires return static
    static_assert struct switch template throw try typedef typename union using virtual volatile while""".split())
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = frozenset("= += -= *= /= %= |= &= ^= <<= >>=".split())


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str  # text (characters too), number, name or sign
    text: str
    start: int
    end: int


def tokens_of(text):
    """All tokens, without comments and preprocessor lines."""
    result, at, fresh = [], 0, True  # fresh: only space since the line began
    while at < len(text):
        if fresh and text[at] == "#":
            at = _DIRECTIVE.match(text, at).end()
            continue
        match = _TOKEN.match(text, at)
        if match.lastgroup == "space":
            fresh = fresh or "\n" in match.group()
        elif match.lastgroup != "comment":
            result.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
            fresh = False
        at = match.end()
    return result


class Code:
    """A file's tokens. Layout tells what tokens are: clang-format puts space around binary signs and comparisons alone."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.lines = [0] + [match.end() for match in re.finditer("\n", text)]
        self.partner = {}   # bracket or template's angle: the other one
        self.around = []    # the innermost bracket around each token, -1 for none
        self._match_brackets()
        self.outer = self._outer_braces()
        self.left_out = self._declarations()

    def __getitem__(self, i):
        """The text of token i, "" beyond the ends."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def line_of(self, position):
        """Counted from 0."""
        return bisect.bisect_right(self.lines, position) - 1

    def code_lines(self):
        return len({self.line_of(token.start) for token in self.tokens})

    def adjacent(self, i):
        """Whether nothing stands between token i and the next."""
        return i + 1 < len(self.tokens) and self.tokens[i].end == self.tokens[i + 1].start

    def _match_brackets(self):
        brackets, angles = [], [[]]  # angles: within each open bracket
        for i, token in enumerate(self.tokens):
            self.around.append(brackets[-1] if brackets else -1)
            if token.kind != "sign":
                continue
            if token.text in _BRACKETS:
                brackets.append(i)
                angles.append([])
            elif token.text in _BRACKETS.values():
                if brackets and _BRACKETS[self[brackets[-1]]] == token.text:
                    self.partner[i] = brackets.pop()
                    self.partner[self.partner[i]] = i
                    self.around[i] = brackets[-1] if brackets else -1
                    angles.pop()
            elif token.text == "<" and i and self.kind(i - 1) == "name" and \
                    (self.adjacent(i - 1) and self.adjacent(i) or self[i - 1] == "template"):
                angles[-1].append(i)
            elif token.text in (">", ">>") and (self.tokens[i - 1].end == token.start):
                for _ in token.text:
                    if angles[-1]:
                        self.partner[i] = angles[-1].pop()
                        self.partner[self.partner[i]] = i

    def _outer_braces(self):
        """Braces of namespaces, classes and enumerations: what stands in them, and in no function, is declared."""
        result, head = {-1}, []
        heads = {-1: head}  # the tokens since the last ; { or } within each bracket
        for i, token in enumerate(self.tokens):
            head = heads.setdefault(self.around[i], [])
            if token.text == "{" and token.kind == "sign":
                words = [self[j] for j in head if not any(k in self.partner and self[k] == "<" and k < j < self.partner[k] for k in head)]
                if any(word in ("namespace", "class", "struct", "union", "enum", "concept", "extern") for word in words) and \
                        "(" not in words and "=" not in words:
                    result.add(i)
            elif token.text in (";", "}"):
                head.clear()
                continue
            head.append(i)
        return result

    def _declarations(self):
        """The tokens that no mutation touches: what would not compile or means nothing."""
        result, n = set(), len(self.tokens)
        for i in range(n):
            word = self[i]
            if word in ("static_assert", "concept", "using", "typedef") and self.kind(i) == "name":
                end = i
                while end < n and self[end] != ";":
                    end = self.partner.get(end, end) + 1 if self[end] in _BRACKETS else end + 1
                result.update(range(i, end))
            elif word in ("alignas", "decltype", "noexcept", "__attribute__") and self[i + 1] == "(":
                result.update(range(i, self.partner.get(i + 1, i) + 1))
            elif word == "template" and self[i + 1] == "<":
                result.update(range(i, self.partner.get(i + 1, i) + 1))
            elif word == "[" and self[i + 1] == "[":
                result.update(range(i, self.partner.get(i, i) + 1))
            elif word == "operator":
                result.update((i, i + 1))
            elif word == "enum":
                brace = next((j for j in range(i, min(i + 8, n)) if self[j] in ("{", ";")), i)
                result.update(range(i, self.partner.get(brace, brace) + 1))
            elif word == "=" and self[i + 1] == "0" and self[i + 2] == ";" and self[i - 1] in (")", "const", "override"):
                result.update((i, i + 1))
        return result

    def is_operand_end(self, i):
        return self.kind(i) in ("number", "text") or self[i] in (")", "]", "}") or \
            (self.kind(i) == "name" and self[i] not in KEYWORDS)

    def is_binary(self, i):
        token = self.tokens[i]
        spaced = self.text[token.start - 1:token.start].isspace() and self.text[token.end:token.end + 1].isspace()
        return token.kind == "sign" and spaced and i + 1 < len(self.tokens) and self.is_operand_end(i - 1)

    def primary_begin(self, i):
        """The first token of the operand that ends with token i: a[0].b(c)->d, -x."""
        while True:
            if self[i] in (")", "]", "}", ">") and i in self.partner:
                i = self.partner[i]
                if self.kind(i - 1) == "name" and self[i - 1] not in KEYWORDS and self.adjacent(i - 1) or \
                        self[i - 1] in (")", "]", ">") and self.adjacent(i - 1) and i - 1 in self.partner:
                    i -= 1
                    continue
            if self[i - 1] in (".", "->", "::") and self.adjacent(i - 1):
                if i < 2 or not self.is_operand_end(i - 2) and self[i - 2] != ">":
                    return i - 1
                i -= 2
                continue
            break
        while self[i - 1] in ("-", "!", "*", "&", "~") and self.adjacent(i - 1) and not self.is_operand_end(i - 2):
            i -= 1
        return i

    def primary_end(self, i):
        """The last token of the operand that begins with token i; None if none does."""
        while self[i] in ("-", "!", "*", "&", "~", "::") and self.adjacent(i):
            i += 1
        if self[i] == "(" and i in self.partner or self[i] == "[" and i in self.partner:
            i = self.partner[i]
        elif self.kind(i) in ("number", "text"):
            pass
        elif self.kind(i) != "name" or self[i] in KEYWORDS:
            return None
        while True:
            after = i + 1
            if self[after] in ("(", "[", "{") and self.adjacent(i) and after in self.partner:
                i = self.partner[after]
            elif self[after] == "<" and self.adjacent(i) and after in self.partner:
                i = self.partner[after]
            elif self[after] in (".", "->", "::") and self.kind(after + 1) == "name":
                i = after + 2 if self[after + 1] == "template" else after + 1
            else:
                return i

    def term_end(self, i):
        """The last token of the product that begins with token i."""
        end = self.primary_end(i)
        while end is not None and self[end + 1] in ("*", "/", "%") and self.is_binary(end + 1):
            further = self.primary_end(end + 2)
            if further is None:
                return end
            end = further
        return end

    def headers(self, *words):
        """(word's token, its opening parenthesis, its closing one) of each if, while, for."""
        for i in range(len(self.tokens)):
            if self.kind(i) == "name" and self[i] in words and self[i + 1] == "(" and i + 1 in self.partner:
                yield i, i + 1, self.partner[i + 1]

    def within(self, opened):
        """The tokens between a bracket and its partner that lie in no other bracket."""
        return [i for i in range(opened + 1, self.partner[opened]) if self.around[i] == opened]

    def statement_end(self, i):
        """The semicolon of the statement that begins with token i; None if it ends otherwise."""
        while i < len(self.tokens):
            if self[i] in _BRACKETS:
                if i not in self.partner:
                    return None
                i = self.partner[i]
            elif self[i] == ";":
                return i
            elif self[i] in (")", "]", "}"):
                return None
            i += 1
        return None

    def statements(self):
        """(first token, semicolon) of each assignment and call that is a statement of its own."""
        headers = {close for _, _, close in self.headers("if", "while", "for", "switch")}
        for i in range(1, len(self.tokens)):
            brace = self.around[i]
            if brace == -1 or self[brace] != "{" or brace in self.outer or i in self.left_out:
                continue
            if self[i - 1] not in (";", "{", "}", "else") and i - 1 not in headers:
                continue
            begin = i
            while self[begin] in ("*", "++", "--"):
                begin += 1
            end = self.primary_end(begin)
            if end is None or self.kind(i) == "number":
                continue
            follows = self[end + 1]
            if follows in ASSIGNMENTS or follows in ("++", "--") or (follows in (";", ",") and (self[end] == ")" or begin > i)):
                semicolon = self.statement_end(i)
                if semicolon is not None:
                    yield i, semicolon
