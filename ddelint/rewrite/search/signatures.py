"""Results that no graph has: another number of them on one side of what data decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import OTHER_RESULTS, Refusal
from ddelint.rewrite.parts.structures import structure_of
from ddelint.rewrite.reading.names import names_written
from ddelint.sources.sites import Role, Site

_MOVE = "where_merge"
"""The move that would choose between the two."""


def without_signature(site: Site | None) -> Iterator[Refusal]:
    """`return a,` under the test that asks, where another way returns `a, b`: why nothing merges the two.

    With what the shorter one could return as well, where that has a value by then.
    """
    statement = site.statement if site is not None else None
    if site is None or site.function is None or not isinstance(statement, ast.If) or site.role is not Role.IF_TEST:
        return
    early = [block[-1] for block in (statement.body, statement.orelse) if block]
    for one in early:
        for other in _returns(site.function):
            if isinstance(one, ast.Return) and other not in early:
                yield from _compared(site.function, one, other)


def _returns(function: ast.AST) -> Iterator[ast.Return]:
    """The returns of a function itself."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _returns(node)


def _compared(function: ast.AST, one: ast.Return, other: ast.Return) -> Iterator[Refusal]:
    if not isinstance(one.value, ast.Tuple) or not isinstance(other.value, ast.Tuple):
        return  # what a name holds, or a call gives, the text doesn't say
    here, there = structure_of(one.value).parts, structure_of(other.value).parts
    if len(here) == len(there):
        return
    reason = f"{OTHER_RESULTS}: {len(here)} here, {len(there)} in line {other.lineno}; no graph has both"
    missing = there[len(here) :]
    earlier = [node for node in ast.walk(function) if isinstance(node, ast.Assign) and node.lineno < one.lineno]
    known = names_written(*earlier)
    complete = missing and all(isinstance(part, ast.Name) and part.id in known for part in missing)
    code = f"return {', '.join(map(ast.unparse, (*here, *missing)))}" if complete else ""
    yield Refusal(_MOVE, f"`{ast.unparse(one)}` (line {one.lineno})", reason, code)
