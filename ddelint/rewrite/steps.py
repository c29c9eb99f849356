"""What a search has kept so far: fixes, what it gave up on, and the texts that these have come to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ddelint.diagnostics import Applicability, Claim, Diagnostic, Question, Span
from ddelint.protocol import Compilation, Decision
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.history import History
from ddelint.sites import locate

VALIDATION = "DDE103"
_EMPTINESS = "DDE102"


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two questions of two versions of a text the same: the original place, the words, the kind."""

    filename: str
    row: int
    column: int
    text: str
    kind: str


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


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate for one question of a trace, to be tried together with those of others."""

    number: int
    key: Key
    question: Question
    diagnostic: Diagnostic
    candidate: Candidate
    decisions: tuple[Decision, ...]


@dataclass
class State:
    """One phase's running state."""

    history: History
    steps: list[Step] = field(default_factory=list)
    given_up: dict[Key, Diagnostic] = field(default_factory=dict)
    others: dict[Key, Diagnostic] = field(default_factory=dict)
    """Named, not chased: what stops export or compile and is not data-dependent, and guesses that turned out wrong."""
    tried: set[Key] = field(default_factory=set)
    """Those of `others` that a move was offered for, in vain."""
    compilation: Compilation | None = None


def dropped(state: State, step: Step) -> State:
    """The state without a step; the same where a later one rests on it."""
    history = state.history.without(step.number)
    if history is None:
        return state
    return replace(state, history=history, steps=[other for other in state.steps if other.number != step.number])


def key_of(history: History, question: Question) -> Key:
    """What a question of a current text is known by, whatever was changed around it."""
    source = history.current(question.span.filename)
    site = locate(source, question.span)
    span = site.span if site is not None else question.span
    home = history.home(span)
    return Key(source.filename, home.row, home.column, " ".join(source.segment(span).split()), question.kind)


def decisions_of(history: History, candidate: Candidate, question: Question) -> tuple[Decision, ...]:
    """What must be seen on both sides: what the move says, and where one side is chosen, the asking test itself."""
    spans = list(candidate.decisions)
    site = locate(history.current(question.span.filename), question.span)
    if question.kind == "truth" and candidate.claim is Claim.GENERAL_PATH and site is not None and site.decision:
        spans.append(site.span)
    return tuple(dict.fromkeys(_decision(history.home(span)) for span in spans))


def _decision(span: Span) -> Decision:
    return Decision(f"{span.filename}:{span.row}:{span.column}:{span.end_row}:{span.end_column}", span)


def contents(candidate: Candidate) -> str:
    """What tells two candidates of one move for one question apart, wherever they stand by now."""
    return "\0".join(edit.content for edit in candidate.edits)


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
    """What speaks for looking further: 0 nothing, 1 it is a guess, 2 it stops inputs that eager returns for."""
    return 2 if step.raises else int(is_guess(step))
