"""Advice that rests on the text alone is told to who asks for it by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.pipeline.checking import run_check
from ddelint.pipeline.choosing import chosen as is_chosen
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


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({}, True),
        ({"select": ("DDE101",)}, True),
        ({"select": ("DDE901",)}, True),
        ({"select": ("DDE2",)}, False),
        ({"ignore": ("DDE101",)}, False),
        ({"ignore": ("DDE901",)}, False),
    ],
)
def test_what_stands_for_another_rule_counts_where_either_is_asked_for(
    options: dict[str, tuple[str, ...]], counts: bool
) -> None:
    finding = Diagnostic("DDE901", "", Span("model.py", 5, 1, 5, 9), origin=("trace",), stands_for="DDE101")
    assert is_chosen(finding, CheckOptions(**options)) is counts  # type: ignore[arg-type]
