"""Runs of a traced program against the original's, added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ddelint.nouns.protocol import Mismatch, TargetResult
from ddelint.verify.calls import Outcome
from ddelint.verify.mismatches import mismatches
from ddelint.verify.references import Reference
from ddelint.verify.sameness import Tolerance

REPLAY_SECONDS = 45.0
"""Once they are over, no more inputs are given to a traced program; one is, and so are the calls in a row."""


@dataclass
class Replay:
    """Runs of a traced program against the original, added up."""

    target: str
    tolerance: Tolerance
    device: str = "cpu"
    replayed: int = 0
    skipped: int = 0
    compared: int = 0
    agreed: int = 0
    dirty: bool = False
    """Whether one of the last calls changed the program's state."""
    mismatches: list[Mismatch] = field(default_factory=list)

    def is_wanted(self, reference: Reference) -> bool:
        """What the original refuses says nothing, unless the user declared it."""
        return reference.first.returned or reference.sample.declared

    def is_over(self, reference: Reference, seconds: float, of: int, notes: list[str]) -> bool:
        """Whether `seconds` are enough for a slow program; then it is noted on how many of all inputs it ran."""
        if seconds <= REPLAY_SECONDS or not self.replayed or reference.sequel:
            return False
        notes.append(f"{self.target}: {self.replayed} of {of} inputs replayed in the time")
        return True

    def compare(self, reference: Reference, outcomes: Sequence[Outcome]) -> list[Mismatch]:
        """Add one input set; gives what differed."""
        self.replayed += not reference.sequel
        # of calls in a row, each may be the first that changes something
        self.dirty = any(outcome.state_changed for outcome in (*reference.calls, *outcomes))
        found = list(mismatches(reference, outcomes, self.target, self.tolerance))
        found = [replace(m, where="backward") if m.aspect in ("gradient", "backward") else m for m in found]
        self.mismatches += found
        if reference.first.returned and not reference.sequel:
            self.compared += 1
            self.agreed += not any(mismatch.where != "backward" for mismatch in found)
        return found

    def result(
        self, *, seconds: float, graphs: int | None = None, recompiles: int | None = None, error: str = ""
    ) -> TargetResult:
        """The outcome of a target that could be traced."""
        return TargetResult(
            self.target.split(" ")[0],
            self.device,
            ok=not error and not any(mismatch.where != "backward" for mismatch in self.mismatches),
            error=error,
            replayed=self.replayed,
            skipped=self.skipped,
            compared=self.compared,
            agreed=self.agreed,
            mismatches=tuple(self.mismatches),
            graphs=graphs,
            recompiles=recompiles,
            seconds=seconds,
        )


def the_row_early(references: Sequence[Reference]) -> list[Reference]:
    """The first one, then those of several calls in a row, which are run in any case, then all others."""
    rows = [reference for reference in references if reference.sequel]
    return [*references[:1], *rows, *(reference for reference in references[1:] if not reference.sequel)]
