"""What a loop asks of one place of its tensors, asked of all places that it may come to.

What Python works out of numbers that are read (`x[i].item() * 3`) is worked out in the widest type, and only where
that is the same for every number: Python's integers don't wrap, and its floats are doubles. What torch works out of
one place it works out of all places in the same type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.search_bounds import (
    Bound,
    NotSearched,
    ends_before,
    length_of,
    moved,
    never_negative,
    rows_in,
)
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import names_read
from ddelint.rewrite.writing.rewrites import Expr, Part

_BITS = {"bool": 1, "uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
_FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
_HALVES = frozenset(("float16", "bfloat16"))
"""Types in which eager rounds each result, and compiled code the last one alone."""
_MOST_BITS = 62
"""What may come of arithmetic with integers of 64 bits."""
_EXACT_BITS = 32
"""Integers that double precision, in which they are compared with floats, holds as they are."""
_WIDENED = {"float64": "{}.double()", "int64": "{}.long()"}


@dataclass(frozen=True, slots=True)
class Search:
    """`while {index} < {bound} and …: {index} += 1`; backwards: `while {index} > {bound} and …: {index} -= 1`."""

    index: str
    backwards: bool
    bound: Bound
    """Where it ends at the latest: the first number at which nothing is looked at; backwards a literal one."""
    asked: Sequence[ast.expr]
    """What must hold at a place for the loop to go past it."""


@dataclass(frozen=True, slots=True)
class _Value:
    """What one side of a question is: at each place, or the same at all."""

    built: Part
    dtype: str
    """Of a tensor; for a number `int`, `float` or `bool`; empty where it isn't known."""
    is_number: bool
    """Whether Python works it out."""
    is_along: bool
    bits: int = 0
    """How large an integer of Python's is at most."""


def reads(search: Search) -> Iterator[ast.Subscript]:
    """What is read at places that the index says."""
    for part in search.asked:
        for node in ast.walk(part):
            if isinstance(node, ast.Subscript) and search.index in names_read(node.slice):
                yield node


def fitting(context: Context, search: Search) -> None:
    """Raises NotSearched where a place may be counted from the end, or the pieces read are not of one length."""
    found = [(rows_in(context, node.value), _shift(node.slice, search.index)) for node in reads(search)]
    shifts = {shift for _, shift in found}
    index = ast.Name(search.index, ast.Load())
    if not found or len({rows for rows, _ in found}) != 1 or not found[0][0]:
        raise NotSearched
    rows, furthest = found[0][0], max(shifts)
    if search.backwards:
        is_fitting = len(shifts) == 1 or ends_before(context, search.index, furthest, rows)
        is_fitting &= search.bound.more + 1 + min(shifts) >= 0 and number_kind(Kinds(context), index) == "int"
    else:
        is_fitting = len(shifts) == 1 or _ends_inside(context, search.bound, furthest, rows)
        is_fitting &= min(shifts) >= 0 and never_negative(context, index)
    if not is_fitting:
        raise NotSearched


def _ends_inside(context: Context, bound: Bound, furthest: int, rows: str) -> bool:
    """Whether so far behind each place in front of the bound, there is one."""
    if bound.number is not None:
        return bound.more + furthest <= 0 and length_of(context, bound.number) == rows
    return rows.isdecimal() and bound.more + furthest <= int(rows)


def asked_along(context: Context, search: Search, node: ast.expr) -> Expr:
    """What is asked of one place, as booleans for all places that the loop may go past. Raises NotSearched."""
    write = context.write
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return write.expr("~{}", asked_along(context, search, operand))
        case ast.BoolOp(op=operator, values=values):
            joined = ast.BitAnd() if isinstance(operator, ast.And) else ast.BitOr()
            return write.joined(joined, [asked_along(context, search, value) for value in values])
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if not isinstance(
            operator, (ast.In, ast.NotIn, ast.Is, ast.IsNot)
        ):
            sides = _together(context, [_value(context, search, side) for side in (left, right)])
            if not any(side.is_along for side in sides):
                raise NotSearched
            return write.operation(sides[0].built, operator, sides[1].built)
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return asked_along(context, search, inner)
    found = _value(context, search, node)
    if not found.is_along:
        raise NotSearched
    return write.expression(found.built) if found.dtype == "bool" else write.expr("({} != 0)", found.built)


def _value(context: Context, search: Search, node: ast.expr) -> _Value:
    """A value at one place, for all of them; what is the same at each stays as it is. Raises NotSearched."""
    write = context.write
    if search.index not in names_read(node):
        return _same_everywhere(context, node)
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[], keywords=[]):
            return _as_numbers(_value(context, search, inner))
        case (
            ast.Call(func=ast.Attribute(value=inner, attr="abs"), args=[], keywords=[])
            | ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[])
        ):
            found = _value(context, search, inner)
            if found.is_number:
                found = _widened(context, found)
                if found.bits > _MOST_BITS:
                    raise NotSearched
            return _Value(write.expr("{}.abs()", found.built), found.dtype, found.is_number, True, found.bits)
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as operator):
            return _worked_out(context, operator, *(_value(context, search, side) for side in (left, right)))
        case ast.Subscript(value=read, slice=place) if search.index not in names_read(read):
            dtype = Kinds(context).dtype(read)
            if dtype in _BITS or dtype in _FLOATS:
                return _Value(_places(context, search, read, _shift(place, search.index)), dtype, False, True)
    raise NotSearched


def _same_everywhere(context: Context, node: ast.expr) -> _Value:
    """A number, or a tensor of no dimension. Raises NotSearched."""
    kinds = Kinds(context)
    if kind := number_kind(kinds, node):
        literal = integer(node)
        bits = 64 if literal is None else literal.bit_length()
        if literal is not None and bits > _MOST_BITS:
            raise NotSearched
        return _Value(node, kind, True, False, bits if kind == "int" else int(kind == "bool"))
    if kinds.of(node) is Kind.TENSOR and kinds.shape(node) == () and kinds.dtype(node):
        return _Value(node, kinds.dtype(node), False, False)
    raise NotSearched


def _as_numbers(found: _Value) -> _Value:
    """What `.item()` gives of each. Raises NotSearched."""
    if found.is_number or not found.dtype:
        raise NotSearched
    return _Value(found.built, found.dtype, True, True, _BITS.get(found.dtype, 0))


def _widened(context: Context, found: _Value, *, to_double: bool = False) -> _Value:
    """Python's numbers at all places, in the type that holds all of them."""
    to_double |= found.dtype in _FLOATS
    wide = "float64" if to_double else "int64"
    if found.dtype == wide or not found.is_along:
        return found
    return _Value(context.write.expr(_WIDENED[wide], found.built), wide, True, True, found.bits)


def _is_float(found: _Value) -> bool:
    return found.dtype == "float" or found.dtype in _FLOATS


def _together(context: Context, values: Sequence[_Value]) -> list[_Value]:
    """Two values as they can be compared, or reckoned with, at all places as at one. Raises NotSearched."""
    if any(value.is_number and value.is_along for value in values):
        if not all(value.is_number for value in values):
            raise NotSearched
        has_float = any(map(_is_float, values))
        if has_float and any(value.bits > _EXACT_BITS for value in values):
            raise NotSearched
        return [_widened(context, value, to_double=has_float) for value in values]
    known = {value.dtype for value in values if not value.is_number}
    if any(not value.is_number and not value.is_along for value in values) and (len(known) > 1 or "" in known):
        raise NotSearched  # a tensor of no dimension gives way to one of several, not to another of none
    return list(values)


def _worked_out(context: Context, operator: ast.operator, first: _Value, second: _Value) -> _Value:
    """A sum, a product, at all places. Raises NotSearched."""
    sides = _together(context, [first, second])
    built = context.write.operation(sides[0].built, operator, sides[1].built)
    if not any(side.is_number and side.is_along for side in sides):
        tensors = {side.dtype for side in sides if not side.is_number}
        if not tensors.isdisjoint(_HALVES):
            raise NotSearched
        dtype = tensors.pop() if len(tensors) == 1 else ""
        return _Value(built, dtype if dtype in _FLOATS else "", False, True)
    if isinstance(operator, ast.Div):
        raise NotSearched  # Python raises for a zero, and divides integers exactly
    if any(map(_is_float, sides)):
        return _Value(built, "float64", True, True)
    sizes = [side.bits for side in sides]
    bits = sum(sizes) if isinstance(operator, ast.Mult) else max(sizes) + 1
    if bits > _MOST_BITS:
        raise NotSearched
    return _Value(built, "int64", True, True, bits)


def _places(context: Context, search: Search, read: ast.expr, shift: int) -> Expr:
    """`x[i]`, `x[i + 1]` at all places that the loop may come to."""
    write = context.write
    start = moved(context, search.index, shift)
    if not search.backwards:
        return write.expr("{}[{}:{}]", read, start, search.bound.written(context, shift, read))
    first, end = search.bound.more + 1 + shift, moved(context, search.index, 1 + shift)
    last = write.expr("torch.sym_max({}, 0)", end)
    return write.expr("{}[{}:{}]", read, str(first), last) if first else write.expr("{}[:{}]", read, last)


def _shift(place: ast.expr, index: str) -> int:
    """How far from the index a place is. Raises NotSearched."""
    match place:
        case ast.Name(id=name) if name == index:
            return 0
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub() as way, right=right) if name == index:
            if (number := integer(right)) is not None:
                return -number if isinstance(way, ast.Sub) else number
    raise NotSearched
