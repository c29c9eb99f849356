"""What the tool knows about operators, read once from rules/operators.toml. Engine code names no operator."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.catalog import CatalogError, rules_folder


@dataclass(frozen=True, slots=True)
class Operators:
    """The tables of operators.toml."""

    checks: frozenset[str]
    """Functions that take a condition and record it for the compiler (`_check` and its relatives)."""
    python_reductions: frozenset[str]
    """Built-ins that compare their elements in Python."""
    python_builtins: Mapping[str, str]
    """Built-ins that demand a concrete value, each with the rule that it falls under."""
    static_arguments: frozenset[str]
    """Operators whose outputs are counted by an argument."""
    questions: frozenset[str]
    """Operators that return a Python bool about data."""
    tensor_offsets: frozenset[str]
    """Operators that cut a tensor at offsets held in a tensor."""
    counting: frozenset[str]
    """Reductions whose result is a count when they are applied to a mask."""


def terminal_name(node: ast.AST) -> str:
    """The last part of a name or attribute chain: `b` of `a.b`; empty for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


@cache
def operators() -> Operators:
    """The operator knowledge. Raises CatalogError where the file doesn't say what it must."""
    path = rules_folder() / "operators.toml"
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        demands = table["demands"]
        return Operators(
            checks=frozenset(demands["checks"]),
            python_reductions=frozenset(demands["python_reductions"]),
            python_builtins=dict(demands["python_builtins"]),
            static_arguments=frozenset(demands["static_arguments"]),
            questions=frozenset(demands["questions"]),
            tensor_offsets=frozenset(demands["tensor_offsets"]),
            counting=frozenset(demands["counting"]),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CatalogError(f"operators.toml: {error!r}") from error
