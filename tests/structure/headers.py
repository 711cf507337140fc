"""Each public header compiles alone, with include/ as the only folder of ours."""
import pathlib
import subprocess

import tree


def violations(root, compiler):
    result = []
    for name in tree.cpp_files(root):
        if not str(name).startswith("include/wick/"):
            continue
        header = str(name).removeprefix("include/")
        command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", "include", "-include", header,
                   "-x", "c++", "/dev/null"]
        run = subprocess.run(command, cwd=pathlib.Path(root), capture_output=True, text=True)
        if run.returncode:
            first = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr.strip())
            result.append(f"{name}: does not compile alone: {first}")
    return result
