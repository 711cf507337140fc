"""wick.array_api beside NumPy, which has the standard's functions under the same names."""
import numpy as np
import pytest

import wick

CALLS = {
    "concat": lambda xp, x, y: xp.concat([x, y], axis=1),
    "std": lambda xp, x, y: xp.std(x, axis=0),
    "var of a sample": lambda xp, x, y: xp.var(x, correction=1.0),
    "argmax of all": lambda xp, x, y: xp.argmax(x),
    "cumulative_sum": lambda xp, x, y: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x, y: xp.diff(x, axis=0, n=2, prepend=y),
    "take": lambda xp, x, y: xp.take(x, xp.asarray([2, 0]), axis=1),
    "unique_counts": lambda xp, x, y: xp.unique_counts(xp.asarray([3, 1, 3, 2]))[1],
    "unique_all": lambda xp, x, y: xp.unique_all(xp.asarray([3, 1, 3, 2]))[1],
    "repeat": lambda xp, x, y: xp.repeat(x, xp.asarray([1, 0, 2]), axis=0),
    "roll": lambda xp, x, y: xp.roll(x, (1, 2), axis=(0, 1)),
    "eye": lambda xp, x, y: xp.eye(3, 4, k=1),
    "arange": lambda xp, x, y: xp.arange(2, 11, 3),
    "linspace": lambda xp, x, y: xp.linspace(0.0, 1.0, 4, endpoint=False),
    "meshgrid": lambda xp, x, y: xp.meshgrid(x[0], y[:, 0])[0],
    "vecdot": lambda xp, x, y: xp.vecdot(x, y),
    "a number": lambda xp, x, y: xp.hypot(x, 2.0),
    "copysign": lambda xp, x, y: xp.copysign(x, -1.0),
    "isdtype": lambda xp, x, y: xp.asarray(xp.isdtype(x.dtype, ("integral", "real floating"))),
    "finfo": lambda xp, x, y: xp.asarray([float(xp.finfo(x.dtype).eps), float(xp.finfo(x.dtype).smallest_normal)]),
    "result_type": lambda xp, x, y: xp.asarray([1], dtype=xp.result_type(xp.int32, xp.uint8)),
    "sum of bytes": lambda xp, x, y: xp.sum(xp.asarray([200, 100], dtype=xp.uint8)),
    "mean over no dims": lambda xp, x, y: xp.mean(x, axis=()),
    "squeeze": lambda xp, x, y: xp.squeeze(xp.reshape(x, (1, 9, 1)), axis=(0, -1)),
    "stack of bools": lambda xp, x, y: xp.stack([x > 0, y > 0]),
    "bool": lambda xp, x, y: xp.logical_and(x > y, True),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_the_standard(name):
    if int(np.__version__.split(".")[0]) < 2:
        pytest.skip("NumPy before 2 lacks the standard's functions")
    x, y = (np.random.default_rng(i).normal(size=(3, 3)).astype(np.float32) for i in range(2))
    xp = wick.Tensor(x).__array_namespace__(api_version="2024.12")
    expected = CALLS[name](np, x, y)
    got = CALLS[name](xp, xp.asarray(x), xp.asarray(y))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert got.numpy().dtype.kind == np.asarray(expected).dtype.kind


def test_kinds_and_copies(device):
    xp = wick.ones(2).__array_namespace__()
    x = xp.asarray([1, 2], device=device)
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and x.to_device("cpu").device == "cpu"
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1], copy=False)
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert xp.__array_namespace_info__().default_dtypes()["indexing"] == xp.int64
