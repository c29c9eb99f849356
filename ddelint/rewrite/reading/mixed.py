"""Whether what is a tensor here is a Python number at times: then `.item()` is no word for both.

`def scale(x, by: float | Tensor)`, `by=1.0`, `if isinstance(by, (int, float))`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import terminal_name
from ddelint.knowledge.unions import members
from ddelint.rewrite.reading.optional import parameter
from ddelint.rewrite.reading.told_apart import is_told_apart
from ddelint.sources.source import SourceFile

_NUMBERS = frozenset(("int", "float", "bool", "complex", "Number", "Real", "Integral"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_be_number(source: SourceFile, node: ast.Name) -> bool:
    """Whether the text lets a name of a function be a number.

    False where a test has told the tensor from it on the way there.
    """
    function = next((scope for scope in source.ancestors(node) if isinstance(scope, _Function)), None)
    if function is None or not any(_is_of_number(part) for part in _said(function, node.id)):
        return False
    return not is_told_apart(source, node, _says_tensor)


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
