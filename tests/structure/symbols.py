"""What wick builds runs on glibc 2.34: no library or program of it asks for a newer symbol."""
import pathlib
import re
import subprocess

NEWEST = (2, 34)
_NEEDED = re.compile(r"\*UND\*.*[\s(]GLIBC_(\d+(?:\.\d+)+)\)?\s+(\S+)$")


def too_new(listing):
    """(symbol, version) of what `objdump -T` lists as undefined and newer than NEWEST."""
    for line in listing.splitlines():
        match = _NEEDED.search(line)
        if match and tuple(map(int, match.group(1).split("."))) > NEWEST:
            yield match.group(2), match.group(1)


def binaries(build):
    """Libraries and programs of a build: ELF files in its folders lib and bin, links left out."""
    for folder in ("lib", "bin"):
        for path in sorted((pathlib.Path(build) / folder).glob("*")):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    if file.read(4) == b"\x7fELF":
                        yield path


def violations(build):
    result, seen = [], 0
    for path in binaries(build):
        seen += 1
        run = subprocess.run(["objdump", "-T", path], capture_output=True, text=True)
        if run.returncode:
            result.append(f"{path}: objdump -T failed: {run.stderr.strip()}")
        result += [f"{path.parent.name}/{path.name}: {symbol} is of GLIBC_{version}, newer than {NEWEST[0]}.{NEWEST[1]}"
                   for symbol, version in too_new(run.stdout)]
    if seen == 0:
        result.append(f"{build}: no library and no program in lib/ and bin/")
    return result
