"""Python's operators, held to NumPy's."""
import operator

import numpy as np
import pytest

import wick

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
A = np.array([[1.5, 2.0, 3.0], [4.0, 5.5, 0.5]], np.float32)
B = np.array([2.0, 0.5, 4.0], np.float32)
I, J = np.array([12, 7, 1]), np.array([1, 3, 2])


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_of_floats(op, device):
    a, b = wick.Tensor(A, device=device), wick.Tensor(B, device=device)
    for got, expected in [(op(a, b), op(A, B)), (op(a, 2), op(A, 2)), (op(a, 2.5), op(A, np.float32(2.5))), (op(3, a), op(3, A)),
                          (op(2.5, a), op(np.float32(2.5), A)), (op(np.float32(2), b), op(np.float32(2), B))]:
        assert isinstance(got, wick.Tensor)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("op", BITS + [operator.add, operator.floordiv, operator.mod])
def test_of_integers(op, device):
    i, j = wick.Tensor(I, device=device), wick.Tensor(J, device=device)
    for got, expected in [(op(i, j), op(I, J)), (op(i, 3), op(I, 3)), (op(9, j), op(9, J))]:
        assert got.dtype == wick.i64
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("op", [operator.neg, operator.pos, operator.abs])
def test_of_one_operand(op, device):
    np.testing.assert_array_equal(op(wick.Tensor(-A, device=device)).numpy(), op(-A))


def test_invert():
    assert (~wick.Tensor([True, False])).tolist() == [False, True]


def test_matmul(device):
    got = wick.Tensor([[1.0, 2.0], [3.0, 4.0]], device=device) @ wick.Tensor([[5.0], [6.0]], device=device)
    assert got.tolist() == [[17], [39]]


def test_in_place_operators_write_into_a_var_only(device):
    v = wick.Var([1.0, 2.0], device=device)
    same = v
    v += 1
    v *= wick.Tensor([2.0, 4.0], device=device)
    v -= 1
    v /= 2
    assert v is same and same.tolist() == [1.5, 5.5]
    x = before = wick.Tensor([1.0])
    x += 1
    assert x.tolist() == [2] and before.tolist() == [1]


def test_other_operands_are_refused():
    x = wick.Tensor([1.0])
    for other in ("a", None, [1.0], np.ones(1)):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            other * x
    assert (x == "a") is False


def test_true_and_false_are_bools_beside_a_tensor(device):
    x = wick.Tensor([True, False], device=device)
    for found, expected in ((x & True, [True, False]), (True ^ x, [False, True]), (x | False, [True, False]),
                            (x == False, [False, True])):  # noqa: E712
        assert found.dtype == wick.bool and found.tolist() == expected
    assert (wick.Tensor([3], dtype="i8", device=device) + True).dtype == wick.i8
    assert (False - wick.Tensor([1.5], device=device)).tolist() == [-1.5]


def test_tensors_are_keys_by_identity():
    x, y = wick.Tensor(1), wick.Tensor(1)
    assert {x: 1, y: 2}[x] == 1
