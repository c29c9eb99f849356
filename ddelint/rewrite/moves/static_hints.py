"""What Inductor is given of an unbacked input dimension: its usual size, or the largest that it may have.

Proposed from a measurement only (pipeline.parity): the value stands in the context's detail, the site is the call of
`mark_unbacked`, or the parameter whose size it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.writing.rewrites import Changes, Rewrite, rewriting
from ddelint.sources.source import SourceFile

_HINT, _BOUND = "hint_override", "max"


@rewriting("optimization_hint")
def optimization_hint(context: Context) -> Iterator[Rewrite]:
    """`mark_unbacked(x, 0)` → `mark_unbacked(x, 0, hint_override=512)`."""
    changes = _argument(context, _HINT)
    if changes:
        message = (
            f"tell the compiler the usual size, {context.detail}: it tunes for that and still takes every other one"
        )
        yield Rewrite(message, changes)


@rewriting("upper_bound")
def upper_bound(context: Context) -> Iterator[Rewrite]:
    """`mark_unbacked(x, 0, max=4194304)`, or `torch._check(x.shape[0] <= 4194304)` first in the function."""
    changes = _argument(context, _BOUND) or _check(context)
    if changes:
        message = f"promise that the size stays below {context.detail}: indices of 32 bits do; larger inputs raise"
        yield Rewrite(message, changes, Claim.PROMISE)


def _argument(context: Context, name: str) -> Changes:
    """`name=value` behind the last argument of the call; none where the site is no call, or says it already."""
    call = context.site.node
    if not isinstance(call, ast.Call) or any(keyword.arg == name for keyword in call.keywords):
        return {}
    return {call: context.write.with_keyword(call, name, int(context.detail))} if context.detail.isdigit() else {}


def _check(context: Context) -> Changes:
    """A check of the parameter's size, behind the function's docstring."""
    site, write = context.site, context.write
    if not isinstance(site.node, ast.arg) or site.function is None:
        return {}
    match ast.parse(context.diagnostic.expression, mode="eval").body:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=index)):
            first = _first_statement(site.function)
            limit, dimension = int(context.detail), int(str(index))
            return {first: [write.expr("torch._check({}.shape[{}] <= {})", name, dimension, limit), first]}
    return {}


def _first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The first statement behind a docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return function.body[1] if documented and len(function.body) > 1 else first


def marking_call(source: SourceFile, parameter: str, dimension: int) -> ast.Call | None:
    """The call in a file that marks `dimension` (a literal) of a tensor as unbacked; of several the one naming it."""
    marks = operators().regions["unbacked_calls"]
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and terminal_name(node.func) in marks and _dimension(node) == dimension
    ]
    named = [call for call in found if call.args and terminal_name(call.args[0]) == parameter]
    chosen = named if len(found) > 1 else found
    return chosen[0] if len(chosen) == 1 else None


def _dimension(call: ast.Call) -> int | None:
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "index")]
    return given[0].value if given and isinstance(given[0], ast.Constant) and type(given[0].value) is int else None
