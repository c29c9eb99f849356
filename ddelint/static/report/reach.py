"""Places that a compiler doesn't come to, or only where the program gives up: nothing there decides about the graph."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import terminal_name
from ddelint.sources.sites import Site


def only_when_failing(site: Site) -> bool:
    """Whether the site is part of a message or of a block that raises, or handles an exception."""
    return _in_a_message(site) or _in_a_block_that_fails(site)


def _in_a_message(site: Site) -> bool:
    child: ast.AST = site.node
    for parent in site.source.ancestors(site.node):
        if isinstance(parent, ast.Raise):
            return True
        if isinstance(parent, ast.Assert):
            return child is parent.msg
        if isinstance(parent, ast.Call) and (child in parent.args[1:] or _names_a_message(child)):
            # check_shapes(condition, f"got {n} rows"), torch._check(n > 0, lambda: f"got {n} rows")
            name = terminal_name(parent.func).lower()
            if "check" in name or "assert" in name:
                return True
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def _names_a_message(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg in {"msg", "message"}


def _in_a_block_that_fails(site: Site) -> bool:
    """The test that leads into such a block is reported; what the block computes on the way to its `raise` is not."""
    child: ast.AST = site.node
    for parent in site.source.ancestors(site.node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(parent, ast.ExceptHandler):
            return True
        if isinstance(parent, ast.If):
            for block in (parent.body, parent.orelse):
                if child in block and isinstance(block[-1], ast.Raise):
                    return True
        child = parent
    return False
