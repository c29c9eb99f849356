"""Graphs that are exported, or packaged, ahead: a file that saves them in a folder, and dispatches over them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import pytest
import torch

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import EXPORTED, PACKAGED, GraphPlan, Tried
from ddelint.nouns.protocol import SessionOptions
from ddelint.shapes.ahead_writing import ahead_text
from ddelint.shapes.contract import contract_of
from ddelint.shapes.dispatch_trying import try_ahead
from ddelint.shapes.dispatching import is_proved_total, parts_of, plans_of, splits_of
from ddelint.shapes.names import names_of
from ddelint.shapes.ranges_given import read_ranges
from ddelint.shapes.signatures import signature_of
from ddelint.trace.entry import Entry

EntryOf = Callable[[str], Entry]
INPUTS = "\n\ndef make_inputs(seed):\n    torch.manual_seed(seed)\n    return "
TALL = (
    """import torch


def fn(rows, more, weight):
    batch = rows.shape[0]
    if batch > 6:
        rows = rows - rows.mean(0)
    return (rows + more) @ weight
"""
    + INPUTS
    + "torch.rand(3, 4), torch.rand(3, 4), torch.rand(4, 5)\n"
)
ONE_ROW = TALL.replace("if batch > 6:", "if batch == 1:").replace("rows - rows.mean(0)", "rows * 2")
WIDE = (
    """import torch


def fn(rows, columns):
    if rows.shape[0] > columns.shape[0]:
        return rows.sum() - columns.sum()
    return rows.sum() + columns.sum()
"""
    + INPUTS
    + "torch.rand(3), torch.rand(5)\n"
)
SCALED = (
    """import torch


def fn(x, *, scale=2):
    batch, length = x.shape
    if length >= 8:
        x = x * batch
    return x.cumsum(0) * scale
"""
    + INPUTS
    + "(torch.rand(3, 4),)\n"
)


def planned(contract: Contract, *ranges: str) -> list[GraphPlan]:
    names = names_of(contract)
    splits = splits_of(contract, [read_ranges(text) for text in ranges], names)
    assert is_proved_total(contract, splits)
    plans, empty = plans_of(contract, parts_of(contract, splits), names)
    assert empty == []
    return plans


def text_of(contract: Contract, plans: Sequence[GraphPlan], form: str) -> str:
    signature = signature_of(contract)
    assert signature is not None
    return ahead_text(contract, plans, names_of(contract), signature, form)


def run(entry: Entry, text: str, plans: Sequence[GraphPlan]) -> Tried:
    cases = {tuple(sizes.items()): sizes for plan in plans for sizes in (plan.first, *plan.cases)}
    return try_ahead(entry, 0, text, [plan.first for plan in plans], list(cases.values()))


@pytest.mark.parametrize(
    ("source", "ranges", "count"),
    [
        (TALL, (), 2),
        (TALL, ("rows.0: 0, 1, 2..6, 7..64, 65..",), 5),
        (ONE_ROW, (), 3),
        (WIDE, (), 2),
        (SCALED, (), 2),
    ],
)
def test_each_exported_graph_answers_as_eager_does(
    entry_of: EntryOf, options: SessionOptions, source: str, ranges: tuple[str, ...], count: int
) -> None:
    entry = entry_of(source)
    contract = contract_of(entry, options)
    plans = planned(contract, *ranges)
    tried = run(entry, text_of(contract, plans, EXPORTED), plans)
    assert (tried.error, tried.graphs) == ("", count)
    assert [one for one in tried.outcomes if one.ended != "same"] == []
    assert len(tried.outcomes) >= count


@pytest.mark.slow
def test_each_package_answers_as_eager_does(entry_of: EntryOf, options: SessionOptions) -> None:
    entry = entry_of(SCALED.replace("length >= 8", "False"))  # one graph: a compiler in C++ takes 20 s for each
    contract = contract_of(entry, options)
    plans = planned(contract, "x.0: 0..")
    tried = run(entry, text_of(contract, plans, PACKAGED), plans)
    assert (tried.error, tried.graphs) == ("", 1)
    assert [one for one in tried.outcomes if one.ended != "same"] == []


@pytest.mark.parametrize("form", [EXPORTED, PACKAGED])
def test_what_the_program_needs_is_asked_in_front(entry_of: EntryOf, options: SessionOptions, form: str) -> None:
    contract = contract_of(entry_of(TALL), options)
    text = text_of(contract, planned(contract), form)
    ast.parse(text)
    written: dict[str, Callable[..., str]] = {}
    exec(text, written)
    graph_of, square = written["graph_of"], torch.rand(4, 5)
    assert graph_of(torch.rand(6, 4), torch.rand(6, 4), square) == "batch_0_to_6"
    assert graph_of(torch.rand(7, 4), torch.rand(7, 4), square) == "batch_from_7"
    for rows, more in ((3, 4), (3, 1)):
        with pytest.raises(ValueError, match=r"shape\[0\] == \w+\.shape\[0\] is needed"):
            graph_of(torch.rand(rows, 4), torch.rand(more, 4), square)
    with pytest.raises(ValueError, match=r"is needed"):
        graph_of(torch.rand(3, 5), torch.rand(3, 5), square)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("if batch <= 6", "if batch <= 7"),
        ("torch._check(rows.shape[0] <= 6)", "torch._check(rows.shape[0] <= 7)"),
        ('"batch_0_to_6": {"rows": [0', '"batch_0_to_6": {"more": [0'),
    ],
)
def test_what_is_written_is_what_is_tried(entry_of: EntryOf, options: SessionOptions, good: str, bad: str) -> None:
    entry = entry_of(TALL)
    contract = contract_of(entry, options)
    plans = planned(contract)
    text = text_of(contract, plans, EXPORTED)
    assert good in text
    tried = run(entry, text.replace(good, bad), plans)
    assert tried.error or [one for one in tried.outcomes if one.ended != "same"]
