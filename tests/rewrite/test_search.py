"""The search, with a prover that judges texts by what stands in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import TIME_IS_OVER, Applicability, Claim, Diagnostic, Edit, Frame, Question, Span
from ddelint.nouns.merge import merge
from ddelint.nouns.protocol import (
    INDUCTOR_BACKENDS,
    Comparison,
    Compilation,
    Decision,
    EntryFailure,
    Mismatch,
    Overlay,
    TargetResult,
    TraceResult,
)
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.search import at_once
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.by_hand import rewritten_lines
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.judging import Judging
from ddelint.rewrite.search.last_resort import OUTLINE
from ddelint.rewrite.search.phases import Phase
from ddelint.rewrite.search.reporting import diagnostics, doubts
from ddelint.rewrite.search.rounds import MOST_RESTARTS, Outcome, Search, start_without, with_all_that_is_safe
from ddelint.rewrite.search.steps import Key, State, Step, is_repeated, ordinary
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

NAME = "program.py"
TEXT = """import torch


def forward(x, n, m):
    if n > 4:
        x = x + 1
    if m > 5:
        x = x + 2
    return x
"""
SHORTCUT = "shortcut_in_eager"
MERGE = "where_merge"
PROMISE = "promise"
CONVERSION = "conversion_in_eager"


class Prover:
    """Asks wherever an `if` tests a bare comparison; a text with WRONG in it gives another result in eager."""

    def __init__(self) -> None:
        self.compiled_wrong: set[str] = set()
        self.one_sided = False
        self.traces = 0

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        self.traces += 1
        questions = []
        for row, line in enumerate(overlay.get(NAME, TEXT).splitlines(), start=1):
            stripped = line.strip()
            if stripped.startswith("if ") and stripped[3:6] in ("n >", "m >"):
                column = line.index("if ") + 4
                span = Span(NAME, row, column, row, column + 5)
                questions.append(Question(span, "truth", stripped[3:-1], "u0 > 4", asks=("export",)))
        return TraceResult(tuple(questions), runs=1)

    def compare(
        self,
        overlay: Overlay,
        decisions: tuple[Decision, ...],
        samples: int,
        quick: bool,
        *,
        only: Collection[str] = (),
        exactly: str = "",
        watched: tuple[Decision, ...] | None = None,
    ) -> Comparison:
        text = overlay.get(NAME, TEXT)
        sides = {decision.key: (3, 0 if self.one_sided else 2) for decision in decisions}
        if "WRONG" in text:
            bad = Mismatch("seed 0", True, "eager", "value", "1.0", "2.0")
            return Comparison(samples, samples, False, sides, (bad,))
        if "RAISES" in text:
            narrower = Mismatch("all zeros", False, "eager", "exception", "a result", "RuntimeError", narrower=True)
            return Comparison(samples, samples, True, sides, (narrower,))
        return Comparison(samples, samples, True, sides)

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        text = overlay.get(NAME, TEXT)
        mismatches = tuple(
            Mismatch("seed 1", True, "export", "value", "1", "2") for word in self.compiled_wrong if word in text
        )
        return Compilation(tuple(TargetResult(t, "cpu", True, mismatches=mismatches) for t in targets))


def replacing(move: str, claim: Claim, template: str) -> object:
    """A move that replaces the asking test by `template`."""

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        yield Candidate(move, claim, f"{move} of {test}", (Edit(span, template.format(test=test)),), decisions=(span,))

    return propose


def where(asked: str, move: object) -> object:
    """A move for one question alone."""

    def propose(context: Context) -> Iterator[Candidate]:
        if asked in context.site.source.segment(context.site.span):
            yield from move(context)  # type: ignore[operator]

    return propose


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No move but those that a test sets."""
    load_moves()
    for name in list(MOVES):
        monkeypatch.delitem(MOVES, name)
    return monkeypatch


def search(prover: Prover, **options: object) -> Outcome:
    return Search(asking(prover), **options).run()  # type: ignore[arg-type]


def asking(prover: Prover, text: str = TEXT, **options: Any) -> Asking:
    sources = {NAME: SourceFile(NAME, text)}
    return Asking(prover, sources, ("export",), samples=8, diagnose=diagnose, types={}, **options)


def by_row(outcome: Outcome) -> dict[int, Diagnostic]:
    return {diagnostic.span.row: diagnostic for diagnostic in outcome.diagnostics}


class AskingInOtherWords(Prover):
    """Asks wherever an `if` begins with `n` or `m`, whatever else it says."""

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        questions = []
        for row, line in enumerate(overlay.get(NAME, TEXT).splitlines(), start=1):
            if line.strip().startswith(("if n ", "if m ")):
                test = line.strip()[3:-1]
                span = Span(NAME, row, 8, row, 8 + len(test))
                questions.append(Question(span, "truth", test, "u0 > 4", asks=("export",)))
        return TraceResult(tuple(questions), runs=1)


def with_the_other(context: Context) -> Iterator[Candidate]:
    """Where `n` is tested, `m` is tested in other words behind it."""
    span = context.site.span
    test = context.site.source.segment(span)
    edits = [Edit(span, f"not compiling and {test}")]
    if test.startswith("n"):
        edits.append(Edit(Span(NAME, 7, 8, 7, 13), "m + 0 > 5"))
    yield Candidate(SHORTCUT, Claim.GENERAL_PATH, f"of {test}", tuple(edits), decisions=(span,))


def test_a_question_that_anothers_fix_puts_in_other_words_keeps_its_turn_and_its_words(
    moves: pytest.MonkeyPatch,
) -> None:
    moves.setitem(MOVES, SHORTCUT, with_the_other)
    outcome = search(AskingInOtherWords())
    assert "if not compiling and n > 4:" in outcome.safe.current(NAME).text
    assert "if not compiling and m + 0 > 5:" in outcome.safe.current(NAME).text
    found = by_row(outcome)
    assert sorted(found) == [5, 7]
    assert "`m > 5`" in found[7].message
    assert (found[7].span.column, found[7].span.end_column) == (8, 13)


def test_every_site_is_fixed_and_told_on_the_original_text(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    outcome = search(Prover())
    assert "if not compiling and n > 4:" in outcome.safe.current(NAME).text
    assert "if not compiling and m > 5:" in outcome.safe.current(NAME).text
    found = by_row(outcome)
    assert sorted(found) == [5, 7]
    fix = found[7].fix
    assert fix is not None
    assert fix.applicability is Applicability.SAFE
    assert SourceFile(NAME, TEXT).apply(fix.edits).splitlines()[6] == "    if not compiling and m > 5:"
    evidence = found[5].evidence
    assert evidence is not None
    assert (evidence.eager_equal, evidence.both_sides, evidence.export, evidence.strict) == (True, True, True, None)


def test_a_rewrite_with_another_result_is_never_offered(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "WRONG and {test}"))
    outcome = search(Prover())
    assert outcome.everything.overlay == {}
    diagnostic = by_row(outcome)[5]
    assert diagnostic.fix is None
    assert "value differs" in diagnostic.refused[0].reason


@pytest.mark.parametrize(("declared", "code"), [(True, ""), (False, "if WRONG(n > 4):")])
def test_a_rewrite_that_only_our_inputs_speak_against_is_shown_as_code(
    moves: pytest.MonkeyPatch, declared: bool, code: str
) -> None:
    class Differing(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            found = super().compare(*asked, **options)
            return replace(found, mismatches=tuple(replace(m, declared=declared) for m in found.mismatches))

    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "WRONG({test})"))
    refusal = next(r for r in by_row(search(Differing()))[5].refused if r.move == MERGE)
    assert "value differs" in refusal.reason
    assert refusal.code == code


@pytest.mark.parametrize(
    ("edits", "lines"),
    [
        ([(5, 5, 14, "if merged(n > 4):")], "if merged(n > 4):"),
        ([(5, 8, 13, "a"), (6, 13, 18, "y")], "if a:\n    x = y"),
        ([(5, 8, 13, "a"), (7, 8, 13, "b")], "if a:\n...\nif b:"),
        ([(5, 5, 14, "pass\n" * 13)], ""),
        ([], ""),
    ],
)
def test_lines_as_a_rewrite_would_make_them(edits: list[tuple[int, int, int, str]], lines: str) -> None:
    changes = [Edit(Span(NAME, row, first, row, last), text) for row, first, last, text in edits]
    assert rewritten_lines(SourceFile(NAME, TEXT), changes) == lines


def test_a_rewrite_that_still_asks_is_refused(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "{test}  "))
    diagnostic = by_row(search(Prover()))[5]
    assert diagnostic.fix is None
    assert "still asks" in diagnostic.refused[0].reason


def test_a_comparison_that_is_put_in_other_words_is_no_safe_fix(moves: pytest.MonkeyPatch) -> None:
    """The edit stands within the comparison, of which both texts are asked."""

    class Asked(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            result = super().trace(overlay)
            lines = overlay.get(NAME, TEXT).splitlines()
            wide = [replace(q, span=replace(q.span, end_column=len(lines[q.span.row - 1]))) for q in result.questions]
            return replace(result, questions=tuple(wide))

    def other_words(context: Context) -> Iterator[Candidate]:
        span = replace(context.site.span, column=context.site.span.column + 4)
        edit = Edit(span, f"int({context.site.source.segment(span)})")
        yield Candidate(SHORTCUT, Claim.RESTRUCTURED, "other words", (edit,))

    moves.setitem(MOVES, SHORTCUT, other_words)
    outcome = search(Asked())
    assert outcome.safe.overlay == {}
    assert [(found.span.row, found.fix) for found in outcome.diagnostics] == [(5, None), (7, None)]
    assert "asked all the same" in outcome.diagnostics[0].refused[0].reason


def test_a_fake_kernel_that_is_wrong_is_refused_wherever_it_stands(moves: pytest.MonkeyPatch) -> None:
    class Disagreeing(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            result = super().trace(overlay)
            wrong = Question(
                Span(NAME, 9, 5, 9, 13), "fake", "x", "", detail="it says shape (2), the operator returns (3)"
            )
            return (
                replace(result, questions=(*result.questions, wrong)) if "kernel" in overlay.get(NAME, "") else result
            )

    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "kernel and {test}"))
    diagnostic = by_row(search(Disagreeing()))[5]
    assert diagnostic.fix is None
    assert "it says shape (2), the operator returns (3)" in diagnostic.refused[0].reason


def test_a_side_never_reached_makes_it_unsafe(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    prover = Prover()
    prover.one_sided = True
    outcome = search(prover)
    assert outcome.safe.overlay == {}
    assert outcome.everything.overlay
    fix = by_row(outcome)[5].fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE


def test_a_promise_is_unsafe_and_comes_last(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, PROMISE, replacing(PROMISE, Claim.PROMISE, "promised({test})"))
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "merged({test})"))
    assert "promised" not in search(Prover()).everything.current(NAME).text
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "WRONG({test})"))
    outcome = search(Prover())
    assert outcome.safe.overlay == {}
    assert "promised(n > 4)" in outcome.everything.current(NAME).text


def test_narrower_on_our_own_inputs_is_unsafe(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "RAISES({test})"))
    outcome = search(Prover())
    assert outcome.safe.overlay == {}
    fix = by_row(outcome)[5].fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE


def test_a_path_that_compiles_to_another_result_is_taken_back(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "merged({test})"))
    prover = Prover()
    prover.compiled_wrong = {"not compiling and m"}
    text = search(prover).everything.current(NAME).text
    assert "merged(m > 5)" in text
    assert "not compiling and n > 4" in text


def test_what_is_not_wanted_stays(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    outcome = search(Prover(), wanted=lambda diagnostic: diagnostic.span.row != 5)
    text = outcome.everything.current(NAME).text
    assert "if n > 4:" in text
    assert "not compiling and m > 5" in text


def test_a_difference_that_only_generated_code_makes_is_told_and_bans_nothing(moves: pytest.MonkeyPatch) -> None:
    class OtherKernels(Prover):
        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            if backend == "inductor":
                differs = Mismatch("x tiny", True, "compile", "value", "1", "2")
                return Compilation((TargetResult("compile", "cpu", True, mismatches=(differs,)),))
            # what else is refused of inputs of ours is no difference
            refused = Mismatch("all zero", False, "compile", "exception", "a result", "IndexError", narrower=True)
            return Compilation((TargetResult("compile", "cpu", False, mismatches=(refused,)),))

    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "RIGHT({test})"))
    outcome = search(OtherKernels())
    assert [d.fix is not None for d in outcome.diagnostics] == [True, True]
    evidence = outcome.diagnostics[0].evidence
    assert evidence is not None
    assert evidence.compile is False
    assert any("Inductor" in note for note in evidence.notes)


def test_a_proof_stands_in_the_evidence(moves: pytest.MonkeyPatch) -> None:
    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        yield Candidate(
            PROMISE, Claim.EQUIVALENT, "fact", (Edit(span, f"known({test})"),), proof=f"`{test}`: it counts"
        )

    moves.setitem(MOVES, PROMISE, propose)
    diagnostic = by_row(search(Prover()))[5]
    assert diagnostic.evidence is not None
    assert "proved: `n > 4`: it counts" in diagnostic.evidence.notes
    assert diagnostic.fix is not None
    assert diagnostic.fix.applicability is Applicability.SAFE


def test_what_only_all_samples_show_makes_it_unsafe(moves: pytest.MonkeyPatch) -> None:
    class Later(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            _, _, _, quick = asked
            found = super().compare(*asked, **options)
            return replace(found, mismatches=()) if quick else found

    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "RAISES({test})"))
    outcome = search(Later())
    assert outcome.safe.overlay == {}
    fix = by_row(outcome)[5].fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE


def test_a_region_around_the_caller_is_the_very_last_resort(moves: pytest.MonkeyPatch) -> None:
    helper = "def helper(n):\n    if n > 4:\n        return 1\n    return 2\n"
    text = f"{helper}\n\ndef forward(x, n):\n    return x * helper(n)\n"
    inner, outer = Span(NAME, 2, 8, 2, 13), Span(NAME, 8, 16, 8, 25)
    asked = Question(
        inner,
        "truth",
        "n > 4",
        "u0 > 4",
        frames=(Frame(outer, "forward", True), Frame(inner, "helper", True)),
        asks=("export",),
    )

    class OneQuestion(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            return TraceResult(() if "UNSEEN" in overlay.get(NAME, text) else (asked,), runs=1)

    def outline(context: Context) -> Iterator[Candidate]:
        function = context.site.function
        if function is not None and function.name == "forward":
            edit = Edit(context.site.span, "UNSEEN(n)")
            yield Candidate("outline", Claim.RESTRUCTURED, "outlined", (edit,), last_resort=True)

    moves.setitem(MOVES, "outline", outline)
    outcome = Search(asking(OneQuestion(), text)).run()
    assert "return x * UNSEEN(n)" in outcome.everything.current(NAME).text
    assert outcome.safe.overlay == {}


def test_a_move_that_trips_ends_no_search(moves: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def trips(context: Context) -> Iterator[Candidate]:
        yield Candidate(MERGE, Claim.RESTRUCTURED, "", ([][len(context.kind)],))

    monkeypatch.delenv("DDELINT_DEBUG", raising=False)
    moves.setitem(MOVES, MERGE, trips)
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    with pytest.warns(UserWarning, match="the move where_merge failed: IndexError"):
        outcome = search(Prover())
    assert "if not compiling and n > 4:" in outcome.safe.current(NAME).text


@pytest.mark.parametrize("cut_short", [True, False])
def test_a_fake_kernel_is_missed_by_the_first_question_where_no_other_is_open(
    moves: pytest.MonkeyPatch, cut_short: bool
) -> None:
    """The operator's is asked for where the region stood; a whole trace is made of the program with it."""

    def outline(context: Context) -> Iterator[Candidate]:
        edit = Edit(context.site.span, f"region({context.site.source.segment(context.site.span)})")
        yield Candidate("outline", Claim.RESTRUCTURED, "outlined", (edit,), last_resort=True)

    def kernel(context: Context) -> Iterator[Candidate]:
        edit = Edit(context.site.span, f"faked({context.site.source.segment(context.site.span)})")
        yield Candidate("fake_kernel", Claim.EQUIVALENT, "its fake kernel", (edit,))

    class Missing(Prover):
        """Asks about `n > 4` until that is in an operator, whose fake kernel is missing; and about m, if wanted."""

        def __init__(self) -> None:
            super().__init__()
            self.asked: list[tuple[bool, bool]] = []

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            line = overlay.get(NAME, TEXT).splitlines()[4]
            self.asked.append(("region" in line and "faked" not in line, first))
            found = [q for q in super().trace(overlay).questions if not cut_short or q.span.row != 7]
            if "region" in line and "faked" not in line:
                span = Span(NAME, 5, line.index("region") + 1, 5, line.index(")") + 2)
                missing = Question(span, "operator", "region", "u0", operator="lib::region", fake="def fake(n): ...")
                found.insert(0, replace(missing, detail="There was no fake impl registered for region"))
            return TraceResult(tuple(found[:1] if first else found), runs=1)

    moves.setitem(MOVES, "outline", outline)
    moves.setitem(MOVES, "fake_kernel", kernel)
    prover = Missing()
    outcome = search(prover)
    assert "faked(region(n > 4))" in outcome.everything.current(NAME).text
    assert [first for is_missing, first in prover.asked if is_missing] == [cut_short]


def test_a_last_resort_that_trips_ends_no_search(moves: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch) -> None:
    def trips(context: Context) -> Iterator[Candidate]:
        yield Candidate("outline", Claim.RESTRUCTURED, "", ([][len(context.kind)],), last_resort=True)

    monkeypatch.delenv("DDELINT_DEBUG", raising=False)
    moves.setitem(MOVES, "outline", trips)
    with pytest.warns(UserWarning, match="the move outline failed: IndexError"):
        outcome = search(Prover())
    assert outcome.everything.overlay == {}
    assert {(d.code, d.fix) for d in outcome.diagnostics} == {("DDE101", None)}


def test_what_spreads_an_infinity_is_unsafe_and_judged_on_finite_inputs(moves: pytest.MonkeyPatch) -> None:
    class Leaks(Prover):
        aspect = "seed 3, then x one inf"

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, decisions, samples, _ = asked
            if not overlay:
                return super().compare(*asked, **options)
            found = Mismatch(self.aspect, False, "traced path", "value", "1.0", "nan")
            return Comparison(samples, samples, False, {d.key: (3, 2) for d in decisions}, (found,))

    def masks(spreads: bool) -> object:
        def propose(context: Context) -> Iterator[Candidate]:
            edit = Edit(context.site.span, f"MASKED({context.site.source.segment(context.site.span)})")
            yield Candidate(MERGE, Claim.RESTRUCTURED, "masked", (edit,), spreads=spreads)

        return propose

    moves.setitem(MOVES, MERGE, masks(spreads=True))
    fix = by_row(search(Leaks()))[5].fix
    assert fix is not None
    assert fix.applicability is Applicability.UNSAFE
    moves.setitem(MOVES, MERGE, masks(spreads=False))
    assert by_row(search(Leaks()))[5].fix is None
    moves.setitem(MOVES, MERGE, masks(spreads=True))
    Leaks.aspect = "x tiny"
    assert by_row(search(Leaks()))[5].fix is None


def test_all_questions_of_a_trace_are_judged_as_one_program(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    compared: list[tuple[int, bool]] = []

    class Counting(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            _, decisions, _, quick = asked
            compared.append((len(decisions), quick))
            return super().compare(*asked, **options)

    prover = Counting()
    outcome = search(prover)
    assert len(outcome.diagnostics) == 2
    assert compared == [(2, True), (2, False)]
    assert prover.traces == 4  # the original, both fixes, and the program without either of them


class AsksLess(Prover):
    """Asks of `m` only as long as `n` is asked of; notes the texts that are verified, and compared on all inputs."""

    def __init__(self, needs_both: bool) -> None:
        super().__init__()
        self.needs_both = needs_both
        self.verified: list[str] = []
        self.compared: list[str] = []

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        traced = super().trace(overlay, first=first)
        return (
            traced if any(question.expression[:1] == "n" for question in traced.questions) else TraceResult((), runs=1)
        )

    def compare(self, *asked: Any, **options: Any) -> Comparison:
        overlay, _, _, quick = asked
        self.compared += [] if quick else [overlay[NAME]]
        return super().compare(*asked, **options)

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        text = overlay.get(NAME, TEXT)
        self.verified += [text] if backend == "inductor" else []
        ok = not self.needs_both or text.count("not compiling") == 2
        return Compilation(tuple(TargetResult(t, "cpu", ok) for t in targets))


@pytest.mark.parametrize("needs_both", [False, True])
def test_what_nothing_needs_goes_before_anything_expensive(moves: pytest.MonkeyPatch, needs_both: bool) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    prover = AsksLess(needs_both)
    outcome = search(prover)
    one, both = TEXT.replace("n >", "not compiling and n >"), TEXT.replace("if ", "if not compiling and ")
    assert outcome.everything.current(NAME).text == (both if needs_both else one)
    # a front end that misses a fix has been asked about the text without it
    assert prover.verified == ([one, both] if needs_both else [one])
    assert prover.compared == ([both] if needs_both else [both, one])


def test_where_not_all_hold_together_what_the_text_makes_safe_comes_first(moves: pytest.MonkeyPatch) -> None:
    def propose(context: Context) -> Iterator[Candidate]:
        span, test = context.site.span, context.site.source.segment(context.site.span)
        if "m >" in test:
            yield Candidate(SHORTCUT, Claim.EQUIVALENT, "settled", (Edit(span, f"settled and {test}"),))
            return
        for word in ("WRONG", "WRONG_too", "not compiling"):
            edit = Edit(span, f"{word} and {test}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, word, (edit,), decisions=(span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    moves.setattr(at_once, "is_settled", lambda _history, candidate, _found: candidate.claim is Claim.EQUIVALENT)
    compared: list[tuple[bool, bool]] = []

    class Reading(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            text = asked[0][NAME]
            compared.append(("settled" in text, "WRONG" in text))
            return super().compare(*asked, **options)

    outcome = search(Reading())
    assert "if not compiling and n > 4:" in outcome.safe.current(NAME).text
    assert compared[:2] == [(True, True), (True, False)]
    assert all(settled for settled, _ in compared)


def test_what_comes_to_the_same_while_compiling_is_run_once(moves: pytest.MonkeyPatch) -> None:
    def propose(context: Context) -> Iterator[Candidate]:
        span, test = context.site.span, context.site.source.segment(context.site.span)
        for word, side in (("WRONG", False), ("WRONG_again", False), ("WRONG_other", True), ("not compiling", None)):
            edit = Edit(span, f"{word} and {test}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, word, (edit,), decisions=(span,), side=side)

    moves.setitem(MOVES, SHORTCUT, propose)
    compared: list[str] = []

    class Reading(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            compared.extend(line for line in asked[0][NAME].splitlines() if "WRONG" in line)
            return super().compare(*asked, **options)

    outcome = search(Reading())
    assert "if not compiling and n > 4:" in outcome.safe.current(NAME).text
    assert {line.split(" and ")[0].strip() for line in compared} == {"if WRONG", "if WRONG_other"}
    refused = outcome.diagnostics[0].refused
    assert [refusal.message for refusal in refused] == ["WRONG", "WRONG_again", "WRONG_other"]
    assert refused[0].reason == refused[1].reason


class Many(Prover):
    """Five questions, each text that is traced kept, and the input that shows a wrong one named."""

    text = "def forward(x, n):\n" + "".join(f"    if n > {number}:\n        x = x + 1\n" for number in range(4, 9))

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.compared: list[str] = []

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        changed = overlay.get(NAME, self.text)
        self.texts.append(changed)
        return replace(super().trace({NAME: changed}), seconds=1.0)  # so that it is compared first

    def compare(self, *asked: Any, **options: Any) -> Comparison:
        self.compared.append(asked[0][NAME])
        found = super().compare(*asked, **options)
        return replace(found, mismatches=tuple(replace(one, base="seed 0") for one in found.mismatches))


@pytest.mark.parametrize("wrong_ones", [1, 2, 3])
def test_the_next_candidate_of_what_is_wrong_is_tried_together_with_the_others(
    moves: pytest.MonkeyPatch, wrong_ones: int
) -> None:
    """No question waits until it is tried alone, and nothing is traced for it."""

    def propose(context: Context) -> Iterator[Candidate]:
        test = context.site.source.segment(context.site.span)
        words = [f"WRONG_{number}" for number in range(wrong_ones)] if test in ("n > 5", "n > 6") else []
        for word in (*words, "right"):
            edit = Edit(context.site.span, f"{word}({test})")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, word, (edit,), decisions=(context.site.span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    prover = Many()
    outcome = Search(asking(prover, prover.text)).run()
    assert outcome.safe.current(NAME).text.count("right(") == 5
    together = [text for text in prover.compared if text.count("(n >") == 5]
    assert [text.count("WRONG") for text in together[:2]] == [2, 0]
    assert [(one.count("right("), one.count("WRONG")) for one in prover.texts[:2]] == [(0, 0), (5, 0)]


def test_of_many_that_do_not_hold_together_the_wrong_ones_are_found_by_the_input_that_shows_it(
    moves: pytest.MonkeyPatch,
) -> None:
    """All others are kept at once, without any trace of them alone or in halves."""

    def propose(context: Context) -> Iterator[Candidate]:
        test = context.site.source.segment(context.site.span)
        new = f"WRONG({test})" if test == "n > 6" else f"right({test})"
        edit = Edit(context.site.span, new)
        yield Candidate(SHORTCUT, Claim.GENERAL_PATH, test, (edit,), decisions=(context.site.span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    prover = Many()
    outcome = Search(asking(prover, prover.text)).run()
    kept = outcome.safe.current(NAME).text
    assert [f"right(n > {number})" in kept for number in range(4, 9)] == [True, True, False, True, True]
    assert "WRONG" not in kept
    assert [(one.count("right("), one.count("WRONG(")) for one in prover.texts[:2]] == [(0, 0), (4, 0)]


def test_what_does_not_hold_together_is_tried_alone(moves: pytest.MonkeyPatch) -> None:
    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        for word in ("WRONG", "not compiling") if "m >" in test else ("not compiling",):
            edit = Edit(span, f"{word} and {test}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, word, (edit,), decisions=(span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    outcome = search(Prover())
    text = outcome.safe.current(NAME).text
    assert "if not compiling and n > 4:" in text
    assert "if not compiling and m > 5:" in text


def test_what_is_still_open_once_the_safe_fixes_are_written_is_offered_for_that_text(moves: pytest.MonkeyPatch) -> None:
    def propose(context: Context) -> Iterator[Candidate]:
        """A safe candidate for the one site, which also changes the line of the other."""
        span = context.site.span
        if context.site.source.segment(span).startswith("n"):
            line = Span(NAME, 7, 1, 7, 1)
            edits = (Edit(span, "not compiling and n > 4"), Edit(line, "    m = m + 1\n"))
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "safe", edits, decisions=(span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    moves.setitem(MOVES, PROMISE, replacing(PROMISE, Claim.PROMISE, "promised({test})"))
    outcome = search(Prover())
    ((place, fix),) = outcome.open_fixes.items()
    assert place == (by_row(outcome)[7].span, by_row(outcome)[7].code)
    assert fix.applicability is Applicability.UNSAFE
    written = outcome.safe.current(NAME)
    assert written.apply(fix.edits) == written.text.replace("if m > 5:", "if promised(m > 5):")


def test_fixes_side_by_side_are_tidied_where_that_agrees_with_the_original(moves: pytest.MonkeyPatch) -> None:
    checked = "torch.compiler.is_compiling():\n        pass\n    elif known({test})"
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, checked))
    outcome = search(Prover())
    text = outcome.safe.current(NAME).text
    assert text.count("is_compiling()") == 1
    assert outcome.everything.current(NAME).text == text
    for row in (5, 7):
        fix = by_row(outcome)[row].fix
        assert fix is not None
        assert SourceFile(NAME, TEXT).apply(fix.edits).count("is_compiling()") == 1


def test_moves_that_the_rule_does_not_list_are_tried_after_its_own_and_before_promises(
    moves: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    other = "bypass_cache"
    assert other not in rule("DDE101").moves

    def noting(name: str, claim: Claim, template: str) -> object:
        propose = replacing(name, claim, template)

        def noted(context: Context) -> Iterator[Candidate]:
            tried.append(name)
            yield from propose(context)  # type: ignore[operator]

        return noted

    moves.setitem(MOVES, PROMISE, noting(PROMISE, Claim.PROMISE, "promised({test})"))
    moves.setitem(MOVES, other, noting(other, Claim.RESTRUCTURED, "other({test})"))
    text = search(Prover()).everything.current(NAME).text
    assert "if other(n > 4):" in text
    moves.setitem(MOVES, SHORTCUT, noting(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    tried.clear()
    assert "if not compiling and n > 4:" in search(Prover()).everything.current(NAME).text
    assert other not in tried


def test_where_a_helper_asks_its_caller_may_decide_otherwise(moves: pytest.MonkeyPatch) -> None:
    helper = "def small(n):\n    return [n > 4]\n"
    text = f"{helper}\n\ndef forward(x, n):\n    if small(n):\n        return x\n    return x + 0\n"
    inner, outer = Span(NAME, 2, 13, 2, 18), Span(NAME, 6, 8, 6, 16)
    frames = (Frame(outer, "forward", True), Frame(inner, "small", True))
    asked = Question(inner, "truth", "n > 4", "u0 > 4", frames=frames, asks=("export",))

    class OneQuestion(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            return TraceResult(() if "eager and small" in overlay.get(NAME, text) else (asked,), runs=1)

    def decided(context: Context) -> Iterator[Candidate]:
        test = context.site.decision
        if test is not None:
            span = context.site.source.span(test)
            edit = Edit(span, f"eager and {context.site.source.segment(span)}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "asked in eager", (edit,))

    moves.setitem(MOVES, SHORTCUT, decided)
    outcome = Search(asking(OneQuestion(), text)).run()
    assert "if eager and small(n):" in outcome.safe.current(NAME).text


def test_a_question_takes_its_share_of_the_time_and_leaves_the_others_theirs(moves: pytest.MonkeyPatch) -> None:
    clock = [100.0]

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            clock[0] -= 20.0
            return super().compare(*asked, **options)

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        for number in range(9) if test.startswith("n") else ():
            edit = Edit(span, f"WRONG({number}) and {test}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "slow", (edit,), decisions=(span,))
        if test.startswith("m"):
            edit = Edit(span, f"not compiling and {test}")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "quick", (edit,), decisions=(span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    outcome = search(Slow(), seconds_left=lambda: clock[0])
    assert "if not compiling and m > 5:" in outcome.safe.current(NAME).text
    assert by_row(outcome)[5].refused[-1].reason == TIME_IS_OVER


def test_once_time_is_over_no_candidate_is_worked_out(moves: pytest.MonkeyPatch) -> None:
    left = [10.0]
    late: list[str] = []

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            left[0] = 0.0
            return super().compare(*asked, **options)

    def propose(context: Context) -> Iterator[Candidate]:
        for number in range(9):
            if left[0] <= 0:
                late.append(context.site.source.segment(context.site.span))
            edit = Edit(context.site.span, f"WRONG({number})")
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "wrong", (edit,), decisions=(context.site.span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    worked_out = asking(Slow(), is_over=lambda: left[0] <= 0)
    looked_at: list[object] = []
    diagnosed = worked_out.diagnosed

    def noted(*asked: Any) -> Diagnostic:
        if left[0] <= 0:
            looked_at.append(asked)
        return diagnosed(*asked)

    moves.setattr(worked_out, "diagnosed", noted)
    outcome = Search(worked_out, seconds_left=lambda: left[0]).run()
    assert late == []
    assert len(looked_at) <= 6  # two questions, each once in each phase, and where the search was when time ran out
    assert [found.refused[-1].reason for found in outcome.diagnostics] == [TIME_IS_OVER] * 2
    assert outcome.everything.overlay == {}


def test_what_is_left_over_of_the_time_is_used_for_what_was_not_tried(moves: pytest.MonkeyPatch) -> None:
    """A program that still asks is not verified: once it was compared, nothing else is to come that needs time."""
    moves.setitem(MOVES, SHORTCUT, several(*(f"WRONG{number} and {{test}}" for number in range(5)), "right and {test}"))
    left = [100.0]

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            left[0] -= 4.0
            return super().compare(*asked, **options)

    reserved = lambda verified: 70.0 * max(verified, 0.8) if verified else 1.0  # noqa: E731
    outcome = search(Slow(), seconds_left=lambda: left[0], reserved=reserved)
    assert outcome.everything.current(NAME).text.count("right and") == 2


def test_what_could_not_be_proved_in_the_time_left_over_takes_nothing_away(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, several("WRONG and {test}", "right and {test}"))
    left = [30.0]

    class Slow(Prover):
        """By what the first start has left over the second question is fixed, and nothing can be compared then."""

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            left[0] -= 4.0
            if not quick and overlay[NAME].count("right and") == 2:
                return Comparison(0, 0, False, failure=EntryFailure("timeout", TIME_IS_OVER))
            return super().compare(*asked, **options)

    outcome = search(Slow(), seconds_left=lambda: left[0], reserved=lambda verified: 14.0 if verified else 0.0)
    assert outcome.everything.current(NAME).text.count("right and") == 1
    (kept,) = (found.fix for found in outcome.diagnostics if found.fix is not None)
    assert not any(TIME_IS_OVER in reason for reason in kept.reasons)


def test_what_may_be_tried_beyond_a_rule_is_known() -> None:
    load_moves()
    assert set(knowledge().beyond.moves) <= set(MOVES)
    assert len(set(knowledge().beyond.moves)) == len(knowledge().beyond.moves)


def test_what_was_proved_stays_when_a_fix_is_refuted_and_time_is_over(moves: pytest.MonkeyPatch) -> None:
    clock = [1.0]

    class Later(Prover):
        """Compiled code shows that the second fix is wrong, when no time is left."""

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            clock[0] = 0.0
            return super().compile(overlay, targets, samples, backend)

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        ending = " or 0" if test.startswith("m") else ""
        yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "in eager", (Edit(span, f"eager and {test}{ending}"),))

    moves.setitem(MOVES, SHORTCUT, propose)
    prover = Later()
    prover.compiled_wrong = {"m > 5 or 0"}
    outcome = search(prover, seconds_left=lambda: clock[0])
    text = outcome.safe.current(NAME).text
    assert "if eager and n > 4:" in text
    assert "if m > 5:" in text


@pytest.mark.parametrize("seconds", [1e9, 0.0])
def test_what_the_text_alone_makes_safe_needs_no_input_and_no_time(moves: pytest.MonkeyPatch, seconds: float) -> None:
    check = "check_instead_of_raise"
    text = TEXT.replace("        x = x + 1\n", "        raise ValueError\n").replace(
        "        x = x + 2\n", "        raise ValueError\n"
    )
    moves.setitem(MOVES, check, replacing(check, Claim.EQUIVALENT, "checked({test})"))

    class OneSided(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            return super().trace(overlay or {NAME: text}, first=first)

    prover = OneSided()
    prover.one_sided = True
    outcome = Search(asking(prover, text), seconds_left=lambda: seconds).run()
    assert outcome.safe.current(NAME).text.count("checked(") == 2


def test_without_time_for_another_start_a_doubted_fix_is_called_unsafe_and_kept(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))
    seconds = [100.0]

    class Refusing(Prover):
        """What is compiled refuses an input that eager takes; by then the time is over."""

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            seconds[0] = 0.0
            refused = Mismatch("all zeros", False, "export", "exception", "a result", "RuntimeError", narrower=True)
            return Compilation(
                tuple(TargetResult(t, "cpu", True, mismatches=(refused,), compared=8, agreed=7) for t in targets)
            )

    outcome = search(Refusing(), seconds_left=lambda: seconds[0])
    fixes = {row: found.fix for row, found in by_row(outcome).items()}
    assert sorted(fix.applicability.value for fix in fixes.values() if fix is not None) == ["safe", "unsafe"]
    text = outcome.everything.current(NAME).text
    assert "if not compiling and n > 4:" in text
    assert "if not compiling and m > 5:" in text
    assert outcome.safe.current(NAME).text.count("not compiling") == 1


def test_without_time_for_another_start_unsafe_fixes_that_hold_outlive_one_that_is_wrong(
    moves: pytest.MonkeyPatch,
) -> None:
    seconds = [100.0]

    class Later(Prover):
        """Compiled code shows that the second fix is wrong, when no time is left."""

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            seconds[0] = 0.0
            return super().compile(overlay, targets, samples, backend)

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        ending = " or 0" if test.startswith("m") else ""
        edit = Edit(span, f"eager and {test}{ending}")
        yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "in eager", (edit,), decisions=(span,))

    moves.setitem(MOVES, SHORTCUT, propose)
    prover = Later()
    prover.one_sided = True
    prover.compiled_wrong = {"m > 5 or 0"}
    outcome = search(prover, seconds_left=lambda: seconds[0])
    assert outcome.safe.current(NAME).text == TEXT
    text = outcome.everything.current(NAME).text
    assert "if eager and n > 4:" in text
    assert "if m > 5:" in text
    found = by_row(outcome)
    assert found[5].fix is not None
    assert found[5].fix.applicability is Applicability.UNSAFE
    assert found[7].fix is None


def many(move: str, claim: Claim, template: str, count: int) -> object:
    """A move that offers `count` texts for one test, numbered."""

    def propose(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        for number in range(count):
            edit = Edit(span, template.format(test=test, number=number))
            yield Candidate(move, claim, f"{move} {number}", (edit,), decisions=(span,))

    return propose


def test_after_the_last_start_each_refusal_is_still_told(moves: pytest.MonkeyPatch) -> None:
    """More texts are wrong once compiled than there are starts: what is not tried again has reasons all the same."""
    moves.setitem(MOVES, MERGE, many(MERGE, Claim.RESTRUCTURED, "merged{number}({test})", MOST_RESTARTS + 2))
    prover = Prover()
    prover.compiled_wrong = {"merged"}
    found = by_row(search(prover))
    left = [diagnostic for diagnostic in found.values() if diagnostic.fix is None]
    assert left
    told = [refusal for diagnostic in left for refusal in diagnostic.refused]
    assert {f"{MERGE} {number}" for number in range(3)} <= {refusal.message for refusal in told}
    assert all("export, seed 1" in refusal.reason for refusal in told)


def test_at_the_last_start_a_doubted_fix_is_called_unsafe_and_kept(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, MERGE, many(MERGE, Claim.RESTRUCTURED, "merged{number}({test})", 3 * MOST_RESTARTS))

    class Refusing(Prover):
        """What is compiled of any of these texts refuses an input that eager takes."""

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            refused = Mismatch("all zeros", False, "export", "exception", "a result", "RuntimeError", narrower=True)
            refusing = (refused,) if "merged" in overlay.get(NAME, TEXT) else ()
            agreed = 8 - len(refusing)
            return Compilation(
                tuple(TargetResult(t, "cpu", True, mismatches=refusing, compared=8, agreed=agreed) for t in targets)
            )

    found = by_row(search(Refusing()))
    fixes = [diagnostic.fix for diagnostic in found.values()]
    assert all(fix is not None for fix in fixes)
    assert Applicability.UNSAFE in [fix.applicability for fix in fixes if fix is not None]


def test_what_all_samples_spoke_against_once_is_judged_on_all_the_next_time(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, MERGE, many(MERGE, Claim.RESTRUCTURED, "RAISES{number}({test})", 4))

    class Later(Prover):
        """A few inputs show nothing of it."""

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[bool] = []

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            self.seen.append(not quick and "RAISES1" in overlay.get(NAME, ""))
            found = super().compare(*asked, **options)
            return replace(found, mismatches=()) if quick else found

    prover = Later()
    outcome = search(prover)
    assert by_row(outcome)[5].fix is not None
    assert any(prover.seen)
    assert prover.traces < 60


def test_others_at_its_place_are_tried_first_on_what_all_samples_spoke_with(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, MERGE, many(MERGE, Claim.RESTRUCTURED, "RAISES{number}({test})", 4))

    class Telling(Prover):
        """One run of an input set shows it, once all are run."""

        def __init__(self) -> None:
            super().__init__()
            self.asked: list[tuple[frozenset[str], str]] = []

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            if not quick and "RAISES2" in overlay.get(NAME, ""):
                self.asked.append((options["only"], options["exactly"]))
            found = super().compare(*asked, **options)
            shown = tuple(replace(m, sample="seed 3, odd", base="seed 3") for m in found.mismatches)
            return replace(found, mismatches=() if quick else shown)

    prover = Telling()
    search(prover)
    assert prover.asked
    assert prover.asked[0] == (frozenset(("seed 3",)), "seed 3, odd")


def test_one_comparison_on_all_samples_tells_of_all_that_are_doubtful(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, MERGE, many(MERGE, Claim.RESTRUCTURED, "TOLD{number}({test})", 2))

    class Doubting(Prover):
        """The first fix of each question is safe by a few inputs alone."""

        def __init__(self) -> None:
            super().__init__()
            self.whole: set[str] = set()

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            text, only = overlay.get(NAME, TEXT), options["only"]
            if not quick and not only:
                self.whole.add(text)
            shown = tuple(
                Mismatch(f"{name}, as none", False, "eager", "warning", "none", "one", base=name)
                for name in ("n", "m")
                if f"TOLD0({name} " in text and not quick and (not only or name in only)
            )
            return replace(super().compare(*asked, **options), mismatches=shown)

    prover = Doubting()
    outcome = search(prover)
    written = outcome.safe.current(NAME).text
    assert "TOLD1(n > 4)" in written
    assert "TOLD1(m > 5)" in written
    assert {text.count("TOLD0(") for text in prover.whole} == {2, 0}


class Telling(Prover):
    """All samples take one side of what `merged5` decides, and tell of `merged7`."""

    def compare(self, *asked: Any, **options: Any) -> Comparison:
        overlay, decisions, *_ = asked
        text = overlay.get(NAME, TEXT)
        told = Mismatch("seed 3", True, "eager", "warning", "none", "one", base="seed 3")
        sides = {decision.key: (3, 0 if decision.span.row == 5 else 2) for decision in decisions}
        return Comparison(8, 8, True, sides, (told,) if "merged7" in text else ())


def merged(*rows: int) -> State:
    """The program with a safe fix in each of the rows."""
    state = State(History({NAME: SourceFile(NAME, TEXT)}))
    for row in rows:
        span = Span(NAME, row, 8, row, 13)
        candidate = Candidate(MERGE, Claim.RESTRUCTURED, "", (Edit(span, f"merged{row}(1 > 0)"),))
        diagnostic, key = Diagnostic("DDE102", "", span), Key(NAME, row, 8, "", "truth")
        state.history = state.history.add(candidate.edits, row)
        decisions = (Decision(str(row), span),)
        state.steps.append(Step(row, key, diagnostic, candidate, decisions, Applicability.SAFE, (), None))
    return state


def test_what_was_seen_from_one_side_and_what_is_told_of_others_is_known_at_once() -> None:
    judging = Judging(asking(Telling()))
    judging.unsettled.add(5)
    doubtful = judging.doubtful(merged(5, 7))
    assert [step.number for step, _ in doubtful] == [5, 7]
    assert "no input made" in doubtful[0][1]
    assert "warning differs" in doubtful[1][1]


@pytest.mark.parametrize(
    ("rows", "unsettled", "doubted"),
    [((5, 7), set(), True), ((5,), {5}, True), ((5,), set(), False), ((7,), set(), True)],
)
def test_a_doubted_program_is_known_before_it_is_compiled(
    rows: tuple[int, ...], unsettled: set[int], doubted: bool
) -> None:
    begun = Begun()
    known = side_by_side(Telling(), begun)
    judging = Judging(known)
    judging.unsettled |= unsettled
    assert judging.is_doubted(merged(*rows)) == doubted
    assert begun.targets == [("export",)]  # begun beside the comparison, and ended where it isn't wanted
    assert begun.forgotten == doubted


def test_no_program_is_sent_through_the_front_ends_twice() -> None:
    class Counting(Prover):
        def __init__(self) -> None:
            super().__init__()
            self.sent: list[object] = []

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            self.sent.append(overlay)
            return super().compile(overlay, targets, samples, backend)

    prover = Counting()
    asked, history = asking(prover), History({NAME: SourceFile(NAME, TEXT)})
    assert asked.compile(history) == asked.compile(history)
    assert len(prover.sent) == 1


def test_what_gave_another_result_is_not_run_again_while_its_text_is_the_same(moves: pytest.MonkeyPatch) -> None:
    """The second phase goes through the same questions; the first has shown already that one text is wrong."""
    wrong = replacing(SHORTCUT, Claim.GENERAL_PATH, "WRONG({test})")
    moves.setitem(MOVES, SHORTCUT, wrong)
    moves.setitem(MOVES, PROMISE, replacing(PROMISE, Claim.PROMISE, "promised({test})"))

    class Counting(Prover):
        def __init__(self) -> None:
            super().__init__()
            self.wrong: list[str] = []

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            if "WRONG" in overlay.get(NAME, ""):
                self.wrong.append(overlay[NAME])
            return super().trace(overlay, first=first)

    prover = Counting()
    outcome = search(prover)
    assert outcome.everything.current(NAME).text.count("promised(") == 2
    assert [text.count("WRONG") for text in prover.wrong] == [1, 1]


@pytest.mark.parametrize("all_samples_tell", [True, False])
def test_what_was_refuted_beside_a_wrong_fix_is_tried_again_without_it(
    moves: pytest.MonkeyPatch, all_samples_tell: bool
) -> None:
    """A wrong fix whose result nobody reads shows in the gradient of another; by itself on all samples, or never."""

    def first_wrong(context: Context) -> Iterator[Candidate]:
        for template in ("POISON({test})", "fine({test})"):
            if "n >" in context.site.source.segment(context.site.span):
                (found,) = replacing(SHORTCUT, Claim.GENERAL_PATH, template)(context)  # type: ignore[operator]
                yield replace(found, side=False if "POISON" in template else None)

    moves.setitem(MOVES, SHORTCUT, first_wrong)
    moves.setitem(MOVES, MERGE, where("m >", replacing(MERGE, Claim.RESTRUCTURED, "right({test})")))

    class Masking(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            found, text = super().compare(*asked, **options), overlay.get(NAME, "")
            if "POISON" in text and ("right" in text or (all_samples_tell and not quick)):
                bad = Mismatch("seed 0", True, "traced path", "gradient", "0.0", "nan")
                return replace(found, equal=False, mismatches=(bad,))
            return found

    outcome = search(Masking())
    for history in (outcome.safe, outcome.everything):
        text = history.current(NAME).text
        assert "fine(n > 4)" in text
        assert "right(m > 5)" in text
    assert all(diagnostic.fix is not None for diagnostic in outcome.diagnostics)


def test_what_refutes_a_candidate_and_the_program_without_it_speaks_against_an_earlier_fix(
    moves: pytest.MonkeyPatch,
) -> None:
    """A few inputs did not show that the fix of the first question is wrong; those for the second are run on all."""
    moves.setitem(MOVES, SHORTCUT, where("n >", several("LATE({test})", "fine({test})")))
    moves.setitem(MOVES, MERGE, where("m >", several("right({test})", "other({test})")))

    class Later(Prover):
        def __init__(self) -> None:
            super().__init__()
            self.others = 0

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            found, text = super().compare(*asked, **options), overlay.get(NAME, "")
            self.others += "other(" in text
            if quick:
                one_sided = {key: (3, 0) if ":7:" in key else sides for key, sides in found.sides.items()}
                return replace(found, sides=one_sided)
            bad = Mismatch("seed 3, odd", False, "traced path", "value", "1.0", "2.0", base="seed 3")
            return replace(found, equal=False, mismatches=(bad,)) if "LATE" in text else found

    prover = Later()
    outcome = search(prover)
    text = outcome.safe.current(NAME).text
    assert "fine(n > 4)" in text
    assert "right(m > 5)" in text
    assert not prover.others


@pytest.mark.parametrize("refuses", [True, False])
def test_a_guess_that_is_wrong_where_a_fix_refuses_in_eager_as_well_is_not_told(
    moves: pytest.MonkeyPatch, refuses: bool
) -> None:
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, ("RAISES" if refuses else "FINE") + "({test})"))

    class Guessing(Prover):
        def compile(self, *asked: Any) -> Compilation:
            guess = Question(Span(NAME, 9, 12, 9, 13), "assumed", "x", "u0 != 0", asks=("export",))
            raised = Mismatch("all zeros", False, "export", "exception", "a result", "RuntimeError", narrower=True)
            (result,) = super().compile(*asked).results
            return Compilation((replace(result, questions=(guess,), mismatches=(raised,)),))

    codes = {diagnostic.code for diagnostic in search(Guessing()).diagnostics}
    assert ("DDE406" in codes) is not refuses


def test_a_fix_that_was_taken_back_for_nothing_is_put_back(moves: pytest.MonkeyPatch) -> None:
    """What it was in the way of holds without it on the one input that showed that, and fails on another."""

    def only(context: Context) -> Iterator[Candidate]:
        if "n >" in context.site.source.segment(context.site.span):
            (found,) = replacing(SHORTCUT, Claim.GENERAL_PATH, "TAKEN({test})")(context)  # type: ignore[operator]
            yield replace(found, side=False)

    moves.setitem(MOVES, SHORTCUT, only)
    moves.setitem(MOVES, MERGE, where("m >", replacing(MERGE, Claim.RESTRUCTURED, "wrong({test})")))

    class Hiding(Prover):
        looked = False

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            found, text = super().compare(*asked, **options), asked[0].get(NAME, "")
            alone = "wrong" in text and "TAKEN" not in text
            self.looked |= alone and bool(options.get("only"))
            if "wrong" in text and not (alone and options.get("only")):
                seed = "seed 1" if alone else "seed 0"
                bad = Mismatch(seed, True, "traced path", "value", "0.0", "nan", base=seed)
                return replace(found, equal=False, mismatches=(bad,))
            return found

    prover = Hiding()
    outcome = search(prover)
    assert prover.looked
    assert "TAKEN(n > 4)" in outcome.everything.current(NAME).text
    assert [diagnostic.fix is not None for diagnostic in outcome.diagnostics] == [True, False]


@pytest.mark.parametrize("counts", [True, False])
def test_where_a_count_in_python_parts_calls_in_a_row_nothing_else_is_tried(
    moves: pytest.MonkeyPatch, counts: bool
) -> None:
    """Whatever is rewritten, they part: the first fix is called unsafe. Where nothing counts, another may be right."""
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "first({test})"))
    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "second({test})"))

    class Counting(Prover):
        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            found = super().compile(overlay, targets, samples, backend)
            if "first" not in overlay.get(NAME, "") and not counts:
                return found
            later = Mismatch(
                "call 3 in a row, seed 2", False, "export", "mutation", "changed", "unchanged", narrower=True
            )
            count = Question(Span(NAME, 1, 1, 1, 2), "counted", "self.calls", "self.calls", asks=("compile",))
            asked = (count,) if counts else ()
            return replace(
                found, results=tuple(replace(r, mismatches=(later,), questions=asked) for r in found.results)
            )

    outcome = search(Counting())
    text = outcome.everything.current(NAME).text
    assert ("first(n > 4)" in text, "second(n > 4)" in text) == (counts, not counts)
    labels = {d.fix.applicability for d in outcome.diagnostics if d.fix is not None and d.code != "DDE413"}
    assert (Applicability.SAFE in labels) is not counts


@pytest.mark.parametrize(("moved", "kept"), [("x + 1", True), ("fresh(x)", False)])
def test_what_only_gradients_ask_of_code_that_was_there_is_a_question_of_its_own(
    moves: pytest.MonkeyPatch, moved: str, kept: bool
) -> None:
    """It was not reached before; what a rewrite has made up itself must ask nothing."""

    class Joint(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            found = super().trace(overlay, first=first)
            lines = overlay.get(NAME, TEXT).splitlines()
            rows = [row for row, line in enumerate(lines, start=1) if f"merged({moved}" in line]
            asked = []
            for row in rows:
                column = lines[row - 1].index(moved) + 1
                span = Span(NAME, row, column, row, column + len(moved))
                asked.append(Question(span, "operator", moved, "u0 == 1", asks=("export",), joint=True))
            return replace(found, questions=(*found.questions, *asked))

    def propose(context: Context) -> Iterator[Candidate]:
        if context.site.statement.lineno == 5:
            span = context.site.source.span(context.site.statement)
            yield Candidate(MERGE, Claim.RESTRUCTURED, "merged", (Edit(span, f"x = merged({moved}, n)"),))

    moves.setitem(MOVES, MERGE, propose)
    text = search(Joint()).everything.current(NAME).text
    assert (f"merged({moved}" in text) is kept


def test_where_time_is_over_the_reason_of_an_earlier_try_is_told(moves: pytest.MonkeyPatch) -> None:
    clock = [100.0]

    class Late(Prover):
        """The last question of the first phase takes all of the time."""

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            text = asked[0].get(NAME, "")
            if text.count("WRONG") == 1:
                clock[0] = 100.0 if "WRONG(n" in text else 0.0
            return super().compare(*asked, **options)

    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "WRONG({test})"))
    outcome = search(Late(), seconds_left=lambda: clock[0])
    refused = [refusal for found in outcome.diagnostics for refusal in found.refused]
    reasons = [refusal.reason for refusal in refused if refusal.move == SHORTCUT]
    assert len(reasons) == 2
    assert all("seed 0: value differs" in reason for reason in reasons)
    assert [refusal.reason for refusal in refused if refusal.move == OUTLINE] == [TIME_IS_OVER] * 2


def test_the_first_phase_leaves_time_for_what_is_unsafe(moves: pytest.MonkeyPatch) -> None:
    """Each try takes a second; the first phase alone has more to try than there is time."""
    clock = [20.0]

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            clock[0] -= 1.0
            return super().compare(*asked, **options)

    def wrong(context: Context) -> Iterator[Candidate]:
        span = context.site.span
        test = context.site.source.segment(span)
        for number in range(30):
            yield Candidate(SHORTCUT, Claim.GENERAL_PATH, "", (Edit(span, f"WRONG{number}({test})"),))

    moves.setitem(MOVES, SHORTCUT, wrong)
    moves.setitem(MOVES, PROMISE, replacing(PROMISE, Claim.PROMISE, "promised({test})"))
    asked: list[float] = []
    phases = Search(asking(Slow()), seconds_left=lambda: clock[0])
    run = phases._phase.run

    def noting(state: State, *, allow_unsafe: bool, **further: bool) -> State:
        asked.append(clock[0] if allow_unsafe else 0.0)
        return run(state, allow_unsafe=allow_unsafe, **further)

    moves.setattr(phases._phase, "run", noting)
    phases.run()
    assert max(asked) > 8.0


def test_what_was_not_needed_beside_a_wrong_fix_is_there_at_the_next_start() -> None:
    span = Span(NAME, 5, 8, 5, 13)
    diagnostic = Diagnostic("DDE102", "", span)
    original = History({NAME: SourceFile(NAME, TEXT)})

    def step(number: int, history: History) -> Step:
        row = 5 if number == 1 else 7
        edit = Edit(Span(NAME, row, 8, row, 13), f"merged{number}(1 > 0)")
        candidate = Candidate(MERGE, Claim.RESTRUCTURED, "", (edit,))
        return Step(number, Key(NAME, row, 8, "", "truth"), diagnostic, candidate, (), Applicability.SAFE, (), None)

    first, second = step(1, original), step(2, original)
    alone = original.add(first.candidate.edits, 1)
    both = alone.add(second.candidate.edits, 2)
    needed = State(both.without(1) or both, [second])
    start = start_without([second], needed, State(both, [first, second]))
    assert [kept.number for kept in start.steps] == [1]
    assert "merged1" in start.history.current(NAME).text


def test_a_fix_goes_with_what_rests_on_it_and_later_ones_stay() -> None:
    diagnostic = Diagnostic("DDE102", "", Span(NAME, 5, 8, 5, 13))
    history, steps = History({NAME: SourceFile(NAME, TEXT)}), []
    for number, (row, old, new) in enumerate([(5, "n > 4", "f(1)"), (5, "1", "g(2)"), (5, "2", "3"), (7, "m", "k")], 1):
        column = history.current(NAME).lines[row - 1].index(old) + 1
        edit = Edit(Span(NAME, row, column, row, column + len(old)), new)
        history = history.add([edit], number)
        candidate = Candidate(MERGE, Claim.RESTRUCTURED, "", (edit,), last_resort=number == 1)
        key = Key(NAME, row, column, "", "truth")
        steps.append(Step(number, key, diagnostic, candidate, (), Applicability.SAFE, (), None))
    kept = ordinary(State(history, steps))
    assert [step.number for step in kept.steps] == [4]
    assert kept.history.current(NAME).text == TEXT.replace("m > 5", "k > 5")


class Begun:
    """Stands where requests are begun: notes them, and answers nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.targets: list[tuple[str, ...]] = []
        self.forgotten = 0

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        self.texts.append(overlay.get(NAME, TEXT))
        return TraceResult((), runs=0, failure=EntryFailure("ahead", "has only been begun"))

    def compare(self, *asked: Any, **options: Any) -> Comparison:
        return Comparison(0, 0, False, failure=EntryFailure("ahead", "has only been begun"))

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        self.targets.append(targets)
        return Compilation((), failure=EntryFailure("ahead", "has only been begun"))

    def forget(self) -> None:
        self.forgotten += 1


def side_by_side(prover: Prover, begun: Begun, targets: tuple[str, ...] = ("export",)) -> Asking:
    sources = {NAME: SourceFile(NAME, TEXT)}
    return Asking(prover, sources, targets, samples=8, diagnose=diagnose, types={}, ahead=begun, width=2)


def several(*templates: str) -> object:
    """A move that offers each template for the asking test."""

    def propose(context: Context) -> Iterator[Candidate]:
        for template in templates:
            yield from replacing(SHORTCUT, Claim.GENERAL_PATH, template)(context)  # type: ignore[operator]

    return propose


def test_what_is_begun_beforehand_changes_no_outcome(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(
        MOVES, SHORTCUT, several("({test})", "WRONG and {test}", "RAISES or {test}", "not compiling and {test}")
    )
    begun = Begun()
    found, one_by_one = Search(side_by_side(Prover(), begun)).run(), search(Prover())
    assert found.diagnostics == one_by_one.diagnostics
    assert found.everything.overlay == one_by_one.everything.overlay != {}
    assert found.compilation == one_by_one.compilation
    assert begun.forgotten


def test_the_next_candidate_is_traced_while_one_is_tried(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, several("WRONG and {test}", "not compiling and {test}"))
    begun, tried = Begun(), []

    class Noting(Prover):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            tried.append((overlay.get(NAME, TEXT), list(begun.texts)))
            return super().trace(overlay, first=first)

    Search(side_by_side(Noting(), begun)).run()
    alone = [(text, known) for text, known in tried if text.count("WRONG") == 1]
    assert alone
    assert all(any(text.replace("WRONG", "not compiling") == other for other in known) for text, known in alone)


def test_once_a_question_has_had_its_share_nothing_more_is_traced_for_it() -> None:
    clock, begun = [50.0], []

    def expect_alone(state: object, question: object, key: object, candidate: str, allow_unsafe: bool) -> None:
        begun.append(candidate)
        clock[0] -= 10.0

    phase: Any = SimpleNamespace(
        _offered=lambda *_: iter("abcde"),
        _seconds_left=lambda: clock[0],
        _trying=SimpleNamespace(expect_alone=expect_alone),
        _asking=SimpleNamespace(width=2),
        hopeless=(),
    )
    nothing: Any = None
    given = Phase._looked_ahead(phase, nothing, nothing, nothing, nothing, False, [], 25.0)
    assert [*given] == [*"abcde"]
    assert begun == [*"abc"]


def test_targets_are_verified_side_by_side_and_told_as_one(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))

    class ByTarget(Prover):
        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            found = super().compile(overlay, targets, samples, backend)
            return replace(found, backward=True if "compile" in targets else None, notes=("inductor",))

    begun = Begun()
    together = Search(side_by_side(ByTarget(), begun, ("export", "compile"))).run().compilation
    assert begun.targets[:2] == [("compile",), ("export",)]  # what takes longest comes first
    assert together is not None
    assert [result.target for result in together.results] == ["export", "compile"]
    assert (together.backward, together.notes) == (True, ("inductor",))


def test_a_target_that_fails_to_run_fails_the_verification(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))

    class Dies(Prover):
        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            if "compile" in targets and overlay:
                return Compilation((), failure=EntryFailure("memory", "took too much"))
            return super().compile(overlay, targets, samples, backend)

    one = Search(asking(Dies())).run()
    outcome = Search(side_by_side(Dies(), Begun(), ("export", "compile"))).run()
    assert outcome.compilation == Compilation((), failure=EntryFailure("memory", "took too much"))
    assert [d.fix for d in outcome.diagnostics] == [d.fix for d in one.diagnostics]


def test_what_was_kept_back_for_the_end_is_used_where_the_end_takes_less(moves: pytest.MonkeyPatch) -> None:
    """What a verification takes is a guess at first: the second candidate is tried once it is known."""
    moves.setitem(MOVES, SHORTCUT, several("WRONG and {test}", "not compiling and {test}"))
    left, kept_back = [50.0], [30.0]

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, samples, _ = asked
            left[0] -= 5.0
            if samples == 8 and "WRONG" not in overlay[NAME]:
                kept_back[0] = 1.0
            return super().compare(*asked, **options)

    outcome = search(Slow(), seconds_left=lambda: left[0], reserved=lambda verified: kept_back[0])
    assert outcome.everything.current(NAME).text.count("not compiling") == 2


def test_what_is_left_over_of_the_time_is_used_for_what_is_no_question(moves: pytest.MonkeyPatch) -> None:
    """What stops a front end and is no question is found late, by the verification that time was reserved for."""
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.EQUIVALENT, "not compiling and {test}"))
    moves.setitem(MOVES, CONVERSION, replacing(CONVERSION, Claim.EQUIVALENT, "converted({test})"))
    left = [60.0]

    class Unsupported(Prover):
        """Tracing asks of `n`; what is done with `m` stops export."""

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            traced = super().trace(overlay, first=first)
            return TraceResult(tuple(q for q in traced.questions if q.expression.startswith("n")), runs=1)

        def compare(self, *asked: Any, **options: Any) -> Comparison:
            left[0] -= 10.0
            return super().compare(*asked, **options)

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            asked = [q for q in super().trace(overlay).questions if q.expression.startswith("m")]
            stops = tuple(replace(question, kind="other", expression="") for question in asked)
            return Compilation(tuple(TargetResult(t, "cpu", not stops, questions=stops) for t in targets))

    outcome = search(Unsupported(), seconds_left=lambda: left[0], reserved=lambda verified: 40.0 * verified)
    text = outcome.everything.current(NAME).text
    assert "not compiling and n > 4" in text
    assert "converted(m > 5)" in text


@pytest.mark.parametrize("width", [1, 2])
def test_what_stops_an_exporter_is_tried_before_inductor_is_given_its_time(
    moves: pytest.MonkeyPatch, width: int
) -> None:
    general = replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}")
    moves.setitem(MOVES, SHORTCUT, where("n > 4", general))
    moves.setitem(MOVES, CONVERSION, replacing(CONVERSION, Claim.EQUIVALENT, "converted({test})"))
    original, targets = TEXT.replace("m > 5", "len(x)"), ("compile", "export")
    verified: dict[str, list[str]] = {target: [] for target in targets}

    class Stopping(Prover):
        """Export stops at `len(x)`, which is no question."""

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            text, results = overlay.get(NAME, original), []
            for target in targets:
                verified[target] += [text] if backend == "inductor" else []
                stops = target == "export" and "if len(x)" in text
                question = Question(Span(NAME, 7, 8, 7, 14), "other", "", "cannot swap", asks=("export",))
                results.append(TargetResult(target, "cpu", not stops, (question,) if stops else ()))
            return Compilation(tuple(results))

    begun = Begun()
    sources = {NAME: SourceFile(NAME, original)}
    asked = Asking(Stopping(), sources, targets, samples=8, diagnose=diagnose, types={}, ahead=begun, width=width)
    outcome = Search(asked).run()
    before = original.replace("n > 4", "not compiling and n > 4")
    fixed = before.replace("len(x)", "converted(len(x))")
    assert outcome.everything.current(NAME).text == fixed
    assert verified == {"export": [before, fixed], "compile": [fixed]}
    assert outcome.compilation is not None
    assert [(result.target, result.ok) for result in outcome.compilation.results] == [(t, True) for t in targets]
    assert begun.targets[:2] == ([("compile",), ("export",)] if width == 2 else [])


def test_what_is_reserved_for_verifying_is_used_where_a_question_is_left(moves: pytest.MonkeyPatch) -> None:
    """A program that still asks is not verified: all of what was reserved for that would be left over."""
    moves.setitem(MOVES, SHORTCUT, several(*(f"WRONG{number} and {{test}}" for number in range(3)), "right and {test}"))
    left = [80.0]

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            left[0] -= 3.0
            return super().compare(*asked, **options)

    def text(share: float) -> str:
        left[0] = 80.0
        reserved = (lambda verified: share) if share else (lambda verified: 70.0 * verified)
        outcome = search(Slow(), seconds_left=lambda: left[0], reserved=reserved)
        return outcome.everything.current(NAME).text

    assert text(70.0).count("right and") < 2
    assert text(0.0).count("right and") == 2
    assert left[0] > 0


def test_nothing_is_safe_that_could_not_be_run_on_all_samples(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))

    class OutOfTime(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            overlay, _, _, quick = asked
            if not quick and "not compiling and m" in overlay[NAME] and "not compiling and n" in overlay[NAME]:
                return Comparison(0, 0, False, failure=EntryFailure("timeout", TIME_IS_OVER))
            return super().compare(*asked, **options)

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            found = super().trace(overlay, first=first)
            return found if overlay else replace(found, questions=found.questions[:1])

    outcome = search(OutOfTime())
    fixes = [found.fix for found in outcome.diagnostics]
    assert [fix.applicability.value for fix in fixes if fix is not None] == ["unsafe", "unsafe"]
    assert outcome.everything.current(NAME).text.count("not compiling") == 2
    assert outcome.safe.overlay == {}
    for found in outcome.diagnostics:
        assert found.evidence is not None
        assert found.evidence.eager_equal is None
        assert any(TIME_IS_OVER in note for note in found.evidence.notes)


def test_nothing_is_safe_that_was_not_run_in_all_the_ways_there_are(moves: pytest.MonkeyPatch) -> None:
    moves.setitem(MOVES, SHORTCUT, replacing(SHORTCUT, Claim.GENERAL_PATH, "not compiling and {test}"))

    class Slow(Prover):
        def compare(self, *asked: Any, **options: Any) -> Comparison:
            quick = asked[-1]
            found = super().compare(*asked, **options)
            return found if quick else replace(found, left_out=("in train()", "in double precision"))

    outcome = search(Slow())
    fixes = [found.fix for found in outcome.diagnostics]
    reason = "time ran out before it was run in train(), in double precision"
    assert [(fix.applicability.value, fix.reasons) for fix in fixes if fix is not None] == [("unsafe", (reason,))] * 2
    assert outcome.everything.current(NAME).text.count("not compiling") == 2
    assert outcome.safe.overlay == {}


def test_a_move_is_not_made_at_one_place_without_end() -> None:
    key = Key(NAME, 5, 8, "n > 4", "truth")
    candidate = Candidate(SHORTCUT, Claim.GENERAL_PATH, "again", ())
    question = Question(Span(NAME, 5, 8, 5, 13), "truth", "n > 4", "u0 > 4")
    diagnostic = diagnose(question, SourceFile(NAME, TEXT))
    state = State(History({NAME: SourceFile(NAME, TEXT)}))
    for number in range(3):
        assert not is_repeated(state, replace(key, text=f"({number}, n > 4)"), candidate)
        state.steps.append(Step(number, key, diagnostic, candidate, (), Applicability.SAFE, (), None))
    assert is_repeated(state, replace(key, text="another wording"), candidate)
    assert not is_repeated(state, replace(key, row=7), candidate)
    assert not is_repeated(state, key, replace(candidate, move=MERGE))


def fixed_state(*applicabilities: Applicability) -> State:
    """A state with a fix for each `if` of the program, in order."""
    history, steps = History({NAME: SourceFile(NAME, TEXT)}), []
    for number, (row, applicability) in enumerate(zip((5, 7), applicabilities), 1):
        span = Span(NAME, row, 8, row, 13)
        candidate = Candidate(MERGE, Claim.EQUIVALENT, "", (Edit(span, "True"),))
        history = history.add(candidate.edits, number)
        key = Key(NAME, row, 8, "", "truth")
        steps.append(Step(number, key, Diagnostic("DDE101", "", span), candidate, (), applicability, (), None, False))
    return State(history, steps)


@pytest.mark.parametrize(
    ("found", "safe"),
    [
        ((Applicability.SAFE, Applicability.SAFE), [1, 2]),
        ((Applicability.SAFE, Applicability.UNSAFE), [1]),
        ((Applicability.UNSAFE, Applicability.SAFE), []),  # the second may rest on the first
    ],
)
def test_what_is_safe_is_called_so_whenever_it_was_found(found: tuple[Applicability, ...], safe: list[int]) -> None:
    everything = fixed_state(*found)
    alone = with_all_that_is_safe(State(History({NAME: SourceFile(NAME, TEXT)})), everything)
    assert [step.number for step in alone.steps] == safe
    assert alone.history.current(NAME).text.count("if True") == len(safe)


def test_what_is_not_safe_for_another_fix_says_so() -> None:
    """The second is right by itself, and was run with the first, which is unsafe."""
    everything = fixed_state(Applicability.UNSAFE, Applicability.SAFE)
    everything.steps[0] = replace(everything.steps[0], reasons=("it differs in train()",))
    equal = Comparison(samples=8, declared=8, equal=True)
    found = diagnostics(everything, State(History({NAME: SourceFile(NAME, TEXT)})), equal)
    together = "it was run only together with fixes that are unsafe"
    assert [d.fix.reasons for d in found if d.fix is not None] == [("it differs in train()",), (together,)]
    assert [together in d.evidence.notes for d in found if d.evidence is not None] == [False, True]


def test_code_that_was_taken_out_is_never_safe() -> None:
    state = fixed_state(Applicability.SAFE)
    candidate = state.steps[0].candidate
    equal = Comparison(samples=8, declared=8, equal=True)
    assert doubts(equal, candidate, (), state) == []
    assert doubts(equal, replace(candidate, last_resort=True), (), state) == ["it takes code out of what is compiled"]


def test_a_program_that_still_asks_has_no_further_safe_fixes() -> None:
    everything = fixed_state(Applicability.SAFE)
    everything.given_up[Key(NAME, 7, 8, "", "truth")] = Diagnostic("DDE101", "", Span(NAME, 7, 8, 7, 13))
    nothing = State(History({NAME: SourceFile(NAME, TEXT)}))
    assert with_all_that_is_safe(nothing, everything) is nothing


def test_a_fix_that_went_half_of_the_way_hides_nothing() -> None:
    """`int(x.sum())` became `int(x.sum().item())`, which asks at the same place."""
    everything = fixed_state(Applicability.SAFE)
    span = everything.steps[0].diagnostic.span
    everything.given_up[Key(NAME, span.row, span.column, "", "integer")] = Diagnostic("DDE101", "", span)
    found = diagnostics(everything, State(History({NAME: SourceFile(NAME, TEXT)})), None)
    assert [(d.span, d.fix is None) for d in found] == [(span, False), (span, True)]
    assert len(merge([], found)) == 2


def test_what_inductor_alone_has_asked_is_needed_where_it_asks_again(moves: pytest.MonkeyPatch) -> None:
    class Lowers(Prover):
        """Tracing asks of `n`; Inductor asks of `m`, and nothing before it does."""

        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            traced = super().trace(overlay, first=first)
            asked = tuple(question for question in traced.questions if question.expression.startswith("n"))
            return TraceResult(asked, runs=1, unbacked=1)

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            asked = [q for q in super().trace(overlay).questions if q.expression.startswith("m")]
            left = tuple(replace(q, asks=("inductor",)) for q in asked if backend in INDUCTOR_BACKENDS)
            return Compilation(tuple(TargetResult(t, "cpu", not left, questions=left) for t in targets))

    moves.setitem(MOVES, MERGE, replacing(MERGE, Claim.RESTRUCTURED, "merged({test})"))
    found = Asking(Lowers(), {NAME: SourceFile(NAME, TEXT)}, ("compile",), samples=8, diagnose=diagnose, types={})
    text = Search(found).run().everything.current(NAME).text
    assert "merged(n > 4)" in text
    assert "merged(m > 5)" in text
