"""Where an arm puts a value: which places its statements read, change, or hand on."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import names_written


def root(node: ast.expr) -> str:
    """The name that a chain of attributes and indices begins with; empty where it begins with something else."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def reads_any(node: ast.expr, names: Mapping[str, str]) -> bool:
    """Whether an expression reads one of the names and chains of attributes that have another name."""
    chains = (inner for inner in ast.walk(node) if isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript)))
    return any(ast.unparse(inner) in names for inner in chains)


def word(place: ast.expr) -> str:
    """What a value is called that a place is given."""
    match place:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str() as name)) if name.isidentifier():
            return name.strip("_") or "value"
    return "value"


def is_said(statements: Sequence[ast.stmt], place: ast.expr, is_slot: bool) -> bool:
    """Whether statements read or change a place by its own text; parts of it, too, where it is no slot."""
    if not is_slot:
        whole = place.value if isinstance(place, ast.Subscript) else place
        return any(ast.unparse(whole) in ast.unparse(statement) for statement in statements)
    said = (n for s in statements for n in ast.walk(s) if isinstance(n, (ast.Attribute, ast.Subscript)))
    return any(ast.unparse(node) == ast.unparse(place) for node in said)


def is_handed_on(statements: Sequence[ast.stmt], place: ast.expr, context: Context) -> bool:
    """Whether statements may read or change a slot as a part of its object: `self.update()`, `helper(stats)`."""
    assert isinstance(place, (ast.Attribute, ast.Subscript))
    owner = ast.unparse(place.value)
    if isinstance(place, ast.Subscript):
        nodes = [node for statement in statements for node in ast.walk(statement)]
        whole = sum(isinstance(node, ast.Name) and node.id == owner for node in nodes)
        items = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)]
        return whole > sum(ast.unparse(node.value) == owner for node in items)
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        match node:
            case ast.Call(func=ast.Attribute(value=value) as method) if ast.unparse(value) == owner:
                fact = context.type_of(ast.unparse(method))
                if fact is None or fact.kind != "module":
                    return True
            case ast.Call(args=arguments, keywords=keywords):
                handed = (*arguments, *(keyword.value for keyword in keywords))
                if any(ast.unparse(argument) == owner for argument in handed):
                    return True
    return False


def changes_part(statement: ast.stmt, name: str) -> bool:
    """Whether a statement changes a part of `name`."""
    return any(
        isinstance(node, (ast.Subscript, ast.Attribute)) and root(node) == name for node in ast.walk(statement)
    ) and name not in names_written(statement)
