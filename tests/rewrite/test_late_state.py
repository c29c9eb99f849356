"""where_merge: an early return in front of a long computation whose last statements change state."""

from __future__ import annotations

import pytest
import torch
from control_flow import MASK, SCALAR, TENSOR, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

LINES = "\n".join(f"    v = v * 2 - x.mean() * {number}" for number in range(16))
PROGRAMS = {
    "places of arguments": (
        "m.any()",
        "if not m.any():\n        out[0] = 0\n        return",
        "out[0] = v\n    seen[0] = v.sum()",
    ),
    "a method in place": (
        "m.any()",
        "if not m.any():\n        out.zero_()\n        return",
        "out.copy_(v.expand_as(out))",
    ),
    "nothing but the return": ("m.any()", "if not m.any():\n        return", "out[0] = v"),
    "None": ("m.any()", "if not m.any():\n        seen[0] = -1\n        return None", "out[1] = v\n    return None"),
    "added to": ("m.any()", "if not m.any():\n        return", "out[0] += v\n    seen.add_(1)"),
}
TEXT = """import torch


def fn(x, m, out, seen):
    v = x.clone()
    w = x[m]
    {branch}
    w.mul_(2)
    v[0] = w.sum()
{lines}
    {end}
"""
FACTS: dict[str, TypeFact] = {
    "x": TENSOR,
    "v": TENSOR,
    "w": TENSOR,
    "m": MASK,
    "out": TypeFact("tensor", "float32", ("2", "4")),
    "seen": TypeFact("tensor", "float32", ("1",)),
    "out[0]": TENSOR,
    "out[1]": TENSOR,
    "seen[0]": SCALAR,
}


def candidates_of(text: str, asking: str) -> list[str]:
    return rewritten("where_merge", context_of(text, asking, FACTS, code="DDE105"))


@pytest.mark.parametrize("case", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("masked", [[True, False, True, False], [False] * 4], ids=["some", "none"])
def test_state_is_chosen_at_the_end(case: tuple[str, str, str], masked: list[bool]) -> None:
    asking, branch, end = case
    text = TEXT.format(branch=branch, lines=LINES, end=end)
    new = candidates_of(text, asking)
    assert new
    results = []
    for version, compiling in ((text, False), (new[0], False), (new[0], True)):
        x, m, out, seen = torch.arange(4.0), torch.tensor(masked), torch.ones(2, 4), torch.ones(1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.compiler, "is_compiling", lambda compiling=compiling: compiling)
            given = load(version, "fn")(x, m, out, seen)
        results.append((given, x, out, seen))
    for other in results[1:]:
        assert other[0] is results[0][0] is None
        assert all(map(torch.equal, results[0][1:], other[1:]))


@pytest.mark.parametrize(
    ("branch", "end"),
    [
        ("if not m.any():\n        return", "out[0] = v\n    v = v + 1\n    assert v.shape[0]\n    out[1] = v"),
        ("if not m.any():\n        out[0] = v\n        return", "out[0] = w.sum()"),
        ("if not m.any():\n        return", "out[0] = v\n    seen += 1"),
    ],
    ids=["changed on the way", "reads what changes in between", "an argument that is added to"],
)
def test_what_is_changed_on_the_way_is_left(branch: str, end: str) -> None:
    assert candidates_of(TEXT.format(branch=branch, lines=LINES, end=end), "m.any()") == []
