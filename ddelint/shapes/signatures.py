"""The parameters of a program's function, as a function of another file can repeat them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.nouns.contracts import Contract
from ddelint.shapes.functions import function_of


@dataclass(frozen=True, slots=True)
class Signature:
    """What stands in the parentheses of a definition, and of a call that hands everything on."""

    parameters: str
    arguments: str
    names: frozenset[str]


def signature_of(contract: Contract) -> Signature | None:
    """The parameters without `self` and annotations; None where a default is not a plain number, text or None."""
    found = function_of(contract)
    if found is None:
        return None
    function, is_method = found
    given = function.args
    for default in (*given.defaults, *(one for one in given.kw_defaults if one is not None)):
        if not _is_plain(default):
            return None
    if any(name in _TAKEN for name in _all_names(given)) or function.decorator_list:
        return None
    without = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in given.posonlyargs],
        args=[ast.arg(one.arg) for one in given.args],
        vararg=ast.arg(given.vararg.arg) if given.vararg else None,
        kwonlyargs=[ast.arg(one.arg) for one in given.kwonlyargs],
        kw_defaults=given.kw_defaults,
        kwarg=ast.arg(given.kwarg.arg) if given.kwarg else None,
        defaults=given.defaults,
    )
    if is_method:
        first = without.posonlyargs or without.args
        if not first:
            return None
        del first[0]
    words = [one.arg for one in (*without.posonlyargs, *without.args)]
    words += [f"*{without.vararg.arg}"] if without.vararg else []
    words += [f"{one.arg}={one.arg}" for one in without.kwonlyargs]
    words += [f"**{without.kwarg.arg}"] if without.kwarg else []
    return Signature(ast.unparse(without), ", ".join(words), frozenset(_all_names(without)))


_TAKEN = {"program", "settings", "graph", "torch", "dispatched", "graphs", "graph_of"}
"""Names that the written functions use themselves."""


def _all_names(given: ast.arguments) -> list[str]:
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    found += [one for one in (given.vararg, given.kwarg) if one is not None]
    return [one.arg for one in found]


def _is_plain(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elements):
            return all(_is_plain(one) for one in elements)
    return False
