"""Module, the base of all layers: its parameters are found, named, saved and moved."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from . import _wick
from ._wick import Tensor, Var


class Module:
    """A part of a model. Its parameters are its attributes that are Vars, and the parameters of attributes that are Modules,
    also in lists and dicts; a name joins the attributes' names with dots, as in PyTorch."""

    training = True  # layers that differ in training, such as Dropout, look here

    def _members(self) -> Iterable[tuple[str, Any]]:
        """The attributes that may hold parameters and modules, by name."""
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

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Converts the parameters, and attributes that are tensors, as Tensor.to does, to a device, a dtype or both; those that
        are not floating keep their dtype. Each parameter becomes another Var, which modules that share it keep sharing: make
        optimizers afterwards. Returns the module."""
        converted: dict[int, Any] = {}

        def convert(part: Any) -> Any:
            if id(part) in converted:
                return converted[id(part)]
            if isinstance(part, _wick.Tensor):
                value = _wick.Tensor(part).to(*args, **kwargs)
                if not part.dtype.is_floating_point:
                    value = _wick.Tensor(part).to(device=value.device)
                is_var = isinstance(part, _wick.Var)
                converted[id(part)] = _wick.Var(value, requires_grad=part.requires_grad) if is_var else value
                return converted[id(part)]
            if isinstance(part, tuple):
                return tuple(map(convert, part))
            converted[id(part)] = part
            if isinstance(part, Module):
                for name, inner in vars(part).items():
                    setattr(part, name, convert(inner))
            elif isinstance(part, dict):
                part.update({key: convert(inner) for key, inner in part.items()})
            elif isinstance(part, list):
                part[:] = map(convert, part)
            return part

        convert(self)
        return self

    def cpu(self) -> Self:
        """to("cpu")"""
        return self.to("cpu")

    def cuda(self, index: int = 0) -> Self:
        """to("cuda:INDEX")"""
        return self.to(f"cuda:{index}")

    def rocm(self, index: int = 0) -> Self:
        """to("rocm:INDEX")"""
        return self.to(f"rocm:{index}")

    def half(self) -> Self:
        """to(wick.f16)"""
        return self.to(_wick.f16)

    def bfloat16(self) -> Self:
        """to(wick.bf16)"""
        return self.to(_wick.bf16)

    def float(self) -> Self:
        """to(wick.f32)"""
        return self.to(_wick.f32)

    def __repr__(self) -> str:
        """The module's class, the shapes of its parameters, and the modules in it, each on a line of its own."""
        parts = list(_direct_parts(self._members()))
        own = [f"{name} {list(part.shape)}" for name, part in parts if isinstance(part, _wick.Var)]
        inner = [f"({name}): {part!r}" for name, part in parts if isinstance(part, Module)]
        if not inner:
            return f"{type(self).__name__}({', '.join(own)})"
        return "\n".join([f"{type(self).__name__}(", *("  " + line.replace("\n", "\n  ") for line in own + inner), ")"])

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for var in self.parameters():
            var.zero_grad()


def _direct_parts(members: Iterable[tuple[Any, Any]], name: str = "") -> Iterator[tuple[str, Var | Module]]:
    """The Vars and modules among the members of a module, also in lists and dicts, with their names; not those in modules."""
    for key, part in members:
        full = f"{name}.{key}" if name else str(key)
        if isinstance(part, (Module, _wick.Var)):
            yield full, part
        elif isinstance(part, dict):
            yield from _direct_parts(part.items(), full)
        elif isinstance(part, (list, tuple)):
            yield from _direct_parts(enumerate(part), full)


def _parts(module: Module, name: str = "") -> Iterator[tuple[str, Var | Module]]:
    """The Vars and modules in a module, those in inner modules included, with their names."""
    for full, part in _direct_parts(module._members(), name):
        yield full, part
        if isinstance(part, Module):
            yield from _parts(part, full)
