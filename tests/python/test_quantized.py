"""Tensors of block dtypes, and QTensor and QMatMul."""
import numpy as np
import pytest

import wick


def weights(device):
    return wick.Tensor(np.random.default_rng(0).normal(size=(6, 256)).astype(np.float32), device=device)


@pytest.mark.parametrize("name, error", [("q8_0", 0.02), ("q4_0", 0.3), ("q5_1", 0.2), ("f16", 0.002)])
def test_quantized_values_are_near_and_kept_by_their_bytes(name, error, device):
    w = weights(device)
    q = wick.QTensor.quantize(w, name)
    assert (q.shape, q.ndim, str(q.dtype), q.device) == ((6, 256), 2, str(getattr(wick, name)), device)
    difference = np.abs((q.dequantize() - w).numpy()).max()
    assert 0 < difference < error
    again = wick.QTensor.from_data(q.data(), name, (6, 256), device=device)
    assert len(q.data()) == q.nbytes < 6 * 256 * 4
    assert again.dequantize().tolist() == q.dequantize().tolist() == q.tensor.to(wick.f32).tolist()
    assert "shape=[6, 256]" in repr(q) and name in repr(q)


def test_products_and_rows(device):
    w, x = weights(device), wick.Var(wick.rand([2, 256]).to(device=device))
    q = wick.QTensor.quantize(w, "q8_0")
    y = wick.QMatMul(q)(x)
    np.testing.assert_allclose(y.numpy(), (x @ q.dequantize().transpose(0, 1)).numpy(), atol=0.05)
    assert y.tolist() == wick.linear(x, q.tensor).tolist()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.tile(q.dequantize().numpy().sum(0), (2, 1)), atol=1e-4)
    assert q.embedding(wick.Tensor([5, 0], device=device)).tolist() == q.dequantize()[[5, 0]].tolist()
    assert wick.QMatMul(q).forward_via_f16(x).dtype == wick.f32


def test_errors():
    with pytest.raises(ValueError, match="multiple|block"):
        wick.QTensor.quantize(wick.ones([2, 33]), "q8_0")
    with pytest.raises(ValueError, match="bytes"):
        wick.QTensor.from_data(b"123", "q8_0", (2, 32))
    with pytest.raises(TypeError):
        wick.QTensor(wick.Tensor([1, 2]))


def test_a_tensor_of_a_file_is_held_without_a_copy(tmp_path):
    w = wick.rand([4, 64])
    wick.save_safetensors(tmp_path / "w.safetensors", {"w": w})
    assert wick.QTensor(wick.load_safetensors(tmp_path / "w.safetensors")["w"]).dequantize().tolist() == w.tolist()
