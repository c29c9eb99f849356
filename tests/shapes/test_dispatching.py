"""A program's sizes in parts: planned from ranges and branches, written as code, tried as it was written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import Cost, Costs, GraphPlan, Tried
from ddelint.nouns.protocol import SessionOptions
from ddelint.pipeline.dispatching import Graphs, dispatch
from ddelint.shapes.contract import contract_of
from ddelint.shapes.dispatch_trying import try_dispatch
from ddelint.shapes.dispatch_writing import dispatcher_text
from ddelint.shapes.dispatching import (
    is_proved_total,
    merged,
    not_total,
    open_branches,
    parts_of,
    plans_of,
    splits_of,
)
from ddelint.shapes.facts import read
from ddelint.shapes.names import names_of
from ddelint.shapes.ranges_given import read_ranges
from ddelint.trace.entry import Entry

Derive = Callable[[str], Contract]
EntryOf = Callable[[str], Entry]

HEAD = "import torch\n\n\n"
TALL = (
    HEAD
    + """def fn(rows, weight):
    batch = rows.shape[0]
    if batch > 6:
        rows = rows - rows.mean(0)
    return rows @ weight


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(3, 4), torch.rand(4, 5)
"""
)
WIDE = (
    HEAD
    + """def fn(rows, columns):
    if rows.shape[0] > columns.shape[0]:
        return rows.sum() - columns.sum()
    return rows.sum() + columns.sum()


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.rand(3), torch.rand(5)
"""
)
TWO = (
    HEAD
    + """def fn(x, *, scale=2):
    batch, length = x.shape
    if batch == 1:
        x = x * scale
    if length >= 8:
        x = x[:, ::2]
    return x.cumsum(0)


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.rand(3, 5),)
"""
)
PLAIN = (
    HEAD
    + """def fn(x):
    return torch.softmax(x * 2, 0)


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.rand(5),)
"""
)


def planned(contract: Contract, *ranges: str) -> list[GraphPlan]:
    names = names_of(contract)
    splits = splits_of(contract, [read_ranges(text) for text in ranges], names)
    assert is_proved_total(contract, splits)
    plans, empty = plans_of(contract, parts_of(contract, splits), names)
    assert empty == []
    return plans


def text_of(contract: Contract, plans: Sequence[GraphPlan]) -> str:
    return dispatcher_text(contract, plans, names_of(contract), bool(contract.branches))


def run(entry: Entry, text: str, plans: Sequence[GraphPlan]) -> Tried:
    cases = {tuple(sizes.items()): sizes for plan in plans for sizes in (plan.first, *plan.cases)}
    return try_dispatch(entry, 0, text, list(cases.values()))


def conditions(plans: Sequence[GraphPlan]) -> list[str]:
    return [" and ".join(plan.part.conditions) for plan in plans]


@pytest.mark.parametrize(
    ("source", "ranges", "expected"),
    [
        (TALL, (), ["rows.shape[0] <= 6", "rows.shape[0] >= 7"]),
        (
            TALL,
            ("rows.0: 0, 1..6, 7..",),
            ["rows.shape[0] == 0", "rows.shape[0] >= 1 and rows.shape[0] <= 6", "rows.shape[0] >= 7"],
        ),
        (WIDE, (), ["columns.shape[0] < rows.shape[0]", "columns.shape[0] >= rows.shape[0]"]),
        (
            PLAIN,
            ("x.0: 0..1, 2..64, 65..",),
            ["x.shape[0] <= 1", "x.shape[0] >= 2 and x.shape[0] <= 64", "x.shape[0] >= 65"],
        ),
    ],
)
def test_each_part_has_a_graph_that_answers_as_eager_does(
    entry_of: EntryOf, options: SessionOptions, source: str, ranges: tuple[str, ...], expected: list[str]
) -> None:
    entry = entry_of(source)
    contract = contract_of(entry, options)
    plans = planned(contract, *ranges)
    assert sorted(conditions(plans)) == sorted(expected)
    tried = run(entry, text_of(contract, plans), plans)
    assert tried.error == ""
    assert {one.ended for one in tried.outcomes} == {"same"}
    assert tried.graphs == len(plans)
    assert tried.recompiled == ()


def test_two_sizes_that_decide_make_a_grid(entry_of: EntryOf, options: SessionOptions) -> None:
    entry = entry_of(TWO)
    contract = contract_of(entry, options)
    plans = planned(contract)
    assert len(plans) == len({plan.part.name for plan in plans}) == 6  # batch: 0, 1, 2..; length: 0..7, 8..
    text = text_of(contract, plans)
    assert "def dispatched(x, *, scale=2):" in text
    assert "if batch == 1 and length <= 7:" in text
    tried = run(entry, text, plans)
    assert ({one.ended for one in tried.outcomes}, tried.recompiled) == ({"same"}, ())
    assert tried.graphs == sum(tried.compiled_by) >= 6
    by_size = [(tuple(one.sizes.values()), count) for one, count in zip(tried.outcomes, tried.compiled_by)]
    # a tensor without elements has strides of its own, and torch guards on strides
    assert sum(count for sizes, count in by_size if 0 not in sizes) <= 6


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("if batch <= 6", "if batch <= 7"),
        ("if batch >= 7", "if batch >= 8"),
        ("max=6", "max=5"),
        ("min=7", "min=8"),
    ],
)
def test_what_is_written_is_what_is_tried(entry_of: EntryOf, options: SessionOptions, good: str, bad: str) -> None:
    entry = entry_of(TALL)
    contract = contract_of(entry, options)
    plans = planned(contract)
    text = text_of(contract, plans)
    assert good in text
    tried = run(entry, text.replace(good, bad), plans)
    wrong = [one for one in (*tried.outcomes, *tried.recompiled) if one.ended != "same"]
    assert tried.error or wrong or tried.graphs != len(plans)


def test_where_no_branch_divides_torch_can_keep_the_graphs_apart(entry_of: EntryOf, options: SessionOptions) -> None:
    entry = entry_of(PLAIN)
    contract = contract_of(entry, options)
    plans = planned(contract, "x.0: 0..1, 2..64, 65..")
    text = text_of(contract, plans)
    assert "mark_dynamic(x, 0, specialize_on=[lambda size: size <= 1, lambda size: 2 <= size <= 64])" in text
    assert run(entry, text, plans).specialized.startswith("one trace, as eager on")
    branching = derive_text(entry_of(TALL), options)
    assert "specialize_on" not in branching


def derive_text(entry: Entry, options: SessionOptions) -> str:
    contract = contract_of(entry, options)
    return text_of(contract, planned(contract))


def test_ranges_that_lie_side_by_side_become_one(derive: Derive) -> None:
    contract = derive(PLAIN)
    one, two, three = planned(contract, "x.0: 0..1, 2..64, 65..")
    names = names_of(contract)
    together = merged(contract, two, three, names)
    assert together is not None
    assert together.part.conditions == ("x.shape[0] >= 2",)
    assert together.spec.variables == {"x_0": (2, None)}
    assert merged(contract, one, three, names) is None


def test_what_a_branch_divides_is_told(derive: Derive) -> None:
    contract = derive(TALL)
    splits = splits_of(contract, [read_ranges("rows.0: 0..9, 10..")], {})
    inside, beyond = parts_of(contract, splits)
    assert [branch.text for branch in open_branches(contract, inside)] == ["rows.shape[0] >= 7"]
    assert open_branches(contract, beyond) == []


def test_a_gap_has_a_witness(derive: Derive) -> None:
    contract = derive(PLAIN)
    splits = splits_of(contract, [read_ranges("x.0: 0, 2..")], {})
    assert not is_proved_total(contract, splits)
    missing: Mapping[str, int] | None = not_total(contract, parts_of(contract, splits))
    assert missing == {"x.shape[0]": 1}


@pytest.mark.parametrize("most", [None, 1])
def test_graphs_that_inductor_does_not_compile_are_the_problem(derive: Derive, most: int | None) -> None:
    def graph_costs(arms: Sequence[Mapping[str, str]]) -> Costs:
        return Costs(tuple(Cost(arm["name"], error="bmm asks") for arm in arms))

    session: Any = SimpleNamespace(graph_costs=graph_costs)
    wanted = Graphs((read_ranges("x.0: 0..1, 2..64, 65.."),), most=most, measure=True)
    found = dispatch(session, derive(PLAIN), wanted)
    assert set(found.problems) == {"Inductor does not compile it: bmm asks"}
    assert not found.filename


def test_the_file_reads_as_a_person_writes(derive: Derive) -> None:
    contract = derive(TALL)
    text = text_of(contract, planned(contract))
    tree = ast.parse(text)
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == [
        "shapes_of_batch_0_to_6",
        "shapes_of_batch_from_7",
        "dispatcher",
    ]
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert (
        "        batch = rows.shape[0]\n        if batch <= 6:\n            return batch_0_to_6(rows, weight)\n" in text
    )
    assert all(read(condition).names for plan in planned(contract) for condition in plan.part.conditions)


def test_a_signature_that_cannot_be_repeated_is_bound(entry_of: EntryOf, options: SessionOptions) -> None:
    source = TALL.replace("def fn(rows, weight):", "LARGE = 6\n\n\ndef fn(rows, weight, limit=LARGE):")
    entry = entry_of(source)
    contract = contract_of(entry, options)
    plans = planned(contract)
    text = text_of(contract, plans)
    assert 'batch = given["rows"].shape[0]' in text
    tried = run(entry, text, plans)
    assert (tried.error, {one.ended for one in tried.outcomes}, tried.graphs) == ("", {"same"}, 2)
