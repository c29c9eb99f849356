"""The last resort: the smallest region that cannot be traced becomes a custom operator.

The region's statements become a function of what they read. In eager that function is called; while compiling, a
custom operator around it, which runs it unseen. The operator's fake kernel is not written here: the search lets the
tracer read it off what the operator returns. Where gradients flow, they are an operator of their own that runs the
region again under autograd. Modules are handed over by a number, with their parameters and buffers beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining import operator
from ddelint.rewrite.parts.outlining.finding import outlined
from ddelint.rewrite.parts.outlining.gradient import gradient_definition
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("outline")
def outline(context: Context) -> Iterator[Rewrite]:
    """The smallest region around what asks becomes a custom operator; where that fails, a larger one.

    Raises NotOffered, which says why there is none.
    """
    yield from outlined(context, _written)


def _written(context: Context, region: Region) -> Rewrite:
    write, function = context.write, context.site.function
    assert function is not None
    name = fresh_name(context.site.source, f"_{function.name.strip('_')}_{operator.what_it_gives(region)}")
    parts = [
        operator.definitions_for_modules(write, region),
        operator.helper(write, region, name),
        operator.operator_definition(write, region, name),
        gradient_definition(write, region, name) if region.differentiable else [],
        operator.between(write, region, name),
    ]
    return restructured(
        "what cannot be traced becomes a custom operator, which the compiler calls without looking inside",
        operator.changes(context, region, write.apart(parts), operator.call(write, region, name)),
        "the operator must be registered where the exported program runs",
        "nothing in it is fused or optimized",
        *(("it finds its modules in the process that compiled them",) if region.modules else ()),
        last_resort=True,
    )
