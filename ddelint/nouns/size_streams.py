"""The nouns of streams: the sizes of one call after the other, and which of them a program is compiled for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import EntryFailure

Sizes = Mapping[str, int]
"""The name of an input dimension (`tokens.shape[0]`) → its size."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a graph does not take a call."""

    code: str
    """The rule that reports it: DDE404 a static size, DDE402 one of 0 or 1; of a branch, the rule of `check`."""
    guard: str
    """The condition on which the graph was made: `tokens.shape[0] <= 6`."""
    span: Span | None = None
    """Where the program asks; None where torch does by itself."""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One call for which a graph is compiled."""

    call: int
    """Which call of the stream, from 1."""
    sizes: Sizes
    causes: tuple[Cause, ...] = ()
    """The guards of the graph before that this call does not meet; empty for the first."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What torch did with a stream."""

    calls: tuple[int, ...] = ()
    """The calls for which it compiled, from 1."""
    dynamic: tuple[str, ...] = ()
    """Dimensions that the example's inputs mark as dynamic."""
    unbacked: tuple[str, ...] = ()
    error: str = ""
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """The fewest marks with which one graph takes a stream, and what became of it."""

    marks: tuple[str, ...] = ()
    """Lines of code: `mark_unbacked(tokens, 0, max=6)`."""
    graphs: int = 0
    """How many graphs the stream takes with them; 0 where that was not run."""
    said: tuple[str, ...] = ()
    """What stands in the way of one graph."""
    different: tuple[Sizes, ...] = ()
    """Sizes for which the graph with these marks gives something else than eager, without a word."""


@dataclass(frozen=True, slots=True)
class StreamFinding:
    """One line, or one input dimension, because of which a stream is compiled for more than once."""

    code: str
    message: str
    guards: tuple[str, ...]
    """The conditions on which graphs were made, and that calls did not meet."""
    calls: tuple[int, ...]
    """The calls for which torch compiled because of it, from 1; of DDE406, those that differ from eager."""
    filename: str = ""
    row: int = 0
    """Of the line that asks; of the program's function, where torch asks by itself."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a stream of sizes costs a program that is compiled as it is."""

    source: str = ""
    calls: int = 0
    kinds: int = 0
    """How many different sizes are among them."""
    foretold: tuple[Compiled, ...] = ()
    counted: Counted = field(default_factory=Counted)
    remedy: Remedy = field(default_factory=Remedy)
    findings: tuple[StreamFinding, ...] = ()
    error: str = ""
