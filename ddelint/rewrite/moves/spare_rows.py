"""A scan or reduction over rows that may be none gets rows that change nothing: its gradient need not ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import called, text_of, torch_name
from ddelint.rewrite.kinds import Kinds, is_torch
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.proposals import offer

NAME = "spare_rows"


@move(NAME)
def spare_rows(context: Context) -> Iterator[Candidate]:
    """`x.cumsum(0)` → `torch.nn.functional.pad(x, (0, 0, 0, 2)).cumsum(0)[:-2]`; sums and products need no slice."""
    call = context.site.node
    facts = knowledge().spare_rows
    if not isinstance(call, ast.Call):
        return
    name = called(call)
    neutral = facts.scans.get(name, facts.reductions.get(name))
    operand = _operand(call)
    shape = Kinds(context).shape(operand) if operand is not None else None
    if neutral is None or operand is None or not shape or isinstance(operand, ast.Starred):
        return
    source = context.site.source
    over = _over(call, operand, len(shape))
    rows = next((number for number, size in enumerate(shape) if not size.isdecimal()), None)
    if rows is None:
        return
    behind = "0, 0, " * (len(shape) - 1 - rows)
    torch, imports = torch_name(source)
    value = "" if neutral == "0" else f', value=float("{neutral}")' if "inf" in neutral else f", value={neutral}"
    padded = f"{torch}.nn.functional.pad({text_of(source, operand)}, ({behind}0, {facts.rows}){value})"
    tail = _tail(name in facts.scans, over, rows, facts.rows)
    if tail is None:
        return
    start, end = source.span(call), source.span(operand)
    before = source.text[source.offset(start.row, start.column) : source.offset(end.row, end.column)]
    after = source.text[source.offset(end.end_row, end.end_column) : source.offset(start.end_row, start.end_column)]
    if before.endswith("(") and after.startswith(")."):
        before, after = before[:-1], after[1:]
    yield from offer(
        context,
        NAME,
        Claim.RESTRUCTURED,
        f"{facts.rows} spare rows of {neutral} change no result, and the gradient needn't ask how many there are",
        [(call, f"{before}{padded}{after}{tail}")],
        imports=imports,
    )


def _operand(call: ast.Call) -> ast.expr | None:
    """The tensor of `x.cumsum(0)` and of `torch.cumsum(x, 0)`."""
    if isinstance(call.func, ast.Attribute) and not is_torch(call.func.value):
        return call.func.value
    return call.args[0] if call.args else None


@dataclass(frozen=True, slots=True)
class _Over:
    """What a call goes over: one dimension, or everything (None)."""

    dimension: int | None
    keepdim: bool


def _over(call: ast.Call, operand: ast.expr, dimensions: int) -> _Over | None:
    """None where it isn't written as a number."""
    own = [argument for argument in call.args if argument is not operand]
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in named or len(own) > 2:
        return None
    dimension = own[0] if own else named.get("dim")
    keep = own[1] if len(own) == 2 else named.get("keepdim")
    if dimension is None:
        return _Over(None, False)
    try:
        number = ast.literal_eval(dimension)
        kept = bool(ast.literal_eval(keep)) if keep is not None else False
    except ValueError:
        return None
    if not isinstance(number, int) or not -dimensions <= number < dimensions:
        return None
    return _Over(number % dimensions, kept)


def _tail(scan: bool, over: _Over | None, rows: int, spare: int) -> str | None:
    """The slice that takes the spare rows out of the result; None where that cannot be told."""
    if over is None or (scan and over.dimension is None):
        return None
    if not scan and over.dimension in (None, rows):
        return ""
    gone = not scan and not over.keepdim and over.dimension is not None and over.dimension < rows
    return f"[{':, ' * (rows - gone)}:-{spare}]"
