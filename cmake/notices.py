"""Writes THIRD_PARTY_NOTICES: the copyright and licence of all code of others that a package brings.

    notices.py --out FILE --compiler CXX [--linked ARCHIVE]... [--without-libraries] BINARY...

That code is the shared libraries that the binaries need, found with ldd and put into a wheel by auditwheel and into a tarball by
bundle.py (--without-libraries: a package that brings none of them); the static libraries among --linked and libstdc++; and the
packages of COMPILED_IN. Their texts are Debian's /usr/share/doc/PACKAGE/copyright, and the licences in Python's package nanobind.
"""
import argparse
import importlib.metadata
import pathlib
import re
import subprocess

# Debian's packages of headers and bitcode, by the binaries that hold code of them.
COMPILED_IN = {
    "libwick.so": ["libhwy-dev", "libsimdjson-dev"],
    "wick": ["libcli11-dev"],
    "wick_rocm.so": ["rocm-device-libs"],
}
# Static libraries of no Debian package.
LICENCES = {
    "libcudart_static.a": "The CUDA runtime of NVIDIA's CUDA Toolkit, redistributed under attachment A of the CUDA Toolkit End User\n"
                          "License Agreement, https://docs.nvidia.com/cuda/eula/. (C) NVIDIA Corporation.",
}
# A system for which wheels and tarballs are made has these; none brings them.
OF_THE_SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so\.\d+$")
COMMON_LICENSE = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries(binary):
    """Files of the shared libraries that a binary needs, directly and through others."""
    for line in output("ldd", binary).splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if not arrow or OF_THE_SYSTEM.match(name):
            continue
        if not place.startswith("/"):
            raise SystemExit(f"notices.py: {binary} needs {name}: {place}")
        yield pathlib.Path(place.split(" (")[0]).resolve()


def name_of(library):
    """The name by which binaries ask for a library."""
    found = re.search(r"SONAME +(\S+)", output("objdump", "-p", library))
    return found.group(1) if found else library.name


def package_of(file):
    """Debian's package that has this file; None if it is in no package."""
    for path in (str(file), str(file).removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def debian_notice(package):
    return pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8").strip()


def nanobind_notices():
    """nanobind's own licence, and its hash table's, which stands at the top of its header."""
    files = importlib.metadata.files("nanobind")
    licence = next(file for file in files if file.name == "LICENSE")
    yield "nanobind", licence.read_text().strip()
    header = next(file for file in files if file.name == "robin_map.h")
    yield "robin-map (in nanobind)", re.match(r"/\*\*(.*?)\*/", header.read_text(), re.DOTALL).group(1).replace("\n *", "\n").strip()


def notice_of(file):
    """(title, text) of a library."""
    package = package_of(file)
    if package:
        name = name_of(file)
        names = file.name if file.name.startswith(name) or file.suffix == ".a" else f"{name}, {file.name}"
        return f"{names} (Debian's {package})", debian_notice(package)
    if file.name in LICENCES:
        return file.name, LICENCES[file.name]
    # Who builds on another system than Debian has the library from there, with its licence.
    print(f"notices.py: no Debian package has {file}: THIRD_PARTY_NOTICES lacks it")
    return None


def brought(binaries):
    """Files of the shared libraries that the binaries need, themselves left out."""
    return {library for binary in binaries for library in libraries(binary)} - {binary.resolve() for binary in binaries}


def notices(binaries, archives, with_libraries):
    """(title, text) of each part."""
    files = brought(binaries) if with_libraries else set()
    files.update(archive.resolve() for archive in archives)
    yield from filter(None, map(notice_of, sorted(files, key=lambda file: file.name)))
    for binary in binaries:
        name = "_wick" if binary.name.startswith("_wick.") else re.sub(r"\.so(\.\d+)+$", ".so", binary.name)
        for package in COMPILED_IN.get(name, []):
            if pathlib.Path("/usr/share/doc", package).exists():
                yield f"{package}, compiled into {name}", debian_notice(package)
        if name == "_wick":
            yield from nanobind_notices()


def page(parts):
    """The parts, joined where they have one text, and the licences that they refer to."""
    whose = {}
    for title, text in parts:
        whose.setdefault(text, []).append(title)
    licences = sorted({name for text in whose for name in COMMON_LICENSE.findall(text)})
    sections = [("; ".join(names), text) for text, names in whose.items()]
    for name in licences:
        file = pathlib.Path("/usr/share/common-licenses", name)
        if file.exists():
            sections.append((str(file), file.read_text(encoding="utf-8").strip()))
    rule = "=" * 100
    return "\n".join(f"{rule}\n{title}\n{rule}\n\n{text}\n" for title, text in sections)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--linked", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--without-libraries", action="store_true")
    parser.add_argument("binaries", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    runtime = pathlib.Path(output(options.compiler, "-print-file-name=libstdc++.a").strip())
    parts = notices(options.binaries, [runtime, *options.linked], not options.without_libraries)
    options.out.write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
