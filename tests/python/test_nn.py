"""Modules and the optimizer, held to PyTorch's."""
import numpy as np
import pytest

import wick
from wick import nn, optim


def mse(x, target):
    return wick.square(x - target).mean()


class Net(nn.Module):
    def __init__(self, device):
        self.layers = [nn.Linear(3, 8, device=device), nn.LayerNorm(8, device=device)]
        self.out = {"y": nn.Linear(8, 2, bias=False, device=device)}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out["y"](wick.relu(x))


def test_parameters_have_the_names_of_their_attributes(device):
    net = Net(device)
    assert list(net.named_parameters()) == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "out.y.weight"]
    assert all(var.device == device for var in net.parameters())


def test_training_lowers_the_loss(device):
    device.manual_seed(1)
    net, optimizer = Net(device), None
    optimizer = optim.AdamW(net, lr=0.05, weight_decay=0)
    x = wick.randn([64, 3], device=device)
    target = wick.stack([x[:, 0] * x[:, 1], x[:, 2]], 1)
    losses = []
    for _ in range(60):
        loss = mse(net(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert all(var.grad is None for var in net.parameters())


def test_adamw_is_pytorchs(torch, device):
    start = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    gradient = np.cos(start)
    var = wick.Var(start, device=device)
    theirs = torch.nn.Parameter(torch.from_numpy(start.copy()))
    ours = optim.AdamW([var], lr=0.01, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1, clip_norm=0)
    reference = torch.optim.AdamW([theirs], lr=0.01, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)
    for _ in range(5):
        (var * wick.Tensor(gradient, device=device)).sum().backward()
        ours.step()
        theirs.grad = torch.from_numpy(gradient)
        reference.step()
    np.testing.assert_allclose(wick.Tensor(var).numpy(), theirs.detach().numpy(), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("make", [
    lambda torch, d: (nn.Linear(4, 3, device=d), torch.nn.Linear(4, 3), (2, 5, 4)),
    lambda torch, d: (nn.LayerNorm(6, device=d), torch.nn.LayerNorm(6), (2, 6)),
    lambda torch, d: (nn.RMSNorm(6, device=d), torch.nn.RMSNorm(6), (2, 6)),
    lambda torch, d: (nn.Conv2d(2, 4, 3, stride=2, padding=1, device=d), torch.nn.Conv2d(2, 4, 3, stride=2, padding=1), (2, 2, 7, 6)),
], ids=["Linear", "LayerNorm", "RMSNorm", "Conv2d"])
def test_modules_are_pytorchs(torch, device, make):
    ours, theirs, shape = make(torch, device)
    assert set(ours.named_parameters()) == set(dict(theirs.named_parameters()))
    with torch.no_grad():
        for name, value in theirs.named_parameters():
            value.copy_(torch.from_numpy(ours.state_dict()[name].numpy().copy()))
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    np.testing.assert_allclose(ours(wick.Tensor(x, device=device)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(),
                               rtol=1e-5, atol=1e-6)


def test_state_of_module_and_optimizer_go_through_a_file(tmp_path, device):
    def steps(net, optimizer, count):
        for i in range(count):
            mse(net(wick.full([4, 3], 0.1 * i, device=device)), wick.ones([4, 2], device=device)).backward()
            optimizer.step()

    first = Net(device)
    optimizer = optim.AdamW(first, lr=0.1)
    steps(first, optimizer, 3)
    wick.save_safetensors(tmp_path / "net.safetensors", first.state_dict())
    wick.save_safetensors(tmp_path / "optimizer.safetensors", optimizer.state_dict())
    second = Net(device)
    second.load_state_dict(wick.load_safetensors(tmp_path / "net.safetensors"))
    resumed = optim.AdamW(second, lr=0.1)
    resumed.load_state_dict(wick.load_safetensors(tmp_path / "optimizer.safetensors", device))
    steps(first, optimizer, 2)
    steps(second, resumed, 2)
    for name, value in first.state_dict().items():
        np.testing.assert_array_equal(second.state_dict()[name].numpy(), value.numpy())


def test_another_state_changes_nothing(device):
    net = Net(device)
    before = net.state_dict()
    with pytest.raises(ValueError, match="missing layers.0.bias"):
        net.load_state_dict({k: v for k, v in before.items() if k != "layers.0.bias"})
    with pytest.raises(ValueError, match="no more"):
        net.load_state_dict({**before, "more": wick.ones([1])})
    with pytest.raises(ValueError, match=r"out.y.weight: expected shape \[2, 8\], got \[1\]"):
        net.load_state_dict({**{k: v * 2 for k, v in before.items()}, "out.y.weight": wick.ones([1])})
    for name, value in before.items():
        np.testing.assert_array_equal(net.state_dict()[name].numpy(), value.numpy())


def test_sequential_and_embedding(device):
    model = nn.Sequential(nn.Embedding(5, 3, device=device), nn.Linear(3, 2, device=device), wick.tanh)
    assert list(model.named_parameters()) == ["0.weight", "1.weight", "1.bias"]
    assert model(wick.Tensor([[0, 4], [1, 1]], device=device)).shape == (2, 2, 2)


def test_cosine_rate():
    rates = [optim.cosine_rate(i, 1.0, 10, warmup=2, last=0.1) for i in range(10)]
    assert max(rates) == 1 and rates[0] < rates[1] and rates[-1] < rates[-2] < rates[5]


def test_layers_without_parameters_and_from_one(torch, device):
    x = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    plain = nn.LayerNorm(6, elementwise_affine=False, device=device)
    assert plain.named_parameters() == {}
    np.testing.assert_allclose(plain(wick.Tensor(x, device=device)).numpy(),
                               torch.nn.LayerNorm(6, elementwise_affine=False)(torch.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-6)
    gemma = nn.RMSNorm(6, 1e-5, adds_one=True, device=device)
    assert gemma.weight.tolist() == [0] * 6
    np.testing.assert_allclose(gemma(wick.Tensor(x, device=device)).numpy(), x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
                               rtol=1e-5, atol=1e-6)


def test_each_row_selects_its_experts(device):
    layer = nn.ExpertLinear(3, 4, 5, device=device)
    x, ids = wick.randn([6, 4], device=device), np.array([[0, 2], [1, 1], [2, 0], [0, 1], [2, 2], [1, 0]])
    weight = layer.weight.numpy()
    expected = np.einsum("ti,tjoi->tjo", x.numpy(), weight[ids])
    np.testing.assert_allclose(layer(x, wick.Tensor(ids, device=device)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_dropout_works_in_training_only():
    net = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Dropout(0.5)))
    assert list(net.named_modules()) == ["", "0", "1", "1.0"]
    assert list(net.named_parameters("net.")) == ["net.0.weight", "net.0.bias"]
    x = wick.ones([50, 3])
    net.eval()
    assert not any(module.training for module in net.named_modules().values())
    assert net(x).tolist() == net(x).tolist()
    net.train()
    assert net(x).tolist() != net(x).tolist()


def test_a_var_in_two_places_is_one_parameter():
    class Tied(nn.Module):
        def __init__(self):
            self.embedding = nn.Embedding(3, 2)
            self.out = nn.Linear(2, 3, bias=False)
            self.out.weight = self.embedding.weight

    values = []
    for parameters in (Tied(), None):
        var = wick.Var([[1.0, 2], [3, 4], [5, 6]])
        if parameters is None:
            parameters = [var]
        else:
            parameters.embedding.weight = parameters.out.weight = var
        optimizer = optim.AdamW(parameters, lr=0.1, clip_norm=1)
        (var * var).sum().backward()
        optimizer.step()
        values.append(var.tolist())
    assert values[0] == values[1]


def test_adamw_has_the_defaults_of_pytorch():
    torch = pytest.importorskip("torch")
    for shape in ([2, 3], [3]):  # vectors decay too
        start = wick.randn(shape)
        ours, theirs = wick.Var(start), torch.nn.Parameter(torch.tensor(start.tolist()))
        optimizer, reference = optim.AdamW([ours]), torch.optim.AdamW([theirs])
        for step in range(3):
            (ours * ours * (step + 1)).sum().backward()
            (theirs * theirs * (step + 1)).sum().backward()
            optimizer.step()
            reference.step()
            optimizer.zero_grad()
            reference.zero_grad()
        assert ours.numpy() == pytest.approx(theirs.detach().numpy(), abs=1e-6)


def test_forward_and_call_are_one():
    class Named(nn.Module):
        def forward(self, x):
            return x + 1

    assert Named()(wick.Tensor([1.0])).tolist() == [2]
    assert nn.Sequential(Named(), wick.relu).eval().forward(wick.Tensor([-3.0])).tolist() == [0]
    with pytest.raises(NotImplementedError, match="Module defines neither forward nor __call__"):
        nn.Module()(1)


def test_train_and_eval_return_the_module():
    module = nn.Dropout()
    assert module.eval() is module and not module.training
    assert module.train() is module and module.training


def test_options_of_conv2d_are_those_of_the_constructor():
    assert nn.Conv2d(3, 8, 3, 2)(wick.ones(1, 3, 9, 9)).shape == (1, 8, 4, 4)
    assert nn.Conv2d(3, 6, kernel_size=(3, 1), padding="same", groups=3, bias=False)(wick.ones(1, 3, 9, 9)).shape == (1, 6, 9, 9)
    with pytest.raises(TypeError, match="pading"):
        nn.Conv2d(3, 8, 3, pading=1)
    with pytest.raises(TypeError, match="bias is a keyword"):
        nn.Conv2d(3, 8, 3, False)
    for options, text in (({"padding_mode": "mirror"}, "zeros, reflect, replicate, circular"), ({"padding": "full"}, "'same' or 'valid'"),
                          ({"groups": 2}, "groups: expected a divisor of 3 and 8"), ({"kernel_size": (1, 2, 3)}, "kernel_size")):
        with pytest.raises(ValueError, match=text):
            nn.Conv2d(**{"in_channels": 3, "out_channels": 8, "kernel_size": 3, **options})


def test_to_moves_and_converts_parameters(device):
    class Tied(nn.Module):
        def __init__(self):
            self.inner = [nn.Linear(2, 2), {"a": nn.Linear(2, 2, bias=False)}]
            self.inner[1]["a"].weight = self.inner[0].weight
            self.pair = (nn.LayerNorm(2), 3)
            self.count = wick.Var([1, 2], requires_grad=False)
            self.scale = wick.Tensor([2.0])

    net = Tied()
    before = {name: value.numpy() for name, value in net.state_dict().items()}
    assert net.to(device) is net and net.half() is net
    assert all(var.device == device and var.requires_grad == (var.dtype == "f16") for var in net.parameters())
    assert net.inner[1]["a"].weight is net.inner[0].weight and net.count.dtype == "i64" and net.pair[1] == 3
    assert (net.scale.device, net.scale.dtype, type(net.scale)) == (device, wick.f16, wick.Tensor)
    net.cpu().float()
    assert set(net.state_dict()) == set(before)
    for name, value in net.state_dict().items():
        np.testing.assert_allclose(value.numpy(), before[name], rtol=1e-3)
    with pytest.raises(ValueError, match="f33"):
        net.to(dtype="f33")


def test_norms_over_several_dims(torch, device):
    x = np.random.default_rng(1).uniform(-1, 1, (2, 3, 4)).astype(np.float32)
    for ours, theirs in ((nn.LayerNorm([3, 4], device=device), torch.nn.LayerNorm([3, 4])), (nn.RMSNorm((3, 4), device=device), torch.nn.RMSNorm((3, 4))),
                         (nn.LayerNorm(4, bias=False, device=device), torch.nn.LayerNorm(4, bias=False)),
                         (nn.RMSNorm(4, elementwise_affine=False), torch.nn.RMSNorm(4, elementwise_affine=False))):
        y = ours.to(device)(wick.Tensor(x, device=device))
        np.testing.assert_allclose(y.numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
        assert set(ours.named_parameters()) == set(dict(theirs.named_parameters()))
    with pytest.raises(ValueError, match=r"LayerNorm: expected a shape that ends with \[3\], got \[2, 4\]"):
        nn.LayerNorm(3)(wick.ones(2, 4))


def test_lists_of_modules_and_what_modules_print():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.ModuleList([nn.Linear(3, 1, bias=False)]))
    assert list(net.named_parameters()) == ["0.weight", "0.bias", "2.0.weight"] and len(net) == 3 and len(net[2].append(nn.Tanh())) == 2
    assert repr(net) == """Sequential(
  (0): Linear(weight [3, 2], bias [3])
  (1): ReLU()
  (2): ModuleList(
    (0): Linear(weight [1, 3])
    (1): Tanh()
  )
)"""


def test_pad_is_pytorchs(torch, device):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for pad, options in (((1, 2), {}), ((1, 0, 0, 2), {"value": 3.0}), ((-1, 1), {}), ((1, 1), {"mode": "reflect"}), ((), {})):
        ours = wick.functional.pad(wick.Tensor(x, device=device), pad, **options)
        np.testing.assert_array_equal(ours.numpy(), torch.nn.functional.pad(torch.from_numpy(x), pad, **options).numpy())
    with pytest.raises(ValueError, match="pad: expected two ints"):
        wick.functional.pad(wick.ones(2), (1, 1, 1))
