"""Retired functions, replaced by what the current releases say for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.knowledge.unions import is_none
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, fresh_name
from ddelint.rewrite.reading.replacements import Bounds, replacements
from ddelint.rewrite.writing.rewrites import Part, Rewrite, rewriting

_SUBJECTS = ("symbol", "i", "size", "a")
"""What the retired calls call the number whose bounds they state."""
_GUARDS: dict[type[ast.cmpop], str] = {ast.Eq: "guard_or_false", ast.NotEq: "guard_or_true"}


@rewriting("retired_api")
def retired_api(context: Context) -> Iterator[Rewrite]:
    """`torch._check_is_size(u)` → `torch._check(u >= 0)`, and so on for every call that the statement makes."""
    if context.diagnostic.code == "DDE605":
        yield from _scripted(context)
        return
    ranges = replacements().ranges
    for node in around(context):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if name in ranges:
            yield from _range(context, node, ranges[name])
        elif name == "guard_size_oblivious" and len(node.args) == 1 and not node.keywords:
            yield from _oblivious(context, node)
        elif name == "hint_int" and node.args:
            yield from _hint(context, node)


def _range(context: Context, node: ast.Call, stated: Bounds) -> Iterator[Rewrite]:
    """A call that states bounds, as one check each."""
    write, statement = context.write, context.site.statement
    if not (isinstance(statement, ast.Expr) and statement.value is node):
        return
    if any(isinstance(argument, ast.Starred) for argument in node.args) or len(node.args) > 1 + len(stated.parameters):
        return
    given: dict[str | None, ast.expr] = dict(zip(("symbol", *stated.parameters), node.args))
    given |= {keyword.arg: keyword.value for keyword in node.keywords}
    given = {name: value for name, value in given.items() if not is_none(value)}
    subject: Part | None = next((given[name] for name in _SUBJECTS if name in given), None)
    lowest: Part | None = given.get("min") or stated.lowest or None
    limits = [
        (sign, limit) for sign, limit in ((ast.GtE(), lowest), (ast.LtE(), given.get("max"))) if limit is not None
    ]
    message = [given["message"]] if "message" in given else []
    if not isinstance(subject, ast.expr) or None in given or not limits:
        return
    lines = []
    if len(limits) > 1:
        if not all(map(_may_stand_twice, message)):
            return
        if not _may_stand_twice(subject):
            name = fresh_name(context.site.source, "bounded")
            lines, subject = write.lines("{name} = {subject}", name=name, subject=subject), name
    checks = [
        write.expr("torch._check({})", [write.operation(subject, sign, limit), *message]) for sign, limit in limits
    ]
    for check in checks:
        lines += write.lines("{check}", check=check)
    yield Rewrite(
        f"`{called(node)}` is retired; `{write.torch}._check` states the same bounds",
        {node: checks[0]} if len(checks) == 1 else {statement: lines},
    )


def _may_stand_twice(node: ast.expr) -> bool:
    """Whether computing the expression twice is as good as once: names, attributes, constants, sizes of those."""
    match node:
        case ast.Name() | ast.Constant() | ast.Lambda():
            return True
        case ast.Attribute(value=value):
            return _may_stand_twice(value)
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=place):
            return _may_stand_twice(value) and _may_stand_twice(place)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _may_stand_twice(operand)
    return False


def _oblivious(context: Context, node: ast.Call) -> Iterator[Rewrite]:
    """`guard_size_oblivious(x == 1)` → `guard_or_false(x == 1)`; the call keeps its argument as it is written."""
    match node.args[0]:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as operator], left=left, comparators=[right]) as asked:
            if not any(isinstance(side, ast.Constant) and side.value in (0, 1) for side in (left, right)):
                return
            name = _GUARDS[type(operator)]
            yield Rewrite(
                f"`guard_size_oblivious` is retired; `{name}` gives an unknown size the same answer, and says which",
                _renamed(context, node.func, name),
                Claim.GENERAL_PATH,
                decisions=(asked,),
            )


def _renamed(context: Context, function: ast.expr, name: str) -> dict[ast.AST, Any]:
    """Another function of the same module; the import of the old one goes where nothing else uses it."""
    write, tree = context.write, context.site.source.tree
    if isinstance(function, ast.Attribute):
        return {function: write.expr("{}.{name}", function.value, name=name)}
    changes: dict[ast.AST, Any] = {function: write.expression(name)}
    if isinstance(function, ast.Name):
        module, _ = knowledge().imports[name]
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == function.id]
        imported = [
            alias
            for statement in tree.body
            if isinstance(statement, ast.ImportFrom) and statement.module == module
            for alias in statement.names
        ]
        mine = [alias for alias in imported if alias.name == function.id and alias.asname is None]
        if len(uses) == 1 and len(mine) == 1 and not any(alias.name == name for alias in imported):
            changes[mine[0]] = write.expression(name)
    return changes


def _hint(context: Context, node: ast.Call) -> Iterator[Rewrite]:
    fallback = len(node.args) > 1 or any(keyword.arg == "fallback" for keyword in node.keywords)
    name = "optimization_hint" if fallback else "guarding_hint_or_throw"
    yield Rewrite(
        f"`hint_int` is retired; `{name}` says the same",
        _renamed(context, node.func, name),
        notes=("torch 2.13 or later",),
    )


def _scripted(context: Context) -> Iterator[Rewrite]:
    """A check in scripted code, asked only where it is not scripted."""
    statement = context.site.statement
    if isinstance(statement, ast.Expr):
        guarded = context.write.lines("if not torch.jit.is_scripting():\n    {checks}", checks=[statement])
        yield Rewrite("TorchScript does not know this check; it is made everywhere else", {statement: guarded})
