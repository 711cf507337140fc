"""Spellings of PyTorch and NumPy that are no ops of wick, held to PyTorch."""
import numpy as np
import pytest

import wick

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("call", [
    lambda x: x.reshape(3, 2),
    lambda x: x.reshape(3, -1),
    lambda x: x.reshape((6,)),
    lambda x: x.view(6),
    lambda x: x.view(1, 2, 3),
    lambda x: x.permute(1, 0),
    lambda x: x.permute([1, 0]),
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: x.flip(0, 1),
    lambda x: x.repeat(2, 1),
    lambda x: x.tile(1, 2),
    lambda x: x.broadcast_to((4, 2, 3)),
    lambda x: x.expand(4, 2, 3),
    lambda x: x.expand(4, -1, -1),
    lambda x: x.expand((4, -1, 3)),
])
def test_of_a_tensor(call, torch, device):
    got = call(wick.Tensor(ARRAY, device=device))
    np.testing.assert_array_equal(got.numpy(), call(torch.from_numpy(ARRAY)).numpy())
    assert got.device == device


def test_sizes_one_by_one(device):
    x = wick.Tensor(ARRAY, device=device)
    assert x.broadcast_to(4, 2, 3).shape == (4, 2, 3)
    assert wick.reshape(x, 3, 2).shape == x.reshape(shape=[3, 2]).shape == (3, 2)
    for make in (wick.zeros, wick.ones, wick.rand, wick.randn):
        y = make(2, 3, dtype="f64", device=device)
        assert (y.shape, y.dtype, y.device) == ((2, 3), wick.f64, device)
        assert make(4).shape == (4,) and make(2, 3, 4).shape == (2, 3, 4)
    assert wick.ones(2, 3).tolist() == [[1, 1, 1], [1, 1, 1]]
    for wrong in (lambda: wick.zeros(2, 2.5), lambda: x.reshape(2, "3"), lambda: wick.zeros(2, 3, dtypo="f32")):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="expand|broadcast_to"):
        x.expand(4, 3)


@pytest.mark.parametrize("arguments, expected", [
    ((5,), np.arange(5)),
    ((2, 5), np.arange(2, 5)),
    ((5, 0, -2), np.arange(5, 0, -2)),
    ((0.5, 2), np.arange(0.5, 2, dtype=np.float32)),
    ((2.5,), np.arange(2.5, dtype=np.float32)),
])
def test_arange(arguments, expected, device):
    x = wick.arange(*arguments, device=device)
    assert x.numpy().dtype == expected.dtype and x.device == device
    np.testing.assert_array_equal(x.numpy(), expected)
    assert wick.arange(*arguments, dtype=wick.f16, device=device).dtype == wick.f16
    assert wick.arange(1, end=7, step=3).tolist() == [1, 4]


def test_sizes():
    x = wick.Tensor(ARRAY)
    assert x.size() == x.shape == (2, 3) and x.size(0) == 2 and x.size(-1) == x.size(dim=1) == 3 and x.dim() == x.ndim == 2
    with pytest.raises(IndexError, match="size: dim: expected -2 to 1, got 2"):
        x.size(2)


@pytest.mark.parametrize("name", ["float", "double", "half", "bfloat16", "int", "long", "short", "bool"])
def test_conversions_have_the_names_of_pytorch(name, torch, device):
    x = getattr(wick.Tensor(ARRAY, device=device), name)()
    theirs = getattr(torch.from_numpy(ARRAY), name)()
    assert x.tolist() == theirs.tolist() and x.dtype == getattr(wick, str(theirs.dtype).removeprefix("torch."))


def test_devices_are_methods(device):
    assert wick.Tensor(ARRAY, device=device).cpu().device == "cpu"
    for kind in ("cuda", "rocm"):
        if not getattr(wick, f"{kind}_is_available")():
            with pytest.raises(RuntimeError, match=kind):
                getattr(wick.ones(1), kind)(7)


EXTREMES = np.array([[3, 7, 7, -1], [np.nan, 2, 5, 2], [4, 4, 4, 4]], dtype=np.float32)


@pytest.mark.parametrize("name, row, column", [
    ("max", ([7, np.nan, 4], [1, 0, 0]), ([np.nan, 7, 7, 4], [1, 0, 0, 2])),
    ("min", ([-1, np.nan, 4], [3, 0, 0]), ([np.nan, 2, 4, -1], [1, 1, 2, 0])),
    ("median", ([3, np.nan, 4], [0, 0, None]), ([np.nan, 4, 5, 2], [1, 2, 1, 1])),
])
def test_a_dim_gives_values_and_indices_and_an_axis_values(device, name, row, column):
    x = wick.Tensor(EXTREMES, device=device)
    method, function = getattr(x, name), getattr(wick, name)
    for dim, (values, indices) in ((1, row), (0, column)):
        for result in (method(dim), method(dim=dim), method(dim - 2), function(x, dim), function(x, dim=np.int64(dim))):
            assert result._fields == ("values", "indices") and result.indices.dtype == wick.i64
            np.testing.assert_array_equal(result.values.numpy(), np.float32(values))
            for got, expected in zip(result.indices.tolist(), indices):
                assert got == expected or expected is None  # any of equal elements
        for result in (method(axis=dim), function(x, axis=dim)):
            np.testing.assert_array_equal(result.numpy(), np.float32(values))
        kept = tuple(1 if d == dim else n for d, n in enumerate(x.shape))
        assert [t.shape for t in method(dim, keepdim=True)] == [t.shape for t in method(dim, True)] == [kept, kept]
        assert method(axis=dim, keepdims=True).shape == kept


def test_extremes_of_all_elements(device):
    x = wick.Tensor([[3.0, 7.0, -1.0], [4.0, 2.0, 5.0]], device=device)
    assert [x.max().item(), x.min().item(), x.median().item(), wick.median(x).item()] == [7, -1, 3, 3]
    assert x.median().shape == wick.median(x, axis=None).shape == () and x.median(keepdim=True).shape == (1, 1)
    assert x.median(axis=None, keepdims=True).tolist() == [[3]]
    assert np.isnan(wick.Tensor(EXTREMES, device=device).median().item())
    scalar = wick.Tensor(5.0, device=device)
    assert scalar.median().item() == 5 and [t.shape for t in scalar.max(0)] == [t.shape for t in scalar.median(0)] == [(), ()]


def test_extremes_of_lists_of_dims_are_values(device):
    x = wick.Tensor([[3.0, 7.0, -1.0], [4.0, 2.0, 5.0]], device=device)
    assert x.max(dims=[0, 1]).item() == x.max([0, 1]).item() == x.max(dim=(0, 1)).item() == x.max(axis=(0, 1)).item() == 7
    assert x.min(dims=1).tolist() == x.min([1]).tolist() == [-1, 2]
    assert wick.min(x, dims=[0], keepdim=True).tolist() == [[3, 2, -1]]


def test_extremes_of_two_tensors(device):
    x, y = wick.Tensor([[1.0, 5.0], [3.0, np.nan]], device=device), wick.Tensor([2.0, 4.0], device=device)
    np.testing.assert_array_equal(wick.max(x, y).numpy(), np.float32([[2, 5], [3, np.nan]]))
    np.testing.assert_array_equal(x.min(other=y).numpy(), np.float32([[1, 4], [2, np.nan]]))
    assert wick.max(x, wick.Tensor(1, device=device)).shape == (2, 2)
    with pytest.raises(ValueError, match="maximum"):
        x.max(wick.Tensor([1.0, 2.0, 3.0], device=device))
    for wrong in (None, 1.5, "dim"):
        with pytest.raises(TypeError):
            x.max(wrong)
    for name in ("max", "min", "median"):
        with pytest.raises(IndexError, match=f"{name}.*: expected dim in \\[-2, 2\\), got 2"):
            getattr(x, name)(2)
        with pytest.raises(ValueError, match=f"{name}.*: expected"):
            getattr(x[:0], name)(0)


@pytest.mark.parametrize("name, gradient", [("max", [[0, 2, 0], [0, 0, 2]]), ("min", [[0, 0, 2], [0, 2, 0]]), ("median", [[2, 0, 0], [2, 0, 0]])])
def test_gradients_go_to_the_chosen_elements(device, name, gradient):
    x = wick.Var([[3.0, 7.0, -1.0], [4.0, 2.0, 5.0]], device=device)
    for result in (getattr(x, name)(1).values, getattr(x, name)(axis=1)):
        x.zero_grad()
        (result * 2).sum().backward()
        assert x.grad.tolist() == gradient


def test_in_place_functions_return_the_var(device):
    v = wick.Var(ARRAY, device=device)
    assert v.add_(1) is v and v.mul_(v).sqrt_() is v and wick.fill_(v, 2) is v and v.set_(wick.zeros(2, 3, device=device)) is v
    v += 1
    assert v.clamp_(max=0.5).tolist() == [[0.5] * 3] * 2


def test_isclose_is_numpys(device):
    a = np.array([1, 1, 1e9, np.inf, np.inf, np.nan, 0, 1], np.float32)
    b = np.array([1.00001, 1.1, 1e9 + 5e3, np.inf, -np.inf, np.nan, 1e-9, np.inf], np.float32)
    for equal_nan in (False, True):
        ours = wick.isclose(wick.Tensor(a, device=device), wick.Tensor(b, device=device), equal_nan=equal_nan)
        np.testing.assert_array_equal(ours.numpy(), np.isclose(a, b, equal_nan=equal_nan))
    x = wick.Tensor([1, 100], device=device)
    assert wick.allclose(x, x + 1, rtol=0.5, atol=0.5) and not x.allclose(x + 1) and x.allclose(x)
    assert not wick.equal(x, x.to("f32")) and not wick.equal(x, x[:1]) and x.equal(x.clone())
    with pytest.raises(TypeError, match="isclose: expected tensors of one dtype, got i64 and f32"):
        x.isclose(x.to("f32"))


def test_seeds_of_all_devices():
    drawn = []
    for _ in range(2):
        wick.manual_seed(5)
        drawn.append([wick.rand(3, device=d).tolist() for d in ("cpu", "emu:32")])
    assert drawn[0] == drawn[1] and drawn[0][0] == drawn[0][1]


def test_deviations(torch, device):
    x = wick.Tensor(ARRAY, device=device)
    theirs = torch.from_numpy(ARRAY)
    for ours, expected in ((x.std(), theirs.std()), (x.std(0), theirs.std(0)), (x.std(dim=1, correction=0), theirs.std(dim=1, correction=0)),
                           (wick.std(x, axis=1, keepdims=True), theirs.std(dim=1, keepdim=True))):
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-6)


def test_the_gradient_of_one_input_is_a_list_of_one(device):
    v = wick.Var([1.0, 2.0], device=device)
    (gradient,) = wick.grad((v * v).sum(), v)
    assert gradient.tolist() == [2, 4]
    (once,) = wick.grad((v * v * v).sum(), v, create_graph=True)
    assert wick.grad(once.sum(), v)[0].tolist() == [6, 12]


def test_numpy_arrays_are_refused_clearly(device):
    x, array = wick.Tensor(ARRAY, device=device), np.ones((3, 2), np.float32)
    for wrong in (lambda: x @ array, lambda: array.T @ x, lambda: np.sqrt(x), lambda: array.T * x):
        with pytest.raises(TypeError, match="NumPy array|does not support ufuncs"):
            wrong()
