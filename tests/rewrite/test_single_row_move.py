"""single_row: a selection of one row, which torch assumes to have several."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, rewritten

from ddelint.nouns.diagnostics import Claim

CHECKED = (
    "{indent}if torch.compiler.is_compiling():\n"
    "{indent}    torch._check({x}.shape[{d}] == 1)\n"
    "{indent}    {x} = {x}.select({d}, 0).unsqueeze({d})\n"
)


@pytest.mark.parametrize("assumed", ["!= 1", ">= 2"])
def test_the_row_is_selected_where_the_tensor_is_made(assumed: str) -> None:
    head = "def fn(t, y):\n    x = t.nonzero()\n"
    text = f"{head}    z = x + 1\n    return y * z\n"
    context = context_of(text, "y * z", code="DDE406", expression=f"x.shape[0] {assumed}")
    assert rewritten("single_row", context) == [
        head + CHECKED.format(indent="    ", x="x", d=0) + "    z = x + 1\n    return y * z\n"
    ]
    (candidate,) = candidates("single_row", context)
    assert candidate.claim is Claim.PROMISE


@pytest.mark.parametrize(
    ("before", "named"),
    [("", "y"), ("    x = t[t > 0]\n    x = x * 2\n", "x"), ("    x, _ = t.nonzero(as_tuple=True)\n    x += 1\n", "x")],
)
def test_it_is_selected_where_it_is_used_where_no_one_place_makes_it(before: str, named: str) -> None:
    text = f"def fn(t, y):\n{before}    return y * t\n"
    context = context_of(text, "y * t", code="DDE406", expression=f"{named}.shape[1] != 1")
    checked = CHECKED.format(indent="    ", x=named, d=1)
    assert rewritten("single_row", context) == [f"def fn(t, y):\n{before}{checked}    return y * t\n"]


@pytest.mark.parametrize(
    "assumed", ["x.shape[0] != 4", "x.shape[0] < 2", "self.x.shape[0] != 1", "later.shape[0] != 1", "n != 1"]
)
def test_of_anything_else_nothing_is_promised(assumed: str) -> None:
    text = "def fn(self, x, y, n):\n    z = y * x\n    later = z\n    return later\n"
    assert rewritten("single_row", context_of(text, "y * x", code="DDE406", expression=assumed)) == []
