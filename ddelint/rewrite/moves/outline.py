"""The last resort: the smallest region that cannot be traced becomes a custom operator.

The region's statements become a function of what they read. In eager that function is called; while compiling, a
custom operator around it, which runs it unseen. The operator's fake kernel is not written here: the search lets the
tracer read it off what the operator returns. Where a floating-point operand comes in, the gradient is an operator of
its own that runs the region again under autograd.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    comments_in,
    fresh_name,
    indent_unit,
    owns_lines,
    parses,
    torch_name,
)
from ddelint.rewrite.outlined import (
    Region,
    before_top_level,
    gradient_definition,
    helper,
    namespace,
    operator_definition,
)
from ddelint.rewrite.outlining import NotOutlined, outlined

NAME = "outline"


@move(NAME)
def outline(context: Context) -> Iterator[Candidate]:
    """The smallest region around what asks becomes a custom operator; where that fails, a larger one.

    Raises NotOffered, which says why there is none.
    """
    yield from outlined(context, _written)


def _written(context: Context, region: Region) -> Candidate | None:
    site = context.site
    source, function = site.source, site.function
    assert function is not None
    torch, imports = torch_name(source)
    unit = indent_unit(source, function)
    base = fresh_name(source, f"_{function.name.strip('_')}_region")
    operands = region.operands
    lines = helper(context, region, base, unit)
    lines += ["", "", *operator_definition(region, base, unit, torch, namespace(source))]
    if region.differentiable:
        lines += ["", "", *gradient_definition(region, base, unit, torch, namespace(source))]
    call = f"({base}_op if {torch}.compiler.is_compiling() else {base})({', '.join(o.text for o in operands)})"
    if region.expression is not None:
        span = source.span(region.expression)
        replacement = Edit(span, call)
        if comments_in(source, span):
            raise NotOutlined("comments inside")
    else:
        first, last = source.span(region.body[0]), source.span(region.body[-1])
        if not (owns_lines(source, region.body[0]) and owns_lines(source, region.body[-1])):
            raise NotOutlined("a shared line")
        span = Span(source.filename, first.row, first.column, last.end_row, last.end_column)
        target = f"{', '.join(region.names)} = " if region.names else "return "
        replacement = Edit(span, target + call)
    edits = (before_top_level(source, function, lines), replacement)
    if not parses(source, edits):
        return None
    return Candidate(
        NAME,
        Claim.RESTRUCTURED,
        "what cannot be traced becomes a custom operator, which the compiler calls without looking inside",
        edits,
        imports,
        notes=(
            "the operator must be registered where the exported program runs",
            "nothing in it is fused or optimized",
        ),
        decisions=(),
        last_resort=True,
    )
