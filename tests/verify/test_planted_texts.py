"""Wrong fixes that a text alone invites: none is offered or safe, or its own reason is said beside what no text shows.

Nothing is traced: the fixed text runs in eager, and once more while it is made to think that it is compiled.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import torch
from planted_texts import HEAD, RIGHT, WRONG, Text

from ddelint.rewrite.static_fixes import fixed_text, with_static_fixes
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source


def fixed_by_reading(text: str) -> str:
    """The text after the safe fixes, and those of which nothing more is known than what no text shows."""
    source = SourceFile("model.py", text)
    found = with_static_fixes(check_source(source), {"model.py": source})
    plain = [d for d in found if d.fix is not None and len(d.fix.reasons) <= 1]
    return fixed_text(source, plain, unsafe=True)


@contextmanager
def thinking_that_it_is_compiled(compiled: bool) -> Iterator[None]:
    with mock.patch.object(torch.compiler, "is_compiling", return_value=compiled):
        yield


def outcomes(text: str, calls: tuple[str, ...], compiled: bool) -> list[str]:
    """What each call gives, on one load of the file; of what it raises the type in eager, that it raises elsewhere."""
    module: dict[str, Any] = {"__name__": "planted"}
    mine = ModuleType("mine")
    mine.number = count(1).__next__  # type: ignore[attr-defined]
    given = []
    with (
        mock.patch.dict(sys.modules, {"mine": mine}),
        mock.patch.object(torch, "compile", side_effect=lambda function: function),
        thinking_that_it_is_compiled(compiled),
    ):
        exec(compile(text, "planted", "exec"), module)
        function = module["Model"]() if "Model" in module else module["f"]
        for call in calls:
            torch.manual_seed(0)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    given.append(repr(eval(f"function({call})", {"torch": torch, "function": function})))
            except Exception as error:
                given.append("raised" if compiled else f"raised {type(error).__name__}: {error}")
    return given


@pytest.mark.parametrize("row", WRONG, ids=str)
def test_no_wrong_fix_is_offered_without_its_reason(row: Text) -> None:
    text = HEAD + row.text
    after = fixed_by_reading(text)
    assert outcomes(after, row.calls, compiled=False) == outcomes(text, row.calls, compiled=False)
    if row.letter != "D":  # where it is compiled, a number comes to the new text
        assert outcomes(after, row.calls, compiled=True) == outcomes(text, row.calls, compiled=True)


@pytest.mark.parametrize("row", RIGHT, ids=str)
def test_a_right_fix_is_offered(row: Text) -> None:
    text = HEAD + row.text
    after = fixed_by_reading(text)
    assert row.rewritten in after
    assert row.rewritten not in text
    assert outcomes(after, row.calls, compiled=False) == outcomes(text, row.calls, compiled=False)
    assert outcomes(after, row.calls, compiled=True) == outcomes(text, row.calls, compiled=True)
