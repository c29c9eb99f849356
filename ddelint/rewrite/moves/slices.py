"""Two slices with sizes from data in one subscript lose a symbol on the way; one after the other they don't."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, text_of
from ddelint.rewrite.proposals import around, offer

_MOVE = "one_slice_at_a_time"


@move(_MOVE)
def one_slice_at_a_time(context: Context) -> Iterator[Candidate]:
    """`x[:, a:b, c:d]` → `x[:, a:b][:, :, c:d]`, for every such subscript of the statement."""
    source = context.site.source
    changes: list[tuple[ast.expr, str]] = []
    for node in around(context):
        match node:
            case ast.Subscript(value=value, slice=ast.Tuple(elts=parts), ctx=ast.Load()):
                steps = _steps([_text(source.segment(part), part) for part in parts], parts)
                if len(steps) > 1:
                    chain = "".join(f"[{', '.join(step)}]" for step in steps)
                    changes.append((node, text_of(source, value, Binding.PRIMARY) + chain))
    if changes:
        yield from offer(
            context,
            _MOVE,
            Claim.EQUIVALENT,
            "Dynamo loses a symbol where one subscript cuts two dimensions; one after the other is the same",
            changes,
        )


def _steps(texts: Sequence[str], parts: Sequence[ast.expr]) -> list[list[str]]:
    """The subscripts that come to the same one after the other; a single one where nothing is gained."""
    cuts = [index for index, part in enumerate(parts) if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    simple = (ast.Slice, ast.Constant, ast.UnaryOp)
    if len(cuts) < 2 or not all(isinstance(part, simple) for part in parts):
        return [list(texts)]
    steps = []
    for cut in cuts[:-1]:
        # numbers take a dimension away and None adds one: both wait for the last subscript
        kept = [
            texts[index] if index == cut or _is_ellipsis(part) else ":"
            for index, part in enumerate(parts)
            if not _is_none(part)
        ]
        while kept[-1] == ":" and not any(_is_ellipsis(part) for part in parts):
            kept.pop()
        steps.append(kept)
    steps.append([":" if index in cuts[:-1] else text for index, text in enumerate(texts)])
    return steps


def _text(text: str, part: ast.expr) -> str:
    return ":" if isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step) else text


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...


def _is_none(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is None
