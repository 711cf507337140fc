#!/usr/bin/env python3
"""That scripts/mutants plants in code alone, draws evenly and the same again, and tells what a test notices from what none
does: on small trees of its own, whose build and tests are planted."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/mutants"
sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("mutants", str(SCRIPT))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", _loader))
sys.modules["mutants"] = mutants
_loader.exec_module(mutants)
drawing, cpp = mutants.drawing, mutants.cpp


def planted(text, operator=None):
    """The lines that mutants of the text have, as (line, what it becomes)."""
    return [(m.old.strip(), m.new.strip()) for m in drawing.mutants_of("x.cpp", text)[1] if operator in (None, m.operator)]


def in_function(line):
    return "void f() {\n  " + line + "\n}\n"


class Tokens(unittest.TestCase):
    def texts(self, text):
        return [token.text for token in cpp.tokens_of(text)]

    def test_comments_and_preprocessor_lines_are_none(self):
        self.assertEqual(self.texts("a /* 1 + 1 */ b // c + 1 \\\n still\n#if 1 < 2 /* x\n y */\n# define A \\\n  B\nd"), ["a", "b", "d"])
        self.assertEqual(self.texts("  #if 1\nx # y"), ["x", "#", "y"])

    def test_texts_and_characters_are_one(self):
        self.assertEqual(self.texts(r'''"a\" // 1" + R"x(" )" ) 1)x" + '"' '''), [r'"a\" // 1"', "+", 'R"x(" )" ) 1)x"', "+", "'\"'"])

    def test_numbers_are_one(self):
        self.assertEqual(self.texts("1'000-1e-5f*0x1p+3"), ["1'000", "-", "1e-5f", "*", "0x1p+3"])

    def test_templates_are_no_comparisons(self):
        code = cpp.Code("std::max<int64>(a < b, f<g<1>>(c) > d)")
        self.assertEqual([code[i] for i in range(len(code.tokens)) if code[i] in "<>" and code.is_binary(i)], ["<", ">"])

    def test_an_operand_ends_where_it_ends(self):
        code = cpp.Code("x = -a[i + 1].b(c)->d * e - f;")
        minus = [i for i in range(len(code.tokens)) if code[i] == "-" and code.is_binary(i)][0]
        star = [i for i in range(len(code.tokens)) if code[i] == "*"][0]
        self.assertEqual(code.primary_begin(star - 1), 2)
        self.assertEqual(code.primary_end(2), star - 1)
        self.assertEqual(code.term_end(2), minus - 1)


class Places(unittest.TestCase):
    def test_only_code_is_touched(self):
        text = textwrap.dedent('''\
            // a < b && true, n - 1
            /* x + 1; sync(); */
            #include "a/1.h"
            #if defined(A) && B < 1
            #define TWICE(x) ((x) + (x) - 1)
            #endif
            static_assert(sizeof(int) == 4 && true,
                          "a < 1");
            template <class T, int kN = 1>
            using Other = Array<T, kN + 1>;
            template <class T>
            concept Small = sizeof(T) < 8 && true;
            enum class Kind { kA = 0, kB = 1 };
            struct [[deprecated("1")]] S {
              virtual int f() const = 0;
              alignas(64) char text[kN];
              bool operator==(const S&) const noexcept(true);
            };
            const char* g() { return "n - 1 < 0 && true"; }
            char h() { return '0'; }
            const char* raw() { return R"(1 + 1)"; }
            ''')
        self.assertEqual(planted(text), [])

    def test_a_mutant_is_one_line(self):
        for m in drawing.mutants_of("x.cpp", in_function("a = b +\n    1;\n  if (a &&\n      b) return;"))[1]:
            self.assertNotIn("\n", m.old + m.new)
            self.assertNotEqual(m.old, m.new)

    def test_every_operator(self):
        """operator, line of a function, what it becomes among others."""
        for operator, line, becomes in (
                ("off by one", "x = n - 1;", "x = n;"),
                ("off by one", "x = f(n + 1, 2);", "x = f(n, 2);"),
                ("off by one", "for (int i = 0; i < n; i++) g(i);", "for (int i = 0; i <= n; i++) g(i);"),
                ("other comparison", "while (a < b) g();", "while (a <= b) g();"),
                ("other comparison", "x = a == b;", "x = a != b;"),
                ("dropped guard", "if (n == 0) return;", "if (false) if (n == 0) return;"),
                ("dropped guard", "if (n == 0) return;", "if (true) return;"),
                ("dropped guard", "check(n > 0, kError, \"n\");", ";"),
                ("dropped guard", "check_defined(op, x);", ";"),
                ("swapped operands", "x = a.b - c[1];", "x = c[1] - a.b;"),
                ("swapped operands", "g(rows, a.columns, 1);", "g(a.columns, rows, 1);"),
                ("other arithmetic", "x = a * b;", "x = a / b;"),
                ("other arithmetic", "x += a;", "x -= a;"),
                ("other arithmetic", "return side ? -gy : gy;", "return side ? gy : gy;"),
                ("lost term", "return gy * a + b * f(c);", "return gy * a;"),
                ("lost term", "return a + b;", "return b;"),
                ("wrong dtype", "y = cast(x, DType::kF32);", "y = cast(x, DType::kF64);"),
                ("wrong dtype", "const int64_t n = a * b;", "const int32_t n = a * b;"),
                ("wrong dtype", "double sum = 0;", "float sum = 0;"),
                ("missing barrier", "ctx.sync();", ";"),
                ("wrong stride", "at = i * x.strides[d];", "at = i * x.strides[d + 1];"),
                ("wrong stride", "at = i * x.strides[d];", "at = i * 1;"),
                ("wrong stride", "n = x.shape[0];", "n = x.shape[1];"),
                ("and/or", "x = a && b;", "x = a || b;"),
                ("negated condition", "if (a < b) g();", "if (!(a < b)) g();"),
                ("negated condition", "while (!done()) g();", "while (done()) g();"),
                ("min/max", "x = std::min<int64_t>(a, b);", "x = std::max<int64_t>(a, b);"),
                ("deleted statement", "values.push_back(x);", ";"),
                ("deleted statement", "*at = x;", ";"),
                ("other constant", "x = f(1);", "x = f(0);"),
                ("other constant", "x = f(1);", "x = f(2);"),
                ("other constant", "x = 0.5 * y;", "x = 1.0 * y;"),
                ("true/false", "x = f(true);", "x = f(false);")):
            with self.subTest(operator=operator, line=line):
                self.assertIn((line, becomes), planted(in_function(line), operator))

    def test_statements_of_several_lines_are_skipped_by_a_condition(self):
        text = in_function("check(n > 0,\n        kError);\n  total.add(a,\n            b);")
        self.assertIn(("check(n > 0,", "if (false) check(n > 0,"), planted(text, "dropped guard"))
        self.assertIn(("total.add(a,", "if (false) total.add(a,"), planted(text, "deleted statement"))

    def test_declarations_are_no_statements(self):
        self.assertEqual(planted("struct S {\n  S(int a);\n  void f(int b);\n};\nnamespace n {\nint g(int c);\n}\n"), [])
        self.assertEqual(planted(in_function("Tensor y(x);")), [])

    def test_a_guard_with_an_else_stays(self):
        self.assertEqual(planted(in_function("if (a) return; else g(b);"), "dropped guard"), [])


FILES = {
    "core": {"core/a.cpp": in_function("if (a < b) return;\n  n = m - 1;\n  g(true);\n  h(c, d);") * 5,
             "core/b.cpp": in_function("x = std::min(a, b);")},
    "cli": {"cli/c.cpp": in_function("x = a && b;\n  y = a == b;")},
}


class Drawing(unittest.TestCase):
    def draw(self, seed, count, files=None):
        draw = drawing.Draw(seed, files or FILES)
        return [draw.next(room) for room in (files or FILES) for _ in range(count)]

    def test_the_same_seed_draws_the_same(self):
        self.assertEqual(self.draw(7, 5), self.draw(7, 5))
        self.assertNotEqual(self.draw(7, 5), self.draw(8, 5))

    def test_nothing_is_drawn_twice(self):
        drawn = [m for m in self.draw(1, 100) if m]
        self.assertEqual(len({m.identity for m in drawn}), len(drawn))
        total = sum(len(drawing.mutants_of(file, text)[1]) for files in FILES.values() for file, text in files.items())
        self.assertEqual(len(drawn), total)

    def test_rare_operators_are_drawn_too(self):
        kinds = len({m.operator for files in FILES.values() for f, t in files.items() if f.startswith("core") for m in drawing.mutants_of(f, t)[1]})
        drawn = self.draw(3, kinds, {"core": FILES["core"]})
        self.assertEqual(len({m.operator for m in drawn}), kinds)
        self.assertIn("min/max", {m.operator for m in drawn})

    def test_an_edit_elsewhere_moves_nothing(self):
        texts = {"core/a.cpp": FILES["core"]["core/a.cpp"], "core/b.cpp": FILES["core"]["core/b.cpp"]}
        before = [m.identity for m in self.draw(5, 6, {"core": texts})]
        texts["core/b.cpp"] = "// said at more length\n\n" + texts["core/b.cpp"]
        self.assertEqual(before, [m.identity for m in self.draw(5, 6, {"core": texts})])

    def test_rooms_have_their_shares(self):
        self.assertEqual(sum(room.share for room in mutants.ROOMS.values()), 60)
        for count in (60, 59, 13, 7, 100):
            shares = drawing.shares(mutants.ROOMS, count)
            self.assertEqual(sum(shares.values()), count)
            self.assertGreaterEqual(min(shares.values()), 1)
        self.assertEqual(drawing.shares(mutants.ROOMS, 60), {name: room.share for name, room in mutants.ROOMS.items()})

    def test_rooms_are_of_this_tree(self):
        project = mutants.Project(SCRIPT.parents[1])
        for room in mutants.ROOMS.values():
            for folder in room.folders:
                self.assertTrue((project.root / folder).is_dir(), folder)
        self.assertEqual(project.room_of("backends/cpu/dispatch/sort.cpp"), "cpu")
        self.assertIsNone(project.room_of("tests/unit/expect.h"))

    def test_the_named_ones_are_of_this_tree(self):
        project = mutants.Project(SCRIPT.parents[1])
        self.assertGreaterEqual(len(mutants.plants_of(project)), 6)
        mutants.equivalents_of(project)


SOURCE = """int seen(int n) {
  if (n < 3) return n;
  n += SAME 5;
  n += 7;
  n += 9;
  return n;
}
"""
# Compiles what is neither blank nor the word SAME; a 4 is no C++, an 8 breaks a static_assert.
BUILD = """cd "$(dirname "$0")"/.. || exit 2
mkdir -p build
if grep -q 4 src/a/one.cpp; then echo 'one.cpp: error: a 4'; exit 1; fi
if grep -q 8 src/a/one.cpp; then echo 'one.cpp: error: static assertion failed'; exit 1; fi
sed 's/SAME//; s/ //g' src/a/one.cpp > build/one.new
cmp -s build/one.new build/one.o || mv build/one.new build/one.o
"""
JUDGE = """echo run >> {calls}
grep -q 'n<3' build/one.o || {{ echo 'FAILED n < 3'; sleep 100; }}
grep -q 'n+=9' build/one.o || sleep 100
"""


class Outcomes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.calls = pathlib.Path(folder.name, "tree"), pathlib.Path(folder.name, "calls")
        self.root.mkdir()
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(".gitignore", "/build/\n")
        self.write("src/a/one.cpp", SOURCE)
        self.write("tests/build.sh", BUILD)
        self.write("tests/judge.sh", JUDGE.format(calls=self.calls))
        steps = (mutants.Step(("one",), ("bash", "tests/judge.sh")),)
        self.project = mutants.Project(self.root, {"a": mutants.Room(1, ("src/a",), steps)}, ("true",), ("bash", "tests/build.sh"),
                                       "build/*.o", 1)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def plants(self, *changes):
        self.write("tests/mutants/plants.json", json.dumps(
            [{"name": new, "file": "src/a/one.cpp", "old": old, "new": new} for old, new in changes]))

    def run_script(self, *arguments):
        """(exit status, what was printed)"""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = mutants.main([*arguments, "--jobs", "1"], self.project)
        return status, printed.getvalue()

    def runs(self):
        return self.calls.read_text().count("run") if self.calls.exists() else 0

    def test_what_a_test_notices_is_killed(self):
        self.plants(("n < 3", "n <= 3"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 0, printed)
        self.assertRegex(printed, r"(?m)^killed: [0-9.]+ s: a: src/a/one.cpp:2: plant: n <= 3$")
        self.assertIn("\n  - if (n < 3) return n;\n  + if (n <= 3) return n;\n  bash tests/judge.sh: FAILED n < 3\n", printed)
        self.assertRegex(printed, r"(?m)^a +1 +1 +0 +0 +0$")

    def test_what_none_notices_survives(self):
        self.plants(("n += 7", "n += 6"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 1, printed)
        self.assertTrue(printed.endswith("survived: a: src/a/one.cpp:4: plant: n += 6\n  - n += 7;\n  + n += 6;\n"), printed)

    def test_tests_are_met_in_turn_until_one_fails(self):
        steps = [mutants.Step(("one",), ("bash", "-c", f"echo run >> {self.calls}; {test}")) for test in
                 ("grep 'n<3' build/one.o", "grep 'n+=7' build/one.o", "grep 'n+=9' build/one.o")]
        self.project.rooms["a"] = mutants.Room(1, ("src/a",), tuple(steps))
        self.plants(("n += 7", "n += 6"), ("n < 3", "n <= 3"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 0, printed)
        for step in steps[1], steps[0]:
            self.assertIn(f"\n  {step.name}: exit status 1\n", printed)
        self.assertEqual(self.runs(), 5)  # the first two without a mutant, both with the first mutant, one with the second

    def test_a_crash_is_named_as_ctest_names_it(self):
        self.write("tests/judge.sh", "grep 'n+=7' build/one.o && exit\n"
                   "printf 'The following tests FAILED:\\n\\t  4 - one_test (SEGFAULT)\\n'\nexit 8\n")
        self.plants(("n += 7", "n += 6"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 0, printed)
        self.assertIn("\n  bash tests/judge.sh: 4 - one_test (SEGFAULT)\n", printed)

    def test_what_hangs_is_killed_and_said_so(self):
        self.plants(("n += 9", "n += 10"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 0, printed)
        self.assertRegex(printed, r"\n  bash tests/judge.sh: over its time limit, \d+ s\n")

    def test_a_static_assert_kills(self):
        self.plants(("n += 7", "n += 8"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 0, printed)
        self.assertIn("\n  a static_assert\n", printed)

    def test_a_plant_that_is_no_defect_is_an_error(self):
        for new in ("n += 4", "n  += 7"):
            self.plants(("n += 7", new))
            status, printed = self.run_script("--plants")
            self.assertEqual(status, 2, printed)
            self.assertIn("no defect: " + ("does not compile" if "4" in new else "harmless"), printed)

    def test_a_plant_that_is_gone_is_an_error(self):
        self.plants(("n += 11", "n += 7"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 2)
        self.assertIn("plants.json: n += 7: src/a/one.cpp: expected the text once, found it 0 times: n += 11", printed)

    def test_an_equivalent_that_is_gone_is_an_error(self):
        self.write("tests/mutants/equivalents.json", json.dumps(
            [{"file": "src/a/one.cpp", "operator": "other constant", "old": "n += 11;", "new": "n += 12;", "why": "-"}]))
        status, printed = self.run_script()
        self.assertEqual(status, 2)
        self.assertIn("equivalents.json: src/a/one.cpp: other constant no longer makes this", printed)

    def test_what_does_not_count_is_drawn_again(self):
        self.write("src/a/one.cpp", SOURCE.replace("n < 3", "n<3").replace("n += SAME 5;", "n += 3;").replace("n += 9", "n+=9")
                   .replace("return n", "return"))
        self.write("tests/mutants/equivalents.json", json.dumps(
            [{"file": "src/a/one.cpp", "operator": "other arithmetic", "old": "n += 3;", "new": "n -= 3;", "why": "it is 0"}]))
        status, printed = self.run_script("--only", "src/a/", "--count", "100")
        self.assertIn("does not compile: ", printed)   # 3 becomes 4
        self.assertIn("\n  it is 0\n", printed)
        total = len(drawing.mutants_of("src/a/one.cpp", (self.root / "src/a/one.cpp").read_text())[1])
        self.assertRegex(printed, rf"(?m)^all +{total} ")
        self.assertEqual(status, 1)

    def test_a_draw_has_its_count_in_spite_of_them(self):
        self.write("src/a/one.cpp", SOURCE.replace("n += SAME 5", "n += 3"))
        for seed in range(4):
            _, printed = self.run_script("--count", "3", "--seed", str(seed))
            counted = [line for line in printed.splitlines() if line.startswith(("killed: ", "survived: "))]
            self.assertEqual(len([line for line in counted if " s: " in line or "kept" in line]), 3, printed)

    def test_what_is_done_is_not_done_again(self):
        self.plants(("n < 3", "n <= 3"), ("n += 7", "n += 6"))
        self.run_script("--plants")
        done = self.runs()
        self.assertEqual(done, 3)  # without a mutant, and with each
        status, printed = self.run_script("--plants")
        self.assertEqual((status, self.runs()), (1, done))
        self.assertEqual(printed.count(": kept: "), 2)

    def test_survivors_meet_new_tests(self):
        self.plants(("n < 3", "n <= 3"), ("n += 7", "n += 6"))
        self.run_script("--plants")
        done = self.runs()
        with open(self.root / "tests/judge.sh", "a", encoding="utf-8") as judge:
            judge.write("grep -q 'n+=7' build/one.o\n")
        status, printed = self.run_script("--plants", "--again")
        self.assertEqual((status, self.runs()), (0, done + 2), printed)
        self.assertIn("killed: kept: a: src/a/one.cpp:2: ", printed)
        self.assertIn("\n  bash tests/judge.sh: exit status 1\n", printed)

    def test_other_code_is_judged_anew(self):
        self.plants(("n < 3", "n <= 3"))
        self.run_script("--plants")
        self.write("src/a/one.cpp", SOURCE + "// more\n")
        _, printed = self.run_script("--plants")
        self.assertNotIn("kept", printed)

    def test_the_tree_stays_as_it_is(self):
        self.plants(("n += 7", "n += 6"))
        self.run_script("--plants")
        self.assertEqual((self.root / "src/a/one.cpp").read_text(), SOURCE)
        self.assertEqual((self.root / "build/mutants/tree/src/a/one.cpp").read_text(), SOURCE)
        self.assertEqual([path.name for path in self.root.iterdir() if path.name != ".git"].count("build"), 1)

    def test_what_an_interrupted_run_left_is_cleared(self):
        self.plants(("n += 7", "n += 6"))
        self.run_script("--plants")
        home = self.root / "build/mutants"
        (home / "planted").touch()
        (home / "tree/src/a/one.cpp").write_text(SOURCE.replace("7", "6"))
        (home / "tree/build/one.o").write_text("of a mutant")
        (home / "results.json").unlink()
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 1, printed)
        self.assertFalse((home / "planted").exists())
        self.assertEqual((home / "tree/src/a/one.cpp").read_text(), SOURCE)

    def test_a_tree_that_fails_by_itself_judges_nothing(self):
        self.write("tests/judge.sh", "exit 3\n")
        self.plants(("n += 7", "n += 6"))
        status, printed = self.run_script("--plants")
        self.assertEqual(status, 2)
        self.assertIn("fails without a mutant: bash tests/judge.sh: exit status 3", printed)

    def test_the_list_runs_nothing(self):
        status, printed = self.run_script("--list", "--count", "3", "--seed", "5")
        self.assertEqual((status, self.runs()), (0, 0))
        self.assertEqual(printed.count("\n  - "), 3)
        self.assertIn("seed 5\n", printed)
        self.assertEqual(printed, self.run_script("--list", "--count", "3", "--seed", "5")[1])
        self.assertFalse((self.root / "build").exists())

    def test_parts_plant_everything_once(self):
        self.plants(("n < 3", "n <= 3"), ("n += 7", "n += 6"))
        listed = lambda *options: [line for line in self.run_script("--list", *options)[1].splitlines() if line.startswith("a: ")]
        for options in (("--plants",), ("--count", "5", "--seed", "3")):
            whole, parts = listed(*options), [listed(*options, "--part", f"{part}/2") for part in (1, 2)]
            self.assertEqual(parts, [whole[0::2], whole[1::2]])

    def test_parts_draw_none_of_each_others(self):
        # All are harmless, so that each part draws on until it has no more.
        found = drawing.mutants_of("src/a/one.cpp", SOURCE)[1]
        self.write("tests/mutants/equivalents.json", json.dumps(
            [{"file": m.file, "operator": m.operator, "old": m.old.strip(), "new": m.new.strip(), "why": "-"} for m in found]))
        printed = "".join(self.run_script("--count", "3", "--part", part)[1] for part in ("1/3", "2/3", "3/3"))
        self.assertGreater(len(found), 6)
        for mutant in found:
            self.assertEqual(printed.count(mutant.diff() + "\n"), 1, mutant.diff())

    def test_parts_are_from_one_to_their_count(self):
        for part in "0/2", "3/2", "1", "a/b":
            with self.assertRaises(SystemExit) as exited:
                self.run_script("--list", "--part", part)
            self.assertEqual(exited.exception.code, 2)

    def test_files_of_no_room_are_an_error(self):
        status, printed = self.run_script("--only", "nowhere")
        self.assertEqual((status, printed.splitlines()[-1]), (2, 'mutants: nothing to plant in files that begin with "nowhere"'))


if __name__ == "__main__":
    unittest.main()
