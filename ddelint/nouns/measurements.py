"""The nouns of measuring: the arms of a benchmark, and unbacked held against backed. Frozen, and cheap to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import EntryFailure

ORIGINAL, FIXED = "original", "fixed"
"""The two programs of a benchmark."""
EAGER, COMPILED, FULLGRAPH, BACKED = "eager", "compiled", "fullgraph", "backed"
"""How a program is run: as it is; `torch.compile` as users call it, with its graph breaks; `fullgraph=True`; the same
with the unbacked dimensions dynamic instead."""
GAP = 1.05
"""Times the time of backed from which unbacked counts as slower."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One program run in one way. What was not measured is None."""

    program: str
    how: str
    error: str = ""
    """Why it was not measured, or did not run."""
    milliseconds: float | None = None
    """The median of all runs."""
    lower: float | None = None
    upper: float | None = None
    """The quartiles of all runs, in milliseconds."""
    first_seconds: float | None = None
    """The first call, with an empty cache: compilation is inside."""
    graphs: int | None = None
    """Graphs compiled for the measured batch."""
    launches: int | None = None
    """Compiled graphs called in one call of the program."""
    kernels: int | None = None
    """On a GPU the kernels launched in one call; on a CPU the operators called and the kernels that Inductor wrote."""
    host_syncs: int | None = None
    """On a GPU the times the host waited; on a CPU the operators at which it would."""
    recompiles: int | None = None
    """More graphs that the entry's other inputs needed, two calls each."""
    cuda_graphs: str = ""
    """`safe`, `not safe: …`, or `n/a: no device`."""
    agrees: bool | None = None
    """Whether the result is that of the original in eager on the CPU."""
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Divergence:
    """One decision that the generated code shows otherwise: and what only one side shows (or shows more often)."""

    decision: str
    backed: Mapping[str, int] = field(default_factory=dict)
    unbacked: Mapping[str, int] = field(default_factory=dict)
    closes: str = ""
    """`hint` or `bound`: what usually settles it; empty where it costs next to nothing."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What was tried to close the gap."""

    name: str
    """`hint`, `bound`, `hint and bound`, `hint and both bounds`."""
    changed: int
    """Lines that still differ from backed."""
    divergences: tuple[Divergence, ...] = ()
    milliseconds: float | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    """`x.0` → the hint that was given."""
    lowers: Mapping[str, int] = field(default_factory=dict)
    """`x.0` → the lower bound."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """`x.0` → the upper bound."""

    @property
    def explained(self) -> bool:
        """Whether what still differs costs next to nothing."""
        return all(not divergence.closes for divergence in self.divergences)


@dataclass(frozen=True, slots=True)
class GpuParity:
    """Unbacked against backed in the code that Inductor writes for a GPU; made, not run."""

    target: str
    """`sm_90`."""
    changed: int = 0
    lines: int = 0
    divergences: tuple[Divergence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parity:
    """Unbacked against backed: the code that Inductor writes, and the time that it takes."""

    dimensions: tuple[str, ...] = ()
    """`x.0` for each unbacked dimension; empty: there is nothing to compare."""
    device: str = "cpu"
    changed: int = 0
    lines: int = 0
    """Lines of the unbacked code, of which `changed` differ from the backed one."""
    divergences: tuple[Divergence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    hints: Mapping[str, int] = field(default_factory=dict)
    """Dimensions that carry a hint already, and its value."""
    backed_milliseconds: float | None = None
    """Lower quartiles: what disturbs a machine only adds."""
    unbacked_milliseconds: float | None = None
    function: Span | None = None
    """Where the program that was compiled is defined: its first line."""
    on_gpu: GpuParity | None = None
    """The same in the code for a GPU, where that was made without one."""
    notes: tuple[str, ...] = ()
    failure: EntryFailure | None = None

    @property
    def ratio(self) -> float | None:
        """The time of unbacked over the time of backed; None where it was not measured."""
        if not self.backed_milliseconds or self.unbacked_milliseconds is None:
            return None
        return self.unbacked_milliseconds / self.backed_milliseconds

    @property
    def slower(self) -> bool:
        """Whether unbacked was measured to be slower."""
        return self.ratio is not None and self.ratio >= GAP

    @property
    def best(self) -> Remedy | None:
        """The remedy that made up most of the measured gap, where one made up a part of it."""
        timed = [remedy for remedy in self.remedies if remedy.milliseconds is not None]
        if not timed or self.unbacked_milliseconds is None:
            return None
        fastest = min(timed, key=lambda remedy: remedy.milliseconds or 0.0)
        return fastest if (fastest.milliseconds or 0.0) * GAP <= self.unbacked_milliseconds else None


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process of the worker measured."""

    arms: tuple[Arm, ...] = ()
    parity: Parity | None = None
    device: str = "cpu"
    device_name: str = ""
    torch_version: str = ""
    threads: int = 1
    timer: str = ""
    batch: tuple[str, ...] = ()
    """Its arguments: `x: float32[512, 64]`."""
    sample: str = ""
    notes: tuple[str, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One entry, measured: the original and the fixed program."""

    label: str
    date: str = ""
    """ISO 8601, UTC."""
    measured: tuple[Measured, ...] = ()
    versus: str = ""
    """What the two programs are: `what --fix makes of it, 2 fixes`, `HEAD~1 against the working tree`."""
    notes: tuple[str, ...] = ()
    failure: EntryFailure | None = None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms, in the order in which they were measured."""
        return tuple(arm for measured in self.measured for arm in measured.arms)

    @property
    def parity(self) -> Parity | None:
        """Unbacked against backed, where that was measured."""
        return next((measured.parity for measured in self.measured if measured.parity is not None), None)
