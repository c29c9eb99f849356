"""A tagger with a conditional random field: the loss of given tags, and Viterbi decoding of each sentence."""

from typing import List, Optional, Tuple

import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, tags: int):
        super().__init__()
        self.tags = tags
        self.start = nn.Parameter(torch.randn(tags) * 0.1)
        self.end = nn.Parameter(torch.randn(tags) * 0.1)
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def _validate(self, emissions, mask, tags: Optional[torch.Tensor] = None):
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if not mask[:, 0].all():
            raise ValueError("mask of the first timestep must all be on")
        if tags is not None and tags.max() >= self.tags:
            raise ValueError(f"tags must be below {self.tags}")

    def log_partition(self, emissions, mask):
        score = self.start + emissions[:, 0]
        for i in range(1, emissions.shape[1]):
            following = score.unsqueeze(2) + self.transitions + emissions[:, i].unsqueeze(1)
            following = torch.logsumexp(following, dim=1)
            score = torch.where(mask[:, i].unsqueeze(1), following, score)
        return torch.logsumexp(score + self.end, dim=1)

    def score_of(self, emissions, tags, mask):
        rows = torch.arange(emissions.shape[0])
        score = self.start[tags[:, 0]] + emissions[rows, 0, tags[:, 0]]
        for i in range(1, emissions.shape[1]):
            step = self.transitions[tags[:, i - 1], tags[:, i]] + emissions[rows, i, tags[:, i]]
            score = score + step * mask[:, i]
        last = mask.long().sum(1) - 1
        return score + self.end[tags[rows, last]]

    def viterbi(self, emissions: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """The best path of one sentence, (steps, tags) → (steps,)."""
        score = self.start + emissions[0]
        history: List[torch.Tensor] = []
        for emission in emissions[1:]:
            best, previous = (score.unsqueeze(1) + self.transitions).max(dim=0)
            score = best + emission
            history.append(previous)
        score = score + self.end
        best_score, tag = score.max(dim=0)
        path = [tag]
        for previous in reversed(history):
            tag = previous[tag]
            path.append(tag)
        path.reverse()
        return torch.stack(path), best_score

    def forward(self, emissions, tags, mask):
        self._validate(emissions, mask, tags)
        return self.log_partition(emissions, mask) - self.score_of(emissions, tags, mask)

    def decode(self, emissions, mask):
        self._validate(emissions, mask)
        lengths = mask.sum(dim=1)
        longest = int(lengths.max())
        paths = torch.full((emissions.shape[0], longest), -1)
        scores = []
        for i, length in enumerate(lengths.tolist()):
            path, score = self.viterbi(emissions[i, :length])
            paths[i, :length] = path
            scores.append(score)
        return paths, torch.stack(scores)


class Model(nn.Module):
    def __init__(self, vocabulary: int = 20, width: int = 8, tags: int = 4, pad: int = 0):
        super().__init__()
        self.pad = pad
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=pad)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.emit = nn.Linear(width, tags)
        self.crf = CRF(tags)

    def forward(self, tokens: torch.Tensor, tags: torch.Tensor):
        mask = tokens != self.pad
        x = self.embedding(tokens)
        x = torch.relu(self.mix(x.transpose(1, 2)).transpose(1, 2))
        emissions = self.emit(x)
        nll = self.crf(emissions, tags, mask)
        if mask.all():
            loss = nll.mean()
        else:
            loss = nll.sum() / mask.sum()
        with torch.no_grad():
            paths, scores = self.crf.decode(emissions, mask)
            width = paths.shape[1]
            correct = (paths == tags[:, :width]) & mask[:, :width]
        accuracy = correct.sum() / mask.sum() if mask.any() else torch.zeros(())
        return loss, accuracy, paths, scores


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 20, (3, 6), generator=generator)
    lengths = torch.randint(1, 7, (3,), generator=generator)
    if seed % 3 == 1:
        lengths = torch.full((3,), 6)
    tokens = tokens * (torch.arange(6) < lengths[:, None])
    return tokens, torch.randint(0, 4, (3, 6), generator=generator)
