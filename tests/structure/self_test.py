#!/usr/bin/env python3
"""Plants one violation of each rule in a small tree and expects the message; and nothing in the tree without one."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import comments
import docs
import environment
import floors
import headers
import names
import ops
import readmes
import rows
import symbols
import tree
import version
import words

_README = "what\nit\nis\nand\nsays\n"



def manifest(**headers):
    """docs/reference/ops.json of these ops, each given by its header."""
    return json.dumps({"ops": [{"name": name, "header": header, "overloads": [{"result": "Tensor"}]} for name, header in headers.items()]})


# A tree in which all is well.
_SOUND = {
    "CMakeLists.txt": "project(wick VERSION 0.2.0 LANGUAGES CXX)\n",
    "CHANGELOG.md": "# Changelog\n\n## [0.2.0] - Unreleased\n\n### Added\n\n#### Models\n\n## [0.1.0] - 2026-12-01\n\n### Fixed\n",
    "docs/reference/ops.json": manifest(neg="ops/elementwise.h", reshape="ops/shape.h"),
    "include/wick/README.md": _README,
    "include/wick/wick.h": '#pragma once\n#include "wick/ops/elementwise.h"\n',
    "include/wick/abi/op.h": "#pragma once\nstruct Op { const char *name, *operands; };\n",
    "include/wick/abi/ops/reduce.h":
        '#pragma once\n#include "wick/abi/op.h"\ninline constexpr Op kSum{"sum", "T:S"};\n// inline constexpr Op kGone{"gone", "T:T"};\n',
    "src/scalar/README.md": _README,
    "src/scalar/unary.h": 'struct Neg { static constexpr Op op{"neg", "T:T"}; };\n',
    "include/wick/base/export.h": "#pragma once\n#define WICK_API\n",
    "include/wick/core/tensor.h": "#pragma once\n#include <vector>\nstruct Tensor { std::vector<int> shape; };\n",
    "include/wick/ops/elementwise.h":
        '#pragma once\n#include "wick/base/export.h"\n#include "wick/core/tensor.h"\nWICK_API Tensor neg(Tensor x);\n',
    "include/wick/ops/shape.h":
        '#pragma once\n#include "wick/base/export.h"\n#include "wick/core/tensor.h"\nWICK_API Tensor reshape(const Tensor& x);\n',
    "src/core/README.md": _README,
    "src/core/device.cpp": '#include "wick/core/tensor.h"\nint rocm = 0;\n',
    "src/ops/README.md": _README,
    "src/ops/norm.cpp":
        '#include "wick/ops/elementwise.h"\n// #include "io/gguf.h"\nconst char* name = "rocm";  // as on cuda\nint kRocm, as_rocm, n = 1\'000;\n',
    "src/io/README.md": _README,
    "src/io/gguf.h": '#include "wick/core/tensor.h"\n',
    "src/text/README.md": _README,
    "src/text/bpe.h": "",
    "src/models/README.md": _README,
    "src/models/llama.cpp": '#include "text/bpe.h"\n',
    "backends/cpu/README.md": _README,
    "backends/cpu/table.h": '#include "wick/abi/ops/reduce.h"\n#include "walk.h"\n',
    "backends/cpu/walk.h": "",
    "backends/gpu/README.md": _README,
    "backends/gpu/runtime/README.md": _README,
    "backends/gpu/runtime/rt_rocm.cpp": "namespace rocm {}\n",
    "src/base/README.md": _README,
    "src/base/parallel.cpp": 'int n = environment_integer("WICK_THREADS");  // not "WICK_CORES"\n',
    "docs/reference/environment.md": "| variable | values |\n|---|---|\n| `WICK_THREADS`, `OTHERS` | see `WICK_ELSE` |\n",
    "docs/README.md": _README,
    "docs/guide.md": "# A guide\n\n## How `wick` works: 1, 2\n\nSee [the version](../CHANGELOG.md#added \"t\"), [here](#how-wick-works-1-2), [io](../src/io/),\n"
                     "[ops][1] and <https://example.org>.\n\n    [code](gone.md)\n\nNo `[link](gone.md)`.\n\n[1]: ../src/ops/norm.cpp\n\n"
                     "```python\nawait f()\n```\n\n  ```cpp\n  int x = 1;\n  ```\n\n```json\n{}\n```\n",
    "tests/docs/README.md": _README,
    "tests/docs/CMakeLists.txt": "set(pages guide.md other.md)\n",
    "cli/README.md": _README,
    "cli/main.cpp": '#include "commands.h"\n#include "wick/wick.h"\n',
    "cli/commands.h": "",
    "tests/unit/README.md": _README,
    "tests/unit/ops/shape_test.cpp": '#include "backends/cpu/table.h"\nvoid test() { reshape({}); }\n',
}


def make_tree(root, changes):
    for name, text in (_SOUND | changes).items():
        if text is not None:
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


class InATree(unittest.TestCase):
    def of(self, check, changes, *arguments):
        with tempfile.TemporaryDirectory() as root:
            make_tree(root, changes)
            return check(pathlib.Path(root), *arguments)

    def expect(self, check, changes, *parts):
        found = self.of(check, changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])


class Floors(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(floors.violations, {}), [])

    def test_every_floor_has_a_folder(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        self.assertEqual([folder for folder in floors.FLOORS if not any((root / up / folder).is_dir() for up in ("src", "include/wick"))], [])

    def test_a_higher_floor(self):
        self.expect(floors.violations, {"src/ops/norm.cpp": '// why\n#include "io/gguf.h"\n'},
                    "src/ops/norm.cpp:2: ops/norm.cpp (floor 3) includes io/gguf.h (floor 4)")

    def test_a_public_header_stands_on_its_folders_floor(self):
        self.expect(floors.violations, {"include/wick/core/tensor.h": '#include "wick/ops/elementwise.h"\n'},
                    "core/tensor.h (floor 2) includes ops/elementwise.h (floor 3)")

    def test_a_path_that_climbs_is_the_file_that_it_reaches(self):
        self.expect(floors.violations, {"src/ops/norm.cpp": '  #  include "../io/gguf.h"\n'}, "ops/norm.cpp (floor 3) includes io/gguf.h (floor 4)")

    def test_angle_brackets_are_read_too(self):
        self.expect(floors.violations, {"src/core/device.cpp": "#include <wick/ops/elementwise.h>\n"},
                    "core/device.cpp (floor 2) includes ops/elementwise.h (floor 3)")

    def test_folders_of_floor_4_do_not_know_each_other(self):
        self.expect(floors.violations, {"src/text/bpe.h": '#include "io/gguf.h"\n'}, "text/bpe.h (floor 4) includes io/gguf.h (floor 4)")

    def test_models_do_not_read_files(self):
        self.expect(floors.violations, {"src/models/llama.cpp": '#include "io/gguf.h"\n'}, "models/llama.cpp (floor 5) includes io/gguf.h (floor 4)")

    def test_nothing_includes_a_backend(self):
        self.expect(floors.violations, {"src/core/device.cpp": '#include "backends/cpu/table.h"\n'},
                    "core/device.cpp (floor 2) includes backends/cpu/table.h (a backend)")

    def test_a_backend_does_not_include_another(self):
        self.expect(floors.violations, {"backends/cpu/table.h": '#include "../gpu/runtime/rt_rocm.cpp"\n'},
                    "backends/cpu/table.h (a backend) includes backends/gpu/runtime/rt_rocm.cpp (a backend)")

    def test_a_backend_does_not_know_tensors(self):
        self.expect(floors.violations, {"backends/cpu/table.h": '#include "wick/core/tensor.h"\n'},
                    "backends/cpu/table.h (a backend) includes core/tensor.h (floor 2)")

    def test_the_program_includes_the_public_face_alone(self):
        self.expect(floors.violations, {"cli/main.cpp": '#include "text/bpe.h"\n'}, "cli/main.cpp (floor 9) includes text/bpe.h (floor 4)")

    def test_the_header_of_all_is_for_users(self):
        self.expect(floors.violations, {"src/ops/norm.cpp": '#include "wick/wick.h"\n'}, "ops/norm.cpp (floor 3) includes wick.h")

    def test_a_public_header_includes_no_private_one(self):
        self.expect(floors.violations, {"src/core/state.h": "", "include/wick/core/tensor.h": '#include "core/state.h"\n'},
                    "core/tensor.h (floor 2) is public and includes src/core/state.h, which is not")

    def test_a_public_header_includes_no_third_party(self):
        self.expect(floors.violations, {"include/wick/core/tensor.h": "#include <fmt/core.h>\n"}, "includes <fmt/core.h>: a public header")

    def test_formulas_include_no_standard_header(self):
        self.expect(floors.violations, {"src/scalar/README.md": _README, "src/scalar/unary.h": "#include <vector>\n"},
                    "scalar/unary.h (floor 1) includes <vector>: device compilers")

    def test_a_new_folder_needs_a_floor(self):
        self.expect(floors.violations, {"src/audio/wav.cpp": ""}, "src/audio: a folder without a floor")


class Names(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(names.vendor_violations, {}), [])
        self.assertEqual(self.of(names.machine_violations, {}), [])

    def test_a_vendors_name_as_an_identifier(self):
        for word in ("cuda", "hip", "rocm"):
            self.expect(names.vendor_violations, {"src/ops/norm.cpp": f"/* {word} */\nint x = Device::{word}(0);\n"},
                        f"src/ops/norm.cpp:2: the identifier {word} stands outside of backends/gpu")

    def test_raw_texts_and_characters_hide_nothing_that_follows(self):
        code = "auto a = R\"x(\"cuda\")x\"; char q = '\"'; int cuda = 1'0; // \"\nchar p = '\\'';\n"
        self.expect(names.vendor_violations, {"src/ops/norm.cpp": code}, "src/ops/norm.cpp:1: the identifier cuda")

    def test_a_folder_of_one_machine(self):
        for path in ("/" + "work/main/x", "/home" + "/ann/wick", "/" + "root/.cache"):
            self.expect(names.machine_violations, {"src/ops/README.md": f"See {path}.\n" * 1}, "src/ops/README.md:1:", "names one machine")

    def test_a_host_of_a_private_network(self):
        for host in ("10.1." + "2.3", "https://" + "mirror/", "build.corp" + "/x"):
            self.expect(names.machine_violations, {"src/ops/norm.cpp": f"// {host} has it\n"}, "src/ops/norm.cpp:1:", "names one machine")


class Readmes(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(readmes.violations, {}), [])

    def test_a_folder_without_one(self):
        self.expect(readmes.violations, {"backends/gpu/runtime/README.md": None}, "backends/gpu/runtime: no README.md")

    def test_one_that_is_too_short_or_long(self):
        self.expect(readmes.violations, {"src/io/README.md": "io\n"}, "src/io/README.md: 1 lines, expected 5 to 15")
        self.expect(readmes.violations, {"src/io/README.md": "io\n" * 16}, "src/io/README.md: 16 lines, expected 5 to 15")


class Environment(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(environment.violations, {}), [])

    def test_a_variable_without_a_line(self):
        self.expect(environment.violations, {"backends/cpu/walk.h": 'auto x = getenv("WICK_CPU");\n'},
                    "backends/cpu/walk.h: reads WICK_CPU, which docs/reference/environment.md does not have")

    def test_a_line_without_a_reader(self):
        self.expect(environment.violations, {"docs/reference/environment.md": "| `WICK_THREADS` | |\n| `WICK_GONE` | |\n"},
                    "docs/reference/environment.md: has WICK_GONE, which nothing reads")


class Version(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(version.violations, {}), [])

    def test_another_number_than_the_projects(self):
        self.expect(version.violations, {"CMakeLists.txt": "project(wick VERSION 0.3.0 LANGUAGES CXX)\n"},
                    "CHANGELOG.md: begins with 0.2.0, CMakeLists.txt has 0.3.0")
        self.expect(version.violations, {"CHANGELOG.md": "# Changelog\n"}, "CHANGELOG.md: begins with no version")
        self.expect(version.violations, {"CMakeLists.txt": "project(wick)\n"}, "CMakeLists.txt: no project(wick VERSION")
        self.expect(version.violations, {"CHANGELOG.md": None}, "no CHANGELOG.md")

    def test_another_form(self):
        self.expect(version.violations, {"CHANGELOG.md": "## [0.2.0] - Unreleased\n### New\n"}, 'CHANGELOG.md:2: "### New", expected one of Added')
        self.expect(version.violations, {"CHANGELOG.md": "## [0.2.0] - Unreleased\n## 0.1.0\n"}, 'CHANGELOG.md:2: "## 0.1.0", expected "## [')
        self.expect(version.violations, {"CHANGELOG.md": "## [0.2.0] - Unreleased\n## [0.1.0] - Unreleased\n"},
                    "CHANGELOG.md:2: a version below another one is released")
        self.expect(version.violations, {"CHANGELOG.md": "## [0.2.0] - Unreleased\n## [0.3.0] - 2026-12-01\n"}, "do not fall")


class Docs(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(docs.violations, {}), [])

    def test_a_link_to_a_file_that_is_not_there(self):
        self.expect(docs.violations, {"src/io/README.md": _README + "[x](gguf.cpp)\n"}, "src/io/README.md:6: the link gguf.cpp leads to src/io/gguf.cpp, which")
        self.expect(docs.violations, {"README.md": "`a` [b `c`](gone/) `d`\n"}, "README.md:1: the link gone/ leads to gone, which does not exist")
        self.expect(docs.violations, {"README.md": "[a][1]\n\n[1]: gone.md\n"}, "README.md:3: the link gone.md")
        self.expect(docs.violations, {"README.md": "[![a](gone.svg)](docs/guide.md)\n"}, "gone.svg")

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.expect(docs.violations, {"README.md": "# Here\n[x](#there)\n"}, "README.md:2: the link #there leads to a heading that README.md does not have")
        self.expect(docs.violations, {"README.md": "[x](docs/guide.md#how-it-works)\n"}, "a heading that docs/guide.md does not have")

    def test_headings_have_githubs_anchors(self):
        text = "# Übung: `a_b`\n## A\n## A ##\n```\n# no heading\n```\n### [C](x.md), *d* (e)\n"
        self.assertEqual(docs.anchors(text), {"übung-a_b", "a", "a-1", "c-d-e"})

    def test_code_that_is_none(self):
        self.expect(docs.violations, {"README.md": "\n```python\nx = 1\nx = (\n```\n"}, "README.md:4: the block of Python does not compile")
        self.expect(docs.violations, {"README.md": "\n```json\n{x}\n```\n"}, "README.md:3: the block of JSON does not parse")

    def test_a_program_that_nothing_compiles(self):
        program = "```cpp\nint main() {}\n```\n"
        self.expect(docs.violations, {"docs/new.md": program}, "docs/new.md:2: no test compiles this program")
        self.assertEqual(self.of(docs.violations, {"README.md": program, "docs/other.md": program}), [])


class Comments(InATree):
    def names(self, source, *paths):
        """Expects complaints about these paths, and no others, in the comments of a source file of ops."""
        found = self.of(comments.violations, {"src/ops/norm.cpp": source})
        self.assertEqual([line.split(" names ")[1].split(",")[0] for line in found], list(paths), found)

    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(comments.violations, {}), [])

    def test_a_file_that_is_gone(self):
        self.expect(comments.violations, {"src/ops/norm.cpp": "int n;\n// See ops/gone.h.\n"},
                    "src/ops/norm.cpp:2: the comment names ops/gone.h, which does not exist")
        self.names("/* as in\n gone.cpp */", "gone.cpp")

    def test_a_folder_that_is_gone(self):
        self.names("// what gone/ has, and src/gone", "gone/", "src/gone")

    def test_one_of_several_that_is_gone(self):
        self.names("// io/{gguf,gone}.h, ops/*.h, ops/*.py", "io/gone.h", "ops/*.py")

    def test_paths_from_the_places_that_comments_use(self):
        self.names("// src/io/gguf.h io/gguf.h, wick/abi/op.h; core/tensor.h: norm.cpp's; ../io/gguf.h, runtime/rt_rocm.cpp, unit/ops/, llama.cpp.")

    def test_a_file_of_another_folder_needs_its_path(self):
        self.names("// models/norm.cpp", "models/norm.cpp")

    def test_what_is_no_path_of_the_repository(self):
        self.names("// <hip/gone.h> /proc/gone.h https://example.org/gone.h dy/dx, 3/4 and/or $HOME/gone.h config.json build/cpu/gone.json x.h()")

    def test_code_and_texts_are_no_comments(self):
        self.names('const char* path = "gone.h";\n')

    def test_a_document_outside_of_the_repository(self):
        for document in ("DESIGN", "SPEC", "the plan", "The plan"):
            self.expect(comments.violations, {"src/ops/norm.cpp": f"// {document} says so. ADESIGN of the planner.\n"},
                        f'src/ops/norm.cpp:1: the comment names "{document}"')

    def test_comments_of_other_languages(self):
        self.expect(comments.violations, {"scripts/x.py": '"""What it does:\nsee gone.h."""\ns = "gone.h"\n'}, "scripts/x.py:2:", "gone.h")
        self.expect(comments.violations, {"scripts/x.py": 's = "# gone.h"  # gone.py\n'}, "scripts/x.py:1:", "gone.py")
        self.expect(comments.violations, {"scripts/x": "#!/usr/bin/env python3\n# gone.h\n"}, "scripts/x:2:", "gone.h")
        self.expect(comments.violations, {"scripts/x": "#!/bin/bash\ncat gone.h\n# gone.h\n"}, "scripts/x:3:", "gone.h")
        self.expect(comments.violations, {"CMakeLists.txt": "set(x gone.h)\n  # gone.h\n"}, "CMakeLists.txt:2:", "gone.h")


class Words(InATree):
    def of_kernel(self, text):
        return self.of(words.violations, {"backends/gpu/kernels/rope.h": text})

    def expect_word(self, word, comment):
        found = self.of_kernel(f"int n;\n{comment}\nint m;\n")
        self.assertEqual(len(found), 1, found)
        self.assertIn(f'backends/gpu/kernels/rope.h:2: the comment says "{word}": ', found[0])

    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(words.violations, {}), [])

    def test_every_word(self):
        for word in ("behind", "what", "none", "those of", "that of", "told", "so far", "by way of"):
            self.expect_word(word, f"// a pack, {word} rows")
            self.expect_word(word, f"int k;  // {word}")
            self.expect_word(word, f"/* {word} */")
            if word != "none":
                self.expect_word(word, f"/// {word.capitalize()} rows.")

    def test_a_phrase_that_wraps(self):
        self.expect_word("those of", "  /// The rows and those\n  /// of the next tile.")
        self.expect_word("so far", "// The sum so\n// far.")

    def test_names_of_the_code_and_parts_of_words(self):
        self.assertEqual(self.of_kernel("// `none`, none(), None, whatever, somewhat; so, far; so farther; retold; that, of all\n"), [])

    def test_code_and_texts(self):
        self.assertEqual(self.of_kernel('int what = none; const char* text = "told so far, behind";\n'), [])

    def test_folders_that_do_not_keep_the_list(self):
        self.assertEqual(self.of(words.violations, {"src/ops/norm.cpp": "// what " + "is " * 40 + "none\n", "bench/main.cpp": "// behind\n"}), [])
        self.expect(words.violations, {"src/ops/norm.cpp": "// what is behind\n"}, 'src/ops/norm.cpp:1: the comment says "behind": ')

    def test_comments_and_docstrings_of_python(self):
        def of(text):
            return self.of(words.violations, {"python/wick/nn.py": text})
        self.assertEqual(of('"""The layers\n\nand those\nof others."""\n'),
                         ['python/wick/nn.py:3: the comment says "those of": repeat the noun'])
        self.assertEqual(of("x = None\ny = 1  # what x is\n"), ['python/wick/nn.py:2: the comment says "what": name the thing'])
        self.assertEqual(of(f'"""None, {"x" * 120}."""\nwhat = "none, told"\n'), [])

    def test_a_wide_comment(self):
        wide = "// " + "γ" * 97
        self.assertEqual(self.of_kernel(f"int n;\n{wide}\n"), [])
        self.assertEqual(self.of_kernel(f"int n;\n//\n{wide}y\n"),
                         ["backends/gpu/kernels/rope.h:3: the comment ends in column 101, expected at most 100"])
        self.assertEqual(self.of_kernel(f"int n = {'1' * 100};\n"), [])
        self.assertEqual(len(self.of_kernel(f"int n = {'1' * 90};  // one\n")), 1)

    def test_a_limit_called_most(self):
        self.expect(words.violations, {"src/ops/norm.cpp": "// kMostRows\nconstexpr int kMostRows = 1;\n"},
                    "src/ops/norm.cpp:2: the name kMostRows: limits are called kMax*")
        self.expect(words.violations, {"src/text/bpe.h": "constexpr int kMost = 1;\n"}, "src/text/bpe.h:1: the name kMost:")
        self.assertEqual(self.of(words.violations, {"src/ops/norm.cpp": "int kMostly, almostRows;\n", "bench/main.cpp": "int kMostRows;\n"}), [])

    def test_a_type_called_place(self):
        for kind in ("struct", "class", "enum class"):
            self.expect(words.violations, {"src/ops/norm.cpp": f"{kind} Place {{}};\n"}, "src/ops/norm.cpp:1: the name Place: say which place")
        self.assertEqual(self.of(words.violations, {"src/ops/norm.cpp": "struct Placement {}; class Places {};\n"}), [])


class Headers(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(headers.violations, {}, _COMPILER), [])

    def test_a_header_that_leans_on_another(self):
        found = self.of(headers.violations, {"include/wick/ops/shape.h": "#pragma once\nTensor reshape(const Tensor& x);\n"}, _COMPILER)
        self.assertEqual(len(found), 1, found)
        self.assertIn("include/wick/ops/shape.h: does not compile alone:", found[0])
        self.assertIn("Tensor", found[0])


class Ops(InATree):
    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(ops.violations, {}), [])

    def test_the_hash_is_the_headers(self):
        self.assertEqual(ops.id_of("a"), 0xaf63dc4c8601ec8c)  # FNV-1a's published value; abi_test has the header's

    def test_two_ops_of_one_name(self):
        self.expect(ops.violations, {"src/scalar/binary.h": 'struct Sum { static constexpr Op op{"sum", "TT:T"}; };\n'},
                    "src/scalar/binary.h: the op sum has the id of sum (include/wick/abi/ops/reduce.h)")

    def test_a_formula_of_one_line_is_a_record(self):
        self.expect(ops.violations, {"src/scalar/binary.h": 'WICK_FORMULA(Sum, "sum", "TT:T", FloatTypes, kShort, (T a, T b), a + b);\n'},
                    "src/scalar/binary.h: the op sum has the id of sum (include/wick/abi/ops/reduce.h)")

    def test_two_records_in_one_file(self):
        text = _SOUND["src/scalar/unary.h"]
        self.expect(ops.violations, {"src/scalar/unary.h": text + text}, "src/scalar/unary.h: the op neg has two records")

    def test_two_names_of_one_hash(self):
        self.expect(lambda root: ops.violations(root, id_of=len), {}, "src/scalar/unary.h: the op neg has the id of sum")

    def test_a_name_that_is_no_identifier(self):
        self.expect(ops.violations, {"src/scalar/unary.h": 'struct Neg { static constexpr Op op{"Neg", "T:T"}; };\n'}, '"Neg", expected')

    def test_no_records(self):
        changes = {"src/scalar/unary.h": None, "include/wick/abi/ops/reduce.h": None, "backends/cpu/table.h": None}
        self.expect(ops.violations, changes, "no records of ops")


class Rows(InATree):
    def listing(self, lines):
        """A program that lists these rows, as wick-conformance --list does."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "wick-conformance"
        program.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(lines) + "\nEND\n")
        program.chmod(0o755)
        return program

    def test_a_sound_tree_has_no_violation(self):
        self.assertEqual(self.of(rows.violations, {}, self.listing(["neg  f32", "sum"])), [])

    def test_a_registered_op_without_a_row(self):
        self.assertEqual(self.of(rows.violations, {}, self.listing(["neg"])),
                         ["include/wick/abi/ops/reduce.h: the op sum has no conformance row"])

    def test_a_public_function_without_a_row(self):
        ops_now = manifest(neg="ops/elementwise.h", softsign="ops/elementwise.h", reshape="ops/shape.h")
        self.assertEqual(self.of(rows.violations, {"docs/reference/ops.json": ops_now}, self.listing(["neg", "sum"])),
                         ["include/wick/ops/elementwise.h: softsign has no conformance row"])

    def test_a_view_without_a_unit_test(self):
        found = self.of(rows.violations, {"tests/unit/ops/shape_test.cpp": "// reshape(x)\n"}, self.listing(["neg", "sum"]))
        self.assertEqual(found, ["include/wick/ops/shape.h: reshape has neither a conformance row nor a test in tests/unit/ops/shape_test.cpp"])

    def test_a_program_that_fails_is_no_proof(self):
        self.assertIn("--list failed", self.of(rows.violations, {}, "false")[0])


class Symbols(unittest.TestCase):
    def library(self, source):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        lib = pathlib.Path(folder.name) / "lib"
        lib.mkdir()
        (lib / "README").write_text("not a library\n")
        subprocess.run([_COMPILER, "-shared", "-fPIC", "-x", "c++", "-", "-x", "none", "-lm", "-o", lib / "wick_x.so"], input=source,
                       text=True, check=True)
        return folder.name

    def test_symbols_up_to_the_limit_are_fine(self):
        self.assertEqual(symbols.violations(self.library('#include <cstdio>\nvoid f() { puts("x"); }\n')), [])

    def test_a_newer_symbol(self):
        # arc4random came with glibc 2.36.
        found = symbols.violations(self.library('extern "C" unsigned arc4random();\nunsigned f() { return arc4random(); }\n'))
        self.assertEqual(found, ["lib/wick_x.so: arc4random is of GLIBC_2.36, newer than 2.34"])

    def test_versions_are_numbers_not_texts(self):
        line = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_{}) f"
        self.assertEqual(list(symbols.too_new(line.format("2.4"))), [])
        self.assertEqual(list(symbols.too_new(line.format("2.2.5"))), [])
        self.assertEqual(list(symbols.too_new(line.format("2.100"))), [("f", "2.100")])

    def test_an_empty_build_is_no_proof(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("no library and no program", symbols.violations(folder)[0])


class Tree(unittest.TestCase):
    def test_an_include_in_a_comment_does_not_count(self):
        text = '/*\n#include "a.h"\n*/\n// #include "b.h"\nauto s = "/*";\n#include <c.h>\n'
        self.assertEqual(list(tree.includes(text)), [(6, "c.h", False)])


_COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "g++"
unittest.main()
