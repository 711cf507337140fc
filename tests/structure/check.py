#!/usr/bin/env python3
"""Checks the source tree: see README.md. Prints a line per violation; exit status 1 if there is one."""
import argparse
import pathlib
import sys

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
import version
import words


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path, help="the source tree")
    parser.add_argument("--compiler", help="also compiles each public header alone, with this compiler")
    parser.add_argument("--build", type=pathlib.Path, help="also reads the symbols of this build's libraries and programs")
    parser.add_argument("--conformance", help="also asks this wick-conformance for a row of each op")
    options = parser.parse_args()

    found = {
        "floors": floors.violations(options.root),
        "vendors' names": names.vendor_violations(options.root),
        "machines' names": names.machine_violations(options.root),
        "ops": ops.violations(options.root),
        "READMEs": readmes.violations(options.root),
        "environment variables": environment.violations(options.root),
        "comments": comments.violations(options.root),
        "words": words.violations(options.root),
        "version": version.violations(options.root),
        "docs": docs.violations(options.root),
    }
    if options.compiler:
        found["headers alone"] = headers.violations(options.root, options.compiler)
    if options.build:
        found["glibc symbols"] = symbols.violations(options.build)
    if options.conformance:
        found["conformance rows"] = rows.violations(options.root, options.conformance)
    for lines in found.values():
        for line in lines:
            print(line)
    total = sum(len(lines) for lines in found.values())
    print(f"structure: {', '.join(found)}: {total or 'no'} violation{'' if total == 1 else 's'}")
    return 1 if total else 0


sys.exit(main())
