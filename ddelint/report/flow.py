"""The way of a finding's numbers, from where they are born to where they are asked for, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ddelint.nouns.diagnostics import Diagnostic, Span, Symbol
from ddelint.report.style import bounds


@dataclass(frozen=True, slots=True)
class Step:
    """One place on the way: what stands there (`code`), and a few words on it. Without a span: a fact."""

    code: str
    words: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """All births lead through the steps, in their order, to the question.

    What one of them, number `traced`, was computed from leads there: the `origins`, the outermost first.
    """

    births: tuple[Step, ...]
    steps: tuple[Step, ...]
    question: Step
    origins: tuple[Step, ...] = ()
    traced: int = 0

    @property
    def is_one_place(self) -> bool:
        """Whether there is no way to go: all that is asked about is born within the question."""
        if self.steps or self.origins:
            return False
        asked = self.question.span
        return all(step.span is not None and asked is not None and asked.contains(step.span) for step in self.births)

    @property
    def places(self) -> tuple[Step, ...]:
        """Everything that stands somewhere, in the order in which it is passed."""
        return tuple(
            step for step in (*self.origins, *self.births, *self.steps, self.question) if step.span is not None
        )


def flow_of(diagnostic: Diagnostic, text_of: Callable[[Span], str] = lambda span: "") -> Flow:
    """The flow of one finding; births without a place (an argument's size) are among its births, too.

    `text_of` gives the source under a span, for steps of which nothing but the place is known.
    """
    together: dict[tuple[Span | None, str], list[Symbol]] = {}
    for symbol in diagnostic.symbols:
        together.setdefault((symbol.created, symbol.expression or symbol.name), []).append(symbol)
    births = tuple(_birth(symbols) for symbols in together.values())
    born = [step.span for step in births]
    seen = {diagnostic.span, *born}
    origins: list[Step] = []
    steps: list[Step] = []
    traced = 0
    for span, sentence in reversed(diagnostic.breadcrumbs):
        if span in born and not origins:
            traced, origins, steps = born.index(span), steps, []
        elif span not in seen:
            steps.append(Step(text_of(span), sentence, span))
            seen.add(span)
    within = any(span is not None and diagnostic.span.contains(span) for span in born)
    if within and not origins:  # born where it is asked for: whatever else there is comes before
        origins, steps = steps, []
    for frame in diagnostic.frames:
        if frame.inside and frame.span not in seen and frame.carriers:
            names = ", ".join(dict.fromkeys(name for name, _ in frame.carriers))
            steps.append(Step(names, f"handed on by {frame.function}", frame.span))
            seen.add(frame.span)
    steps += [Step(f"{e.name} = {e.expression}", "what the compiler knows of it") for e in diagnostic.equalities]
    question = Step(diagnostic.expression or diagnostic.message, "asked here", diagnostic.span)
    return Flow(births, tuple(steps), question, tuple(origins), traced)


def _birth(symbols: list[Symbol]) -> Step:
    """Where these symbols, all of one expression, are made."""
    first = symbols[0]
    code = first.expression or first.name
    names = list(dict.fromkeys(f"`{symbol.name}`" for symbol in symbols if symbol.name and symbol.name != code))
    facts = ", ".join(dict.fromkeys(fact for symbol in symbols if (fact := bounds(symbol))))
    if first.created is None:
        words = ", ".join(names) or "an input"
    else:
        words = f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} born here" if names else "born here"
    return Step(code, f"{words} ({facts})" if facts else words, first.created)
