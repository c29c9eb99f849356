"""Reductions behind an emptiness test, said so that they take nothing, too."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

import pytest
from control_flow import INTEGERS, TENSOR, candidates, context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.parts.respelling import Respelling, respelled
from ddelint.rewrite.search.offering import in_order

ROWS = TypeFact("tensor", "float32", ("n", "3"))
TYPES = {"x": ROWS, "y": TypeFact("tensor", "float32", ("n",)), "z": TENSOR, "ids": INTEGERS}
LISTED = {
    "m": TypeFact("tensor", "bool", ("9",)),
    "n": TypeFact("tensor", "int64", ("n",)),
    "b": TypeFact("tensor", "int32", ("n", "2")),
}


def reductions_said_otherwise(context: Context) -> list[Respelling]:
    """The respellings but for those of test_one_row.py."""
    return [each for each in respelled(context) if "_or_zeros" not in each.context.site.source.text]


def said(body: str, asking: str, types: Mapping[str, TypeFact] = TYPES) -> list[str]:
    """The line of each respelling that is not a line of the original."""
    text = f"import torch\n\n\ndef fn({', '.join(types)}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    found = [each.context.site.source.text for each in reductions_said_otherwise(context_of(text, asking, types))]
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
    ("reduced", "expected"),
    [
        ("m.nonzero().max()", "torch.nn.functional.pad(m.nonzero().flatten(), (0, 1)).max()"),
        (
            "torch.where(m)[0].amin()",
            "torch.nn.functional.pad(torch.where(m)[0].flatten(), (0, 1), value=2**62).amin()",
        ),
        ("m.nonzero().argmax()", "torch.nn.functional.pad(m.nonzero().flatten(), (0, 1), value=-1).argmax()"),
        ("n.max()", "torch.nn.functional.pad(n, (0, 1))[: torch.sym_max(n.shape[0], 1)].max()"),
        ("torch.amin(b)", "torch.amin(torch.nn.functional.pad(b.flatten(), (0, 1))[: torch.sym_max(b.numel(), 1)])"),
        ("b.min(0)[0]", "torch.nn.functional.pad(b, (0, 0, 0, 1), value=torch.iinfo(torch.int32).max).min(0)[0]"),
        ("n.min(0).values", "torch.nn.functional.pad(n, (0, 1))[: torch.sym_max(n.shape[0], 1)].min(0).values"),
        ("(n + 1).min()", ""),  # padding takes no integer so large
    ],
)
def test_one_integer_more_that_is_never_chosen_or_cut_off_where_there_are_any(reduced: str, expected: str) -> None:
    lines = said(f"if not m.any():\n    return n\nreturn n * {reduced}", "m.any()", LISTED)
    assert lines == ([f"return n * {expected}"] if expected else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "asking"),
    [
        (
            "    if not m.any():\n        return z\n    last = m.nonzero().max().item()\n    return z[: last + 1]\n",
            "m.any()",
        ),
        ("    if m.sum() == 0:\n        return z\n    return z[torch.where(m)[0].min().item() :]\n", "m.sum() == 0"),
        ("    if m.any():\n        return m.nonzero().max() * 2\n    return torch.tensor(0)\n", "m.any()"),
    ],
)
def test_places_of_nothing_are_run(body: str, asking: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(m, z):\n{body}"
    context = context_of(text, asking, LISTED | {"z": TypeFact("tensor", "float32", ("9",))}, "DDE105")
    load_moves()
    samples = [(torch.tensor(rows) > 0, torch.randn(9)) for rows in ([0] * 9, [1] * 9, [0, 1, 1, 0, 0, 1, 0, 0, 0])]
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    assert any(not failures(text, new, samples, ("export", "compile")) for new in texts)


@pytest.mark.parametrize(
    ("test", "reduced", "expected"),
    [
        (
            "len(y) < 2",
            "y.std()",
            "torch.nn.functional.pad(y, (0, 2), value=-123.0).narrow(0, 0, torch.sym_max(y.numel(), 2)).std()",
        ),
        (
            "y.numel() <= 1",
            "torch.var(y, 0)",
            "torch.var(torch.nn.functional.pad(y, (0, 2), value=-123.0)"
            ".narrow(-1, 0, torch.sym_max(y.shape[-1], 2)), 0)",
        ),
        (
            "not x.shape[0] > 1",
            "x.std(dim=0)[0]",
            "torch.nn.functional.pad(x, (0, 0, 0, 2), value=-123.0)"
            ".narrow(0, 0, torch.sym_max(x.shape[0], 2)).std(dim=0)[0]",
        ),
        (
            "x.size(0) == 1",
            "x.var()",
            "torch.nn.functional.pad(x.flatten(), (0, 2), value=-123.0)"
            ".narrow(0, 0, torch.sym_max(x.numel(), 2)).var()",
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
    text = f"def fn(x, y):\n    if {test}:\n        return y\n    return y * {reduced}\n"
    texts = [each.context.site.source.text for each in reductions_said_otherwise(context_of(text, test, TYPES))]
    found = [ast.unparse(ast.parse(new)) for new in texts if "-123.0" in new]
    assert [new.splitlines()[-1].partition("* ")[2] for new in found] == ([expected] if expected else [])


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
        ("return z + y.max() if y.shape[0] else z", "y.shape[0]", 2),
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
