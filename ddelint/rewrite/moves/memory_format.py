"""A test of the memory layout that only decides on a copy: ask for the layout, always."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting
from ddelint.sources.sites import Role

_COPIES = frozenset(("contiguous", "clone", "to"))
_MESSAGE = "the test only decides whether to copy; asking for the layout leaves a tensor that has it as it is"


@rewriting("unconditional_format")
def unconditional_format(context: Context) -> Iterator[Rewrite]:
    """`if not y.is_contiguous(…): y = y.contiguous(…)` → `y = y.contiguous(…)`."""
    site = context.site
    if site.role is Role.TERNARY_TEST:
        yield from _ternary(context)
    match site.statement:
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value)],
            orelse=[],
        ) if name == _copied(value) == _asked_of(test):
            call, claim, notes = _unconditional(context, test, value)
            yield Rewrite(_MESSAGE, {site.statement: context.write.assigned(name, call)}, claim, notes)


def _ternary(context: Context) -> Iterator[Rewrite]:
    """`y if y.is_contiguous() else y.contiguous()`."""
    decision = context.site.decision
    choice = context.site.source.parents.get(decision) if decision is not None else None
    if not isinstance(choice, ast.IfExp):
        return
    negative = isinstance(choice.test, ast.UnaryOp)
    match (choice.body, choice.orelse) if negative else (choice.orelse, choice.body):
        case ast.Call() as copied, ast.Name(id=name) if name == _copied(copied) == _asked_of(choice.test):
            call, claim, notes = _unconditional(context, choice.test, copied)
            yield Rewrite(_MESSAGE, {choice: call}, claim, notes)


def _question(test: ast.expr) -> ast.Call | None:
    """The one layout question in a test."""
    asked = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    if len(asked) == 1 and called(asked[0]) in operators().layout_questions:
        return asked[0]
    return None


def _asked_of(test: ast.expr) -> str:
    """The tensor whose layout a test asks about."""
    match _question(test):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name
    return ""


def _copied(value: ast.Call) -> str:
    """`y` of `y.contiguous()`, `y.clone()`, `y.to(memory_format=…)`."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[]) if attr in _COPIES:
            if attr != "to" or [keyword.arg for keyword in value.keywords] == ["memory_format"]:
                return name
    return ""


def _unconditional(context: Context, test: ast.expr, value: ast.Call) -> tuple[Expr, Claim, tuple[str, ...]]:
    """The copying call, as `contiguous` where the question was for the same layout; whether it copies as before."""
    write, question = context.write, _question(test)
    asked = [ast.unparse(keyword) for keyword in question.keywords] if question is not None else []
    same = asked == [ast.unparse(keyword) for keyword in value.keywords]
    if question is not None and called(question) == "is_contiguous" and same and called(value) in {"contiguous", "to"}:
        return write.expr("{}.contiguous({})", _copied(value), value.keywords), Claim.EQUIVALENT, ()
    if called(value) == "contiguous":
        return write.expression(value), Claim.EQUIVALENT, ()
    return write.expression(value), Claim.RESTRUCTURED, ("a tensor that has the layout is copied, too",)
