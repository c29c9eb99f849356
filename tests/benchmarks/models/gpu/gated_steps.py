"""Updates that are made where something has happened: clipped, rescaled, or left as they are."""

import torch


def fn(gradient, state, limit):
    norm = gradient.norm()
    if norm > limit:
        gradient = gradient * (limit / (norm + 1e-6))
    if not torch.isfinite(gradient).all():
        gradient = torch.zeros_like(gradient)
    momentum = 0.9 * state + gradient
    if momentum.abs().max() > 1.0:
        momentum = momentum / momentum.abs().max()
    return torch.tanh(momentum) * gradient.sigmoid()


def make_inputs(seed, scale=1):
    generator = torch.Generator().manual_seed(seed)
    gradient = torch.randn(64 * scale, generator=generator) * (1 + seed % 3)
    if seed % 5 == 4:
        gradient[0] = float("nan")
    return gradient, torch.randn(64 * scale, generator=generator), 8.0 * scale**0.5
