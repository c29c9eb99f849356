"""Which statement gave a name the value that it has at a place, and of which type that value was."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import TypeFact, at_row
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import bound_before, enclosing_block, names_written, position
from ddelint.rewrite.reading.regions import assigned_on_every_way
from ddelint.sources.source import SourceFile

_OTHER_BINDINGS = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
    *(ast.MatchMapping, ast.Global, ast.Nonlocal),
)
"""What gives names a value, or makes them those of another function, without the name itself as a target."""
_UNKNOWN = TypeFact("other")


def type_at(context: Context, text: str, place: ast.AST) -> TypeFact | None:
    """The type of a name or attribute chain written as `text`, where a run saw it.

    A name that gets values of several kinds (`rows = []`, later `rows = torch.stack(rows)`) has at `place` the one that
    it was given last, where that is certain; else the kind `other`.
    """
    fact = context.type_of(text)
    if fact is None or not _has_several_kinds(context, text):
        return fact
    statement = _giving(context.site.source, text, place)
    return (_type_from(context, text, statement) if statement is not None else None) or _UNKNOWN


def type_behind(context: Context, name: str, body: Sequence[ast.stmt]) -> TypeFact | None:
    """The type of `name` once the statements have run."""
    fact = context.type_of(name)
    if fact is None or not _has_several_kinds(context, name):
        return fact
    last = [statement for statement in body if name in names_written(statement)]
    return (_type_from(context, name, last[-1]) if last else None) or _UNKNOWN


def may_have_value(source: SourceFile, function: ast.AST, name: str, place: ast.stmt) -> bool:
    """Whether a name that `function` binds may have a value at `place`: from above, or from a turn before."""
    if name in bound_before(function, place):
        return True
    node: ast.AST = place
    for parent in source.ancestors(place):
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)) and node not in parent.orelse:
            return True
        node = parent
        if parent is function:
            break
    above = (n for n in ast.walk(function) if isinstance(n, _OTHER_BINDINGS) and position(n) < position(place))
    return any(name in names_written(node) or name in getattr(node, "names", ()) for node in above)


def type_in_eager(context: Context, text: str) -> TypeFact | None:
    """What eager runs saw a name or chain of attributes of the site's function be, whatever the compiler has there."""
    function = context.site.function
    return context.types_in(function).get(text) if isinstance(function, ast.FunctionDef) else None


def moved_row(key: str, moved: Callable[[int], int]) -> str:
    """The key of a type once the rows of its file have `moved`; a name's own key stays, a product `x @ y` too."""
    name, _, row = key.rpartition("@")
    return at_row(name, moved(int(row))) if name and row.isdigit() else key


def _has_several_kinds(context: Context, name: str) -> bool:
    return any(key.startswith(f"{name}@") for key in context.types)


def _type_from(context: Context, name: str, statement: ast.stmt) -> TypeFact | None:
    """The type that a statement gave to a name of several kinds; its sizes are left out where they were several."""
    rows = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    found = {fact for row in rows if (fact := context.types.get(at_row(name, row))) is not None}
    if len(found) > 1:
        found = {replace(fact, shape=None, length=None, element=None, value=None) for fact in found}
    return found.pop() if len(found) == 1 else None


def _giving(source: SourceFile, name: str, place: ast.AST) -> ast.stmt | None:
    """The statement whose value `name` has at `place`; None where it may have one from before."""
    node: ast.AST | None = place
    while node is not None and not isinstance(node, ast.stmt):
        node = source.parents.get(node)
    while isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        block = enclosing_block(source, node)
        for earlier in reversed(block[: block.index(node)]):
            if name in names_written(earlier):
                return earlier if name in assigned_on_every_way([earlier]) else None
        parent = source.parents.get(node)
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.While)) and name in names_written(parent):
            return None
        node = parent
    return None
