"""What a loop asks of one place of its tensors, asked of all places that it may come to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import names_read
from ddelint.rewrite.writing.rewrites import Expr, Part

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "{} < {}",
    ast.LtE: "{} <= {}",
    ast.Gt: "{} > {}",
    ast.GtE: "{} >= {}",
    ast.Eq: "{} == {}",
    ast.NotEq: "{} != {}",
}
_LENGTHS = ("len({})", "{}.shape[0]", "{}.size(0)", "{}.numel()")
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


class NotSearched(Exception):
    """The loop is not of this form."""


@dataclass(frozen=True, slots=True)
class Search:
    """`while {index} < {bound} and …: {index} += 1`; backwards: `while {index} > {bound} and …: {index} -= 1`."""

    index: str
    backwards: bool
    bound: Expr | int
    """Where it ends at the latest: the first number at which nothing is looked at; backwards a literal one."""
    asked: Sequence[ast.expr]
    """What must hold at a place for the loop to go past it."""


def bound_of(context: Context, test: ast.expr, part: ast.expr, index: str) -> Expr | int | None:
    """The bound that a part of the test says of the index: `i < n`, `n > i`, `i <= n`; a number for `i > 0`."""
    match part:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[bound]) if name == index:
            relation = type(operator)
        case ast.Compare(left=bound, ops=[operator], comparators=[ast.Name(id=name)]) if name == index:
            relation = _TURNED.get(type(operator), type(operator))
        case _:
            return None
    if index in names_read(bound) or Kinds(context).of(bound) is Kind.TENSOR:
        return None
    write, number = context.write, integer(bound)
    if relation in (ast.Gt, ast.GtE):
        return number if number is None or relation is ast.Gt else number - 1
    if relation is ast.LtE:
        return write.expr("torch.sym_max({} + 1, 0)", bound)
    if relation is not ast.Lt:
        return None
    return write.expr("torch.sym_max({}, 0)" if _may_be_negative(test, bound, index) else "{}", bound)


def _may_be_negative(test: ast.expr, bound: ast.expr, index: str) -> bool:
    """Whether a slice that ends there might count from the end: not for one less than the length of what is read."""
    match bound:
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            read = {ast.unparse(n.value) for n in ast.walk(test) if isinstance(n, ast.Subscript) and _is_at(n, index)}
            return any(ast.unparse(length) not in {form.format(text) for form in _LENGTHS} for text in read)
    return isinstance(bound, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute))


def _is_at(node: ast.Subscript, index: str) -> bool:
    return index in names_read(node.slice)


def asked_along(context: Context, search: Search, node: ast.expr) -> Expr:
    """What is asked of one place, as booleans for all places that the loop may go past. Raises NotSearched."""
    write = context.write
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return write.expr("~{}", asked_along(context, search, operand))
        case ast.BoolOp(op=operator, values=values):
            joined = ast.BitAnd() if isinstance(operator, ast.And) else ast.BitOr()
            return write.joined(joined, [asked_along(context, search, value) for value in values])
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPERATORS:
            sides = [_values(context, search, side) for side in (left, right)]
            return write.expr(_OPERATORS[type(operator)], *sides)
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return asked_along(context, search, inner)
    found = _values(context, search, node)
    if search.index not in names_read(node):
        raise NotSearched
    is_mask = Kinds(context).dtype(_read(node)) == "bool"
    return write.expression(found) if is_mask else write.expr("({} != 0)", found)


def _values(context: Context, search: Search, node: ast.expr) -> Part:
    """A value at one place, for all of them; what is the same at each stays as it is. Raises NotSearched."""
    write = context.write
    if search.index not in names_read(node):
        return node
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="item" | "abs" as method), args=[], keywords=[]):
            found = _values(context, search, inner)
            return found if method == "item" else write.expr("{}.abs()", found)
        case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
            return write.expr("{}.abs()", _values(context, search, inner))
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as operator):
            return write.joined(operator, [_values(context, search, left), _values(context, search, right)])
        case ast.Subscript(value=read, slice=place) if search.index not in names_read(read):
            return _places(context, search, read, place)
    raise NotSearched


def _places(context: Context, search: Search, read: ast.expr, place: ast.expr) -> Expr:
    """`x[i]`, `x[i + 1]` at all places that the loop may come to. Raises NotSearched."""
    fact = Kinds(context).fact(read)
    if fact is None or fact.kind != "tensor" or fact.shape is None or len(fact.shape) != 1:
        raise NotSearched
    write, shift = context.write, _shift(place, search.index)
    if isinstance(search.bound, int):
        first = search.bound + 1 + shift
        if first < 0:
            raise NotSearched
        last = _moved(context, search.index, 1 + shift)
        return write.expr("{}[{}:{}]", read, str(first), last) if first else write.expr("{}[:{}]", read, last)
    if shift < 0:
        raise NotSearched
    return write.expr("{}[{}:{}]", read, _moved(context, search.index, shift), _moved(context, search.bound, shift))


def _shift(place: ast.expr, index: str) -> int:
    """How far from the index a place is. Raises NotSearched."""
    match place:
        case ast.Name(id=name) if name == index:
            return 0
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub() as way, right=right) if name == index:
            if (number := integer(right)) is not None:
                return -number if isinstance(way, ast.Sub) else number
    raise NotSearched


def _moved(context: Context, start: Part, shift: int) -> Part:
    """A number, so much larger."""
    if not shift:
        return start
    return context.write.expr("{} + {}" if shift > 0 else "{} - {}", start, str(abs(shift)))


def _read(node: ast.expr) -> ast.expr:
    """What a truth value is read from, without `.item()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[], keywords=[]):
            return inner
    return node
