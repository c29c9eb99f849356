"""The nouns of `ddelint shapes`: what a program needs of its inputs' sizes, and what was declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import EntryFailure

FREE, EQUAL, DERIVED, DIVISIBLE, BOUNDED, COUPLED, FIXED, SPECIALIZED, BRANCHED, UNKNOWN = (
    "free",
    "equal",
    "derived",
    "divisible",
    "bounded",
    "coupled",
    "fixed",
    "specialized",
    "branched",
    "unknown",
)
"""What a dimension may be: anything; the same as another; a sum of others; a multiple; within bounds; in a condition
with others; one number; one number for each compiled graph; anything, but a branch decides by it; not known (no run
ended well)."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on sizes that the program, compiled ahead for all sizes, needs.

    `source`: `raise` (the program's own), `torch` (an operator does not take anything else), `specialized` (a number
    was made of a size: one graph for each value), `eager` (nothing asked while tracing; running it showed it).
    """

    text: str
    source: str
    span: Span | None = None
    code: str = ""
    """The expression that needs it."""
    when: tuple[str, ...] = ()
    """It is needed only where these hold."""
    detail: str = ""
    """What happens where it does not hold: the error's first line."""
    witness: Mapping[str, int] | None = None
    """Sizes on which it was seen to fail."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition on sizes that decides which way the program goes; both ways end well."""

    text: str
    span: Span
    code: str
    true_ranges: tuple[str, ...] = ()
    """Where one size decides, its values for which the condition holds: `0..6`, `7..`, `multiples of 8`."""
    false_ranges: tuple[str, ...] = ()
    true_sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes that were seen to take this side."""
    false_sizes: Mapping[str, int] = field(default_factory=dict)
    torch: bool = False
    """Whether torch itself asks, inside what the program calls."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of one input."""

    name: str
    """As the user would write it: `tokens.shape[0]`."""
    size: int
    """In the example."""
    kind: str
    facts: tuple[str, ...] = ()
    """What is required of it, as conditions."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What one program needs of its inputs' sizes."""

    label: str
    filename: str = ""
    function: Span | None = None
    """Where the program's function begins."""
    dimensions: tuple[Dimension, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    branches: tuple[Branch, ...] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    """A tensor's place (a parameter, `batch['tokens']`) → its number of dimensions, in the order of the signature."""
    others: tuple[str, ...] = ()
    """The places of what else it is called with."""
    lists: tuple[str, ...] = ()
    """The places of lists."""
    handed: Mapping[str, str] = field(default_factory=dict)
    """Parameter with tensors → how what torch compiles gets it, where that has no parameter of the name: `*0`, `**`."""
    spec_argument: str = "shapes_spec"
    """What `torch.compile` calls its argument for specs: `dynamic_shapes` from torch 2.14 on."""
    undecided: tuple[str, ...] = ()
    """Conditions of which one side could be neither reached nor excluded."""
    notes: tuple[str, ...] = ()
    paths: int = 0
    """Ways through the program that were followed to their end."""
    runs: int = 0
    complete: bool = False
    """Whether everything was followed: no budget ended it, nothing is undecided."""
    seconds: float = 0.0
    failure: EntryFailure | None = None

    @property
    def example(self) -> dict[str, int]:
        """The sizes of the example."""
        return {dimension.name: dimension.size for dimension in self.dimensions}
