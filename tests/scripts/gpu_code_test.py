#!/usr/bin/env python3
"""Kernels with planted faults, and some without, through scripts/gpu-code."""
import importlib.machinery, importlib.util, pathlib, shutil, subprocess, sys, tempfile, unittest

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

# Loads before the loop and an earlier wait within it do not count.
IN_FLIGHT = """GLOBAL void kernel(const int4_* p, int4_* q, int n) {
  int4_ sum = p[0] + p[n] + p[n + 1] + p[n + 2] + p[n + 3];
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    const int at = q[i * 64 + thread()].x;
    int4_ x[LOADS];
    for (int k = 0; k < LOADS; k++) x[k] = p[at + 64 * k];
    __builtin_amdgcn_sched_barrier(0);
    for (int k = 0; k < LOADS; k++) sum ^= x[k];
  }
  q[thread()] = sum;
}"""

# The same of NVIDIA's code, by nvcc for sm_90.
NVIDIA_COMMON = """#include <cuda_fp16.h>
#include <mma.h>
namespace wick::gpu { struct MatrixSum {}; template <class K> __global__ void entry(float* p, float x); }
__device__ void swap_add(float* p, float x) {
  unsigned* const bits = reinterpret_cast<unsigned*>(p);
  for (unsigned seen = *bits, old;; seen = old) {
    old = atomicCAS(bits, seen, __float_as_uint(__uint_as_float(seen) + x));
    if (old == seen) return;
  }
}
__device__ uint2 multiply(uint4 x, uint2 sum) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%2, %3}, {%0, %1};"
               : "+r"(sum.x), "+r"(sum.y) : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w));
  return sum;
}
"""
NVIDIA_KERNELS = {
    "scratch": """__global__ void kernel(float* p, int n) {
  float kept[64];
  for (int i = 0; i < 64; i++) kept[i] = p[i];
  for (int i = 0; i < n; i++) kept[i & 63] += kept[i * 7 & 63];
  p[threadIdx.x] = kept[n & 63];
}""",
    "slow add": "__global__ void kernel(float* p, float x) { swap_add(p, x); }",
    "no matrix": """template <> __global__ void wick::gpu::entry<wick::gpu::MatrixSum>(float* p, float x) { p[threadIdx.x] += x; }""",
    "early wait": """__global__ void kernel(const uint4* p, uint2* q, int n) {
  uint2 sum = {};
  #pragma unroll 1
  for (int i = 0; i < n; i++) sum = multiply(p[i * 32 + threadIdx.x], sum);
  q[threadIdx.x] = sum;
}""",
    "": """__global__ void kernel(const uint4* p, uint2* q, float* r, int n) {
  uint2 sum = {};
  uint4 now = p[threadIdx.x];
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    const uint4 next = p[(i + 1) * 32 + threadIdx.x];
    sum = multiply(now, sum);
    now = next;
  }
  q[threadIdx.x] = sum;
  if (sum.x > 9) atomicAdd(r, 1.0f); else swap_add(r, 2.0f);  // by an instruction, and subnormals by swaps
}""",
}

_loader = importlib.machinery.SourceFileLoader("gpu_code", str(ROOT / "scripts/gpu-code"))
gpu_code = importlib.util.module_from_spec(importlib.util.spec_from_loader(_loader.name, _loader))
sys.modules[_loader.name] = gpu_code  # for its dataclasses
_loader.exec_module(gpu_code)
NVCC = gpu_code.nvidia_tool("nvcc")
READS_NVIDIA = gpu_code.nvidia_tool("cuobjdump") and gpu_code.nvidia_tool("nvdisasm")
READS_AMD = shutil.which("clang++-19") and shutil.which("llvm-objdump-19")


class GpuCode(unittest.TestCase):
    def run_on(self, source, target="", *options):
        """(status, output) of the script on a build with one object of this source."""
        with tempfile.TemporaryDirectory() as folder:
            objects = pathlib.Path(folder) / "rocm_objects"
            objects.mkdir()
            text = pathlib.Path(folder) / "kernel.hip"
            target = target or ("gfx1100" if "atomic" in source else "gfx942")  # gfx942 adds an f32 by one instruction in any scope
            text.write_text((COMMON + MULTIPLY if "multiply" in source else COMMON) + source)
            subprocess.run(["clang++-19", "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpuinc", "-nogpulib", "-O2", "-std=c++20",
                            "-w", "--no-gpu-bundle-output", "-c", text, "-o", objects / f"kernel.{target}.co"], check=True)
            run = subprocess.run([ROOT / "scripts/gpu-code", *(options or ["--all"]), folder], capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr

    @unittest.skipUnless(READS_AMD, "clang++-19 or llvm-objdump-19 is not here")
    def test_bytes_in_flight_are_those_of_the_loop_in_all_waves(self):
        for target, unit in ("gfx942", 64 * 8 * 4), ("gfx1100", 32 * 16 * 2):
            for loads in 1, 3:
                with self.subTest(target=target, loads=loads):
                    _, text = self.run_on(IN_FLIGHT.replace("LOADS", str(loads)), target, "--kernels", "^ker.el$")
                    line = next(line for line in text.splitlines() if line.endswith(f"{target} kernel"))
                    columns = dict(zip(text.split("\n")[0].replace("on way", "on-way").split(), line.split()))
                    self.assertEqual(float(columns["flight"]), loads * 16 * unit / 1024, text)
                    self.assertIn("1 kernels of 1 targets", text)

    @unittest.skipUnless(READS_AMD, "clang++-19 or llvm-objdump-19 is not here")
    def test_kernels_that_do_not_match_are_not_read(self):
        _, text = self.run_on(KERNELS["scratch"], "", "--kernels", "^other$")
        self.assertIn("0 kernels of 1 targets, 0 faults", text)

    @unittest.skipUnless(READS_AMD, "clang++-19 or llvm-objdump-19 is not here")
    def test_adds_by_swaps_are_no_fault_where_no_instruction_adds(self):
        status, text = self.run_on(KERNELS["slow add"], "gfx1030")
        self.assertEqual(status, 0, text)

    @unittest.skipUnless(NVCC and READS_NVIDIA, "nvcc, cuobjdump or nvdisasm is not here")
    def test_each_fault_planted_in_nvidia_code_is_found_alone(self):
        for fault, source in NVIDIA_KERNELS.items():
            with self.subTest(fault or "none"), tempfile.TemporaryDirectory() as folder:
                cuda = pathlib.Path(folder) / "cuda"
                cuda.mkdir()
                text = pathlib.Path(folder) / "kernel.cu"
                text.write_text(NVIDIA_COMMON + source)
                subprocess.run([NVCC, "-arch=sm_90", "-std=c++20", "-O2", "-w", "-c", text, "-o", cuda / "kernel.o"], check=True)
                run = subprocess.run([ROOT / "scripts/gpu-code", "--all", folder], capture_output=True, text=True)
                self.assertEqual(run.returncode, 1 if fault else 0, run.stdout + run.stderr)
                last = run.stdout.strip().splitlines()[-1]
                self.assertEqual(last, "1 kernels of 1 targets, " + (f"1 faults (1 {fault}), " if fault else "0 faults, ") + "0 excepted",
                                 run.stdout)

    def test_nvidia_objects_without_cudas_tools_are_skipped_and_do_not_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            cuda = pathlib.Path(folder) / "cuda"
            cuda.mkdir()
            (cuda / "kernel.o").touch()
            code = ("import importlib.machinery as m, sys; g = m.SourceFileLoader('gpu_code', sys.argv[1]); import types;"
                    "x = types.ModuleType('gpu_code'); sys.modules['gpu_code'] = x; x.__file__ = sys.argv[1]; g.exec_module(x);"
                    "x.nvidia_tool = lambda name: None; sys.argv[1:2] = []; sys.exit(x.main())")
            run = subprocess.run([sys.executable, "-c", code, ROOT / "scripts/gpu-code", folder], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("1 objects skipped, no cuobjdump and nvdisasm", run.stdout)
        self.assertIn("nothing was read", run.stdout)

    @unittest.skipUnless(READS_AMD, "clang++-19 or llvm-objdump-19 is not here")
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
    if not READS_AMD and not (NVCC and READS_NVIDIA):
        print("skipped: neither clang++-19 and llvm-objdump-19 nor nvcc, cuobjdump and nvdisasm are here")
        sys.exit(77)
    unittest.main()
