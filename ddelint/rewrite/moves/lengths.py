"""Pieces between offsets: said by their lengths, each piece has one symbol that is a size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import Applied, applied, below, named
from ddelint.rewrite.reading.around import is_tensor, listed_tensor, origins
from ddelint.rewrite.reading.constants import value_of
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import called, fresh_name, is_pure
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting

_FALLING = "falling or negative offsets, which a slice takes, raise in `split`"
_OUTSIDE = "cuts that fall, are negative or lie beyond the end, which `tensor_split` takes, raise in `split`"


@rewriting("lengths")
def lengths(context: Context) -> Iterator[Rewrite]:
    """`[x[s:e] for s, e in zip(starts, ends)]` → `list(x.narrow(…).split(lengths))`."""
    kinds, write = Kinds(context), context.write
    for node in origins(context):
        if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or not is_pure(node):
            continue
        pieces = _pieces(node)
        if pieces is None:
            continue
        tensor, starts, ends = pieces
        name = fresh_name(context.site.source, "lengths")
        sizes = _sizes_behind(context, kinds, starts, ends)
        if sizes is not None:
            lines = write.lines("{name} = {sizes}.tolist()", name=name, sizes=sizes)
            body = write.expr("{}.narrow(0, 0, sum({name})).split({name})", tensor, name=name)
        else:
            offsets = _offsets(kinds, starts, ends)
            if offsets is None:
                continue
            listed, base = offsets
            lines = write.lines("{name} = torch.diff({base}).tolist()", name=name, base=base)
            rows = write.expr("{}.narrow(0, {listed}[0], {listed}[-1] - {listed}[0])", tensor, listed=listed)
            body = write.expr("{}.split({})", rows, name)
        yield restructured(
            "lengths are sizes by themselves; differences of offsets are not known to be",
            below(context, lines, {node: write.expr("list({})", body) if isinstance(node, ast.ListComp) else body}),
            _FALLING,
        )


def _pieces(node: ast.ListComp | ast.GeneratorExp) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """(tensor, starts, ends) of `x[s:e] for s, e in zip(starts, ends)`, `x[o[i]:o[i + 1]] for i in range(…)`."""
    match node.elt, node.generators:
        case (
            ast.Subscript(value=tensor, slice=ast.Slice(lower=lower, upper=upper, step=None)),
            [ast.comprehension(target=target, iter=iterated, ifs=[], is_async=0)],
        ):
            pass
        case _:
            return None
    match target, iterated, lower, upper:
        case (
            ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            ast.Call(args=[starts, *others]),
            ast.Name(id=start),
            ast.Name(id=end),
        ) if (first, second, len(others)) == (start, end, {"zip": 1, "pairwise": 0}.get(called(iterated))):
            return tensor, starts, others[0] if others else starts
        case (
            ast.Name(id=index),
            ast.Call(func=ast.Name(id="range")),
            ast.Subscript(value=starts, slice=ast.Name(id=at)),
            ast.Subscript(
                value=ends, slice=ast.BinOp(left=ast.Name(id=after), op=ast.Add(), right=ast.Constant(value=1))
            ),
        ) if index == at == after and ast.unparse(starts) == ast.unparse(ends):
            return tensor, starts, ends
    return None


def _sizes_behind(context: Context, kinds: Kinds, starts: ast.expr, ends: ast.expr) -> ast.expr | None:
    """`sizes`, where `ends` is `sizes.cumsum(0).tolist()` and `starts` is 0 followed by all of them but the last."""
    offsets = listed_tensor(kinds, ends)
    if offsets is None:
        return None
    offsets = value_of(context, offsets)
    if not (isinstance(offsets, ast.Call) and called(offsets) == "cumsum" and isinstance(offsets.func, ast.Attribute)):
        return None
    match value_of(context, starts):
        case ast.BinOp(
            left=ast.List(elts=[ast.Constant(value=0)]),
            op=ast.Add(),
            right=ast.Subscript(
                value=listed, slice=ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=one))
            ),
        ) if ast.unparse(listed) == ast.unparse(ends) and ast.unparse(one) == "1":
            if is_tensor(kinds, offsets.func.value):
                return offsets.func.value
            return offsets.args[0] if offsets.args and not isinstance(offsets.args[0], ast.Constant) else None
    return None


def _offsets(kinds: Kinds, starts: ast.expr, ends: ast.expr) -> tuple[str, ast.expr] | None:
    """The list of offsets (its name) and its tensor, where starts and ends are neighbours of one list."""
    first = starts.value if isinstance(starts, ast.Subscript) else starts
    second = ends.value if isinstance(ends, ast.Subscript) else ends
    if ast.unparse(first) != ast.unparse(second) or not isinstance(first, ast.Name):
        return None
    if starts is not ends and isinstance(ends, ast.Subscript) and ast.unparse(ends.slice) != "1:":
        return None
    tensor = listed_tensor(kinds, first)
    return (first.id, tensor) if tensor is not None and is_pure(tensor) else None


@rewriting("split_by_lengths")
def split_by_lengths(context: Context) -> Iterator[Rewrite]:
    """`torch.tensor_split(x, cuts)` → `torch.split(x, lengths)`, the lengths as differences of the cuts."""
    kinds, write = Kinds(context), context.write
    for node in origins(context, 1):
        call = applied(node) if isinstance(node, ast.Call) and called(node) == "tensor_split" else None
        cuts, axis = (_cuts(kinds, call), call.axis(1)) if call is not None else (None, None)
        if call is None or cuts is None or axis is None:
            continue
        whole, lines = named(context, call.tensor, "whole")
        places, further = named(context, cuts, "cuts")
        sizes = write.expr(
            "torch.diff({cuts}, prepend={cuts}.new_zeros(1), append={cuts}.new_full((1,), {size})).tolist()",
            cuts=places,
            size=write.expr("{}.shape[{}]", whole, axis),
        )
        dimension = [write.keyword("dim", axis)] if axis else []
        yield restructured(
            "pieces between cuts read from data are said by their lengths",
            below(context, [*lines, *further], {node: write.expr("torch.split({})", [whole, sizes, *dimension])}),
            _OUTSIDE,
        )


def _cuts(kinds: Kinds, call: Applied) -> ast.expr | None:
    """The tensor that holds the cuts of a `tensor_split`."""
    cuts = call.argument(0, "tensor_indices_or_sections") or call.named.get("indices")
    if cuts is None or isinstance(cuts, (ast.Constant, ast.List, ast.Tuple)):
        return None
    fact = kinds.fact(cuts)
    return None if fact is not None and (fact.kind != "tensor" or fact.shape == ()) else cuts
