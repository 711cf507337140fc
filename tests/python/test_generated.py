"""Calls that hypothesis makes up, held to NumPy in double precision: shapes, layouts, dims, dtypes, values."""
import numpy as np
import pytest

import conftest
import wick

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
from hypothesis import given, settings, strategies as st  # noqa: E402
from hypothesis.extra import numpy as arrays_of  # noqa: E402

CASES = 250
ALL = settings(max_examples=CASES, deadline=None, derandomize=True, database=None)
SHAPES = arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
FULL_SHAPES = arrays_of.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)
FLOATS = {"f32": np.float32, "f64": np.float64}
VALUES = st.floats(-8, 8, width=32)


def floats(shapes=SHAPES, dtypes=tuple(FLOATS.values())):
    return st.sampled_from(dtypes).flatmap(lambda dtype: arrays_of.arrays(dtype, shapes, elements=VALUES))


def integers(shapes=SHAPES):
    return st.sampled_from([np.int32, np.int64, np.uint8, np.int8]).flatmap(
        lambda dtype: arrays_of.arrays(dtype, shapes, elements=st.integers(0, 7)))


def laid_out(data, array, device):
    """The array as a tensor that may be transposed, reversed or a part of a larger one, and as NumPy has it then."""
    layout = data.draw(st.sampled_from(["plain", "transposed", "flipped", "every second"]))
    x = wick.Tensor(array, device=device)
    if array.ndim == 0 or layout == "plain":
        return x, array
    if layout == "transposed":
        order = data.draw(st.permutations(range(array.ndim)))
        return x.permute(*order), array.transpose(order)
    dim = data.draw(st.integers(0, array.ndim - 1))
    if layout == "flipped":
        return x.flip(dim), np.flip(array, dim)
    key = tuple([slice(None)] * dim + [slice(None, None, 2)])
    return x[key], array[key]


def same(got, expected, scale=1.0):
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    tolerance = 2e-5 if got.dtype != wick.f64 else 1e-12
    np.testing.assert_allclose(got.to(wick.f64).numpy(), expected.astype(np.float64), rtol=tolerance, atol=tolerance * scale)


UNARY = ["exp", "abs", "sign", "square", "sin", "cos", "tanh", "floor", "ceil", "trunc", "expm1", "arctan", "negative", "isnan"]
NAMES = {"arctan": "atan", "negative": "neg"}


@ALL
@given(st.data(), floats(), st.sampled_from(UNARY), st.sampled_from(conftest.DEVICES))
def test_unary(data, array, name, device):
    x, a = laid_out(data, array, device)
    same(getattr(wick, NAMES.get(name, name))(x), getattr(np, name)(a.astype(np.float64)), scale=3000)


BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "less", "less_equal", "equal", "not_equal", "hypot"]
BINARY_NAMES = {"subtract": "sub", "multiply": "mul", "less": "lt", "less_equal": "le", "equal": "eq", "not_equal": "ne"}


@ALL
@given(st.data(), arrays_of.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=5), st.sampled_from(BINARY),
       st.sampled_from(conftest.DEVICES))
def test_binary_with_broadcasting(data, shapes, name, device):
    operands = [laid_out(data, data.draw(floats(st.just(shape))), "cpu") for shape in shapes.input_shapes]
    (x, a), (y, b) = [(t.to(device=device), array) for t, array in operands]
    try:
        expected = getattr(np, name)(a, b)
    except ValueError:  # a layout has changed the shape
        with pytest.raises(ValueError, match=BINARY_NAMES.get(name, name)):
            getattr(wick, BINARY_NAMES.get(name, name))(x, y)
        return
    same(getattr(wick, BINARY_NAMES.get(name, name))(x, y), expected, scale=16)


@ALL
@given(st.data(), floats(FULL_SHAPES), st.sampled_from(["sum", "mean", "max", "min", "prod", "argmax", "argmin"]), st.booleans(),
       st.sampled_from(conftest.DEVICES))
def test_reductions(data, array, name, keepdims, device):
    x, a = laid_out(data, array, device)
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    expected = getattr(np, name)(a.astype(np.float64), axis=axis, keepdims=keepdims)
    same(getattr(wick, name)(x, axis=axis, keepdims=keepdims), expected, scale=8.0**5 if name == "prod" else 64)


@ALL
@given(st.data(), floats(FULL_SHAPES), st.sampled_from(["cumsum", "softmax", "sort", "argsort"]), st.sampled_from(conftest.DEVICES))
def test_along_a_dim(data, array, name, device):
    x, a = laid_out(data, array, device)
    axis, a = data.draw(st.integers(-a.ndim, a.ndim - 1)), a.astype(np.float64)
    if name == "softmax":
        e = np.exp(a - a.max(axis, keepdims=True))
        same(wick.softmax(x, axis), e / e.sum(axis, keepdims=True))
    elif name == "sort":
        same(wick.sort(x, axis).values, np.sort(a, axis))
    elif name == "argsort":
        same(wick.argsort(x, axis), np.argsort(a, axis, kind="stable"))
    else:
        same(wick.cumsum(x, axis), np.cumsum(a, axis), scale=64)


@ALL
@given(st.data(), st.one_of(floats(), integers()), st.sampled_from(conftest.DEVICES))
def test_basic_indexing(data, array, device):
    x, a = laid_out(data, array, device)
    key = data.draw(arrays_of.basic_indices(a.shape, allow_newaxis=True))
    steps = [k.step or 1 for k in (key if isinstance(key, tuple) else (key,)) if isinstance(k, slice)]
    if any(step < 0 for step in steps):
        key = Ellipsis
    same(x[key], a[key])


@ALL
@given(st.data(), integers(FULL_SHAPES), st.sampled_from(conftest.DEVICES))
def test_ids_and_masks(data, array, device):
    x, a = laid_out(data, array, device)
    dim = data.draw(st.integers(0, a.ndim - 1))
    if a.shape[dim]:
        ids = data.draw(st.lists(st.integers(-a.shape[dim], a.shape[dim] - 1), min_size=1, max_size=6))
        key = tuple([slice(None)] * dim + [ids])
        same(x[key], a[key])
    mask = data.draw(arrays_of.arrays(np.bool_, a.shape))
    same(x[wick.Tensor(mask, device=device)], a[mask])


@ALL
@given(st.data(), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9), st.sampled_from(list(FLOATS)), st.sampled_from(conftest.DEVICES))
def test_products(data, m, k, n, dtype, device):
    a, b = [data.draw(arrays_of.arrays(FLOATS[dtype], shape, elements=VALUES)) for shape in ((m, k), (k, n))]
    same(wick.Tensor(a, device=device) @ wick.Tensor(b, device=device), a.astype(np.float64) @ b.astype(np.float64), scale=600)


@ALL
@given(st.data(), st.one_of(floats(), integers()), st.sampled_from(["bool", "i32", "i64", "f32", "f64", "u8"]),
       st.sampled_from(conftest.DEVICES))
def test_casts_and_back_to_numpy(data, array, dtype, device):
    x, a = laid_out(data, array, device)
    if dtype == "u8":  # NumPy's results for negative numbers depend on the machine
        x, a = x.abs() if a.dtype.kind == "f" else x, np.abs(a)
    back = x.to(dtype).numpy()
    assert back.dtype == np.dtype({"bool": "?", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8", "u8": "u1"}[dtype])
    np.testing.assert_array_equal(back, a.astype(back.dtype))


@ALL
@given(st.data(), floats(FULL_SHAPES), st.sampled_from(conftest.DEVICES))
def test_shapes(data, array, device):
    x, a = laid_out(data, array, device)
    dims = data.draw(st.permutations(range(a.ndim)))
    same(x.permute(*dims).reshape(-1), a.transpose(dims).reshape(-1))
    same(wick.cat([x, x], -1), np.concatenate([a, a], -1))
    same(wick.stack([x, x], 0), np.stack([a, a], 0))
    same(x.repeat([2] * a.ndim), np.tile(a, [2] * a.ndim))
