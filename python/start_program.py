#!python
"""Becomes the program wick of the package wick, which lies in the package's folder beside libwick."""
import importlib.util
import os
import sys

spec = importlib.util.find_spec("wick")  # does not import it
if spec is None or not spec.submodule_search_locations:
    sys.exit(f"wick: {sys.executable} finds no package wick")
program = os.path.join(spec.submodule_search_locations[0], "bin", "wick")
try:
    os.execv(program, ["wick", *sys.argv[1:]])
except OSError as error:
    sys.exit(f"wick: {program}: {error.strerror}")
