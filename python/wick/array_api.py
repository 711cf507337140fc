"""The functions of the Python array API standard (2024.12) under its names and with its defaults, for programs that work with
arrays of any library:

    xp = x.__array_namespace__()
    xp.std(xp.concat([x, y]), axis=0)

It has no complex numbers, fft and linalg, and neither nextafter nor arrays of another byte order; Tensor.size is a method.
"""
from __future__ import annotations

import builtins
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from . import _wick
from ._wick import (  # noqa: F401  the standard's own
    DType, Device, Tensor, abs, acos, acosh, asin, asinh, atan, atanh, bfloat16, broadcast_to, ceil, cos, cosh, exp, expm1,
    float16, float32, float64, floor, int8, int16, int32, int64, isfinite, isinf, isnan, log, log1p, log2, log10, logical_not,
    matmul, reciprocal, round, sign, sin, sinh, sqrt, square, tan, tanh, trunc, uint8, uint16, uint32, uint64, where)

__array_api_version__ = "2024.12"

bool = _wick.bool
e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

_SIGNED, _UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
_FLOATS = (float16, bfloat16, float32, float64)
_KINDS = {"bool": (bool,), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _SIGNED + _UNSIGNED,
          "real floating": _FLOATS, "complex floating": (), "numeric": _SIGNED + _UNSIGNED + _FLOATS}

bitwise_invert, clip, negative = _wick.bitwise_not, _wick.clamp, _wick.neg


def _of_two(op: Callable[..., Tensor]) -> Callable[[Any, Any], Tensor]:
    """The op for two tensors, or one and a Python number, which takes the tensor's dtype."""

    def function(x1: Any, x2: Any, /) -> Tensor:
        if not isinstance(x1, Tensor):
            x1 = _number(x1, x2)
        elif not isinstance(x2, Tensor):
            x2 = _number(x2, x1)
        return op(x1, x2)

    function.__doc__ = op.__doc__
    return function


def _number(value: Any, beside: Tensor) -> Tensor:
    floats = isinstance(value, float) and beside.dtype not in _FLOATS
    return Tensor(value, dtype=float32 if floats else beside.dtype, device=beside.device)


add, subtract, multiply, divide, pow, remainder, floor_divide = map(_of_two, (
    _wick.add, _wick.sub, _wick.mul, _wick.div, _wick.pow, _wick.remainder, _wick.floor_divide))
atan2, hypot, logaddexp, maximum, minimum = map(_of_two, (
    _wick.atan2, _wick.hypot, _wick.logaddexp, _wick.maximum, _wick.minimum))
bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift = map(_of_two, (
    _wick.bitwise_and, _wick.bitwise_or, _wick.bitwise_xor, _wick.bitwise_left_shift, _wick.bitwise_right_shift))
equal, not_equal, less, less_equal, greater, greater_equal = map(_of_two, (
    _wick.eq, _wick.ne, _wick.lt, _wick.le, _wick.gt, _wick.ge))
logical_and, logical_or, logical_xor = map(_of_two, (_wick.logical_and, _wick.logical_or, _wick.logical_xor))

Axis = int | Sequence[int] | None


def _reduce(op: Callable[..., Tensor], x: Tensor, axis: Axis, keepdims: builtins.bool, *options: Any) -> Tensor:
    """The reduction over all dims, over some, or over an empty list of them."""
    if axis is not None and not isinstance(axis, int) and len(axis) == 0:
        return op(x[..., None], -1, *options)
    return op(x, () if axis is None else axis, *options, keepdim=keepdims)


def _summed(x: Tensor, dtype: DType | None) -> Tensor:
    """x in the dtype in which its sums are computed."""
    if dtype is None and isdtype(x.dtype, "integral"):
        dtype = uint64 if x.dtype in _UNSIGNED else int64
    return x if dtype is None else x.to(dtype)


# ---- creation


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    return _wick.from_dlpack(x, device=device, copy=copy)


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor of a tensor, number, nested lists or array. A tensor that has the dtype and device is returned itself unless copy
    is true; other objects are always copied, and copy=False is an error for them."""
    if isinstance(obj, Tensor):
        fits = (dtype is None or obj.dtype == dtype) and (device is None or obj.device == device)
        if copy is False and not fits:
            raise ValueError("asarray: another dtype or device takes a copy, and copy is False")
        x = obj if device is None else obj.to(device=device)
        x = x if dtype is None else x.to(dtype)
        return _wick.clone(x) if copy and fits else x
    if copy is False:
        raise ValueError("asarray: only a Tensor is taken without a copy")
    return Tensor(obj, dtype=dtype, device=device)


def _options(dtype: DType | None, device: Any, default: DType = float32) -> dict[str, Any]:
    return {"dtype": default if dtype is None else dtype, "device": "cpu" if device is None else device}


def _shape(shape: int | Sequence[int]) -> list[int]:
    return [shape] if isinstance(shape, int) else list(shape)


def _default_of(value: Any) -> DType:
    return bool if isinstance(value, builtins.bool) else int64 if isinstance(value, int) else float32


def full(shape: int | Sequence[int], fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return _wick.full(_shape(shape), fill_value, **_options(dtype, device, _default_of(fill_value)))


def zeros(shape: int | Sequence[int], *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return _wick.zeros(_shape(shape), **_options(dtype, device))


def ones(shape: int | Sequence[int], *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return _wick.ones(_shape(shape), **_options(dtype, device))


empty = zeros


def full_like(x: Tensor, /, fill_value: Any, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    return full_like(x, 1, dtype=dtype, device=device)


empty_like = zeros_like


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: DType | None = None,
           device: Any = None) -> Tensor:
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        dtype = int64 if all_integers(start, stop, step) else float32
    if (stop - start) * step <= 0:
        return zeros(0, dtype=dtype, device=device)
    return _wick.arange(start, stop, step, **_options(dtype, device))


def all_integers(*values: float) -> builtins.bool:
    return builtins.all(isinstance(value, int) for value in values)


def linspace(start: float, stop: float, /, num: int, *, dtype: DType | None = None, device: Any = None,
             endpoint: builtins.bool = True) -> Tensor:
    if endpoint or num == 0:
        return _wick.linspace(start, stop, num, **_options(dtype, device))
    return _wick.linspace(start, stop, num + 1, **_options(dtype, device))[:num]


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Any = None) -> Tensor:
    rows = _wick.arange(0, n_rows, 1, dtype=int64, device=device or "cpu")
    columns = _wick.arange(0, n_rows if n_cols is None else n_cols, 1, dtype=int64, device=device or "cpu")
    return _wick.eq(rows[:, None] + k, columns[None, :]).to(float32 if dtype is None else dtype)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    return list(_wick.meshgrid(list(arrays), indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    return _wick.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    return _wick.triu(x, k)


# ---- dtypes


def astype(x: Tensor, dtype: DType, /, *, copy: builtins.bool = True, device: Any = None) -> Tensor:
    y = x.to(dtype) if device is None else x.to(dtype, device)
    return _wick.clone(y) if copy and y is x else y


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, part) for part in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: expected one of {', '.join(_KINDS)}, got {kind!r}")
        return dtype in _KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of a sum of tensors, dtypes and Python numbers."""
    dtypes = [item.dtype if isinstance(item, Tensor) else item for item in arrays_and_dtypes if isinstance(item, (Tensor, DType))]
    if not dtypes:
        raise ValueError("result_type: expected a tensor or a dtype, got only numbers")
    total = dtypes[0]
    for dtype in dtypes[1:]:
        total = _promoted(total, dtype)
    for item in arrays_and_dtypes:
        if isinstance(item, (int, float)) and not isinstance(item, builtins.bool):
            total = (zeros(1, dtype=total) + item).dtype
    return total


def _promoted(a: DType, b: DType) -> DType:
    if a == b or b == bool:
        return a
    return b if a == bool else (zeros(1, dtype=a) + zeros(1, dtype=b)).dtype


def can_cast(from_: DType | Tensor, to: DType, /) -> builtins.bool:
    own = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return builtins.bool(result_type(own, to) == to)
    except TypeError:  # as u64 and i8, which have no common dtype
        return False


finfo_object = namedtuple("finfo_object", "bits eps max min smallest_normal dtype")
iinfo_object = namedtuple("iinfo_object", "bits max min dtype")
_FRACTION_AND_EXPONENT_BITS = {float16: (10, 5), bfloat16: (7, 8), float32: (23, 8), float64: (52, 11)}


def _dtype_of(type: DType | Tensor) -> DType:
    return type.dtype if isinstance(type, Tensor) else type


def finfo(type: DType | Tensor, /) -> finfo_object:
    dtype = _dtype_of(type)
    fraction, exponent = _FRACTION_AND_EXPONENT_BITS[dtype]
    eps, last = 2.0**-fraction, 2 ** (exponent - 1) - 1
    largest = (2 - eps) * 2.0**last
    return finfo_object(1 + fraction + exponent, eps, largest, -largest, 2.0 ** (1 - last), dtype)


def iinfo(type: DType | Tensor, /) -> iinfo_object:
    dtype = _dtype_of(type)
    bits = dtype.itemsize * 8
    signed = isdtype(dtype, "signed integer")
    largest = 2 ** (bits - signed) - 1
    return iinfo_object(bits, largest, -largest - 1 if signed else 0, dtype)


# ---- elementwise


def positive(x: Tensor, /) -> Tensor:
    return +x


def real(x: Tensor, /) -> Tensor:
    return x


conj = real


def signbit(x: Tensor, /) -> Tensor:
    return _wick.logical_or(x < 0, _wick.logical_and(x == 0, _wick.reciprocal(x) < 0))


def copysign(x1: Any, x2: Any, /) -> Tensor:
    size = _wick.abs(x1 if isinstance(x1, Tensor) else full_like(x2, x1))
    return where(signbit(x2 if isinstance(x2, Tensor) else full_like(size, x2)), -size, size)


# ---- shapes


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: builtins.bool | None = None) -> Tensor:
    y = _wick.reshape(x, list(shape))
    return _wick.clone(y) if copy else y


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    return _wick.permute(x, list(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    return _wick.transpose(x, -1, -2)


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    return _wick.movedim(x, source, destination)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    return _wick.unsqueeze(x, axis)


def squeeze(x: Tensor, /, axis: int | Sequence[int]) -> Tensor:
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: expected size 1 in axis {a}, got {x.shape[a]}")
    for a in sorted((a % x.ndim for a in axes), reverse=True):
        x = _wick.squeeze(x, a)
    return x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    return _wick.flip(x, list(range(x.ndim)) if axis is None else axis)


def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axis = None) -> Tensor:
    if axis is None:
        return _wick.roll(x.reshape(-1), shift, 0).reshape(list(x.shape))
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    for s, a in zip(shifts, axes, strict=True):
        x = _wick.roll(x, s, a)
    return x


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    dtype = result_type(*arrays)
    parts = [x.to(dtype) for x in arrays]
    return _wick.cat([x.reshape(-1) for x in parts], 0) if axis is None else _wick.cat(parts, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    dtype = result_type(*arrays)
    return _wick.stack([x.to(dtype) for x in arrays], axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    return tuple(_wick.unbind(x, axis))


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    more = x.ndim - len(repetitions)
    return _wick.tile(x, [1] * more + list(repetitions))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, int):
        return _wick.repeat_interleave(x, repeats, axis)
    counts = broadcast_to(repeats, [x.shape[axis]]).tolist()
    return take(x, Tensor([i for i, n in enumerate(counts) for _ in range(n)], dtype=int64, device=x.device), axis=axis)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    total = zeros((), dtype=bool)
    for x in arrays:
        total = _wick.logical_or(total, zeros(x.shape, dtype=bool))
    return [broadcast_to(x, total.shape) for x in arrays]


# ---- selection, sorting, sets


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: expected axis for a tensor of {x.ndim} dims")
    return _wick.index_select(x, 0 if axis is None else axis, indices)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    return _wick.take_along_dim(x, indices, axis)


def sort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    return _wick.sort(x, axis, descending=descending).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    return _wick.argsort(x, axis, descending=descending)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return _arg(_wick.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return _arg(_wick.argmin, x, axis, keepdims)


def _arg(op: Any, x: Tensor, axis: int | None, keepdims: builtins.bool) -> Tensor:
    if axis is not None:
        return op(x, axis, keepdim=keepdims)
    y = op(x.reshape(-1), 0)
    return y.reshape([1] * x.ndim) if keepdims else y


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    if x.ndim == 0:
        raise ValueError("nonzero: expected a tensor of 1 dim or more")
    return tuple(_wick.unbind(_wick.nonzero(x), 1))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    boundaries = x1 if sorter is None else take(x1, sorter)
    return _wick.searchsorted(boundaries, x2, right=side == "right")


unique_all_result = namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts_result = namedtuple("unique_counts_result", "values counts")
unique_inverse_result = namedtuple("unique_inverse_result", "values inverse_indices")


def unique_all(x: Tensor, /) -> unique_all_result:
    flat = x.reshape(-1)
    order = _wick.argsort(flat, 0)
    unique = _wick.unique(flat)
    counts = unique.counts
    first = _wick.index_select(order, 0, _wick.cumsum(counts, 0) - counts)
    return unique_all_result(unique.values, first, unique.inverse.reshape(list(x.shape)), counts)


def unique_counts(x: Tensor, /) -> unique_counts_result:
    unique = unique_all(x)
    return unique_counts_result(unique.values, unique.counts)


def unique_inverse(x: Tensor, /) -> unique_inverse_result:
    unique = unique_all(x)
    return unique_inverse_result(unique.values, unique.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    return unique_all(x).values


# ---- reductions


def sum(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: builtins.bool = False) -> Tensor:
    y = _summed(x, dtype)
    result = _reduce(_wick.sum, y, axis, keepdims)
    return result if dtype is None else result.to(dtype)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: builtins.bool = False) -> Tensor:
    y = _summed(x, dtype)
    result = _reduce(_wick.prod, y, axis, keepdims)
    return result if dtype is None else result.to(dtype)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.mean, x, axis, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.amax, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.amin, x, axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.any, x, axis, keepdims)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.all, x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.sum, x != 0, axis, keepdims)


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.var, x, axis, keepdims, correction)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    return _reduce(_wick.stddev, x, axis, keepdims, correction)


def _cumulative(op: Any, first: int, x: Tensor, axis: int | None, dtype: DType | None, include_initial: builtins.bool) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"cumulative_sum and cumulative_prod: expected axis for a tensor of {x.ndim} dims")
    axis = 0 if axis is None else axis
    y = op(_summed(x, dtype), axis)
    y = y if dtype is None else y.to(dtype)
    if not include_initial:
        return y
    shape = list(y.shape)
    shape[axis] = 1
    return _wick.cat([full(shape, first, dtype=y.dtype, device=y.device), y], axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None,
                   include_initial: builtins.bool = False) -> Tensor:
    return _cumulative(_wick.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None,
                    include_initial: builtins.bool = False) -> Tensor:
    return _cumulative(_wick.cumprod, 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    parts = [part for part in (prepend, x, append) if part is not None]
    y = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        size = y.shape[axis]
        later, earlier = _wick.narrow(y, axis, 1, size - 1), _wick.narrow(y, axis, 0, size - 1)
        y = _wick.ne(later, earlier) if y.dtype == bool else later - earlier
    return y


# ---- products


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    dtype = result_type(x1, x2)
    if isinstance(axes, int):
        return _wick.tensordot(x1.to(dtype), x2.to(dtype), axes)
    return _wick.tensordot(x1.to(dtype), x2.to(dtype), list(axes[0]), list(axes[1]))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    return _wick.sum(x1 * x2, axis)


# ---- facts about the namespace


class Info:
    """The namespace's devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Device:
        return Device("cpu")

    def devices(self) -> list[Device]:
        return list(_wick.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        return {"real floating": float32, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        names = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64"]
        return {name: globals()[name] for name in names if kind is None or isdtype(globals()[name], kind)}


def __array_namespace_info__() -> Info:
    return Info()
