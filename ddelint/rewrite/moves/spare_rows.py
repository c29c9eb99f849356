"""A scan or reduction over rows that may be none gets rows that change nothing: its gradient need not ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import Applied, applied, integer
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting


@rewriting("spare_rows")
def spare_rows(context: Context) -> Iterator[Rewrite]:
    """`x.cumsum(0)` → `torch.nn.functional.pad(x, (0, 0, 0, 2)).cumsum(0)[:-2]`; sums and products need no slice."""
    node, facts = context.site.node, knowledge().spare_rows
    call = applied(node) if isinstance(node, ast.Call) else None
    if call is None:
        return
    if called(call.node) in facts.contractions:
        yield from _contracted(context, call)
    name, shape = called(call.node), Kinds(context).shape(call.tensor) or ()
    neutral = facts.scans.get(name, facts.reductions.get(name))
    rows = next((number for number, size in enumerate(shape) if not size.isdecimal()), None)
    over = _over(call, len(shape))
    if neutral is None or rows is None or over is None or (name in facts.scans and over.dimension is None):
        return
    write = context.write
    built = write.replaced(call.node, {call.tensor: _padded(context, call.tensor, len(shape) - rows, neutral)})
    if name in facts.scans or over.dimension not in (None, rows):
        gone = name not in facts.scans and not over.keepdim and (over.dimension or 0) < rows
        before = [ast.Slice()] * (rows - gone)
        cut = write.expr("{}[{}, :-{}]", built, before, facts.rows) if before else None
        built = cut or write.expr("{}[:-{}]", built, facts.rows)
    yield restructured(
        f"{facts.rows} spare rows of {neutral} change no result, and the gradient needn't ask how many there are",
        {call.node: built},
    )


def _contracted(context: Context, call: Applied) -> Iterator[Rewrite]:
    """`torch.einsum("bi,oi->bo", x, w)` → the same of `x` with rows of zeros, which are cut off again."""
    match call.tensor:
        case ast.Constant(value=str(equation)) if not call.named and equation.count("->") == 1:
            inputs, _, result = equation.replace(" ", "").partition("->")
        case _:
            return
    write, rows = context.write, knowledge().spare_rows.rows
    parts = list(zip(inputs.split(","), call.arguments))
    shapes = [Kinds(context).shape(operand) for _, operand in parts]
    sizes = [{*zip(letters, shape or ())} for (letters, _), shape in zip(parts, shapes)]
    letters_of_rows = {letter for size in sizes for letter, number in size if not number.isdecimal()}
    written_out = all(len(letters) == len(shape or ()) == len({*letters}) for (letters, _), shape in zip(parts, shapes))
    complete = len(parts) == len(call.arguments) == inputs.count(",") + 1
    if len(letters_of_rows) != 1 or not (complete and written_out):
        return
    (letter,) = letters_of_rows
    held = [(letters, operand) for letters, operand in parts if letter in letters]
    spread = any(number.isdecimal() for size in sizes for held_by, number in size if held_by == letter)
    if spread or (letter not in result and len(held) < len(parts)):  # there zeros may meet an infinity in a sum
        return
    padded = {part: _padded(context, part, len(letters) - letters.index(letter), "0") for letters, part in held}
    built = write.replaced(call.node, padded)
    if letter in result:
        before = [ast.Slice()] * result.index(letter)
        built = write.expr("{}[{}, :-{}]", built, before, rows) if before else write.expr("{}[:-{}]", built, rows)
    yield restructured(
        f"{rows} spare rows of 0 change no sum of products: nothing need ask for one row", {call.node: built}
    )


def _padded(context: Context, tensor: ast.expr, dimensions: int, neutral: str) -> Expr:
    """`tensor` with rows of the neutral element behind its own; they are the first of its last `dimensions`."""
    write = context.write
    widths = write.tuple([*[0] * (2 * dimensions - 1), knowledge().spare_rows.rows])
    value = write.expr("float({})", write.string(neutral)) if "inf" in neutral else neutral
    filled = [] if neutral == "0" else [write.keyword("value", value)]
    return write.expr("torch.nn.functional.pad({})", [tensor, widths, *filled])


@dataclass(frozen=True, slots=True)
class _Over:
    """What a call goes over: one dimension, or everything (None)."""

    dimension: int | None
    keepdim: bool = False


def _over(call: Applied, dimensions: int) -> _Over | None:
    """None where it isn't written as a number."""
    given, keep = call.argument(0, "dim"), call.argument(1, "keepdim")
    number = integer(given)
    if given is None:
        return _Over(None)
    if number is None or not -dimensions <= number < dimensions:
        return None
    match keep:
        case None | ast.Constant(value=bool()):
            return _Over(number % dimensions, keep is not None and bool(keep.value))
    return None
