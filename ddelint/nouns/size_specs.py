"""The nouns of specs of sizes: what is declared of a program's inputs, and how far that is from what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.nouns.protocol import EntryFailure

Bounds = tuple[int, int | None]
"""The least and the largest value; None: any."""

KEYS, ITEMS, ATTRIBUTES = "keys", "items", "attributes"
"""How a tensor is inside of a dictionary, a list or tuple, any other object."""


@dataclass(frozen=True, slots=True)
class SizeSpec:
    """What is declared of the sizes of a program's inputs, whatever it was written as."""

    variables: Mapping[str, Bounds] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """The name of an input dimension → an expression over variables, or a number. What is left out is static."""
    assumptions: tuple[str, ...] = ()
    """Conditions over variables."""
    origin: str = ""
    """What it was read from: `SHAPES (model.py)`."""
    marked: bool = False
    """Whether it was read off `mark_unbacked` or `mark_dynamic`, which say nothing of the other dimensions."""
    exported: bool = False
    """Whether it is made of `Dim`s of `torch.export`, which say bounds, equal sizes, multiples and sums only."""
    place: str = ""
    """FILE.py:NAME of what it was read from, as it is declared; empty where it has no name in a file."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call with inputs of certain sizes.

    `ended`: `same` (as eager), `differs`, `refused` (by a guard or a check), `raised` (as eager did), `broke` (eager
    returns, the program does not).
    """

    sizes: Mapping[str, int]
    ended: str
    detail: str = ""
    eager: str = ""
    """What eager raised; empty where it returned."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One program, compiled under a spec, called with inputs of several sizes."""

    compiled: bool
    """Whether it could be compiled at all."""
    error: str = ""
    outcomes: tuple[Outcome, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Declarations:
    """The specs that were found beside an entry."""

    specs: tuple[SizeSpec, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class SpecFinding:
    """One difference between what is declared and what is needed."""

    code: str
    fact: str
    """The condition that is declared and not needed, or needed and not declared."""
    message: str
    witness: Mapping[str, int] | None = None
    """Sizes on which the difference shows."""
    outcome: Outcome | None = None
    """What running them came to."""
    row: int = 0
    line: str = ""
    """Where the program needs it."""


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """One declared spec, and what is wrong with it."""

    spec: SizeSpec
    findings: tuple[SpecFinding, ...] = ()
    undecided: tuple[str, ...] = ()
    error: str = ""
    """Why torch could not compile under it; empty where it could."""
    said: tuple[str, ...] = ()
    """What else is to be said of it."""
