"""Attention over chunks of data-dependent lengths becomes one attention under a block-diagonal mask.

`split` by lengths, one call a chunk, and `cat` of the outcomes: a row of one chunk never sees a row of another. That is
what a mask says, too, without a number of chunks that must be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import named
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, enclosing_block, fresh_name, names_read
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Run, restructured, rewriting

_MASKS = ("attention_mask", "attn_mask", "mask")
"""What attention functions call their mask."""
_PLAIN = "scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class _Chunks:
    """`splits = [torch.split(t, lengths.tolist(), dim=D) for t in (q, k, v)]`."""

    name: str
    lengths: ast.expr
    dimension: Part
    tensors: tuple[ast.expr, ...]


@dataclass(frozen=True, slots=True)
class _Attention:
    """`outs = [f(q, k, v, …)[0] for q, k, v in zip(*splits)]`."""

    name: str
    value: ast.expr
    call: ast.Call
    targets: tuple[str, ...]


@rewriting("block_diagonal_mask")
def block_diagonal_mask(context: Context) -> Iterator[Rewrite]:
    """Attention chunk by chunk, lengths from data → one attention with a block-diagonal mask while compiling."""
    statement = context.site.statement
    block = enclosing_block(context.site.source, statement)
    for first in range(len(block) - 2):
        statements = block[first : first + 3]
        chunks, attention, whole = _chunks(statements[0]), _attention(statements[1]), _joined(statements[2])
        if statement not in statements or chunks is None or attention is None or whole is None:
            continue
        if attention.name != whole[1] or chunks.name not in names_read(statements[1]):
            continue
        if len(attention.targets) == len(chunks.tensors):
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
            return _Chunks(name, lengths, dimension or 0, tuple(tensors.elts)) if len(args) == 2 else None
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


_COMPILED = """\
# a row attends to the rows of its own chunk alone
{chunk} = torch.searchsorted(
    {lengths}.cumsum(0), torch.arange({rows}.shape[{dimension}], device={rows}.device), right=True
)
{mask} = torch.zeros_like({chunk}[:, None] - {chunk}, dtype={rows}.dtype).masked_fill(
    {chunk}[:, None] != {chunk}, torch.finfo({rows}.dtype).min
)[None, None]
{result} = {call}
"""


def _written(
    context: Context, statements: Sequence[ast.stmt], chunks: _Chunks, attention: _Attention, result: str
) -> Iterator[Rewrite]:
    write, source = context.write, context.site.source
    mask, chunk = fresh_name(source, "block_mask"), fresh_name(source, "chunk_of_row")
    rows, lines = named(context, chunks.tensors[0], "rows")
    tensors = dict(zip(attention.targets, (rows, *chunks.tensors[1:]), strict=True))
    call = _masked_call(context, attention, tensors, mask)
    if call is None:
        return
    lines += write.lines(
        _COMPILED,
        chunk=chunk,
        mask=mask,
        lengths=chunks.lengths,
        rows=rows,
        dimension=chunks.dimension,
        result=result,
        call=call,
    )
    yield restructured(
        "one attention under a block-diagonal mask says the same as one attention a chunk",
        {Run(statements): write.beside(lines, statements)},
        "the compiled program computes the scores of all pairs of rows, masked ones included",
        spreads=True,
    )


def _masked_call(context: Context, attention: _Attention, tensors: Mapping[str, Part], mask: str) -> Expr | None:
    """The call on whole tensors with the mask; None where it has a mask or a causal one already."""
    write, call = context.write, attention.call
    changes: dict[ast.AST, Any] = {
        node: write.of(tensors[node.id]) for node in ast.walk(call) if isinstance(node, ast.Name) and node.id in tensors
    }
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    causal = options.get("is_causal", ast.Constant(False))
    if not (isinstance(causal, ast.Constant) and causal.value is False):
        return None
    match [value for name, value in options.items() if name in _MASKS]:
        case [ast.Constant(value=None) as free]:
            masked = write.replaced(call, changes | {free: write.of(mask)})
        case [] if called(call) == _PLAIN and len(call.args) <= len(tensors):
            masked = write.with_keyword(write.replaced(call, changes), "attn_mask", mask)
        case _:
            return None
    return write.replaced(attention.value, {call: masked})
