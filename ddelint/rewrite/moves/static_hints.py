"""What Inductor is given of an unbacked input dimension: its usual size, or how small and how large it may be.

Proposed from a measurement only (pipeline.parity): the value stands in the context's detail (of bounds as `2..4194304`,
one of them where the other is not wanted), the site is the call of `mark_unbacked`, or the parameter whose size it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.writing.rewrites import Changes, Expr, Rewrite, rewriting
from ddelint.sources.source import SourceFile

_HINT = "hint_override"
_LIMITS = ("min", "max")
_CHECKS = ("torch._check({}.shape[{}] >= {})", "torch._check({}.shape[{}] <= {})")
"""Of bounds, as `mark_unbacked` and as a check has them."""


@rewriting("optimization_hint")
def optimization_hint(context: Context) -> Iterator[Rewrite]:
    """`mark_unbacked(x, 0)` → `mark_unbacked(x, 0, hint_override=512)`."""
    changes = _arguments(context, {_HINT: context.detail})
    if changes:
        message = (
            f"tell the compiler the usual size, {context.detail}: it tunes for that and still takes every other one"
        )
        yield Rewrite(message, changes)


@rewriting("upper_bound")
def upper_bound(context: Context) -> Iterator[Rewrite]:
    """`mark_unbacked(x, 0, max=4194304)`, or `torch._check(x.shape[0] <= 4194304)` first in the function.

    Where a lower bound helps, too, that stands before it: `min=2`.
    """
    lower, _, upper = context.detail.rpartition("..")
    changes = _arguments(context, dict(zip(_LIMITS, (lower, upper)))) or _checks(context, lower, upper)
    if changes:
        yield Rewrite(_promise(lower, upper), changes, Claim.PROMISE)


def _promise(lower: str, upper: str) -> str:
    if not lower:
        return f"promise that the size is at most {upper}: indices of 32 bits do; larger inputs raise"
    if not upper:
        return f"promise that the size is at least {lower}, as a backed size's guards do; smaller inputs raise"
    return f"promise that the size is {lower} to {upper}, as a backed size's guards do; other inputs raise"


def _arguments(context: Context, given: Mapping[str, str]) -> Changes:
    """`name=value` for each that has one, behind the last argument of the call; none where the site is no call, or says
    one of them already."""
    call = context.site.node
    values = {name: value for name, value in given.items() if value}
    if not isinstance(call, ast.Call) or not all(value.isdigit() for value in values.values()):
        return {}
    if any(keyword.arg in values for keyword in call.keywords):
        return {}
    longer: Expr | None = None
    for name, value in values.items():
        longer = context.write.with_keyword(call if longer is None else longer, name, int(value))
    return {} if longer is None else {call: longer}


def _checks(context: Context, *limits: str) -> Changes:
    """Checks of the parameter's size, behind the function's docstring: the lower limit, and the upper one."""
    site, write = context.site, context.write
    if not isinstance(site.node, ast.arg) or site.function is None:
        return {}
    match ast.parse(context.diagnostic.expression, mode="eval").body:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=index)):
            first, dimension = _first_statement(site.function), int(str(index))
            checks = [write.expr(check, name, dimension, int(limit)) for check, limit in zip(_CHECKS, limits) if limit]
            return {first: [*checks, first]}
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
