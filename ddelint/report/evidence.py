"""What was run to trust a fix, in one line: for a diff's header, a pull request, a commit message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ddelint.knowledge.catalog import rule
from ddelint.nouns.levels import Applicability, Claim
from ddelint.report.diff import shown_path
from ddelint.report.gpu_words import is_reported, level

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic, Evidence
    from ddelint.report.model import Report

_DEVICE_NOTE = "cuda not run"
NOT_RUN = "not verified: nothing was run"


def verified_line(evidence: Evidence | None) -> str:
    """`verified: 64 inputs, both sides, eager equal, export ok, fullgraph ok, backward ok, cuda n/a`.

    What was not run is not in it, but for the GPU, of which everybody asks.
    """
    words = _words(evidence) if evidence is not None else []
    return f"verified: {', '.join(words)}" if words else NOT_RUN


def offered_line(diagnostic: Diagnostic) -> str:
    """`fix (safe): what it does; verified: …`, for formats that show no code; empty where there is none."""
    fix = diagnostic.fix
    if fix is None:
        return ""
    first, *_ = fix.message.splitlines() or [""]
    return f"fix ({fix.applicability}): {first}; {verified_line(diagnostic.evidence)}"


def notes_of_all(found: Sequence[Diagnostic]) -> tuple[str, ...]:
    """What the evidence of each of several findings notes; it need be said but once."""
    noted = [d.evidence.notes if d.evidence is not None else () for d in found]
    if len(noted) < 2:
        return ()
    return tuple(n for n in noted[0] if not n.startswith(_DEVICE_NOTE) and all(n in notes for notes in noted))


def risk_of(diagnostic: Diagnostic, said_before: Sequence[str] = ()) -> str:
    """What whoever merges its fix should know: what it may change, what a run did not show, what differed unasked."""
    fix = diagnostic.fix
    if fix is None:
        return ""
    if fix.applicability is Applicability.UNSAFE:
        said = [f"unsafe: {reason}" for reason in fix.reasons[:1]] + list(fix.reasons[1:])
        said = said or ["unsafe: it narrows what the program accepts, needs a promise, or was not run on both sides"]
    else:
        said = [f"safe: {_KEEPS[fix.claim]}"]
    notes = diagnostic.evidence.notes if diagnostic.evidence is not None else ()
    new = (note for note in notes if note not in said_before and not note.startswith(_DEVICE_NOTE))
    return "; ".join([*said, *new])


_KEEPS = {
    Claim.EQUIVALENT: "eager does the same as before",
    Claim.GENERAL_PATH: "eager chooses as before; the compiled program takes one path for all inputs",
    Claim.RESTRUCTURED: "the same results, computed in another way",
    Claim.PROMISE: "what it promises follows from where the value comes from",
}


def unfixed(diagnostic: Diagnostic, report: Report) -> str:
    """Why it has no fix, where nothing was tried."""
    if not report.suggests:
        return "no fix was looked for"
    if "trace" in diagnostic.origin:
        return "no rewrite is known"
    if report.entries:
        return f"{', '.join(report.entries)} did not run this: rewrites are tried and verified where an entry runs"
    return "not traced: with an entry to run, rewrites are tried and verified"


def _words(evidence: Evidence) -> list[str]:
    words: list[str] = []
    if evidence.samples is not None:
        words.append("1 input" if evidence.samples == 1 else f"{evidence.samples} inputs")
    if evidence.both_sides is not None:
        words.append("both sides" if evidence.both_sides else "one side only")
    if evidence.eager_equal is not None:
        words.append("eager equal" if evidence.eager_equal else "eager differs")
    targets = (("export", evidence.export), ("strict export", evidence.strict), ("fullgraph", evidence.compile))
    words += [f"{name} {'ok' if value else 'fails'}" for name, value in targets if value is not None]
    if evidence.backward is not None:
        words.append(f"backward {'ok' if evidence.backward else 'fails'}")
    if evidence.recompiles:
        words.append("1 recompile" if evidence.recompiles == 1 else f"{evidence.recompiles} recompiles")
    if evidence.parity is not None:
        words.append(f"{evidence.parity:.2f}x the time of backed")
    if "cuda" in (evidence.devices or ()) and evidence.compile is not None:
        words.append("cuda ok" if evidence.compile else "cuda fails")
    elif evidence.gpu is not None and is_reported(evidence.gpu):
        words.append(level(evidence.gpu))
    elif any(note.startswith(_DEVICE_NOTE) for note in evidence.notes):
        words.append("cuda n/a")
        words += [level(evidence.gpu)] if evidence.gpu is not None else []
    return words


def explained(diagnostic: Diagnostic) -> tuple[str, str]:
    """A fix in two lines: `DDE102 model.py:31: what it does and why results stay`, and what was run."""
    fix = diagnostic.fix
    sentence = fix.message.splitlines()[0] if fix is not None and fix.message else diagnostic.message
    place = f"{shown_path(diagnostic.span.filename)}:{diagnostic.span.row}"
    return f"{diagnostic.code} {place}: {sentence}", verified_line(diagnostic.evidence)


def name_of(code: str) -> str:
    """The rule's name; the code itself where the catalogue has no such rule."""
    try:
        return rule(code).name
    except KeyError:
        return code
