"""What eager does is counted; and where few inputs took a side, more are found near them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from loaded_programs import Program

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import Comparison, Decision, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare, hold_against, run_original
from ddelint.verify.modes import near
from ddelint.verify.samples import Sample
from ddelint.verify.work import looked_at, work

INPUTS = """

def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(64, 64, generator=g) + seed % 2, torch.randn(64, 64, generator=g)
"""
EXPENSIVE = "x @ w @ w @ w"
BRANCH = f"""
def fn(x, w):
    if x.mean() > 0.5:
        return {EXPENSIVE}
    return x * 2
"""


def decision(entry: Entry, text: str) -> Decision:
    for row, line in enumerate(Path(entry.filename).read_text().splitlines(), 1):
        if text in line:
            column = line.index(text) + 1
            return Decision("d", Span(entry.filename, row, column, row, column + len(text)))
    raise AssertionError(text)


def compared(program: Program, options: SessionOptions, one: str, other: str, inputs: str, test: str) -> Comparison:
    original = program(one + inputs)
    asked = decision(original, test)
    return compare(original, lambda: program(other + inputs), (asked,), options, 12, False)


@pytest.mark.parametrize(
    ("rewritten", "sides"),
    [
        (f"def fn(x, w):\n    return torch.where(x.mean() > 0.5, {EXPENSIVE}, x * 2)\n", {False}),
        (f"def fn(x, w):\n    full = {EXPENSIVE}\n    return full if x.mean() > 0.5 else x * 2\n", {False}),
        (f"def fn(x, w):\n    c = (x.mean() > 0.5).float()\n    return c * ({EXPENSIVE}) + (1 - c) * x * 2\n", {False}),
        (BRANCH.replace("x @ w @ w @ w", "(x + 0 * (w @ w @ w)) @ w @ w @ w"), {True}),
        (BRANCH.replace("x * 2", "x * 2 + 0 * (w @ w)"), {False}),
    ],
    ids=["where", "computed ahead", "by factors", "more on one side", "more on the other"],
)  # fmt: skip
def test_what_the_branch_saved_is_told(
    program: Program, options: SessionOptions, rewritten: str, sides: set[bool]
) -> None:
    found = compared(program, options, BRANCH, rewritten, INPUTS, "x.mean() > 0.5").slower

    assert {slower.sides["d"] for slower in found if slower.times > 1.5} == sides
    assert all(slower.operators > slower.before for slower in found)


@pytest.mark.parametrize(
    "rewritten",
    [
        BRANCH,
        BRANCH.replace("x.mean() > 0.5", "torch.mean(x) > 0.5"),
        BRANCH.replace("    if", f"    if torch.compiler.is_compiling():\n        return {EXPENSIVE}\n    if"),
    ],
    ids=["the same", "spelled in another way", "while compiling only"],
)
def test_what_leaves_eager_as_it_was_is_no_slower(program: Program, options: SessionOptions, rewritten: str) -> None:
    assert compared(program, options, BRANCH, rewritten, INPUTS, "x.mean() > 0.5").slower == ()


def test_views_are_no_work_and_products_are_more_than_their_sizes(program: Program) -> None:
    def of(text: str) -> tuple[int, float]:
        entry = program(f"def fn(x, w):\n    return {text}\n" + INPUTS)
        found = work(entry, Sample("one", True, lambda: entry.inputs(0)))
        assert found is not None
        return found.operators, found.weight

    assert of("x.t()[:4].unsqueeze(0)") == (0, 0.0)
    assert of("x + w")[0] == of("x @ w")[0] == 1
    assert of("x @ w")[1] > 5 * of("x + w")[1]


RARE = """
def fn(x, n):
    if n == 7:
        return x * x.abs().max().clamp(max=2.0)
    return x * 1.0


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.rand(4, 3, generator=g), torch.tensor(7 if seed == 5 else 8)
"""


def test_a_side_that_one_input_took_is_tried_near_it(program: Program, options: SessionOptions) -> None:
    original = program(RARE)
    asked = decision(original, "n == 7")
    found = compare(original, lambda: original, (asked,), options, 16, False)

    assert found.sides["d"][0] > 2
    assert found.equal


def test_what_holds_on_the_one_input_alone_is_found_near_it(program: Program, options: SessionOptions) -> None:
    original = program(RARE)
    alike = RARE.replace("x * x.abs().max().clamp(max=2.0)", f"x * {float(_largest(5))}")
    decisions = (decision(original, "n == 7"),)
    originals = run_original(original, decisions, options, 16, False)
    (near, *_) = (r for r in originals.runs.references if "near it" in r.sample.label)
    found = hold_against(originals, lambda: program(alike), decisions, frozenset({near.base}), near.sample.label)

    assert [(m.sample, m.aspect) for m in found.mismatches] == [(near.sample.label, "value")]


def _largest(seed: int) -> torch.Tensor:
    return torch.rand(4, 3, generator=torch.Generator().manual_seed(seed)).max()


def test_inputs_near_one_differ_from_it_and_keep_its_kind() -> None:
    given = (torch.arange(12.0).reshape(4, 3), torch.tensor([1, 2, 3, 4]), "text", torch.zeros(0, 3))
    sample = Sample("one", True, lambda: (given, {}))
    for number in range(6):
        found, _ = near(number, sample).make()
        assert not torch.equal(found[0], given[0])
        assert [getattr(part, "shape", part) for part in found] == [getattr(part, "shape", part) for part in given]
        assert sorted(found[1].tolist()) == [1, 2, 3, 4]
        assert torch.equal(near(number, sample).make()[0][0], found[0])


def test_slow_programs_are_not_run_again_to_be_counted() -> None:
    def reference(label: str, seconds: float, key: str) -> Any:
        return SimpleNamespace(
            sample=SimpleNamespace(label=label, declared=True),
            base=label,
            first=SimpleNamespace(returned=True, seconds=seconds),
            sides={key: {True}},
        )

    some = [reference("a", 0.5, "one"), reference("b", 0.1, "two"), reference("c", 60.0, "three")]
    assert looked_at(some) == some[:2]
    assert looked_at([reference("c", 60.0, "three")]) == []
