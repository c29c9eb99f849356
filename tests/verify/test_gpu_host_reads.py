"""Which operators of a wrapper make the host wait, and what their stacks say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ddelint.nouns.diagnostics import Span
from ddelint.verify.host_reads import Wrappers, frames_of, reads_of

TEXT = "def fn(x):\n    return helper(x), 1\n\ndef helper(x):\n    y = x[x > 0].sum()\n"


def test_a_stack_gives_the_part_of_each_line_that_it_marks(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(TEXT)
    stack = (
        f'  File "{path}", line 2, in fn\n    return helper(x), 1\n           ^^^^^^^^^\n'
        f'  File "{path}", line 5, in helper\n    y = x[x > 0].sum()\n'
    )
    assert frames_of(stack) == (Span(str(path), 2, 12, 2, 21), Span(str(path), 5, 5, 5, 23))
    assert frames_of("") == ()


def test_a_line_of_a_wrapper_has_the_last_stack_before_it() -> None:
    wrappers = Wrappers()
    assert wrappers.here() == ""
    name = wrappers.name([(4, "later"), (2, "first")])
    assert wrappers.name([]) != name
    found: list[str] = []
    look = "found.append(here())\n"
    exec(compile(look * 5, name, "exec"), {"found": found, "here": wrappers.here})
    assert found == ["", "first", "first", "later", "later"]


@pytest.mark.parametrize(
    ("name", "args", "times"),
    [
        ("aten::nonzero", (torch.ones(3),), 1),
        ("aten::_local_scalar_dense", (torch.ones(()),), 1),
        ("aten::index", (torch.ones(3), [torch.ones(3) > 0]), 1),
        ("aten::index", (torch.ones(3, 2), [torch.ones(3) > 0, torch.ones(2) > 0]), 2),
        ("aten::index", (torch.ones(3) > 0, [torch.tensor([1]), None]), 0),
        ("aten::addmm", (torch.ones(3),), 0),
    ],
)
def test_the_host_waits_for_values_and_for_how_many_there_are(name: str, args: tuple[object, ...], times: int) -> None:
    assert reads_of(name, args, {}) == times
