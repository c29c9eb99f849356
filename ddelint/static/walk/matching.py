"""`match`: which cases can be reached, what their patterns bind, and where a literal is compared with data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddelint.static.domain.state import State, join_states
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Instance,
    Known,
    Module,
    Optional,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    series,
)
from ddelint.static.walk import hints

if TYPE_CHECKING:
    from ddelint.static.walk.interpreter import Interpreter

_NUMBERS = (Constant, Known, Unbacked)


class Matching:
    """Interprets `match` statements for an interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def run(self, node: ast.Match, state: State) -> State | None:
        """The state after the statement; None where no path gets past it."""
        subject = self._interpreter.evaluate(node.subject, state)
        ends: list[State] = []
        remaining: State | None = state
        for case in node.cases:
            if remaining is None:
                break
            entry: State | None = remaining.copy()
            assert entry is not None
            verdict = self._matches(case.pattern, subject, entry, node.subject, remaining)
            if verdict is False:
                continue
            if case.guard is not None:
                entry, _ = self._interpreter.branch(case.guard, entry)
            elif verdict is True:
                remaining = None
            end = self._interpreter.block(case.body, entry)
            if end is not None:
                ends.append(end)
        if remaining is not None:
            ends.append(remaining)
        return join_states(ends)

    def _matches(
        self, pattern: ast.pattern, value: Value, state: State, subject: ast.expr, otherwise: State | None
    ) -> bool | None:
        """Whether the pattern fits, None where that is open. Binds names in `state`.

        What follows from a literal that does not fit is learned in `otherwise`, where that is given.
        """
        match pattern:
            case ast.MatchValue(value=literal):
                return self._equals(literal, value, state, subject, otherwise)
            case ast.MatchSingleton(value=single):
                return self._is(single, value)
            case ast.MatchAs(pattern=inner, name=name):
                verdict = True if inner is None else self._matches(inner, value, state, subject, otherwise)
                if name is not None:
                    state.names[name] = value
                return verdict
            case ast.MatchOr(patterns=patterns):
                verdicts = [self._matches(inner, value, state, subject, None) for inner in patterns]
                return True if True in verdicts else (None if None in verdicts else False)
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(patterns, value, state, subject)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                return self._mapping(keys, patterns, rest, value, state, subject)
            case ast.MatchClass():
                return self._class(pattern, value, state, subject)
        return None

    def _equals(
        self, literal: ast.expr, value: Value, state: State, subject: ast.expr, otherwise: State | None
    ) -> bool | None:
        interpreter = self._interpreter
        compare = ast.copy_location(ast.Compare(subject, [ast.Eq()], [literal]), literal)
        result = bare(interpreter.compared(compare, ast.Eq(), value, interpreter.evaluate(literal, state), state))
        verdict = interpreter.decide(result, state)
        if verdict is None and interpreter.asks(result):
            text = f"{interpreter.source.segment(subject)} == {interpreter.source.segment(literal)}"
            interpreter.record(literal, "truth", result, parts=((subject, bare(value)),), text=text)
            if isinstance(result, Unbacked) and len(result.comparisons) == 1:
                state.facts.learn(result.comparisons[0])
                if otherwise is not None:
                    otherwise.facts.learn(result.comparisons[0].negated())
        return verdict

    def _is(self, single: object, value: Value) -> bool | None:
        if value == NONE:
            return single is None
        if isinstance(value, Constant):
            return value.value is single
        surely = isinstance(value, (Tensor, Unbacked, Series, Table, Instance, Module))
        return False if single is None and surely else None

    def _sequence(self, patterns: list[ast.pattern], value: Value, state: State, subject: ast.expr) -> bool | None:
        interpreter = self._interpreter
        plain = interpreter.records.as_series(bare(value))
        if isinstance(plain, (Tensor, Unbacked, Known, Constant, Table)):
            return False  # a tensor is no sequence to `match`
        star = next((i for i, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)), None)
        items = plain.items if isinstance(plain, Series) else None
        if items is None:
            each = [interpreter.element_of(plain, state) for _ in patterns]
            verdict: bool | None = None
        elif star is None:
            if len(items) != len(patterns):
                return False
            each, verdict = list(items), True
        else:
            if len(items) < len(patterns) - 1:
                return False
            end = len(items) - (len(patterns) - star - 1)
            each, verdict = [*items[:star], series(items[star:end]), *items[end:]], True
        if isinstance(value, Optional):
            verdict = None
        for pattern, item in zip(patterns, each):
            if isinstance(pattern, ast.MatchStar):
                if pattern.name is not None:
                    state.names[pattern.name] = item if items is not None else Series("list", None, item, KNOWN)
                continue
            verdict = _both(verdict, self._matches(pattern, item, state, subject, None))
            if verdict is False:
                break
        return verdict

    def _mapping(
        self,
        keys: list[ast.expr],
        patterns: list[ast.pattern],
        rest: str | None,
        value: Value,
        state: State,
        subject: ast.expr,
    ) -> bool | None:
        plain = bare(value)
        verdict: bool | None = True if isinstance(plain, Table) and plain.element == UNKNOWN else None
        for key, pattern in zip(keys, patterns):
            name = self._interpreter.evaluate(key, state)
            item: Value = UNKNOWN
            if isinstance(plain, Table) and isinstance(name, Constant):
                item = plain.entries.get(name.value, plain.element)
                verdict = verdict if name.value in plain.entries else None
            verdict = _both(verdict, self._matches(pattern, item, state, subject, None))
            if verdict is False:
                return False
        if rest is not None:
            state.names[rest] = Table()
        return verdict

    def _class(self, pattern: ast.MatchClass, value: Value, state: State, subject: ast.expr) -> bool | None:
        interpreter = self._interpreter
        plain = bare(value)
        tensor = hints.names_tensor(pattern.cls, interpreter.index)
        verdict: bool | None = None
        if tensor and isinstance(plain, Tensor):
            verdict = None if isinstance(value, Optional) else True
        elif tensor is False and isinstance(plain, Tensor):
            return None
        names = list(pattern.kwd_attrs)
        inner = [*pattern.patterns, *pattern.kwd_patterns]
        fields: tuple[str, ...] = ()
        if isinstance(plain, Instance):
            fields = interpreter.records.fields(plain.cls) or ()
        if len(pattern.patterns) == 1 and not fields:
            names = ["", *names]  # int(n): the subject itself
        elif len(fields) >= len(pattern.patterns):
            names = [*fields[: len(pattern.patterns)], *names]
        else:
            names = [*[" "] * len(pattern.patterns), *names]
        for name, part in zip(names, inner):
            if not name:
                item: Value = plain if isinstance(plain, _NUMBERS) else UNKNOWN
            elif name == " " or plain == UNKNOWN:
                item = UNKNOWN
            else:
                attribute = ast.copy_location(ast.Attribute(subject, name, ast.Load()), subject)
                item = interpreter.attribute_of(plain, attribute, state)
            verdict = _both(verdict, self._matches(part, item, state, subject, None))
        return verdict


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True
