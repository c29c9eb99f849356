"""Methods that a class leaves to those that inherit from it."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.program.index import Definitions


def is_abstract(method: FunctionNode) -> bool:
    """Whether a method only says that others are to define it: it is declared so, does nothing, or raises at once."""
    regions = operators().regions
    for decorator in method.decorator_list:
        if terminal_name(decorator) in regions["abstract_decorators"]:
            return True
    body = list(method.body)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # a docstring, or `...`
    match body:
        case [] | [ast.Pass()]:
            return True
        case [ast.Raise(exc=ast.Call(func=raised) | (ast.Name() | ast.Attribute() as raised))]:
            return terminal_name(raised) in regions["abstract_errors"]
    return False


def implementations(
    index: Definitions, cls: ClassInfo, name: str
) -> list[tuple[ClassInfo, tuple[FunctionNode, ClassInfo]]]:
    """The classes of the file that inherit from a class and define the method, each with what it defines."""
    return [
        (heir, (heir.methods[name], heir))
        for heir in index.all_classes
        if heir is not cls and name in heir.methods and cls in index.bases(heir) and not is_abstract(heir.methods[name])
    ]
