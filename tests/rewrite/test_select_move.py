"""select_or_keep: rows that a mask selects under a condition."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

MOVE = "select_or_keep"
MASK = TypeFact("tensor", "bool", ("?",))
TYPES = {
    "x": TypeFact("tensor", "float32", ("?", "2")),
    "scores": TypeFact("tensor", "float32", ("?",)),
    "keep": MASK,
    "grid": TypeFact("tensor", "bool", ("?", "2")),
}
GUARDED = """
def fn(x, scores):
    keep = scores > 0
    if keep.any():
        x, scores = x[keep], scores[keep]
    return x, scores
"""
OWN_MASK = """
def fn(x, scores):
    if (scores > 0).sum() >= 2:
        keep = scores > 0
        x = x[keep]
    return x
"""
EARLY = """
def fn(x, scores):
    keep = scores > 0
    if keep.sum() < 2:
        return x
    return x[keep]
"""
EARLY_TUPLE = """
def fn(x, scores):
    keep = scores > 0
    if not keep.any():
        return x, scores
    x = x[keep]
    return x, scores[keep]
"""
COLUMNS = """
def fn(x, scores):
    keep = scores > 0
    table = x.T
    if int(keep.sum()) > 1:
        table = table[:, keep]
    return table
"""
PROGRAMS = [
    (GUARDED, "keep.any()"),
    (OWN_MASK, "(scores > 0).sum() >= 2"),
    (EARLY, "keep.sum() < 2"),
    (EARLY_TUPLE, "not keep.any()"),
    (COLUMNS, "int(keep.sum()) > 1"),
]


def test_a_selection_under_a_condition() -> None:
    found = rewritten(MOVE, context_of(GUARDED, "keep.any()", TYPES, "DDE105"))[0]
    assert found == (
        "\ndef fn(x, scores):\n    keep = scores > 0\n    any_keep = keep.any()\n"
        "    if torch.compiler.is_compiling() or any_keep:\n"
        "        kept = keep | ~any_keep\n        x, scores = x[kept], scores[kept]\n    return x, scores\n"
    )


@pytest.mark.parametrize(
    ("body", "test", "lines"),
    [
        (
            "    if keep.all():\n        return x, scores\n    return x[keep], scores[keep]\n",
            "keep.all()",
            ["kept = keep | all_keep", "return x[kept], scores[kept]"],
        ),
        (
            "    if keep.any():\n        x = x[keep]\n        scores = scores[keep]\n    return x, scores\n",
            "keep.any()",
            ["kept = keep | ~any_keep", "x = x[kept]", "scores = scores[kept]"],
        ),
        (
            "    if keep.any():\n        scores = scores[scores > 0]\n        x = x[scores > 0]\n    return x\n",
            "keep.any()",
            ["scores = scores[(scores > 0) | ~any_keep]", "x = x[(scores > 0) | ~any_keep]"],
        ),
    ],
)
def test_a_mask_is_computed_once(body: str, test: str, lines: list[str]) -> None:
    text = f"\ndef fn(x, scores):\n    keep = scores > 0\n{body}"
    context = context_of(text, test, TYPES | {"scores > 0": MASK}, "DDE105")
    rows = [row.strip() for row in rewritten(MOVE, context)[0].splitlines()]
    assert [line for line in lines if line not in rows] == []


@pytest.mark.parametrize(("text", "test"), PROGRAMS)
def test_both_sides_agree_with_eager(text: str, test: str) -> None:
    torch = pytest.importorskip("torch")
    if "int(" in text:  # what reads the number is another move's
        text, test = text.replace("int(keep.sum())", "keep.sum().item()"), "keep.sum().item() > 1"
    types = TYPES | {"table": TypeFact("tensor", "float32", ("2", "?"))}
    program = with_imports(MOVE, context_of("import torch\n" + text, test, types, "DDE105"))[0]
    rows = [[1.0, -1, 2, 3], [-1.0, -1, -2, -3], [1.0, -1, -2, -3], [1.0, 1, 2, 3]]
    samples = [(torch.randn(4, 2), torch.tensor(row)) for row in rows]
    assert failures("import torch\n" + text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x, scores = x[keep], scores[keep]", "x, scores = x[keep], scores[keep] + 1"),
        ("x, scores = x[keep], scores[keep]", "x, scores = scores[keep], x[keep]"),
        ("x, scores = x[keep], scores[keep]", "x = x[grid]"),
        ("x, scores = x[keep], scores[keep]", "x = x[keep, keep]"),
        ("x, scores = x[keep], scores[keep]", "x = x[order]"),
        ("x, scores = x[keep], scores[keep]", "count = keep.sum()\n        x = x[keep]\n    x = x + count"),
        ("    return x, scores", "    else:\n        x = x + 1\n    return x, scores"),
    ],
)
def test_what_does_more_than_select_is_left_alone(before: str, after: str) -> None:
    text = GUARDED.replace("fn(x, scores)", "fn(x, scores, grid, order)").replace(before, after)
    assert candidates(MOVE, context_of(text, "keep.any()", TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return x[keep]", "return x[keep] + 1"),
        ("return x[keep]", "return x[keep], scores"),
        ("return x[keep]", "x = x * 2\n    return x[keep]"),
        ("        return x\n", "        return x + 1\n"),
    ],
)
def test_early_returns_of_something_else_are_left_alone(before: str, after: str) -> None:
    text = EARLY.replace(before, after)
    assert candidates(MOVE, context_of(text, "keep.sum() < 2", TYPES, "DDE105")) == []


def test_what_the_block_says_is_said_in_eager() -> None:
    text = GUARDED.replace("        x, scores = ", "        print('some')\n        x, scores = ")
    (found,) = rewritten(MOVE, context_of(text, "keep.any()", TYPES))
    assert "        if not torch.compiler.is_compiling():\n            print('some')\n" in found
    early = EARLY.replace("        return x\n", "        log.warning('few')\n        return x\n", 1)
    (found,) = rewritten(MOVE, context_of(early, "keep.sum() < 2", TYPES))
    assert "        log.warning('few')\n        return x\n" in found
    assert rewritten(MOVE, context_of(text.replace("print(", "rows.append("), "keep.any()", TYPES)) == []
