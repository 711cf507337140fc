"""Layers: parameters together with the op that uses them.

    class Classifier(nn.Module):
        def __init__(self, device):
            self.hidden = nn.Linear(784, 128, device=device)
            self.out = nn.Linear(128, 10, device=device)

        def __call__(self, x):
            return self.out(wick.relu(self.hidden(x)))
"""
from . import _wick


class Module:
    """A part of a model. Its parameters are its attributes that are Vars, and those of attributes that are Modules, also in
    lists and dicts; a name joins the attributes' names with dots, as in PyTorch."""

    def named_parameters(self, prefix=""):
        """The parameters by name, as a dict."""
        found = {}
        for name, value in vars(self).items():
            _collect(prefix + name, value, found)
        return found

    def parameters(self):
        """The parameters, in the order of named_parameters."""
        return list(self.named_parameters().values())

    def state_dict(self):
        """The values of the parameters by name: tensors, which later steps of training leave alone."""
        return {name: _wick.Tensor(var) for name, var in self.named_parameters().items()}

    def load_state_dict(self, state):
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

    def zero_grad(self):
        """Forgets the gradients of all parameters."""
        for var in self.parameters():
            var.zero_grad()


def _collect(name, value, found):
    if isinstance(value, _wick.Var):
        found[name] = value
    elif isinstance(value, Module):
        found.update(value.named_parameters(name + "."))
    elif isinstance(value, dict):
        for key, part in value.items():
            _collect(f"{name}.{key}", part, found)
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            _collect(f"{name}.{index}", part, found)


def _normal(shape, deviation, dtype, device):
    return _wick.Var(_wick.randn(shape, device=device or "cpu") * deviation, dtype=dtype)


def _constant(shape, value, dtype, device):
    return _wick.Var(_wick.full(shape, value, device=device or "cpu"), dtype=dtype)


class Linear(Module):
    """x [..., in] -> x weightᵀ + bias [..., out]. Parameters weight [out, in] and bias [out]."""

    def __init__(self, in_features, out_features, bias=True, *, deviation=None, dtype=None, device=None):
        self.weight = _normal([out_features, in_features], in_features**-0.5 if deviation is None else deviation, dtype, device)
        self.bias = _constant([out_features], 0.0, dtype, device) if bias else None

    def __call__(self, x):
        return _wick.linear(x, self.weight, self.bias)


class Embedding(Module):
    """ids [...] in [0, count) -> [..., dim]. Parameter weight [count, dim]."""

    def __init__(self, count, dim, *, deviation=1.0, dtype=None, device=None):
        self.weight = _normal([count, dim], deviation, dtype, device)

    def __call__(self, ids):
        return _wick.embedding(self.weight, ids)


class RMSNorm(Module):
    """x [..., dim] / its root mean square, times weight [dim], which begins as 1."""

    def __init__(self, dim, eps=1e-5, *, dtype=None, device=None):
        self.weight, self.eps = _constant([dim], 1.0, dtype, device), eps

    def __call__(self, x):
        return _wick.rms_norm(x, self.weight, self.eps)


class LayerNorm(Module):
    """x [..., dim] of mean 0 and variance 1, times weight plus bias [dim], which begin as 1 and 0."""

    def __init__(self, dim, eps=1e-5, *, dtype=None, device=None):
        self.weight = _constant([dim], 1.0, dtype, device)
        self.bias = _constant([dim], 0.0, dtype, device)
        self.eps = eps

    def __call__(self, x):
        return _wick.layer_norm(x, self.weight, self.bias, self.eps)


class Conv2d(Module):
    """x [N, C, H, W] -> [N, O, OH, OW]. Parameters weight [O, C / groups, K, K] and bias [O]; options are those of
    wick.conv2d."""

    def __init__(self, in_channels, out_channels, kernel, bias=True, *, groups=1, dtype=None, device=None, **options):
        kernel = (kernel, kernel) if isinstance(kernel, int) else tuple(kernel)
        fan_in = in_channels // groups * kernel[0] * kernel[1]
        self.weight = _normal([out_channels, in_channels // groups, *kernel], fan_in**-0.5, dtype, device)
        self.bias = _constant([out_channels], 0.0, dtype, device) if bias else None
        self.options = {"groups": groups, **options}

    def __call__(self, x):
        return _wick.conv2d(x, self.weight, bias=self.bias, **self.options)


class Sequential(Module):
    """Calls modules and functions one after another: Sequential(Linear(4, 8), wick.relu, Linear(8, 2))."""

    def __init__(self, *layers):
        self.layers = layers

    def named_parameters(self, prefix=""):
        found = {}
        for index, layer in enumerate(self.layers):
            _collect(f"{prefix}{index}", layer, found)
        return found

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
