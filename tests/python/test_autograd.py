"""Vars, gradients and the tape."""
import copy
import pickle

import numpy as np
import pytest

import wick


def test_a_var_is_a_tensor():
    v = wick.Var([1.0, 2.0])
    assert isinstance(v, wick.Tensor) and v.requires_grad and v.shape == (2,)
    assert not wick.Tensor([1.0]).requires_grad and not wick.Var([1], requires_grad=False).requires_grad
    with pytest.raises(TypeError):
        wick.Var([1, 2])  # integers have no gradient


def test_backward_accumulates(device):
    v = wick.Var([1.0, -2.0], device=device)
    assert v.grad is None
    for n in (1, 2):
        (v * v).sum().backward()
        assert v.grad.tolist() == [2 * n, -4 * n]
    v.zero_grad()
    assert v.grad is None or v.grad.tolist() == [0, 0]


def test_gradients_are_those_of_pytorch(torch, device):
    array = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    v, t = wick.Var(array, device=device), torch.tensor(array, requires_grad=True)
    (v.softmax(-1).log() * v.tanh()).mean().backward()
    (t.softmax(-1).log() * t.tanh()).mean().backward()
    np.testing.assert_allclose(v.grad.numpy(), t.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_grad_gives_second_derivatives():
    v = wick.Var([3.0])
    (first,) = wick.grad(v * v * v, [v], seed=wick.ones([1]), create_graph=True)
    (second,) = wick.grad(first, [v], seed=wick.ones([1]))
    assert (first.item(), second.item()) == (27, 18)


def test_no_grad_stops_recording_even_nested_and_after_errors():
    v = wick.Var([1.0])
    with pytest.raises(KeyError), wick.no_grad():
        with wick.no_grad():
            assert not wick.grad_enabled()
        assert not (v * 2).requires_grad
        raise KeyError
    assert wick.grad_enabled() and (v * 2).requires_grad


def test_no_grad_is_a_decorator():
    @wick.no_grad()
    def double(x):
        return x * 2

    v = wick.Var([1.0])
    assert not double(v).requires_grad and not double(v).requires_grad


def test_detach_leaves_the_tape():
    assert not wick.Var([1.0]).detach().requires_grad


def test_in_place_functions_write_into_a_var():
    v = wick.Var([1.0, -2.0])
    v.abs_()
    v.add_(1)
    wick.mul_(v, wick.Tensor([2.0, 3.0]))
    assert v.tolist() == [4, 9]
    with pytest.raises(TypeError):
        wick.add_(wick.Tensor([1.0]), 1)


def test_overwriting_a_kept_value_is_refused():
    v = wick.Var([1.0])
    y = (v.exp() * v).sum()
    v += 1
    with pytest.raises(RuntimeError):
        y.backward()


def test_vars_pickle_and_copy_with_their_values(device):
    v = wick.Var([1.0, 2.0], device=device)
    for other in (pickle.loads(pickle.dumps(v)), copy.deepcopy(v)):
        assert type(other) is wick.Var and other.requires_grad and other.device == device
        other += 1
        assert (other.tolist(), v.tolist()) == ([2, 3], [1, 2])
