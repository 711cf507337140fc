#!/usr/bin/env python3
"""Tensors on a GPU beside NumPy and PyTorch: tensors.py [DEVICE], by default the best of this machine."""
import sys

import numpy as np

import wick

device = wick.Device(sys.argv[1] if len(sys.argv) > 1 else "auto")
print(f"{device}: {device.name} ({device.architecture})")

# From NumPy to the device and back.
x = wick.Tensor(np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3), device=device)
y = (x @ x.transpose(0, 1)).softmax(dim=-1)
print(y, y.shape, y.dtype)
assert np.allclose(y.numpy().sum(axis=1), 1)

# Indexing as NumPy has it; a gradient.
print(x[:, -1], x[..., ::2], x[x > 0.5])
v = wick.Var(x)
(v**2).sum().backward()
print(v.grad)

# The same memory in NumPy, without a copy, through DLPack.
on_host = x.to("cpu")
array = np.from_dlpack(on_host)
print(array.__array_interface__["data"][0] == np.from_dlpack(on_host).__array_interface__["data"][0])
