"""Optimizers and learning rates."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _wick
from ._wick import Tensor, Var, cosine_rate as cosine_rate
from .module import Module


def _named(parameters: Module | Mapping[str, Var] | Sequence[Var]) -> dict[str, Var]:
    """Parameters by their names; the elements of a sequence are numbered."""
    if isinstance(parameters, Module):
        return parameters.named_parameters()
    if isinstance(parameters, Mapping):
        return dict(parameters)
    return {str(index): var for index, var in enumerate(parameters)}


class AdamW:
    """AdamW, with PyTorch's defaults.

    parameters      a Module, its named_parameters(), or a list of Vars; a Var that occurs twice (tied weights) is one
                    parameter
    lr              the learning rate; set the attribute to change it, as by cosine_rate
    clip_norm       the largest norm of all gradients together; 0: no clipping
    decays_vectors  False: weight_decay applies to matrices, not to vectors such as biases
    """

    def __init__(self, parameters: Module | Mapping[str, Var] | Sequence[Var], lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.01,
                 clip_norm: float = 0.0, decays_vectors: bool = True) -> None:
        named = _named(parameters)
        self.lr = lr
        self._parameters = named
        self._adamw = _wick._AdamW(named, betas[0], betas[1], eps, weight_decay, clip_norm, decays_vectors)

    def __repr__(self) -> str:
        return f"AdamW({len(self._parameters)} parameters, lr={self.lr})"

    def step(self) -> None:
        """Makes a step along the gradients that backward has collected, and clears them."""
        self._adamw.step(self.lr)

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters, as step has done already: for loops written for PyTorch."""
        for var in self._parameters.values():
            var.zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """The running averages by name, and under "steps" the number of steps: all that load_state_dict needs."""
        return {**self._adamw.state(), "steps": _wick.Tensor(self._adamw.steps_done)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continues from a state_dict."""
        self._adamw.restore({name: tensor for name, tensor in state.items() if name != "steps"}, int(state["steps"].item()))
