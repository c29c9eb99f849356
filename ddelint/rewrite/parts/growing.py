"""A list that grows by `rows += [x]` or `rows.extend([x])` grows by `rows.append(x)`, which more moves know."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.branch_functions import own_statements
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, names_read, places_of_stores, position, runs_whenever
from ddelint.rewrite.writing.rewrites import Rewrite, Statements


def appended_one_by_one(context: Context) -> Iterator[tuple[Rewrite, str]]:
    """`rows += [a, b]` → `rows.append(a)`, `rows.append(b)`, in the statement and the loops that it stands in.

    Only where `rows` is known to be a list, which both grow in place.
    """
    site = context.site
    if site.decision is None or asks_compiling(site.decision):
        return
    loops = [node for node in site.source.ancestors(site.statement) if isinstance(node, (ast.For, ast.While))]
    whole = loops[-1] if loops else site.statement
    inside = {*ast.walk(whole)}
    changes: dict[ast.AST, Any] = {}
    for statement in own_statements(whole):
        added = _added(statement)
        if added is not None and _is_list(context, added[0], whole, inside):
            changes[statement] = _appends(context, *added)
    if changes:
        yield Rewrite("", changes), ast.unparse(site.decision)


def _added(statement: ast.stmt) -> tuple[ast.Name, list[ast.expr]] | None:
    """The list that a statement makes longer, and by which elements; None where that is said otherwise."""
    match statement:
        case ast.AugAssign(target=ast.Name() as rows, op=ast.Add(), value=ast.List(elts=[_, *_] as elements)):
            pass
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as rows, attr="extend"),
                args=[ast.List(elts=[_, *_] as elements) | ast.Tuple(elts=[_, *_] as elements)],
                keywords=[],
            )
        ):
            pass
        case _:
            return None
    # each is computed before the list grows, which goes by other names, too
    if isinstance(elements[0], ast.Starred) or rows.id in names_read(*elements[1:]):
        return None
    return (rows, elements) if all(map(_reads_no_list, elements[1:])) else None


def _reads_no_list(element: ast.expr) -> bool:
    """Whether an element is the same however long a list is: a name, a number, what has its sign changed."""
    match element:
        case ast.Name() | ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _reads_no_list(operand)
    return False


def _is_list(context: Context, rows: ast.Name, whole: ast.stmt, inside: Collection[ast.AST]) -> bool:
    """Whether a name holds a list where `whole` makes it longer: a run saw one, or it is given nothing else there, nor
    by the statement before, which runs whenever `whole` does.

    Behind that it may be bound to something else, as a tensor that is made of it.
    """
    fact = Kinds(context).fact(rows)
    if fact is not None and fact.kind == "list":
        return True
    function, source = context.site.function, context.site.source
    if function is None:
        return False
    given = [(place, source.parents.get(place)) for place in places_of_stores(function, rows.id)]
    given = [(place, node) for place, node in given if not isinstance(node, ast.AugAssign)]
    before = sorted((one for one in given if position(one[0]) < position(whole)), key=lambda one: position(one[0]))
    if not before or not runs_whenever(source, before[-1][1], whole):
        return False
    reaching = [before[-1], *(one for one in given if one[0] in inside)]
    return all(_makes_a_list(getattr(node, "value", None)) for _, node in reaching)


def _makes_a_list(value: object) -> bool:
    match value:
        case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list")):
            return True
    return False


def _appends(context: Context, rows: ast.expr, elements: list[ast.expr]) -> Statements:
    lines: Statements = []
    for element in elements:
        lines += context.write.lines("{rows}.append({element})", rows=rows, element=element)
    return lines
