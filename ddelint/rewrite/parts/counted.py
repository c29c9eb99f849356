"""What a test counts: rows of tensors of which there are as many as data says, and how many it lets pass at least.

What is asked behind such a count, in the same test, reads elements that may not be there once both are computed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

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
    some = ((name, 1) for name, _ in counted(test, rows_of, answer))
    return _most_of_each([*some, *counted(test, _by_length, answer)])


def _most_of_each(pairs: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Of several counts of one thing the largest."""
    return dict(sorted(pairs, key=lambda pair: pair[1]))


def counted(test: ast.expr, counted_of: Callable[[ast.expr], str], answer: bool | None) -> list[tuple[str, int]]:
    """What a test counts, as `counted_of` reads it, each with how many there are at least where it gives `answer`."""
    if answer is None:
        return []
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return counted(operand, counted_of, not answer)
        case ast.BoolOp(op=operator, values=values):
            if answer is isinstance(operator, ast.And):
                return [pair for value in values for pair in counted(value, counted_of, answer)]
        case ast.Compare(left=ast.Constant(value=0), ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
            if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and answer is isinstance(operator, ast.NotIn):
                return [(name, 1) for each in right.elts if (name := counted_of(each))]
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            rows = least_where(operator, integer(right), answer)
            return [(name, min(rows, most)) for name, most in _counted_by(left, counted_of) if 0 < rows <= _MOST_ROWS]
        case _ if answer:
            return [(name, 1) for name, _ in _counted_by(test, counted_of)]
    return []


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
        case (
            ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=0))
            | ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=0)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel" | "nelement"), args=[])
        ):
            return name
    return ""


def _by_length(node: ast.expr) -> str:
    """The same, where rows are counted and not elements."""
    is_of_elements = isinstance(node, ast.Call) and called(node) in knowledge().element_counts
    return "" if is_of_elements else rows_of(node)


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
