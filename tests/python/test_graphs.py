"""Work that is recorded once and queued again."""
import threading

import pytest

import wick

EMU = "emu:32"


def test_a_graph_runs_at_each_launch_and_not_before():
    x = wick.Var(wick.zeros([3], device=EMU))
    step = wick.Tensor([1.0, 10.0, 100.0], device=EMU)
    made = []

    def work():
        x.add_(step)
        made.append(x * 2)

    graph = wick.Graph.capture(EMU, work)
    assert graph.device == wick.Device(EMU) and x.tolist() == [0, 0, 0]
    graph.launch()
    graph.launch()
    assert x.tolist() == [2, 20, 200]
    assert made[0].tolist() == [4, 40, 400]
    x.copy_(wick.zeros([3], device=EMU))
    graph.launch()
    assert made[0].tolist() == [2, 20, 200]


def test_ops_run_on_the_stream_of_a_with():
    own, side = wick.Stream.of(EMU), wick.Stream(EMU)
    rows, bad = wick.ones([3], device=EMU), wick.Tensor([7], device=EMU)
    with side as entered:
        assert entered.device == wick.Device(EMU)
        rows.index_select(0, bad)
    own.synchronize()
    with pytest.raises(IndexError, match=r"id 7 at position 0 is outside \[0, 3\)"):
        side.synchronize()
    with pytest.raises(KeyError):
        with side:
            raise KeyError("mine")
    rows.index_select(0, bad)  # on the device's own stream again
    side.synchronize()
    with pytest.raises(IndexError):
        own.synchronize()


def test_streams_are_branches_of_a_graph():
    side = wick.Stream(EMU)
    x, y = wick.Var(wick.ones([3], device=EMU)), wick.Var(wick.zeros([3], device=EMU))

    def work(joins=True):
        side.wait(wick.Event(wick.Stream.of(EMU)))
        with side:
            y.copy_(x * 2 + 1)
        if joins:
            wick.Stream.of(EMU).wait(wick.Event(side))
        x.add_(y)

    graph = wick.Graph.capture(EMU, work)
    graph.launch()
    graph.launch()
    assert x.tolist() == [13, 13, 13] and y.tolist() == [9, 9, 9]
    with pytest.raises(ValueError, match="waits for no event of"):
        wick.Graph.capture(EMU, lambda: work(joins=False))


def test_errors_of_the_work_are_raised_and_end_the_recording():
    x = wick.ones([2], device=EMU)

    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wick.Graph.capture(EMU, fails)
    with pytest.raises(ValueError, match="graph being captured"):
        wick.Graph.capture(EMU, lambda: (x * 2).tolist())
    with pytest.raises(ValueError, match="recording a graph already"):
        wick.Graph.capture(EMU, lambda: wick.Graph.capture(EMU, lambda: None))
    with pytest.raises(RuntimeError, match="cpu has no graphs"):
        wick.Graph.capture("cpu", lambda: None)
    with pytest.raises(TypeError):
        wick.Graph.capture(EMU, 3)
    assert (x * 2).tolist() == [2, 2]


def test_other_threads_wait_while_one_records():
    ends, failures, rounds = False, [], 0

    def other():
        nonlocal rounds
        y = wick.Tensor([1.0, 2.0], device=EMU)
        while not ends:
            z = wick.Tensor([1.0, 2.0], device=EMU)  # a copy from the host
            wick.Event(wick.Stream.of(EMU)).synchronize()
            if (y * 2 - z).tolist() != [1, 2] or float(y.sum()) != 3:
                failures.append(rounds)
            rounds += 1

    x = wick.Var(wick.zeros([2], device=EMU))
    one = wick.ones([2], device=EMU)

    def work():
        for _ in range(20):
            x.add_(one)

    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        wick.Graph.capture(EMU, work).launch()
    ends = True
    for thread in threads:
        thread.join()
    assert not failures and rounds > 0
    assert x.tolist() == [1000, 1000]
