"""A test of the memory layout that only decides on a copy: ask for the layout, always."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.operators import operators
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import called, is_elif
from ddelint.rewrite.proposals import offer
from ddelint.sites import Role

_COPIES = frozenset(("contiguous", "clone", "to"))
_MOVE = "unconditional_format"


@move(_MOVE)
def unconditional_format(context: Context) -> Iterator[Candidate]:
    """`if not y.is_contiguous(…): y = y.contiguous(…)` → `y = y.contiguous(…)`."""
    site = context.site
    source = site.source
    if site.role is Role.TERNARY_TEST:
        yield from _ternary(context)
    match site.statement:
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value)],
            orelse=[],
        ):
            pass
        case _:
            return
    question = _question(test)
    subject = _copied(value)
    if question is None or subject != name or _asked_of(question) != name:
        return
    segment = source.segment(site.statement)
    if is_elif(source, site.statement) or "#" in segment.split("\n")[0]:
        return
    call, exact = _unconditional(context, question, value)
    text = f"{name} = {call}"
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT if exact else Claim.RESTRUCTURED,
        "the test only decides whether to copy; asking for the layout leaves a tensor that has it as it is",
        edits=[Edit(source.span(site.statement), text)],
        notes=() if exact else ("a tensor that has the layout is copied, too",),
    )


def _ternary(context: Context) -> Iterator[Candidate]:
    """`y if y.is_contiguous() else y.contiguous()`."""
    source = context.site.source
    parent = source.parents.get(context.site.decision) if context.site.decision is not None else None
    if not isinstance(parent, ast.IfExp):
        return
    question = _question(parent.test)
    negative = isinstance(parent.test, ast.UnaryOp)
    copied, kept = (parent.body, parent.orelse) if negative else (parent.orelse, parent.body)
    if question is None or not isinstance(copied, ast.Call) or not isinstance(kept, ast.Name):
        return
    if _copied(copied) != kept.id or _asked_of(question) != kept.id:
        return
    call, exact = _unconditional(context, question, copied)
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT if exact else Claim.RESTRUCTURED,
        "the test only decides whether to copy; asking for the layout leaves a tensor that has it as it is",
        [(parent, call)],
    )


def _question(test: ast.expr) -> ast.Call | None:
    """The one layout question in a test."""
    asked = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    if len(asked) == 1 and called(asked[0]) in operators().layout_questions:
        return asked[0]
    return None


def _asked_of(question: ast.Call) -> str:
    match question.func:
        case ast.Attribute(value=ast.Name(id=name)):
            return name
    return ""


def _copied(value: ast.Call) -> str:
    """`y` of `y.contiguous()`, `y.clone()`, `y.to(memory_format=…)`."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[]) if attr in _COPIES:
            if attr != "to" or [keyword.arg for keyword in value.keywords] == ["memory_format"]:
                return name
    return ""


def _unconditional(context: Context, question: ast.Call, value: ast.Call) -> tuple[str, bool]:
    """The copying call, as `contiguous` where the question was for the same layout; whether it copies as before."""
    source = context.site.source
    asked = [source.segment(keyword) for keyword in question.keywords]
    given = [source.segment(keyword) for keyword in value.keywords]
    if called(question) == "is_contiguous" and asked == given and called(value) in {"contiguous", "to"}:
        return f"{_copied(value)}.contiguous({', '.join(given)})", True
    return source.segment(value), called(value) == "contiguous"
