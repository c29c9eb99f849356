"""What a search has kept so far: fixes, what it gave up on, and the texts that these have come to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Question, Span
from ddelint.nouns.protocol import Compilation, Decision
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.handlers import may_be_caught
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.left_out import optional_tests
from ddelint.rewrite.reading.polarity import general_side
from ddelint.rewrite.search.history import History
from ddelint.sources.sites import Block, Role, Site, locate

VALIDATION = "DDE103"
_EMPTINESS = "DDE102"
_MOST_REPEATS = 3
"""How often one move is made at one place: what it writes may ask again, and is then a place of its own."""


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two questions of two versions of a text the same: the original place, the words, the kind."""

    filename: str
    row: int
    column: int
    text: str
    kind: str

    @property
    def place(self) -> tuple[str, int, int, str]:
        """All but the words."""
        return self.filename, self.row, self.column, self.kind


@dataclass(frozen=True, slots=True)
class Step:
    """A kept fix."""

    number: int
    key: Key
    diagnostic: Diagnostic
    """With its span on the original text."""
    candidate: Candidate
    decisions: tuple[Decision, ...]
    applicability: Applicability
    reasons: tuple[str, ...]
    """Why it is not safe."""
    sides: tuple[int, int] | None
    raises: bool = False
    """Whether it is a check that stops, on the path that is compiled, an input for which the original returns."""
    parts: bool = False
    """Whether the path that is compiled leaves something else than the original, though no result shows it, or does so
    in a way of running that nobody declared (see `verdict`)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate for one question of a trace, to be tried together with those of others."""

    number: int
    key: Key
    question: Question
    diagnostic: Diagnostic
    candidate: Candidate
    decisions: tuple[Decision, ...]
    settled: bool
    """Whether one side is enough (see `is_settled`)."""


@dataclass
class State:
    """One phase's running state."""

    history: History
    steps: list[Step] = field(default_factory=list)
    given_up: dict[Key, Diagnostic] = field(default_factory=dict)
    others: dict[Key, Diagnostic] = field(default_factory=dict)
    """Named, not chased: what stops export or compile and is not data-dependent, and guesses that turned out wrong."""
    tried: set[Key] = field(default_factory=set)
    """Those of `others` that a move was offered for, none of which cleared them."""
    compilation: Compilation | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The tests that the steps have rewritten."""
        return tuple(decision for step in self.steps for decision in step.decisions)


def dropped(state: State, step: Step) -> State:
    """The state without a step; the same where a later one rests on it."""
    history = state.history.without(step.number)
    if history is None:
        return state
    return replace(state, history=history, steps=[other for other in state.steps if other.number != step.number])


def without(state: State, steps: Sequence[Step]) -> State:
    """What a search may begin with again: the state's fixes but these, and but what rests on them."""
    for step in steps:
        while any(step.number == other.number for other in state.steps):
            state = dropped(state, _to_go_first(state, step))
    return State(state.history, list(state.steps))


def _to_go_first(state: State, step: Step) -> Step:
    """The step itself, or the one at the end of what rests on it; the last where that is no step of the state's."""
    resting = state.history.resting_on(step.number)
    if resting is None:
        return step
    later = next((other for other in state.steps if other.number == resting), None)
    return _to_go_first(state, later) if later is not None else state.steps[-1]


def ordinary(state: State) -> State:
    """The state's fixes without those that take code out of its program, and without what rests on these."""
    return without(state, [step for step in state.steps if step.candidate.last_resort])


def going_on(state: State) -> State:
    """A state with the same fixes, in which nothing has been given up."""
    return State(state.history, list(state.steps), {}, dict(state.others))


def reworded(state: State) -> list[Step]:
    """The fixes of a single comparison that only put it in other words: the state asks it all the same."""
    asked = {key.place for key in state.given_up}
    found = []
    for step in state.steps:
        key = step.key
        if key.kind == "truth" and key.place in asked:
            site = locate(state.history.original(key.filename), step.diagnostic.span)
            if site is not None and isinstance(site.node, ast.Compare) and len(site.node.ops) == 1:
                found.append(step)
    return found


def is_settled(history: History, candidate: Candidate, diagnostic: Diagnostic) -> bool:
    """Whether no input need show both sides: eager keeps its text, or reads the same number off what a run has shown to
    be a tensor."""
    entry = knowledge().without_trace.get(diagnostic.code)
    if entry is None or candidate.move not in entry.moves or entry.applicability is not Applicability.SAFE:
        return False
    site = locate(history.current(diagnostic.span.filename), diagnostic.span)
    return candidate.claim is Claim.EQUIVALENT and site is not None and not may_be_caught(site)


def key_of(history: History, question: Question) -> Key:
    """What a question of a current text is known by, whatever was changed around it."""
    source = history.current(question.span.filename)
    site = locate(source, question.span)
    span = site.span if site is not None else question.span
    home = history.home(span)
    return Key(source.filename, home.row, home.column, " ".join(source.segment(span).split()), question.kind)


def decisions_of(
    history: History,
    candidate: Candidate,
    question: Question,
    asked: Sequence[Question] = (),
    steps: Sequence[Step] = (),
) -> tuple[Decision, ...]:
    """What must be seen on both sides: what the move says, and where one side is chosen, the asking test itself.

    Of `asked`, the questions of the same trace, those inside an arm that the compiled program leaves out or always
    takes count, too, and those inside a branch of which both arms are computed: what stands behind a test that no
    input answered with yes was never seen. So do the tests that earlier `steps` have rewritten there.
    """
    spans = list(candidate.decisions)
    site = locate(history.current(question.span.filename), question.span)
    if question.kind == "truth" and candidate.claim is Claim.GENERAL_PATH and site is not None and site.decision:
        spans.append(site.span)
    side = compiled_side(candidate)
    found = [_decision(history.home(span), side) for span in spans]
    if side is not None or candidate.claim is Claim.RESTRUCTURED:
        arms = [arm for span in spans for taken in (True, False) for arm in _rows_behind(history, span, taken)]
        found += [_decision(history.home(inner), None) for inner in _tests_inside(history, arms, asked, question)]
        found += _decided_inside([history.home(arm) for arm in arms], steps)
    if question.kind == "truth" and candidate.claim is Claim.GENERAL_PATH and site is not None:
        found += _optional_behind(history, site, side, asked)
    return tuple({decision.key: decision for decision in reversed(found)}.values())[::-1]


def _optional_behind(history: History, site: Site, side: bool | None, asked: Sequence[Question]) -> Iterator[Decision]:
    """The tests for what callers may leave out in what is compiled for all inputs, and in what is left out there."""
    statement, source = site.statement, site.source
    if side is None and site.decision is not None:
        side = general_side(site.decision)
    if side is None or not isinstance(statement, ast.If) or site.role is not Role.IF_TEST:
        return
    known = {question.span for question in asked}
    for file, test in optional_tests(source, statement, side):
        span = file.span(test)
        if span not in known:
            text = "" if file is source else " ".join(file.segment(span).split())
            yield replace(_decision(history.home(span), None), optional=True, text=text)


def tests_of(history: History, asked: Sequence[Question]) -> tuple[Decision, ...]:
    """The tests among what is asked, whichever side is compiled."""
    sites = [locate(history.current(question.span.filename), question.span) for question in asked]
    tests = [site.source.span(site.decision) for site in sites if site is not None and site.decision is not None]
    return tuple(
        {decision.key: decision for decision in (_decision(history.home(test), None) for test in tests)}.values()
    )


def compiled_side(candidate: Candidate) -> bool | None:
    """The side that the new text takes while compiling, whatever the truth; None where it chooses none."""
    if candidate.claim is not Claim.GENERAL_PATH:
        return None
    if candidate.side is not None:
        return candidate.side
    text = "\n".join(edit.content for edit in candidate.edits)
    chosen = {side for pattern, side in _CHOSEN if pattern.search(text)}
    return chosen.pop() if len(chosen) == 1 else None


_CHOSEN = (
    (re.compile(r"\bnot (?:\w{1,40}\.){0,4}is_compiling\(\) and\b"), False),
    (re.compile(r"(?<!\bnot )(?<![\w.])(?:\w{1,40}\.){0,4}is_compiling\(\) or\b"), True),
)
"""What a test that eager alone asks looks like, and the side that is compiled."""


def _rows_behind(history: History, span: Span, side: bool) -> list[Span]:
    """The statements behind `side` of the `if` whose test stands at `span` of a current text."""
    source = history.current(span.filename)
    site = locate(source, span)
    statement = site.statement if site is not None else None
    if not isinstance(statement, ast.If) or source.span(statement.test) != span:
        return []
    return [source.span(inner) for inner in (statement.body if side else statement.orelse)]


def _tests_inside(
    history: History, arms: Sequence[Span], asked: Sequence[Question], question: Question
) -> Iterator[Span]:
    """The tests that ask in or below some statements: what never went both ways there was never seen to matter."""
    for other in asked:
        if other is question or other.kind != "truth":
            continue
        frames = [frame.span for frame in other.frames if frame.inside]
        if any(arm.filename == span.filename and arm.contains(span) for arm in arms for span in (other.span, *frames)):
            site = locate(history.current(other.span.filename), other.span)
            if site is not None and site.role is Role.IF_TEST and site.block is not Block.RAISES and site.decision:
                yield history.current(other.span.filename).span(site.decision)


def _decided_inside(arms: Sequence[Span], steps: Sequence[Step]) -> Iterator[Decision]:
    """The decisions of `steps` in or below some statements of the original text."""
    for step in steps:
        frames = [frame.span for frame in step.diagnostic.frames if frame.inside]
        for decision in step.decisions:
            if any(a.filename == s.filename and a.contains(s) for a in arms for s in (decision.span, *frames)):
                yield replace(decision, compiled=None)


def _decision(span: Span, compiled: bool | None) -> Decision:
    return Decision(f"{span.filename}:{span.row}:{span.column}:{span.end_row}:{span.end_column}", span, compiled)


def contents(candidate: Candidate) -> str:
    """What distinguishes two candidates of one move for one question, wherever they stand by now."""
    return "\0".join(edit.content for edit in candidate.edits)


Known = tuple[Key, str, str]
"""What a candidate is known by, wherever it stands by now: its question, its move, and what it writes."""


def known_as(key: Key, candidate: Candidate) -> Known:
    """What to know a candidate for a question by."""
    return key, candidate.move, contents(candidate)


def is_guess(step: Step) -> bool:
    """Whether the compiled program takes one side where no input took the other: what computes both is better.

    A test for emptiness is none: its general path, run over nothing, is what one would write by hand.
    """
    if step.diagnostic.code == _EMPTINESS:
        return False
    return is_unsafe_path(step) and bool(step.decisions) and (step.sides is None or 0 in step.sides)


def is_unsafe_path(step: Step) -> bool:
    """Whether the compiled program takes a general path that was not shown to be the same everywhere."""
    return step.candidate.claim is Claim.GENERAL_PATH and step.applicability is Applicability.UNSAFE


def flaws(step: Step) -> int:
    """What speaks for looking further: 0 nothing, 1 it is a guess, or leaves something else where nobody looks, 2 it
    stops inputs that eager returns for."""
    return 2 if step.raises else int(is_guess(step) or step.parts)


def is_repeated(state: State, key: Key, candidate: Candidate) -> bool:
    """Whether a move has been made so often at one place that another time will not help."""
    place = (key.filename, key.row, key.column)
    made = [(s.key.filename, s.key.row, s.key.column) for s in state.steps if s.candidate.move == candidate.move]
    return made.count(place) >= _MOST_REPEATS
