"""Numbers that stand in the text are tried among the elements of arguments."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from test_eager import decision

from ddelint.nouns.protocol import Comparison, SessionOptions
from ddelint.sources.source import SourceFile
from ddelint.trace.entry import Entry
from ddelint.verify.eager import compare
from ddelint.verify.named_numbers import at_named, numbers_named
from ddelint.verify.samples import Sample

Program = Callable[..., Entry]

TEXT = """
import torch


def fn(ids, x, lengths):
    if {test}:
        return {short}
    return {general}


def make_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4 + 4 * (seed % 2), 9, (3,), generator=g)
    ids = torch.randint(0, 40000, (3, 8), generator=g).masked_fill(torch.arange(8) >= lengths[:, None], 50256)
    return ids, torch.rand(3, 8, generator=g), lengths
"""


def judged(program: Program, options: SessionOptions, short: str, general: str, rewritten: str) -> Comparison:
    test = "lengths.min() == 8"
    first = program(textwrap.dedent(TEXT.format(test=test, short=short, general=general)))
    second = program(textwrap.dedent(TEXT.format(test=test, short=rewritten, general=general)))
    return compare(first, lambda: second, (decision(first, test),), options, 32, False)


@pytest.mark.parametrize(
    ("short", "general"),
    [
        ("x.sum(1)", "(x * (ids != 50256)).sum(1)"),
        ("x.sum(1)", "torch.where(ids.eq(50256), 0.0, x).sum(1)"),
        ("ids.sum(1)", "ids.clamp(max=50000).sum(1)"),
        ("(x * 2).sum(1)", "(x * 2 * (x < 4.75)).sum(1)"),
        ("torch.ones(3)", "(ids % 60013 == ids).all(1).float()"),
    ],
)
def test_a_general_path_that_looks_for_a_number_is_no_shortcut_left_out(
    short: str, general: str, program: Program, options: SessionOptions
) -> None:
    assert not judged(program, options, short, general, general).equal


@pytest.mark.parametrize(
    ("short", "general"),
    [
        ("(x * (ids != 50256)).sum(1)", "torch.where(ids == 50256, 0.0, x).sum(1)"),
        ("ids.clamp(max=50000).sum(1)", "torch.where(ids > 50000, 50000, ids).sum(1)"),
        ("(x < 4.75).sum(1)", "(x < 4.75).sum(1)"),
    ],
)
def test_what_is_right_for_such_numbers_stays_so(
    short: str, general: str, program: Program, options: SessionOptions
) -> None:
    assert judged(program, options, short, general, general).equal


def test_numbers_of_the_functions_around_a_decision_and_of_those_they_call(tmp_path: Path) -> None:
    text = """
    LIMIT = 99

    def helper(x):
        return x.clamp(-7, 12.5).sum(dim=3)

    def other(x):
        return x + 31

    class Model:
        def __init__(self):
            self.size = 64

        def forward(self, x, n):
            if n > 5:
                return helper(x)[10]
            return x.sum(1)

        def mask(self, ids):
            return ids != 50256
    """
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(text))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert list(numbers_named(source, test)) == [5, 50256, -7, 12.5]


def test_one_element_of_each_argument_and_all_of_all() -> None:
    arguments = torch.zeros(3), torch.tensor([4, 5, 6]), torch.tensor([7, 8]), torch.tensor(True)
    sample = Sample("seed 0", True, lambda: (arguments, {}))
    made = {change(sample).label: change(sample).make()[0] for change in at_named(sample, "xyzm", [50, 2.0])}
    assert {label: [leaf.tolist() for leaf in leaves[:3]] for label, leaves in made.items()} == {
        "seed 0, y one 50": [[0.0, 0.0, 0.0], [4, 50, 6], [7, 8]],
        "seed 0, z one 50": [[0.0, 0.0, 0.0], [4, 5, 6], [7, 50]],
        "seed 0, all integers about 50": [[0.0, 0.0, 0.0], [51, 50, 49], [51, 50]],
        "seed 0, x one 2.0": [[0.0, 2.0, 0.0], [4, 5, 6], [7, 8]],
        "seed 0, all floats about 2.0": [[2.25, 2.0, 1.75], [4, 5, 6], [7, 8]],
    }
