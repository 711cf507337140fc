#!/usr/bin/env python3
"""Trains a small network to tell which of three spirals a point lies on.

    train.py [--device rocm] [--steps 300]
"""
import argparse
import math

import wick
from wick import nn, optim


def spirals(count: int, device: wick.Device) -> tuple[wick.Tensor, wick.Tensor]:
    """count points of each spiral: x [3 count, 2] and the spiral's number [3 count]."""
    points, labels = [], []
    for spiral in range(3):
        radius = wick.arange(1, count + 1, 1, dtype=wick.f32, device=device) / count
        angle = radius * 5 + (spiral * 2 * math.pi / 3 + wick.randn([count], device=device) * 0.1)
        points.append(wick.stack([radius * angle.cos(), radius * angle.sin()], 1))
        labels.append(wick.full([count], spiral, dtype=wick.i64, device=device))
    return wick.cat(points, 0), wick.cat(labels, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    device = wick.Device(arguments.device)
    device.manual_seed(1)

    x, labels = spirals(100, device)
    net = nn.Sequential(nn.Linear(2, 64, device=device), wick.gelu, nn.Linear(64, 64, device=device), wick.gelu,
                        nn.Linear(64, 3, device=device))
    optimizer = optim.AdamW(net)
    for step in range(arguments.steps):
        loss = wick.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.lr = optim.cosine_rate(step, 0.02, arguments.steps, warmup=10)
        optimizer.step()
        if step % 50 == 0 or step == arguments.steps - 1:
            print(f"step {step:4}  loss {loss.item():.4f}")
    with wick.no_grad():
        right = (wick.argmax(net(x), 1) == labels).to(wick.f32).mean().item()
    print(f"{right:.1%} of the points are on the spiral that the network says")


if __name__ == "__main__":
    main()
