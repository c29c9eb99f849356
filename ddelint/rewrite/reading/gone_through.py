"""Which names a loop gives tensors: what it goes through says so, also where no run has been inside of it; and whose
tensors it changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from ddelint.rewrite.reading.around import is_tensor
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.regions import changed_in_place


def tensors_given(kinds: Kinds, target: ast.expr, several: ast.expr) -> set[str]:
    """The names of a loop's target that are tensors: `p` of `for p in net.parameters()`, both of `zip(xs, ys)`."""
    match target, several:
        case ast.Name(id=name), _ if _holds_tensors(kinds, several):
            return {name}
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return tensors_given(kinds, value, inner)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=each) if len(targets) == len(each):
            return {name for pair in zip(targets, each) for name in tensors_given(kinds, *pair)}
        case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call() if _is_by_name(several):
            return {name}
        case ast.Tuple(elts=targets), ast.Tuple(elts=rows) | ast.List(elts=rows):
            pairs = [list(zip(targets, row.elts)) for row in rows if isinstance(row, ast.Tuple)]
            if len(pairs) < len(rows) or any(len(pair) != len(targets) for pair in pairs):
                return set()
            return {
                name.id
                for place, name in enumerate(targets)
                if isinstance(name, ast.Name) and all(is_tensor(kinds, pair[place][1]) for pair in pairs)
            }
    return set()


def _holds_tensors(kinds: Kinds, several: ast.expr) -> bool:
    """Whether all that is gone through is tensors."""
    match several:
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in knowledge().tensors_of_modules:
            return True
        case ast.Call(func=ast.Attribute(attr="values", value=ast.Call() as named), args=[]):
            return called(named) in knowledge().loading.values()
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
                for name, each in _pairs(target, several):
                    given = _tensors_of(each) if name in changed else ""
                    found |= {name: given} if given else {}
            case ast.Call(func=ast.Attribute(value=module, attr=attr)) if attr in knowledge().loading:
                given = f"{ast.unparse(module)}.{knowledge().loading[attr]}().values()"
                found[given] = given
    return found


def _pairs(target: ast.expr, several: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each name of a loop's target, and what it goes through; the pairs of names and values are for the values."""
    match target, several:
        case ast.Name(id=name), _:
            yield name, several
        case ast.Tuple(elts=[_, value]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            yield from _pairs(value, inner)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=each):
            for one, inner in zip(targets, each):
                yield from _pairs(one, inner)
        case ast.Tuple(elts=[_, ast.Name(id=name)]), _:
            yield name, several


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
