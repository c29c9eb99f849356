"""What a function returns, in parts: one value, a tuple, a dictionary with names for keys, an object made of values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.writing.rewrites import Expr, Writer


@dataclass(frozen=True, slots=True)
class Structure:
    """How the parts of a result stand together; two results of one structure can be chosen between part by part."""

    names: tuple[str, ...] = ()
    """For each part its key, or the argument that it is (empty for one by its position)."""
    made_by: str = ""
    """`(`, `{`, or the function that takes the parts; empty where the result is one value."""
    node: ast.expr | None = field(default=None, compare=False)
    parts: tuple[ast.expr, ...] = field(default=(), compare=False)

    @property
    def is_single(self) -> bool:
        """Whether the result is one value."""
        return not self.made_by

    def of(self, write: Writer, values: Sequence[Expr]) -> Expr:
        """The result with other parts."""
        if self.is_single:
            return values[0]
        if self.made_by == "(" or self.node is None:
            return write.tuple(values)
        return write.replaced(self.node, dict(zip(self.parts, values, strict=True)))


def structure_of(node: ast.expr) -> Structure:
    """The structure of an expression, with its parts."""
    match node:
        case ast.Tuple(elts=elements) if not any(isinstance(element, ast.Starred) for element in elements):
            return Structure(("",) * len(elements), "(", node, tuple(elements))
        case ast.Dict(keys=keys, values=values) if values:
            texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            if len(texts) == len(values):
                return Structure(tuple(texts), "{", node, tuple(values))
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=arguments, keywords=keywords):
            names = [keyword.arg for keyword in keywords if keyword.arg is not None]
            plain = len(names) == len(keywords) and not any(isinstance(one, ast.Starred) for one in arguments)
            if plain and (arguments or keywords) and _makes_an_object(function):
                parts = (*arguments, *(keyword.value for keyword in keywords))
                return Structure((*("" for _ in arguments), *names), ast.unparse(function), node, parts)
    return Structure(node=node, parts=(node,))


def _makes_an_object(function: ast.Name | ast.Attribute) -> bool:
    """Whether a call is of a class, by its name: `Output(…)`, or `dict(…)`."""
    name = function.id if isinstance(function, ast.Name) else function.attr
    return (name.lstrip("_")[:1].isupper() and not is_torch(function)) or name == "dict"
