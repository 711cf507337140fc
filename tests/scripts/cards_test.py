#!/usr/bin/env python3
"""That scripts/list-cards names the cards of a planted sysfs, and of a planted nvidia-smi."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/list-cards"


class Cards(unittest.TestCase):
    def cards(self, versions, capabilities=()):
        """The script's lines, for nodes of KFD with these target versions and NVIDIA cards of these capabilities."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for i, version in enumerate(versions):
                node = root / f"class/kfd/kfd/topology/nodes/{i}"
                node.mkdir(parents=True)
                (node / "properties").write_text(f"simd_count 8\ngfx_target_version {version}\nmax_waves_per_simd 16\n")
            (root / "bin").mkdir()
            program = root / "bin/nvidia-smi"
            lines = "".join(f"{capability}\\n" for capability in capabilities)
            program.write_text(f"#!/bin/sh\nprintf '{lines}'\n")
            program.chmod(0o755)
            run = subprocess.run([SCRIPT], capture_output=True, text=True, check=True,
                                 env={"PATH": f"{root}/bin:/usr/bin:/bin", "WICK_SYSFS_ROOT": folder})
            return run.stdout.splitlines()

    def test_no_card(self):
        self.assertEqual(self.cards([]), [])
        self.assertEqual(self.cards([0]), [])  # a processor is a node too

    def test_amd_cards(self):
        self.assertEqual(self.cards([0, 110001, 90402, 90010, 120001, 110501]),
                         ["rocm gfx1101", "rocm gfx1151", "rocm gfx1201", "rocm gfx90a", "rocm gfx942"])

    def test_cards_of_one_architecture_are_one_line(self):
        self.assertEqual(self.cards([110000, 110000], ["9.0", "9.0"]), ["cuda 90", "rocm gfx1100"])

    def test_no_driver(self):
        self.assertEqual(self.cards([], ["NVIDIA-SMI has failed"]), [])


if __name__ == "__main__":
    unittest.main()
