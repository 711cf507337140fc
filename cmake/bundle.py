"""Copies the shared libraries of others that installed binaries need into a folder, where they find each other.

    bundle.py --into FOLDER BINARY...

The binaries themselves look there because CMake wrote the folder into their run path. Libraries that every system has stay out
(OF_THE_SYSTEM of notices.py).
"""
import argparse
import pathlib
import shutil
import subprocess

import notices


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", required=True, type=pathlib.Path)
    parser.add_argument("binaries", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.into, ignore_errors=True)
    options.into.mkdir(parents=True)
    for library in sorted(notices.brought(options.binaries)):
        copy = options.into / notices.name_of(library)
        shutil.copyfile(library, copy)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", copy], check=True)


main()
