"""A custom operator without a fake kernel gets the one that the tracer read off what it returned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Rewrite, Statements, restructured, rewriting
from ddelint.sources.source import SourceFile


@rewriting("fake_kernel")
def fake_kernel(context: Context) -> Iterator[Rewrite]:
    """`@op.register_fake` under the operator's definition; a size that hangs on data becomes a new symbol."""
    if not context.fake:
        return
    source, body = context.site.source, context.write.given(context.fake)
    yield from _for_schema(context, body)
    defined = (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef))
    for node in defined:
        asked = _qualified(node) == _asked(context) != ""
        if asked and not _has_fake(source, node.name) and _stands_alone(source, node):
            yield _registered(context, node, body)


def _asked(context: Context) -> str:
    """The operator that the question is about, as it is registered."""
    return context.operator.removesuffix(".default").replace(".", "::")


def _qualified(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if called(decorator) == "custom_op":
                return name
    return ""


def _has_fake(source: SourceFile, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"register_fake", "impl_abstract"}
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(source.tree)
    )


def _stands_alone(source: SourceFile, function: ast.FunctionDef) -> bool:
    return isinstance(source.parents.get(function), ast.Module) and not function.args.vararg


def _registered(context: Context, function: ast.FunctionDef, body: Statements) -> Rewrite:
    """The fake kernel of an operator that a function defines: it has the function's own parameters and types."""
    write = context.write
    (kernel,) = write.lines("@{name}.register_fake\ndef _():\n    {body}", name=function.name, body=body)
    defined: Any = write.block([function])[0]
    signature = {name: getattr(defined, name) for name in ("params", "returns", "whitespace_before_params")}
    return _below(function, function.name, [kernel.with_changes(**signature)], body)


def _below(statement: ast.stmt, name: str, kernel: Statements, body: Statements) -> Rewrite:
    """The fake kernel of the operator `name` below a statement."""
    unknown = len(body) > 1
    return restructured(
        f"`{name}` has no fake kernel, so nothing can trace it; "
        + ("its output's size is a new symbol" if unknown else "its output's shape follows from its input"),
        {statement: [statement, *kernel]},
        "eager never calls a fake kernel",
    )


def _for_schema(context: Context, body: Statements) -> Iterator[Rewrite]:
    """For an operator that the file defines by a schema (`library.define("pick(Tensor x) -> Tensor")`)."""
    write = context.write
    qualified = _asked(context)
    for statement in context.site.source.tree.body:
        match statement:
            case ast.Expr(value=ast.Call() as call) if called(call) == "define":
                texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                name, _, rest = " ".join(texts).strip().partition("(")
                if name.strip() not in (qualified, qualified.rpartition("::")[2]) or not qualified:
                    continue
                kernel = write.lines(
                    "@torch.library.register_fake({name})\ndef _({parameters}):\n    {body}",
                    name=write.string(qualified),
                    parameters=write.given_parameters(list(_parameters(rest))),
                    body=body,
                )
                yield _below(statement, qualified, kernel, body)


def _parameters(rest: str) -> Iterator[str]:
    """The parameters of a schema, from behind its opening bracket: `Tensor x, float least=0.5, *, bool up) -> …`."""
    inside, _, _ = rest.partition(") ->")
    for part in re.split(r",(?![^\[(]{0,500}+[\])])", inside):
        if part.strip():
            yield part.split()[-1]
