"""The code for a GPU of what is kept: asked for, and added to the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.knowledge.gpus import DEFAULT, gpu_of
from ddelint.nouns.diagnostics import Applicability, Diagnostic, Evidence, Fix, GpuEvidence
from ddelint.settings.options import CheckOptions

if TYPE_CHECKING:
    from ddelint.nouns.protocol import EntryInfo
    from ddelint.rewrite.search.rounds import Outcome
    from ddelint.trace.session import Session

ASSEMBLED, INTERPRETED = "assembled", "interpreted"
_NOT_ASSEMBLED = "not assembled: "


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
    return GpuEvidence(gpu.target, gpu.name, notes=(f"{_NOT_ASSEMBLED}{why}",))


def is_compiled(one: Diagnostic) -> bool:
    """Whether a finding has a fix with which the program compiles."""
    return one.fix is not None and one.evidence is not None and bool(one.evidence.compile)


def with_gpu_code(found: Sequence[Diagnostic], evidence: GpuEvidence | None) -> list[Diagnostic]:
    """The findings whose fix compiles, with that in their evidence, and whether it was run on a GPU, too."""
    if evidence is None:
        return list(found)
    reported = []
    for diagnostic in found:
        known = diagnostic.evidence
        if known is not None and is_compiled(diagnostic):
            on_device = known.compile if "cuda" in (known.devices or ()) else None
            known = _noted(replace(known, gpu=replace(evidence, run=on_device)), evidence.notes, evidence.target)
        reported.append(replace(diagnostic, evidence=known))
    return reported


def held_against_safe_fixes(
    session: Session, outcome: Outcome, evidence: GpuEvidence | None, options: CheckOptions
) -> str:
    """What the code of the program with its safe fixes alone does on a declared input that eager does not, in words."""
    if evidence is None or not evidence.differs or not outcome.safe.overlay:
        return ""
    if outcome.safe.overlay != outcome.everything.overlay:
        evidence = gpu_code(session, outcome.safe.overlay, options)
    return f"GPU code for {evidence.target}: {evidence.differs}" if evidence is not None and evidence.differs else ""


def doubted(found: Sequence[Diagnostic], reason: str) -> list[Diagnostic]:
    """The findings, the fixes that are in what is compiled no longer safe."""
    return [replace(one, fix=_doubted(one.fix, reason)) if is_compiled(one) else one for one in found]


def _doubted(fix: Fix | None, reason: str) -> Fix | None:
    if fix is None or fix.applicability is not Applicability.SAFE:
        return fix
    return replace(fix, applicability=Applicability.UNSAFE, reasons=(*fix.reasons, reason))


def without_gpu_code(found: Sequence[Diagnostic], options: CheckOptions, info: EntryInfo) -> list[Diagnostic]:
    """The findings, those whose fix does not compile with the reason why nothing is said of its code for a GPU."""
    if wanted(options, info) != INTERPRETED:
        return list(found)
    gpu = gpu_of(options.gpu or DEFAULT)
    reported = []
    for diagnostic in found:
        known = diagnostic.evidence
        if known is not None and known.compile is False and diagnostic.fix is not None:
            nothing = replace(known, gpu=GpuEvidence(gpu.target, gpu.name))
            known = _noted(nothing, (f"{_NOT_ASSEMBLED}torch.compile fails on the CPU",), gpu.target)
        reported.append(replace(diagnostic, evidence=known))
    return reported


def _noted(evidence: Evidence, notes: Sequence[str], target: str) -> Evidence:
    told = (*evidence.notes, *(f"GPU code for {target}: {note}" for note in notes))
    return replace(evidence, notes=tuple(dict.fromkeys(told)))
