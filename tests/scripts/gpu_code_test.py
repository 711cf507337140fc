#!/usr/bin/env python3
"""Kernels with planted faults, and one without, through scripts/gpu-code."""
import pathlib, shutil, subprocess, sys, tempfile, unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMON = """
#define GLOBAL extern "C" __attribute__((global))
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef int int4_ __attribute__((ext_vector_type(4)));
struct Triple { float x, y, z; };
__attribute__((device)) int thread() { return __builtin_amdgcn_workitem_id_x(); }
"""
MULTIPLY = """__attribute__((device)) float4_ multiply(int4_ x, float4_ sum) {
  union { int4_ all; half4 parts[2]; } of = {x};
  return __builtin_amdgcn_mfma_f32_16x16x16f16(of.parts[0], of.parts[1], sum, 0, 0, 0);
}
"""
KERNELS = {
    "scratch": """GLOBAL void kernel(float* p, int n) {
  float kept[64];
  for (int i = 0; i < 64; i++) kept[i] = p[i];
  for (int i = 0; i < n; i++) kept[i & 63] += kept[i * 7 & 63];
  p[thread()] = kept[n & 63];
}""",
    "12 bytes": "GLOBAL void kernel(const Triple* p, float* q) { q[thread()] = p[thread()].x + p[thread()].y * p[thread()].z; }",
    "slow add": "GLOBAL void kernel(float* p, float x) { __hip_atomic_fetch_add(p, x + thread(), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }",
    "early wait": """GLOBAL void kernel(const int4_* p, float4_* q, int n) {
  float4_ sum = {};
  #pragma unroll 1
  for (int i = 0; i < n; i++) sum = multiply(p[i * 64 + thread()], sum);
  q[thread()] = sum;
}""",
    "no matrix": """namespace wick::gpu { struct MatrixCopy {}; template <class K> __attribute__((global)) void entry(float* p) { p[thread()] = 1; }
template __attribute__((global)) void entry<MatrixCopy>(float*); }""",
    "": """GLOBAL void kernel(const int4_* p, float4_* q, int n) {
  float4_ sum = {};
  int4_ now = p[thread()];
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    const int4_ next = p[(i + 1) * 64 + thread()];
    __builtin_amdgcn_sched_barrier(0);
    sum = multiply(now, sum);
    __builtin_amdgcn_sched_barrier(0);
    now = next;
  }
  q[thread()] = sum;
}""",
}


class GpuCode(unittest.TestCase):
    def run_on(self, source):
        """(status, output) of the script on a build with one object of this source."""
        with tempfile.TemporaryDirectory() as folder:
            objects = pathlib.Path(folder) / "rocm_objects"
            objects.mkdir()
            text = pathlib.Path(folder) / "kernel.hip"
            target = "gfx1030" if "atomic" in source else "gfx942"  # gfx942 adds an f32 by one instruction
            text.write_text((COMMON + MULTIPLY if "multiply" in source else COMMON) + source)
            subprocess.run(["clang++-19", "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpuinc", "-nogpulib", "-O2", "-std=c++20",
                            "-w", "--no-gpu-bundle-output", "-c", text, "-o", objects / f"kernel.{target}.co"], check=True)
            run = subprocess.run([ROOT / "scripts/gpu-code", "--all", folder], capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr

    def test_each_planted_fault_is_found_alone(self):
        for fault, source in KERNELS.items():
            with self.subTest(fault or "none"):
                status, text = self.run_on(source)
                self.assertEqual(status, 1 if fault else 0, text)
                last = text.strip().splitlines()[-1]
                self.assertEqual(last, "1 kernels of 1 targets, " + (f"1 faults (1 {fault}), " if fault else "0 faults, ") + "0 excepted", text)

    def test_a_build_without_objects_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([ROOT / "scripts/gpu-code", folder], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("no objects", run.stderr)


if __name__ == "__main__":
    if not shutil.which("clang++-19") or not shutil.which("llvm-objdump-19"):
        print("skipped: clang++-19 or llvm-objdump-19 is not here")
        sys.exit(77)
    unittest.main()
