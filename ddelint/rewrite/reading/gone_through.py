"""Which names a loop gives tensors: what it goes through says so, also where no run has been inside of it."""

from __future__ import annotations

import ast

from ddelint.rewrite.reading.around import is_tensor
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called


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
