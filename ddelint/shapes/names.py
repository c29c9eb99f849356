"""What a program calls the sizes of its inputs: `batch, length = tokens.shape`, `n = x.size(0)`, annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.contracts import Contract
from ddelint.shapes.annotations import names_said
from ddelint.shapes.functions import function_of
from ddelint.shapes.places import is_place


def names_of(contract: Contract) -> dict[str, str]:
    """The name of a dimension → the first name that the program's function gives it."""
    function = function_of(contract)
    found: dict[str, str] = {}
    for node in ast.walk(function[0]) if function is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for name, dimension in _named(node.targets[0], node.value, contract):
                if dimension in contract.example:
                    found.setdefault(dimension, name)
    return {**names_said(contract), **found}


def _named(target: ast.expr, value: ast.expr, contract: Contract) -> Iterator[tuple[str, str]]:
    match target, value:
        case ast.Tuple(elts=parts), ast.Tuple(elts=values) if len(parts) == len(values):
            for part, one in zip(parts, values):
                yield from _named(part, one, contract)
        case ast.Tuple(elts=parts), _ if (parameter := _whole_shape(value)) is not None:
            rank = contract.ranks.get(parameter)
            if rank == len(parts):
                for at, part in enumerate(parts):
                    if isinstance(part, ast.Name) and part.id != "_":
                        yield part.id, f"{parameter}.shape[{at}]"
        case ast.Name(id=name), _ if (dimension := _one_size(value, contract)) is not None:
            yield name, dimension


def _whole_shape(value: ast.expr) -> str | None:
    match value:
        case ast.Attribute(value=place, attr="shape") if is_place(place):
            return ast.unparse(place)
        case ast.Call(func=ast.Attribute(value=place, attr="size"), args=[]) if is_place(place):
            return ast.unparse(place)
    return None


def _one_size(value: ast.expr, contract: Contract) -> str | None:
    match value:
        case ast.Subscript(value=inner, slice=index) if (parameter := _whole_shape(inner)) is not None:
            return _dimension(parameter, index, contract)
        case ast.Call(func=ast.Attribute(value=place, attr="size"), args=[index]) if is_place(place):
            return _dimension(ast.unparse(place), index, contract)
        case ast.Call(func=ast.Name(id="len"), args=[place]) if is_place(place):
            return f"{ast.unparse(place)}.shape[0]"
    return None


def _dimension(parameter: str, index: ast.expr, contract: Contract) -> str | None:
    try:
        number = ast.literal_eval(index)
    except ValueError:
        return None
    rank = contract.ranks.get(parameter)
    if not isinstance(number, int) or rank is None:
        return None
    return f"{parameter}.shape[{number + rank if number < 0 else number}]"
