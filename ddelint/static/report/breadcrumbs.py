"""From the question back to its source: what the value was called on the way, where it was read, and from what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from ddelint.nouns.spans import Span
from ddelint.sources.source import SourceFile, descend
from ddelint.static.domain.demands import Event
from ddelint.static.domain.masks import named_a_mask
from ddelint.static.domain.values import Step, Tensor, Unbacked

MOST = 8
"""At most so many steps from the question back to its source."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LIBRARIES = frozenset(("torch", "F", "functional"))
Crumb = tuple[Span, str]


def of(source: SourceFile, event: Event, span: Span, expression: str) -> tuple[Crumb, ...]:
    """Each step with its place and a sentence; the question itself comes first."""
    asked = f"`{expression}` is asked here"
    crumbs: list[Crumb] = [(span, f"{asked}, and is {event.fact}" if event.fact else asked)]
    seen = {span}
    trails = [event.trail]
    trails += [value.trail for _, value in event.parts if isinstance(value, (Unbacked, Tensor))]
    births: list[ast.AST] = []
    for trail in trails:
        step: Step | None = trail
        while step is not None:
            if step.sentence and len(crumbs) < MOST and (place := source.span(step.node)) not in seen:
                seen.add(place)
                crumbs.append((place, step.sentence))
            if step.before is None:
                births.append(step.node)
            step = step.before
    if not births:
        births = [node for node, value in event.parts if isinstance(value, Tensor)]
    for birth in births:
        for place, sentence in beyond(source, birth):
            if place not in seen and len(crumbs) < MOST:
                seen.add(place)
                crumbs.append((place, sentence))
    return tuple(crumbs)


def beyond(source: SourceFile, birth: ast.AST) -> Iterator[Crumb]:
    """The way of the tensor that a number was read from, as the text of its function shows it."""
    function = next((parent for parent in source.ancestors(birth) if isinstance(parent, _FUNCTIONS)), None)
    if function is None:
        return
    current: ast.AST | None = birth
    row = getattr(birth, "lineno", 0)
    for _ in range(MOST):
        root = _root(current)
        if not isinstance(root, ast.Name):
            return
        bound = _bound(function, root.id, row)
        if bound is None:
            parameter = _parameter(function, root.id)
            if parameter is not None and root.id != "self":
                yield source.span(parameter), f"parameter `{root.id}`"
            return
        value, sentence, row = bound
        yield source.span(value), sentence
        current = value


def _root(node: ast.AST | None) -> ast.AST | None:
    """The name that an expression is about first: `lengths` of `lengths[1:].max().item()`."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=library)), args=[first, *_]) if library in _LIBRARIES:
                node = first
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self")), args=[first, *_]):
                node = first
            case ast.Call(func=ast.Attribute(value=value)):
                node = value
            case ast.Call(args=[first, *_]):
                node = first
            case ast.Subscript(value=value, slice=ast.Name() | ast.Compare() | ast.UnaryOp() as mask):
                # x[mask]: how many rows there are is the mask's word
                node = mask if not isinstance(mask, ast.Name) or named_a_mask(mask.id) else value
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                node = value
            case ast.BinOp(left=ast.Constant(), right=inner) | ast.BinOp(left=inner):
                node = inner
            case ast.UnaryOp(operand=inner) | ast.Compare(left=inner) | ast.NamedExpr(value=inner):
                node = inner
            case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
                node = first
            case _:
                return node


def _bound(function: ast.AST, name: str, row: int) -> tuple[ast.expr, str, int] | None:
    """What a name was last bound to above a row: the expression, a sentence, and where that stands."""
    best: tuple[ast.expr, str, int] | None = None
    for value, sentence in _bindings(function).get(name, ()):
        if value.lineno < row and (best is None or value.lineno > best[2]):
            best = value, sentence, value.lineno
    return best


@lru_cache(maxsize=16)
def _bindings(function: ast.AST) -> dict[str, list[tuple[ast.expr, str]]]:
    """The names that a function binds, each with what it is bound to and a sentence."""
    found: dict[str, list[tuple[ast.expr, str]]] = {}
    for node in descend(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [name for target in targets for name in _names(target)]
                words = "is bound here"
            case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value):
                names, words = [bound], "is bound here"
            case ast.NamedExpr(target=ast.Name(id=bound), value=value):
                names, words = [bound], "is bound here"
            case ast.For(target=target, iter=value):
                names, words = list(_names(target)), "runs over it"
            case _:
                continue
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append((value, f"`{name}` {words}"))
    return found


def _names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=bound):
            yield bound
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _names(element)
        case ast.Starred(value=value):
            yield from _names(value)


def _parameter(function: ast.AST, name: str) -> ast.arg | None:
    declared = getattr(function, "args", None)
    if not isinstance(declared, ast.arguments):
        return None
    every = (*declared.posonlyargs, *declared.args, *declared.kwonlyargs, declared.vararg, declared.kwarg)
    return next((one for one in every if one is not None and one.arg == name), None)
