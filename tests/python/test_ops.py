"""The generated functions, held to NumPy's and PyTorch's of the same name."""
import os

import numpy as np
import pytest

import conftest
import wick

OPS = conftest.ops()
# Ops whose domain is not (0, 1), and the interval they are called on.
DOMAINS = {"acosh": (1.5, 3.0)}
# Ranks of the operands, where they are not matrices.
RANKS = {"dot": (1, 1), "mv": (2, 1), "bmm": (3, 3), "outer": (1, 1)}
# Names that mean something else in NumPy and PyTorch, and ops whose result is random or whose operand is of ids or a mask:
# other tests have those.
OTHER_MEANING = {
    "unary": {"logical_not", "trace", "unique", "nonzero", "diag", "clone", "to_string", "debug_string", "empty_like",
              "bernoulli"},
    "binary": {"embedding", "take", "cross_entropy", "masked_select"},
}
INTEGER_OPS = {name for name in OPS if name.startswith("bitwise_")}


def operands(op, receivers):
    """The names of an op's operands if some overload takes only tensors, and as many as that."""
    for overload in op["overloads"]:
        types = [p["type"].removeprefix("const ").removesuffix("&") for p in overload["parameters"]]
        if overload["result"] == "Tensor" and types == ["Tensor"] * receivers:
            return True
    return False


def cases(count, kind):
    return [name for name, op in OPS.items() if operands(op, count) and name not in OTHER_MEANING[kind]]


def reference(name, torch, *arrays):
    """NumPy's result, else PyTorch's; skips the test if neither has the function."""
    if hasattr(np, name):
        return getattr(np, name)(*arrays)
    for module in (torch, torch.special, torch.nn.functional):
        if hasattr(module, name):
            return getattr(module, name)(*(torch.from_numpy(a) for a in arrays)).numpy()
    pytest.skip(f"neither NumPy nor PyTorch has {name}")


def operand(name, index):
    generator = np.random.default_rng(index)
    shape = (3,) * RANKS.get(name, (2, 2))[index]
    if name in INTEGER_OPS:
        return generator.integers(0, 6, shape)
    low, high = DOMAINS.get(name, (0.05, 0.95))
    return generator.uniform(low, high, shape).astype(np.float32)


def check(name, count, torch, device):
    arrays = [operand(name, index) for index in range(count)]
    tensors = [wick.Tensor(a, device=device) for a in arrays]
    expected = reference(name, torch, *arrays)
    got = getattr(wick, name)(*tensors)
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5, atol=1e-6)
    if hasattr(wick.Tensor, name):
        np.testing.assert_array_equal(getattr(tensors[0], name)(*tensors[1:]).numpy(), got.numpy())


@pytest.mark.parametrize("name", cases(1, "unary"))
def test_of_one_tensor(name, torch, device):
    check(name, 1, torch, device)


@pytest.mark.parametrize("name", cases(2, "binary"))
def test_of_two_tensors(name, torch, device):
    check(name, 2, torch, device)


def test_of_ids_and_masks(device):
    x = wick.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
    ids = wick.Tensor([2, 0], device=device)
    assert wick.embedding(x, ids).tolist() == [[5, 6], [1, 2]]
    assert wick.take(x, ids).tolist() == [3, 1]
    assert wick.masked_select(x, x > 3).tolist() == [4, 5, 6]
    loss = wick.cross_entropy(x, wick.Tensor([1, 0, 1], device=device))
    np.testing.assert_allclose(loss.item(), np.mean([0.31326169, 1.31326169, 0.31326169]), rtol=1e-6)
    assert wick.empty_like(x).shape == x.shape and set(wick.bernoulli(x / 6).tolist()[2]) <= {0, 1}


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "amax", "prod", "any", "all", "argmax", "cumsum", "softmax", "sort"])
def test_dims_have_three_names(name, device):
    x = wick.rand([2, 3, 4], device=device)
    results = [getattr(x, name)(1)] + [getattr(wick, name)(x, **{key: 1}) for key in ("dim", "axis")]
    first, *others = [r[0] if isinstance(r, tuple) else r for r in results]
    for other in others:
        np.testing.assert_array_equal(first.numpy(), other.numpy())


def test_options_are_keywords():
    x = wick.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(dims=[-1], keepdim=True).tolist() == x.sum(axis=-1, keepdims=True).tolist() == [[3], [7]]
    assert x.clamp(min=2).clamp(max=3.5).tolist() == [[2, 2], [3, 3.5]]
    assert wick.zeros([2], dtype="i32").dtype == wick.i32
    assert wick.conv1d(wick.ones([1, 1, 4]), wick.ones([1, 1, 3]), padding="same").shape == (1, 1, 4)
    assert wick.conv2d(wick.ones([1, 1, 4, 4]), wick.ones([1, 1, 3, 3]), stride=(2, 1), padding=1).shape == (1, 1, 2, 4)
    assert wick.pad(wick.Tensor([1, 2, 3]), [(1, 1)], mode="reflect").tolist() == [2, 1, 2, 3, 2]


def test_results_of_several_tensors_are_named_tuples():
    values, indices = result = wick.Tensor([3, 1, 2]).sort(0, descending=True)
    assert values.tolist() == [3, 2, 1] and indices.tolist() == [0, 2, 1]
    assert result.values is values and result._fields == ("values", "indices")


def test_functions_have_the_docs_of_the_manifest():
    assert OPS["sum"]["overloads"][0]["doc"] in wick.sum.__doc__


def test_every_op_is_bound_but_the_known_ones():
    _, unbound, bound = conftest.generator().generate(conftest.MANIFEST)
    assert set(unbound) == {"apply", "apply_", "arange", "custom_op", "print_options", "sample_settings", "with_gradient"}
    assert all(reason for reason in unbound.values())
    assert all(hasattr(wick, name) for name in OPS if name not in unbound)
    assert bound == len(OPS) + 13 - len(unbound)


def test_a_result_that_is_an_enumerator_is_its_name():
    assert wick.composite_mode() == os.environ.get("WICK_COMPOSITE", "auto")
