"""What the functions of a file gave, where a run saw it: the type of a call is that of what its function returns."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ddelint.nouns.diagnostics import TypeFact
from ddelint.nouns.protocol import RETURNED
from ddelint.rewrite.reading.names import qualified_name
from ddelint.sources.source import SourceFile


def returned_types(
    source: SourceFile, function: ast.AST, types: Mapping[str, TypeFact], seen: Mapping[str, Mapping[str, TypeFact]]
) -> dict[str, TypeFact]:
    """The types of a function's calls, by their text. `types`: of its names; `seen`: of each function of all files."""
    owner = qualified_name(source, function).rpartition(".")[0]
    found: dict[str, TypeFact] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            callee = _callee(node.func, owner, types)
            fact = seen.get(f"{source.filename}::{callee}", {}).get(RETURNED) if callee else None
            if fact is not None:
                found[ast.unparse(node)] = replace(fact, value=None)
    return found


def _callee(called: ast.expr, owner: str, types: Mapping[str, TypeFact]) -> str:
    """The qualified name of a function of the same file that is called; empty where it is not one."""
    match called:
        case ast.Name(id=name) if name not in types:
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            fact = types.get(ast.unparse(called))
            if fact is None or fact.kind != "module":
                return f"{owner}.{name}"
            return f"{fact.python_type.rpartition('.')[2]}.forward"
    return ""
