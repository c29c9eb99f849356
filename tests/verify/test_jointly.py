"""Several arguments changed at once: what one of them alone does not come to is run as well."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
import torch
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.jointly import changes_of_several
from ddelint.verify.samples import Sample

Program = Callable[..., Entry]

TEXT = """
import torch

TABLE = torch.arange(22.0)


def fn(x, y, gate, rows, cols):
    square = (x[:, None] - y[None]).pow(2).sum(-1)
    rows, cols = rows.clamp(0, 12), cols.clamp(0, 12)
    if gate.mean() > 0.5:
        return {true}
    return {false}


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    x, y, gate = torch.randn(4, 3, generator=g), torch.randn(5, 3, generator=g), torch.rand(6, generator=g)
    return x, y, gate, *(torch.randint(0, 9, (4,), generator=g) for _ in range(2))
"""
JOINTLY = ("all integers far over the limit", "a row in common (1 and 2)")
MERGED = """
    condition = gate.mean() > 0.5
    return torch.where(condition, {true}, {false})
"""


def judged(program: Program, options: SessionOptions, true: str, false: str, rewritten: str) -> Comparison:
    text = TEXT.format(true=true, false=false)
    begin, end = text.index("    if gate"), text.index("\n\n\ndef make_inputs")
    first = program(textwrap.dedent(text))
    second = program(
        textwrap.dedent(text[:begin] + MERGED.format(true=rewritten, false=false).strip("\n") + text[end:])
    )
    return compare(first, lambda: second, (decision(first, "gate.mean() > 0.5"),), options, 32, False)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("TABLE[rows + cols]", "rows * 1.0"),
        ("TABLE.take(rows + cols)", "cols * 0.5"),
        ("torch.eye(22)[rows + cols].sum(1)", "x.sum(1)"),
        ("torch.sqrt(square).sum(1)", "square.sum(1)"),
        ("(square**0.5).amin(1)", "square.amin(1)"),
        ("torch.log(square).sum(1)", "square.mean(1)"),
    ],
)
def test_what_is_not_chosen_raises_or_spoils_where_two_arguments_meet(
    true: str, false: str, program: Program, options: SessionOptions
) -> None:
    found = judged(program, options, true, false, true)
    assert any(mismatch.sample.endswith(JOINTLY) for mismatch in found.mismatches)


@pytest.mark.parametrize(
    ("true", "false", "rewritten"),
    [
        ("TABLE[rows + cols]", "rows * 1.0", "TABLE[torch.where(condition, rows + cols, 0)]"),
        ("TABLE[rows] + TABLE[cols]", "rows * 1.0", "TABLE[rows] + TABLE[cols]"),
        ("torch.sqrt(square).sum(1)", "square.sum(1)", "torch.sqrt(torch.where(condition, square, 1)).sum(1)"),
    ],
)
def test_what_holds_for_them_together_is_as_good_as_before(
    true: str, false: str, rewritten: str, program: Program, options: SessionOptions
) -> None:
    found = judged(program, options, true, false, rewritten)
    assert found.equal
    assert not found.mismatches


def labels(*arguments: object) -> list[str]:
    sample = Sample("seed 0", True, lambda: (arguments, {}))
    return [change(sample).label.removeprefix("seed 0, ") for change in changes_of_several(sample)]


def test_one_argument_of_a_kind_has_no_other() -> None:
    assert labels(torch.ones(2), torch.ones(2, dtype=torch.long), torch.ones(2, dtype=torch.bool), 3, None) == []
    assert labels(torch.ones(2), torch.ones(3)) == ["all floats zero"]
    assert labels(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 2)) == [
        "all floats zero",
        "a row in common (1 and 2)",
    ]


def test_an_argument_keeps_its_dtype_and_whether_it_requires_grad() -> None:
    leaves = torch.tensor([3, 4], dtype=torch.int32), torch.tensor([5]), torch.ones(2, 1, requires_grad=True)
    sample = Sample("seed 0", True, lambda: ((*leaves, torch.zeros(3, 1)), {}))
    far, _, _, common = (change(sample).make()[0] for change in changes_of_several(sample))
    assert [(leaf.dtype, leaf.tolist()) for leaf in far[:2]] == [(torch.int32, [10, 10]), (torch.int64, [12])]
    assert far[2].requires_grad
    assert common[3].tolist() == [[1.0], [0.0], [0.0]]
