"""Fixes that the text alone makes safe, whoever calls, and those that it doesn't."""

from __future__ import annotations

from pathlib import Path

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
        ("DDE201", "y = torch.abs(x)\nn = int((y > 0).sum())"),
        ("DDE201", "y = torch.abs(x)\nn = int((x > 0).sum())"),
        ("DDE201", "if flag:\n    y = 1 + torch.abs(x).sqrt()\n    n = int((x > 0).sum())"),
        ("DDE201", "mask = torch.abs(x) > 0\nn = int(mask.sum())"),
        ("DDE201", "n = int(torch.argmax(x))"),
        ("DDE201", "n = int(torch.count_nonzero(x))"),
        ("DDE201", "n = int(torch.bincount(x).max())"),
        ("DDE201", "n = int(torch.bincount(x, minlength=9).max())"),
        ("DDE201", "n = int(torch.argsort(x).view(-1).max())"),
        ("DDE201", "n = int(torch.argsort(x).view(x.shape).max())"),
        ("DDE201", "n = int(torch.max(torch.abs(x), 0)[1].max())"),
        ("DDE207", "y = torch.abs(x)\nhit = y[y > 3]\nn = len(hit)"),
        ("DDE207", "n = len(torch.nonzero(x))"),
        ("DDE207", "keep = torch.isfinite(x)\nn = len(x[keep])"),
        ("DDE103", "y = torch.abs(x)\nif y.sum() > 3:\n    raise ValueError('a')"),
        ("DDE103", "y = torch.relu(x)\nif not y.max() <= 3 or torch.isnan(x).any():\n    raise ValueError('a')"),
        ("DDE104", "assert torch.isfinite(x).all()"),
        ("DDE601", "n = x.sum().item()\ntorch._check_is_size(n)"),
    ],
)
def test_what_the_text_shows_is_safe(code: str, lines: str) -> None:
    assert labels(lines, "x, flag=True")[code]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("DDE201", "n = int(x.max())"),
        # floats, by what else is given
        ("DDE201", "n = int(torch.bincount(x, flag).max())"),
        ("DDE201", "n = int(torch.bincount(x, weights=flag).max())"),
        ("DDE201", "n = int(torch.bincount(x, **flag).max())"),
        ("DDE201", "n = int(torch.bincount(*flag).max())"),
        ("DDE201", "n = int(torch.arange(flag).max())"),
        ("DDE201", "n = int(torch.arange(end=flag).max())"),
        ("DDE201", "n = int(torch.arange(0, 3, 1.5).max())"),
        ("DDE201", "n = int(torch.arange(3, out=flag).max())"),
        ("DDE201", "n = int(torch.argsort(x).view(flag).max())"),
        ("DDE201", "n = int(torch.argsort(x).view(torch.float64).max())"),
        ("DDE201", "n = int(torch.max(x, flag)[1].max())"),
        ("DDE201", "n = int(torch.eq(x, x, out=flag).sum())"),
        ("DDE201", "n = int(x)"),
        ("DDE201", "n = int(x.sum())"),
        ("DDE201", "n = int((x > 0).sum())"),
        ("DDE201", "n = int(x.argmin())"),
        ("DDE201", "n = int((torch.abs(x) > flags).sum())"),
        ("DDE201", "n = int((x > 0).sum())\ny = torch.abs(x)"),
        ("DDE201", "if flag:\n    y = torch.abs(x)\nn = int((x > 0).sum())"),
        ("DDE201", "y = flag and torch.abs(x)\nn = int((x > 0).sum())"),
        ("DDE201", "y = torch.abs(x)\nx = x.view(-1)\nn = int((x > 0).sum())"),
        ("DDE201", "mask = x > 0\nif flag:\n    mask = x\nn = int(mask.sum())"),
        ("DDE201", "global best\nbest = torch.argmax(x)\nn = int(best)"),
        ("DDE207", "n = len(x)"),
        ("DDE207", "n = len(x[x > 0])"),
        ("DDE207", "n = len(x.nonzero())"),
        ("DDE207", "n = len(x[flags > 0])"),
        ("DDE207", "n = len(x[torch.isfinite(flags)])"),
        ("DDE103", "if x > 3:\n    raise ValueError('a')"),
        ("DDE103", "if x.sum() > 3:\n    raise ValueError('a')"),
        ("DDE103", "y = torch.abs(x)\nif y.sum() > flags:\n    raise ValueError('a')"),
        ("DDE103", "y = torch.abs(x)\nif flags and y.sum() > 3:\n    raise ValueError('a')"),
        ("DDE103", "if torch.isnan(x):\n    raise ValueError('a')"),
        ("DDE104", "y = torch.abs(x)\nassert y.sum() > 3 or not flags"),
        ("DDE204", "y = torch.zeros(x.sum())"),
        ("DDE110", "if x.sum() > 3:\n    print('large')"),
    ],
)
def test_what_a_caller_may_give_otherwise_is_not(code: str, lines: str) -> None:
    assert not labels(lines, "x: torch.Tensor, flags, flag=True").get(code, False)


@pytest.mark.parametrize(
    ("text", "is_safe"),
    [
        ("import model\n\nfast = torch.jit.script(model.f)\n", False),
        ("from model import f\n\nfast = {n: torch.jit.script(g) for n, g in ALL.items()}\n", False),
        ("from model import f\n\nfast = torch.compile(f)\n", True),
        ("from other import f\n\nfast = torch.jit.script(f)\n", True),
    ],
)
def test_what_another_file_gives_to_torchscript_is_not(text: str, is_safe: bool, tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(f"import torch\n{text}")
    source = SourceFile(
        str(tmp_path / "model.py"), "import torch\n\n\n@torch.compile\ndef f(x):\n    return int(torch.argmax(x))\n"
    )
    (fix,) = (d.fix for d in with_static_fixes(check_source(source), {source.filename: source}))
    assert fix is not None
    assert (fix.applicability is Applicability.SAFE) is is_safe
    assert is_safe or "use.py imports `f`" in fix.message


def test_an_exception_that_only_is_called_like_pythons_is_left_to_eager() -> None:
    text = "import torch\nfrom mine import ValueError\n\n\n@torch.compile\ndef f(x):\n    if torch.isnan(x).any():\n"
    source = SourceFile("model.py", f"{text}        raise ValueError('nan')\n")
    (found,) = with_static_fixes(check_source(source), {source.filename: source})
    assert found.fix is not None
    assert "raise ValueError('nan')" in source.apply(found.fix.edits)


def test_an_exception_without_arguments_is_left_to_eager() -> None:
    source = SourceFile(
        "model.py", "import torch\n\n\n@torch.compile\ndef f(x):\n    if x.sum() > 3:\n        raise ValueError\n"
    )
    (found,) = with_static_fixes(check_source(source), {source.filename: source})
    assert found.fix is not None
    assert "raise ValueError" in source.apply(found.fix.edits)


def test_what_is_scripted_is_not_safe_whatever_it_reads() -> None:
    assert not labels("n = int(torch.argmax(x))", decorator="@torch.compile\n@torch.jit.script").get("DDE201", False)
