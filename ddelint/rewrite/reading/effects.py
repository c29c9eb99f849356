"""What a piece of code may do besides giving a value, where nothing is run that would show it."""

from __future__ import annotations

import ast
import builtins

from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, is_pure
from ddelint.sites import is_talk

SILENT = "the compiled program doesn't warn"
"""What is said of a rewrite in which only eager does."""


def says_without_effect(statement: ast.stmt) -> bool:
    """Whether what a warning or a log call says is read off values alone: it calls no function of the user's."""
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            return _only_reads(test) and all(map(says_without_effect, (*body, *orelse)))
        case ast.Expr(value=ast.Call(args=arguments, keywords=keywords)):
            return all(map(_only_reads, (*arguments, *(keyword.value for keyword in keywords))))
        case ast.Assign(value=value):
            return _only_reads(value)
    return isinstance(statement, ast.Pass)


def silenced(branch: ast.If) -> ast.If:
    """The branch without what its arms only say, for a form in which eager keeps what it had."""

    def kept(body: list[ast.stmt]) -> list[ast.stmt]:
        left = [s for s in body if not (is_talk(s) and says_without_effect(s))]
        changed = [silenced(s) if isinstance(s, ast.If) else s for s in left]
        return changed or ([ast.Pass()] if body else [])

    return ast.copy_location(ast.If(branch.test, kept(branch.body), kept(branch.orelse)), branch)


def _only_reads(node: ast.expr) -> bool:
    return is_pure(node) and all(_is_known(inner) for inner in ast.walk(node) if isinstance(inner, ast.Call))


def _is_known(call: ast.Call) -> bool:
    """Whether a call is of Python's own functions, or of a method of a value: not of `self`, not by a plain name."""
    match call.func:
        case ast.Name(id=name):
            return hasattr(builtins, name)
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return False
        case ast.Attribute():
            return True
    return False


def keeps_no_state(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function gives the same for the same arguments each time, as far as its text shows.

    It draws no random numbers, has no known effect, and stores to nothing but local names.
    """
    local = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        match node:
            case ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return False
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                if not (isinstance(value, ast.Name) and value.id in local):
                    return False
            case ast.Call() if called(node) in knowledge().random or (
                called(node) in knowledge().impure and _of_outer(node, local)
            ):
                return False
    return True


def _of_outer(call: ast.Call, local: set[str]) -> bool:
    """Whether a method is called on what is no local name of the function (`rows.append` of its own rows is)."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name)):
            return name not in local
    return True
