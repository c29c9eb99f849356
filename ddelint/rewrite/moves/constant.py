"""A buffer that never changes, read as data: a Python constant beside it is known while tracing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.buffers import Read, constant_reads
from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import text_of
from ddelint.rewrite.proposals import lines_behind, offer
from ddelint.source import SourceFile

_MOVE = "constant_beside_buffer"


@move(_MOVE)
def constant_beside_buffer(context: Context) -> Iterator[Candidate]:
    """`self.sizes.tolist()` → `self.sizes_list`, which the constructor reads from the buffer once."""
    source = context.site.source
    asked: list[ast.AST] = [context.site.node]
    for symbol in context.diagnostic.symbols:
        if symbol.created is not None and symbol.created.filename == source.filename:
            made = source.at(symbol.created)
            asked += [made] if made is not None else []
    for read in {(r.buffer.name, _is_list(r)): r for node in asked for r in constant_reads(source, node)}.values():
        yield from _beside(context, read)


def _beside(context: Context, read: Read) -> Iterator[Candidate]:
    """The constant, and every read that it can stand for."""
    source, buffer = context.site.source, read.buffer
    listed = _is_list(read)
    constant = _fresh_attribute(source, f"{buffer.name}_{'list' if listed else 'value'}")
    line = lines_behind(
        source, buffer.made, [f"self.{constant} = self.{buffer.name}.{'tolist' if listed else 'item'}()"]
    )
    if line is None:
        return
    changes = [
        (other.node, f"self.{constant}" + (f"[{text_of(source, other.index)}]" if other.index is not None else ""))
        for other in constant_reads(source, source.tree)
        if other.buffer == buffer and _is_list(other) == listed
    ]
    notes = ("a state dict with other values would leave the constant behind",) if buffer.saved else ()
    yield from offer(
        context,
        _MOVE,
        Claim.PROMISE if buffer.saved else Claim.RESTRUCTURED,
        f"`self.{buffer.name}` never changes after construction: its value is kept beside it as a Python constant",
        changes,
        edits=[line],
        notes=notes,
    )


def _is_list(read: Read) -> bool:
    return read.listed or read.index is not None


def _fresh_attribute(source: SourceFile, base: str) -> str:
    """`base`, or `base_2` and so on where the file already uses that attribute."""
    used = {node.attr for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)}
    names = (base if number == 1 else f"{base}_{number}" for number in range(1, len(used) + 2))
    return next(name for name in names if name not in used)
