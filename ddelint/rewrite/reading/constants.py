"""What a name or attribute stands for that is given a value once: in the function, in the module, in the class."""

from __future__ import annotations

import ast

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.dtypes import class_around
from ddelint.rewrite.reading.kinds import definition


def value_of(context: Context, node: ast.expr) -> ast.expr | None:
    """The one value of a name or of `self.NAME`; another expression is its own, None for what is bound differently."""
    match node:
        case ast.Name(id=name):
            value = definition(context, name)
            return value if value is not None else _module_constant(context, name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return _class_constant(context, name)
    return node


def _module_constant(context: Context, name: str) -> ast.expr | None:
    values = [
        node.value
        for node in context.site.source.tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return values[0] if len(values) == 1 else None


def _class_constant(context: Context, name: str) -> ast.expr | None:
    """What the class body or its methods assign to an attribute, where that happens once."""
    owner = class_around(context)
    values = [
        node.value
        for node in (ast.walk(owner) if owner is not None else ())
        if isinstance(node, ast.Assign)
        for target in node.targets
        if (isinstance(target, ast.Attribute) and target.attr == name)
        or (isinstance(target, ast.Name) and target.id == name and owner is not None and node in owner.body)
    ]
    return values[0] if len(values) == 1 else None
