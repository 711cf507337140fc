"""Layers: parameters together with the op that uses them.

    class Classifier(nn.Module):
        def __init__(self, device):
            self.hidden = nn.Linear(784, 128, device=device)
            self.out = nn.Linear(128, 10, device=device)

        def __call__(self, x: Tensor) -> Tensor:
            return self.out(wick.relu(self.hidden(x)))
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, get_args

from . import _wick, functional
from ._wick import Device, DType, Tensor, Var
from .module import Module as Module


Place = Device | str | None  # None: the CPU
PaddingMode = Literal["zeros", "reflect", "replicate", "circular"]
Parameter = _wick.Var


def _normal(shape: list[int], deviation: float, dtype: DType | None, device: Place) -> Var:
    return _wick.Var(_wick.randn(shape, device=device or "cpu") * deviation, dtype=dtype)


def _constant(shape: list[int], value: float, dtype: DType | None, device: Place) -> Var:
    return _wick.Var(_wick.full(shape, value, device=device or "cpu"), dtype=dtype)


def _sizes(sizes: int | Sequence[int]) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class Linear(Module):
    """x [..., in] -> x weightᵀ + bias [..., out]. Parameters weight [out, in] and bias [out]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, deviation: float | None = None,
                 dtype: DType | None = None, device: Place = None) -> None:
        self.weight = _normal([out_features, in_features], in_features**-0.5 if deviation is None else deviation, dtype, device)
        self.bias = _constant([out_features], 0.0, dtype, device) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.linear(x, self.weight, self.bias)


class ExpertLinear(Module):
    """Linear layers of several experts, of which each row selects some: x [T, in] or [T, J, in] and ids [T, J] -> [T, J, out].
    Parameter weight [experts, out, in]."""

    def __init__(self, experts: int, in_features: int, out_features: int, *, deviation: float | None = None,
                 dtype: DType | None = None, device: Place = None) -> None:
        self.weight = _normal([experts, out_features, in_features], in_features**-0.5 if deviation is None else deviation, dtype,
                              device)

    def __call__(self, x: Tensor, ids: Tensor) -> Tensor:
        return _wick.expert_linear(x, self.weight, ids)


class Embedding(Module):
    """ids [...] in [0, num_embeddings) -> [..., embedding_dim]. Parameter weight [num_embeddings, embedding_dim]."""

    def __init__(self, num_embeddings: int, embedding_dim: int, *, deviation: float = 1.0, dtype: DType | None = None,
                 device: Place = None) -> None:
        self.weight = _normal([num_embeddings, embedding_dim], deviation, dtype, device)

    def __call__(self, ids: Tensor) -> Tensor:
        return _wick.embedding(self.weight, ids)


def _last_dims(op: str, x: Tensor, normalized_shape: tuple[int, ...]) -> Tensor:
    """x [..., normalized_shape] with one last dim for these."""
    shape = tuple(x.shape)
    kept = len(shape) - len(normalized_shape)
    if kept < 0 or shape[kept:] != normalized_shape:
        raise ValueError(f"{op}: expected a shape that ends with {list(normalized_shape)}, got {list(shape)}")
    return x if len(normalized_shape) == 1 else x.reshape([*shape[:kept], math.prod(normalized_shape)])


class RMSNorm(Module):
    """x [..., normalized_shape] / its root mean square, times weight [normalized_shape], which begins as 1; with adds_one, as
    Gemma has it, times 1 + weight, which begins as 0. Without elementwise_affine there is no weight."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True, *,
                 adds_one: bool = False, dtype: DType | None = None, device: Place = None) -> None:
        self.normalized_shape = _sizes(normalized_shape)
        self.weight = _constant([*self.normalized_shape], 0.0 if adds_one else 1.0, dtype, device) if elementwise_affine else None
        self.eps, self.adds_one = eps, adds_one

    def __call__(self, x: Tensor) -> Tensor:
        rows = _last_dims("RMSNorm", x, self.normalized_shape)
        # PyTorch's: the distance from 1 to the next number, in f32 for the smaller dtypes.
        eps = (2.0**-52 if x.dtype == _wick.f64 else 2.0**-23) if self.eps is None else self.eps
        if self.weight is None:
            weight = _wick.ones([rows.shape[-1]], dtype=x.dtype, device=x.device)
        else:
            weight = self.weight.reshape([rows.shape[-1]])
        return _wick.rms_norm(rows, weight + 1 if self.adds_one else weight, eps).reshape(x.shape)


class LayerNorm(Module):
    """x [..., normalized_shape] of mean 0 and variance 1, times weight plus bias [normalized_shape], which begin as 1 and 0;
    without both unless elementwise_affine."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, *, dtype: DType | None = None, device: Place = None) -> None:
        self.normalized_shape = _sizes(normalized_shape)
        shape = [*self.normalized_shape]
        self.weight = _constant(shape, 1.0, dtype, device) if elementwise_affine else None
        self.bias = _constant(shape, 0.0, dtype, device) if elementwise_affine and bias else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        rows = _last_dims("LayerNorm", x, self.normalized_shape)
        size = [rows.shape[-1]]
        weight = _wick.ones(size, dtype=x.dtype, device=x.device) if self.weight is None else self.weight.reshape(size)
        bias = None if self.bias is None else self.bias.reshape(size)
        return _wick.layer_norm(rows, weight, bias, self.eps).reshape(x.shape)


class Dropout(Module):
    """In training, replaces each element by 0 with probability p and divides the others by 1 - p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.p, self.training)


class Conv2d(Module):
    """x [N, C, H, W] -> [N, O, OH, OW], by wick.conv2d with these options. Parameters weight [O, C / groups, K, K] and bias
    [O]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int],
                 stride: int | tuple[int, int] = 1, padding: int | tuple[int, ...] | str = 0, dilation: int | tuple[int, int] = 1,
                 groups: int = 1, bias: bool = True, padding_mode: PaddingMode = "zeros", *, dtype: DType | None = None,
                 device: Place = None) -> None:
        if isinstance(groups, bool) or isinstance(stride, bool):
            raise TypeError("Conv2d: stride and groups: expected ints, got a bool; bias is a keyword")
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(f"Conv2d: groups: expected a divisor of {in_channels} and {out_channels} channels, got {groups}")
        size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(size) != 2:
            raise ValueError(f"Conv2d: kernel_size: expected an int or two, got {kernel_size}")
        fan_in = in_channels // groups * size[0] * size[1]
        self.weight = _normal([out_channels, in_channels // groups, *size], fan_in**-0.5, dtype, device)
        self.bias = _constant([out_channels], 0.0, dtype, device) if bias else None
        if padding_mode not in get_args(PaddingMode):
            raise ValueError(f"Conv2d: padding_mode: expected one of {', '.join(get_args(PaddingMode))}, got {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Conv2d: padding: expected ints, 'same' or 'valid', got {padding!r}")
        self.options: dict[str, Any] = {"stride": stride, "padding": 0 if padding == "valid" else padding, "dilation": dilation,
                                        "groups": groups, "padding_mode": padding_mode}

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.conv2d(x, self.weight, bias=self.bias, **self.options)


class Sequential(Module):
    """Calls modules and functions one after another: Sequential(Linear(4, 8), wick.relu, Linear(8, 2))."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        self.layers = layers

    def _members(self) -> Iterable[tuple[str, Any]]:
        return ((str(index), layer) for index, layer in enumerate(self.layers))

    def __call__(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def __getitem__(self, index: int) -> Callable[[Tensor], Tensor]:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)


class ModuleList(Module):
    """A list of modules, whose names are their indices."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.items = list(modules)

    def _members(self) -> Iterable[tuple[str, Any]]:
        return ((str(index), module) for index, module in enumerate(self.items))

    def append(self, module: Module) -> Self:
        """Adds a module. Returns the list."""
        self.items.append(module)
        return self

    def __getitem__(self, index: int) -> Module:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.items)


class Identity(Module):
    """x itself."""

    def __call__(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """The dims from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.flatten(x, self.start_dim, self.end_dim)


class ReLU(Module):
    """wick.relu"""

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.relu(x)


class SiLU(Module):
    """wick.silu"""

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.silu(x)


class Tanh(Module):
    """wick.tanh"""

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.tanh(x)


class Sigmoid(Module):
    """wick.sigmoid"""

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.sigmoid(x)


class GELU(Module):
    """wick.gelu, or wick.gelu_tanh for approximate="tanh"."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate: expected 'none' or 'tanh', got {approximate!r}")
        self.approximate = approximate

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.gelu(x) if self.approximate == "none" else _wick.gelu_tanh(x)


class Softmax(Module):
    """wick.softmax along a dim."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.softmax(x, self.dim)


class MaxPool2d(Module):
    """wick.max_pool2d; stride None: the kernel's size."""

    def __init__(self, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None,
                 padding: int | tuple[int, int] = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.max_pool2d(x, self.kernel_size, stride=self.stride, padding=self.padding)


class CrossEntropyLoss(Module):
    """functional.cross_entropy of logits and targets."""

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: functional.Reduction = "mean",
                 label_smoothing: float = 0.0) -> None:
        self.weight, self.ignore_index, self.reduction, self.label_smoothing = weight, ignore_index, reduction, label_smoothing

    def __call__(self, logits: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(logits, targets, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                                        label_smoothing=self.label_smoothing)


class MSELoss(Module):
    """functional.mse_loss"""

    def __init__(self, reduction: functional.Reduction = "mean") -> None:
        self.reduction = reduction

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(x, target, self.reduction)
