"""The nouns of dispatching: a graph for each part of a program's sizes, and what each of them costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.nouns.protocol import EntryFailure
from ddelint.nouns.size_specs import Outcome, SizeSpec

COMPILED, EXPORTED, PACKAGED = "compiled", "exported", "packaged"
"""What a dispatcher's graphs are: made by torch.compile when a call needs them, or ahead: by export, by AOTInductor."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the sizes that a program takes: those for which all conditions hold."""

    words: str
    """`tokens.shape[0]: 1..6`."""
    conditions: tuple[str, ...]
    name: str = ""
    """As part of a Python name: `batch_1_to_6`."""


@dataclass(frozen=True, slots=True)
class Split:
    """A program's sizes, in parts that are asked for in this order."""

    about: str
    """The size, or the branch, that decides."""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """One graph: the sizes that it takes, as a guard and as a spec."""

    part: Part
    spec: SizeSpec
    first: Mapping[str, int]
    """Sizes that are typical of it: it is compiled, and measured, with inputs of these."""
    cases: tuple[Mapping[str, int], ...] = ()
    """Sizes at its ends, next to them, at 0 and 1: whichever graph takes those."""
    own: tuple[Mapping[str, int], ...] = ()
    """Those of them that this graph takes."""

    def takes(self, sizes: Mapping[str, int]) -> bool:
        """Whether a call with these sizes is this graph's."""
        return dict(sizes) in [dict(one) for one in (self.first, *self.own)]


@dataclass(frozen=True, slots=True)
class Tried:
    """A written dispatcher, run."""

    outcomes: tuple[Outcome, ...] = ()
    """One for each call."""
    graphs: int = 0
    """How many graphs all calls together compiled."""
    compiled_by: tuple[int, ...] = ()
    """How many graphs each call compiled."""
    recompiled: tuple[Outcome, ...] = ()
    """Calls that ended otherwise when all were made once more, and nothing was to be compiled."""
    error: str = ""
    """Why the file could not be loaded."""
    specialized: str = ""
    """What came of the same said by `mark_dynamic(specialize_on=…)`; empty where the file does not say it."""
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way of compiling a program costs."""

    name: str
    graphs: int = 0
    seconds: float = 0.0
    """Of all calls that compiled something."""
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """The part that a call is of → the median of such calls, once compiled."""
    code: tuple[str, ...] = ()
    """What Inductor wrote, without the checks of sizes, made comparable."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Costs:
    """What several ways of compiling a program cost, on the same inputs."""

    arms: tuple[Cost, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A dispatcher for one entry: the graphs, where it was written, and how it fared."""

    about: tuple[str, ...] = ()
    """The sizes, or the branches, that decide."""
    graphs: tuple[GraphPlan, ...] = ()
    filename: str = ""
    """Empty where nothing was written."""
    tried: Tried | None = None
    costs: tuple[Cost, ...] = ()
    problems: tuple[str, ...] = ()
    """Why there is no dispatcher."""
    said: tuple[str, ...] = ()
    """What else is to be said: parts that need no graph of their own, and those that were merged."""
    form: str = COMPILED
