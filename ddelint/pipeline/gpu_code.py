"""The code for a GPU of what is kept: asked for, and added to the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.diagnostics import Diagnostic, GpuEvidence
from ddelint.gpus import DEFAULT, gpu_of
from ddelint.options import CheckOptions

if TYPE_CHECKING:
    from ddelint.protocol import EntryInfo
    from ddelint.trace.session import Session

ASSEMBLED, INTERPRETED = "assembled", "interpreted"


def wanted(options: CheckOptions, info: EntryInfo) -> str:
    """How far to go: empty, ASSEMBLED, or INTERPRETED.

    `--gpu`, and `--device cuda` where there is none, ask for everything; `auto` takes what costs little.
    """
    if "compile" not in options.targets:
        return ""
    if options.gpu or (options.device == "cuda" and "cuda" not in info.devices):
        return INTERPRETED
    return ASSEMBLED if options.device == "auto" and info.triton and "cuda" not in info.devices else ""


def gpu_code(
    session: Session, overlay: Mapping[str, str], options: CheckOptions, original: Mapping[str, str] | None = None
) -> GpuEvidence | None:
    """What can be said of the code for a GPU of the program under `overlay`; None where nobody asks."""
    level = wanted(options, session.info)
    if not level:
        return None
    found = session.gpu(dict(overlay), options.samples, interpreted=level == INTERPRETED, original=original)
    if found.evidence is not None:
        return found.evidence
    gpu = gpu_of(options.gpu or DEFAULT)
    why = found.failure.message if found.failure is not None else "nothing came back"
    return GpuEvidence(gpu.target, gpu.name, notes=(f"not assembled: {why}",))


def with_gpu_code(found: Sequence[Diagnostic], evidence: GpuEvidence | None) -> list[Diagnostic]:
    """The findings whose fix compiles, with that in their evidence."""
    if evidence is None:
        return list(found)
    reported = []
    for diagnostic in found:
        known = diagnostic.evidence
        if known is not None and known.compile and diagnostic.fix is not None:
            notes = (*known.notes, *(f"GPU code for {evidence.target}: {note}" for note in evidence.notes))
            known = replace(known, gpu=evidence, notes=tuple(dict.fromkeys(notes)))
        reported.append(replace(diagnostic, evidence=known))
    return reported
