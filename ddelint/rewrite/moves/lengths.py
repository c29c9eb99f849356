"""Pieces between offsets: said by their lengths, each piece has one symbol that is a size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, called, fresh_name, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kinds, definition
from ddelint.rewrite.proposals import is_tensor, lines_before, listed_tensor, offer, origins

_FALLING = "falling or negative offsets, which a slice takes, raise in `split`"


@move("lengths")
def lengths(context: Context) -> Iterator[Candidate]:
    """`[x[s:e] for s, e in zip(starts, ends)]` → `list(x.narrow(…).split(lengths))`."""
    source = context.site.source
    kinds = Kinds(context)
    torch, imports = torch_name(source)
    for node in origins(context):
        if not isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            continue
        pieces = _pieces(node)
        if pieces is None:
            continue
        tensor, starts, ends = pieces
        text = text_of(source, tensor, Binding.PRIMARY)
        name = fresh_name(source, "lengths")
        sizes = _sizes_behind(context, kinds, starts, ends)
        if sizes is not None:
            read = f"{text_of(source, sizes, Binding.PRIMARY)}.tolist()"
            body = f"{text}.narrow(0, 0, sum({name})).split({name})"
        else:
            offsets = _offsets(kinds, starts, ends)
            if offsets is None:
                continue
            listed, base = offsets
            read = f"{torch}.diff({text_of(source, base)}).tolist()"
            body = f"{text}.narrow(0, {listed}[0], {listed}[-1] - {listed}[0]).split({name})"
        line = lines_before(source, context.site.statement, [f"{name} = {read}"])
        if line is None or not is_pure(node):
            continue
        whole = f"list({body})" if isinstance(node, ast.ListComp) else f"({body})"
        yield from offer(
            context,
            "lengths",
            Claim.RESTRUCTURED,
            "lengths are sizes by themselves; differences of offsets are not known to be",
            [(node, whole)],
            edits=[line],
            imports=imports if sizes is None else (),
            notes=(_FALLING,),
        )


def _pieces(node: ast.ListComp | ast.GeneratorExp) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """(tensor, starts, ends) of `x[s:e] for s, e in zip(starts, ends)`, `x[o[i]:o[i + 1]] for i in range(…)`."""
    match node:
        case (
            ast.ListComp(
                elt=ast.Subscript(value=tensor, slice=ast.Slice(lower=lower, upper=upper, step=None)),
                generators=[ast.comprehension(target=target, iter=iterated, ifs=[], is_async=0)],
            )
            | ast.GeneratorExp(
                elt=ast.Subscript(value=tensor, slice=ast.Slice(lower=lower, upper=upper, step=None)),
                generators=[ast.comprehension(target=target, iter=iterated, ifs=[], is_async=0)],
            )
        ):
            pass
        case _:
            return None
    match target, iterated, lower, upper:
        case (
            ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            ast.Call(func=ast.Name(id="zip"), args=[starts, ends]),
            ast.Name(id=start),
            ast.Name(id=end),
        ) if (first, second) == (start, end):
            return tensor, starts, ends
        case (
            ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            ast.Call(args=[offsets]),
            ast.Name(id=start),
            ast.Name(id=end),
        ) if (first, second) == (start, end) and called(iterated) == "pairwise":
            return tensor, offsets, offsets
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
    offsets = definition(context, offsets.id) or offsets if isinstance(offsets, ast.Name) else offsets
    if not (isinstance(offsets, ast.Call) and called(offsets) == "cumsum" and isinstance(offsets.func, ast.Attribute)):
        return None
    if isinstance(starts, ast.Name):
        value = definition(context, starts.id)
        if value is None:
            return None
        starts = value
    match starts:
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


@move("split_by_lengths")
def split_by_lengths(context: Context) -> Iterator[Candidate]:
    """`torch.tensor_split(x, cuts)` → `torch.split(x, lengths)`, the lengths as differences of the cuts."""
    source = context.site.source
    kinds = Kinds(context)
    torch, imports = torch_name(source)
    for node in origins(context, 1):
        found = _tensor_split(kinds, node)
        if found is None:
            continue
        tensor, cuts, dimension = found
        lines = []
        names = []
        for part, base in ((tensor, "whole"), (cuts, "cuts")):
            if isinstance(part, (ast.Name, ast.Attribute)):
                names.append(source.segment(part))
            else:
                name = fresh_name(source, base)
                lines.append(f"{name} = {text_of(source, part)}")
                names.append(name)
        x, c = names
        size = f"{x}.shape[{dimension}]"
        diff = f"{torch}.diff({c}, prepend={c}.new_zeros(1), append={c}.new_full((1,), {size}))"
        tail = "" if dimension == "0" else f", dim={dimension}"
        edits = []
        if lines:
            line = lines_before(source, context.site.statement, lines)
            if line is None:
                continue
            edits.append(line)
        yield from offer(
            context,
            "split_by_lengths",
            Claim.RESTRUCTURED,
            "pieces between cuts read from data are said by their lengths",
            [(node, f"{torch}.split({x}, {diff}.tolist(){tail})")],
            edits=edits,
            imports=imports,
            notes=("cuts that fall, are negative or lie beyond the end, which `tensor_split` takes, raise in `split`",),
        )


def _tensor_split(kinds: Kinds, node: ast.expr) -> tuple[ast.expr, ast.expr, str] | None:
    """(tensor, cuts, dimension) of a `tensor_split` at cuts held in a tensor."""
    if not (isinstance(node, ast.Call) and called(node) == "tensor_split" and isinstance(node.func, ast.Attribute)):
        return None
    arguments = list(node.args)
    if not is_tensor(kinds, node.func.value) and ast.unparse(node.func.value).split(".")[0] in {"torch", "th", "t"}:
        tensor = arguments.pop(0) if arguments else None
    else:
        tensor = node.func.value
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    cuts = arguments[0] if arguments else named.get("tensor_indices_or_sections") or named.get("indices")
    dimension = arguments[1] if len(arguments) > 1 else named.get("dim")
    if tensor is None or cuts is None or isinstance(cuts, (ast.Constant, ast.List, ast.Tuple)):
        return None
    if dimension is not None and not isinstance(dimension, ast.Constant):
        return None
    fact = kinds.fact(cuts)
    if fact is not None and (fact.kind != "tensor" or fact.shape == ()):
        return None
    return tensor, cuts, str(dimension.value) if isinstance(dimension, ast.Constant) else "0"
