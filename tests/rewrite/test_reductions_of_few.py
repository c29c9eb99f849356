"""where_merge: averages of what may be nothing, and what spreads of one, in an arm that is computed and not chosen."""

from __future__ import annotations

import pytest
from control_flow import context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

TYPES = {
    "err": TypeFact("tensor", "float32", ("6",), requires_grad=True),
    "hit": TypeFact("tensor", "bool", ("6",)),
    "w": TypeFact("tensor", "float32", (), requires_grad=True),
    "kept": TypeFact("tensor", "float32", ("u0",), requires_grad=True),
    "rows": TypeFact("tensor", "float32", ("6",)),
}
HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef fn(err, hit, w):\n"

ARMS = {
    "a mask": "    if hit.any():\n        err = err * 2 + w * err[hit].mean()\n    return err.sum()\n",
    "a name": "    kept = err[hit]\n    y = w\n    if hit.any():\n        y = w * torch.mean(kept)\n    return y\n",
    "a loss": "    y = w * 2\n    if hit.any():\n        y = w * F.mse_loss(err[hit], err[hit] + 1)\n    return y\n",
    "a ternary": "    return w * err[hit].abs().mean() if hit.any() else err.sum()\n",
    "a return": "    if hit.any():\n        return w * err[hit].mean()\n    return err.sum()\n",
    "behind a return": (
        "    if not hit.any():\n        return err.sum()\n    mean = err[hit].mean()\n    total = w * mean\n"
        "    total += w * err[hit].pow(2).mean()\n    return total\n"
    ),
    "a place": (
        "    index = hit.nonzero()[:, 0]\n    y = w\n    if hit.any():\n        y = y * err[index].mean()\n"
        "    return y\n"
    ),
    "a spread of a mask": "    y = w * 1\n    if hit.sum() > 2:\n        y = y + w * err[hit].var()\n    return y\n",
    "a spread of what is made of it": (
        "    y = err.sum()\n    if hit.sum() > 2:\n        y = torch.std(err[hit] * 2) * w\n    return y\n"
    ),
    "a spread of two selections": (
        "    y = err.sum()\n    if hit.sum() > 2:\n        y = (err[hit] * err.exp()[hit]).var() * w\n    return y\n"
    ),
    "a spread": "    kept = err[hit]\n    y = w * 1\n    if hit.sum() > 2:\n        y = y + kept.std()\n    return y\n",
}


def found(body: str) -> list[str]:
    asking = "hit.sum() > 2" if "hit.sum() > 2" in body else "hit.any()"
    types = TYPES if "index" not in body else {**TYPES, "index": TypeFact("tensor", "int64", ("u0",))}
    return rewritten("where_merge", context_of(HEAD + body, asking, types, "DDE105"))


def gradients(function: object, hit: list[bool]) -> list[object]:
    """The value, and the gradients of `err` and `w`."""
    import torch

    err, w = torch.linspace(-1, 2, 6).requires_grad_(), torch.tensor(0.5, requires_grad=True)
    value = function(err, torch.tensor(hit), w)  # type: ignore[operator]
    return [value.detach(), *torch.autograd.grad(value, (err, w), materialize_grads=True)]


@pytest.mark.parametrize("body", ARMS.values(), ids=ARMS)
def test_one_of_the_merges_has_the_gradients_of_the_branch(body: str) -> None:
    import torch

    masks = ([False] * 6, [True] + [False] * 5, [True, False] * 3, [True] * 6)
    expected = [gradients(load(HEAD + body), mask) for mask in masks]

    def agrees(text: str) -> bool:
        function = load(text)
        pairs = [pair for mask, one in zip(masks, expected) for pair in zip(one, gradients(function, mask))]
        return all(torch.equal(one, other) for one, other in pairs)

    merged = [text for text in found(body) if "is_compiling" not in text]
    assert any(agrees(text) for text in merged)
    unprotected = [
        text
        for text in merged
        if "0, err[" not in text and ", 0)" not in text and "narrow" not in text and "hit |" not in text
    ]
    assert unprotected
    assert not any(agrees(text) for text in unprotected)


@pytest.mark.parametrize(
    "value",
    ["rows.mean()", "F.mse_loss(kept, kept, reduction='sum')", "kept.sum()", "F.l1_loss(kept, rows, **options)"],
)
def test_what_has_a_value_of_nothing_stays(value: str) -> None:
    body = f"    kept = err[hit]\n    y = w\n    if hit.any():\n        y = w * {value}\n    return y\n"
    assert not any(f"{value}, 0)" in text for text in found(body))


def test_a_name_that_is_averaged_behind_a_return_is_not_computed_again() -> None:
    body = ARMS["behind a return"]
    assert any("w * mean\n" in text and "mean = torch.where(" in text for text in found(body))
