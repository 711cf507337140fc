#!/usr/bin/env python3
"""Lists the sets of characters that HuggingFace's tokenizers 0.23.3 (Oniguruma, Unicode 16) takes for each class of a pattern.

    make_classes.py FILE

Each line of FILE: an expression, the number of code points that it matches, and the FNV-1a hash (64 bits) of the first and the last
code point of each run of these, each as four bytes, lowest first. Tried are all code points but surrogates; of planes 4 to 16, which
have private and unassigned ones and one block of tags, that block and 256 at each end of a plane.
"""
import sys

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split



def is_tried(code):
    in_plane = code & 0xFFFF
    return code < 0x40000 or 0xE0000 <= code < 0xE1000 or in_plane < 0x100 or in_plane >= 0xFF00


CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and is_tried(code)]
TEXT = "".join(map(chr, CODES))

CATEGORIES = "L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cn Co".split()
LONG = "Letter Uppercase_Letter lowercase-letter Mark Nonspacing_Mark Number Decimal_Number Punctuation Symbol Separator Other Unassigned".split()
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
BINARY = ("Any Assigned Alphabetic Lowercase Uppercase Cased White_Space Dash Emoji Emoji_Modifier_Base Emoji_Presentation Emoji_Component "
          "Extended_Pictographic Ideographic Unified_Ideograph Hex_Digit ASCII_Hex_Digit Quotation_Mark Regional_Indicator Variation_Selector").split()
SCRIPTS = ("Adlam Ahom Arabic Armenian Balinese Bengali Bopomofo Braille Canadian_Aboriginal Cherokee Common Coptic Cyrillic Devanagari Egyptian_Hieroglyphs "
           "Ethiopic Garay Georgian Greek Gujarati Gurmukhi Gurung_Khema Han Hangul Hani Hebrew Hiragana Inherited Javanese Kannada Katakana Kawi Khitan_Small_Script Khmer Khojki "
           "Kirat_Rai Lao Latin Latn Malayalam Mongolian Myanmar Nag_Mundari Ol_Onal Oriya Sinhala Sunuwar Syriac Tamil Tangut Telugu Thai Tibetan Todhri Tulu_Tigalari Vai Yi").split()
OTHER = [r"\w", r"\W", r"[\w]", r"[\W]", r"[^\w]", r"[^\W]", r"\d", r"\D", r"[\d]", r"[\D]", r"\s", r"\S", r"[\s]", r"[^\s]", r"\h", r"\H", r"[\H]",
         r"\p{^L}", r"\P{^L}", r"[\p{^Lu}]", r"[^\P{L}a-z]", r"[^\p{Mn}]", r"[\P{Mn}]", r"\P{Mn}", r"\P{C}", r"[^\p{C}]", r"[^\w\s]", r"[\p{L}&&[^\p{Han}]]", "."]


def expressions():
    for name in CATEGORIES + LONG + BINARY + SCRIPTS + POSIX:
        yield rf"\p{{{name}}}"
    for name in POSIX:
        yield f"[[:{name}:]]"
    for name in ("alpha", "punct", "word", "graph"):
        yield from (f"[[:^{name}:]]", f"[^[:{name}:]]", f"[_[:{name}:]]")
    yield from OTHER


def runs(expression):
    """The runs of matching code points, as pairs of indices into CODES."""
    result, at = [], 0
    for _, (begin, end) in Split(Regex(expression), "removed").pre_tokenize_str(TEXT):  # what does not match
        if begin > at:
            result.append((at, begin - 1))
        at = end
    return result + ([(at, len(CODES) - 1)] if at < len(CODES) else [])


def fnv(codes):
    value = 0xCBF29CE484222325
    for byte in b"".join(code.to_bytes(4, "little") for code in codes):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    with open(sys.argv[1], "w") as file:
        for expression in expressions():
            found = runs(expression)
            count = sum(last - first + 1 for first, last in found)
            file.write(f"{expression} {count} {fnv(CODES[index] for run in found for index in run):016x}\n")
            file.flush()


if __name__ == "__main__":
    main()
