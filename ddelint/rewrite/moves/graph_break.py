"""For torch.compile alone, and where the user allows it: the smallest region leaves the graph and runs in eager."""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.finding import outlined
from ddelint.rewrite.parts.outlining.operator import changes, helper, what_it_gives
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("graph_break")
def graph_break(context: Context) -> Iterator[Rewrite]:
    """The smallest region becomes a function under `torch.compiler.disable`: the graph ends before it.

    Raises NotOffered, which says why there is none.
    """
    yield from outlined(context, _written, typed=False)


def _written(context: Context, region: Region) -> Rewrite:
    write, function = context.write, context.site.function
    assert function is not None
    name = fresh_name(context.site.source, f"_{function.name.strip('_')}_{what_it_gives(region)}")
    definition = helper(write, region, name, "torch.compiler.disable")
    flag = [write.compiling] if region.asks_compiling else []
    call = write.expr("{}({})", name, [*(operand.text for operand in region.operands), *flag])
    return restructured(
        "what cannot be traced leaves the graph and runs in eager",
        changes(context, region, definition, call),
        "torch.compile breaks the graph there; torch.export still refuses the program",
        last_resort=True,
    )
