"""What users of PyTorch and NumPy write every day, held to PyTorch."""
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


def test_in_place_functions_return_the_var(device):
    v = wick.Var(ARRAY, device=device)
    assert v.add_(1) is v and v.mul_(v).sqrt_() is v and wick.fill_(v, 2) is v and v.set_(wick.zeros(2, 3, device=device)) is v
    v += 1
    assert v.clamp_(max=0.5).tolist() == [[0.5] * 3] * 2
