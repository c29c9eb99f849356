"""Which names a loop gives tensors: what it goes through says so, also where no run has been inside of it; and whose
tensors it changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ddelint.rewrite.reading.around import is_tensor
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.regions import changed_in_place


def tensors_given(kinds: Kinds, target: ast.expr, several: ast.expr) -> set[str]:
    """The names of a loop's target that are tensors: `p` of `for p in net.parameters()`, both of `zip(xs, ys)`."""
    return {pair.name for pair in _pairs(target, several) if _is_of_tensors(kinds, pair)}


def _is_of_tensors(kinds: Kinds, pair: _Pair) -> bool:
    if pair.is_value:
        return isinstance(pair.several, ast.Call) and _is_by_name(pair.several)
    return _holds_tensors(kinds, pair.several)


def _holds_tensors(kinds: Kinds, several: ast.expr) -> bool:
    """Whether all that is gone through is tensors."""
    match several:
        case ast.Call() if _tensors_of(several):
            return not _is_by_name(several)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return _holds_tensors(kinds, inner)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and all(is_tensor(kinds, element) for element in elements)
    fact = kinds.fact(several)
    if fact is not None and fact.element is not None:
        return fact.element.kind == "tensor"
    return is_tensor(kinds, several)


def _is_by_name(several: ast.Call) -> bool:
    """Whether a call gives tensors of a module, each behind its name."""
    match several:
        case ast.Call(func=ast.Attribute(attr="items", value=ast.Call() as named), args=[]):
            return called(named) in knowledge().loading.values()
    return called(several) in knowledge().named_tensors


# ---------------------------------------------------------------------- what loops change


def modules_changed(body: Sequence[ast.stmt]) -> Mapping[str, str]:
    """The names by which statements change all tensors of a module → what gives these: `p` of a loop over
    `net.parameters()` whose body changes `p` in place; and what gives those that a module loads, twice."""
    found: dict[str, str] = {}
    for node in (inner for statement in body for inner in ast.walk(statement)):
        match node:
            case ast.For(target=target, iter=several, body=steps):
                changed = {root.partition(".")[0] for root in changed_in_place(steps)}
                for name, each, _ in _pairs(target, several):
                    given = _tensors_of(each) if name in changed else ""
                    found |= {name: given} if given else {}
            case ast.Call(func=ast.Attribute(value=module, attr=attr)) if attr in knowledge().loading:
                given = f"{ast.unparse(module)}.{knowledge().loading[attr]}().values()"
                found[given] = given
    return found


class _Pair(NamedTuple):
    """A name of a loop's target, and what it goes through."""

    name: str
    several: ast.expr
    is_value: bool = False
    """Whether that gives pairs of names and values, of which it is the value."""


def _pairs(target: ast.expr, several: ast.expr) -> Iterator[_Pair]:
    match target, several:
        case ast.Name(id=name), _:
            yield _Pair(name, several)
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            yield from _pairs(value, inner)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=each) if len(targets) == len(each):
            for one, inner in zip(targets, each):
                yield from _pairs(one, inner)
        case ast.Tuple(elts=targets), ast.Tuple(elts=rows) | ast.List(elts=rows):
            columns = [row.elts for row in rows if isinstance(row, ast.Tuple) and len(row.elts) == len(targets)]
            if len(columns) == len(rows):
                for one, *column in zip(targets, *columns):
                    yield from _pairs(one, ast.Tuple(column, ast.Load()))
        case ast.Tuple(elts=[_, ast.Name(id=name)]), _:
            yield _Pair(name, several, is_value=True)


def _tensors_of(several: ast.expr) -> str:
    """What gives all the tensors that something goes through, where these are a module's; else empty."""
    table = knowledge()
    match several:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "reversed"), args=[inner]):
            return _tensors_of(inner)
        case ast.Call(func=ast.Attribute(value=ast.Call() as named, attr="items" | "values"), args=[]) if (
            called(named) in table.loading.values()
        ):
            return f"{ast.unparse(named)}.values()"
        case ast.Call(func=ast.Attribute(value=module, attr=attr)) if attr in table.named_tensors:
            return f"{ast.unparse(module)}.{table.named_tensors[attr]}()"
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in table.tensors_of_modules:
            return ast.unparse(several)
    return ""
