"""What is cut to the longest of several rows is padding: while compiling it is left on, and no length is unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, bound_before, called, names_read, position
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile

_MESSAGE = "while compiling, leave the padding on: what is masked changes no result, and no length depends on data"
_COST = "compiled code computes the padding, too"


@rewriting("padding_stays")
def padding_stays(context: Context) -> Iterator[Rewrite]:
    """`longest = int(mask.sum(1).max())`, then `x[:, :longest]` → `longest = x.shape[1]` while compiling."""
    write, source = context.write, context.site.source
    for statement in dict.fromkeys(_statements(context)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_greatest(value):
                pass
            case _:
                continue
        cut = next(_cut(source, statement, name), None)
        if cut is None or asks_compiling(value):
            continue
        whole, dimension = cut
        size = write.expr("{}.shape[{}]", whole, dimension)
        new = write.expr("{} if torch.compiler.is_compiling() else {}", size, value)
        yield Rewrite(_MESSAGE, {value: new}, Claim.GENERAL_PATH, (_COST,), preferred=True)


def _statements(context: Context) -> Iterator[ast.stmt]:
    """The site's statement, and those that made the numbers in question, as far as they stand in its file."""
    source = context.site.source
    yield context.site.statement
    for symbol in context.diagnostic.symbols:
        if symbol.created is not None and symbol.created.filename == source.filename:
            found = source.at(symbol.created)
            if found is not None:
                yield from _maker(source, site_of(source, found).statement)


def _maker(source: SourceFile, statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, and those that gave the names in it their values."""
    yield statement
    function = next((n for n in source.ancestors(statement) if isinstance(n, ast.FunctionDef)), None)
    read = names_read(statement)
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in read:
                yield node


def _is_greatest(value: ast.expr) -> bool:
    """Whether a number is the greatest of several."""
    picks = knowledge().segments.reductions
    return any(isinstance(node, ast.Call) and picks.get(called(node)) == "amax" for node in ast.walk(value))


def _cut(source: SourceFile, statement: ast.Assign, name: str) -> Iterator[tuple[ast.expr, int]]:
    """What the number cuts further on, `x[:, :name]`, and in which dimension; first what has a value before."""
    function = next((n for n in source.ancestors(statement) if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        return
    before = bound_before(function, statement)
    reads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    for read in sorted(reads, key=position):
        end = source.parents.get(read)
        parent = source.parents.get(end) if end is not None else None
        indices = [end]
        if isinstance(parent, ast.Tuple):
            indices, parent = [*parent.elts], source.parents.get(parent)
        match end, parent:
            case ast.Slice(lower=None, upper=upper, step=None), ast.Subscript(value=whole) if upper is read:
                plain = all(isinstance(index, ast.Slice) for index in indices[: indices.index(end)])
                if plain and names_read(whole) <= before:
                    yield whole, indices.index(end)
