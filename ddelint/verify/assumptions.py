"""Answers that torch assumed while exporting, without a run-time assertion, and the inputs on which they are wrong.

`guard_or_false(n == 1)` in the framework goes on as if `n` weren't 1. Most of these answers are right, or make no
difference. So nothing is said of one until an exported program, replayed, differs from eager on an input for which the
answer was wrong: broadcasting one row is the usual case. Source: `ShapeEnv._log_suppressed_dde`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import sympy
import torch

from ddelint.knowledge.operators import operators
from ddelint.nouns.diagnostics import Frame, Question, Span
from ddelint.nouns.protocol import Mismatch
from ddelint.trace import naming, provenance, torch_internals
from ddelint.trace.entry import Arguments
from ddelint.trace.provenance import Blame, Paths, Sources

KIND = "assumed"
_LAYOUT = operators().layout_questions


@dataclass(frozen=True)
class _Where:
    """A place in the user's code, and what it calls the symbols there."""

    span: Span
    frames: tuple[Frame, ...]
    named: naming.Named


@dataclass(frozen=True)
class _Guess:
    condition: sympy.Basic
    answer: bool
    where: _Where
    layout: bool
    """Whether only strides hang on the answer where it was first given: the values are the same either way."""


@dataclass
class Assumptions:
    """What was assumed in the code under `paths` while one program was exported."""

    paths: Paths
    until: CodeType
    """The code of the caller of export: frames above it don't count."""
    _guesses: dict[sympy.Basic, _Guess] = field(default_factory=dict)
    """The first of each kind: torch remembers its answers, and isn't heard when it gives them again."""
    _asserted: dict[sympy.Basic, _Where] = field(default_factory=dict)
    """What torch asserts at run time."""
    _sources: Sources = field(default_factory=Sources)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Inside, what torch assumes is taken down."""
        with torch_internals.watched_assumptions(self._note_guess, self._note_asserted):
            yield

    def wrong_on(self, exported: torch.nn.Module, arguments: Arguments, mismatch: Mismatch) -> Question | None:
        """The guess that is wrong on `arguments`, for which the exported program differs; None where all are right.

        Where an assertion fails, too, its place is blamed: that is where the guess was used. One that was first made
        for a layout may have been used again there, which nobody hears; it is blamed for nothing else.
        """
        if not self._guesses:
            return None
        numbers = _numbers(exported, arguments)
        wrong = [guess for guess in self._guesses.values() if _truth(guess.condition, numbers) is (not guess.answer)]
        failed = [condition for condition in self._asserted if _truth(condition, numbers) is False]
        for condition in failed:
            for guess in wrong:
                if guess.condition.free_symbols & condition.free_symbols:
                    return _question(guess, self._asserted[condition], mismatch)
        alone = next((guess for guess in wrong if not guess.layout), None)
        return _question(alone, alone.where, mismatch) if alone is not None and not failed else None

    def _note_guess(self, condition: Any, answer: bool) -> None:
        if isinstance(condition, sympy.Basic) and condition not in self._guesses:
            who = self._blame()
            if who is not None:
                self._guesses[condition] = _Guess(condition, answer, self._where(who), _is_about_layout(who))

    def _note_asserted(self, condition: Any) -> None:
        if isinstance(condition, sympy.Basic) and condition.free_symbols and condition not in self._asserted:
            who = self._blame()
            if who is not None:
                self._asserted[condition] = self._where(who)

    def _blame(self) -> Blame | None:
        who = provenance.blame(provenance.live_stack(self.until), self.paths)
        return who if who is not None and who.inside else None

    def _where(self, who: Blame) -> _Where:
        values = naming.visible_values(who.place, provenance.function_of(who.place, self._sources))
        return _Where(
            provenance.expression_at(who.place, self._sources).span,
            provenance.frames_of(who, self.paths, self._sources),
            naming.names_in(values),
        )


def _truth(condition: sympy.Basic, numbers: Mapping[sympy.Symbol, int]) -> bool | None:
    truth = condition.subs(numbers)
    return bool(truth) if truth in (sympy.true, sympy.false) else None


def _question(guess: _Guess, where: _Where, mismatch: Mismatch) -> Question:
    guessed = guess.condition if guess.answer else sympy.Not(guess.condition)
    return Question(
        span=where.span,
        kind=KIND,
        expression=naming.written(guessed, where.named, {}, set()),
        raw=str(guess.condition),
        frames=where.frames,
        detail=f"{mismatch.sample}: {mismatch.aspect} differs (eager {mismatch.expected}, exported {mismatch.got})",
    )


def _is_about_layout(who: Blame) -> bool:
    """Whether a guess was made for the strides."""
    names = {place.code.co_name for place in who.stack[who.last_user + 1 :]}
    return any(layout in name for layout in _LAYOUT for name in names)


def _numbers(exported: torch.nn.Module, arguments: Arguments) -> Mapping[sympy.Symbol, int]:
    """What each symbol of an exported program stands for in a run, as far as the run gets."""
    args, kwargs = arguments
    watch = _Watch(exported)
    flat = torch_internals.leaves((args, kwargs))
    with torch.no_grad(), contextlib.suppress(Exception):
        watch.run(*flat, enable_io_processing=False)
    return watch.numbers


class _Watch(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph node by node and compares the sizes it meets with those that tracing wrote down."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__(module)
        self.numbers: dict[sympy.Symbol, int] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        """As the base class."""
        result = super().run_node(n)
        for traced, real in zip(_values(n.meta.get("val")), _values(result)):
            for size, number in zip(_sizes(traced), _sizes(real)):
                # what has turned out to be equal since stands under its first name in the questions
                symbol = torch_internals.first_expression_of(getattr(size, "node", None))
                if isinstance(symbol, sympy.Symbol) and isinstance(number, int):
                    self.numbers[symbol] = int(number)
        return result


def _values(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _sizes(value: Any) -> Sequence[Any]:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)
