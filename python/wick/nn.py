"""Layers: parameters together with the op that uses them.

    class Classifier(nn.Module):
        def __init__(self, device):
            self.hidden = nn.Linear(784, 128, device=device)
            self.out = nn.Linear(128, 10, device=device)

        def __call__(self, x: Tensor) -> Tensor:
            return self.out(wick.relu(self.hidden(x)))
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from . import _wick, functional
from ._wick import Device, DType, Tensor, Var


Place = Device | str | None  # None: the CPU


class Module:
    """A part of a model. Its parameters are its attributes that are Vars, and those of attributes that are Modules, also in
    lists and dicts; a name joins the attributes' names with dots, as in PyTorch."""

    training = True  # layers that differ in training, such as Dropout, look here

    def _members(self) -> Iterable[tuple[str, Any]]:
        """What may hold parameters and modules, by name."""
        return vars(self).items()

    def named_parameters(self, prefix: str = "") -> dict[str, Var]:
        """The parameters by name, as a dict."""
        return {prefix + name: part for name, part in _parts(self) if isinstance(part, _wick.Var)}

    def named_modules(self, prefix: str = "") -> dict[str, Module]:
        """This module under the prefix, and the modules in it by name, as a dict."""
        inner = {prefix + "." * bool(prefix) + name: part for name, part in _parts(self) if isinstance(part, Module)}
        return {prefix: self, **inner}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """forward; a module defines one of the two."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result: __call__ under PyTorch's name."""
        if type(self).__call__ is Module.__call__:
            raise NotImplementedError(f"{type(self).__name__} defines neither forward nor __call__")
        return self(*args, **kwargs)

    def train(self, mode: bool = True) -> Self:
        """Sets `training` of this module and of those in it. Returns the module."""
        for module in self.named_modules().values():
            module.training = mode
        return self

    def eval(self) -> Self:
        """train(False): for using the model. Returns the module."""
        return self.train(False)

    def parameters(self) -> list[Var]:
        """The parameters, in the order of named_parameters."""
        return list(self.named_parameters().values())

    def state_dict(self) -> dict[str, Tensor]:
        """The values of the parameters by name: tensors, which later steps of training leave alone."""
        return {name: _wick.Tensor(var) for name, var in self.named_parameters().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes the values of all parameters from a dict of tensors. Raises ValueError, and changes nothing, if a name or a
        shape differs."""
        own = self.named_parameters()
        if missing := [name for name in own if name not in state]:
            raise ValueError(f"load_state_dict: missing {', '.join(missing)}")
        if unknown := [name for name in state if name not in own]:
            raise ValueError(f"load_state_dict: the module has no {', '.join(unknown)}")
        for name, var in own.items():
            if state[name].shape != var.shape:
                raise ValueError(f"load_state_dict: {name}: expected shape {list(var.shape)}, got {list(state[name].shape)}")
        for name, var in own.items():
            var.set_(state[name].to(var.device).to(var.dtype))

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for var in self.parameters():
            var.zero_grad()


def _parts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The Vars and modules in a module, a list or a dict, with their names."""
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Module):
        members = value._members()
    elif isinstance(value, dict):
        members = value.items()
    elif isinstance(value, (list, tuple)):
        members = enumerate(value)
    for key, part in members:
        full = f"{name}.{key}" if name else str(key)
        if isinstance(part, (Module, _wick.Var)):
            yield full, part
        yield from _parts(part, full)


def _normal(shape: list[int], deviation: float, dtype: DType | None, device: Place) -> Var:
    return _wick.Var(_wick.randn(shape, device=device or "cpu") * deviation, dtype=dtype)


def _constant(shape: list[int], value: float, dtype: DType | None, device: Place) -> Var:
    return _wick.Var(_wick.full(shape, value, device=device or "cpu"), dtype=dtype)


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
    """ids [...] in [0, count) -> [..., dim]. Parameter weight [count, dim]."""

    def __init__(self, count: int, dim: int, *, deviation: float = 1.0, dtype: DType | None = None,
                 device: Place = None) -> None:
        self.weight = _normal([count, dim], deviation, dtype, device)

    def __call__(self, ids: Tensor) -> Tensor:
        return _wick.embedding(self.weight, ids)


class RMSNorm(Module):
    """x [..., dim] / its root mean square, times weight [dim], which begins as 1; with adds_one, as Gemma has it, times 1 +
    weight, which begins as 0."""

    def __init__(self, dim: int, eps: float = 1e-5, adds_one: bool = False, *, dtype: DType | None = None,
                 device: Place = None) -> None:
        self.weight = _constant([dim], 0.0 if adds_one else 1.0, dtype, device)
        self.eps, self.adds_one = eps, adds_one

    def __call__(self, x: Tensor) -> Tensor:
        return _wick.rms_norm(x, self.weight + 1 if self.adds_one else self.weight, self.eps)


class LayerNorm(Module):
    """x [..., dim] of mean 0 and variance 1, times weight plus bias [dim], which begin as 1 and 0; without them unless
    affine."""

    def __init__(self, dim: int, eps: float = 1e-5, affine: bool = True, *, dtype: DType | None = None,
                 device: Place = None) -> None:
        self.weight = _constant([dim], 1.0, dtype, device) if affine else None
        self.bias = _constant([dim], 0.0, dtype, device) if affine else None
        self.dim, self.eps = dim, eps

    def __call__(self, x: Tensor) -> Tensor:
        weight = _wick.ones([self.dim], dtype=x.dtype, device=x.device) if self.weight is None else self.weight
        return _wick.layer_norm(x, weight, self.bias, self.eps)


class Dropout(Module):
    """In training, replaces each element by 0 with probability p and divides the others by 1 - p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.p, self.training)


class Conv2d(Module):
    """x [N, C, H, W] -> [N, O, OH, OW]. Parameters weight [O, C / groups, K, K] and bias [O]; options are those of
    wick.conv2d."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int | tuple[int, int], bias: bool = True, *,
                 groups: int = 1, dtype: DType | None = None, device: Place = None, **options: Any) -> None:
        size = (kernel, kernel) if isinstance(kernel, int) else kernel
        fan_in = in_channels // groups * size[0] * size[1]
        self.weight = _normal([out_channels, in_channels // groups, *size], fan_in**-0.5, dtype, device)
        self.bias = _constant([out_channels], 0.0, dtype, device) if bias else None
        self.options = {"groups": groups, **options}

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
