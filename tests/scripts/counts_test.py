#!/usr/bin/env python3
"""That scripts count honestly: what was skipped or left out has not passed. Each test plants the programs that they run."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

CTEST_LINES = """      Start  1: first_test
1/2 Test  #1: first_test .......................   Passed    0.01 sec
      Start  2: conformance.cpu.avx512
2/2 Test  #2: conformance.cpu.avx512 ...........   {second}    0.01 sec

{percent}% tests passed, {failed} tests failed out of 2
"""
LAST_TEST = """1/2 Test: first_test
[ RUN      ] Card.Runs
x.cpp:1: Skipped
no card
[  SKIPPED ] Card.Runs (0 ms)
Test Passed.
2/2 Test: conformance.cpu.avx512
{output}
Test Passed.
"""


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.plant("scripts/quick-check", "exit 0")
        self.plant("scripts/proof-status", "exit 0")
        for name in ("test", "summary-of", "rocm-check", "cuda-check"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")

    def plant(self, path, text):
        """A program of the planted tree; those in its folder bin are found before the machine's."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/bash\n" + text + "\n")
        file.chmod(0o755)

    def run_script(self, name, *arguments, **environment):
        variables = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.root), **environment}
        return subprocess.run([self.root / "scripts" / name, *arguments], capture_output=True, text=True, env=variables,
                              check=False)

    def plant_ctest(self, lines, last_test):
        for path, text in (("lines", lines), ("build/cpu/Testing/Temporary/LastTest.log", last_test)):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.plant("bin/ctest", f"cat {self.root}/lines\n! grep -q 'Failed  ' {self.root}/lines")

    def commit(self, paths, hours_ago):
        """A commit of so many hours ago that changes these files."""
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            with open(self.root / path, "a") as file:
                file.write("changed\n")
        if not (self.root / ".git").exists():
            subprocess.run(["git", "init", "-q", self.root], check=True)
        date = f"{int(time.time()) - hours_ago * 3600} +0000"
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                    for what, value in (("NAME", "n"), ("EMAIL", "e"), ("DATE", date))}
        for command in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "change"]):
            subprocess.run(["git", "-C", self.root, *command], check=True, env={**os.environ, **identity})

    def planned(self):
        """The stages of this commit, and the line on kernels."""
        line = self.run_script("test", "--plan").stdout.splitlines()[0]
        stages, kernels = line.removeprefix("stages: ").split("; kernels for: ")
        return set(stages.split()), kernels

    def last_line(self, run):
        return run.stdout.splitlines()[-1]

    def test_dear_stages_take_turns(self):
        dear = {"amd", "amdemu", "cuda", "asan", "tsan"}
        self.commit(["backends/gpu/kernel.h", "src/io/json.cpp", "src/base/file.cpp"], hours_ago=30)
        first, first_kernels = self.planned()
        self.commit(["README.md"], hours_ago=1)
        second, second_kernels = self.planned()
        self.assertEqual(first | second, second | dear | {"setup", "quick", "build", "cpu", "emu", "install", "examples", "python", "fuzz"})
        self.assertEqual(first & second & dear, set())
        self.assertEqual({(first & dear) == turn for turn in ({"cuda", "asan"}, {"amd", "amdemu", "tsan"})}, {True, False})
        self.commit(["README.md"], hours_ago=1)
        self.assertEqual({first_kernels, second_kernels, self.planned()[1]}, {"emu:32, gfx942", "emu:64, gfx1100"})

    def test_a_stage_whose_code_changed_lately_runs_in_every_turn(self):
        self.commit(["README.md"], hours_ago=30)
        for _ in range(2):
            self.commit(["backends/gpu/kernel.h"], hours_ago=1)
            stages, kernels = self.planned()
            self.assertLessEqual({"amd", "amdemu", "cuda"}, stages)
            self.assertRegex(kernels, "^emu:32 emu:64, gfx(942|1100)$")

    def test_all_stages_run_without_history(self):
        self.assertLessEqual({"amd", "amdemu", "cuda", "asan", "tsan"}, self.planned()[0])

    def test_a_stage_that_passes(self):
        run = self.run_script("test", "--stage", "quick")
        self.assertIn("scripts/test: 1 stages passed, 0 skipped, 0 failed, ", self.last_line(run))
        self.assertEqual(run.returncode, 0)

    def test_a_stage_that_fails(self):
        self.plant("scripts/quick-check", "exit 1")
        run = self.run_script("test", "--stage", "quick")
        self.assertIn("scripts/test: 0 stages passed, 0 skipped, 1 failed, ", self.last_line(run))
        self.assertEqual(run.returncode, 1)

    def test_a_stage_that_fails_as_if_it_were_skipped(self):
        self.plant("scripts/quick-check", "exit 77")
        run = self.run_script("test", "--stage", "quick")
        self.assertIn(" 0 skipped, 1 failed, ", self.last_line(run))

    def test_a_stage_that_skips_everything_has_not_passed(self):
        self.plant("tools/amdemu/setup.sh", "echo 'Temporary failure in name resolution'; exit 1")
        run = self.run_script("test", "--stage", "quick", "--stage", "amdemu")
        self.assertIn("   amdemu skipped\n", run.stdout)
        self.assertIn("scripts/test: 1 stages passed, 1 skipped, 0 failed, ", self.last_line(run))
        self.assertEqual(run.returncode, 0)

    def test_a_stage_whose_tests_were_all_skipped_has_not_passed(self):
        lines = "1/1 Test #1: card_test ....***Skipped   0.01 sec\n\n100% tests passed, 0 tests failed out of 1\n"
        self.plant_ctest(lines, "1/1 Test: card_test\nskipped: no card\nTest Passed.\n")
        run = self.run_script("test", "--stage", "cpu")
        self.assertIn("skipped: cpu: card_test: no card", run.stdout)
        self.assertIn("scripts/test: 0 stages passed, 1 skipped, 0 failed, ", self.last_line(run))
        self.assertTrue(self.last_line(run).endswith("; 0 tests passed, 0 failed, 1 skipped"), self.last_line(run))

    def test_cases_that_are_left_out_are_counted(self):
        self.plant_ctest(CTEST_LINES.format(second="Passed", percent=100, failed=0),
                         LAST_TEST.format(output="20 passed, 0 failed, 7 left out"))
        run = self.run_script("test", "--stage", "cpu")
        self.assertIn("\ncpu: 100% tests passed, 0 tests failed out of 2\n", run.stdout)
        self.assertIn("\ncpu: conformance.cpu.avx512: 20 passed, 0 failed, 7 left out\n", run.stdout)
        self.assertIn("   cpu passed, parts skipped\n", run.stdout)
        self.assertTrue(self.last_line(run).endswith(
            "; 20 cases passed, 0 failed, 7 left out; 2 tests passed, 0 failed, 1 skipped"), self.last_line(run))

    def test_a_test_that_ctest_skips_has_not_passed(self):
        self.plant_ctest(CTEST_LINES.format(second="***Skipped", percent=100, failed=0),
                         LAST_TEST.format(output="skipped: cpu (WICK_CPU=avx512)\n0 passed, 0 failed, 0 left out"))
        run = self.run_script("test", "--stage", "cpu")
        self.assertIn("\ncpu: 100% tests passed, 0 tests failed out of 2, 1 of them skipped\n", run.stdout)
        self.assertTrue(self.last_line(run).endswith("; 1 tests passed, 0 failed, 2 skipped"), self.last_line(run))

    def test_a_test_that_fails(self):
        self.plant_ctest(CTEST_LINES.format(second="***Failed  ", percent=50, failed=1),
                         LAST_TEST.format(output="19 passed, 1 failed, 7 left out"))
        run = self.run_script("test", "--stage", "cpu")
        self.assertIn("scripts/test: 0 stages passed, 0 skipped, 1 failed, ", self.last_line(run))
        self.assertTrue(self.last_line(run).endswith(
            "; 19 cases passed, 1 failed, 7 left out; 1 tests passed, 1 failed, 1 skipped"), self.last_line(run))
        self.assertEqual(run.returncode, 1)

    def summary_of(self, text):
        (self.root / "printed").write_text(text)
        return self.run_script("summary-of", str(self.root / "printed")).stdout

    def test_summaries_are_whole(self):
        tally = "5 passed, 0 failed, 2 left out"
        self.assertEqual(self.summary_of(f"rocm:0 took 3 s\n{tally}\n\n"), tally + "\n")
        self.assertEqual(self.summary_of("[  PASSED  ] 45 tests.\n[  SKIPPED ] 2 tests.\n"), "45 passed, 2 skipped\n")
        self.assertEqual(self.summary_of("[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n\n 1 FAILED TEST\n"),
                         "1 passed, 1 failed\n")
        self.assertEqual(self.summary_of(f"{tally}\n========= ERROR SUMMARY: 0 errors\n"), f"{tally}; ERROR SUMMARY: 0 errors\n")
        self.assertEqual(self.summary_of("144 objects, 0 complaints\n"), "144 objects, 0 complaints\n")

    CONFORMANCE = """echo 'cuda:0: a card, gfx1100'
echo 'left out, no kernel on a card, 2 cases: abs 2'
echo '5 passed, 0 failed, 2 left out'"""

    def plant_build(self, vendor):
        self.plant(f"build/{vendor}/bin/wick-conformance", self.CONFORMANCE)
        self.plant(f"build/{vendor}/bin/{vendor}_runtime_test",
                   "echo '[       OK ] CudaCard.IsDescribed'; sleep 0.1; echo '[  PASSED  ] 45 tests.'; echo '[  SKIPPED ] 2 tests.'")
        self.plant(f"build/{vendor}/lib/wick_{vendor}.so", "")

    def page(self, vendor, *arguments):
        trees = [part for folder in ("backends/gpu", "include/wick/abi", "src/scalar") for part in ("--tree", folder + "=0")]
        run = self.run_script(f"{vendor}-check", "--out", str(self.root / "page.md"), *trees, *arguments)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return (self.root / "page.md").read_text()

    def test_the_page_of_cuda_says_what_was_left_out(self):
        self.plant("bin/nvidia-smi", "echo 'a card, 9.0, 580'")
        self.plant_build("cuda")
        page = self.page("cuda", "--no-sanitizer")
        self.assertIn("| conformance | passed | 5 passed, 0 failed, 2 left out | ", page)
        self.assertIn("| module's runtime | passed | 45 passed, 2 skipped | ", page)
        self.assertIn("\nLeft out:\n- conformance: no kernel on a card, 2 cases: abs 2\n", page)

    def plant_rocm(self, *targets):
        self.plant_build("rocm")
        self.plant("build/rocm/bin/wick-conformance", self.CONFORMANCE.replace("cuda", "rocm"))
        self.plant("build/rocm/bin/rocm_memory_test", "echo '[  PASSED  ] 6 tests.'")
        self.plant("build/rocm/bin/rocm_kernel_test", "echo '[  PASSED  ] 12 tests.'")
        (self.root / "build/rocm/CMakeCache.txt").write_text(f"WICK_ROCM_TARGETS:STRING={';'.join(targets)}\n")
        held = json.dumps({target: {"wave": 32, "kernels": [f"k of {target}"]} for target in targets})
        self.plant("scripts/list-amd-objects", f"""echo '{held}' > "$2"; echo '1 objects, 0 complaints'""")
        for folder in ("backends/gpu", "include/wick/abi", "src/scalar"):
            (self.root / folder).mkdir(parents=True)

    def test_the_page_of_rocm_says_what_was_left_out(self):
        self.plant_rocm("gfx1100")
        page = self.page("rocm")
        self.assertIn("| rocm:0 a card, gfx1100: conformance | passed | 5 passed, 0 failed, 2 left out | ", page)
        self.assertIn("| rocm:0 a card, gfx1100: HIP calls on tensors | passed | 6 passed | ", page)
        self.assertIn("| rocm:0 a card, gfx1100: users' kernels | passed | 12 passed | ", page)
        self.assertIn("\nLeft out:\n- rocm:0 a card, gfx1100: conformance: no kernel on a card, 2 cases: abs 2\n", page)
        self.assertIn("| gfx1100 | 32 | 1 | executed |", page)

    # Each architecture waits until the other runs too; gfx1100 ends last.
    TOGETHER = """other=gfx1100; [ $AMDEMU_ARCH = gfx1201 ] || other=gfx1201
touch {root}/$AMDEMU_ARCH
for i in {{1..100}}; do [ -e {root}/$other ] && break; sleep 0.1; done
[ -e {root}/$other ] || echo alone
[ $AMDEMU_ARCH = gfx1201 ] || sleep 0.5
echo "left out, too large, 1 cases: $AMDEMU_ARCH"
{then}
echo '5 passed, 0 failed, 1 left out'"""

    def run_stand_in(self, then):
        """(exit status, rows of the architectures, the page, what was printed, the log)"""
        self.plant_rocm("gfx1100", "gfx1201")
        self.plant("build/rocm/bin/wick-conformance", self.TOGETHER.format(root=self.root, then=then))
        trees = [part for folder in ("backends/gpu", "include/wick/abi", "src/scalar") for part in ("--tree", folder + "=0")]
        run = self.run_script("rocm-check", "--out", str(self.root / "page.md"), "--arch", "gfx1100,gfx1201", "--jobs", "2", *trees,
                              AMDEMU_DIR="there")
        page = (self.root / "page.md").read_text()
        rows = [row.rsplit(" | ", 1)[0] for row in page.splitlines() if row.startswith("| gfx") and ":" in row]
        build = self.root / "build/rocm"
        self.assertEqual([path.name for path in build.glob("rocm-check.log*")], ["rocm-check.log"])
        return run.returncode, rows, page, run.stdout, (build / "rocm-check.log").read_text()

    def test_architectures_that_run_at_once_have_their_rows_in_order(self):
        status, rows, page, printed, log = self.run_stand_in("")
        self.assertEqual(status, 0, printed)
        tally = "passed | 5 passed, 0 failed, 1 left out"
        self.assertEqual(rows, [f"| {arch}, {arch}: {title} | {result}" for arch in ("gfx1100", "gfx1201") for title, result in (
            ("conformance", tally), ("HIP calls on tensors", "passed | 6 passed"),
            ("users' kernels", "passed | 12 passed"), ("gradients", tally), ("guarded, poisoned, reversed", tally))])
        self.assertNotIn("alone", log)
        self.assertLess(log.rindex("gfx1100, gfx1100: "), log.index("gfx1201, gfx1201: "))
        self.assertLess(page.index("- gfx1100, gfx1100: guarded"), page.index("- gfx1201, gfx1201: conformance"))
        for arch in ("gfx1100", "gfx1201"):
            self.assertIn(f"| {arch} | 32 | 1 | executed |", page)

    def test_an_architecture_that_fails_is_told_from_the_others(self):
        status, rows, page, printed, _ = self.run_stand_in("[ $AMDEMU_ARCH = gfx1201 ] || { echo FAILED abs; exit 3; }")
        self.assertEqual(status, 1, printed)
        self.assertEqual(rows[0], "| gfx1100, gfx1100: conformance | **failed** (3) | FAILED abs")
        self.assertEqual([" passed | " in row for row in rows], [False, True, True, True, True, True])
        self.assertIn("\nFAILED abs\n   gfx1100, gfx1100: conformance: FAILED (3), ", printed)
        self.assertIn("| gfx1100 | 32 | 1 | compiled only |", page)
        self.assertIn("| gfx1201 | 32 | 1 | executed |", page)


class Proofs(unittest.TestCase):
    """Which changes of the kernels a proof still covers."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPTS / "proof-status", self.root / "scripts")
        self.git("init", "-q")
        self.change("gpu/a.h", "int f() {\n  return 1;  // one\n}\n", "gpu/README.md", "old", "gpu/b.cmake", "set(x 1)")
        tree = self.git("rev-parse", "HEAD:gpu").strip()
        self.change("docs/proof/rocm.md", f"tree gpu {tree}\n", "docs/proof/cuda.md", f"tree gpu {tree}\n")

    def git(self, *arguments):
        who = {f"GIT_{who}_{part}": "x" for who in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        return subprocess.run(["git", "-C", self.root, *arguments], capture_output=True, text=True, check=True,
                              env={**os.environ, **who}).stdout

    def change(self, *files):
        for path, text in zip(files[::2], files[1::2], strict=True):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "a change")

    def status(self):
        run = subprocess.run([self.root / "scripts/proof-status"], capture_output=True, text=True, check=False)
        return run.stdout.split("\n")[0], run.returncode

    def test_comments_layout_and_readmes_are_covered(self):
        self.assertEqual(self.status(), ("rocm: proof current", 0))
        self.change("gpu/a.h", "// Gives 1.\nint f() { return 1; }\n", "gpu/README.md", "new")
        self.assertEqual(self.status(), ("rocm: proof current", 0))

    def test_code_and_other_files_are_not(self):
        for change in (("gpu/a.h", "int f() {\n  return 2;  // one\n}\n"), ("gpu/b.cmake", "set(x 2)"), ("gpu/c.h", "")):
            with self.subTest(change):
                self.change(*change)
                status, code = self.status()
                self.assertIn("rocm: proof stale since ", status)
                self.assertEqual(code, 1)
                self.git("reset", "-q", "--hard", "HEAD~1")


if __name__ == "__main__":
    unittest.main()
