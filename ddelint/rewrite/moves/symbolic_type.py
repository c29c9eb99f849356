"""A test of a number's type: what export has in the number's place passes it, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.replacements import replacements
from ddelint.rewrite.writing.rewrites import Part, Rewrite, rewriting


@rewriting("symbolic_type")
def symbolic_type(context: Context) -> Iterator[Rewrite]:
    """`isinstance(n, int)` → `isinstance(n, (int, torch.SymInt))`."""
    write, table = context.write, replacements().types
    match context.site.node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, wanted], keywords=[]):
            pass
        case _:
            return
    known = [*wanted.elts] if isinstance(wanted, ast.Tuple) else [wanted]
    named = [table[name.id] for name in known if isinstance(name, ast.Name) and name.id in table]
    here = [symbolic for symbolic in table.values() if f".{symbolic} " in context.detail]
    types: list[Part] = [*known, *(write.expr("torch.{}", symbolic) for symbolic in dict.fromkeys([*named, *here]))]
    yield Rewrite(
        "export has a symbolic number here, which is of another type; eager's numbers are tested as before",
        {context.site.node: write.expr("isinstance({}, {})", value, write.tuple(types))},
    )
