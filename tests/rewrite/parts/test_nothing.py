"""Reductions behind an emptiness test, said so that they take nothing, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import INTEGERS, TENSOR, candidates, context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.respelling import Respelling, respelled
from ddelint.rewrite.search.offering import in_order

ROWS = TypeFact("tensor", "float32", ("n", "3"))
TYPES = {"x": ROWS, "y": TypeFact("tensor", "float32", ("n",)), "z": TENSOR, "ids": INTEGERS}


def reductions_said_otherwise(context: Context) -> list[Respelling]:
    """The respellings but for those of test_one_row.py."""
    return [each for each in respelled(context) if "_or_zeros" not in each.context.site.source.text]


def said(body: str, asking: str) -> list[str]:
    """The line of each respelling that is not a line of the original."""
    text = "import torch\n\n\ndef fn(x, y, z, ids):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    found = [each.context.site.source.text for each in reductions_said_otherwise(context_of(text, asking, TYPES))]
    return [line.strip() for one in found for line in one.splitlines() if line not in text.splitlines()]


@pytest.mark.parametrize(
    ("reduced", "expected"),
    [
        ("x.max(dim=0).values", "torch.nn.functional.pad(x, (0, 0, 0, 1), value=-torch.inf).max(dim=0).values"),
        ("torch.min(y, -1)[0]", "torch.min(torch.nn.functional.pad(y, (0, 1), value=torch.inf), -1)[0]"),
        ("y.argmax()", "torch.nn.functional.pad(y, (0, 1), value=-torch.inf).argmax()"),
        ("x.amin()", "torch.nn.functional.pad(x.flatten(), (0, 1), value=torch.inf).amin()"),
        ("x.max(dim=1).values", ""),
        ("z.max()", ""),
        ("ids.max()", ""),
        ("torch.max(x, x + 1)", ""),
        ("x.sum(0)", ""),
    ],
)
def test_one_element_more_where_there_may_be_nothing_to_choose_from(reduced: str, expected: str) -> None:
    lines = said(f"if len(y) == 0:\n    return y\nreturn y * {reduced}", "len(y) == 0")
    assert lines == ([f"return y * {expected}"] if expected else [])


@pytest.mark.parametrize(
    ("test", "reduced", "expected"),
    [
        (
            "len(y) < 2",
            "y.std()",
            "torch.nn.functional.pad(y, (0, 1), value=-123.0)[: torch.sym_max(y.numel(), 2)].std()",
        ),
        (
            "y.numel() <= 1",
            "torch.var(y, 0)",
            "torch.var(torch.nn.functional.pad(y, (0, 1), value=-123.0)[..., : torch.sym_max(y.shape[-1], 2)], 0)",
        ),
        (
            "not x.shape[0] > 1",
            "x.std(dim=0)[0]",
            "torch.nn.functional.pad(x, (0, 0, 0, 1), value=-123.0)[: torch.sym_max(x.shape[0], 2)].std(dim=0)[0]",
        ),
        (
            "x.size(0) == 1",
            "x.var()",
            "torch.nn.functional.pad(x.flatten(), (0, 1), value=-123.0)[: torch.sym_max(x.numel(), 2)].var()",
        ),
        ("not (len(x) >= 2 and len(y) >= 2)", "x.std(-2)[0]", None),
        ("len(y) == 0", "y.std()", None),
        ("len(y) < 2", "y.mean()", None),
        ("len(y) < 2", "(y + 1).std()", None),
        ("len(y) < 2", "x.std(1)", None),
        # of one element these are zero
        ("len(y) < 2", "y.var(unbiased=False)", None),
        ("len(y) < 2", "y.std(correction=0)", None),
    ],
)
def test_one_element_more_where_what_spreads_has_only_one(test: str, reduced: str, expected: str | None) -> None:
    found = [line for line in said(f"if {test}:\n    return y\nreturn y * {reduced}", test) if "123" in line]
    assert [line.removeprefix("return y ").removeprefix("* ") for line in found] == ([expected] if expected else [])


@pytest.mark.parametrize(("shape", "first"), [(("n", "3"), True), (None, False)])
def test_where_no_size_is_known_it_is_tried_last(shape: tuple[str, ...] | None, first: bool) -> None:
    text = "def fn(x, y):\n    if len(y) == 0:\n        return y\n    return y + x.amin(-2)[0]\n"
    facts = {"y": TYPES["y"], "x": TypeFact("tensor", "float32", shape)}
    (found,) = reductions_said_otherwise(context_of(text, "len(y) == 0", facts))
    assert found.likelier is first


@pytest.mark.parametrize(
    ("body", "asking", "count"),
    [
        ("if y.numel() > 0:\n    z = z + y.max()\nreturn z", "y.numel() > 0", 1),
        ("for p in (y, z):\n    if p.sum() == 0:\n        continue\n    z = z + y.max()\nreturn z", "p.sum() == 0", 1),
        ("return z + y.max() if y.shape[0] else z", "y.shape[0]", 1),
        ("if x.sum() > 2:\n    return y\nreturn z + y.max()", "x.sum() > 2", 0),
        ("if len(y) == 0:\n    raise ValueError\nreturn z + y.max()", "len(y) == 0", 0),
    ],
)
def test_only_what_stands_on_the_general_side_of_an_emptiness_test(body: str, asking: str, count: int) -> None:
    assert len(said(body, asking)) == count


HELPERS = """
def spread(x, y):
    low = x.amin(dim=0)
    return y - low.sum()


def guarded(x, y):
    if x.shape[0] == 0:
        return y
    return y - x.amin(dim=0).sum()


class Grid(torch.nn.Module):
    def forward(self, x, y):
        return spread(x, y)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = Grid()

    def scale(self, x, y):
        return y / x.amax(dim=0).sum()

    def forward(self, x, y):
        if y.numel() == 0:
            return y
        return {called}
"""


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("spread(x, y)", "pad(x, (0, 0, 0, 1), value=torch.inf).amin(dim=0)"),
        ("self.grid(x, y)", "pad(x, (0, 0, 0, 1), value=torch.inf).amin(dim=0)"),
        ("self.scale(x, y)", "pad(x, (0, 0, 0, 1), value=-torch.inf).amax(dim=0)"),
        ("guarded(x, y)", ""),
        ("torch.relu(y)", ""),
    ],
)
def test_functions_that_are_called_there_are_on_the_path_but_for_those_that_ask(called: str, expected: str) -> None:
    text = f"import torch\n\n{HELPERS.replace('{called}', called)}"
    context = replace(context_of(text, "y.numel() == 0", TYPES), types_in=lambda function: TYPES)
    found = [each.context.site.source.text for each in reductions_said_otherwise(context)]
    assert [expected in one and one.count("pad(") == 1 for one in found] == ([True] if expected else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "    if y.shape[0] == 0:\n        return z.sum() * 0\n    return (y * 2 + y.max()).sum() + z.sum()\n",
        "    if y.shape[0] < 1:\n        return z.sum()\n    top, at = x.max(dim=0)\n    return top.sum() + z.sum()\n",
        "    total = z.sum()\n    if y.numel() > 0:\n        total = total + (y - y.amin(0)).sum()\n    return total\n",
    ],
)
def test_what_moves_make_of_it_runs_of_nothing(body: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(mask, rows, z):\n    x, y = rows[mask], rows[mask][:, 0]\n{body}"
    asking = next(line for line in body.splitlines() if " if " in line).strip().removeprefix("if ").removesuffix(":")
    context = context_of(text, asking, {name: fact for name, fact in TYPES.items() if name != "ids"})
    assert candidates("shortcut_in_eager", context)
    first = in_order(["shortcut_in_eager", "where_merge"], context)
    masks = [torch.tensor(mask) for mask in ([True, False, True], [False] * 3, [True] * 3)]
    samples = [(mask, torch.randn(3, 3), torch.randn(4)) for mask in masks]
    texts = [context.site.source.apply(candidate.edits) for candidate in first]
    assert any(not failures(text, new, samples, ("export", "compile")) for new in texts if "torch.inf" in new)
    assert all(
        failures(text, new, samples, ("export",)) for new in texts if "torch.inf" not in new and "_zeros" not in new
    )
