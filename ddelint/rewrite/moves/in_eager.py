"""What no front end takes inside of `forward` and what changes no result: done only in eager.

torch.export cannot swap the parameters of a module that is converted; Dynamo knows no `x.requires_grad = True`, and no
new tensor that requires grad.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, stands_in_eager
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_SYMPTOM = "_apply()"
"""What torch.nn.Module._apply calls itself where it cannot swap a parameter under fake tensors."""


@rewriting("conversion_in_eager")
def conversion_in_eager(context: Context) -> Iterator[Rewrite]:
    """`self.head.to(dtype)` is run only in eager: a compiled program takes the module as it is."""
    source, call, statement, write = context.site.source, context.site.node, context.site.statement, context.write
    match call:
        case ast.Call(func=ast.Attribute(value=module, attr=attribute)) if attribute in knowledge().conversions:
            pass
        case _:
            return
    fact = context.type_of(ast.unparse(module))
    if fact.kind != "module" if fact is not None else _SYMPTOM not in context.detail:
        return
    if stands_in_eager(source, call):
        return
    match statement:
        case ast.Expr(value=value) if value is call:
            whole = True
        case ast.Assign(targets=[target], value=value) if value is call:
            whole = ast.unparse(target) == ast.unparse(module)
        case _:
            whole = False
    choice = write.either(module, call)
    yield Rewrite(
        "convert the module only in eager: where it has this dtype and device already, nothing changes",
        {statement: write.in_eager([statement])} if whole else {call: choice},
        Claim.GENERAL_PATH,
        ("the compiled program takes the module with the dtype and on the device that it has",),
    )


@rewriting("leaf_in_eager")
def leaf_in_eager(context: Context) -> Iterator[Rewrite]:
    """`x.requires_grad = True` is run only in eager: no parameter's gradient needs it."""
    statement = context.site.statement
    match statement:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=True)):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[] | [ast.Constant(value=True)])):
            pass
        case _:
            return
    if stands_in_eager(context.site.source, statement):
        return
    yield Rewrite(
        "mark the tensor as requiring grad only in eager: neither results nor the parameters' gradients depend on it",
        {statement: context.write.in_eager([statement])},
        Claim.GENERAL_PATH,
    )


@rewriting("created_leaf_in_eager")
def created_leaf_in_eager(context: Context) -> Iterator[Rewrite]:
    """`torch.zeros((), requires_grad=True)` requires grad only in eager: no parameter's gradient needs it."""
    call, write = context.site.node, context.write
    match call:
        case ast.Call(keywords=keywords):
            wanted = next((keyword.value for keyword in keywords if keyword.arg == "requires_grad"), None)
        case _:
            return
    if wanted is None or asks_compiling(wanted) or stands_in_eager(context.site.source, call):
        return
    in_eager = write.expr("not torch.compiler.is_compiling()")
    always = isinstance(wanted, ast.Constant) and wanted.value is True
    yield Rewrite(
        "let the new tensor require grad only in eager: neither results nor the parameters' gradients depend on it",
        {wanted: in_eager if always else write.expr("{} and {}", wanted, in_eager)},
        Claim.GENERAL_PATH,
        doubt="where nothing is added to the new tensor, a compiled result requires no grad that eager's does",
    )
