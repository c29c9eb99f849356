"""Hard examples: a loss over the largest losses, fewer where there are few; none is skipped."""

import torch


def fn(logits, labels, ignored):
    valid = labels != ignored
    if not valid.any():
        return logits.sum() * 0
    losses = torch.nn.functional.cross_entropy(logits[valid], labels[valid], reduction="none")
    count = max(1, int(losses.shape[0] * 0.25))
    return losses.topk(count).values.mean()


def make_inputs(seed, scale=1):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(16 * scale, 5, generator=generator)
    labels = torch.randint(-1, 5, (16 * scale,), generator=generator)
    return logits, labels if seed % 4 else torch.full_like(labels, -1), -1
