"""Where the function that a contract is about is defined."""

from __future__ import annotations

import ast
from pathlib import Path

from ddelint.nouns.contracts import Contract
from ddelint.sources.source import SourceError, SourceFile


def function_of(contract: Contract) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool] | None:
    """The definition of the program's function, and whether it stands in a class; None where its text is not there."""
    where = contract.function
    if where is None:
        return None
    try:
        tree = SourceFile.read(Path(where.filename)).tree
    except (OSError, SourceError):
        return None
    methods = {id(one) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if where.row in (first, node.lineno):
                return node, id(node) in methods
    return None
