"""For torch.compile alone, and where the user allows it: the smallest region leaves the graph and runs in eager."""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import fresh_name, indent_unit, owns_lines, parses, torch_name
from ddelint.rewrite.outlined import Region, before_top_level, helper
from ddelint.rewrite.outlining import NotOutlined, outlined

NAME = "graph_break"


@move(NAME)
def graph_break(context: Context) -> Iterator[Candidate]:
    """The smallest region becomes a function under `torch.compiler.disable`: the graph ends before it.

    Raises NotOffered, which says why there is none.
    """
    yield from outlined(context, _written, typed=False)


def _written(context: Context, region: Region) -> Candidate | None:
    source, function = context.site.source, context.site.function
    if function is None:
        return None
    torch, imports = torch_name(source)
    name = fresh_name(source, f"_{function.name.strip('_')}_region")
    first, last = region.body[0], region.body[-1]
    if not (owns_lines(source, first) and owns_lines(source, last)):
        raise NotOutlined("a shared line")
    begin, end = source.span(first), source.span(last)
    target = f"{', '.join(region.names)} = " if region.names else "return " if region.returns else ""
    call = f"{target}{name}({', '.join(operand.text for operand in region.operands)})"
    definition = [f"@{torch}.compiler.disable", *helper(context, region, name, indent_unit(source, function))]
    edits = (
        before_top_level(source, function, definition),
        Edit(Span(source.filename, begin.row, begin.column, end.end_row, end.end_column), call),
    )
    if not parses(source, edits):
        return None
    return Candidate(
        NAME,
        Claim.RESTRUCTURED,
        "what cannot be traced leaves the graph and runs in eager",
        edits,
        imports,
        notes=("torch.compile breaks the graph there; torch.export still refuses the program",),
        last_resort=True,
    )
