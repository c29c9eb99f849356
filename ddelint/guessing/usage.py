"""What the code of a program does with a parameter: unpacks its shape, feeds it to a layer, reads keys of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ddelint.guessing.knowledge import Knowledge, Layer
from ddelint.guessing.shapes_in_text import number_of
from ddelint.guessing.signatures import Definition
from ddelint.knowledge.operators import dotted_name

_PATTERNED = frozenset(("rearrange", "reduce", "repeat", "einsum", "pack", "unpack"))
_LIBRARIES = frozenset(("torch", "F", "functional"))
"""What functions of torch are called by."""
_GRID = frozenset(("h", "w", "t", "n"))
"""Letters that count patches where they stand first in a group: `(h p)` is a height."""


@dataclass(frozen=True, slots=True)
class Use:
    """What was seen of one parameter; None and empty: nothing."""

    dims: tuple[str, ...] = ()
    """Names of dimensions, by which it was unpacked or rearranged."""
    at_least: int = 0
    layer: Layer | None = None
    size: int | None = None
    """The size that the layer takes; of indices: their limit."""
    kind: str = ""
    keys: tuple[str, ...] = ()
    is_number: bool = False
    is_list: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """The class of a method: its constructor, and what the numbers of that are."""

    init: Definition = field(default_factory=Definition)
    numbers: Mapping[str, int] = field(default_factory=dict)


def use_of(name: str, definition: Definition, owner: Owner, facts: Knowledge) -> Use:
    """What a definition does with the parameter of that name, what it is passed on to included."""
    found = Use()
    layers = _layers(owner, facts)
    for node in _in_order(definition):
        found = _seen(found, node, name, layers, facts, owner)
    return found


def _in_order(definition: Definition) -> list[ast.AST]:
    nodes = [node for statement in definition.body for node in ast.walk(statement)]
    return sorted(nodes, key=lambda node: getattr(node, "lineno", 0))


def _seen(use: Use, node: ast.AST, name: str, layers: Mapping[str, ast.Call], facts: Knowledge, owner: Owner) -> Use:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value) if _is_shape_of(value, name):
            if any(isinstance(element, ast.Starred) for element in elements):
                return replace(use, at_least=max(use.at_least, len(elements) - 1))
            words = tuple(element.id if isinstance(element, ast.Name) else "_" for element in elements)
            return use if use.dims else replace(use, dims=words, reason=use.reason or f"`{_shown(node)}`")
        case ast.Subscript(value=value, slice=index) if _is_shape_of(value, name):
            number = number_of(index, {})
            return replace(use, at_least=max(use.at_least, number + 1)) if number is not None else use
        case ast.Call(func=ast.Attribute(value=ast.Name(id=one), attr="size"), args=[index]) if one == name:
            number = number_of(index, {})
            return replace(use, at_least=max(use.at_least, number + 1)) if number is not None else use
        case ast.Subscript(value=ast.Name(id=one), slice=ast.Constant(value=str(key))) if one == name:
            return replace(use, keys=tuple(dict.fromkeys((*use.keys, key))), reason=f"`{name}[{key!r}]`")
        case ast.Subscript(value=ast.Name(id=one), slice=ast.Tuple(elts=parts)) if one == name:
            plain = [p for p in parts if not (isinstance(p, ast.Constant) and p.value in (None, ...))]
            return replace(use, at_least=max(use.at_least, len(plain)))
        case ast.Call(func=ast.Name(id="range"), args=[*_, ast.Name(id=one)]) if one == name:
            return replace(use, is_number=True, reason=f"`range({name})`")
        case ast.For(iter=ast.Name(id=one)) | ast.comprehension(iter=ast.Name(id=one)) if one == name:
            return replace(use, is_list=True)
        case ast.UnaryOp(op=ast.Invert(), operand=ast.Name(id=one)) if one == name:
            return _kind(use, "bool", f"`~{name}`")
        case ast.Call():
            return _called(use, node, name, layers, facts, owner)
    return use


def _shown(node: ast.AST) -> str:
    """A statement as a comment shows it."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(use: Use, kind: str, reason: str) -> Use:
    return use if use.kind else replace(use, kind=kind, reason=use.reason or reason)


def _is_shape_of(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=one), attr="shape"):
            return one == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=one), attr="size"), args=[]):
            return one == name
    return False


def _called(use: Use, node: ast.Call, name: str, layers: Mapping[str, ast.Call], facts: Knowledge, owner: Owner) -> Use:
    callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    position = next((i for i, a in enumerate(node.args) if isinstance(a, ast.Name) and a.id == name), None)
    if position is None:
        return use
    if callee in _PATTERNED:
        return _patterned(use, node, callee, position)
    operator = facts.operator(callee.rstrip("_"))
    if operator is not None and position == (operator.function if _is_function(node.func) else operator.method):
        return _kind(use, operator.kind, f"`{_shown(node)}`")
    built = layers.get(ast.unparse(node.func).split("[")[0])
    if built is not None and position == 0 and use.layer is None:
        class_name = ast.unparse(built.func).rpartition(".")[2]
        layer = facts.layer(class_name)
        if layer is not None:
            size = number_of(_argument(built, layer), owner.numbers)
            text = f"fed to `{ast.unparse(node.func)}`, {_article(class_name)} {class_name}"
            return replace(use, layer=layer, size=size, kind=use.kind or layer.kind, reason=use.reason or text)
    return use


def _is_function(callee: ast.expr) -> bool:
    """Whether a call is one of a function (`torch.gather`), not of a tensor's method."""
    return isinstance(callee, ast.Name) or dotted_name(callee).split(".")[0] in _LIBRARIES


def _article(word: str) -> str:
    return "an" if word[:1] in "AEIO" else "a"


def _patterned(use: Use, node: ast.Call, callee: str, position: int) -> Use:
    pattern = next((a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), None)
    if pattern is None or use.dims:
        return use
    left = pattern.split("->")[0]
    if callee == "einsum":
        index = position - 1 if isinstance(node.args[0], ast.Constant) else position
        operands = left.split(",")
        if not 0 <= index < len(operands):
            return use
        words = operands[index].split() if " " in operands[index].strip() else list(operands[index].strip())
    else:
        words = _einops_words(left)
    if any(word in ("...", ".") for word in words):
        return replace(use, at_least=max(use.at_least, len([w for w in words if w not in ("...", ".")])))
    return replace(use, dims=tuple(words), reason=f"`{_shown(node)}`")


def _einops_words(text: str) -> list[str]:
    """`b c (h p) (w q)` → the four dimensions; a group goes by the product of its names."""
    words: list[str] = []
    group: list[str] | None = None
    for part in text.replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            group = []
        elif part == ")":
            is_grid = bool(group) and len(group or ()) > 1 and (group or [""])[0] in _GRID
            words.append((group or ["_"])[0] if is_grid else "*".join(group or ["_"]))
            group = None
        elif group is not None:
            group.append(part)
        else:
            words.append(part)
    return words


def _argument(call: ast.Call, layer: Layer) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == layer.keyword:
            return keyword.value
    return call.args[layer.argument] if len(call.args) > layer.argument else None


def _layers(owner: Owner, facts: Knowledge) -> dict[str, ast.Call]:
    """`self.x` → the call that builds the layer it is, or begins with."""
    found: dict[str, ast.Call] = {}
    for statement in owner.init.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                first = _first_layer(node.value, facts)
                for target in node.targets:
                    if first is not None:
                        found.setdefault(ast.unparse(target), first)
    return found


def _first_layer(call: ast.Call, facts: Knowledge) -> ast.Call | None:
    name = ast.unparse(call.func).rpartition(".")[2]
    if name in ("Sequential", "ModuleList"):
        for argument in call.args:
            if isinstance(argument, ast.List) and argument.elts:
                argument = argument.elts[0]
            if isinstance(argument, ast.Call):
                inner = _first_layer(argument, facts)
                if inner is not None:
                    return inner
        return None
    return call if facts.layer(name) is not None else None
