"""A test for None that repeats another one: both are one branch, in which moves know more to say."""

from __future__ import annotations

import pytest
from control_flow import context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.parts.none_for_nothing import asked_once
from ddelint.rewrite.parts.respelling import respelled
from ddelint.rewrite.search.offering import in_order

TYPES = {
    "x": TypeFact("tensor", "float32", ("5",)),
    "y": TypeFact("tensor", "float32", ("5",)),
    "seen": TypeFact("tensor", "bool", ("5",)),
    "best@7": TypeFact("none"),
    "best": TypeFact("int"),
}
HEAD = "import torch\n\n\ndef fn(x, seen):\n    y = x * 2\n"
TEST = "seen.all()"
FOUND = "    best = None\n    if seen.all():\n        best = x.mean()\n"
ASKED = "    if best is not None:\n        y = y - best\n"
PROGRAMS = {
    "a number": (
        "    best = None\n    if seen.all():\n        best = int(x.argmax())\n"
        "    if best is not None:\n        y = y + best\n"
    ),
    "both arms": (
        "    best = None\n    if seen.all():\n        best = x.mean()\n"
        "    if best is not None:\n        y = y - best\n    else:\n        y = y + 1\n"
    ),
    "turned round": (
        "    best = None\n    if seen.all():\n        best = x.mean()\n"
        "    if best is None:\n        y = y + 1\n    else:\n        y = y - best\n"
    ),
    "something between": (
        "    best = None\n    if seen.all():\n        low = x.min()\n        best = x - low\n"
        "    scale = x.abs().max()\n"
        "    if best is not None:\n        y = best / scale\n"
    ),
    "no plain value": (
        "    best = None\n    if seen.all():\n        best = (x.min(), x.max())\n"
        "    if best is not None:\n        low, high = best\n        y = (y - low) / (high - low)\n"
    ),
}


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_one_branch_does_what_both_did(body: str) -> None:
    import torch

    text = f"{HEAD}{body}    return y\n"
    respellings = [one for one in respelled(context_of(text, TEST, TYPES)) if one.likelier]
    assert len(respellings) == 1
    fused = respellings[0].context.site.source.text
    assert "None" not in fused
    samples = [(torch.tensor([0.5, -1, 2, 1, 3]), torch.tensor([True, last] * 2 + [last])) for last in (True, False)]
    assert failures(text, fused, samples, targets=()) == []


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_each_line_is_known_in_its_new_row(body: str) -> None:
    text = f"{HEAD}{body}    return y\n"
    context = context_of(text, TEST, TYPES)
    (fused,) = [one.context.site.source for one in respelled(context) if one.likelier]
    found = asked_once(context)
    assert found is not None
    for row, line in enumerate(text.splitlines(), 1):
        if "None" not in line and "else" not in line:
            assert fused.lines[found.moved(row) - 1].strip() == line.strip(), row


def test_what_draws_numbers_keeps_its_turn() -> None:
    between = "    noise = torch.rand(5)\n"
    text = f"{HEAD}{FOUND}{between}{ASKED}    return y + noise\n"
    assert [one for one in respelled(context_of(text, TEST, TYPES)) if one.likelier] == []


def test_what_is_known_of_a_product_of_matrices_is_no_name_in_a_row() -> None:
    text = f"{HEAD}{PROGRAMS['a number']}    return y\n"
    types = {**TYPES, "f(x @ x.t(), 5)": TypeFact("tensor"), "x @ y": TypeFact("tensor")}
    (respelling,) = [one for one in respelled(context_of(text, TEST, types)) if one.likelier]
    known = respelling.context.types
    assert {"f(x @ x.t(), 5)", "x @ y", "best@6"} <= known.keys()


def test_what_moves_make_of_the_one_branch_is_exported() -> None:
    import torch

    text = f"{HEAD}{PROGRAMS['both arms']}    return y\n"
    load_moves()
    context = context_of(text, TEST, TYPES)
    program = next(context.site.source.apply(each.edits) for each in in_order(["where_merge"], context))
    assert "torch.where(seen.all(), y - best" in program.replace("_then", "")
    samples = [(torch.tensor([0.5, -1, 2, 1, 3]), torch.tensor([True, last] * 2 + [last])) for last in (True, False)]
    assert failures(text, program, samples, ("export",)) == []


@pytest.mark.parametrize(
    "body",
    [
        f"    if seen.all():\n        best = x.mean()\n{ASKED}",
        f"    best = x\n    if seen.all():\n        best = x.mean()\n{ASKED}",
        f"    best = None\n    if seen.all():\n        best = g(x)\n{ASKED}",
        f"{FOUND}    if best:\n        y = y - best\n",
        f"{FOUND}    x = x + 1\n{ASKED}",
        f"{FOUND}    seen = x > 1\n{ASKED}",
        f"{FOUND}    y[0] = 1\n{ASKED}",
        f"{FOUND}        x.add_(1)\n{ASKED}",
        f"{FOUND}{ASKED}    print(best)\n",
        f"{FOUND}    else:\n        y = x\n{ASKED}",
    ],
)
def test_what_asks_for_more_than_the_first_test_stays(body: str) -> None:
    text = f"{HEAD}{body}    return y\n"
    assert not any("None" not in one.context.site.source.text for one in respelled(context_of(text, TEST, TYPES)))
