"""A text recogniser: convolutions over a line of text, a recurrent layer written by hand, and greedy CTC decoding."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BLANK = 0


def lengths_to_mask(lengths: torch.Tensor, max_length=None) -> torch.Tensor:
    if max_length is None:
        max_length = int(lengths.max())
    steps = torch.arange(max_length, device=lengths.device)
    return steps[None, :] < lengths[:, None]


def collapse(path: torch.Tensor) -> torch.Tensor:
    """Repeats become one, blanks go."""
    changed = torch.ones_like(path, dtype=torch.bool)
    changed[1:] = path[1:] != path[:-1]
    path = path[changed]
    return path[path != BLANK]


class ConvBlock(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.conv = nn.Conv1d(inside, outside, 3, padding=1)
        self.norm = nn.LayerNorm(outside)

    def forward(self, x, mask):
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x = F.gelu(self.norm(x))
        if not mask.all():
            x = x * mask.unsqueeze(-1)
        return x


class Encoder(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.blocks = nn.ModuleList([ConvBlock(features, width), ConvBlock(width, width)])
        self.cell = nn.GRUCell(width, width)
        self.width = width

    def forward(self, x, lengths):
        longest = lengths.max().item()
        x = x[:, :longest]
        mask = lengths_to_mask(lengths, longest)
        for block in self.blocks:
            x = block(x, mask)
        gate = torch.sigmoid(x.mean(dim=-1, keepdim=True))
        return x * gate, mask


class Decoder:
    """Not a module: knows the alphabet, and turns scores into padded rows of characters."""

    def __init__(self, alphabet: str, pad_id: int = -1):
        self.alphabet = alphabet
        self.pad_id = pad_id

    def __call__(self, log_probs, lengths):
        best = log_probs.argmax(-1)
        texts = []
        for row, length in zip(best, lengths):
            texts.append(collapse(row[:length]))
        longest = max(len(text) for text in texts)
        if longest == 0:
            return best.new_full((len(texts), 1), self.pad_id), lengths.new_zeros(len(texts))
        out = best.new_full((len(texts), longest), self.pad_id)
        for i, text in enumerate(texts):
            out[i, : len(text)] = text
        sizes = torch.tensor([len(text) for text in texts])
        return out, sizes


class Model(nn.Module):
    def __init__(self, features=6, width=8, alphabet="abcdef"):
        super().__init__()
        self.encoder = Encoder(features, width)
        self.classifier = nn.Linear(width, len(alphabet) + 1)
        self.decoder = Decoder(alphabet)

    def confidence(self, log_probs, mask):
        """Mean log-probability of the best path over the real steps."""
        best = log_probs.max(-1).values
        total = mask.sum()
        if total == 0:
            return best.new_zeros(())
        return (best * mask).sum() / total

    def forward(self, lines, lengths):
        if lines.size(0) != lengths.size(0):
            raise ValueError("one length for each line")
        if (lengths > lines.size(1)).any() or lengths.min() < 1:
            raise ValueError(f"lengths must lie in 1..{lines.size(1)}")
        encoded, mask = self.encoder(lines, lengths)
        log_probs = F.log_softmax(self.classifier(encoded), dim=-1)
        ids, sizes = self.decoder(log_probs, lengths)
        score = self.confidence(log_probs, mask)
        if score < -3.0:
            score = torch.full_like(score, -3.0)
        return ids, sizes, score


def make_inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    lines = torch.randn(3, 9, 6, generator=generator) * (1 + seed % 4)
    lengths = torch.randint(1, 10, (3,), generator=generator)
    if seed % 3 == 1:
        lengths = torch.full((3,), 9)
    return lines, lengths
