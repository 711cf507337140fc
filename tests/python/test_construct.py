"""Tensors from Python and NumPy, and back."""
import re

import numpy as np
import pytest

import wick
from conftest import ROOT


@pytest.mark.parametrize("data, dtype, shape", [
    (3, wick.i64, ()),
    (2.5, wick.f32, ()),
    (True, wick.bool, ()),
    ([1, 2, 3], wick.i64, (3,)),
    ([1, 2.5], wick.f32, (2,)),
    ([[True], [False]], wick.bool, (2, 1)),
    ([2**63], wick.u64, (1,)),
    ([], wick.f32, (0,)),
    ([[], []], wick.f32, (2, 0)),
    (((1, 2), (3, 4)), wick.i64, (2, 2)),
])
def test_numbers_and_lists_have_the_dtype_of_their_kind(data, dtype, shape, device):
    x = wick.Tensor(data, device=device)
    assert (x.dtype, x.shape, x.ndim, x.device) == (dtype, shape, len(shape), device)
    assert x.tolist() == np.array(data).tolist()


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                                  "float32", "float64"])
def test_numpy_arrays_keep_dtype_and_values(name, device):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(name)
    x = wick.Tensor(array, device=device)
    assert x.dtype == getattr(wick, name)
    assert x.numpy().dtype == array.dtype
    np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize("view", [
    lambda a: a.T,
    lambda a: a[::2, 1:],
    lambda a: a[::-1],
    lambda a: a[:, ::-2],
    lambda a: a[0, 0, None],
    lambda a: a[:0],
    lambda a: np.broadcast_to(a[0], (3, 5)),
])
def test_views_of_arrays_are_read_by_their_strides(view):
    array = view(np.arange(20.0).reshape(4, 5))
    np.testing.assert_array_equal(wick.Tensor(array).numpy(), array)
    np.testing.assert_array_equal(wick.from_dlpack(array).numpy(), array)


def test_a_dtype_converts():
    assert wick.Tensor([1, 2], dtype="float16").dtype == wick.f16
    assert wick.Tensor(np.ones(2), dtype=wick.bf16).dtype == wick.bfloat16
    assert wick.Tensor(wick.Tensor([1.5]), dtype=wick.i32).tolist() == [1]


def test_construction_copies():
    array = np.zeros(3)
    x = wick.Tensor(array)
    array[0] = 1
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("data, error", [
    ([[1], [2, 3]], ValueError),
    ([[1], 2], ValueError),
    ([1, [2]], ValueError),
    (["a"], TypeError),
    ("a", TypeError),
    (None, TypeError),
    (np.array([1j]), TypeError),
])
def test_other_data_is_refused(data, error):
    with pytest.raises(error):
        wick.Tensor(data)


def test_item_and_conversions():
    assert wick.Tensor([[7]]).item() == 7
    assert float(wick.Tensor(2.5, dtype=wick.bf16)) == 2.5
    assert int(wick.Tensor(2.5)) == 2
    assert [10, 20][wick.Tensor(1)] == 20
    assert wick.Tensor([0.0]).item() == 0.0 and not wick.Tensor([0.0])
    for call in (wick.Tensor([1, 2]).item, lambda: bool(wick.Tensor([1, 2]))):
        with pytest.raises(ValueError, match="one element"):
            call()


def test_length_and_iteration_are_those_of_the_first_dim():
    x = wick.Tensor([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(wick.Tensor(1))


def test_to_converts_and_moves(device):
    x = wick.Tensor([1.5, -2.5])
    assert x.to(device).device == device
    assert x.to("i32").tolist() == [1, -2]
    assert x.to(wick.f16, device).dtype == wick.f16
    assert x.to(str(device), wick.f16).device == device


def test_repr_is_that_of_cpp():
    assert repr(wick.Tensor(1.5)) == "wick.Tensor(1.5000, f32)"
    assert repr(wick.Var([[1.0, 2.0], [3.0, 4.0]], device="emu:32")) == "wick.Var([[1., 2.],\n          [3., 4.]], f32, emu:32)"
    assert repr(wick.zeros(0, 3)) == "wick.Tensor([], shape=[0, 3], f32)" and "shape=[2000], i64)" in repr(wick.arange(2000))
    assert repr(wick.Tensor([1, 2])) == str(wick.Tensor([1, 2])) == "wick.Tensor([1, 2], i64)"


def test_format_is_that_of_the_number():
    loss = wick.Tensor(2.5)
    assert f"{loss:.3f}" == "2.500" and f"{loss}" == "2.5" and f"{wick.Tensor(7):04d}" == "0007"
    assert f"{wick.ones(2)}" == str(wick.ones(2))
    with pytest.raises(TypeError, match=r"a tensor of shape \[2\] has no format"):
        f"{wick.ones(2):.3f}"


def test_arrays_that_are_no_tensors_are_named():
    with pytest.raises(TypeError, match="an array of >f4, which is another byte order"):
        wick.Tensor(np.arange(3, dtype=">f4"))
    with pytest.raises(TypeError, match="an array of <U1"):
        wick.Tensor(np.array(["a"]))


def test_the_package_has_a_version_and_its_modules():
    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert wick.__version__ == re.search(r"project\(wick VERSION (\d+\.\d+\.\d+) ", project)[1]
    assert wick.array_api.concat and wick.functional.relu and wick.nn.Linear and wick.optim.AdamW
