"""What the search asks of a worker session, and how the parts of an answer are read together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import Comparison, Compilation, Decision, Overlay, TargetResult, TraceResult


class Prover(Protocol):
    """What the search asks of a worker session (ddelint.trace.session.Session)."""

    def trace(
        self, overlay: Overlay, *, first: bool = False, forward_first: bool = False, until: Sequence[Span] = ()
    ) -> TraceResult: ...

    def compare(
        self,
        overlay: Overlay,
        decisions: tuple[Decision, ...],
        samples: int,
        quick: bool,
        *,
        only: Collection[str] = (),
        exactly: str = "",
        watched: tuple[Decision, ...] | None = None,
    ) -> Comparison: ...

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation: ...


class Ahead(Prover, Protocol):
    """What begins to answer, and waits for nothing: what it gives says nothing (ddelint.trace.session.Ahead)."""

    def forget(self) -> None:
        """End what was begun, and has not been asked for."""


def joined(parts: Sequence[Compilation]) -> Compilation:
    """The verification of a program, from those of its targets."""
    if len(parts) == 1:
        return parts[0]
    failure = next((part.failure for part in parts if part.failure is not None), None)
    if failure is not None:
        return Compilation(results=(), failure=failure)
    return Compilation(
        results=tuple(result for part in parts for result in part.results),
        backward=next((part.backward for part in parts if part.backward is not None), None),
        mismatches=tuple(mismatch for part in parts for mismatch in part.mismatches),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def passes(result: TargetResult) -> bool:
    """Whether a target takes a program, and gives what eager gives on the inputs that count."""
    if result.error or any(question.kind != "assumed" for question in result.asking):
        return False
    refused = result.mismatches and not any(mismatch.speaks_against for mismatch in result.mismatches)
    return bool(refused) or (result.ok and not result.mismatches)
