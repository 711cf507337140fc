"""The functions of neural networks under the names of torch.nn.functional: wick's own ops of these names, and losses and
activations made of them, which therefore run on every device and have gradients of any order.

    import wick.functional as F

    loss = F.cross_entropy(logits, labels) + 0.1 * F.mse_loss(y, target)
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from . import _wick
from ._wick import (
    Tensor,
    adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_max_pool1d as adaptive_max_pool1d, adaptive_max_pool2d as adaptive_max_pool2d,
    avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d,
    conv1d as conv1d, conv2d as conv2d, conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d,
    elu as elu, embedding as embedding, gelu as gelu, gelu_tanh as gelu_tanh,
    grid_sample as grid_sample, interpolate as interpolate, layer_norm as layer_norm, leaky_relu as leaky_relu,
    linear as linear, log_softmax as log_softmax, lp_pool2d as lp_pool2d, max_pool1d as max_pool1d, max_pool2d as max_pool2d,
    max_unpool2d as max_unpool2d, one_hot as one_hot, pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle, relu as relu, rms_norm as rms_norm, sdpa as sdpa, sigmoid as sigmoid, silu as silu,
    softmax as softmax, softplus as softplus, softsign as softsign, swiglu as swiglu, tanh as tanh,
)

Reduction = Literal["mean", "sum", "none"]


def _checked(op: str, reduction: Reduction) -> Reduction:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{op}: reduction: expected 'mean', 'sum' or 'none', got {reduction!r}")
    return reduction


def _reduced(op: str, losses: Tensor, reduction: Reduction) -> Tensor:
    if _checked(op, reduction) == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def _same_shape(op: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise ValueError(f"{op}: expected operands of one shape, got {list(x.shape)} and {list(target.shape)}")


def mse_loss(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """(x - target)², of two tensors of one shape."""
    _same_shape("mse_loss", x, target)
    return _reduced("mse_loss", _wick.square(x - target), reduction)


def l1_loss(x: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """|x - target|, of two tensors of one shape."""
    _same_shape("l1_loss", x, target)
    return _reduced("l1_loss", _wick.abs(x - target), reduction)


def huber_loss(x: Tensor, target: Tensor, reduction: Reduction = "mean", delta: float = 1.0) -> Tensor:
    """With d = |x - target|: d² / 2 up to delta, delta (d - delta / 2) beyond."""
    _same_shape("huber_loss", x, target)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta: expected a number above 0, got {delta}")
    distance = _wick.abs(x - target)
    near = distance.clamp(0.0, delta)
    return _reduced("huber_loss", near * (distance - near / 2), reduction)


def smooth_l1_loss(x: Tensor, target: Tensor, reduction: Reduction = "mean", beta: float = 1.0) -> Tensor:
    """With d = |x - target|: d² / (2 beta) up to beta, d - beta / 2 beyond; l1_loss if beta is 0."""
    _same_shape("smooth_l1_loss", x, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta: expected a number of at least 0, got {beta}")
    return huber_loss(x, target, reduction, beta) / beta if beta else l1_loss(x, target, reduction)


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100,
                  reduction: Reduction = "mean", label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target]: input [N, C, ...] or [C], target [N, ...] or [] of integers, or like input the classes'
    probabilities. Targets equal to ignore_index do not count, which takes some more kernels than wick.cross_entropy without
    that option; weight [C] is a factor of each class."""
    ignored = None if target.dtype.is_floating_point and ignore_index < 0 else ignore_index
    return _wick.cross_entropy(input, target, weight=weight, ignore_index=ignored, reduction=_checked("cross_entropy", reduction),
                               label_smoothing=label_smoothing)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100,
             reduction: Reduction = "mean") -> Tensor:
    """-input[target]: cross_entropy of input that log_softmax has made, with its options."""
    return _wick.nll_loss(input, target, weight=weight, ignore_index=ignore_index, reduction=_checked("nll_loss", reduction))


def binary_cross_entropy(probabilities: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """-(t log p + (1 - t) log(1 - p)), of two tensors of one shape; logarithms are at least -100."""
    _same_shape("binary_cross_entropy", probabilities, target)
    yes, no = (_wick.log(p).clamp(-100.0, math.inf) for p in (probabilities, 1 - probabilities))
    return _reduced("binary_cross_entropy", -(target * yes + (1 - target) * no), reduction)


def binary_cross_entropy_with_logits(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """binary_cross_entropy of sigmoid(logits), without overflow."""
    _same_shape("binary_cross_entropy_with_logits", logits, target)
    return _reduced("binary_cross_entropy_with_logits", _wick.softplus(logits) - logits * target, reduction)


def kl_div(log_probabilities: Tensor, target: Tensor, reduction: Literal["mean", "sum", "none", "batchmean"] = "mean") -> Tensor:
    """t (log t - log_probabilities), 0 where t is 0. "batchmean" divides the sum by the size of dim 0."""
    _same_shape("kl_div", log_probabilities, target)
    # log of 1 where t is 0, so that neither the value nor the gradient is NaN there.
    logarithm = _wick.log(_wick.where(target > 0, target, _wick.ones_like(target)))
    losses = target * (logarithm - log_probabilities)
    return losses.sum() / losses.shape[0] if reduction == "batchmean" else _reduced("kl_div", losses, reduction)


def pad(input: Tensor, pad: Sequence[int], mode: Literal["constant", "reflect", "replicate", "circular"] = "constant",
        value: float | None = None) -> Tensor:
    """Pads dims from the last on: pad has the numbers of elements before and after the last dim, then two numbers for the dim
    before it, and so on; negative ones crop. wick.pad takes pairs in the order of the dims."""
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ValueError(f"pad: expected two ints for each of the last dims of {list(input.shape)}, got {list(pad)}")
    pairs = [(before, after) for before, after in zip(pad[::2], pad[1::2])]
    return _wick.pad(input, pairs[::-1], mode=mode, value=value or 0) if pairs else input


def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6)."""
    return x.clamp(0.0, 6.0)


def hardtanh(x: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    """min(max(x, low), high)."""
    return x.clamp(low, high)


def hardsigmoid(x: Tensor) -> Tensor:
    """relu6(x + 3) / 6."""
    return relu6(x + 3) / 6


def hardswish(x: Tensor) -> Tensor:
    """x hardsigmoid(x)."""
    return x * hardsigmoid(x)


def mish(x: Tensor) -> Tensor:
    """x tanh(softplus(x))."""
    return x * _wick.tanh(_wick.softplus(x))


def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return -_wick.softplus(-x)


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b), where a and b are the halves of x along a dim."""
    size = x.shape[dim]
    if size % 2:
        raise ValueError(f"glu: dim {dim}: expected an even size, got {size}")
    return x.narrow(dim, 0, size // 2) * _wick.sigmoid(x.narrow(dim, size // 2, size // 2))


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """x with each element replaced by 0 with probability p, the others divided by 1 - p; x itself unless training."""
    return x * _wick.dropout_mask(x.shape, p, dtype=x.dtype, device=x.device) if training else x


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x divided by its p-norm along a dim, or by eps if that is larger."""
    return x / _wick.norm(x, p, [dim], keepdim=True).clamp(eps, math.inf)


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """a · b / (|a| |b|) along a dim; norms below eps count as eps."""
    norms = [_wick.norm(x, 2.0, [dim], keepdim=True).clamp(eps, math.inf) for x in (a, b)]
    return (a / norms[0] * (b / norms[1])).sum(dim)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 is_causal: bool = False, scale: float | None = None) -> Tensor:
    """sdpa under PyTorch's names: query [B, H, T, D], key and value [B, G, S, D], where H is a multiple of G."""
    return _wick.sdpa(query, key, value, mask=attn_mask, is_causal=is_causal, scale=scale or 0.0)
