"""Whether what is a tensor here is a Python number at times: then `.item()` is no word for both.

`def scale(x, by: float | Tensor)`, `by=1.0`, `if isinstance(by, (int, float))`, `by or x.max()`, `max(low, x.min())`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.knowledge.operators import terminal_name
from ddelint.knowledge.unions import members
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.optional import parameter
from ddelint.rewrite.reading.plainly import is_number, is_tensor, kept_under, values_of
from ddelint.rewrite.reading.told_apart import is_told_apart
from ddelint.sources.source import SourceFile, descend

_NUMBERS = frozenset(("int", "float", "bool", "complex", "Number", "Real", "Integral"))
_DEEPEST = 4
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_be_number(source: SourceFile, node: ast.expr) -> bool:
    """Whether the text lets a name, an attribute, or what is chosen between several values, be a number.

    False where a test has told the tensor from it on the way there.
    """
    function = next((scope for scope in source.ancestors(node) if isinstance(scope, _Function)), None)
    if function is None:
        return False
    said = any(_is_of_number(part) for part in _said(function, node.id)) if isinstance(node, ast.Name) else False
    given = (not is_tensor(source, choice, methods_of_tensors()) for choice in _choices(source, node))
    if not (said or any(given) or _begins_as_number(source, node) or _is_returned_as_number(source, node)):
        return False
    return not is_told_apart(source, node, _says_tensor)


def _choices(source: SourceFile, node: ast.AST, depth: int = 0) -> Iterator[ast.AST]:
    """The values that an expression is chosen from, where it may be one of several: those of a name, too."""
    chosen: Sequence[ast.expr] = ()
    match node:
        case ast.IfExp(body=body, orelse=other):
            chosen = (body, other)
        case ast.BoolOp(values=values):
            chosen = values
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as values):
            chosen = values
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default]):
            chosen = (default,)
        case ast.Call(func=ast.Name(id="next") | ast.Attribute(attr="get" | "pop" | "setdefault"), args=[_, default]):
            chosen = (default,)
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            chosen = list(_elements(source, iterated))
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if depth < _DEEPEST:
            for given in kept_under(source, node, name):
                yield from _choices(source, given, depth + 1)
        case ast.NamedExpr(value=named) if depth < _DEEPEST:
            yield from _choices(source, named, depth + 1)
        case ast.Name(id=name, ctx=ast.Load()) if depth < _DEEPEST:
            for given in values_of(source, node, name):
                yield from _choices(source, given, depth + 1)
    for choice in chosen:
        yield from list(_choices(source, choice, depth + 1)) or [choice]


def _elements(source: SourceFile, node: ast.AST, depth: int = 0) -> Iterator[ast.expr]:
    """What stands in a list or tuple that is gone through, but for texts: by a name, in a `zip` with others."""
    match node:
        case ast.Tuple(elts=values) | ast.List(elts=values):
            yield from (v for v in values if not (isinstance(v, ast.Constant) and isinstance(v.value, str)))
        case ast.Call(func=ast.Name(id="enumerate" | "list" | "reversed" | "sorted" | "tuple" | "zip"), args=args):
            for argument in args:
                yield from _elements(source, argument, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            for value in values_of(source, node, name):
                yield from _elements(source, value, depth + 1)


def methods_of_tensors() -> frozenset[str]:
    """What numbers don't have."""
    table = knowledge()
    return (table.reductions | table.boolean | table.accumulating | table.same_dtype) - table.numbers


def _begins_as_number(source: SourceFile, node: ast.expr) -> bool:
    """Whether the class gives an attribute a number somewhere: `self.total = 0`, before it is a tensor."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return any(is_number(source, value) for value in kept_under(source, node, name))
    return False


def _is_returned_as_number(source: SourceFile, node: ast.expr, depth: int = 0) -> bool:
    """Whether a function of the file gives a number for what is called, or a name that takes what it gives; so for a
    property."""

    def may_give(function: str, place: int | None = None, *, asked: bool = False) -> bool:
        values = list(_returned(source, function, place, asked=asked))
        return any(is_number(source, v) or _is_returned_as_number(source, v, depth + 1) for v in values)

    match node:
        case ast.Call(func=func) if depth < _DEEPEST:
            return may_give(terminal_name(func))
        case ast.Attribute(attr=name) if depth < _DEEPEST:
            return may_give(name, asked=True)
        case ast.Name(id=name) if depth < _DEEPEST:
            given = [value for value in values_of(source, node, name) if isinstance(value, ast.expr)]
            taken = (may_give(call, place) for call, place in _unpacked(source, node))
            return any(_is_returned_as_number(source, v, depth + 1) for v in given if v is not node) or any(taken)
    return False


def _returned(
    source: SourceFile, function: str, place: int | None = None, *, asked: bool = False
) -> Iterator[ast.expr]:
    """What functions of this name return, or at this place of the tuples that they return, and the choices for that.

    `asked`: without a call, as properties are.
    """
    for node in descend(source.tree):
        if not (isinstance(node, _Function) and node.name == function):
            continue
        if asked and not any("property" in terminal_name(decorator) for decorator in node.decorator_list):
            continue
        for inner in descend(node):
            match inner:
                case ast.Return(value=ast.Tuple(elts=values)) if place is not None and place < len(values):
                    yield from _chosen(source, values[place])
                case ast.Return(value=ast.expr() as value) if place is None:
                    yield from _chosen(source, value)


def _chosen(source: SourceFile, value: ast.expr) -> Iterator[ast.expr]:
    """A value, what it is chosen from, and what is put under its name."""
    yield value
    named = values_of(source, value, value.id) if isinstance(value, ast.Name) else ()
    yield from (found for found in (*_choices(source, value), *named) if isinstance(found, ast.expr))


def _unpacked(source: SourceFile, node: ast.Name) -> Iterator[tuple[str, int]]:
    """The functions whose results are unpacked into a name, each with the name's place among the targets."""
    function = next((scope for scope in source.ancestors(node) if isinstance(scope, _Function)), source.tree)
    for inner in ast.walk(function):
        match inner:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=func)):
                for place, target in enumerate(targets):
                    if isinstance(target, ast.Name) and target.id == node.id:
                        yield terminal_name(func), place


def starts_as_number(function: ast.AST | None, name: str) -> bool:
    """Whether a function gives a name a number somewhere: `total = 0.0`, `loss = count = 0`."""
    return function is not None and any(
        isinstance(node, ast.Assign)
        and _is_of_number(node.value)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        for node in ast.walk(function)
    )


def _said(function: _Function, name: str) -> Iterator[ast.expr]:
    """A parameter's annotation and default, and the types that tests compare with."""
    yield from parameter(function, name)
    for inner in ast.walk(function):
        if (types := _types(inner, name)) is not None:
            yield types


def _types(node: ast.AST, name: str) -> ast.expr | None:
    """What `isinstance(name, types)` tests for."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=tested), types]) if tested == name:
            return types
    return None


def _is_of_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_of_number(operand)
        case ast.Tuple(elts=types):
            return any(map(_is_of_number, types))
    return any(terminal_name(member) in _NUMBERS for member in members(node))


def _says_tensor(test: ast.expr, wanted: str, outcome: bool) -> bool:
    """Whether a test with this outcome means that a value is no number."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[tested, types]):
            return ast.dump(tested) == wanted and _is_of_number(types) is not outcome
        case ast.Call(func=ast.Attribute(attr="is_tensor") | ast.Name(id="is_tensor"), args=[tested]):
            return ast.dump(tested) == wanted and outcome
    return False
