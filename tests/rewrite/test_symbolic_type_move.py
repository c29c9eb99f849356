"""Tests of a number's type: what passes them while exporting, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, rewritten

HEAD = "import numbers\nimport torch\n\nPLAIN = (int, float)\n\n\ndef fn(n):\n    return "


@pytest.mark.parametrize(
    ("test", "kind", "expected"),
    [
        ("isinstance(n, int)", "SymInt", "isinstance(n, (int, torch.SymInt))"),
        ("isinstance(n + 1, (int, str))", "SymInt", "isinstance(n + 1, (int, str, torch.SymInt))"),
        ("isinstance(n, (int, float))", "SymFloat", "isinstance(n, (int, float, torch.SymInt, torch.SymFloat))"),
        ("isinstance(n, numbers.Number)", "SymFloat", "isinstance(n, (numbers.Number, torch.SymFloat))"),
        ("isinstance(n, PLAIN)", "SymInt", "isinstance(n, (PLAIN, torch.SymInt))"),
        ("isinstance(n, int | None)", "SymInt", "isinstance(n, (int | None, torch.SymInt))"),
        ("isinstance(n, bool)", "SymBool", "isinstance(n, (bool, torch.SymBool))"),
    ],
)
def test_the_symbolic_type_passes(test: str, kind: str, expected: str) -> None:
    context = replace(context_of(f"{HEAD}{test}\n", test), detail=f"export has a torch.{kind} here")
    assert rewritten("symbolic_type", context) == [f"{HEAD}{expected}\n"]


@pytest.mark.parametrize("test", ["isinstance(*n)", "type(n) is int", "issubclass(n, int)"])
def test_what_is_no_such_test_stays(test: str) -> None:
    context = replace(context_of(f"{HEAD}{test}\n", test), detail="export has a torch.SymInt here")
    assert rewritten("symbolic_type", context) == []
