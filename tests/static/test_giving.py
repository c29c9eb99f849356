"""Nobody compiles a function that gives numbers alone, or that its file does not say is for others."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

TEXT = """
import torch
{head}

def clean(x: torch.Tensor, deep=None){arrow}:
    if (x > 0).any():
        x = x + 1
    {body}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return float(x.mean())", 0),
        ("return int((x > 0).sum().item())", 0),
        ("return x.mean().item()", 0),
        ("if deep: return float(x.min())\n    return x.max().item()", 0),
        ("if deep:\n        return None\n    return round(float(x.mean()), 3)", 0),
        ("return x", 1),
        ("if deep: return float(x.min())\n    return x", 1),
        ("return float(x.mean()) * x", 1),
        ("return float(x.mean()), x", 1),
        ("return x * x.mean().item()", 1),
        ("return rounded(x)", 1),
        ("return (x -\n        x.mean().item()", 1),
        ("if deep: return float(x.min())\n    return(x)", 1),
        ("if deep: x = -x; return x\n    return float(x.min())", 1),
    ],
)
def test_what_gives_numbers_alone(tmp_path: Path, body: str, found: int) -> None:
    text = TEXT.format(head="", arrow="", body=body + (")" if "(x -" in body else ""))
    assert [row for _, row in rows(tmp_path, {"ops.py": text}) if row < 8] == [6] * found


@pytest.mark.parametrize(
    ("head", "front", "found"),
    [
        ("__all__ = ['other']", "", 0),
        ('__all__ = [\n    "other",  # one\n]', "", 0),
        ("__all__ = ['other', 'clean']", "", 1),
        ("__all__: list[str] = ('clean',)", "", 1),
        ("__all__ = ['other']", "from kit.ops import clean\n", 1),
        ("__all__ = ['other']\n__all__ += ['clean']", "", 1),
        ("__all__ = ['other', *others]", "", 1),
        ("__all__ = [name for name in others()]", "", 1),
        ("__all__ = []", "", 1),
    ],
)
def test_what_a_file_says_is_for_others(tmp_path: Path, head: str, front: str, found: int) -> None:
    files = {"__init__.py": front, "ops.py": TEXT.format(head=head, arrow=" -> torch.Tensor", body="return x")}
    assert len(rows(tmp_path, files)) == found


def test_what_is_called_by_what_is_for_others(tmp_path: Path) -> None:
    text = TEXT.format(head="__all__ = ['other']", arrow="", body="return x")
    text += "\ndef other(x: torch.Tensor):\n    return clean(x) + 1\n"
    assert len(rows(tmp_path, {"ops.py": text})) == 1


@pytest.mark.parametrize(
    ("name", "found"), [("FitReport", 0), ("ReportOfFit", 0), ("Metrics", 0), ("Fitted", 1), ("Reported", 1)]
)
def test_a_record_that_tells_how_it_went(tmp_path: Path, name: str, found: int) -> None:
    record = f"from typing import NamedTuple\n\nclass {name}(NamedTuple):\n    kept: torch.Tensor\n"
    text = TEXT.format(head=record, arrow=f" -> {name}", body=f"return {name}(x)")
    assert len(rows(tmp_path, {"ops.py": text})) == found


@pytest.mark.parametrize(
    ("gives", "found"), [("tuple[torch.Tensor, FitReport]", 1), ("tuple[int, FitReport]", 0), ("list[FitReport]", 0)]
)
def test_a_tensor_beside_a_record_that_tells(tmp_path: Path, gives: str, found: int) -> None:
    record = "class FitReport:\n    pass\n"
    text = TEXT.format(head=record, arrow=f" -> {gives}", body="return made(x)")
    assert len(rows(tmp_path, {"ops.py": text})) == found
