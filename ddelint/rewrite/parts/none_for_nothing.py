"""None where there is nothing, asked for behind: what the first test has decided is not asked again.

`best = None`, `if t: best = f(x)`, `if best is not None: use(best)` → `if t: best = f(x); use(best)`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import (
    asks_compiling,
    draws_random,
    enclosing_block,
    is_pure,
    names_read,
    names_written,
)
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.sources.source import SourceFile


@dataclass(frozen=True, slots=True)
class _Arms:
    """The branch that asks whether a name is None, by what it does where it is and where it isn't."""

    branch: ast.If
    something: Sequence[ast.stmt]
    nothing: Sequence[ast.stmt]


@dataclass(frozen=True, slots=True)
class Fused:
    """One branch for both. `rows`: old row → new one, from where the name is None to the end of the test for None."""

    rewrite: Rewrite
    rows: Mapping[int, int]

    def moved(self, row: int) -> int:
        """The row that a line of the text there is has in the new one."""
        if row in self.rows or row < min(self.rows):
            return self.rows.get(row, row)
        return row + max(self.rows.values()) - max(self.rows)


def asked_once(context: Context) -> Fused | None:
    """The site's branch with what stands behind it in an arm of a test for None; None where there is no such test."""
    statement = context.site.statement
    if not isinstance(statement, ast.If) or statement.orelse or context.site.decision is not statement.test:
        return None
    name, source, write = _given(context, statement), context.site.source, context.write
    if name is None or asks_compiling(statement.test) or write.is_elif(statement):
        return None
    block = enclosing_block(source, statement)
    place = block.index(statement)
    unset = next((s for s in reversed(block[:place]) if name in names_written(s)), None)
    match unset:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=None)):
            pass
        case _:
            return None
    between: list[ast.stmt] = []
    for later in block[place + 1 :]:
        arms = _arms(later, name)
        if arms is not None:
            break
        if not _stands_apart(later, statement):
            return None
        between.append(later)
    else:
        return None
    behind = block[block.index(unset) + 1 :]
    reads = [n for later in behind for n in ast.walk(later) if isinstance(n, ast.Name) and n.id == name]
    inside = {*ast.walk(statement), *ast.walk(arms.branch)}
    if name in live_behind(source, arms.branch) or not inside.issuperset(reads):
        return None
    if name in names_read(*arms.nothing):
        return None
    body = [*statement.body, *arms.something]
    template = "if {test}:\n    {body}" + ("\nelse:\n    {orelse}" if arms.nothing else "")
    parts: dict[str, Any] = {"test": statement.test, "body": body}
    parts |= {"orelse": arms.nothing} if arms.nothing else {}
    changes: dict[ast.AST, Any] = {unset: [], statement: [], arms.branch: write.lines(template, **parts)}
    return Fused(Rewrite("", changes), _rows(source, unset, statement, arms))


def _rows(source: SourceFile, unset: ast.stmt, branch: ast.If, arms: _Arms) -> Mapping[int, int]:
    """Old row → new one: what stood between the two tests stands before both by now, and their lines are one branch."""
    gone, first, second = map(source.span, (unset, branch, arms.branch))
    parts = [
        range(gone.end_row + 1, first.row),
        range(first.end_row + 1, second.row),
        range(first.row, first.end_row + 1),
        _rows_of(source, arms.something),
    ]
    order = [row for part in parts for row in part]
    rows = {row: gone.row + number for number, row in enumerate(order)}
    if arms.nothing:
        behind = gone.row + len(order) + 1  # an `else` in between
        rows |= {row: behind + number for number, row in enumerate(_rows_of(source, arms.nothing))}
    end = max(rows.values())
    return {**dict.fromkeys(range(gone.row, second.end_row + 1), end), **rows}


def _rows_of(source: SourceFile, statements: Sequence[ast.stmt]) -> range:
    return range(source.span(statements[0]).row, source.span(statements[-1]).end_row + 1)


def _given(context: Context, branch: ast.If) -> str | None:
    """The one name that a branch gives something, last of all that it computes for that."""
    *before, last = branch.body
    if not all(isinstance(s, ast.Assign) and is_pure(s.value) for s in branch.body):
        return None
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in names_written(*before):
            some = Kinds(context).of(value) in (Kind.TENSOR, Kind.NUMBER) or isinstance(value, ast.Tuple)
            return name if some else None
    return None


def _arms(statement: ast.stmt, name: str) -> _Arms | None:
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id=left), ops=[operator], comparators=[ast.Constant(value=None)])):
            if left != name:
                return None
            if isinstance(operator, ast.IsNot):
                return _Arms(statement, statement.body, statement.orelse)
            if isinstance(operator, ast.Is) and statement.orelse:
                return _Arms(statement, statement.orelse, statement.body)
    return None


def _stands_apart(statement: ast.stmt, branch: ast.If) -> bool:
    """Whether a statement between the two comes to the same before the first of them."""
    match statement:
        case ast.Assign(targets=targets, value=value) if all(isinstance(target, ast.Name) for target in targets):
            written = names_written(branch)
            return (
                is_pure(value)
                and not draws_random(value)
                and not names_read(value) & written
                and not names_written(statement) & (written | names_read(branch))
            )
    return False
