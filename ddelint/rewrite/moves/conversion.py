"""What no front end takes inside of `forward` and what changes no result: done only in eager.

torch.export cannot swap the parameters of a module that is converted; Dynamo knows no `x.requires_grad = True`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    compiling,
    indent_unit,
    joined,
    owns_lines,
    text_of,
    torch_name,
)
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.proposals import offer
from ddelint.source import SourceFile

_MOVE = "conversion_in_eager"
_SYMPTOM = "_apply()"
"""What torch.nn.Module._apply calls itself where it cannot swap a parameter under fake tensors."""


@move(_MOVE)
def conversion_in_eager(context: Context) -> Iterator[Candidate]:
    """`self.head.to(dtype)` is run only in eager: a compiled program takes the module as it is."""
    source, call = context.site.source, context.site.node
    match call:
        case ast.Call(func=ast.Attribute(value=module, attr=attribute)) if attribute in knowledge().conversions:
            pass
        case _:
            return
    fact = context.type_of(source.segment(module))
    if fact.kind != "module" if fact is not None else _SYMPTOM not in context.detail:
        return
    if _in_eager(source, call):
        return
    yield from offer(
        context,
        _MOVE,
        Claim.GENERAL_PATH,
        "convert the module only in eager: where it has this dtype and device already, nothing changes",
        edits=_edits(context, call, module),
        imports=torch_name(source)[1],
        notes=("the compiled program takes the module with the dtype and on the device that it has",),
    )


def _edits(context: Context, call: ast.Call, module: ast.expr) -> tuple[Edit, ...]:
    source, statement = context.site.source, context.site.statement
    match statement:
        case ast.Expr(value=value) if value is call:
            whole = True
        case ast.Assign(targets=[target], value=value) if value is call:
            whole = ast.unparse(target) == ast.unparse(module)
        case _:
            whole = False
    if whole and owns_lines(source, statement):
        return (_only_in_eager(context, statement),)
    text = f"({text_of(source, module)} if {compiling(context)} else {text_of(source, call, Binding.OR)})"
    return (Edit(source.span(call), text),)


@move("leaf_in_eager")
def leaf_in_eager(context: Context) -> Iterator[Candidate]:
    """`x.requires_grad = True` is run only in eager: no parameter's gradient needs it."""
    source, statement = context.site.source, context.site.statement
    match statement:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=True)):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[] | [ast.Constant(value=True)])):
            pass
        case _:
            return
    if not owns_lines(source, statement) or _in_eager(source, statement):
        return
    yield from offer(
        context,
        "leaf_in_eager",
        Claim.GENERAL_PATH,
        "mark the tensor as requiring grad only in eager: neither results nor the parameters' gradients depend on it",
        edits=(_only_in_eager(context, statement),),
        imports=torch_name(source)[1],
    )


def _in_eager(source: SourceFile, node: ast.AST) -> bool:
    return any(isinstance(parent, ast.If) and asks_compiling(parent.test) for parent in source.ancestors(node))


def _only_in_eager(context: Context, statement: ast.stmt) -> Edit:
    source = context.site.source
    lines = [f"if not {compiling(context)}:", indent_unit(source, statement) + source.segment(statement)]
    return Edit(source.span(statement), joined(source, statement, lines))
