"""Fixes that the text alone makes safe, whoever calls, and those that it doesn't."""

from __future__ import annotations

import pytest

from ddelint.nouns.diagnostics import Applicability
from ddelint.rewrite.static_fixes import with_static_fixes
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source


def labels(lines: str, parameters: str = "x", decorator: str = "@torch.compile") -> dict[str, bool]:
    """Whether the fix of each finding that has one is safe."""
    body = "".join(f"    {line}\n" for line in (*lines.splitlines(), "return x"))
    source = SourceFile("model.py", f"import torch\n\n\n{decorator}\ndef f({parameters}):\n{body}")
    found = with_static_fixes(check_source(source), {source.filename: source})
    return {d.code: d.fix.applicability is Applicability.SAFE for d in found if d.fix is not None}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("DDE201", "n = int((x > 0).sum())"),
        ("DDE201", "mask = x > 0\nn = int(mask.sum())"),
        ("DDE201", "n = int(torch.argmax(x))"),
        ("DDE201", "n = int(x.argmin())"),
        ("DDE201", "n = int(torch.count_nonzero(x))"),
        ("DDE201", "n = int(torch.bincount(x).max())"),
        ("DDE207", "hit = x[x > 0]\nn = len(hit)"),
        ("DDE207", "n = len(torch.nonzero(x))"),
        ("DDE207", "n = len(x[torch.isfinite(x)])"),
        ("DDE103", "if x.sum() > 3:\n    raise ValueError('a')"),
        ("DDE103", "if (x > 3).any():\n    raise ValueError('a')"),
        ("DDE103", "y = torch.relu(x)\nif not y.max() <= 3:\n    raise ValueError('a')"),
        ("DDE104", "assert torch.isfinite(x).all()"),
        ("DDE601", "n = x.sum().item()\ntorch._check_is_size(n)"),
    ],
)
def test_what_the_text_shows_is_safe(code: str, lines: str) -> None:
    assert labels(lines)[code]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("DDE201", "n = int(x.max())"),
        ("DDE201", "n = int(x)"),
        ("DDE201", "n = int(x.sum())"),
        ("DDE201", "mask = x > 0\nif flag:\n    mask = x\nn = int(mask.sum())"),
        ("DDE207", "n = len(x)"),
        ("DDE207", "n = len(x.nonzero())"),
        ("DDE207", "n = len(x[flags > 0])"),
        ("DDE103", "if x > 3:\n    raise ValueError('a')"),
        ("DDE204", "y = torch.zeros(x.sum())"),
        ("DDE110", "if x.sum() > 3:\n    print('large')"),
    ],
)
def test_what_a_caller_may_give_otherwise_is_not(code: str, lines: str) -> None:
    assert not labels(lines, "x: torch.Tensor, flags, flag=True").get(code, False)


def test_what_is_scripted_is_not_safe_whatever_it_reads() -> None:
    assert not labels("n = int((x > 0).sum())", decorator="@torch.compile\n@torch.jit.script").get("DDE201", False)
