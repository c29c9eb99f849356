"""A ShapeEnv that lets an oracle answer what torch cannot, and lets it know of births and of silent specialization."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Protocol

import sympy

from ddelint.trace import torch_internals

Answer = bool | int | float
_ASSUMED = "assumed while exploring"
"""The message of run-time assertions that only answers made."""
_OURS = os.path.dirname(__file__) + os.sep


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One thing that torch cannot know while tracing."""

    kind: str
    """`truth`, `integer`, or `operator` (an operator that answers yes or no), as in diagnostics.Question."""
    expression: sympy.Basic | None
    """None for an operator."""
    detail: str
    """First line of torch's own error."""
    operator: str = ""


class Stopped(BaseException):
    """What an oracle raises to end a run from within a question; no `except Exception` of the user's stops it."""


class Oracle(Protocol):
    """Who answers, and who is notified."""

    def answer(self, observer: Observer, inquiry: Inquiry) -> Answer | None:
        """The answer to go on with; None lets torch's own error through."""

    def born(self, observer: Observer, symbol: sympy.Symbol) -> None:
        """`symbol` was made just now."""

    def specialized(self, observer: Observer, symbol: sympy.Symbol, expression: sympy.Basic, value: Any) -> None:
        """A size declared dynamic was fixed to its example value by evaluating `expression` to `value`."""

    def guarded(self, observer: Observer, expression: sympy.Basic) -> None:
        """The example's sizes decided `expression`: the program is guarded on it (only where `backed`)."""

    def decided(self, observer: Observer, expression: sympy.Basic, answer: Answer) -> None:
        """A question got an answer only because the oracle has answered the same question before."""


class Observer(torch_internals.ShapeEnv):  # type: ignore[misc]
    """Answers questions through its oracle and records each answer as a fact, so that later ones stay consistent."""

    def __init__(self, oracle: Oracle, *, backed: bool = False) -> None:
        super().__init__(**torch_internals.shape_env_settings(shared_symbols=not backed))
        self._oracle = oracle
        self._backed = backed
        self._silent = 0
        self.declared: set[sympy.Symbol] = set()
        """Symbols of input sizes that the user declared dynamic."""
        self.assumed: dict[sympy.Basic, bool] = {}
        """Truth questions that the oracle answered, and how."""
        self.extracted: dict[sympy.Basic, int | float] = {}
        """Numbers that the oracle gave."""
        self.flags: set[sympy.Symbol] = set()
        """Symbols that stand for a bool read from data: torch writes its truth as `Eq(u0, 1)`."""
        self._asserts: dict[tuple[CodeType, int], bool] = {}
        self._assumed_equal: set[sympy.Symbol] = set()
        """Symbols that equal something only because of an answer."""
        self._known_bounds: dict[sympy.Symbol, tuple[int | float | None, int | float | None]] = {}

    def bounds_of(self, symbol: sympy.Symbol) -> tuple[int | float | None, int | float | None]:
        """The bounds of a symbol (inclusive, None: none) as the program states them: not narrowed by answers."""
        return self._known_bounds.get(symbol) or torch_internals.symbol_bounds(self, symbol)

    def equalities(self) -> dict[sympy.Symbol, sympy.Basic]:
        """What unbacked symbols equal as the program states it: not because of answers."""
        known = torch_internals.equalities_of(self, but=_ASSUMED)
        return {symbol: known[symbol] for symbol in known.keys() - self._assumed_equal}

    def silently(self, function: Callable[[], Any]) -> Any:
        """Run `function` with the oracle asleep: questions raise, as in a plain ShapeEnv."""
        self._silent += 1
        try:
            return function()
        finally:
            self._silent -= 1

    def evaluate_expr(self, orig_expr: sympy.Basic, *args: Any, **kwargs: Any) -> sympy.Basic:
        """As ShapeEnv's; the oracle hears when an answer of its own is what decides."""
        result = super().evaluate_expr(orig_expr, *args, **kwargs)
        if not self._silent and self.assumed and _is_truth(orig_expr) and _demands(args, kwargs):
            for asked, sign in ((orig_expr, True), (sympy.Not(orig_expr), False)):
                if asked in self.assumed and self.assumed[asked] == (bool(result) is sign):
                    self._oracle.decided(self, orig_expr, bool(result))
        return result

    def evaluate_sym_node(self, sym_node: Any, *args: Any, **kwargs: Any) -> sympy.Basic:
        """As ShapeEnv's, which knows a number by the oracle's answer alone once it was given."""
        result = super().evaluate_sym_node(sym_node, *args, **kwargs)
        if not self._silent and self.extracted:
            expression = torch_internals.first_expression_of(sym_node)
            if expression in self.extracted:
                self._oracle.decided(self, expression, self.extracted[expression])
        return result

    def _evaluate_expr(self, orig_expr: sympy.Basic, *args: Any, **kwargs: Any) -> sympy.Basic:
        guards = torch_internals.guards_of(self)
        try:
            result = super()._evaluate_expr(orig_expr, *args, **kwargs)
        except torch_internals.Undecidable as error:
            if self._silent:
                raise
            truth = _is_truth(orig_expr)
            detail = next(iter(str(error).splitlines()), "")
            answer = self._oracle.answer(self, Inquiry("truth" if truth else "integer", orig_expr, detail))
            if answer is None:
                raise
            return self._assume(orig_expr, answer, truth)
        if self.declared and not self._silent and _demands(args, kwargs):
            self._look_for_specialization(orig_expr, result)
        if self._backed and not self._silent and torch_internals.guards_of(self) > guards and _is_truth(orig_expr):
            self._oracle.guarded(self, orig_expr)
        return result

    def _assume(self, expression: sympy.Basic, answer: Answer, truth: bool) -> sympy.Basic:
        result: sympy.Basic
        if truth:
            result = sympy.true if answer else sympy.false
            fact = expression if answer else sympy.Not(expression)
            self.assumed[expression] = bool(answer)
        else:
            self.extracted[expression] = answer
            result = sympy.Integer(answer) if expression.is_integer else sympy.Float(answer)
            fact = sympy.Eq(expression, result)
        known = set(torch_internals.equalities_of(self))
        for symbol in expression.free_symbols:
            self._known_bounds.setdefault(symbol, torch_internals.symbol_bounds(self, symbol))
        if fact not in (sympy.true, sympy.false):
            with contextlib.suppress(Exception):  # a fact that torch cannot digest narrows nothing: the answer stands
                self.silently(lambda: self.guard_or_defer_runtime_assert(fact, _ASSUMED))
        self._assumed_equal |= torch_internals.equalities_of(self).keys() - known
        return result

    def _look_for_specialization(self, expression: sympy.Basic, result: sympy.Basic) -> None:
        specialized = {s for s in self.declared if torch_internals.specialized_to(self, s) is not None}
        if not _is_truth(expression) and not expression.is_number:
            specialized |= expression.free_symbols & self.declared
        for symbol in sorted(specialized, key=str):
            self.declared.discard(symbol)
            self._oracle.specialized(self, symbol, expression, result)

    def _make_data_dependent_error(self, expr: sympy.Basic, unhinted_expr: sympy.Basic, **_: Any) -> RuntimeError:
        return torch_internals.undecidable(self, expr, unhinted_expr)

    def _get_user_frame(self) -> Any:
        """As ShapeEnv's (it looks for an `assert` there), which knows nothing of our frames in between."""
        skip = torch_internals.uninteresting_files()
        frame = inspect.currentframe()
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename not in skip and not filename.startswith(_OURS):
                break
            frame = frame.f_back
        return frame

    def _is_python_assert(self) -> bool:
        """As ShapeEnv's, which disassembles the function at each question: once for each place is enough."""
        frame = self._get_user_frame()
        if frame is None:
            return False
        place = (frame.f_code, frame.f_lasti)
        if place not in self._asserts:
            self._asserts[place] = bool(super()._is_python_assert())
        return self._asserts[place]

    def create_unbacked_symint(self, *args: Any, **kwargs: Any) -> Any:
        """As ShapeEnv's, and the oracle is notified."""
        return self._announce(super().create_unbacked_symint(*args, **kwargs))

    def create_unbacked_symfloat(self, *args: Any, **kwargs: Any) -> Any:
        """As ShapeEnv's, and the oracle is notified."""
        return self._announce(super().create_unbacked_symfloat(*args, **kwargs))

    def create_unbacked_symbool(self, *args: Any, **kwargs: Any) -> Any:
        """As ShapeEnv's, and the oracle is notified."""
        flag = super().create_unbacked_symbool(*args, **kwargs)
        expression = torch_internals.expression_of(flag)
        self.flags |= expression.free_symbols if expression is not None else set()
        return self._announce(flag)

    def _announce(self, value: Any) -> Any:
        expression = torch_internals.expression_of(value)
        for symbol in () if expression is None else expression.free_symbols:
            self._oracle.born(self, symbol)
        return value


def _is_truth(expression: sympy.Basic) -> bool:
    """Whether a question wants yes or no (sympy's symbols are Booleans, too)."""
    return bool(expression.is_Relational or (expression.is_Boolean and not expression.is_Symbol))


def _demands(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an evaluation wants the truth, not just a safe guess (guard_or_false, size-oblivious tests)."""
    oblivious = kwargs.get("size_oblivious", args[2] if len(args) > 2 else False)
    fallback = kwargs.get("fallback_value", args[3] if len(args) > 3 else None)
    return not oblivious and fallback is None
