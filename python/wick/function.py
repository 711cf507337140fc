"""Functions whose gradient the program gives.

    class Square(wick.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 2 * x

    y = Square.apply(x)
"""
from __future__ import annotations

import atexit
import copy
import weakref
from collections.abc import Sequence
from typing import Any

from . import _wick
from ._wick import Tensor, Var


class Context:
    """Takes values from a forward to its backward: tensors by save_for_backward, others as attributes.

    needs_input_grad[i] says whether argument i of apply needs a gradient.
    """

    def __init__(self, name: str, arguments: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in arguments)
        self._name = name
        self._saved: list[Tensor | None] = []
        self._versions: list[int] = []
        self._output_at = -1  # where the result is in _saved, which does not hold it: it would own its own record

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps arguments, the result or other tensors. It is an error in backward if one has been overwritten since."""
        self._saved = [+t if isinstance(t, Var) else t for t in tensors]
        self._versions = [0 if t is None else _wick._version(t) for t in tensors]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of save_for_backward."""
        for tensor, version in zip(self._saved, self._versions):
            if tensor is not None and _wick._version(tensor) != version:
                raise RuntimeError(f"{self._name}: a saved tensor of shape {list(tensor.shape)} is needed for the gradient, but "
                                   "has been overwritten since")
        return tuple(self._saved)

    def _give_up_output(self, output: Tensor) -> bool:
        """Forgets the result, if it was saved and is no argument; _with_output brings it back."""
        for at, tensor in enumerate(self._saved):
            if tensor is output:
                self._saved[at], self._output_at = None, at
        return self._output_at >= 0

    def _with_output(self, output: Tensor | None) -> Context:
        """A context for one run of backward. Several threads may run it at a time."""
        context = copy.copy(self)
        if output is not None:
            context._saved = [*self._saved]
            context._saved[self._output_at] = output
            context._versions = [*self._versions]
            context._versions[self._output_at] = _wick._version(output)
        return context


class Function:
    """A function of any arguments that gives one tensor, and its gradient. Derive from it as the module's example does.

    forward(ctx, *arguments)    computes the result, from the values of Vars; its ops are not recorded
    backward(ctx, gradient)     the gradient of each argument, in the tensor's shape and dtype; None for one without, as for
                                arguments that are no tensors. Written in ops it can be differentiated again
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        raise NotImplementedError("a wick.Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        raise NotImplementedError("a wick.Function that is differentiated needs a static method backward(ctx, gradient)")

    @classmethod
    def apply(cls, *arguments: Any) -> Tensor:
        """Runs forward and records the result with this gradient."""
        name = cls.__name__
        arguments = tuple(+a if isinstance(a, Var) else a for a in arguments)
        context = Context(name, arguments)
        scope = _wick._NoGrad()
        try:
            output = cls.forward(context, *arguments)
        finally:
            scope.close()
        if not isinstance(output, Tensor):
            raise TypeError(f"{name}.forward: expected one wick.Tensor as the result, got {type(output).__name__}")
        if not any(context.needs_input_grad) or not _wick.grad_enabled():
            return output
        tensors = [i for i, a in enumerate(arguments) if isinstance(a, Tensor)]
        is_argument = any(arguments[i] is output for i in tensors)
        keep_output = not is_argument and context._give_up_output(output)
        rule = _Rule(cls, context, tensors, len(arguments))
        return _wick._with_gradient(name, output, [arguments[i] for i in tensors], rule, keep_output)


class _Rule:
    """What the tape calls for the gradients of the arguments that are tensors."""

    def __init__(self, function: type[Function], context: Context, tensors: list[int], count: int) -> None:
        self._function, self._context, self._tensors, self._count = function, context, tensors, count
        _rules.add(self)

    def __call__(self, output: Tensor | None, gradient: Tensor) -> list[Tensor | None]:
        found = self._function.backward(self._context._with_output(output), gradient)
        gradients = found if isinstance(found, (tuple, list)) else (found,)
        return _of_tensors(self._function.__name__, gradients, self._count, self._tensors)


# Python's collector does not see through the tape: a global tensor, its rule and the rule's function, which holds the globals,
# would outlive the interpreter.
_rules: weakref.WeakSet[_Rule] = weakref.WeakSet()


@atexit.register
def _empty_rules() -> None:
    for rule in list(_rules):
        vars(rule).clear()


def _of_tensors(name: str, gradients: Sequence[Any], count: int, tensors: list[int]) -> list[Tensor | None]:
    """The gradients of those arguments that are tensors. Raises if the others have one."""
    if len(gradients) != count:
        raise ValueError(f"{name}.backward: expected {count} gradients, one for each argument of apply, got {len(gradients)}")
    for i, gradient in enumerate(gradients):
        if gradient is not None and (i not in tensors or not isinstance(gradient, Tensor)):
            expected = "a wick.Tensor or None" if i in tensors else "None, since the argument is no tensor"
            raise TypeError(f"{name}.backward: argument {i}: expected {expected}, got {type(gradient).__name__}")
    return [gradients[i] for i in tensors]
