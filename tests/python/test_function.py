"""wick.Function: gradients that the program gives."""
import subprocess
import sys
import threading

import pytest

import wick


class Square(wick.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


class Exponential(wick.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        (y,) = ctx.saved_tensors
        return gradient * y


class Weighted(wick.Function):
    """power * (1 a + 2 b + 3 c ...), with a number and a name among the arguments."""

    @staticmethod
    def forward(ctx, power, name, *tensors):
        ctx.power, ctx.count = power, len(tensors)
        return sum((i + 1) * t for i, t in enumerate(tensors)) * power

    @staticmethod
    def backward(ctx, gradient):
        assert ctx.needs_input_grad[:2] == (False, False)
        return None, None, *(gradient * ctx.power * (i + 1) for i in range(ctx.count))


def of(backward, forward=lambda ctx, x: x * 2):
    """A Function of these two."""
    return type("Made", (wick.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def test_backward_gives_the_gradient(device):
    v = wick.Var([3.0, -1.0], device=device)
    y = Square.apply(v)
    assert y.tolist() == [9, 1] and y.requires_grad
    (y * wick.Tensor([1.0, 10.0], device=device)).sum().backward()
    assert v.grad.tolist() == [6, -20]


@pytest.mark.parametrize("function, second", [(Square, lambda x: x * 0 + 2), (Exponential, wick.exp)])
def test_a_backward_of_ops_is_differentiated_again(function, second, device):
    v = wick.Var([0.5, 2.0], device=device)
    (first,) = wick.grad(function.apply(v).sum(), [v], create_graph=True)
    (found,) = wick.grad(first.sum(), [v])
    assert found.tolist() == second(wick.Tensor(v)).tolist()


class Polar(wick.Function):
    """(x, y) -> radius [N], the angle [1, N] of f16, and which are in the unit circle."""

    @staticmethod
    def forward(ctx, x, y):
        radius, angle = (x * x + y * y).sqrt(), wick.atan2(y, x)
        ctx.save_for_backward(radius, x, y)
        return radius, angle.reshape(1, -1).to(wick.f16), radius < 1

    @staticmethod
    def backward(ctx, of_radius, of_angle, of_inside):
        assert of_inside is None
        radius, x, y = ctx.saved_tensors
        turn = of_angle.flatten().to(wick.f32) / (radius * radius)
        return of_radius * x / radius - turn * y, of_radius * y / radius + turn * x


def test_several_results_of_different_shapes_and_dtypes(device):
    x, y = wick.Var([3.0, 0.25], device=device), wick.Var([4.0, -0.5], device=device)
    radius, angle, inside = Polar.apply(x, y)
    assert (radius.shape, angle.shape, angle.dtype, inside.tolist()) == ((2,), (1, 2), wick.f16, [False, True])
    assert radius.requires_grad and angle.requires_grad and not inside.requires_grad
    loss = (radius * 2).sum() + angle.to(wick.f32).sum()
    found = wick.grad(loss, [x, y])
    composed = (2 * (x * x + y * y).sqrt() + wick.atan2(y, x)).sum()
    for got, expected in zip(found, wick.grad(composed, [x, y])):
        assert got.tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    # Of one result alone.
    (first,) = wick.grad(Polar.apply(x, y)[0].sum(), [x])
    assert first.tolist() == pytest.approx([0.6, 0.25 / 0.3125**0.5])


def test_a_saved_result_of_several_is_differentiated_again():
    x, y = wick.Var([3.0, 0.5]), wick.Var([4.0, 2.0])
    (first,) = wick.grad(Polar.apply(x, y)[0].sum(), [x], create_graph=True)
    (second,) = wick.grad(first.sum(), [x])
    expected = [b * b / (a * a + b * b) ** 1.5 for a, b in zip(x.tolist(), y.tolist())]
    assert second.tolist() == pytest.approx(expected)


def test_integer_results_alone_are_not_recorded():
    pair = of(None, lambda ctx, x: (x > 0, x.to(wick.i64))).apply(wick.Var([1.5]))
    assert [t.requires_grad for t in pair] == [False, False]


@pytest.mark.parametrize("count", [1, 2, 6])
def test_any_number_of_tensors_beside_other_arguments(count, device):
    inputs = [wick.Var([float(i)], device=device) for i in range(count)]
    y = Weighted.apply(0.5, "name", *inputs)
    y.sum().backward()
    assert y.item() == 0.5 * sum((i + 1) * i for i in range(count))
    assert [v.grad.item() for v in inputs] == [0.5 * (i + 1) for i in range(count)]


def test_inputs_without_gradient_and_outputs_that_are_inputs():
    v, x = wick.Var([2.0]), wick.Tensor([3.0])
    y = of(lambda ctx, g: (g, None), lambda ctx, a, b: (ctx.save_for_backward(a, None), a)[1]).apply(v, x)
    y.sum().backward()
    assert v.grad.item() == 1 and not Square.apply(x).requires_grad
    with wick.no_grad():
        assert not Square.apply(v).requires_grad
    assert of(lambda ctx, g: None).apply(v).requires_grad


def test_the_ops_of_forward_are_not_recorded():
    seen = []
    of(lambda ctx, g: g, lambda ctx, x: (seen.append((x * 2).requires_grad), x * 2)[1]).apply(wick.Var([1.0]))
    assert seen == [False]


class Strange(Exception):
    pass


def raise_strange(ctx, gradient):
    raise Strange("here")


@pytest.mark.parametrize("backward, error, text", [
    (raise_strange, Strange, "here"),
    (lambda ctx, g: 1 / 0, ZeroDivisionError, "division"),
    (lambda ctx, g: (g, g), ValueError, "Made.backward: expected 1 gradients, one for each argument of apply, got 2"),
    (lambda ctx, g: 3.0, TypeError, "Made.backward: argument 0: expected a wick.Tensor or None, got float"),
    (lambda ctx, g: wick.ones([3]), ValueError, r"Made: backward: the gradient of input 0 has shape \[3\], expected \[2\]"),
    (lambda ctx, g: g.to(wick.f16), TypeError, "Made: backward: the gradient of input 0 is f16, expected f32"),
    (lambda ctx, g: g.to("emu:32"), ValueError, "Made: backward: the gradient of input 0 is on emu:32, expected cpu"),
])
def test_errors_of_backward_arrive_with_their_type(backward, error, text):
    v = wick.Var([1.0, 2.0])
    y = of(backward).apply(v).sum()
    for _ in range(2):
        with pytest.raises(error, match=text):
            y.backward()
    assert v.grad is None and (v * 2).requires_grad


def test_a_gradient_of_a_number_is_refused():
    y = of(lambda ctx, g: (g, g), lambda ctx, x, n: x * n).apply(wick.Var([1.0]), 2)
    with pytest.raises(TypeError, match="argument 1: expected None, since the argument is no tensor, got Tensor"):
        y.sum().backward()


def test_forward_gives_tensors():
    for result in (None, 1.0, (), (wick.ones([1]), 2), [wick.ones([1])]):
        with pytest.raises(TypeError, match=rf"Made.forward: expected a wick.Tensor or a tuple.*{type(result).__name__}"):
            of(None, lambda ctx, x: result).apply(wick.Var([1.0]))
    assert wick.grad_enabled()
    with pytest.raises(NotImplementedError, match="forward"):
        wick.Function.apply(wick.Var([1.0]))


def test_overwriting_a_saved_tensor_is_refused():
    v, w = wick.Var([1.0]), wick.Var([1.0])
    y, z = Square.apply(v).sum(), of(lambda ctx, g: g).apply(w).sum()
    v += 1
    w += 1
    with pytest.raises(RuntimeError, match=r"Square: a saved tensor of shape \[1\] .* overwritten"):
        y.backward()
    z.backward()  # has saved nothing
    assert w.grad.item() == 1


def test_a_long_chain_is_freed_and_frees_its_objects():
    alive = [0]

    class Counted:
        def __init__(self):
            alive[0] += 1

        def __del__(self):
            alive[0] -= 1

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.counted = Counted()
        return x * 1

    link = of(lambda ctx, g: g + ctx.saved_tensors[0] * 0, forward)
    y = v = wick.Var([1.0])
    for _ in range(30000):
        y = link.apply(y)
    assert alive[0] == 30000
    y.backward()
    assert v.grad.item() == 1
    del y
    assert alive[0] == 0


def test_a_program_ends_without_leaks():
    program = """
import wick

class Double(wick.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

v = wick.Var([1.0])
y = Double.apply(v)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")  # nanobind prints objects that are left at the end


def test_threads_run_backward_and_free_tapes_at_the_same_time():
    shared = wick.Var(wick.ones([4]))
    kept = Exponential.apply(shared).sum()  # one tape, walked by all threads
    handed, failures = [], []

    def work():
        try:
            for _ in range(200):
                v = wick.Var(wick.ones([4]))
                y = Square.apply(Square.apply(v)).sum()
                y.backward(create_graph=True)
                kept.backward(create_graph=True)
                handed.append(y)  # freed by another thread
                if len(handed) > 3:
                    handed.pop(0)
                assert v.grad.tolist() == [4] * 4
                v.zero_grad()  # a gradient on the tape holds its own Var
                shared.zero_grad()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    shared.zero_grad()
    assert not any(thread.is_alive() for thread in threads) and not failures
