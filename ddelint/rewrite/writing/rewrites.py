"""A rewrite: nodes of the source, and what takes their place.

This module loads no libcst, which waits until a move first builds something: its types are for annotations.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

from ddelint.nouns.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.sources.source import SourceFile

if TYPE_CHECKING:
    import libcst as cst

    from ddelint.rewrite.writing.writer import Writer as Writer

    Expr = cst.BaseExpression
    Part = ast.AST | cst.CSTNode | str | int | float
    """What a template's hole takes: a node of the source with blanks and comments, a built one, a name, a number."""
    Lines = Sequence[ast.stmt | cst.BaseStatement | Expr]
    """Statements: of the source as they stand, and built ones; an expression is a line of its own."""
    Statements = list[cst.BaseStatement]
    Changes = Mapping[ast.AST, cst.CSTNode | Sequence[Any]]
    """What takes a node's place: an expression, or statements (none: it goes; the node itself among them: it stays)."""
else:  # annotations are not evaluated
    Expr = Part = Lines = Statements = Changes = Writer = Any


class Unwritable(ValueError):
    """A piece of the source that cannot be taken over as it stands: what needs it is not offered."""


class Run(ast.AST):
    """Statements that follow each other in a block: they change together, with the comments between them."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        super().__init__()
        self.statements = tuple(statements)


@dataclass(frozen=True)
class Rewrite:
    """What a move offers: the nodes that change, and what a reader has to know (see Candidate)."""

    message: str
    changes: Changes
    claim: Claim = Claim.EQUIVALENT
    notes: tuple[str, ...] = ()
    decisions: tuple[ast.AST, ...] = ()
    """Tests whose two sides must both be run."""
    proof: str = ""
    preferred: bool = False
    unlikely: bool = False
    last_resort: bool = False
    spreads: bool = False
    side: bool | None = None
    doubt: str = ""
    elsewhere: Mapping[SourceFile, Changes] = field(default_factory=dict)
    """Nodes of other files."""


def restructured(message: str, changes: Changes, *notes: str, **further: Any) -> Rewrite:
    """A rewrite that comes to the same results by other means; `notes` say what may differ."""
    return Rewrite(message, changes, Claim.RESTRUCTURED, notes, **further)


Propose = Callable[[Context], Iterator[Rewrite]]


def rewriting(name: str) -> Callable[[Propose], Propose]:
    """Register a move that yields rewrites: each different one that can be rendered becomes a candidate.

    Raises ValueError for a second move of the same name.
    """

    def register(propose: Propose) -> Propose:
        @wraps(propose)
        def offered(context: Context) -> Iterator[Candidate]:
            said: set[Hashable] = set()
            seen: set[tuple[Edit, ...]] = set()
            for rewrite in _writable(propose(context)):
                from ddelint.rewrite.writing.rendering import rendered, unrendered

                try:
                    if (new := unrendered(rewrite)) in said:
                        continue
                    said.add(new)
                    candidate = rendered(context.site.source, name, rewrite)
                except RecursionError:  # it nests deeper than libcst goes
                    continue
                if candidate is not None and candidate.edits not in seen:
                    seen.add(candidate.edits)
                    yield candidate

        if name in MOVES:
            raise ValueError(f"two moves are called {name}")
        MOVES[name] = offered
        return propose

    return register


def _writable(rewrites: Iterator[Rewrite]) -> Iterator[Rewrite]:
    """What a move offers, up to where it needs something that cannot be written, or nests too deep to be."""
    with suppress(Unwritable, RecursionError):
        yield from rewrites
