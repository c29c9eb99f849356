"""The way of a finding's numbers, from where they are born to where they are asked for, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from ddelint.diagnostics import Diagnostic, Span, Symbol
from ddelint.report.style import bounds


@dataclass(frozen=True, slots=True)
class Step:
    """One place on the way: what stands there (`code`), and a few words on it. Without a span: a fact."""

    code: str
    words: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """All births lead through the steps, in their order, to the question."""

    births: tuple[Step, ...]
    steps: tuple[Step, ...]
    question: Step

    @property
    def places(self) -> tuple[Step, ...]:
        """Everything that stands somewhere, in the order in which it is passed."""
        return tuple(step for step in (*self.births, *self.steps, self.question) if step.span is not None)


def flow_of(diagnostic: Diagnostic) -> Flow:
    """The flow of one finding; births without a place (an argument's size) are among its births, too."""
    births = tuple(_birth(symbol) for symbol in diagnostic.symbols)
    seen = {diagnostic.span, *(step.span for step in births)}
    steps: list[Step] = []
    for span, sentence in reversed(diagnostic.breadcrumbs):
        if span not in seen:
            steps.append(Step("", sentence, span))
            seen.add(span)
    for frame in diagnostic.frames:
        if frame.inside and frame.span not in seen and frame.carriers:
            names = ", ".join(dict.fromkeys(name for name, _ in frame.carriers))
            steps.append(Step(names, f"handed on by {frame.function}", frame.span))
            seen.add(frame.span)
    steps += [Step(f"{e.name} = {e.expression}", "what the compiler knows of it") for e in diagnostic.equalities]
    question = Step(diagnostic.expression or diagnostic.message, "asked here", diagnostic.span)
    return Flow(births, tuple(steps), question)


def _birth(symbol: Symbol) -> Step:
    facts = bounds(symbol)
    code = symbol.expression or symbol.name
    named = f"`{symbol.name}` is born here" if symbol.name and symbol.name != code else "born here"
    if symbol.created is None:
        named = f"`{symbol.name}`" if symbol.name and symbol.name != code else "an input"
    return Step(code, f"{named} ({facts})" if facts else named, symbol.created)
