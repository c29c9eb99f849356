"""constant_beside_buffer: what a buffer holds for good, as a Python constant."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of

from ddelint.nouns.diagnostics import Claim

TEXT = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sizes", torch.tensor([1, 2]))  # two

    def forward(self, x):
        first = self.sizes[0].item()
        return x.split(self.sizes.tolist()), -self.sizes[1].item() + first
"""


@pytest.mark.parametrize(("saved", "claim"), [(True, Claim.PROMISE), (False, Claim.RESTRUCTURED)])
def test_every_read_takes_the_constant(saved: bool, claim: Claim) -> None:
    text = TEXT if saved else TEXT.replace("2]))", "2]), persistent=False)")
    context = context_of(text, "self.sizes.tolist()")
    (candidate,) = candidates("constant_beside_buffer", context)
    assert candidate.claim is claim
    assert bool(candidate.notes) is saved
    made = "  # two\n        self.sizes_list = self.sizes.tolist()\n"
    assert context.site.source.apply(candidate.edits) == (
        text.replace("self.sizes.tolist()", "self.sizes_list")
        .replace("self.sizes[0].item()", "self.sizes_list[0]")
        .replace("self.sizes[1].item()", "self.sizes_list[1]")
        .replace("  # two\n", made)
    )


def test_a_buffer_that_shares_its_line_stays() -> None:
    text = TEXT.replace("super().__init__()\n        self", "super().__init__(); self")
    assert candidates("constant_beside_buffer", context_of(text, "self.sizes.tolist()")) == []
