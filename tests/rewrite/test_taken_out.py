"""What is taken out of a program runs as it was."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

import pytest
from test_search import MERGE, NAME, TEXT, Prover, asking, moves, replacing

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Span
from ddelint.nouns.protocol import Compilation, Overlay, TargetResult, TraceResult
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.search import last_resort
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.rounds import Search
from ddelint.rewrite.search.steps import Key, State, Step
from ddelint.rewrite.search.taken_out import as_it_was
from ddelint.sources.source import SourceFile

__all__ = ["moves"]  # the fixture


def fixed(body: str, *tests: str) -> tuple[State, SourceFile]:
    """A state in which each of the tests is asked in eager alone."""
    source = SourceFile(NAME, f"def fn(x, ids):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n")
    history, steps = History({NAME: source}), []
    for number, test in enumerate(tests, 1):
        home = place(source, test)
        now = history.forward(home)
        edit = Edit(Span(NAME, now.row, now.column, now.row, now.column), "eager and ")
        history = history.add((edit,), number)
        key = Key(NAME, home.row, home.column, test, "truth")
        candidate = Candidate("shortcut_in_eager", Claim.GENERAL_PATH, "in eager", (edit,))
        steps.append(
            Step(number, key, Diagnostic("DDE101", "", home), candidate, (), Applicability.SAFE, (), None),
        )
    return State(history, steps), source


def place(source: SourceFile, text: str) -> Span:
    """Where an expression stands for the first time."""
    found = [n for n in ast.walk(source.tree) if isinstance(n, ast.expr) and ast.unparse(n) == text]
    return min(map(source.span, found))


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("ids.tolist()", "for i in ids.tolist():\n    if i == 0:\n        continue\n    x = x + i"),
        ("ids", "for i in ids:\n    if i == 0:\n        x = x + i\nelse:\n    x = x * 2"),
        (
            "ids.tolist()",
            "for n, i in enumerate(ids.tolist()):\n    for m in range(n):\n        x = x if i == 0 else x + m",
        ),
        ("x.sum() > 3", "while x.sum() > 3:\n    x = x / 2\n    if i == 0:\n        break"),
        ("x.any()", "if x.any():\n    if i == 0:\n        x = x + 1"),
        ("x.any()", "if x.any():\n    x = x * 2\nelif i == 0:\n    x = x + 1"),
    ],
)
def test_what_was_fixed_inside_goes(header: str, body: str) -> None:
    state, source = fixed(f"i = 1\n{body}\nif x.all():\n    x = x + 2\nreturn x", "i == 0", "x.all()")
    left = as_it_was(state, [Diagnostic("DDE203", "", place(source, header))])
    assert [source.segment(step.diagnostic.span) for step in left.steps] == ["x.all()"]
    assert left.history.current(NAME).text == source.text.replace("x.all()", "eager and x.all()")


@pytest.mark.parametrize(
    ("asked", "body"),
    [
        ("ids.any()", "for i in x:\n    if i == 0 and ids.any():\n        x = x + 1"),
        ("ids.max()", "n = ids.max()\nfor i in x:\n    if i == 0:\n        x = x + 1"),
        ("x.mean()", "for i in x:\n    if i == 0:\n        x = x + 1\n    x = x - x.mean()"),
        ("ids.max()", "x = ids.max() if i == 0 else x"),
    ],
)
def test_what_stands_beside_or_around_stays(asked: str, body: str) -> None:
    state, source = fixed(f"i = 1\n{body}\nreturn x", "i == 0")
    left = as_it_was(state, [Diagnostic("DDE203", "", place(source, asked))])
    assert left.history.overlay == state.history.overlay
    assert left.steps == state.steps


def test_what_rests_on_it_goes_along_and_what_was_given_up_is_tried_again() -> None:
    state, source = fixed("for i in ids.tolist():\n    x = x if i == 0 else x + 1\nreturn x", "i == 0")
    span = state.history.touched(1)[0]
    later = Edit(span, "never and ")
    history = state.history.add((later,), 2)
    outer = Diagnostic("DDE203", "", place(source, "ids.tolist()"))
    above = Step(2, Key(NAME, 1, 1, "", "truth"), outer, state.steps[0].candidate, (), Applicability.SAFE, (), None)
    key = Key(NAME, outer.span.row, outer.span.column, "ids.tolist()", "operator")
    whole = State(history, [*state.steps, above], {key: outer}, {key: outer})
    left = as_it_was(whole, whole.given_up.values())
    assert (left.steps, left.given_up, left.history.overlay) == ([], {}, {})
    assert left.others == {key: outer}


def test_another_file_is_none_of_it() -> None:
    state, _ = fixed("for i in ids.tolist():\n    x = x if i == 0 else x + 1\nreturn x", "i == 0")
    assert as_it_was(state, [Diagnostic("DDE203", "", Span("other.py", 2, 1, 2, 3))]).steps == state.steps


NESTED = TEXT.replace("    if m > 5:\n        x = x + 2\n", "        if m > 5:\n            x = x + 2\n")


class Nested(Prover):
    """A question inside of another's branch; neither is asked any more once the outer one is a region."""

    needs_the_inner = False

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        text = overlay.get(NAME, NESTED)
        done = "region(" in text and (not self.needs_the_inner or "merged(m" in text)
        return TraceResult((), runs=1) if done else super().trace({NAME: text}, first=first)

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        ok = not self.trace(overlay).questions
        return Compilation(tuple(TargetResult(target, "cpu", ok, error="" if ok else "asks") for target in targets))


@pytest.mark.parametrize("needs_the_inner", [False, True])
def test_a_branch_is_taken_out_as_it_was_where_that_will_do(moves: pytest.MonkeyPatch, needs_the_inner: bool) -> None:
    def merge(context: Context) -> Iterator[Candidate]:
        test = context.site.source.segment(context.site.span)
        word = "merged" if test.startswith("m") and not context.site.source.text.count("region(") else "WRONG"
        yield from replacing(MERGE, Claim.RESTRUCTURED, word + "({test})")(context)  # type: ignore[operator]

    def region(context: Context) -> Iterator[Candidate]:
        if (test := context.site.source.segment(context.site.span)).startswith("n"):
            edit = Edit(context.site.span, f"region({test})")
            yield Candidate(last_resort.OUTLINE, Claim.RESTRUCTURED, "outlined", (edit,), last_resort=True)

    moves.setitem(MOVES, MERGE, merge)
    moves.setitem(MOVES, last_resort.OUTLINE, region)
    prover = Nested()
    prover.needs_the_inner = needs_the_inner
    text = Search(asking(prover, NESTED)).run().everything.current(NAME).text
    inner = "merged(m > 5)" if needs_the_inner else "m > 5"
    assert text == NESTED.replace("n > 4", "region(n > 4)").replace("m > 5", inner)
