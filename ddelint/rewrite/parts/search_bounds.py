"""Where a loop that only counts begins and ends: slices from there to there must not count from a tensor's end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.counted import rows_of
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import called, fresh_name, names_read, places_of_stores
from ddelint.rewrite.reading.polarity import FLIPPED
from ddelint.rewrite.writing.rewrites import Part, Statements


class NotSearched(Exception):
    """The loop is not of this form."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`number + more`, or `more` alone: the first number at which a loop looks at nothing."""

    number: ast.expr | None
    more: int
    name: str = ""
    """The name that it was given, never below zero."""

    def written(self, context: Context, shift: int, read: ast.expr) -> Part:
        """The end of a slice of `read`, so much further on; zero where it would be below."""
        more, write = self.more + shift, context.write
        if self.name:
            return moved(context, self.name, shift)
        if self.number is None:
            return str(max(more, 0))
        end = moved(context, self.number, more)
        # of nothing, all but the last is nothing
        is_end = more == -1 and isinstance(read, ast.Name) and rows_of(self.number) == read.id
        safe = is_end or (more >= 0 and never_negative(context, self.number))
        return end if safe else write.expr("torch.sym_max({}, 0)", end)

    def named(self, context: Context) -> tuple[Bound, Statements]:
        """It under a name, for what is read at several places."""
        if self.number is None:
            return self, []
        name = fresh_name(context.site.source, "end")
        value = self.written(context, 0, ast.Constant(None))
        return replace(self, name=name), context.write.assigned(name, value)


def bound_of(context: Context, part: ast.expr, index: str, *, backwards: bool) -> Bound | None:
    """The bound that a part of the test says of the index: `i < n`, `n > i`, `i <= n`; backwards `i > 0`, `i >= 1`."""
    match part:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[bound]) if name == index:
            relation = type(operator)
        case ast.Compare(left=bound, ops=[operator], comparators=[ast.Name(id=name)]) if name == index:
            relation = FLIPPED.get(type(operator), type(operator))
        case _:
            return None
    if index in names_read(bound) or number_kind(Kinds(context), bound) != "int":
        return None
    number, more = _sum(bound)
    if relation is (ast.GtE if backwards else ast.LtE):
        more += -1 if backwards else 1
    elif relation is not (ast.Gt if backwards else ast.Lt):
        return None
    return None if backwards and number is not None else Bound(number, more)


def _sum(node: ast.expr) -> tuple[ast.expr | None, int]:
    """A number as another and a literal one."""
    if (literal := integer(node)) is not None:
        return None, literal
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as way, right=right):
            if (literal := integer(right)) is not None:
                number, more = _sum(left)
                return number, more + (literal if isinstance(way, ast.Add) else -literal)
    return node, 0


def moved(context: Context, start: Part, shift: int) -> Part:
    """A number, so much larger."""
    if not shift:
        return start
    return context.write.expr("{} + {}" if shift > 0 else "{} - {}", start, str(abs(shift)))


def never_negative(context: Context, node: ast.expr, asking: frozenset[str] = frozenset()) -> bool:
    """Whether the text says that an integer is zero or more: a length, a literal, a name that is given nothing else."""
    if rows_of(node) or ((literal := integer(node)) is not None and literal >= 0):
        return True
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return never_negative(context, left, asking) and never_negative(context, right, asking)
        case ast.Name(id=name):
            if name in asking:
                return True
            given = list(_given(context, name))
            return bool(given) and all(
                value is not None and not isinstance(way, ast.Sub) and never_negative(context, value, asking | {name})
                for value, way in given
            )
    return False


def ends_before(context: Context, index: str, shift: int, rows: str) -> bool:
    """Whether a loop that goes down begins so far in front of the end of what it reads: `i = len(x) - 1` for `x[i]`."""
    given = list(_given(context, index))
    for value, way in given:
        if value is None:
            return False
        number, more = _sum(value)
        if way is not None:
            if not isinstance(way, ast.Sub) or number is not None or more < 0:
                return False
        elif number is None or more + shift >= 0 or length_of(context, number) != rows:
            return False
    return bool(given)


def length_of(context: Context, node: ast.expr) -> str:
    """How long the tensor of one dimension is whose length a number is, as its type says; empty for other numbers."""
    name = rows_of(node)
    return rows_in(context, ast.Name(name, ast.Load())) if name else ""


def rows_in(context: Context, node: ast.expr) -> str:
    """How long a tensor of one dimension is; empty for all else."""
    fact = Kinds(context).fact(node)
    shape = fact.shape if fact is not None and fact.kind == "tensor" else None
    return str(shape[0]) if shape is not None and len(shape) == 1 else ""


def _given(context: Context, name: str) -> Iterator[tuple[ast.expr | None, ast.operator | None]]:
    """All that a function gives a name; nothing for what comes from elsewhere, None for what has no text."""
    function, source = context.site.function, context.site.source
    if function is None:
        return
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=other) | ast.MatchAs(name=other) | ast.MatchStar(name=other) if other == name:
                yield None, None
            case ast.ExceptHandler(name=other) if other == name:
                yield None, None
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                yield None, None
            case ast.alias(name=other, asname=alias) if name in (other, alias):
                yield None, None
    for place in places_of_stores(function, name):
        match source.parents.get(place):
            case ast.Assign(targets=[ast.Name()], value=value) | ast.NamedExpr(value=value):
                yield value, None
            case ast.AnnAssign(value=value):
                yield value, None
            case ast.AugAssign(op=ast.Add() | ast.Sub() as way, value=value):
                yield value, way
            case ast.For(target=ast.Name(), iter=ast.Call(args=[counted]) as iterated) if called(iterated) == "range":
                yield (ast.Constant(0) if number_kind(Kinds(context), counted) == "int" else None), None
            case ast.Tuple(elts=targets) as several:
                yield _beside(source.parents.get(several), targets.index(place), len(targets)), None
            case _:
                yield None, None


def _beside(statement: ast.AST | None, place: int, count: int) -> ast.expr | None:
    """What the target at a place of `i, j = 0, n` is given."""
    match statement:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)) if len(values) == count:
            return None if any(isinstance(value, ast.Starred) for value in values) else values[place]
    return None
