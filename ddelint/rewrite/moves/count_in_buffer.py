"""A module that counts its calls in Python: the count becomes a buffer, on which what is compiled counts on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.protocol import COUNTED
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting

_BUFFER = "self.register_buffer({name}, torch.tensor({first}), persistent=False)"
_SET = "{buffer}.fill_({value})"


@rewriting("count_in_buffer")
def count_in_buffer(context: Context) -> Iterator[Rewrite]:
    """`self.steps = 0` in a constructor → `self.register_buffer("steps", torch.tensor(0), persistent=False)`.

    What adds to it stays as it is; where another method sets it to a number, that is filled in. Where anything else is
    stored there, nothing is offered: a module refuses what is no tensor in a buffer's place.
    """
    target, write = context.site.node, context.write
    definition = _class_around(context)
    if context.kind != COUNTED or definition is None or not isinstance(target, ast.Attribute):
        return
    changes: dict[ast.AST, Any] = {}
    begins = False
    for method in definition.body:
        for statement, value in _stores(method, target):
            if not (isinstance(value, ast.Constant) and type(value.value) is int):
                return
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                changes[statement] = write.lines(_BUFFER, name=write.string(target.attr), first=value)
                begins = True
            else:
                changes[statement] = write.lines(_SET, buffer=target, value=value)
    if begins:
        yield restructured(
            f"`self.{target.attr}` is a tensor that the module holds: what is compiled counts on, in one graph",
            changes,
            doubt=f"whoever reads `{target.attr}` finds a tensor, and whoever sets it must fill that",
        )


def _class_around(context: Context) -> ast.ClassDef | None:
    """The innermost class whose method counts."""
    source = context.site.source
    span = source.span(context.site.node)
    classes = [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    return next((node for node in reversed(classes) if source.span(node).contains(span)), None)


def _stores(method: ast.stmt, target: ast.Attribute) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The assignments to the attribute, and what each stores, but for those that count on."""
    attribute = ast.unparse(target)
    for statement in ast.walk(method):
        match statement:
            case ast.Assign(targets=[one], value=value):
                stored = one, value
            case ast.AnnAssign(target=one, value=ast.expr() as value):
                stored = one, value
            case _:
                continue
        place, value = stored
        counts_on = any(ast.unparse(node) == attribute for node in ast.walk(value) if isinstance(node, ast.Attribute))
        if ast.unparse(place) == attribute and not counts_on:
            yield statement, value
