"""Where a tensor stands among a program's arguments, as text: `tokens`, `batch['tokens']`, `pair[0]`, `state.cache`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from ddelint.nouns.size_specs import ATTRIBUTES, ITEMS, KEYS

Step = tuple[str, str | int]
"""How one is inside of another (KEYS, ITEMS, ATTRIBUTES), and under which key, index or name."""


def is_place(node: ast.expr) -> bool:
    """Whether an expression is a parameter, or what is inside it under keys, indices and names that stand there."""
    match node:
        case ast.Name():
            return True
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int())):
            return is_place(inner)
        case ast.Attribute(value=inner):
            return is_place(inner)
    return False


def reads_as_place(text: str) -> bool:
    """The same of a text."""
    try:
        return is_place(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return False


def root_of(place: str) -> str:
    """The parameter: `batch` of `batch['tokens']`."""
    return re.split(r"[.\[]", place, maxsplit=1)[0]


def identifier(place: str) -> str:
    """A name for a place: `batch_tokens` of `batch['tokens']`."""
    return re.sub(r"\W+", "_", place).strip("_")


def grown(values: Mapping[str, Any], make: Callable[[str, dict[str | int, Any], str], Any]) -> dict[str, Any]:
    """Parameter → its value, or what `make` makes of what is inside it: of a kind, its parts, and its own place."""
    trees: dict[str, Any] = {}
    for place, value in values.items():
        root, steps = _steps(ast.parse(place, mode="eval").body)
        _put(trees, [(KEYS, root), *steps], value)
    return {name: _made(tree, make, name) for name, tree in trees.items()}


class _Inside(dict[str | int, Any]):
    """What is inside a container, by key, index or name."""

    kind = KEYS


def _put(tree: dict[str | int, Any] | dict[str, Any], steps: list[Step], value: Any) -> None:
    inside: Any = tree
    for (_, key), (kind, _) in pairwise(steps):
        inside = inside.setdefault(key, _Inside())
        inside.kind = kind
    inside[steps[-1][1]] = value


def _made(tree: Any, make: Callable[[str, dict[str | int, Any], str], Any], place: str) -> Any:
    if not isinstance(tree, _Inside):
        return tree
    parts = {key: _made(one, make, inside(place, tree.kind, key)) for key, one in tree.items()}
    return make(tree.kind, parts, place)


def inside(place: str, kind: str, key: str | int) -> str:
    """The place of one thing in what stands at `place`."""
    return f"{place}.{key}" if kind == ATTRIBUTES else f"{place}[{key!r}]"


def _steps(node: ast.expr) -> tuple[str, list[Step]]:
    match node:
        case ast.Name(id=name):
            return name, []
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
            root, steps = _steps(inner)
            return root, [*steps, (KEYS, key)]
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(index))):
            root, steps = _steps(inner)
            return root, [*steps, (ITEMS, index)]
        case ast.Attribute(value=inner, attr=name):
            root, steps = _steps(inner)
            return root, [*steps, (ATTRIBUTES, name)]
    raise ValueError(ast.unparse(node))


def in_order(parts: Mapping[str | int, Any], nothing: Any) -> list[Any]:
    """What is inside a list, by index, with `nothing` for what is not there."""
    return [parts.get(at, nothing) for at in range(max(int(key) for key in parts) + 1)]
