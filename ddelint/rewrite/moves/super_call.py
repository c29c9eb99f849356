"""`super().forward(…)` in a classmethod of an autograd function: Dynamo inlines the base's function, not `super()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import fresh_name
from ddelint.rewrite.outlined import before_top_level
from ddelint.rewrite.proposals import offer
from ddelint.source import SourceFile

_MOVE = "base_function"
_SYMPTOM = "AutogradFunctionVariable"
"""What Dynamo (torch 2.13) says that it cannot make a constant of: the class that `super()` is asked about."""


@move(_MOVE)
def base_function(context: Context) -> Iterator[Candidate]:
    """`super().forward(ctx, x)` → `_Base_forward(cls, ctx, x)`: `Base.forward.__func__`, named once in the file."""
    source, call = context.site.source, context.site.node
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=method)):
            pass
        case _:
            return
    owner = _class_of(source, context.site.function)
    if _SYMPTOM not in context.detail or owner is None or len(owner.bases) != 1:
        return
    base = source.segment(owner.bases[0])
    value = f"{base}.{method}.__func__"
    function = context.site.function
    assert isinstance(function, ast.FunctionDef)
    known = _alias(source, value, owner)
    name = known or fresh_name(source, f"_{base.rpartition('.')[2].strip('_')}_{method}")
    given = [function.args.args[0].arg, *(source.segment(node) for node in (*call.args, *call.keywords))]
    edits = [Edit(source.span(call), f"{name}({', '.join(given)})")]
    if not known:
        edits.insert(0, before_top_level(source, function, [f"{name} = {value}"]))
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT,
        f"`super()` in an autograd function cannot be traced; the function that it finds, `{base}.{method}`, can",
        edits=tuple(edits),
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
