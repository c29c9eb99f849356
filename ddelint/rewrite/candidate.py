"""What a move offers for a site, and what it may know when it does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ddelint.nouns.diagnostics import Claim, Diagnostic, Edit, Span, TypeFact
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile

if TYPE_CHECKING:
    from ddelint.rewrite.writing.writer import Writer


@dataclass(frozen=True, slots=True)
class Import:
    """A name that a rewrite needs: `import MODULE` (name empty) or `from MODULE import NAME`."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rewrite that might fix a site. `edits` are against the current text of their files."""

    move: str
    claim: Claim
    message: str
    """One sentence a reviewer would write; what the fix does and why eager keeps its results."""
    edits: tuple[Edit, ...]
    imports: tuple[Import, ...] = ()
    """Added once, in the file's own style, to the file of the first edit."""
    notes: tuple[str, ...] = ()
    """What the reader should know: another exception type, a cost, another order of random draws."""
    proof: str = ""
    """Why what it states is always true, where that was proved."""
    decisions: tuple[Span, ...] = ()
    """Tests of the current text whose two sides must both be run."""
    preferred: bool = False
    """Tried before the others of its claim, whatever the rule's order."""
    unlikely: bool = False
    """Takes one side of a test of which nothing says that it is the general one: tried after what keeps both."""
    last_resort: bool = False
    """Takes code out of what is compiled: never safe, and only where nothing else helps."""
    spreads: bool = False
    """An infinity or NaN of one place reaches others, which the original keeps apart (masked products): never safe."""
    side: bool | None = None
    """What its one decision comes to while compiling, where that is all that changes; None where more does."""
    doubt: str = ""
    """What keeps it from being safe whatever the inputs show, in a few words; empty where nothing does."""

    @property
    def is_never_safe(self) -> bool:
        """Whether no run can make it safe."""
        return self.claim is Claim.PROMISE or self.last_resort or self.spreads or bool(self.doubt)


class NotOffered(Exception):
    """A move has nothing to offer, and says why."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a move may ask about a site."""

    site: Site
    diagnostic: Diagnostic
    kind: str
    """The question's kind: truth, integer, operator, failure; `static` where only the static pass found it."""
    types: Mapping[str, TypeFact] = field(default_factory=dict)
    """Names and attribute chains of the function the site stands in, as a run saw them (may be empty)."""
    types_in: Callable[[ast.FunctionDef], Mapping[str, TypeFact]] = lambda function: {}
    """The same of another function of the site's file."""
    read: Callable[[str], SourceFile] | None = None
    """Other files of the overlay, by absolute name (None: only this file is at hand)."""
    detail: str = ""
    operator: str = ""
    targets: tuple[str, ...] = ()
    """What must work afterwards (`export`, `strict`, `compile`); empty where nobody asked for anything."""
    asked: tuple[Span, ...] = ()
    """Where in the site's file the same trace asks something, the site among them (may be empty)."""
    fake: tuple[str, ...] = ()
    """The body of a fake kernel for the operator, where the tracer knows one (`torch` stands for the module)."""

    @property
    def write(self) -> Writer:
        """Builds code for the site's file (loads libcst)."""
        from ddelint.rewrite.writing.writer import writer

        return writer(self.site.source)

    def asks_in(self, node: ast.expr) -> bool:
        """Whether the compiler asks in an expression of the site's file, as far as the trace has shown."""
        span = self.site.source.span(node)
        return any(span.contains(asked) for asked in (self.site.span, *self.asked))

    def type_of(self, text: str) -> TypeFact | None:
        """The type of a name or attribute chain written as `text`, where a run saw it."""
        return self.types.get(text)


Propose = Callable[[Context], Iterator[Candidate]]
"""A move: yields candidates, best first; yields nothing where it does not apply."""

MOVES: dict[str, Propose] = {}
"""Every move by its name in rules/*.toml."""
