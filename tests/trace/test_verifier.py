"""What needs Inductor is answered by a process of its own, or by the one that is there where that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ddelint.nouns.protocol import LOWERING
from ddelint.trace.session import Session

PROGRAM = """
import os
{first}

def fn(x):
    return x * 2

def make_inputs(seed):
    import torch
    return (torch.full((2,), float(seed)),)
"""
ONCE = 'open(__file__ + ".lock", "x").close()'
"""Raises the second time that the file is executed."""
ENDS = 'if os.path.exists(__file__ + ".lock"): os._exit(3)\nopen(__file__ + ".lock", "w").close()'
TWICE = 'open(__file__ + ".log", "a").write("read\\n")'


@pytest.mark.parametrize("first", [TWICE, ONCE, ENDS], ids=["twice", "once", "ends"])
def test_a_program_is_lowered_however_often_it_can_be_imported(
    write: Callable[..., Path], opened: Callable[..., Session], first: str
) -> None:
    path = write(PROGRAM.format(first=first))
    session = opened(path)
    assert session.compare({}, (), 2, True).equal
    for _ in range(2):
        compilation = session.compile({}, ("compile",), 2, LOWERING)
        assert compilation.failure is None
        assert [(result.target, result.ok) for result in compilation.results] == [("compile", True)]
    if first == TWICE:
        assert path.with_name(path.name + ".log").read_text() == "read\nread\n"


@pytest.mark.parametrize(("targets", "read"), [(("export", "compile"), 2), (("export",), 1)])
def test_a_second_process_reads_the_entry_only_where_it_is_compiled(
    write: Callable[..., Path], opened: Callable[..., Session], targets: tuple[str, ...], read: int
) -> None:
    path = write(PROGRAM.format(first=TWICE))
    session = opened(path, targets=targets)
    session.expect_compiled()
    assert session.compare({}, (), 2, True).equal
    assert session.compile({}, targets[-1:], 2, LOWERING).failure is None
    assert path.with_name(path.name + ".log").read_text() == "read\n" * read
