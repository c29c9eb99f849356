"""Attention over chunks of data-dependent lengths becomes one attention under a block-diagonal mask.

`split` by lengths, one call a chunk, and `cat` of the outcomes: a row of one chunk never sees a row of another. That is
what a mask says, too, without a number of chunks that must be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    block_text,
    called,
    compiling,
    enclosing_block,
    fresh_name,
    indent_unit,
    is_elif,
    joined,
    names_read,
    owns_lines,
    text_of,
    torch_name,
)
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.proposals import offer
from ddelint.source import SourceFile

_MOVE = "block_diagonal_mask"
_MASKS = ("attention_mask", "attn_mask", "mask")
"""What attention functions call their mask."""
_PLAIN = "scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class _Chunks:
    """`splits = [torch.split(t, lengths.tolist(), dim=D) for t in (q, k, v)]`."""

    name: str
    lengths: ast.expr
    dimension: str
    tensors: tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True)
class _Attention:
    """`outs = [f(q, k, v, …)[0] for q, k, v in zip(*splits)]`."""

    name: str
    value: ast.expr
    call: ast.Call
    targets: tuple[str, ...]


@move(_MOVE)
def block_diagonal_mask(context: Context) -> Iterator[Candidate]:
    """Attention chunk by chunk, lengths from data → one attention with a block-diagonal mask while compiling."""
    source = context.site.source
    block = enclosing_block(source, context.site.statement)
    for first in range(len(block) - 2):
        statements = block[first : first + 3]
        chunks, attention, whole = _chunks(statements[0]), _attention(statements[1]), _joined(statements[2])
        if chunks is None or attention is None or whole is None or attention.name != whole[1]:
            continue
        if chunks.name not in names_read(statements[1]) or len(attention.targets) != len(chunks.tensors):
            continue
        if context.site.statement not in statements or is_elif(source, statements[0]):
            continue
        yield from _written(context, statements, chunks, attention, whole[0])


def _chunks(statement: ast.stmt) -> _Chunks | None:
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.ListComp(
                elt=ast.Call(
                    args=[ast.Name(id=each), ast.Call(func=ast.Attribute(value=lengths, attr="tolist"))] as args
                ) as call,
                generators=[
                    ast.comprehension(target=ast.Name(id=target), iter=ast.Tuple() | ast.List() as tensors, ifs=[])
                ],
            ),
        ) if each == target and called(call) == "split":
            dimension = next((keyword.value for keyword in call.keywords if keyword.arg == "dim"), None)
            text = ast.unparse(dimension) if dimension is not None else "0"
            return _Chunks(name, lengths, text, tuple(tensors.elts)) if len(args) == 2 else None
    return None


def _attention(statement: ast.stmt) -> _Attention | None:
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.ListComp(
                elt=value,
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=targets),
                        iter=ast.Call(func=ast.Name(id="zip"), args=[ast.Starred()]),
                        ifs=[],
                    )
                ],
            ),
        ):
            call = value.value if isinstance(value, ast.Subscript) else value
            names = tuple(target.id for target in targets if isinstance(target, ast.Name))
            if isinstance(call, ast.Call) and len(names) == len(targets):
                return _Attention(name, value, call, names)
    return None


def _joined(statement: ast.stmt) -> tuple[str, str] | None:
    """The name and the list of `out = torch.cat(outs, dim=…)`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Name(id=read), *_]) as call) if (
            called(call) in knowledge().concatenations
        ):
            return name, read
    return None


def _written(
    context: Context, statements: list[ast.stmt], chunks: _Chunks, attention: _Attention, result: str
) -> Iterator[Candidate]:
    source = context.site.source
    torch, imports = torch_name(source)
    unit, indentation = indent_unit(source, statements[0]), source.indentation(statements[0])
    kept = block_text(source, statements, indentation + unit)
    if kept is None or not all(owns_lines(source, statement) for statement in statements):
        return
    mask, chunk = fresh_name(source, "block_mask"), fresh_name(source, "chunk_of_row")
    replacements = {
        name: text_of(source, tensor) for name, tensor in zip(attention.targets, chunks.tensors, strict=True)
    }
    call = _masked_call(source, attention, replacements, mask)
    if call is None:
        return
    rows = text_of(source, chunks.tensors[0], Binding.PRIMARY)
    lengths = text_of(source, chunks.lengths, Binding.PRIMARY)
    ends = f"{lengths}.cumsum(0)"
    lines = [
        f"if {compiling(context)}:",
        f"{unit}# a row attends to the rows of its own chunk alone",
        f"{unit}{chunk} = {torch}.searchsorted(",
        f"{unit}{unit}{ends}, {torch}.arange({rows}.shape[{chunks.dimension}], device={rows}.device), right=True",
        f"{unit})",
        f"{unit}{mask} = {torch}.zeros_like({chunk}[:, None] - {chunk}, dtype={rows}.dtype).masked_fill(",
        f"{unit}{unit}{chunk}[:, None] != {chunk}, {torch}.finfo({rows}.dtype).min",
        f"{unit})[None, None]",
        f"{unit}{result} = {call}",
        "else:",
    ]
    first, last = source.span(statements[0]), source.span(statements[-1])
    span = Span(source.filename, first.row, first.column, last.end_row, last.end_column)
    text = joined(source, statements[0], lines) + source.newline + kept
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        "one attention under a block-diagonal mask says the same as one attention a chunk",
        edits=(Edit(span, text),),
        imports=imports,
        notes=("the compiled program computes the scores of all pairs of rows, masked ones included",),
        spreads=True,
    )


def _masked_call(source: SourceFile, attention: _Attention, names: Mapping[str, str], mask: str) -> str | None:
    """The text of the call on whole tensors with the mask; None where it has a mask or a causal one already."""
    span = source.span(attention.value)
    start = source.offset(span.row, span.column)
    changes: list[tuple[int, int, str]] = []

    def change(node: ast.AST, text: str) -> None:
        where = source.span(node)
        changes.append((source.offset(where.row, where.column), source.offset(where.end_row, where.end_column), text))

    masked = False
    for keyword in attention.call.keywords:
        match keyword:
            case ast.keyword(arg=str(name), value=ast.Constant(value=None) as value) if name in _MASKS:
                change(value, mask)
                masked = True
            case ast.keyword(arg=str(name)) if name in _MASKS:
                return None
            case ast.keyword(arg="is_causal", value=value):
                if not (isinstance(value, ast.Constant) and value.value is False):
                    return None
    for node in ast.walk(attention.value):
        if isinstance(node, ast.Name) and node.id in names:
            change(node, names[node.id])
    if not masked:
        if called(attention.call) != _PLAIN or len(attention.call.args) > len(names):
            return None
        end = source.span(attention.call)
        position = source.offset(end.end_row, end.end_column) - 1
        changes.append((position, position, f", attn_mask={mask}"))
    text, end_of_text = source.text, source.offset(span.end_row, span.end_column)
    pieces, position = [], start
    for begin, end_, new in sorted(changes):
        pieces += [text[position:begin], new]
        position = end_
    pieces.append(text[position:end_of_text])
    return "".join(pieces)
