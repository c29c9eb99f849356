"""What the value moves write for what, read once from rules/replacements.toml."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter

from ddelint.rewrite.proving.relations import unplaced
from ddelint.rewrite.reading.tables import filled, loaded


@dataclass(frozen=True, slots=True)
class Bounds:
    """A retired call that states bounds of its first argument."""

    lowest: str
    """The lower bound that it states without being given one; empty for none."""
    parameters: tuple[str, ...]
    """Positional parameters after the first."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that asks about sizes by itself, in one way of calling it, and what answers or avoids that."""

    names: frozenset[str]
    call: str
    why: str
    facts: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    modules: frozenset[str] = frozenset()
    in_eager: bool = False
    asks: str = "about a size of run time"


@cache
def by_position(call: str) -> int:
    """How many of the parameters of a `def` may be given without their names."""
    function = ast.parse(f"lambda {call}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    return len(function.args.args)


@cache
def parameters(call: str) -> Mapping[str, ast.expr | None]:
    """The parameters of a `def`, in order, with their defaults (None: there is none)."""
    function = ast.parse(f"lambda {call}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    names = [one.arg for one in function.args.args]
    defaults: list[ast.expr | None] = [*map(unplaced, function.args.defaults)]
    found = dict(zip(names, [None] * (len(names) - len(defaults)) + defaults))
    return found | {one.arg: None for one in function.args.kwonlyargs}


def holes(template: str) -> list[str]:
    """The names of a template's holes, as often as they occur."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def without(template: str, missing: Collection[str]) -> str:
    """The template without the keyword arguments that have a hole among `missing`."""
    tree = ast.parse(template, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if not set(holes(ast.unparse(k.value))) & set(missing)]
    return ast.unparse(tree)


@dataclass(frozen=True, slots=True)
class Replacements:
    """The tables of replacements.toml."""

    ranges: Mapping[str, Bounds]
    math: Mapping[str, str]
    tensors: Mapping[str, str]
    raising: frozenset[str]
    types: Mapping[str, str]
    operators: tuple[Operator, ...]


@cache
def replacements() -> Replacements:
    """The tables. Raises CatalogError where the file doesn't say what it must."""
    return loaded(
        "replacements.toml", lambda table: filled(Replacements, table, table["retired"], table["number_functions"])
    )
