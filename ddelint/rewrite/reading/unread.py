"""What nobody reads any more once some nodes are gone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import definition
from ddelint.rewrite.reading.names import is_pure, names_read


def unread_definitions(context: Context, gone: Iterable[ast.AST], kept: Collection[str] = ()) -> list[ast.stmt]:
    """The statements `name = value` of the site's function that only the nodes `gone` read, directly or by others.

    `kept`: names that the new text reads again. A value with an effect stays.
    """
    function, source = context.site.function, context.site.source
    if function is None:
        return []
    nodes = {inner for node in gone for inner in ast.walk(node)}
    found: list[ast.stmt] = []
    pending = names_read(*nodes)
    while pending:
        name = pending.pop()
        value = definition(context, name)
        statement = source.parents.get(value) if value is not None else None
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=given) if target == name and given is value:
                pass
            case _:
                continue
        reads = [
            n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and n is not statement.targets[0]
        ]
        if name in kept or not is_pure(given) or not nodes.issuperset(reads):
            continue
        found.append(statement)
        nodes.update(ast.walk(statement))
        pending |= names_read(given)
    return found
