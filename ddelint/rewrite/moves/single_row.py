"""A selection that always has one row is broadcast in eager; torch assumes that a size of run time is not 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.relations import parsed
from ddelint.rewrite.reading.around import statement_of
from ddelint.rewrite.reading.names import bindings, bound_before, places_of_stores
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_RAISES = "inputs that break the promise raise RuntimeError once compiled"


@rewriting("single_row")
def single_row(context: Context) -> Iterator[Rewrite]:
    """`x = t.nonzero()`, broadcast later → its one row while compiling, behind a check that there is one."""
    found = _assumed(context)
    if found is None:
        return
    tensor, dimension = found
    said = f"`{tensor.id}.shape[{dimension}]` is 1"
    message = f"promise the compiler that {said}, so that it is broadcast as in eager; it refuses other inputs"
    # not `narrow`: where it takes all, Inductor leaves it out, and meets the size without its fact (2.13)
    lines = context.write.lines(
        "if torch.compiler.is_compiling():\n"
        "    torch._check({tensor}.shape[{dimension}] == 1)\n"
        "    {tensor} = {tensor}.select({dimension}, 0).unsqueeze({dimension})",
        tensor=tensor,
        dimension=dimension,
    )
    asking = context.site.statement
    made = _made(context, tensor.id)
    if made is not None:
        # what is computed from it in between has the size, too
        yield Rewrite(message, {made: [made, *lines]}, Claim.PROMISE, (_RAISES,))
    elif not context.write.is_elif(asking):
        yield Rewrite(message, {asking: [*lines, asking]}, Claim.PROMISE, (_RAISES,))


def _assumed(context: Context) -> tuple[ast.Name, int] | None:
    """The tensor and dimension whose size torch took for another one than 1."""
    function = context.site.function
    match parsed(context.diagnostic.expression):
        case ast.Compare(
            left=ast.Subscript(
                value=ast.Attribute(value=ast.Name() as tensor, attr="shape"),
                slice=ast.Constant(value=int(dimension)),
            ),
            ops=[ast.NotEq() | ast.GtE() as sign],
            comparators=[ast.Constant(value=bound)],
        ) if bound == (1 if isinstance(sign, ast.NotEq) else 2):
            if function is not None and tensor.id in bound_before(function, context.site.statement):
                return tensor, dimension
    return None


def _made(context: Context, name: str) -> ast.stmt | None:
    """The one statement that gives a name its value; None for a parameter, and where there are several."""
    function = context.site.function
    if function is None or bindings(function, name) != 1:
        return None
    for store in places_of_stores(function, name):
        statement = statement_of(context.site.source, store)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return statement
    return None
