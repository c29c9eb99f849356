"""A buffer that never changes, read as data: a Python constant beside it is known while tracing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import unused
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.buffers import Read, constant_reads
from ddelint.sources.source import SourceFile

_VALUES = {True: "self.{constant} = self.{buffer}.tolist()", False: "self.{constant} = self.{buffer}.item()"}
"""By whether it is a list."""


@rewriting("constant_beside_buffer")
def constant_beside_buffer(context: Context) -> Iterator[Rewrite]:
    """`self.sizes.tolist()` → `self.sizes_list`, which the constructor reads from the buffer once."""
    source = context.site.source
    asked: list[ast.AST] = [context.site.node]
    for symbol in context.diagnostic.symbols:
        if symbol.created is not None and symbol.created.filename == source.filename:
            made = source.at(symbol.created)
            asked += [made] if made is not None else []
    for read in {(r.buffer.name, _is_list(r)): r for node in asked for r in constant_reads(source, node)}.values():
        yield from _beside(context, read)


def _beside(context: Context, read: Read) -> Iterator[Rewrite]:
    """The constant, and every read that it can stand for."""
    source, write, buffer = context.site.source, context.write, read.buffer
    listed = _is_list(read)
    constant = _fresh_attribute(source, f"{buffer.name}_{'list' if listed else 'value'}")
    changes: dict[ast.AST, Any] = {
        buffer.made: [buffer.made, *write.lines(_VALUES[listed], constant=constant, buffer=buffer.name)]
    }
    for other in constant_reads(source, source.tree):
        if other.buffer == buffer and _is_list(other) == listed:
            new = write.expr("self.{}", constant)
            changes[other.node] = new if other.index is None else write.expr("{}[{}]", new, other.index)
    yield Rewrite(
        f"`self.{buffer.name}` never changes after construction: its value is kept beside it as a Python constant",
        changes,
        Claim.PROMISE if buffer.saved else Claim.RESTRUCTURED,
        ("a state dict with other values would leave the constant behind",) if buffer.saved else (),
    )


def _is_list(read: Read) -> bool:
    return read.listed or read.index is not None


def _fresh_attribute(source: SourceFile, base: str) -> str:
    """`base`, or `base_2` and so on where the file already uses that attribute."""
    return unused(base, {node.attr for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)})
