"""`match`: patterns, case by case."""

from __future__ import annotations

import ast

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
from ddelint.static.transfer.runs import element_of
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk import hints
from ddelint.static.walk.branching import branch
from ddelint.static.walk.comparing import compared_link
from ddelint.static.walk.objects import attribute_of
from ddelint.static.walk.records import as_series, record_fields
from ddelint.static.walk.walker import Walker

_NUMBERS = (Constant, Known, Unbacked)


def match_statement(walker: Walker, node: ast.Match, state: State) -> State | None:
    """The state after the statement; None where no path gets past it."""
    subject = walker.evaluate(node.subject, state)
    ends: list[State] = []
    remaining: State | None = state
    for case in node.cases:
        if remaining is None:
            break
        entry: State | None = remaining.copy()
        assert entry is not None
        verdict = _matches(walker, case.pattern, subject, entry, node.subject, remaining)
        if verdict is False:
            continue
        if case.guard is not None:
            entry, _ = branch(walker, case.guard, entry)
        elif verdict is True:
            remaining = None
        end = walker.block(case.body, entry)
        if end is not None:
            ends.append(end)
    if remaining is not None:
        ends.append(remaining)
    return join_states(ends)


def _matches(
    walker: Walker, pattern: ast.pattern, value: Value, state: State, subject: ast.expr, otherwise: State | None
) -> bool | None:
    """Whether the pattern fits, None where that is open. Binds names in `state`.

    What follows from a literal that does not fit is learned in `otherwise`, where that is given.
    """
    match pattern:
        case ast.MatchValue(value=literal):
            return _equals(walker, literal, value, state, subject, otherwise)
        case ast.MatchSingleton(value=single):
            return _is(walker, single, value)
        case ast.MatchAs(pattern=inner, name=name):
            verdict = True if inner is None else _matches(walker, inner, value, state, subject, otherwise)
            if name is not None:
                state.names[name] = value
            return verdict
        case ast.MatchOr(patterns=patterns):
            verdicts = [_matches(walker, inner, value, state, subject, None) for inner in patterns]
            return True if True in verdicts else (None if None in verdicts else False)
        case ast.MatchSequence(patterns=patterns):
            return _sequence(walker, patterns, value, state, subject)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            return _mapping(walker, keys, patterns, rest, value, state, subject)
        case ast.MatchClass():
            return _class(walker, pattern, value, state, subject)
    return None


def _equals(
    walker: Walker, literal: ast.expr, value: Value, state: State, subject: ast.expr, otherwise: State | None
) -> bool | None:
    compare = ast.copy_location(ast.Compare(subject, [ast.Eq()], [literal]), literal)
    result = bare(compared_link(walker, compare, ast.Eq(), value, walker.evaluate(literal, state), state))
    verdict = decide(result, state.facts)
    if verdict is None and asks(result):
        text = f"{walker.source.segment(subject)} == {walker.source.segment(literal)}"
        walker.record(literal, "truth", result, parts=((subject, bare(value)),), text=text)
        if isinstance(result, Unbacked) and len(result.comparisons) == 1:
            state.facts.learn(result.comparisons[0])
            if otherwise is not None:
                otherwise.facts.learn(result.comparisons[0].negated())
    return verdict


def _is(walker: Walker, single: object, value: Value) -> bool | None:
    if value == NONE:
        return single is None
    if isinstance(value, Constant):
        return value.value is single
    surely = isinstance(value, (Tensor, Unbacked, Series, Table, Instance, Module))
    return False if single is None and surely else None


def _sequence(
    walker: Walker, patterns: list[ast.pattern], value: Value, state: State, subject: ast.expr
) -> bool | None:
    plain = as_series(walker, bare(value))
    if isinstance(plain, (Tensor, Unbacked, Known, Constant, Table)):
        return False  # a tensor is no sequence to `match`
    star = next((i for i, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)), None)
    items = plain.items if isinstance(plain, Series) else None
    if items is None:
        each = [element_of(plain) for _ in patterns]
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
        verdict = _both(verdict, _matches(walker, pattern, item, state, subject, None))
        if verdict is False:
            break
    return verdict


def _mapping(
    walker: Walker,
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
        name = walker.evaluate(key, state)
        item: Value = UNKNOWN
        if isinstance(plain, Table) and isinstance(name, Constant):
            item = plain.entries.get(name.value, plain.element)
            verdict = verdict if name.value in plain.entries else None
        verdict = _both(verdict, _matches(walker, pattern, item, state, subject, None))
        if verdict is False:
            return False
    if rest is not None:
        state.names[rest] = Table()
    return verdict


def _class(walker: Walker, pattern: ast.MatchClass, value: Value, state: State, subject: ast.expr) -> bool | None:
    plain = bare(value)
    tensor = hints.names_tensor(pattern.cls)
    verdict: bool | None = None
    if tensor and isinstance(plain, Tensor):
        verdict = None if isinstance(value, Optional) else True
    elif tensor is False and isinstance(plain, Tensor):
        return None
    names = list(pattern.kwd_attrs)
    inner = [*pattern.patterns, *pattern.kwd_patterns]
    fields: tuple[str, ...] = ()
    if isinstance(plain, Instance):
        fields = record_fields(walker, plain.cls) or ()
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
            item = attribute_of(walker, plain, attribute, state)
        verdict = _both(verdict, _matches(walker, part, item, state, subject, None))
    return verdict


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True
