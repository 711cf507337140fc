"""DLPack, NumPy's protocols, pickling and copying."""
import copy
import gc
import pickle

import numpy as np
import pytest

import wick


def test_numpy_shares_the_memory_of_the_cpu_read_only():
    x = wick.Tensor([1.0, 2.0])
    a, b = x.numpy(), np.asarray(x)
    assert a.ctypes.data == b.ctypes.data and not a.flags.writeable
    c = np.array(x)
    c[0] = 5
    assert x.tolist() == [1, 2]
    del x
    gc.collect()
    assert a.tolist() == [1, 2]


def test_numpy_functions_take_tensors():
    x = wick.Tensor([[1.0, 2.0]])
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.asarray(x.transpose(0, 1)), [[1], [2]])


def test_dlpack_of_numpy_is_the_same_memory():
    array = np.arange(6.0).reshape(2, 3)
    x = wick.from_dlpack(array)
    back = np.from_dlpack(x)
    assert back.ctypes.data == array.ctypes.data
    address = array.ctypes.data
    del array
    gc.collect()
    assert back.ctypes.data == address and x[1].tolist() == [3, 4, 5]


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "int64", "bool", "uint8"])
def test_dlpack_of_torch_is_the_same_memory(torch, name):
    t = torch.ones(2, 3).to(getattr(torch, name)).T
    x = wick.from_dlpack(t)
    assert (x.shape, x.dtype, x.strides) == ((3, 2), getattr(wick, "bool" if name == "bool" else name), (1, 3))
    back = torch.from_dlpack(x)
    assert back.data_ptr() == t.data_ptr() and torch.equal(back, t)


def test_dlpack_names_the_device():
    assert wick.Tensor(1).__dlpack_device__() == (1, 0)
    with pytest.raises(TypeError, match="emu:32"):
        wick.Tensor(1, device="emu:32").__dlpack__()


def test_other_dtypes_are_converted_first():
    with pytest.raises(TypeError, match="bf16.*to\\(wick.f32\\)"):
        wick.Tensor([1.0], dtype="bf16").numpy()


@pytest.mark.parametrize("dtype", ["bool", "i8", "u64", "i64", "bf16", "f16", "f32", "f64", "f8e4m3", "f4"])
def test_tensors_pickle(dtype, device):
    x = wick.Tensor([[0, 1], [1, 0]], dtype=dtype, device=device).transpose(0, 1)
    y = pickle.loads(pickle.dumps(x))
    assert (y.dtype, y.device, y.tolist()) == (x.dtype, device, x.tolist())


def test_copies_of_an_immutable_tensor_are_the_tensor():
    x = wick.Tensor([1])
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
