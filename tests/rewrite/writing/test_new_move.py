"""The move that docs/architecture.md shows whole: it works as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from control_flow import candidates, context_of

from ddelint.rewrite.candidate import MOVES
from ddelint.rewrite.moves import load_moves

PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"
NAME = "numel_instead_of_product"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    load_moves()
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S) if NAME in block)
    before = dict(MOVES)
    exec(compile(code, "numel.py", "exec"), {"__name__": "numel"})
    monkeypatch.setitem(MOVES, NAME, MOVES.pop(NAME))
    assert dict(MOVES).keys() - before.keys() == {NAME}


@pytest.mark.parametrize(
    ("asking", "written"),
    [
        ("int(torch.tensor(rows.shape).prod())", "rows.numel()"),
        ("torch.tensor(rows.shape).prod().item()", "rows.numel()"),
        ("int(torch.tensor((rows + 1).shape).prod())", "(rows + 1).numel()"),
        ("int(torch.tensor((a if b else rows).shape).prod())", "(a if b else rows).numel()"),
    ],
)
@pytest.mark.usefixtures("shown")
def test_the_move_of_the_page(asking: str, written: str) -> None:
    text = f"import torch\n\n\ndef f(a, b, rows):\n    return rows.sum() / ({asking} + 1)  # mean\n"
    context = context_of(text, asking, code="DDE201")
    (candidate,) = candidates(NAME, context)
    assert candidate.imports == ()
    assert context.site.source.apply(candidate.edits) == text.replace(asking, written)
