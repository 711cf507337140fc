#!/usr/bin/env python3
"""Tests the parts of scripts/build-site that need neither Doxygen nor Sphinx: doc comments, the filter of headers, pages and menus."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SITE = _ROOT / "docs/site"
sys.path[:0] = [str(_SITE), str(_ROOT / "tests/structure")]
import doc_text  # noqa: E402
import docs  # noqa: E402
import doxygen_filter  # noqa: E402
import tree  # noqa: E402

_COMMENT = """A norm over `dims`: y = x * w <= 1,
on two lines.

x       [..., D]   f16 or f32,
                   any strides
eps     > 0
Returns [..., D]. Errors: none.
Source: A & B, eq. 1.

    code(x)
"""


class DocText(unittest.TestCase):
    def test_columns_become_a_list_and_words_paragraphs(self):
        self.assertEqual(doc_text.converted(_COMMENT, doc_text.Rst).split("\n"), [
            "A norm over ``dims``: y = x \\* w <= 1,", "on two lines.", "", "- ``x`` ``[..., D]``: f16 or f32, any strides", "- ``eps``: > 0", "",
            "**Returns** [..., D]. Errors: none.", "", "**Source**: A & B, eq. 1.", "", "::", "", "      code(x)"])

    def test_doxygen_sees_no_marks(self):
        text = doc_text.converted(_COMMENT)
        self.assertIn("A norm over `dims`: y = x \\* w &lt;= 1,", text)
        self.assertIn("- `x` `[..., D]`: f16 or f32, any strides", text)
        self.assertEqual(doc_text.inline("a @b #1 50 % copy_ <s>"), "a \\@b \\#1 50 \\% copy\\_ &lt;s&gt;")


class Filter(unittest.TestCase):
    def test_the_code_of_every_header_stays(self):
        def code(text):
            return "".join(tree.without_comments(text).split())

        headers = sorted((_ROOT / "include/wick").rglob("*.h"))
        self.assertGreater(len(headers), 50)
        for header in headers:
            text = header.read_text(encoding="utf-8")
            text = doxygen_filter.without_private_members(text)
            as_read = doxygen_filter._DESIGNATED.sub(";", doxygen_filter._CONCEPT.sub(r"template <class \2> requires \1<\2>",
                                                                                     doxygen_filter._PIECES.sub("", text)))
            self.assertEqual(code(doxygen_filter.filtered(text)), code(as_read), header)

    def test_private_members_are_left_out(self):
        text = "class A {\n public:\n  int x;\n\n private:\n  struct B {\n    int z;\n  };\n  int y;\n protected:\n  int p;\n private:\n  int q;\n};\nint f();\n"
        self.assertEqual(doxygen_filter.filtered(text), "class A {\n public:\n  int x;\n\n protected:\n  int p;\n};\nint f();\n")
        inner = "struct A {\n  class B {\n    int b;\n\n   private:\n    int c;\n  };\n  int a;\n};\n"
        self.assertEqual(doxygen_filter.filtered(inner), "struct A {\n  class B {\n    int b;\n\n  };\n  int a;\n};\n")

    def test_a_comment_after_a_member_documents_it(self):
        text = "struct A {\n  int x = 0;  // 0: all\n              // or none\n  // of both\n  int y;\n};  // end\n"
        self.assertEqual(doxygen_filter.filtered(text),
                         "struct A {\n  int x = 0;  ///< 0: all\n              ///< or none\n  // of both\n  int y;\n};  // end\n")

    def test_a_groups_text_is_that_of_each_member(self):
        text = "/// @name Extremes\n/// Exact.\n/// @{\n\n/// The largest.\nWICK_API int max();\nWICK_API int min(int,\n  int);\n/// @}\n/// A sum.\nint sum();\n"
        self.assertEqual(doxygen_filter.filtered(text),
                         "\n/// The largest.\n///\n/// Exact.\nWICK_API int max();\n/// Exact.\nWICK_API int min(int,\n  int);\n/// A sum.\nint sum();\n")


class Writes(unittest.TestCase):
    def written(self, script, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        done = subprocess.run([sys.executable, _SITE / script, *arguments, folder.name], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(folder.name)


class Pages(Writes):
    def test_guides_link_what_is_copied_and_have_a_menu(self):
        out = self.written("guide_pages.py")
        index = (out / "index.md").read_text(encoding="utf-8")
        self.assertIn("\nreference/cpp/index.rst\n", index)
        menu = {line for line in index.split("\n") if line.endswith(".md")}
        pages = {path.relative_to(out).as_posix() for path in out.rglob("*.md")} - {"index.md"}
        self.assertEqual(pages - menu, set())
        self.assertGreater(len(pages), 30)
        for page in pages:
            for _, link in docs.links((out / page).read_text(encoding="utf-8")):
                path = link.partition("#")[0]
                if path and not docs._SCHEME.match(link):
                    self.assertTrue((out / page).parent.joinpath(path).is_file(), f"{page}: {link}")

    def test_every_header_has_a_page(self):
        out = self.written("cpp_pages.py")
        headers = {path.relative_to(_ROOT / "include/wick").with_suffix("") for path in (_ROOT / "include/wick").rglob("*.h")} - {pathlib.Path("wick")}
        self.assertEqual({path.relative_to(out).with_suffix("") for path in out.rglob("*.rst") if path.name != "index.rst"}, headers)
        self.assertIn(":doc:`tensor.h <tensor>`: Tensor: an immutable value, cheap to copy.", (out / "core/index.rst").read_text(encoding="utf-8"))


class PythonPages(Writes):
    def test_signatures_are_those_of_users(self):
        stub = _ROOT / "build/cpu/python/wick/_wick.pyi"
        if not stub.is_file():
            self.skipTest("build/cpu has no Python package")
        out = self.written("python_pages.py", stub)
        ops = (out / "ops.rst").read_text(encoding="utf-8")
        self.assertIn(".. py:function:: softmax(x: Tensor, dim: int=-1) -> Tensor\n\n   exp(x - max(x))", ops)
        language = (out / "language.rst").read_text(encoding="utf-8")
        self.assertIn("   .. py:method:: generate(prompt: str | Iterable[int], *, images: Any=(), max_tokens: int | None=256,", language)
        self.assertIn(".. py:attribute:: vocab_size", language)  # of the class in the stub
        for page in out.glob("*.rst"):
            self.assertNotIn("builtins.", page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
