"""Names that were given a value before, which the same expression still gives."""

from __future__ import annotations

import ast

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.computed_before import computed_before

TYPES = {"x": TENSOR, "y": TENSOR, "d": TypeFact("tensor", "float32", ())}


def before(body: str) -> str | None:
    """What the last `d` of a function's body was given before."""
    text = "def fn(self, x, y, flag):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    context = context_of(text, "d > 0", TYPES, "DDE105")
    reads = [n for n in ast.walk(context.site.source.tree) if isinstance(n, ast.Name) and n.id == "d"]
    last = max((n for n in reads if isinstance(n.ctx, ast.Load)), key=context.site.source.span)
    found = computed_before(context, last)
    return None if found is None else ast.unparse(found)


@pytest.mark.parametrize(
    "body",
    [
        "d = x.var().sqrt()\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\ny = x * 2\nx = x / d if d > 0 else y",
        "d = x.var().sqrt()\nif flag:\n    y = y + 1\n    if d > 0:\n        y = y * 2\n        x = y / d",
        "if flag:\n    d: torch.Tensor = x.var().sqrt()\n    if d > 0:\n        x = x / d",
        "for y in x:\n    d = x.var().sqrt()\n    if d > 0:\n        y = y / d",
        "y = (d := x.var().sqrt()) + 1\nif d > 0:\n    x = x / d",
    ],
)
def test_what_a_name_was_given_is_known_where_nothing_changes_it(body: str) -> None:
    assert before(body) == "x.var().sqrt()"


@pytest.mark.parametrize(
    "body",
    [
        "d = x.var().sqrt()\nx = x - 1\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\nx -= 1\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\nx.sub_(1)\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\nx[0] = 1\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\nif d > 0:\n    x = x - 1\n    x = x / d",
        "d = x.var().sqrt()\nfor y in (1, 2):\n    if d > 0:\n        x = x / d",
        "d = x.var().sqrt()\nif flag:\n    d = x.sum()\nif d > 0:\n    x = x / d",
        "if flag:\n    d = x.var().sqrt()\nif d > 0:\n    x = x / d",
        "d = torch.rand_like(x).sqrt()\nif d > 0:\n    x = x / d",
        "d = self.seen.append(x)\nif d > 0:\n    x = x / d",
        "for d in x:\n    if d > 0:\n        x = y / d",
        "d = x.var().sqrt()\nd.add_(1)\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\nd[...] = 1\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\ny = d.view(-1)\ny.add_(1)\nif d > 0:\n    x = x / d",
        "d = (x / self.scale).sqrt()\nself.scale = y\nif d > 0:\n    x = x / d",
        "d = (x / self.scale).sqrt()\nself.scale.add_(1)\nif d > 0:\n    x = x / d",
        "d = x.var().sqrt()\ntry:\n    x = x + 1\nfinally:\n    if d > 0:\n        x = x / d",
    ],
)
def test_what_has_changed_since_is_not(body: str) -> None:
    assert before(body) is None
