"""Whether a name or an attribute is None at times, as far as the text says: its truth then asks for more than a number.

`if prompt_length:` of an `int | None` that was a number in every run is not `prompt_length != 0`: None is not 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.unions import is_none, members
from ddelint.rewrite.reading.told_apart import is_told_apart
from ddelint.sources.source import SourceFile

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_be_none(source: SourceFile, node: ast.expr) -> bool:
    """Whether None is among what the text gives a name of a function, or an attribute of its object.

    False where a test has excluded it on the way there.
    """
    scopes = list(source.ancestors(node))
    function = next((scope for scope in scopes if isinstance(scope, _Function)), None)
    match node:
        case ast.Name(id=name) if function is not None:
            given = any(_is_of_none(part) for part in _given_to_name(function, name))
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
            owner = next((scope for scope in scopes if isinstance(scope, ast.ClassDef)), None)
            given = owner is not None and any(_is_of_none(part) for part in _given_to_attribute(owner, attribute))
        case _:
            return False
    return given and not is_told_apart(source, node, _excludes_none)


def _given_to_name(function: _Function, name: str) -> Iterator[ast.expr]:
    """The annotation and the default of a parameter, and what is assigned to a name."""
    yield from parameter(function, name)
    for inner in ast.walk(function):
        match inner:
            case ast.Assign(targets=targets, value=value) if any(_is_name(target, name) for target in targets):
                yield value
            case ast.AnnAssign(target=target, annotation=annotation, value=annotated) if _is_name(target, name):
                yield annotated or annotation
            case ast.NamedExpr(target=ast.Name(id=other), value=value) if other == name:
                yield value


def parameter(function: _Function, name: str) -> Iterator[ast.expr]:
    """The annotation and the default of a parameter, as far as there are any."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([argument.arg for argument in reversed(positional)], reversed(arguments.defaults)))
    defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None}
    for argument in (*positional, *arguments.kwonlyargs):
        if argument.arg == name:
            yield from (part for part in (argument.annotation, defaults.get(name)) if part is not None)


def _given_to_attribute(owner: ast.ClassDef, attribute: str) -> Iterator[ast.expr]:
    """The annotation of an attribute in its class, and what methods assign to it, through their parameters too."""
    for statement in owner.body:
        match statement:
            case ast.AnnAssign(target=target, annotation=annotation) if _is_name(target, attribute):
                yield annotation
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for inner in ast.walk(statement):
                    match inner:
                        case ast.Assign(targets=targets, value=value) if any(_is_own(t, attribute) for t in targets):
                            yield from parameter(statement, value.id) if isinstance(value, ast.Name) else (value,)
                        case ast.AnnAssign(target=target, annotation=annotation) if _is_own(target, attribute):
                            yield annotation


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_own(node: ast.expr, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and _is_name(node.value, "self") and node.attr == attribute


def _is_of_none(node: ast.expr) -> bool:
    """Whether a value or an annotation is or allows None."""
    match node:
        case ast.Constant() | ast.BinOp(op=ast.BitOr()) | ast.Subscript():
            return any(map(is_none, members(node)))
        case ast.IfExp(body=body, orelse=orelse):
            return _is_of_none(body) or _is_of_none(orelse)
        case ast.Call(func=ast.Attribute(attr="get"), args=[_]):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            return _is_of_none(default)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default]):
            return _is_of_none(default)
    return False


def _excludes_none(test: ast.expr, wanted: str, outcome: bool) -> bool:
    """Whether a test with this outcome means that a value is not None."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return outcome and ast.dump(left) == wanted
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return not outcome and ast.dump(left) == wanted
    return outcome and ast.dump(test) == wanted
