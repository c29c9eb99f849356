"""In which order questions are gone through: a loop's own before those of its body, where one rewrite takes all."""

from __future__ import annotations

import pytest

from ddelint.nouns.diagnostics import Question, Span, TypeFact
from ddelint.nouns.protocol import Overlay, TraceResult
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.order import loops_first
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

NAME = "program.py"
TYPES = {
    f"{NAME}::fn": {
        "x": TypeFact("tensor", "float32", ("4",)),
        "ids": TypeFact("tensor", "int64", ("u0",)),
        "i": TypeFact("tensor", "int64", ()),
    }
}
TEXT = """import torch


def fn(x, ids):
    for i in ids.unique():
        x[i] = {value}
    return x
"""


class Silent:
    """A prover of a program that asks nothing."""

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        return TraceResult((), runs=1)


def question(source: SourceFile, text: str, kind: str) -> Question:
    row = source.text[: source.text.index(text)].count("\n") + 1
    column = source.lines[row - 1].index(text) + 1
    return Question(Span(NAME, row, column, row, column + len(text)), kind, text, "", asks=("export",))


@pytest.mark.parametrize(("value", "outer_first"), [("x[i] * 2", True), ("helper(x[i])", False)])
def test_a_loop_that_one_rewrite_takes_with_its_body_goes_first(value: str, outer_first: bool) -> None:
    source = SourceFile(NAME, TEXT.format(value=value))
    asking = Asking(Silent(), {NAME: source}, ("export",), samples=8, diagnose=diagnose, types=TYPES)  # type: ignore[arg-type]
    inner, outer = question(source, "x[i]", "integer"), question(source, "ids.unique()", "integer")
    ordered = loops_first(asking, History({NAME: source}), [inner, outer])
    assert ordered == ([outer, inner] if outer_first else [inner, outer])


def test_questions_that_stand_in_no_loop_keep_their_order() -> None:
    source = SourceFile(NAME, "def fn(x, n):\n    y = x[:n]\n    return y[: int(n)]\n")
    asking = Asking(Silent(), {NAME: source}, ("export",), samples=8, diagnose=diagnose, types=TYPES)  # type: ignore[arg-type]
    questions = [question(source, "int(n)", "integer"), question(source, "x[:n]", "truth")]
    assert loops_first(asking, History({NAME: source}), questions) == questions
