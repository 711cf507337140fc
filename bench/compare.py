#!/usr/bin/env python3
"""Times wick beside its rivals in one run and prints a table.

Each side is a process of its own that waits while the other works. A figure is the median of interleaved pairs, whose
order changes from pair to pair; a ratio is the median of the pairs' ratios, above 1 where wick is faster. PyTorch's
malloc is told to keep its memory, since wick's allocator does."""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

# name, dtype, size, what a call computes (floating-point operations), the least it must move (bytes)
CASES = [
    ("matmul", "f32", 1024, 2 * 1024**3, None),
    ("matmul", "f32", 2048, 2 * 2048**3, None),
    ("matmul", "bf16", 1024, 2 * 1024**3, None),
    ("matmul", "bf16", 2048, 2 * 2048**3, None),
    ("add", "f32", 1, None, None),
    ("neg", "f32", 1, None, None),
    ("add", "f32", 1 << 24, None, 12 << 24),
    ("neg", "f32", 1 << 24, None, 8 << 24),
    # Matrices of 2048 rows and columns; reductions, gather and scatter_add along the rows.
    *((name, "f32", 2048, None, None) for name in (
        "fmod", "remainder", "gelu", "silu", "erf", "erfc", "transpose", "norm", "sum", "logsumexp", "gather",
        "scatter_add")),
    # Eight images of ResNet's blocks: so many channels, planes of 3584 / channels; 3x3, padding 1.
    ("conv2d", "f32", 64, 2 * 8 * 9 * 3584**2, None),
    ("conv2d", "f32", 256, 2 * 8 * 9 * 3584**2, None),
    ("conv2d", "bf16", 64, 2 * 8 * 9 * 3584**2, None),
    # Eight images of 64 planes of that many rows: windows of 3, 2 apart, padding 1.
    ("max_pool2d", "f32", 112, None, 8 * 64 * (4 * 112**2 + 12 * 56**2)),
    ("avg_pool2d", "f32", 112, None, 8 * 64 * (4 * 112**2 + 4 * 56**2)),
    # A Llama of 0.82 million weights: a step over 8 sequences of 128 tokens; a token of 128 after a prompt of 64.
    ("train_step", "f32", 8, None, None),
    ("generate", "f32", 128, None, None),
]
PROBE = ("copy", "f32", 1 << 24, 8 << 24)  # the bandwidth that memory-bound rows are held against
REST = 0.05  # seconds: a library's threads spin for a while after their work, and would take the other side's cores


class Side:
    """A process that answers "CASE DTYPE SIZE SECONDS" by the seconds of one call."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **environment})
        first = self.process.stdout.readline().strip()
        if not first.startswith("ready "):
            raise RuntimeError(first.removeprefix("cannot: ") or "it does not start")
        self.title = first.removeprefix("ready ")

    def seconds(self, name, dtype, size, budget):
        """None where the side has no such case."""
        time.sleep(REST)
        print(name, dtype, size, budget, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        if not answer or answer == "unsupported":
            return None
        if answer.startswith("unsupported"):
            print(f"{self.name}: {name} {dtype} {size}: {answer}", file=sys.stderr)
            return None
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def time_text(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def rate_text(seconds, operations, moved, bandwidth):
    if operations:
        return f"{operations / seconds * 1e-9:.1f} GFLOP/s"
    if moved:
        share = f", {moved / seconds / bandwidth:.0%}" if bandwidth else ""
        return f"{moved / seconds * 1e-9:.1f} GB/s{share}"
    return ""


def compare(wick, rival, case, options):
    """The row of a case: both sides' times, and how they compare pair by pair."""
    ours, theirs = [], []
    for pair in range(options.pairs):
        order = [(wick, ours), (rival, theirs)]
        for side, times in order if pair % 2 == 0 else reversed(order):
            seconds = side.seconds(*case[:3], options.seconds)
            if seconds is None:
                return None
            times.append(seconds)
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    return {"case": case[0], "dtype": case[1], "size": case[2], "rival": rival.name,
            "wick_seconds": statistics.median(ours), "rival_seconds": statistics.median(theirs),
            "ratio": statistics.median(ratios), "ratio_lowest": ratios[0], "ratio_highest": ratios[-1]}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build" / "cpu", help="the built tree")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--torch-cpp", action="store_true", help="PyTorch's loops in C++, as wick's are")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every side")
    parser.add_argument("--cases", default="", help="only those whose text has this: 'matmul', 'bf16'")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there, too")
    options = parser.parse_args()
    if options.pairs < 7:
        parser.error("fewer than 7 pairs say little")

    threads = str(options.threads)
    # PyTorch on the CPU has no cache of its own: without these malloc hands every large block back to the system.
    keep_memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
    environment = {"WICK_THREADS": threads, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}

    def program(name):
        found = sorted(options.build.rglob(name))
        if not found:
            raise RuntimeError(f"{options.build} has no {name}: build it")
        return found[0]

    missing = []

    def start(name, command, more={}):
        try:
            return Side(name, command(), {**environment, **more})
        except (RuntimeError, OSError) as error:
            missing.append(f"  without {name}: {error}")
            return None

    wick = start("wick", lambda: [program("wick-bench"), options.device])
    if wick is None:
        print(missing[0].strip(), file=sys.stderr)
        return 1
    torch = [options.python, root / "bench" / "torch_side.py", "--device", options.device, "--threads", threads]
    rivals = [start("PyTorch", lambda: torch + ["--cpp"] * options.torch_cpp, keep_memory)]
    if options.device == "cpu":
        rivals.append(start("OpenBLAS", lambda: [program("openblas-bench")]))
    rivals = [rival for rival in rivals if rival]
    if not rivals:
        print("\n".join(["no rival is here:"] + missing), file=sys.stderr)
        return 1

    cases = [case for case in CASES if options.cases in f"{case[0]} {case[1]} {case[2]}"]
    bandwidth = None
    if any(case[4] for case in cases):
        prober = wick if options.device == "cpu" else rivals[0]
        seconds = [prober.seconds(*PROBE[:3], options.seconds) for _ in range(options.pairs)]
        if None not in seconds:
            bandwidth = PROBE[3] / statistics.median(seconds)
            print(f"a copy moves {bandwidth * 1e-9:.1f} GB/s (bytes read and written)")
    print(f"{platform.processor() or platform.machine()}, {options.device}, {threads} threads, "
          f"medians of {options.pairs} interleaved pairs")
    for side in [wick] + rivals:
        print(f"  {side.name}: {side.title}")
    print("\n".join(missing + [""]))
    print("| case | rival | wick | rival's | wick / rival speed | lowest to highest | wick | rival's |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = []
    for case in cases:
        for rival in rivals:
            row = compare(wick, rival, case, options)
            if row is None:
                continue
            rows.append(row)
            rates = [rate_text(row[side], case[3], case[4], bandwidth) for side in ("wick_seconds", "rival_seconds")]
            print(f"| {case[0]} {case[1]} {case[2]} | {rival.name} | {time_text(row['wick_seconds'])} "
                  f"| {time_text(row['rival_seconds'])} | {row['ratio']:.2f} "
                  f"| {row['ratio_lowest']:.2f} to {row['ratio_highest']:.2f} | {rates[0]} | {rates[1]} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"bandwidth": bandwidth, "threads": options.threads, "rows": rows}, indent=1))
    for side in [wick] + rivals:
        side.close()
    return 0


sys.exit(main())
