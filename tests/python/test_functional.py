"""wick.functional: every function that is not one of wick's ops, held to its formula in NumPy and to PyTorch, with gradients."""
import math

import numpy as np
import pytest

import wick
import wick.functional as F

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(4, 6)) * 3
Y = RANDOM.normal(size=(4, 6)) * 3
P, Q = RANDOM.uniform(0.05, 0.95, (4, 6)), RANDOM.uniform(0, 1, (4, 6))
IDS = np.array([3, 0, 5, 2])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def huber(x, y, delta):
    d = np.abs(x - y)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2)).mean()


def entropy(p, t):
    return -(t * np.log(p) + (1 - t) * np.log(1 - p))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(1, keepdims=True))


LOG_P = log_softmax(X)
CASES = [
    ("mse_loss", [X, Y], {}, lambda x, y: ((x - y) ** 2).mean()),
    ("mse_loss", [X, Y], {"reduction": "sum"}, lambda x, y: ((x - y) ** 2).sum()),
    ("mse_loss", [X, Y], {"reduction": "none"}, lambda x, y: (x - y) ** 2),
    ("l1_loss", [X, Y], {}, lambda x, y: np.abs(x - y).mean()),
    ("huber_loss", [X, Y], {"delta": 1.5}, lambda x, y: huber(x, y, 1.5)),
    ("smooth_l1_loss", [X, Y], {"beta": 2.0}, lambda x, y: huber(x, y, 2.0) / 2),
    ("smooth_l1_loss", [X, Y], {"beta": 0.0}, lambda x, y: np.abs(x - y).mean()),
    ("nll_loss", [LOG_P, IDS], {}, lambda x, ids: -x[np.arange(4), ids].mean()),
    ("nll_loss", [LOG_P, IDS], {"reduction": "none"}, lambda x, ids: -x[np.arange(4), ids]),
    ("binary_cross_entropy", [P, Q], {}, lambda p, t: entropy(p, t).mean()),
    ("binary_cross_entropy_with_logits", [X, Q], {"reduction": "none"}, lambda x, t: entropy(sigmoid(x), t)),
    ("kl_div", [LOG_P, P], {"reduction": "batchmean"}, lambda x, t: (t * (np.log(t) - x)).sum() / 4),
    ("relu6", [X], {}, lambda x: np.clip(x, 0, 6)),
    ("hardtanh", [X], {}, lambda x: np.clip(x, -1, 1)),
    ("hardsigmoid", [X], {}, lambda x: np.clip(x + 3, 0, 6) / 6),
    ("hardswish", [X], {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("mish", [X], {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    ("logsigmoid", [X], {}, lambda x: -np.log1p(np.exp(-x))),
    ("glu", [X], {"dim": 1}, lambda x: x[:, :3] * sigmoid(x[:, 3:])),
    ("normalize", [X], {}, lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    ("normalize", [X], {"p": 1.0, "dim": 0}, lambda x: x / np.abs(x).sum(0, keepdims=True)),
    ("cosine_similarity", [X, Y], {}, lambda x, y: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))),
]
NAMES = [f"{name}-{'-'.join(map(str, options.values()))}" for name, _, options, _ in CASES]


@pytest.mark.parametrize("name, arrays, options, formula", CASES, ids=NAMES)
def test_functions_are_their_formulas(device, name, arrays, options, formula):
    result = getattr(F, name)(*(wick.Tensor(a, device=device) for a in arrays), **options)
    np.testing.assert_allclose(result.numpy(), formula(*arrays), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name, arrays, options, formula", CASES, ids=NAMES)
def test_functions_and_gradients_are_pytorchs(torch, name, arrays, options, formula):
    ours, theirs = wick.Var(arrays[0]), torch.tensor(arrays[0], requires_grad=True)
    y = getattr(F, name)(ours, *map(wick.Tensor, arrays[1:]), **options)
    expected = getattr(torch.nn.functional, name)(theirs, *map(torch.from_numpy, arrays[1:]), **options)
    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    wick.square(y).sum().backward()
    expected.square().sum().backward()
    # PyTorch's derivative of hardsigmoid is 1/6 of f32.
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-7 if name == "hardsigmoid" else 1e-9, atol=1e-10)


def losses_of_classes(log_p, targets, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The formula of PyTorch's documentation: log_p [N, C], targets [N]."""
    rows, classes = np.arange(len(targets)), log_p.shape[1]
    weight = np.ones(classes) if weight is None else weight
    counted = targets != ignore_index
    ids = np.where(counted, targets, 0)
    smooth = -(log_p * weight).sum(1) / classes
    losses = np.where(counted, -(1 - label_smoothing) * weight[ids] * log_p[rows, ids] + label_smoothing * smooth, 0)
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / (weight[ids] * counted).sum()}[reduction]


@pytest.mark.parametrize("name, smoothing", [("nll_loss", 0.0), ("cross_entropy", 0.0), ("cross_entropy", 0.1), ("cross_entropy", 1.0)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, np.array([0.5, 1, 0, 1.5, 2, 2.5])], ids=["even", "weighted"])
@pytest.mark.parametrize("targets, ignored", [([3, -100, 5, -100], -100), ([3, 2, 5, 2], 2), ([3, 2, 5, 2], -1)])
def test_losses_of_classes(device, name, smoothing, reduction, weight, targets, ignored):
    options = {"reduction": reduction, "ignore_index": ignored, **({"label_smoothing": smoothing} if smoothing else {})}
    y = getattr(F, name)(wick.Tensor(LOG_P, device=device), target=wick.Tensor(targets, device=device),
                         weight=None if weight is None else wick.Tensor(weight, device=device), **options)
    np.testing.assert_allclose(y.numpy(), losses_of_classes(LOG_P, np.array(targets), weight, **options), rtol=1e-12)


@pytest.mark.parametrize("name, smoothing", [("nll_loss", 0.0), ("cross_entropy", 0.0), ("cross_entropy", 0.1)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, np.array([0.5, 1, 0, 1.5, 2, 2.5]), np.zeros(6)], ids=["even", "weighted", "weightless"])
@pytest.mark.parametrize("targets", [[3, -100, 5, 2], [2, 2, 2, 2], [-100] * 4])
@pytest.mark.parametrize("shape", [(4, 6), (1, 6, 4), (2, 6, 2, 1)])
def test_losses_of_classes_are_pytorchs(torch, name, smoothing, reduction, weight, targets, shape):
    options = {"reduction": reduction, **({"label_smoothing": smoothing} if smoothing else {})}
    targets = np.array(targets).reshape(shape[:1] + shape[2:])
    ours, theirs = wick.Var(LOG_P.reshape(shape)), torch.tensor(LOG_P.reshape(shape), requires_grad=True)
    y = getattr(F, name)(ours, wick.Tensor(targets), None if weight is None else wick.Tensor(weight), **options)
    expected = getattr(torch.nn.functional, name)(theirs, torch.tensor(targets), None if weight is None else torch.tensor(weight), **options)
    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-15)
    wick.square(y).sum().backward()
    expected.square().sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, np.array([0.5, 1, 0, 1.5, 2, 2.5])], ids=["even", "weighted"])
@pytest.mark.parametrize("shape", [(4, 6), (2, 6, 2), (6,)])
def test_losses_of_probabilities_are_pytorchs(torch, smoothing, reduction, weight, shape):
    x, p = LOG_P[:len(LOG_P) if len(shape) > 1 else 1].reshape(shape), Q[:4 if len(shape) > 1 else 1].reshape(shape)
    ours, theirs = [wick.Var(a) for a in (x, p)], [torch.tensor(a, requires_grad=True) for a in (x, p)]
    options = {"reduction": reduction, "label_smoothing": smoothing}
    y = F.cross_entropy(*ours, None if weight is None else wick.Tensor(weight), **options)
    expected = torch.nn.functional.cross_entropy(*theirs, None if weight is None else torch.tensor(weight), **options)
    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-12)
    wick.square(y).sum().backward()
    expected.square().sum().backward()
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_ignored_labels_do_not_count(device):
    logits, labels = wick.zeros([4, 5], device=device), wick.Tensor([0, -100, 2, -100], device=device)
    assert F.cross_entropy(logits, labels).item() == pytest.approx(math.log(5))
    assert F.cross_entropy(logits, labels, reduction="none").tolist() == pytest.approx([math.log(5), 0, math.log(5), 0])
    assert math.isnan(F.cross_entropy(logits[:1], labels[1:2]).item())
    ours = wick.Var(logits)
    F.cross_entropy(ours, labels).backward()
    np.testing.assert_allclose(ours.grad.numpy(), [[-.4, .1, .1, .1, .1], [0] * 5, [.1, .1, -.4, .1, .1], [0] * 5], rtol=1e-6)
    assert wick.cross_entropy(logits, labels, ignore_index=-100).item() == pytest.approx(math.log(5))
    with pytest.raises(IndexError, match="cross_entropy: id -100 at position 1 is outside") as error:
        wick.cross_entropy(logits, labels).item()
    assert device.type != "cpu" or "ignore_index" in str(error.value)


def test_extreme_operands():
    x = wick.Tensor([-1e4, 1e4], dtype=wick.f32)
    assert F.logsigmoid(x).tolist() == [-1e4, 0]
    assert F.binary_cross_entropy_with_logits(x, wick.Tensor([1.0, 1.0]), "none").tolist() == [1e4, 0]
    assert F.binary_cross_entropy(wick.Tensor([0.0, 1.0]), wick.Tensor([1.0, 1.0]), "none").tolist() == [100, 0]
    assert F.kl_div(wick.Tensor([-1.0, -2.0]), wick.Tensor([0.0, 1.0]), "none").tolist() == [0, 2]
    assert F.normalize(wick.zeros([1, 3])).tolist() == [[0, 0, 0]]


def test_dropout(device):
    device.manual_seed(3)
    x = wick.ones([100, 100], device=device)
    y = F.dropout(x, 0.25).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)} and abs((y == 0).mean() - 0.25) < 0.03
    assert F.dropout(x, 0.25, training=False) is x
    v = wick.Var(x)
    z = F.dropout(v, 0.25)
    z.sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), z.numpy())


def test_attention_has_pytorchs_names(torch):
    q, k, v = (RANDOM.normal(size=(2, 3, 5, 8)) for _ in range(3))
    mask = RANDOM.normal(size=(5, 5))
    for options in ({}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": mask}):
        def call(module, tensor):
            return module.scaled_dot_product_attention(*map(tensor, (q, k, v)), **{
                name: tensor(o) if name == "attn_mask" else o for name, o in options.items()})
        np.testing.assert_allclose(call(F, wick.Tensor).numpy(), call(torch.nn.functional, torch.from_numpy).numpy(), rtol=1e-10)


def attention(q, k, v, seen, sink):
    """The softmax of q kᵀ / sqrt(D) and a sink over the keys that are seen, times v, of one head."""
    scores = np.where(seen, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores)
    return weights @ v / (weights.sum(1, keepdims=True) + np.exp(sink))


def test_attention_with_sinks_and_lengths():
    q, k, v = (RANDOM.normal(size=(2, 3, 5, 8)) for _ in range(3))
    sinks, lengths = RANDOM.normal(size=3), [3, 5]
    y = wick.sdpa(*map(wick.Tensor, (q, k, v)), sinks=wick.Tensor(sinks), lengths=wick.Tensor(lengths)).numpy()
    for b in range(2):
        for h in range(3):
            seen = np.arange(5) < lengths[b]
            np.testing.assert_allclose(y[b, h], attention(q[b, h], k[b, h], v[b, h], seen, sinks[h]), rtol=1e-10)


def test_attention_of_packed_sequences():
    q, k, v = (RANDOM.normal(size=(9, 2, 8)) for _ in range(3))
    offsets = np.array([0, 4, 4, 9], dtype=np.int32)
    y = wick.sdpa_varlen(*map(wick.Tensor, (q, k, v)), wick.Tensor(offsets), wick.Tensor(offsets), is_causal=True).numpy()
    for begin, end in zip(offsets, offsets[1:]):
        for h in range(2):
            part = slice(begin, end)
            seen = np.tri(end - begin, dtype=bool)
            np.testing.assert_allclose(y[part, h], attention(q[part, h], k[part, h], v[part, h], seen, -np.inf), rtol=1e-10)


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x * np.vectorize(math.erfc)(-x / math.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_linear_with_an_epilogue(device, activation):
    x, weight, bias, residual = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((2, 9, 24), (16, 24), (16,), (2, 9, 16)))
    narrow = [wick.Tensor(a, device=device).to(wick.f16) for a in (x, weight, bias)]
    x, weight, bias = (t.numpy().astype(np.float64) for t in narrow)
    expected = ACTIVATIONS[activation](x @ weight.T + bias) + residual
    y = F.linear(*narrow, activation=activation, residual=wick.Tensor(residual, device=device), dtype=wick.f32)
    assert y.dtype == wick.f32
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-5, atol=2e-5)
    half = wick.Tensor(residual, device=device).to(wick.f16)
    y = F.linear(*narrow, activation=activation, residual=half)
    assert y.dtype == wick.f16
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("call, text", [
    (lambda x: F.linear(x, x, residual=x), r"linear: expected a residual of the result's shape \[4, 4\], got \[4, 6\]"),
    (lambda x: F.mse_loss(x, x[0]), r"mse_loss: expected operands of one shape, got \[4, 6\] and \[6\]"),
    (lambda x: F.mse_loss(x, x, "median"), "mse_loss: reduction: expected 'mean', 'sum' or 'none', got 'median'"),
    (lambda x: F.huber_loss(x, x, delta=0.0), "huber_loss: delta"),
    (lambda x: F.smooth_l1_loss(x, x, beta=-1.0), "smooth_l1_loss: beta"),
    (lambda x: F.nll_loss(x, wick.Tensor([0])), r"nll_loss: expected log_probabilities \[N, C\] and targets \[N\]"),
    (lambda x: F.cross_entropy(x, wick.Tensor(IDS), reduction="median"), "cross_entropy: reduction: expected 'mean', 'sum' or 'none'"),
    (lambda x: F.cross_entropy(x, wick.Tensor(IDS), label_smoothing=2), r"cross_entropy: label_smoothing: expected a number in \[0, 1\], got 2"),
    (lambda x: F.cross_entropy(x, x, ignore_index=2), "cross_entropy: ignore_index needs targets of integers, got f64"),
    (lambda x: F.glu(x[:3], 0), "glu: dim 0: expected an even size, got 3"),
    (lambda x: F.dropout(x, 1.5), "dropout_mask"),
])
def test_errors_name_the_function(call, text):
    with pytest.raises(ValueError, match=text):
        call(wick.Tensor(X))
