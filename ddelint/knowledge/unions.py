"""What an annotation allows, one by one: `int | None`, `Optional[int]`, `Union[int, None]`, in quotes or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.parsing import TOO_DEEP

_SAYS_MORE = frozenset(("Annotated", "Final", "Required", "NotRequired", "ReadOnly"))
"""Names of typing whose first argument is the type itself."""


def members(annotation: ast.expr) -> Iterator[ast.expr]:
    """The types of which a union consists, from left to right; a type that is no union by itself.

    None is there as the constant. Names are taken by their last part; a quoted text that does not parse has no members.
    """
    known = operators().annotations
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                quoted = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, *TOO_DEEP):
                return
            yield from members(quoted)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from members(left)
            yield from members(right)
        case ast.Subscript(value=owner, slice=index):
            name = terminal_name(owner)
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            if name in known["union"]:
                for part in parts:
                    yield from members(part)
            elif name in known["optional"]:
                yield from members(index)
                yield ast.Constant(None)
            elif name in _SAYS_MORE and parts:
                yield from members(parts[0])
            else:
                yield annotation
        case _:
            yield annotation


def is_none(node: ast.AST) -> bool:
    """Whether a member of an annotation, or any value, is None itself."""
    return isinstance(node, ast.Constant) and node.value is None
