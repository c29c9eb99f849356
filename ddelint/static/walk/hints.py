"""What a type annotation promises about a value."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.joining import join
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    ClassReference,
    Instance,
    Optional,
    Path,
    Series,
    Table,
    Tensor,
    Value,
    series,
)
from ddelint.static.program.regions import FileIndex


def value_of(annotation: ast.expr | None, index: FileIndex) -> Value:
    """The value that a parameter or result with this annotation has; UNKNOWN where it doesn't say."""
    known = operators().annotations
    match annotation:
        case None:
            return UNKNOWN
        case ast.Constant(value=str(text)):
            inside = _parsed(text)
            return UNKNOWN if inside is None else value_of(inside, index)
        case ast.Name() | ast.Attribute():
            return _plain(annotation, index)
        case ast.Subscript(value=owner, slice=inner):
            return _subscripted(terminal_name(owner), inner, index)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([left, right], index)
        case _ if known:
            return UNKNOWN
    return UNKNOWN


def _parsed(text: str) -> ast.expr | None:
    """An annotation in quotes; None where it is no expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _plain(annotation: ast.expr, index: FileIndex) -> Value:
    known = operators().annotations
    name = index.dotted(annotation).rpartition(".")[2] or terminal_name(annotation)
    if isinstance(annotation, ast.Name) and name in index.classes and name not in index.imports:
        return Instance(index.classes[name])
    if name in known["integers"]:
        return Tensor(boolean=False)
    if name in known["tensor"]:
        return Tensor()
    if name in known["mask"]:
        return Tensor(boolean=True)
    if name in known["number"] or name in known["arrays"]:
        return KNOWN
    if name in known["mapping"]:
        return Table()
    return UNKNOWN


def _subscripted(name: str, inner: ast.expr, index: FileIndex) -> Value:
    known = operators().annotations
    arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in known["tensor"]:
        return Tensor()
    if name in known["arrays"]:
        return KNOWN
    if name in known["optional"]:
        return _union([inner, ast.Constant(None)], index)
    if name in known["union"]:
        return _union(arguments, index)
    if name in known["wrapped"] and arguments:
        value = value_of(arguments[0], index)
        if isinstance(value, Tensor) and name in known["wrapped_mask"]:
            return Tensor(boolean=True)
        if isinstance(value, Tensor) and name in known["wrapped_integers"]:
            return Tensor(boolean=False)
        return value
    if name in known["sequence"]:
        if name.lower() == "tuple":
            if len(arguments) == 2 and isinstance(arguments[1], ast.Constant) and arguments[1].value is Ellipsis:
                return Series("tuple", None, value_of(arguments[0], index))
            return series(tuple(value_of(a, index) for a in arguments), "tuple")
        return Series("list", None, value_of(arguments[0], index))
    if name in known["mapping"] and len(arguments) == 2:
        return Table({}, value_of(arguments[1], index))
    return UNKNOWN


def _union(members: list[ast.expr], index: FileIndex) -> Value:
    values: list[Value] = []
    optional = False
    for member in members:
        if isinstance(member, ast.Constant) and member.value is None:
            optional = True
        else:
            values.append(value_of(member, index))
    if not values:
        return UNKNOWN
    result = values[0]
    for other in values[1:]:
        if type(other) is not type(result):
            return UNKNOWN
        result = join(result, other)
    if isinstance(result, Tensor) and optional:
        return Optional(result)
    return UNKNOWN if optional else result


def may_be_data(annotation: ast.expr | None) -> bool | None:
    """Whether what has this annotation, of which `value_of` says nothing, may be a tensor; None: it may be anything."""
    known = operators().annotations
    match annotation:
        case None:
            return None
        case ast.Constant(value=str(text)):
            inside = _parsed(text)
            return None if inside is None else may_be_data(inside)
        case ast.Name() | ast.Attribute():
            name = terminal_name(annotation)
            return None if name in known["anything"] else name in known["tensor"] or name in known["mask"]
        case ast.Subscript(value=owner, slice=inner):
            return terminal_name(owner) not in known["literal"] and may_be_data(inner)
    parts = [may_be_data(part) for part in ast.iter_child_nodes(annotation) if isinstance(part, ast.expr)]
    return None if None in parts else any(parts)


def is_array(annotation: ast.expr | None, index: FileIndex) -> bool:
    """Whether it says that a value is an array of NumPy and nothing else, which counts for more than what is passed."""
    match annotation:
        case ast.Constant(value=str(text)):
            return is_array(_parsed(text), index)
        case ast.Subscript(value=owner):
            return is_array(owner, index)
        case ast.Name() | ast.Attribute():
            return index.dotted(annotation).rpartition(".")[2] in operators().annotations["arrays"]
    return False


def names_tensor(kinds: ast.expr, value: Value = UNKNOWN) -> bool | None:
    """Whether the second argument of `isinstance` is the tensor class: yes, no (something else), or both.

    Arrays beside it are what is a tensor elsewhere. `value`: what the argument is, where a name stands for it.
    """
    known = operators().annotations
    if isinstance(value, Series) and value.items is not None:
        names = {_class_name(item) for item in value.items}
    else:
        names = set(map(terminal_name, kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]))
    tensors = names & (known["tensor"] | known["mask"])
    if not tensors:
        return False
    return True if names <= tensors | known["arrays"] else None


def _class_name(value: Value) -> str:
    if isinstance(value, Path):
        return value.name.rpartition(".")[2]
    return value.cls.name if isinstance(value, ClassReference) else ""
