#!/usr/bin/env python3
"""Plants one fault of each kind in a copy of the headers and expects what scripts/manifest --check says."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class Manifest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for part in ("include", "src", "docs/reference", "scripts"):
            shutil.copytree(_ROOT / part, cls.root / part)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, *arguments):
        run = subprocess.run([self.root / "scripts/manifest", *arguments], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def expect(self, file, old, new, *messages):
        """Of the header with `new` for `old`."""
        path = self.root / file
        sound = path.read_text()
        self.assertIn(old, sound)
        path.write_text(sound.replace(old, new, 1))
        try:
            status, said = self.check("--check")
        finally:
            path.write_text(sound)
        self.assertEqual(status, 1)
        for message in messages:
            self.assertIn(message, said)

    def test_a_sound_tree_has_no_complaint(self):
        self.assertEqual(self.check("--check"), (0, "manifest: no complaints\n"))

    def test_it_writes_the_same_again(self):
        before = [(self.root / f"docs/reference/ops.{kind}").read_text() for kind in ("json", "md")]
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(before, [(self.root / f"docs/reference/ops.{kind}").read_text() for kind in ("json", "md")])

    def test_a_function_without_a_text(self):
        self.expect("include/wick/ops/unary.h", "/// -x. x: any shape, numeric. Exact; integers wrap.\n", "",
                    "include/wick/ops/unary.h:", "neg has no doc comment", "docs/reference/ops.json: stale")

    def test_a_text_that_is_no_doc_comment(self):
        self.expect("include/wick/ops/unary.h", "/// 1 / x. Max", "// 1 / x. Max", "reciprocal has no doc comment")

    def test_a_group_without_a_name(self):
        self.expect("include/wick/ops/inplace.h", "/// @name In-place versions\n", "", "sub_ stands in a group without a /// @name")

    def test_another_default_is_stale(self):
        self.expect("include/wick/ops/unary.h", "double alpha = 1)", "double alpha = 2)", "docs/reference/ops.json: stale")

    def test_another_first_sentence_is_stale_on_the_page_too(self):
        self.expect("include/wick/ops/unary.h", "/// |x|. Exact", "/// |x| again. Exact", "docs/reference/ops.md: stale")

    def test_an_alias_that_does_more_is_a_function(self):
        self.expect("include/wick/ops/aliases.h", "return square(std::move(x))", "return square(neg(std::move(x)))", "sqr has no doc comment")

    def test_other_conformance_rows(self):
        program = self.root / "wick-conformance"
        program.write_text("#!/bin/sh\necho 'neg  f32  K neg'\n")
        program.chmod(0o755)
        status, said = self.check("--check", "--conformance", program)
        self.assertEqual(status, 1)
        self.assertIn("neg: the conformance rows prove [['f32']], not [['integers', 'floats']]", said)


try:
    subprocess.run(["/usr/bin/python3", "-c", "import clang.cindex"], check=True, capture_output=True)
except (OSError, subprocess.CalledProcessError):
    print("no libclang for Python: scripts/install-packages --test")
    sys.exit(77)
unittest.main()
