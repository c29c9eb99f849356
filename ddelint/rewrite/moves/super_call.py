"""`super().forward(…)` in a classmethod of an autograd function: Dynamo inlines the base's function, not `super()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.source import SourceFile

_SYMPTOM = "AutogradFunctionVariable"
"""What Dynamo (torch 2.13) says that it cannot make a constant of: the class that `super()` is asked about."""


@rewriting("base_function")
def base_function(context: Context) -> Iterator[Rewrite]:
    """`super().forward(ctx, x)` → `_Base_forward(cls, ctx, x)`: `Base.forward.__func__`, named once in the file."""
    source, call, function, write = context.site.source, context.site.node, context.site.function, context.write
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=method)):
            pass
        case _:
            return
    owner = _class_of(source, function)
    if _SYMPTOM not in context.detail or function is None or owner is None or len(owner.bases) != 1:
        return
    base = ast.unparse(owner.bases[0])
    name = _alias(source, f"{base}.{method}.__func__", owner)
    changes: dict[ast.AST, Any] = {}
    if not name:
        name = fresh_name(source, f"_{base.rpartition('.')[2].strip('_')}_{method}")
        lines = write.lines("{name} = {base}.{method}.__func__", name=name, base=owner.bases[0], method=method)
        changes[owner] = [*lines, owner]
    own = ast.Name(id=function.args.args[0].arg, ctx=ast.Load())
    changes[call] = write.expr("{}({})", name, [own, *call.args, *call.keywords])
    yield Rewrite(
        f"`super()` in an autograd function cannot be traced; the function that it finds, `{base}.{method}`, can",
        changes,
    )


def _class_of(source: SourceFile, function: ast.AST | None) -> ast.ClassDef | None:
    """The module's class of which `function` is a classmethod."""
    if not isinstance(function, ast.FunctionDef) or not function.args.args:
        return None
    owner = source.parents.get(function)
    is_classmethod = any(isinstance(node, ast.Name) and node.id == "classmethod" for node in function.decorator_list)
    at_top = isinstance(owner, ast.ClassDef) and isinstance(source.parents.get(owner), ast.Module)
    return owner if isinstance(owner, ast.ClassDef) and is_classmethod and at_top else None


def _alias(source: SourceFile, value: str, owner: ast.ClassDef) -> str:
    """The name that the module gives to `value` above the class; empty where it gives none."""
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=found) if found.lineno < owner.lineno:
                if ast.unparse(found) == value:
                    return name
    return ""
