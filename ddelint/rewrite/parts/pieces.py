"""Two pieces of one tensor: where they are not of one length, not their elements are chosen but where they begin and
end."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.harmless import INTEGERS
from ddelint.rewrite.writing.rewrites import Expr, Writer

_ALL = ast.Slice()


@dataclass(frozen=True, slots=True)
class _Piece:
    """`x[a:b]`, `x[:, a:b]`; the whole `x` has no slices."""

    tensor: ast.expr
    slices: tuple[ast.Slice, ...]


def chosen_piece(write: Writer, test: Expr, first: Expr, second: Expr) -> Expr | None:
    """The piece of a tensor that `test` chooses, as a slice of it; None where the values are no two pieces of one
    tensor, are cut along several dimensions, or seem to be of one length, so that their elements can be chosen.

    The two are read where the result stands.
    """
    one, other = (_piece(write.code(value)) for value in (first, second))
    if one is None or other is None or ast.unparse(one.tensor) != ast.unparse(other.tensor):
        return None
    rank = max(len(one.slices), len(other.slices))
    pairs = list(zip(*(piece.slices + (_ALL,) * (rank - len(piece.slices)) for piece in (one, other))))
    cut = [dimension for dimension, (left, right) in enumerate(pairs) if ast.unparse(left) != ast.unparse(right)]
    if len(cut) != 1 or _are_of_one_length(*pairs[cut[0]]) or _are_neighbours(*pairs[cut[0]]):
        return None
    (dimension,) = cut
    left, right = pairs[dimension]
    size = f"{ast.unparse(one.tensor)}.shape[{dimension}]"
    bounds = [_bound(write, test, left.lower, right.lower, "0"), _bound(write, test, left.upper, right.upper, size)]
    slices = [write.slice(*(None if end is None else _read(write, end) for end in _ends(pair[0]))) for pair in pairs]
    slices[dimension] = write.slice(*bounds)
    return write.expr("{}[{}]", _read(write, one.tensor), slices)


def _ends(cut: ast.Slice) -> tuple[ast.expr | None, ast.expr | None]:
    return cut.lower, cut.upper


def _piece(code: str) -> _Piece | None:
    match ast.parse(code, mode="eval").body:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as tensor, slice=ast.Slice(step=None) as cut):
            return _Piece(tensor, (cut,))
        case ast.Subscript(value=ast.Name() | ast.Attribute() as tensor, slice=ast.Tuple(elts=cuts)):
            slices = tuple(cut for cut in cuts if isinstance(cut, ast.Slice) and cut.step is None)
            return _Piece(tensor, slices) if len(slices) == len(cuts) else None
        case ast.Name() | ast.Attribute() as tensor:
            return _Piece(tensor, ())
    return None


def _are_of_one_length(one: ast.Slice, other: ast.Slice) -> bool:
    """Whether both slices are of one length, by what they are written with."""
    length = _length(one)
    return bool(length) and length == _length(other)


def _are_neighbours(one: ast.Slice, other: ast.Slice) -> bool:
    """Whether one slice begins where the other ends, as the halves of a tensor do: these are mostly of one length."""
    meeting = ((one.upper, other.lower), (other.upper, one.lower))
    return any(end and begin and ast.unparse(end) == ast.unparse(begin) for end, begin in meeting)


def _length(cut: ast.Slice) -> str:
    """How long a slice is: `4` for `2:6`, `k` for `i : i + k` and `:k`; empty where that isn't said."""
    lower, upper = integer(cut.lower) if cut.lower else 0, integer(cut.upper)
    if lower is not None and upper is not None and 0 <= lower <= upper:
        return str(upper - lower)
    match cut:
        case ast.Slice(lower=None, upper=ast.expr() as count):
            return ast.unparse(count)
        case ast.Slice(lower=ast.expr() as start, upper=ast.BinOp(left=left, op=ast.Add(), right=count)):
            return ast.unparse(count) if ast.unparse(left) == ast.unparse(start) else ""
    return ""


def _bound(write: Writer, test: Expr, one: ast.expr | None, other: ast.expr | None, default: str) -> Expr | None:
    """Where the chosen piece begins or ends; None where both do so where the tensor does."""
    if one is None and other is None:
        return None
    values = [_read(write, default if bound is None else bound) for bound in (one, other)]
    if write.code(values[0]) == write.code(values[1]):
        return values[0]
    return write.expr(INTEGERS, test, *values)


def _read(write: Writer, read: ast.expr | str) -> Expr:
    """An expression that was parsed from built code, whose nodes stand nowhere in the source."""
    code = read if isinstance(read, str) else ast.unparse(read)
    return write.expr(code.replace("{", "{{").replace("}", "}}"))
