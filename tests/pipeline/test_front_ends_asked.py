"""What only strict export and torch.compile ask, beside what the search came to."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Question, Span
from ddelint.nouns.protocol import Compilation, TargetResult
from ddelint.pipeline.searching import _with_front_ends
from ddelint.sources.source import SourceFile
from ddelint.trace.front_ends import Asked

NAME = "program.py"
TEXT = "def fn(x, n):\n    if n > 4:\n        x = x * 2\n    return list(x[:n])\n"
FOUND = Span(NAME, 2, 8, 2, 13)
LATER = Span(NAME, 4, 12, 4, 23)


def reported(
    results: tuple[TargetResult, ...], *asked: Asked, takes: bool = False, overlay: Mapping[str, str] | None = None
) -> dict[int, tuple[str, ...]]:
    """Row → who asks, as `found` has it."""
    return {d.span.row: d.asks for d in found(results, *asked, takes=takes, overlay=overlay)}


def found(
    results: tuple[TargetResult, ...],
    *asked: Asked,
    takes: bool = False,
    overlay: Mapping[str, str] | None = None,
    suggest: bool = True,
) -> list[Diagnostic]:
    """What is reported where the search found line 2 and each target gave one of `results`.

    `takes`: whether the others take the program under `overlay`. `suggest`: whether fixes were looked for.
    """
    outcome: Any = SimpleNamespace(
        diagnostics=(Diagnostic("DDE101", "", FOUND, expression="n > 4", asks=("export",)),),
        compilation=Compilation(results),
        everything=SimpleNamespace(overlay=overlay or {}),
    )
    run: Any = SimpleNamespace(
        progress=SimpleNamespace(stage=lambda _: None),
        traced=[],
        sources={NAME: SourceFile(NAME, TEXT)},
        options=SimpleNamespace(suggest=suggest),
    )
    begun: Any = [SimpleNamespace(result=lambda one=one: one) for one in asked]
    session: Any = SimpleNamespace(
        compile=lambda _, targets, *rest: Compilation(tuple(TargetResult(one, "cpu", takes) for one in targets))
    )
    return _with_front_ends(session, begun, outcome, run)


@pytest.mark.parametrize("target", ["strict", "compile"])
def test_what_a_front_end_asked_is_gone_where_it_takes_the_fixed_program(target: str) -> None:
    question = Question(LATER, "count", "u0", "", asks=(target,))
    asked = Asked(target, [question])
    assert list(reported((TargetResult(target, "cpu", True),), asked)) == [2]
    assert reported((TargetResult(target, "cpu", False),), asked).keys() == {2, 4}
    assert reported((), asked).keys() == {2, 4}


def test_one_front_end_answers_for_itself_alone() -> None:
    question = Question(LATER, "count", "u0", "", asks=("strict",))
    asked = [Asked(target, [question]) for target in ("strict", "compile")]
    results = (TargetResult("compile", "cpu", True), TargetResult("strict", "cpu", False))
    assert reported(results, *asked)[4] == ("strict",)


def test_a_front_end_takes_a_program_where_it_does_on_all_devices() -> None:
    question = Question(LATER, "count", "u0", "", asks=("compile",))
    results = (TargetResult("compile", "cpu", True), TargetResult("compile", "cuda", False))
    assert 4 in reported(results, Asked("compile", [question]))


@pytest.mark.parametrize(("takes", "rows"), [(True, {2}), (False, {2, 4})])
def test_a_front_end_that_verified_nothing_is_asked_again_of_the_fixed_program(takes: bool, rows: set[int]) -> None:
    asked = Asked("strict", [Question(LATER, "count", "u0", "", asks=("strict",))])
    results = (TargetResult("export", "cpu", True), TargetResult("compile", "cpu", True))
    assert reported(results, asked, takes=takes, overlay={NAME: TEXT}).keys() == rows
    assert reported(results, asked, takes=takes).keys() == {2, 4}  # nothing is fixed


def test_what_stands_behind_an_open_question_says_that_nothing_was_tried_for_it() -> None:
    asked = Asked("strict", [Question(LATER, "integer", "u0", "", asks=("strict",))])
    _, behind = found((), asked)
    assert [refusal.reason for refusal in behind.refused] == ["`n > 4` at line 2 is asked first, and is still open"]
    assert behind.tried == ()
    _, behind = found((), asked, suggest=False)
    assert behind.refused == ()
