"""Indexing, held to NumPy's."""
import numpy as np
import pytest

import wick

ARRAY = np.arange(60).reshape(3, 4, 5)

KEYS = [
    0, -1, (1, 2), (1, -2, 3), slice(1, None), slice(None, None, 2), slice(None, None, -1), (slice(None), slice(-3, -1)), ...,
    (..., 0), (0, ..., slice(None, None, 3)), None, (slice(None), None, 1), (None, ..., None), slice(10, 20), np.int64(1),
    [0, 2], ([0, 2], [1, -1]), (slice(None), [3, 0, 0]), np.array([[0, 1], [2, 0]]), ARRAY > 30, ARRAY[:, 0, 0] > 10,
    (slice(None), ARRAY[0, :, 0] % 2 == 1), ([0, 1], slice(1, 3), [4, 4]),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reads_the_elements_that_numpy_reads(key, device):
    np.testing.assert_array_equal(wick.Tensor(ARRAY, device=device)[key].numpy(), ARRAY[key])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_var_writes_the_elements_that_numpy_writes(key, device):
    v, array = wick.Var(ARRAY, dtype=wick.f32, device=device), ARRAY.astype(np.float32)
    v[key] = -1
    array[key] = -1
    np.testing.assert_array_equal(v.numpy(), array)
    v[key] = wick.full([], 7.5, device=device)
    array[key] = 7.5
    np.testing.assert_array_equal(v.numpy(), array)


def test_tensors_are_ids_and_masks(device):
    x = wick.Tensor(ARRAY, device=device)
    np.testing.assert_array_equal(x[wick.Tensor([2, 0], device=device)].numpy(), ARRAY[[2, 0]])
    np.testing.assert_array_equal(x[x > 30].numpy(), ARRAY[ARRAY > 30])


def test_lists_are_written_too():
    v = wick.Var([1.0, 2.0, 3.0])
    v[1:] = [5, 6]
    assert v.tolist() == [1, 5, 6]


@pytest.mark.parametrize("key, error", [(3, IndexError), ((0, 4), IndexError), ((0, 0, 0, 0), ValueError), ("a", TypeError),
                                        (1.5, TypeError), ((..., ...), ValueError)])
def test_wrong_keys_are_refused(key, error):
    with pytest.raises(error):
        wick.Tensor(ARRAY)[key]


def test_a_plain_tensor_cannot_be_written():
    with pytest.raises(TypeError, match="immutable.*index_put.*Var"):
        wick.Tensor([1, 2])[0] = 1
