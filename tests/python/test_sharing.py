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


def test_dlpack_copies_when_asked_or_when_it_must():
    array = np.arange(4.0)
    copied = wick.from_dlpack(array, copy=True)
    array[0] = 7
    assert copied.tolist() == [0, 1, 2, 3] and wick.from_dlpack(array, copy=False)[0].item() == 7
    assert wick.from_dlpack(array, device="emu:32").device == "emu:32"
    for change in ({"device": "emu:32"}, {}):
        with pytest.raises(ValueError, match="from_dlpack: an array on cpu.*copy is False"):
            wick.from_dlpack(array if change else array[::-1], copy=False, **change)
    x = wick.Tensor([1.0])
    assert np.from_dlpack(x).ctypes.data == x.numpy().ctypes.data
    assert np.from_dlpack(x, copy=True).ctypes.data != x.numpy().ctypes.data
    with pytest.raises(BufferError, match="goes to the CPU"):
        x.__dlpack__(dl_device=(2, 0))


class OnGpu:
    """An array on a GPU that other code owns: records its consumer's requests."""

    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream)


def test_the_owner_of_gpu_memory_gets_our_stream(gpu):
    owner = OnGpu(wick.arange(5, device=gpu))
    x = wick.from_dlpack(owner)
    assert x.device == gpu and x.tolist() == [0, 1, 2, 3, 4]
    assert wick.Tensor(owner).tolist() == x.tolist()
    assert owner.streams == [wick.Stream.of(gpu).native] * 2
    # Those that name a stream by convention: of CUDA 0, 1 and 2; of ROCm 0 is the default stream, which wick uses.
    assert owner.streams[0] > 2 if gpu.type == "cuda" else owner.streams[0] not in (1, 2)
    assert np.from_dlpack(x, device="cpu", copy=None).tolist() == x.tolist()


def test_torch_and_wick_take_turns_on_one_memory(torch, gpu):
    if not gpu.type == "cuda" or not torch.cuda.is_available():
        pytest.skip("torch has no such device")
    with torch.cuda.stream(torch.cuda.Stream()):
        for round in range(20):
            big = torch.ones(1 << 24, device="cuda")
            for _ in range(10):
                big = big * 1.5
            x = wick.from_dlpack(big)  # torch's queued work is not done yet
            y = x + 1
            assert x.device == "cuda" and y.max().item() == y.min().item() == 1.5**10 + 1
            back = torch.from_dlpack(y * 2)
            assert back.min().item() == back.max().item() == 2 * (1.5**10 + 1)


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
