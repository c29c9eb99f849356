"""Names that were given a value before: whether the same expression still gives it where the name is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import definition
from ddelint.rewrite.reading.names import blocks, draws_random, enclosing_block, is_pure, names_read, names_written
from ddelint.rewrite.reading.regions import changed_in_place


def computed_before(context: Context, name: ast.Name) -> ast.expr | None:
    """What a name was given, where nothing on the way from there to here changes what that reads; else None."""
    value, source = definition(context, name.id), context.site.source
    given = next((n for n in source.ancestors(value) if isinstance(n, ast.stmt)), None) if value is not None else None
    if value is None or given is None or not is_pure(value) or draws_random(value):
        return None
    block = enclosing_block(source, given)
    here = [node for node in source.ancestors(name) if isinstance(node, ast.stmt)]
    outer = next((statement for statement in here if statement in block), None)
    if outer is None or block.index(given) >= block.index(outer):
        return None
    passed = [*block[block.index(given) + 1 : block.index(outer)], *_passed_inside(outer, here)]
    if changed_in_place(passed) or any(_sets_attribute(statement) for statement in passed):
        return None  # of what the value reads, of the name itself, or of another name for either
    return None if names_written(*passed) & names_read(value) else value


def _sets_attribute(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in ast.walk(statement))


def _passed_inside(outer: ast.stmt, here: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements inside of `outer` that may run before the innermost of `here`: in a loop, all of it."""
    for statement in here[: here.index(outer) + 1][::-1]:
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar)):
            yield statement
            return
        for block in blocks(statement):
            inner = next((one for one in block if one in here), None)
            if inner is not None:
                yield from block[: block.index(inner)]
