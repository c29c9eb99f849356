"""A flag that is read from a tensor: Inductor fails where it works out again what follows an in-place write.

torch/_inductor/fx_utils.py, `FakeTensorUpdater.incremental_update`, runs every node again once a write into a view has
been made in place, and compares old values with new ones. A boolean's is an equation, and no equation is taken from
another (torch/fx/experimental/symbolic_shapes.py, `canonicalize_bool_expr`). An integer's is a symbol, which works.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting
from ddelint.sources.sites import site_of

_MESSAGE = "Inductor cannot compare a flag that is read with what it was; an integer says the same"
_NOT = "sym_not"
_IS_SET, _IS_NOT = "{flag}.{method}().item() == 1", "{flag}.{method}().item() != 1"


@rewriting("flags_as_integers")
def flags_as_integers(context: Context) -> Iterator[Rewrite]:
    """`x.isnan().any().item()` → `x.isnan().any().int().item() == 1`, wherever the file reads a flag."""
    method = next((method for said, method in knowledge().flags_refused.items() if said in context.detail), None)
    if method is None:
        return
    source, write = context.site.source, context.write
    changes: dict[ast.AST, Expr] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]) if _is_flag(
                context, tensor
            ):
                parent = source.parents[node]
                negated = isinstance(parent, ast.Call) and called(parent) == _NOT
                new = write.expr(_IS_NOT if negated else _IS_SET, flag=tensor, method=ast.Name(method))
                changes[parent if negated else node] = new
    if changes:
        yield Rewrite(_MESSAGE, dict(changes), Claim.EQUIVALENT)


def _is_flag(context: Context, tensor: ast.expr) -> bool:
    """Whether a tensor, in whatever function of the file it stands, is of booleans."""
    site = site_of(context.site.source, tensor)
    if site.function is not context.site.function:
        types = context.types_in(site.function) if isinstance(site.function, ast.FunctionDef) else {}
        context = replace(context, site=site, types=types)
    return Kinds(context).dtype(tensor) == "bool"
