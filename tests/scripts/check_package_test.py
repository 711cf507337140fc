#!/usr/bin/env python3
"""Plants one fault of each kind in small packages and expects what scripts/check-package says."""
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_NAME = "wick-1.0-cp312-cp312-manylinux_2_34_x86_64.whl"
_INFO = "wick-1.0.dist-info/licenses"


class CheckPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.sound = {
            "wick/libwick.so.0": cls.library("int f() { return 1; }"),
            "wick/bin/wick": b"",
            "wick/bin/wick-conformance": b"",
            "wick-1.0.data/scripts/wick": b"",
            "wick.libs/libdnnl-0123abcd.so.2.6": cls.library("int g() { return 2; }"),
            f"{_INFO}/LICENSE": b"",
            f"{_INFO}/THIRD_PARTY_NOTICES": b"libdnnl.so.2.6 (Debian's libdnnl2)\n",
        }

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def library(cls, code, *flags):
        """A shared library's bytes."""
        source, out = cls.root / "x.cpp", cls.root / "x.so"
        source.write_text(code)
        subprocess.run(["c++", "-shared", "-fPIC", "-nostdlib", "-o", out, source, *flags], check=True)
        return out.read_bytes()

    def check(self, files, name=_NAME):
        if name.endswith(".whl"):
            with zipfile.ZipFile(self.root / name, "w") as archive:
                for path, content in files.items():
                    archive.writestr(path, content)
        else:
            with tarfile.open(self.root / name, "w:xz") as archive:
                for path, content in files.items():
                    entry = tarfile.TarInfo(path)
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        run = subprocess.run([sys.executable, _ROOT / "scripts/check-package", self.root / name], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def expect(self, message, name=_NAME, **planted):
        """Of the sound wheel with these files, by their last names; those that are None are left out."""
        files = {path: planted.get(path.rsplit("/", 1)[1].split(".")[0], content) for path, content in self.sound.items()}
        status, said = self.check({path: content for path, content in files.items() if content is not None}, name)
        self.assertEqual(status, 1, said)
        self.assertIn(message, said)

    def test_passes_a_sound_wheel(self):
        status, said = self.check(self.sound)
        self.assertEqual(status, 0, said)
        self.assertIn("no complaints", said)

    def test_reports_tags_of_this_machine_alone_and_newer_ones(self):
        self.expect("its tag is none of manylinux", _NAME.replace("manylinux_2_34", "linux"))
        self.expect("its tag is newer than manylinux_2_34", _NAME.replace("2_34", "2_36"))

    def test_reports_newer_symbols(self):
        code = '#include <stdlib.h>\nunsigned f() { return arc4random(); }'  # of glibc 2.36
        self.expect("wick/libwick.so.0: arc4random is of GLIBC_2.36", libwick=self.library(code, "-lc"))

    def test_reports_libraries_that_may_be_missing_or_old(self):
        forced = ("-Wl,--no-as-needed",)
        self.expect("libwick.so.0: needs libpng16.so.16", libwick=self.library("", *forced, self.stub("libpng16.so.16")))
        self.expect("libwick.so.0: needs libstdc++.so.6", libwick=self.library("", *forced, "-lstdc++"))

    def stub(self, name):
        """An empty library of this name, to link with."""
        path = self.root / name
        path.write_bytes(self.library("", f"-Wl,-soname,{name}"))
        return path

    def test_reports_missing_notices_and_programs(self):
        self.expect("THIRD_PARTY_NOTICES does not name libdnnl.so.2.6", THIRD_PARTY_NOTICES=b"libsleef.so.3 (x)")
        self.expect("no THIRD_PARTY_NOTICES among its licences", THIRD_PARTY_NOTICES=None)
        self.expect("no program wick/bin/wick", wick=None)
        self.expect("no script that starts the program", wick=None)

    def test_reports_wheels_that_are_too_large(self):
        self.expect("more than 100000000", LICENSE=bytes(100_000_001))

    def tarball(self, without=None, **more):
        """(status, text) of a sound tarball without a file, and with others."""
        folder = "wick-1.0-linux-x86_64"
        files = {f"{folder}/lib/libwick.so.0": self.sound["wick/libwick.so.0"],
                 f"{folder}/lib/wick.libs/libdnnl.so.2": self.sound["wick.libs/libdnnl-0123abcd.so.2.6"],
                 f"{folder}/share/doc/wick/THIRD_PARTY_NOTICES": b"libdnnl.so.2.6 (Debian's libdnnl2)\n"}
        for path in ("bin/wick", "bin/wick-conformance", "lib/libwick.so", "lib/cmake/wick/wickConfig.cmake", "include/wick/wick.h",
                     "share/doc/wick/LICENSE"):
            files[f"{folder}/{path}"] = b""
        files.update(more)
        return self.check({path: content for path, content in files.items() if path != f"{folder}/{without}"}, f"{folder}.tar.xz")

    def test_reports_faults_of_tarballs(self):
        status, said = self.tarball()
        self.assertEqual((status, "no complaints" in said), (0, True), said)
        for missing, message in (("bin/wick", "no program bin/wick"), ("lib/libwick.so", "no lib/libwick.so"),
                                 ("include/wick/wick.h", "no include/wick/wick.h"), ("share/doc/wick/LICENSE", "no LICENSE among its licences"),
                                 ("share/doc/wick/THIRD_PARTY_NOTICES", "no THIRD_PARTY_NOTICES among its licences")):
            status, said = self.tarball(missing)
            self.assertEqual((status, message in said), (1, True), said)
        status, said = self.tarball(outside=b"")
        self.assertIn("expected one folder of the tarball's name, got outside, wick-1.0-linux-x86_64", said)
        needs_zlib = self.library("", "-Wl,--no-as-needed", self.stub("libz.so.1"))
        status, said = self.tarball(**{"wick-1.0-linux-x86_64/lib/wick_rocm.so": needs_zlib})
        self.assertIn("lib/wick_rocm.so: needs libz.so.1", said)

    def test_reports_faults_of_debian_packages(self):
        folder = self.root / "package"
        for path, content in (("DEBIAN/control", "Package: wick\nVersion: 1.0\nArchitecture: amd64\nMaintainer: x <x@wick.invalid>\nDescription: x\n"),
                              ("usr/bin/wick", ""), ("usr/share/doc/wick/LICENSE", "")):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        (folder / "usr/lib").mkdir()
        (folder / "usr/lib/libwick.so.0").write_bytes(self.library("int f() { return 1; }", "-Wl,-rpath,/opt"))
        deb = self.root / "wick_1.0_amd64.deb"
        subprocess.run(["dpkg-deb", "-b", folder, deb], check=True, capture_output=True)
        run = subprocess.run([sys.executable, _ROOT / "scripts/check-package", deb], capture_output=True, text=True)
        for message in ("libwick.so.0: has a run path", "no program bin/wick-conformance", "no THIRD_PARTY_NOTICES among its licences",
                        "depends on no libdnnl"):
            self.assertIn(message, run.stdout)
        self.assertEqual(run.returncode, 1)


unittest.main()
