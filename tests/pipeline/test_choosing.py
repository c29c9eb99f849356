"""Advice that rests on the text alone is told to who asks for it by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode

TEXT = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        length = n.argmax()
        head, blank = x[:length], 0
        blank = torch.zeros(length)
        count = n.sum().item()
        x = x[:count]
        return head, blank, x[length], x
"""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ["11 DDE204"]),
        ({"extend_select": ("DDE204",)}, ["7 DDE204", "8 DDE204", "11 DDE204"]),
        ({"extend_select": ("DDE3",)}, ["10 DDE301", "11 DDE204"]),
        ({"select": ("DDE2", "DDE3")}, ["7 DDE204", "8 DDE204", "10 DDE301", "11 DDE204"]),
        ({"select": ("DDE",), "ignore": ("DDE204",)}, []),
        ({"extend_select": ("DDE3",), "ignore": ("DDE301",)}, ["11 DDE204"]),
    ],
)
def test_advice_is_told_on_request(options: dict[str, tuple[str, ...]], told: list[str], tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(TEXT)
    chosen = CheckOptions(mode=Mode.STATIC, cache=False, **options)  # type: ignore[arg-type]
    report = run_check([str(tmp_path / "model.py")], chosen, Silence())
    assert [f"{d.span.row} {d.code}" for d in report.remaining] == told
