"""What an annotation says: `Tensor`, `LongTensor`, `Float[Tensor, "b t c"]`, `list[Tensor]`, `int`, `Literal["a"]`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.guessing.knowledge import Knowledge
from ddelint.knowledge.operators import terminal_name
from ddelint.knowledge.unions import members

_NUMBERS = {"int": "int", "float": "float", "bool": "bool", "str": "str", "SymInt": "int", "PositiveInt": "int"}
_LISTS = frozenset(("list", "List", "Sequence", "Iterable"))
_TUPLES = frozenset(("tuple", "Tuple"))
_DICTS = frozenset(("dict", "Dict", "Mapping"))


@dataclass(frozen=True, slots=True)
class Said:
    """What an annotation says. `form`: tensor, number, list, tuple, dict, literal, callable, or empty."""

    form: str = ""
    kind: str = ""
    """Of a tensor, where it is said."""
    dims: tuple[str, ...] | None = None
    inner: tuple[Said, ...] = ()
    text: str = ""
    """A number's type, a literal's text."""


def said_by(node: ast.expr | None, facts: Knowledge) -> Said:
    """Read an annotation: of a union, the first type that says anything. Names are taken by their last part."""
    options = [_said(member, facts) for member in members(node)] if node is not None else []
    return next((option for option in options if option.form), Said())


def _said(node: ast.expr, facts: Knowledge) -> Said:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(name, facts)
        case ast.Subscript(value=value, slice=index):
            parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
            return _subscripted(terminal_name(value), parts, facts)
    return Said()


def _named(name: str, facts: Knowledge) -> Said:
    if name in facts.annotations:
        kind = facts.annotations[name]
        return Said("tensor", "" if name in ("Tensor", "TensorType", "FloatTensor") else kind)
    if name in _NUMBERS:
        return Said("number", text=_NUMBERS[name])
    if name in _LISTS:
        return Said("list")
    if name in _TUPLES:
        return Said("tuple")
    if name in _DICTS:
        return Said("dict")
    return Said("callable") if name in ("Callable", "Module") else Said()


def _subscripted(name: str, parts: list[ast.expr], facts: Knowledge) -> Said:
    if name == "Literal":
        return Said("literal", text=ast.unparse(parts[0]))
    if name in _LISTS and parts:
        return Said("list", inner=(said_by(parts[0], facts),))
    if name in _TUPLES:
        inner = [said_by(part, facts) for part in parts if not _is_dots(part)]
        return Said("tuple", inner=tuple(inner * 2 if any(map(_is_dots, parts)) else inner))
    if name in _DICTS:
        return Said("dict", inner=tuple(said_by(part, facts) for part in parts))
    if name == "Callable":
        return Said("callable")
    if name in facts.annotations:
        words = [_word(part) for part in parts if not _is_type(part, facts)]
        dims = tuple(word for text in words for word in text.split())
        return Said("tensor", facts.annotations[name], dims if words else None)
    return Said()


def _word(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=value):
            return str(value) if value is not ... else "..."
        case ast.UnaryOp():
            return "_"
    return ast.unparse(part)


def _is_type(part: ast.expr, facts: Knowledge) -> bool:
    return isinstance(part, (ast.Name, ast.Attribute)) and said_by(part, facts).form == "tensor"


def _is_dots(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...
