"""What Inductor is told of an unbacked input dimension: its usual size, or the largest that it may have.

Proposed from a measurement only (pipeline.parity): the value stands in the context's detail, the site is the call of
`mark_unbacked`, or the parameter whose size it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.operators import operators, terminal_name
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import begins_line, insert_before, parses, torch_name
from ddelint.source import SourceFile

_HINT, _BOUND = "hint_override", "max"


@move("optimization_hint")
def optimization_hint(context: Context) -> Iterator[Candidate]:
    """`mark_unbacked(x, 0)` → `mark_unbacked(x, 0, hint_override=512)`."""
    value = context.detail
    edit = _argument(context, _HINT, value)
    if edit is not None:
        yield Candidate(
            "optimization_hint",
            Claim.EQUIVALENT,
            f"tell the compiler the usual size, {value}: it tunes for that and still takes every other one",
            (edit,),
        )


@move("upper_bound")
def upper_bound(context: Context) -> Iterator[Candidate]:
    """`mark_unbacked(x, 0, max=4194304)`, or `torch._check(x.shape[0] <= 4194304)` first in the function."""
    value = context.detail
    message = f"promise that the size stays below {value}: indices of 32 bits do; larger inputs raise"
    edit = _argument(context, _BOUND, value)
    if edit is not None:
        yield Candidate("upper_bound", Claim.PROMISE, message, (edit,))
        return
    site = context.site
    size = context.diagnostic.expression
    function = site.function
    if not isinstance(site.node, ast.arg) or function is None or not size:
        return
    first = _first_statement(function)
    if not begins_line(site.source, first):
        return
    torch, imports = torch_name(site.source)
    edits = (insert_before(site.source, first, [f"{torch}._check({size} <= {value})"]),)
    if parses(site.source, edits):
        yield Candidate("upper_bound", Claim.PROMISE, message, edits, tuple(imports))


def _first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The first statement behind a docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return function.body[1] if documented and len(function.body) > 1 else first


def _argument(context: Context, name: str, value: str) -> Edit | None:
    """`name=value` behind the last argument of the call; None where the site is none, or says it already."""
    call = context.site.node
    if not isinstance(call, ast.Call) or any(keyword.arg == name for keyword in call.keywords) or not value.isdigit():
        return None
    source = context.site.source
    last = max((source.span(part) for part in (*call.args, *call.keywords)), key=lambda s: (s.end_row, s.end_column))
    end = Span(source.filename, last.end_row, last.end_column, last.end_row, last.end_column)
    edit = Edit(end, f", {name}={value}")
    return edit if parses(source, (edit,)) else None


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
