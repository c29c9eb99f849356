"""Fields that training reads are found where the original has them; what is rewritten has the same ones changed."""

from __future__ import annotations

import torch

from ddelint.verify.dropping import with_dropout, with_what_training_reads
from ddelint.verify.samples import Sample

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.survives, self.scale, self.drop_path = 1.0, 1.0, 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.survives if self.training else x


class Rewritten(Block):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Model(torch.nn.Module):
    def __init__(self, kind: type[Block]) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([kind(), kind()])
        self.tail = torch.nn.Linear(1, 1)


def test_what_training_reads_of_the_original_is_changed_in_what_asks_otherwise() -> None:
    (change,) = with_what_training_reads(Model(Block))
    sample = change(SAMPLE)
    assert sample.label == "seed 0, in train() with survives=0.5"
    for kind in (Block, Rewritten):
        changed = sample.prepare(Model(kind))
        assert [block.survives for block in changed.blocks] == [0.5, 0.5]
        assert [block.scale for block in changed.blocks] == [1.0, 1.0]
        assert changed.training


def test_chances_have_their_names() -> None:
    (change,) = with_dropout(Model(Block))
    assert [block.drop_path for block in change(SAMPLE).prepare(Model(Rewritten)).blocks] == [0.5, 0.5]
    assert list(with_dropout(torch.nn.Linear(1, 1))) == []
