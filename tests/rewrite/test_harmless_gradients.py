"""Merged branches whose test keeps a gradient from being NaN: the merge keeps it so, too."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, candidates, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

ROWS = {"kept": TypeFact("tensor", "float32", ("u0",)), "x": TENSOR, "d": TypeFact("tensor", "float32", ())}


def gradients(text: str, values: list[float]) -> list[float]:
    import torch

    x = torch.tensor(values, requires_grad=True)
    load(text)(x).sum().backward()
    assert x.grad is not None
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("d = x.var().sqrt()\n    if d > 0:\n        x = x / d\n    return x", [[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]]),
        ("if x.var() > 0:\n        x = x / x.var().sqrt()\n    return x", [[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]]),
        ("d = (x[0] - x[1]).pow(2).sqrt()\n    return x / d if d > 0 else x * 2", [[1.0, 2.0, 4.0], [3.0, 3.0, 1.0]]),
        (
            "d = x.sum().log()\n    if x.sum() > 0:\n        return x * d\n    return x",
            [[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]],
        ),
        (
            "kept = x[x > 1]\n    d = kept.std()\n    if d > 0:\n        kept = (kept - kept.mean()) / d\n"
            "    return kept * 3",
            [[1.0, 2.0, 4.0], [3.0, 3.0, 0.0], [2.0, 0.0, 1.0]],
        ),
        (
            "kept = x[x > 1]\n    d = 1 / kept.std()\n    if d < 9:\n        kept = kept * d\n    else:\n"
            "        kept = kept * 3\n    return kept",
            [[1.0, 2.0, 4.0], [3.0, 3.0, 0.0], [2.0, 0.0, 1.0]],
        ),
    ],
)
def test_a_merge_has_the_gradients_of_its_branch(body: str, inputs: list[list[float]]) -> None:
    text = f"import torch\n\n\ndef fn(x):\n    {body}\n"
    test = "x.var() > 0" if "if x.var()" in body else "x.sum() > 0" if "if x.sum()" in body else "d "
    test = test if test != "d " else next(t for t in ("d > 0", "d < 9") if t in body)
    found = rewritten("where_merge", context_of(text, test, ROWS, "DDE105"))
    wanted = [gradients(text, values) for values in inputs]
    right = [[gradients(new, values) for values in inputs] == wanted for new in found if "is_compiling" not in new]
    assert any(right)


def test_what_can_do_no_harm_is_not_computed_again() -> None:
    text = "def fn(x):\n    d = x.sum()\n    if d > 0:\n        x = x / d\n    return x\n"
    found = [one.edits for one in candidates("where_merge", context_of(text, "d > 0", ROWS, "DDE105"))]
    assert len(found) == len(set(found))
    assert not any("x.sum()" in edit.content for edits in found for edit in edits)
