"""Functions and classes as a program defines them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class ClassInfo:
    """A class of the file."""

    name: str
    node: ast.ClassDef
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)
    """Class-level names with their values."""
    annotated: dict[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Root:
    """A function that a compiler traces from its first line."""

    node: FunctionNode | ast.Lambda
    owner: ClassInfo | None
