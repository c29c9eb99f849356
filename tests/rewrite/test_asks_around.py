"""A test that is asked all the same, as a whole, is not cleared by what was written inside it."""

from __future__ import annotations

import pytest
from test_search import NAME, Prover, asking

from ddelint.nouns.diagnostics import STILL_ASKS, Edit, Question, Span
from ddelint.nouns.protocol import Overlay, TraceResult
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.steps import State, key_of
from ddelint.sources.source import SourceFile

TEXT = "def forward(x, y):\n    if not x.all():\n        x = x + 1\n    if y.any():\n        x = x + 2\n    return x\n"


class Asks(Prover):
    """Asks what each `if` tests, of an operand of `not` that operand, as a torch does."""

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        questions = []
        for row, line in enumerate(overlay.get(NAME, TEXT).splitlines(), start=1):
            if line.startswith("    if "):
                asked = line.strip()[3:-1].removeprefix("not ")
                column = line.index(asked) + 1
                questions.append(Question(Span(NAME, row, column, row, column + len(asked)), "truth", asked, "u0"))
        return TraceResult(tuple(questions), runs=1)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit(Span(NAME, 2, 8, 2, 12), "~"), "the rewritten code asks `~x.all()`"),
        (Edit(Span(NAME, 2, 8, 2, 12), "cond and "), "the rewritten code asks `cond and x.all()`"),
        (Edit(Span(NAME, 2, 5, 3, 18), "x = torch.where(~x.all(), x + 1, x)"), ""),
        (Edit(Span(NAME, 4, 8, 4, 9), "(y + 1)"), f"{STILL_ASKS} `x.all()`"),
    ],
)
def test_what_is_asked_of_the_whole_is_not_cleared(edit: Edit, reason: str) -> None:
    history = History({NAME: SourceFile(NAME, TEXT)})
    asks: Asking = asking(Asks())
    question = asks.asked(history)[0]
    rewritten = history.add((edit,), 1)
    assert asks.still_asks(State(history), rewritten, question, key_of(history, question), 1) == reason
