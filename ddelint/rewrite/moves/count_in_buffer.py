"""A module that counts its calls in Python: the count becomes a buffer, on which what is compiled counts on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.protocol import COUNTED
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting
from ddelint.sources.counts import adds_to
from ddelint.sources.source import SourceFile

_BUFFER = "self.register_buffer({name}, torch.tensor({first}), persistent=False)"
_SET = "{buffer}.fill_({value})"


@rewriting("count_in_buffer")
def count_in_buffer(context: Context) -> Iterator[Rewrite]:
    """`self.steps = 0` in a constructor → `self.register_buffer("steps", torch.tensor(0), persistent=False)`.

    What adds to it stays as it is; where another method sets it to a number, that is filled in. Where the file stores
    or deletes it in any other way, nothing is offered: a module refuses what is no tensor in a buffer's place.
    """
    target, source, write = context.site.node, context.site.source, context.write
    definition = _class_around(context)
    if context.kind != COUNTED or definition is None or not isinstance(target, ast.Attribute) or not definition.bases:
        return
    changes: dict[ast.AST, Any] = {}
    known: set[ast.AST] = set()
    begins = False
    for method in (method for method in definition.body if isinstance(method, ast.FunctionDef)):
        for statement, place, value in _stores(method, target):
            known.add(place)
            if value is None:
                continue
            if method.name == "__init__":
                changes[statement] = write.lines(_BUFFER, name=write.string(target.attr), first=value)
                begins = True
            else:
                changes[statement] = write.lines(_SET, buffer=target, value=value)
    shared = None if begins else _shared(source, definition, target.attr)
    built = next(filter(None, map(_calls_of_super, definition.body)), None)
    if shared is not None and built is not None:
        statement, first = shared
        register = write.lines(_BUFFER, name=write.string(target.attr), first=first)
        changes |= {statement: [], built: [built, *register]}
        begins = True
    if begins and known >= _all_stores(source.tree, definition, target.attr):
        yield restructured(
            f"`self.{target.attr}` is a tensor that the module holds: what is compiled counts on, in one graph",
            changes,
            doubt=f"whoever reads `{target.attr}` finds a tensor, and whoever sets it must fill that",
        )


def _shared(source: SourceFile, definition: ast.ClassDef, attribute: str) -> tuple[ast.stmt, ast.expr] | None:
    """`steps = 0` in the class itself, and the number; None where anything but `self` may read it there."""
    readers = [n.value for n in ast.walk(source.tree) if isinstance(n, ast.Attribute) and n.attr == attribute]
    if any(ast.unparse(reader) != "self" for reader in readers):
        return None
    said = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == attribute]
    if sum(_is_in_a_class(source, name) for name in said) > 1:  # what is read there, or set by an heir
        return None
    for statement in definition.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name == attribute and _is_whole(value):
                return statement, value
    return None


def _is_in_a_class(source: SourceFile, name: ast.Name) -> bool:
    """Whether a name is one of a class, and of no function in it."""
    scopes = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return isinstance(next((n for n in source.ancestors(name) if isinstance(n, scopes)), None), ast.ClassDef)


def _calls_of_super(method: ast.stmt) -> ast.stmt | None:
    """`super().__init__()` among the statements of a constructor: before it, a module holds no buffer."""
    if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
        return None
    for statement in method.body:
        match statement:
            case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"))):
                return statement
    return None


def _class_around(context: Context) -> ast.ClassDef | None:
    """The innermost class whose method counts."""
    source = context.site.source
    span = source.span(context.site.node)
    classes = [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    return next((node for node in reversed(classes) if source.span(node).contains(span)), None)


def _stores(
    method: ast.FunctionDef, target: ast.Attribute
) -> Iterator[tuple[ast.stmt, ast.Attribute, ast.expr | None]]:
    """The statements that store in the attribute a number, which comes with them, or what is added to it (None)."""
    for statement in ast.walk(method):
        value: ast.expr | None
        match statement:
            case ast.Assign(targets=[ast.Attribute() as place], value=ast.expr() as stored):
                value = stored
            case ast.AnnAssign(target=ast.Attribute() as place, value=ast.expr() as stored):
                value = stored
            case ast.AugAssign(target=ast.Attribute() as place):
                value = None
            case _:
                continue
        if ast.unparse(place) != ast.unparse(target):
            continue
        if value is None or adds_to(place, value):
            yield statement, place, None
        elif _is_whole(value):
            yield statement, place, value


def _is_whole(value: ast.expr) -> bool:
    """Whether it is a whole number, as it is written."""
    match value:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)) | ast.Constant(value=number):
            return type(number) is int
    return False


def _all_stores(module: ast.Module, definition: ast.ClassDef, attribute: str) -> set[ast.AST]:
    """Where an attribute of the class's objects may be stored or deleted: on `self` in the class and in its heirs, and
    on whatever else has another name."""
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    family = [node for node in classes if node is definition or definition.name in map(ast.unparse, node.bases)]
    own = {node for member in family for node in ast.walk(member)}
    return {
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.ctx, (ast.Store, ast.Del))
        and (node in own or ast.unparse(node.value) != "self")
    }
