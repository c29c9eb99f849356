"""Lists that no iteration fills, put together all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.respelling import respelled

TYPES = {"x": TypeFact("tensor", "float32", ("n", "3")), "order": TypeFact("tensor", "int64", ("n",)), "y": TENSOR}
TYPES |= {"i": TypeFact("tensor", "int64", ())}


def said(body: str, **further: TypeFact) -> set[str]:
    """The lines that put the list together where a respelling says them otherwise."""
    text = "import torch\n\n\ndef fn(x, y, order):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    found = [each.context.site.source.text for each in respelled(context_of(text, "len(x) == 0", TYPES | further))]
    lines = {line.strip() for one in found for line in one.splitlines() if line not in text.splitlines()}
    return {line for line in lines if "(kept" in line}


LOOP = """\
if len(x) == 0:
    return x
kept = []
while order.numel() > 0:
    {body}
    order = order[1:]
return {end}"""


@pytest.mark.parametrize(
    ("body", "end", "expected"),
    [
        ("kept.append(order[0])", "torch.stack(kept)", "return torch.stack(kept) if kept else order[:0]"),
        ("i = order[0]; kept.append(i)", "y[torch.stack(kept)]", "return y[torch.stack(kept) if kept else order[:0]]"),
        (
            "i = order[0]; kept.append(x[i])",
            "torch.stack(kept) + 1",
            "return (torch.stack(kept) if kept else x[:0]) + 1",
        ),
        ("kept.append(x[1:3])", "torch.cat(kept)", "return torch.cat(kept) if kept else x[:0]"),
        # a row is no piece, of two tensors neither is the one, and what an iteration makes is not there without any
        ("kept.append(x[0])", "torch.cat(kept)", ""),
        ("kept.append(x[0]); kept.append(y[0])", "torch.stack(kept)", ""),
        ("made = x * 2; kept.append(made[0])", "torch.stack(kept)", ""),
        ("kept.append(order[0])", "torch.stack(kept, 1)", ""),
        ("kept.append(order[0])", "torch.stack(kept) if kept else order", ""),
    ],
)
def test_what_nothing_fills_has_no_rows(body: str, end: str, expected: str) -> None:
    body = body.replace("; ", "\n    ")
    assert said(LOOP.format(body=body, end=end)) == ({expected} if expected else set())


@pytest.mark.parametrize(("appended", "rows"), [("made[0]", ""), ("order[0]", "order[:0]")])
def test_what_a_loop_inside_of_a_branch_makes_is_not_there_without_any_iteration(appended: str, rows: str) -> None:
    body = (
        "if len(x) == 0:\n    return x\nkept = []\nif len(order) > 0:\n    for i in range(len(order)):\n"
        f"        made = order * 2\n        kept.append({appended})\nreturn torch.stack(kept)"
    )
    assert said(body) == ({f"return torch.stack(kept) if kept else {rows}"} if rows else set())


def test_a_tensor_that_the_loop_shortens_is_there_before_it() -> None:
    body = (
        "if len(x) == 0:\n    return x\nleft = order.argsort()\nkept = []\nwhile left.numel() > 0:\n"
        "    kept.append(left[0])\n    left = left[1:]\nreturn torch.stack(kept)"
    )
    assert said(body, left=TYPES["order"]) == {"return torch.stack(kept) if kept else left[:0]"}


def test_other_libraries_put_other_things_together() -> None:
    assert said(LOOP.format(body="kept.append(order[0])", end="np.stack(kept)")) == set()


def test_a_list_that_starts_with_something_is_never_empty() -> None:
    body = "kept.append(order[0])"
    assert said(LOOP.format(body=body, end="torch.stack(kept)").replace("kept = []", "kept = [order[0]]")) == set()


def test_functions_that_are_called_behind_the_test_are_looked_at() -> None:
    text = """\
import torch


def best(order):
    kept = []
    for i in range(int(order.numel())):
        kept.append(order[i])
    return torch.stack(kept)


def fn(x, y, order):
    if len(x) == 0:
        return x
    return best(order)
"""
    context = replace(context_of(text, "len(x) == 0", TYPES), types_in=lambda function: TYPES)
    found = [each.context.site.source.text for each in respelled(context)]
    assert any("return torch.stack(kept) if kept else order[:0]" in one for one in found)
