"""What a test counts: rows of tensors of which there are as many as data says, and how many it lets pass at least.

What is asked behind such a count, in the same test, reads elements that may not be there once both are computed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.kinds import Kind, Kinds, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.polarity import least_where
from ddelint.rewrite.writing.rewrites import Expr

_MOST_ROWS = 8


def rows_behind(test: ast.expr, answer: bool) -> dict[str, int]:
    """How many rows tensors have at least where a test comes to `answer`, as far as the text says.

    Several elements may be of one row.
    """
    some = dict.fromkeys(counted(test, rows_of, answer), 1)
    return most_of_each(some, counted(test, _rows_by_length, answer))


def most_of_each(*counts: Mapping[str, int]) -> dict[str, int]:
    """Of several counts of one thing the largest."""
    return _largest(pair for count in counts for pair in count.items())


def _largest(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(pairs, key=lambda pair: pair[1]))


def counted(test: ast.expr, counted_of: Callable[[ast.expr], str], answer: bool | None) -> dict[str, int]:
    """What a test counts, as `counted_of` reads it, each with how many there are at least where it gives `answer`."""
    return {} if answer is None else _largest(_counted(test, counted_of, answer))


def _counted(test: ast.expr, counted_of: Callable[[ast.expr], str], answer: bool) -> Iterator[tuple[str, int]]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _counted(operand, counted_of, not answer)
        case ast.BoolOp(op=operator, values=values):
            if answer is isinstance(operator, ast.And):
                for value in values:
                    yield from _counted(value, counted_of, answer)
        case ast.Compare(left=ast.Constant(value=0), ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
            if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and answer is isinstance(operator, ast.NotIn):
                yield from ((name, 1) for each in right.elts if (name := counted_of(each)))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            rows = least_where(operator, integer(right), answer)
            if 0 < rows <= _MOST_ROWS:
                yield from ((name, min(rows, most)) for name, most in _counted_by(left, counted_of))
        case _ if answer:
            yield from ((name, 1) for name, _ in _counted_by(test, counted_of))


def _counted_by(number: ast.expr, counted_of: Callable[[ast.expr], str]) -> Iterator[tuple[str, int]]:
    """What a number counts, and up to how many of each it says: of a product only that there is one."""
    match number:
        case ast.Call(args=[_, _, *_] as numbers) if called(number) in knowledge().least:
            for each in numbers:
                yield from _counted_by(each, counted_of)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for each in (left, right):
                yield from ((name, 1) for name, _ in _counted_by(each, counted_of))
        case _ if name := counted_of(number):
            yield name, _MOST_ROWS


def rows_of(node: ast.expr) -> str:
    """`x` of `x.shape[0]`, `len(x)`, `x.size(0)`, `x.numel()`; empty where it is none of these."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[]):
            return name if attr in knowledge().element_counts else ""
    return _rows_by_length(node)


def _rows_by_length(node: ast.expr) -> str:
    """`x` of `x.shape[0]`, `len(x)` and `x.size(0)`, which count rows, not elements."""
    match node:
        case (
            ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=0))
            | ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=0)])
        ):
            return name
    return ""


def elements_behind(context: Context, node: ast.expr, rows: Mapping[str, int]) -> dict[ast.AST, Expr]:
    """What a test reads of tensors that have so many rows where it is asked, in a form that raises for fewer, neither.

    `x[0]`, `x[-1]` and `x.max()`, of zeros where there is nothing: whatever these give then, nobody asks for it.
    """
    found: dict[ast.AST, Expr] = {}
    kinds = Kinds(context)
    rows = {name: least for name, least in rows.items() if kinds.of(ast.Name(name, ast.Load())) is Kind.TENSOR}
    for inner in ast.walk(node) if rows else ():
        match inner:
            case ast.Subscript(value=ast.Name(id=name) as tensor, slice=index, ctx=ast.Load()) if name in rows:
                first = integer(index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index)
                if first is not None and -rows[name] <= first < rows[name]:
                    found[tensor] = _with_zeros(context, tensor, rows[name], in_front=first < 0)
            case ast.Call() if called(inner) in knowledge().extremes:
                reduced = tensor_argument(inner)
                if isinstance(reduced, ast.Name) and reduced.id in rows:
                    least, size = rows[reduced.id], context.write.expr("{}.shape[0]", reduced)
                    filled = _with_zeros(context, reduced, least, in_front=False)
                    found[reduced] = context.write.expr("{}[: torch.sym_max({}, {n})]", filled, size, n=least)
    return found


def zeros_like_rows(context: Context, name: str, rows: int) -> Expr:
    """So many rows of zeros, alike in all else to those of a tensor."""
    shape = Kinds(context).shape(ast.Name(name, ast.Load()))
    template = "{x}.new_zeros({n})" if shape is not None and len(shape) == 1 else "{x}.new_zeros(({n}, *{x}.shape[1:]))"
    return context.write.expr(template, x=name, n=rows)


def _with_zeros(context: Context, tensor: ast.Name, rows: int, *, in_front: bool) -> Expr:
    zeros = zeros_like_rows(context, tensor.id, rows)
    return context.write.expr("torch.cat([{}])", [zeros, tensor] if in_front else [tensor, zeros])
