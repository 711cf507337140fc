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
import functools
import math
import weakref
from collections.abc import Mapping, Sequence
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
        # Where a result is in _saved, which does not hold it: it would own its own record.
        self._results_at: dict[int, int] = {}

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps arguments, results or other tensors. It is an error in backward if one has been overwritten since."""
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

    def _give_up_results(self, results: Mapping[int, Tensor]) -> bool:
        """Forgets those saved tensors that are results, which _with_results brings back. Says whether there are any."""
        for at, tensor in enumerate(self._saved):
            for i, result in results.items():
                if tensor is result:
                    self._saved[at], self._results_at[at] = None, i
        return bool(self._results_at)

    def _with_results(self, results: Mapping[int, Tensor]) -> Context:
        """A context for one run of backward. Several threads may run it at a time."""
        context = copy.copy(self)
        if self._results_at:
            context._saved, context._versions = [*self._saved], [*self._versions]
            for at, i in self._results_at.items():
                context._saved[at], context._versions[at] = results[i], _wick._version(results[i])
        return context


class Function:
    """A function of any arguments that gives one tensor or several, and its gradient. Derive from it as the module's example
    does.

    forward(ctx, *arguments)    computes the result, a tensor or a tuple of tensors, from the values of Vars; its ops are not
                                recorded
    backward(ctx, *gradients)   gets the gradient of each result: zeros for one that is not used, None for one of integers. Gives
                                the gradient of each argument, in the tensor's shape and dtype; None for one without, as for
                                arguments that are no tensors. Written in ops it can be differentiated again
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        raise NotImplementedError("a wick.Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a wick.Function that is differentiated needs a static method backward(ctx, gradient)")

    @classmethod
    def apply(cls, *arguments: Any) -> Any:
        """Runs forward and records its results with this gradient."""
        name = cls.__name__
        arguments = tuple(+a if isinstance(a, Var) else a for a in arguments)
        context = Context(name, arguments)
        records = any(context.needs_input_grad) and _wick.grad_enabled()
        scope = _wick._NoGrad()
        try:
            found = cls.forward(context, *arguments)
            results = _results_of(name, found)
            packing = _Packing(results)
            packed = packing.pack(results) if records and packing.floating else None
        finally:
            scope.close()
        if packed is not None:
            tensors = [i for i, a in enumerate(arguments) if isinstance(a, Tensor)]
            own = {i: results[i] for i in packing.floating if not any(arguments[t] is results[i] for t in tensors)}
            keep_output = context._give_up_results(own)
            rule = _Rule(cls, context, packing, tensors, len(arguments))
            recorded = _wick._with_gradient(name, packed, [arguments[i] for i in tensors], rule, keep_output)
            for i, result in packing.unpack(recorded).items():
                results[i] = result
        return tuple(results) if isinstance(found, tuple) else results[0]


def _results_of(name: str, found: Any) -> list[Tensor]:
    """The tensors that a forward gave."""
    results = list(found) if isinstance(found, tuple) else [found]
    if not results or not all(isinstance(result, Tensor) for result in results):
        raise TypeError(f"{name}.forward: expected a wick.Tensor or a tuple of them as the result, got {type(found).__name__}"
                        + (f" of {[type(result).__name__ for result in results]}" if isinstance(found, tuple) else ""))
    return results


class _Packing:
    """How the floating results of a function are one tensor on the tape: itself, or the elements of all in a row."""

    def __init__(self, results: Sequence[Tensor]) -> None:
        self.floating = [i for i, result in enumerate(results) if result.dtype.is_floating_point]
        self.count = len(results)
        self._kinds = [(results[i].shape, results[i].dtype) for i in self.floating]

    def pack(self, results: Sequence[Tensor]) -> Tensor:
        if len(self.floating) == 1:
            return results[self.floating[0]]
        widest = functools.reduce(_wick.add, (_wick.zeros([0], dtype=dtype) for _, dtype in self._kinds)).dtype
        return _wick.cat([results[i].flatten().to(widest) for i in self.floating], 0)

    def unpack(self, packed: Tensor) -> dict[int, Tensor]:
        """The results by their number, or their gradients if it is one of `packed`."""
        if len(self.floating) == 1:
            return {self.floating[0]: packed}
        found, begin = {}, 0
        for i, (shape, dtype) in zip(self.floating, self._kinds):
            end = begin + math.prod(shape)
            found[i] = packed[begin:end].reshape(shape).to(dtype)
            begin = end
        return found


class _Rule:
    """The callback by which the tape gets the gradients of the arguments that are tensors."""

    def __init__(self, function: type[Function], context: Context, packing: _Packing, tensors: list[int], count: int) -> None:
        self._function, self._context, self._packing, self._tensors, self._count = function, context, packing, tensors, count
        _rules.add(self)

    def __call__(self, output: Tensor | None, gradient: Tensor) -> list[Tensor | None]:
        context = self._context._with_results({} if output is None else self._packing.unpack(output))
        each = self._packing.unpack(gradient)
        found = self._function.backward(context, *(each.get(i) for i in range(self._packing.count)))
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
