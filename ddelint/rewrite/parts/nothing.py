"""Reductions that raise where there is nothing, each over one element more that is never the one that is looked for.

What stands behind an emptiness test then runs of nothing, too, and gives for something what it gave before. So does
what puts a list together that nothing fills. Standard
deviation and variance have neither value nor gradient of one element: they get one more where the test wants two.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import Applied, applied, integer, is_plain
from ddelint.rewrite.parts.empty_lists import put_together_of_nothing
from ddelint.rewrite.reading.changes_of_calls import run_by_calls
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, own_arguments
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.polarity import general_side, least_behind
from ddelint.rewrite.writing.rewrites import Expr, Part
from ddelint.sources.sites import site_of

_INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8"))
_DEEPEST = 8
_UNLIKE_DATA = "-123.0"
"""An element beside another: what spreads has no gradient where both are the same."""


def of_nothing_too(context: Context, test: ast.expr, path: Sequence[ast.AST], *, known: bool) -> dict[ast.AST, Expr]:
    """The operands of the reductions on a path that may be of nothing, each with what takes its place; and the lists
    that nothing may fill.

    Functions of the same file that are called there are on the path, but for those that ask for themselves. `known`:
    only where the size in question is known to change from run to run.
    """
    source = context.site.source
    extended = _Extended(known, two=_wants_two(test))
    changes = extended.on(context, path)
    for function in run_by_calls(context, path):
        if not any(map(_leaves_where_nothing_is, function.body)):
            inside = replace(context, site=site_of(source, function.body[0]), types=context.types_in(function))
            changes |= extended.on(inside, function.body)
    return changes


def spread_of_two(context: Context, node: ast.Call) -> dict[ast.AST, Expr] | None:
    """The operand of a standard deviation or variance that may be of one element, with one more then; else None."""
    call = applied(node) if called(node) in knowledge().spreads else None
    built = _Extended(known=False, two=True).two_of(context, call) if call is not None else None
    return {call.tensor: built} if call is not None and built is not None else None


def _wants_two(test: ast.expr) -> bool:
    """Whether a test lets two or more pass on its general side: `n < 2`, `len(x) <= 1`, `n > 1 and …`."""
    return any(
        isinstance(node, ast.Compare) and least_behind(node.ops[0], integer(node.comparators[0])) >= 2
        for node in ast.walk(test)
    )


def _leaves_where_nothing_is(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and general_side(statement.test) is False


@dataclass(frozen=True, slots=True)
class _Extended:
    """What reductions take: one element more. `two`: standard deviations, too, of one element."""

    known: bool
    two: bool

    def on(self, context: Context, path: Sequence[ast.AST]) -> dict[ast.AST, Expr]:
        """The operands on a path, each with what takes its place."""
        changes = put_together_of_nothing(context, path)
        for node in (node for root in path for node in ast.walk(root) if isinstance(node, ast.Call)):
            call = applied(node)
            if call is None or len(call.arguments) > 2:
                continue
            if called(node) in knowledge().extremes:
                built = self._more(context, call, knowledge().extremes[called(node)], 1)
            elif self.two and called(node) in knowledge().spreads:
                built = self.two_of(context, call)
            else:
                continue
            if built is not None:
                changes[call.tensor] = built
        return changes

    def _more(self, context: Context, call: Applied, value: str, count: int) -> Expr | None:
        """What a call reduces, with so many elements more; None where it surely reduces something, or there is no such
        element."""
        kinds, given = Kinds(context), call.argument(0, "dim")
        if kinds.of(call.tensor) is not Kind.TENSOR:
            return None
        dimension, shape = integer(given), kinds.shape(call.tensor)
        dtype = kinds.dtype(call.tensor)
        if dtype in _INTEGERS and (built := _zero_of_nothing(context, call, shape)) is not None:
            return built
        if not dtype.startswith(("float", "bfloat")):
            value = _unchosen_integer(context, call, dtype, largest=value.startswith("-"))
        unknown = shape is None and not _are_places(context, call.tensor)
        if not value or (self.known and unknown) or (given is not None and dimension is None) or shape == ():
            return None
        if dimension is None:
            reduced = shape or ()
        else:
            reduced = shape[dimension : dimension + 1 or None] if shape is not None else ()
        if shape is not None and all(size.isdecimal() and size != "0" for size in reduced):
            return None
        rank = None if shape is None else len(shape)
        return _with_more(
            context, call.tensor, dimension, rank, context.write.expr(value) if value != "0" else None, count
        )

    def two_of(self, context: Context, call: Applied) -> Expr | None:
        """What a call reduces, with one element more where it has less than two; None where it needs none."""
        if len(call.arguments) > 2 or _is_of_one_too(call):
            return None
        built = self._more(context, call, _UNLIKE_DATA, 2)
        dimension, shape = integer(call.argument(0, "dim")), Kinds(context).shape(call.tensor)
        if built is None or not _has_one_size(context, call.tensor):
            return None
        if dimension == 0 and (shape is None or len(shape) > 1):
            template = "{}.narrow(0, 0, torch.sym_max({}.shape[0], 2))"
        elif dimension is None:
            template = "{}.narrow(0, 0, torch.sym_max({}.numel(), 2))"
        elif dimension == -1 or (shape is not None and dimension == len(shape) - 1):
            template = "{}.narrow(-1, 0, torch.sym_max({}.shape[-1], 2))"
        else:
            return None
        return context.write.expr(template, built, call.tensor)


def _zero_of_nothing(context: Context, call: Applied, shape: Sequence[str] | None) -> Expr | None:
    """An integer tensor with a zero in it where there is nothing, for the extreme of all that it holds: the number
    that is read of that becomes a size (`torch.arange(int(n.max()))`), which the least integer there is cannot be."""
    write, tensor = context.write, call.tensor
    dimension = call.argument(0, "dim")
    if not shape or not is_plain(tensor) or called(call.node).startswith("arg") or "out" in call.named:
        return None
    if (dimension is not None and len(shape) > 1) or all(size.isdecimal() and size != "0" for size in shape):
        return None
    rows = tensor if len(shape) == 1 else write.expr("{}.flatten()", tensor)
    size = write.expr("{}.shape[0]" if len(shape) == 1 else "{}.numel()", tensor)
    return write.expr("torch.nn.functional.pad({}, (0, 1))[: torch.sym_max({}, 1)]", rows, size)


def _has_one_size(context: Context, tensor: ast.expr) -> bool:
    """Whether a tensor has the same size however often it is said: a mask is counted anew each time."""
    if isinstance(tensor, ast.Subscript) and is_plain(tensor.value) and is_plain(tensor.slice):
        fact = Kinds(context).fact(tensor.slice)
        return fact is not None and fact.dtype != "bool"
    return is_plain(tensor)


def _unchosen_integer(context: Context, call: Applied, dtype: str, *, largest: bool) -> str:
    """An integer that is never the largest, or the smallest, of those that a call reduces; empty where there is none.

    The largest of all of int64 is none: padding takes it as a float, and wraps it around (torch 2.13).
    """
    if _are_places(context, call.tensor):
        is_place = called(call.node).startswith("arg")
        return ("-1" if is_place else "0") if largest else "2**62"
    if dtype not in _INTEGERS or (dtype == "int64" and not largest):
        return ""
    return f"torch.iinfo(torch.{dtype}).{'min' if largest else 'max'}"


def _are_places(context: Context, node: ast.expr) -> bool:
    """Whether a tensor holds places where something is, which are never negative: those of `m.nonzero()[:, 0]`."""
    for _ in range(_DEEPEST):
        match node:
            case ast.Name(id=name) if (defined := definition(context, name)) is not None:
                node = defined
            case ast.Subscript(value=inner):
                node = inner
            case ast.Call() if called(node) in knowledge().listings:
                return not own_arguments(node)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in knowledge().keeping_values:
                if any(isinstance(argument, ast.Attribute) for argument in node.args):  # `view(torch.float64)`
                    return False
                node = inner
            case _:
                return False
    return False


def _is_of_one_too(call: Applied) -> bool:
    """Whether a spread has a value of one element, too: `unbiased=False`, `correction=0`."""
    given = call.named.get("unbiased", call.named.get("correction"))
    return isinstance(given, ast.Constant) and not given.value


def _with_more(
    context: Context, tensor: ast.expr, dimension: int | None, rank: int | None, value: Expr | None, count: int
) -> Expr | None:
    """`tensor` with elements of `value` behind it along a dimension; along none, behind all that it holds.

    None stands for zero.
    """
    write = context.write
    subject: Part = tensor
    if dimension is None:
        subject, dimension = (tensor if rank == 1 else write.expr("{}.flatten()", tensor)), -1
    elif dimension >= 0 and rank is not None:
        dimension -= rank
    if dimension < 0:
        widths = write.tuple([*[0] * (-2 * dimension - 1), count])
        given = [] if value is None else [write.keyword("value", value)]
        return write.expr("torch.nn.functional.pad({}, {})", subject, [widths, *given])
    if dimension > 0 or not is_plain(tensor):
        return None
    row = write.expr(
        "{rows}.new_full(({count}, *{rows}.shape[1:]), {value})", rows=tensor, value=value or 0, count=count
    )
    return write.expr("torch.cat([{}])", [tensor, row])
