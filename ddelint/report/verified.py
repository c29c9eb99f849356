"""What `verify` found out about the entries of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import GpuEvidence
    from ddelint.nouns.measurements import Benchmark, Parity
    from ddelint.nouns.protocol import Comparison, Compilation, EntryFailure


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of `verify` for one entry; what was not run is None."""

    label: str
    failure: EntryFailure | None = None
    comparison: Comparison | None = None
    compilation: Compilation | None = None
    parity: Parity | None = None
    """Unbacked against backed dimensions; None where no input dimension is unbacked."""
    benchmark: Benchmark | None = None
    """With `--bench`."""
    gpu: GpuEvidence | None = None
    """The code for a GPU, made where there is none."""

    @property
    def passed(self) -> bool:
        """Whether the entry ran and every target agreed with eager; what was not run never passes."""
        if self.failure is not None or self.comparison is None or self.compilation is None:
            return False
        if self.comparison.failure is not None or not self.comparison.equal:
            return False
        compiled = self.compilation
        if compiled.failure is not None or compiled.backward is False or compiled.mismatches:
            return False
        if self.gpu is not None and (self.gpu.assembled is False or self.gpu.interpreted is False):
            return False
        return bool(compiled.results) and all(result.ok and not result.mismatches for result in compiled.results)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The outcome of `verify`."""

    verifications: tuple[Verification, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every entry ran and every target agreed with eager."""
        return all(verification.passed for verification in self.verifications)

    def __str__(self) -> str:
        """What `ddelint verify` prints, in plain text."""
        from ddelint.report import notebook

        return notebook.verified_text(self)

    def __repr__(self) -> str:
        return f"<VerifyReport: {', '.join(v.label for v in self.verifications)}: {'ok' if self.passed else 'not ok'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ddelint.report import notebook

        return notebook.verified_html(self)
