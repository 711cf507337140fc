"""Kernels from formulas, from source and from code."""
import ctypes

import numpy as np
import pytest

import wick

CUBE = """
extern "C" __global__ void cube(const float* x, float* y, float scale, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scale * x[i] * x[i] * x[i];
}"""
CUBE_ON_CPU = """
extern "C" void cube(const WickTensor* inputs, int, const WickTensor* outputs, int) {
  const float* x = static_cast<const float*>(inputs[0].data);
  for (long long i = 0; i < inputs[0].shape[0]; i++) static_cast<float*>(outputs[0].data)[i] = x[i] * x[i] * x[i];
}"""


def test_a_formula_is_an_op(device):
    mix = wick.elementwise_kernel("mix", "a * b + sin(c)", inputs=3)
    a, b, c = (wick.randn(2, 3, device=device) for _ in range(3))
    np.testing.assert_allclose(mix(a, b[0], c).numpy(), (a * b[0] + c.sin()).numpy(), rtol=1e-6, atol=1e-6)
    named = wick.elementwise_kernel("twice", "2 * angle", names=["angle"])
    assert named(wick.Tensor([1, 2], device=device)).tolist() == [2, 4]


def test_errors_of_formulas():
    with pytest.raises(ValueError, match="mix: 'a \\+': at 4: expected a value"):
        wick.elementwise_kernel("mix", "a +", inputs=2)
    twice = wick.elementwise_kernel("twice", "2 * a")
    with pytest.raises(ValueError, match="twice"):
        twice(wick.ones(1), wick.ones(1))
    with pytest.raises(TypeError):
        twice(1)
    with pytest.raises(RuntimeError, match="twice"):
        twice(wick.Var([1.0])).sum().backward()


def test_source_runs_on_the_emulator():
    x = wick.arange(300, dtype="f32", device="emu:32")
    cube = wick.compile_kernel("emu:32", "cube", CUBE)
    for grid, block in ((2, 256), ((2,), [256, 1, 1])):
        y = wick.zeros_like(x)
        cube.launch(grid, block, x, y, 1.5, 300)
        np.testing.assert_allclose(y.numpy(), 1.5 * x.numpy() ** 3, rtol=1e-6)


@pytest.mark.parametrize("scale, count", [(np.float32(2), np.int64(4)), (ctypes.c_float(2), ctypes.c_longlong(4)), (2.0, 4)])
def test_numbers_have_the_size_of_their_type(scale, count):
    x = wick.arange(4, dtype="f32", device="emu:32")
    y = wick.zeros_like(x)
    wick.KernelModule.compile("emu:32", "cube", CUBE).function("cube").launch(1, 32, x, y, scale, count)
    assert y.tolist() == [0, 2, 16, 54]


def test_shared_memory_null_pointers_and_vars():
    source = """
    extern "C" __global__ void reverse(const float* x, float* y) {
      extern __shared__ float part[];
      part[threadIdx.x] = x ? x[threadIdx.x] : 7;
      __syncthreads();
      y[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
    }"""
    reverse = wick.compile_kernel("emu:32", "reverse", source)
    x, v = wick.Tensor([1.0, 2.0, 3.0], device="emu:32"), wick.Var([0.0, 0.0, 0.0], device="emu:32")
    needs_v = (v * v).sum()
    reverse.launch(1, 3, x, v, shared_bytes=12)
    assert v.tolist() == [3, 2, 1]
    with pytest.raises(RuntimeError, match="overwritten"):
        needs_v.backward()
    reverse.launch(1, 3, None, v, shared_bytes=12)
    assert v.tolist() == [7, 7, 7]


def test_source_on_the_cpu_takes_whole_tensors():
    cube = wick.compile_kernel("cpu", "cube", CUBE_ON_CPU)
    x = wick.Tensor([1.0, 2.0, 3.0])
    y = wick.zeros_like(x)
    cube.launch([x], [y])
    assert y.tolist() == [1, 8, 27]
    with pytest.raises(NotImplementedError, match="cube: a kernel of the CPU has no blocks"):
        cube.launch(1, 32, x, y)


def test_a_kernel_is_the_forward_of_a_function():
    kernel = wick.compile_kernel("emu:32", "cube", CUBE)

    class Cube(wick.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            y = wick.empty_like(x)
            kernel.launch(1, 32, x, y, 1.0, x.numel())
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3 * ctx.saved_tensors[0].square()

    v = wick.Var([1.0, 2.0], device="emu:32")
    Cube.apply(v).sum().backward()
    assert v.grad.tolist() == [3, 12]


X = wick.ones([4], device="emu:32")


@pytest.mark.parametrize("launch, error, text", [
    (lambda k: k.launch(1, 32, X, X, np.float64(1), 4), ValueError, "cube: argument 2: expected 4 bytes, got 8"),
    (lambda k: k.launch(1, 32, X, X, 1.0), ValueError, "cube: expected 4 arguments, got 3"),
    (lambda k: k.launch(1, 32, X, X, "a", 4), TypeError, "launch: argument 2: expected a tensor, .* got str"),
    (lambda k: k.launch(1, 32, X, np.ones(4), 1.0, 4), TypeError, "launch: argument 1: .* got ndarray"),
    (lambda k: k.launch(1, (1, 1, 1, 1), X, X, 1.0, 4), ValueError, "launch: block: expected one to three sizes, got 4"),
    (lambda k: k.launch(1, 10**6, X, X, 1.0, 4), ValueError, "cube: block: "),
    (lambda k: k.launch(1, 32, wick.ones(4), X, 1.0, 4), ValueError, "cube: argument 0: expected a tensor on emu:32"),
    (lambda k: k.launch([X], [X]), NotImplementedError, "cube: expected launch"),
])
def test_wrong_launches_are_refused(launch, error, text):
    with pytest.raises(error, match=text):
        launch(wick.compile_kernel("emu:32", "cube", CUBE))


def test_what_does_not_compile_or_load_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cube:1"):
        wick.compile_kernel("emu:32", "cube", "nonsense")
    with pytest.raises(NotImplementedError, match="cpu"):
        wick.KernelModule.load("cpu", tmp_path)
    (tmp_path / "code").write_bytes(b"no code")
    for load in (lambda: wick.KernelModule.load("emu:32", tmp_path / "code"),
                 lambda: wick.KernelModule.from_bytes("emu:32", b"no code", "code")):
        with pytest.raises((ValueError, RuntimeError), match="code"):
            load()


def test_streams_run_in_the_order_of_events(device):
    if device.type == "cpu":
        pytest.skip("a kernel of the CPU has no stream")
    side, ops = wick.Stream(device), wick.Stream.of(device)
    assert side.device == ops.device == device
    cube = wick.compile_kernel(device, "cube", CUBE)
    x = wick.arange(1000, dtype="f32", device=device) * 0.5
    y, z = wick.empty_like(x), wick.empty_like(x)
    side.wait(wick.Event(ops))
    cube.launch(4, 256, x, y, 1.0, 1000, stream=side)
    cube.launch(4, 256, y, z, 1.0, 1000, stream=side)
    event = wick.Event(side)
    ops.wait(event)
    np.testing.assert_allclose((z + 0).numpy(), (x.numpy() ** 3) ** 3, rtol=1e-5)
    event.synchronize()
    side.synchronize()
    assert event.done and event.device == device


def test_streams_belong_to_a_device():
    cube = wick.compile_kernel("emu:32", "cube", CUBE)
    x = wick.ones(4, device="emu:32")
    with pytest.raises(ValueError, match="cube: the kernel is of emu:32, the stream of emu:64"):
        cube.launch(1, 32, x, wick.empty_like(x), 1.0, 4, stream=wick.Stream("emu:64"))
    with pytest.raises(ValueError, match="emu:32"):
        wick.Stream("emu:64").wait(wick.Event(wick.Stream("emu:32")))


def test_a_stream_has_the_runtimes_handle(gpu):
    assert wick.Stream(gpu).native not in (0, wick.Stream.of(gpu).native)
