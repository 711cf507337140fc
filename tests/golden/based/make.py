#!/usr/bin/env python3
"""Makes a small random Based beside this, its logits and gradients, by a program written from the paper (Arora et al. 2024,
arXiv:2402.18668) and the names of tensors and keys in published files: transformers has no class for it. Ran with torch 2.15.0 and
safetensors 0.8.0.

    tests/golden/based/make.py

expected.safetensors: three rows of ids (ids.0 ...), their logits (logits.0 ...), computed in f32 without a state, and for row 1 the
gradients (gradient.NAME) of the mean cross entropy of each token's successor; bf16_difference: the root mean square of
that of row 2's logits if weights and layers are in bf16.
"""
import copy
import json
import math
import pathlib

import safetensors.torch
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
LENGTHS = (3, 21, 70)
CONFIG = {
    "model_type": "gpt2",
    "vocab_size": 45,
    "pad_vocab_size_multiple": 8,
    "n_embd": 16,
    "n_inner": 24,
    "n_layer": 5,
    "n_head": 2,
    "layer_norm_epsilon": 1e-3,
    "alt_mixer_layers": [1, 4],
    "alt_mixer_2_layers": [2],
    "mixer": {"_target_": "based.models.mixers.convolution.BaseConv", "l_max": 128, "use_bias": True, "expand_proj": 4,
              "kernel_size": 3},
    "alt_mixer": {"_target_": "based.models.mixers.linear_attention.LinearAttention", "l_max": 128, "feature_dim": 3, "num_heads": 4,
                  "feature_map": {"_target_": "based.models.mixers.linear_attention.TaylorExp", "input_dim": 3}},
    "alt_mixer_2": {"_target_": "based.models.mixers.slide_attention.SlidingAttention", "causal": True, "window_size": 10,
                    "num_heads": 2},
    "rotary_emb_fraction": 0.5,
    "rotary_emb_base": 500.0,
    "activation_function": "swiglu",
    "rms_norm": True,
    "residual_in_fp32": True,
    "max_position_embeddings": 0,
    "qkv_proj_bias": False,
    "out_proj_bias": False,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
WIDTH = CONFIG["n_embd"]


def linear(inputs, outputs, bias=False):
    return nn.Linear(inputs, outputs, bias=bias)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True) + CONFIG["layer_norm_epsilon"]).sqrt() * self.weight


class ShortConvolution(nn.Module):
    """Each channel with taps of its own, which reach back from the token."""

    def __init__(self, channels, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, taps, groups=channels, bias=False)

    def forward(self, x):  # [B, T, E]
        return self.conv(F.pad(x.mT, (self.conv.kernel_size[0] - 1, 0))).mT


class BaseConv(nn.Module):
    """out(silu(conv(u)) v) with (u, v) = in(x)."""

    def __init__(self, mixer):
        super().__init__()
        both = mixer["expand_proj"] * WIDTH
        self.in_proj = linear(WIDTH, both, mixer["use_bias"])
        self.out_proj = linear(both // 2, WIDTH, mixer["use_bias"])
        self.conv = ShortConvolution(both // 2, mixer["kernel_size"])

    def forward(self, x):
        u, v = self.in_proj(x).chunk(2, -1)
        return self.out_proj(F.silu(self.conv(u)) * v)


class TaylorAttention(nn.Module):
    """Attention with 1 + s + s² / 2, the Taylor series of exp at 0, in place of exp(s)."""

    def __init__(self, mixer):
        super().__init__()
        self.heads, self.features = mixer["num_heads"], mixer["feature_dim"]
        self.proj_q = linear(WIDTH, self.heads * self.features)
        self.proj_k = linear(WIDTH, self.heads * self.features)
        self.proj_v = linear(WIDTH, WIDTH)
        self.out_proj = linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.proj_q, self.proj_k, self.proj_v))
        scores = q @ k.mT / math.sqrt(self.features)
        weights = (1 + scores + scores.square() / 2).tril()
        y = weights @ v / (weights.sum(-1, keepdim=True) + 1e-12)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class SlidingAttention(nn.Module):
    """Attention to the token itself and the window_size / 2 before it; rope turns a part of each head, by halves."""

    def __init__(self, mixer):
        super().__init__()
        self.heads, self.reach = mixer["num_heads"], mixer["window_size"] // 2
        self.Wqkv = linear(WIDTH, 3 * WIDTH)
        self.out_proj = linear(WIDTH, WIDTH)

    def rotated(self, x):  # [B, H, T, D]
        dim = int(CONFIG["rotary_emb_fraction"] * x.shape[-1])
        angles = torch.arange(x.shape[2])[:, None] * CONFIG["rotary_emb_base"] ** (-torch.arange(0, dim, 2) / dim)
        a, b, rest = x.split([dim // 2, dim // 2, x.shape[-1] - dim], -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos(), rest], -1).to(x.dtype)

    def forward(self, x):
        q, k, v = self.Wqkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = self.rotated(q) @ self.rotated(k).mT / math.sqrt(q.shape[-1])
        at = torch.arange(x.shape[1])
        distance = at[:, None] - at
        scores = scores.masked_fill((distance < 0) | (distance > self.reach), -math.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = linear(WIDTH, 2 * CONFIG["n_inner"])
        self.fc2 = linear(CONFIG["n_inner"], WIDTH)

    def forward(self, x):
        up, gate = self.fc1(x).chunk(2, -1)
        return self.fc2(up * F.silu(gate))


class Block(nn.Module):
    def __init__(self, layer):
        super().__init__()
        if layer in CONFIG["alt_mixer_layers"]:
            self.mixer = TaylorAttention(CONFIG["alt_mixer"])
        elif layer in CONFIG["alt_mixer_2_layers"]:
            self.mixer = SlidingAttention(CONFIG["alt_mixer_2"])
        else:
            self.mixer = BaseConv(CONFIG["mixer"])
        self.norm1, self.norm2, self.mlp = RmsNorm(), RmsNorm(), Mlp()

    def forward(self, x):  # in f32, or wider than the weights
        dtype = self.norm1.weight.dtype
        x = x + self.mixer(self.norm1(x.to(dtype)))
        return x + self.mlp(self.norm2(x.to(dtype)))


class Based(nn.Module):
    def __init__(self):
        super().__init__()
        multiple = CONFIG["pad_vocab_size_multiple"]
        rows = -(-CONFIG["vocab_size"] // multiple) * multiple
        self.transformer = nn.ModuleDict({
            "embeddings": nn.ModuleDict({"word_embeddings": nn.Embedding(rows, WIDTH)}),
            "layers": nn.ModuleList(Block(layer) for layer in range(CONFIG["n_layer"])),
            "ln_f": RmsNorm(),
        })
        self.lm_head = linear(WIDTH, rows)
        self.lm_head.weight = self.transformer["embeddings"]["word_embeddings"].weight

    def forward(self, ids):
        x = self.transformer["embeddings"]["word_embeddings"](ids).float()  # "residual_in_fp32"
        for block in self.transformer["layers"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x.to(self.lm_head.weight.dtype)))[..., :CONFIG["vocab_size"]]


def draw(model):
    """Sets the parameters at random, so that every layer counts."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.normal_(1 if "norm" in name or "ln_f" in name else 0, 0.3)
            else:
                parameter.normal_(0, 0.6 if "conv.conv" in name or "word" in name else 0.4)


def save(model, folder):
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    safetensors.torch.save_file({name: tensor.clone() for name, tensor in model.state_dict().items()}, folder / "model.safetensors",
                                {"format": "pt"})


def main():
    torch.manual_seed(7)
    model = Based()
    draw(model)
    save(model, HERE)
    expected = {}
    for row, length in enumerate(LENGTHS):
        ids = torch.randint(0, CONFIG["vocab_size"], (1, length))
        logits = model(ids)
        expected[f"ids.{row}"], expected[f"logits.{row}"] = ids[0], logits[0].detach().contiguous()
        if row == 1:
            F.cross_entropy(logits[0, :-1], ids[0, 1:]).backward()
            for name, parameter in model.named_parameters():
                expected[f"gradient.{name}"] = parameter.grad.contiguous()
    in_bf16 = copy.deepcopy(model).bfloat16()(expected["ids.2"][None])[0].detach()
    expected["bf16_difference"] = (in_bf16.float() - expected["logits.2"]).square().mean().sqrt()[None]
    safetensors.torch.save_file(expected, HERE / "expected.safetensors")
    for file in HERE.iterdir():
        file.chmod(0o755 if file.suffix == ".py" else 0o644)


if __name__ == "__main__":
    main()
