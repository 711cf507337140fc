"""Ops run without the GIL."""
import threading
import time

import wick


def test_a_thread_runs_during_a_matmul():
    a = wick.rand([1200, 1200])
    running, ticks = True, 0

    def tick():
        nonlocal ticks
        while running:
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    start = time.perf_counter()
    while time.perf_counter() - start < 0.2:
        a @ a
    running_ticks = ticks - before
    running = False
    thread.join()
    assert running_ticks >= 5


def test_threads_use_one_var_at_a_time_without_tearing():
    v = wick.Var(wick.zeros([1000]))
    threads = [threading.Thread(target=lambda n=n: [v.set_(wick.full([1000], n)) for _ in range(50)]) for n in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(v.tolist())) == 1
