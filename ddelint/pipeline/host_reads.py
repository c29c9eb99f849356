"""DDE503 from the code for a GPU: where a compiled call still waits for the device, although none is at hand.

Costs a compilation and an interpreted call, so `check` looks only where the rule is selected by name (`--select DDE5`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.knowledge.catalog import rule
from ddelint.knowledge.operators import operators, terminal_name
from ddelint.nouns.diagnostics import Diagnostic, Evidence, GpuEvidence, Span
from ddelint.nouns.protocol import HostRead
from ddelint.pipeline.gathering import Run
from ddelint.pipeline.gpu_code import INTERPRETED, wanted
from ddelint.pipeline.parity import is_selected_by_name
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile, descend

if TYPE_CHECKING:
    from ddelint.trace.session import Session

RULE = "DDE503"


def is_wanted(options: CheckOptions) -> bool:
    """Whether the rule, or its family, was selected by name: not `DDE` or the default."""
    return is_selected_by_name(options, RULE)


def host_read_findings(session: Session, run: Run) -> list[Diagnostic]:
    """What the program with its fixes still waits for in one forward call, where the code for a GPU is asked for."""
    if wanted(run.options, session.info) != INTERPRETED:
        return []
    run.progress.stage("looking for host reads in the code for a GPU")
    found = session.gpu(run.history.overlay if run.history is not None else {}, 1, interpreted=True)
    if found.evidence is None or not found.reads:
        for note in found.evidence.notes if found.evidence is not None else ():
            run.progress.debug(note)
        return []
    known = {(one.code, one.span) for one in (*run.traced, *run.static)}
    return [
        finding for finding in _findings(found.reads, found.evidence, run) if (finding.code, finding.span) not in known
    ]


def _findings(reads: Sequence[HostRead], evidence: GpuEvidence, run: Run) -> Iterator[Diagnostic]:
    """One for each place under PATHs."""
    places: dict[Span, list[HostRead]] = {}
    for read in reads:
        at = next((span for span in reversed(read.frames) if span.filename in run.sources), None)
        if at is not None:
            places.setdefault(_home(at, read.operator, run), []).append(read)
    for span, those in sorted(places.items()):
        expression = " ".join(run.sources[span.filename].segment(span).split())
        names = ", ".join(f"{read.operator} ×{read.times}" for read in those)
        found = rule(RULE)
        yield Diagnostic(
            RULE,
            found.message.format(expression=expression),
            span,
            found.severity,
            ("trace",),
            expression,
            asks=("inductor",),
            evidence=Evidence(gpu=replace(evidence, notes=()), notes=evidence.notes),
            detail=f"in the code for {evidence.target}, not run: {names}, {_of_all(evidence)}",
        )


def _home(span: Span, operator: str, run: Run) -> Span:
    """Where the operator is called, on the original text: a stack knows the row, and of the row not always the part."""
    current = run.history.current(span.filename) if run.history is not None else run.sources[span.filename]
    node = _called(current, span, operator)
    place = current.span(node) if node is not None else span
    return run.history.home(place) if run.history is not None else place


def _called(source: SourceFile, span: Span, operator: str) -> ast.expr | None:
    """The call of the operator that begins inside of `span`, or the mask; the smallest, where one holds another."""
    words = {*operator.replace("::", ".").split("."), *operators().regions["device_reads"]}
    known = operators().returns
    calls: list[ast.expr] = []
    masks: list[ast.expr] = []
    for node in descend(source.tree):
        match node:
            case ast.Call(func=func) if (name := terminal_name(func)) in words or known.get(name) in words:
                calls.append(node)
            case ast.Subscript(slice=index) if not isinstance(index, (ast.Constant, ast.Slice)):
                masks.append(node)
    inside = [[node for node in nodes if _begins_in(source.span(node), span)] for nodes in (calls, masks)]
    found = next((nodes for nodes in inside if nodes), [])
    return min(found, key=lambda node: len(source.segment(source.span(node))), default=None)


def _begins_in(inner: Span, outer: Span) -> bool:
    return (outer.row, outer.column) <= (inner.row, inner.column) < (outer.end_row, outer.end_column)


def _of_all(evidence: GpuEvidence) -> str:
    """Of how many, now and before the fixes."""
    now = f"of {evidence.host_reads} in one call"
    before = evidence.before.host_reads if evidence.before is not None else None
    return now if before is None or before == evidence.host_reads else f"{now} ({before} before)"
