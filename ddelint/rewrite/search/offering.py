"""What a move offers for a site. One that trips over code of a kind that nobody thought of must not end the search."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

from ddelint.rewrite.candidate import MOVES, Candidate, Context, NotOffered


def offered(name: str, context: Context) -> Iterator[Candidate]:
    """The move's candidates. Raises NotOffered where the move says why there is none."""
    if name not in MOVES:
        return
    try:
        yield from MOVES[name](context)
    except NotOffered:
        raise
    except Exception as error:
        if os.environ.get("DDELINT_DEBUG"):
            raise
        warnings.warn(f"the move {name} failed: {type(error).__name__}: {error}", stacklevel=2)
