"""What `verify` prints: eager against every target, one line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.nouns.diagnostics import GpuEvidence
from ddelint.nouns.protocol import Compilation, EntryFailure, Mismatch, TargetResult
from ddelint.nouns.wire import to_wire
from ddelint.report import gpu_words, measurements
from ddelint.report.diff import shown_path
from ddelint.report.style import Style
from ddelint.report.verified import Verification, VerifyReport

SHOWN_MISMATCHES = 5


def render_text(report: VerifyReport, style: Style) -> Iterator[str]:
    """A heading for each entry, a line for each thing that was run, and what differed under it."""
    for verification in report.verifications:
        for line in _verification(verification, style):
            yield style.line(line)
    if report.verifications:
        failed = sum(not verification.passed for verification in report.verifications)
        yield (
            style.paint(f"{failed} of {len(report.verifications)} failed", "bad")
            if failed
            else style.paint("All targets agree with eager.", "good")
        )


def render_json(report: VerifyReport) -> str:
    """An array with one object for each entry: `passed`, and the fields of `Verification` and what stands in them."""
    values: list[dict[str, Any]] = [{**to_wire(v), "passed": v.passed} for v in report.verifications]
    return json.dumps(values, indent=2) + "\n"


def _verification(verification: Verification, style: Style) -> Iterator[str]:
    yield style.paint(verification.label, "bold")
    if verification.failure is not None:
        yield from _failure("eager", verification.failure, style)
    comparison = verification.comparison
    if comparison is not None:
        if comparison.failure is not None:
            yield from _failure("eager", comparison.failure, style)
        else:
            text = f"{comparison.samples} inputs, {comparison.declared} of them declared"
            yield _row("traced path", comparison.equal, text, style)
            yield from _mismatches(comparison.mismatches, style)
    compilation = verification.compilation
    if compilation is not None:
        yield from _compilation(compilation, style)
    if verification.gpu is not None:
        yield from _gpu(verification.gpu, style)
    if verification.benchmark is not None:
        yield from measurements.render_benchmark(verification.benchmark, style, verification.gpu)
    if verification.parity is not None:
        yield from measurements.render_parity(verification.parity, style)


def _compilation(compilation: Compilation, style: Style) -> Iterator[str]:
    if compilation.failure is not None:
        yield from _failure("targets", compilation.failure, style)
    for result in compilation.results:
        yield _row(_target(result), result.ok and not result.mismatches, _result(result), style)
        yield from _mismatches(result.mismatches, style)
        for question in result.questions:
            place = f"{shown_path(question.span.filename)}:{question.span.row}:{question.span.column}"
            yield f"      {place} asks `{question.expression}`"
    if compilation.backward is not None:
        yield _row("backward", compilation.backward, "", style)
    yield from _mismatches(compilation.mismatches, style)
    for note in compilation.notes:
        yield f"  {note}"


def _gpu(gpu: GpuEvidence, style: Style) -> Iterator[str]:
    failed = gpu.assembled is False or gpu.interpreted is False
    text = gpu_words.level(gpu)
    yield _row("GPU code", not failed, text, style) if gpu_words.is_reported(gpu) else f"  {text}"
    for line in (*gpu_words.details(gpu), *gpu.notes):
        yield f"      {line}"


def _target(result: TargetResult) -> str:
    return f"{result.target} on {result.device}" if result.device not in ("", "cpu") else result.target


def _result(result: TargetResult) -> str:
    words = [result.error.splitlines()[0]] if result.error else []
    if result.replayed:
        words.append(f"{result.replayed} inputs")
    if result.skipped:
        words.append(f"{result.skipped} not accepted by its static shapes")
    if result.graphs is not None:
        words.append("1 graph" if result.graphs == 1 else f"{result.graphs} graphs")
    if result.recompiles is not None:
        words.append("1 recompile" if result.recompiles == 1 else f"{result.recompiles} recompiles")
    return " · ".join(words)


def _row(name: str, passed: bool, text: str, style: Style) -> str:
    mark = style.paint("ok", "good") + "    " if passed else style.paint("FAILS", "bad") + " "
    return f"  {mark} {name:<18} {text}".rstrip()


def _failure(name: str, failure: EntryFailure, style: Style) -> Iterator[str]:
    yield _row(name, False, failure.message, style)
    for line in failure.traceback.rstrip().splitlines():
        yield f"      {line}"


def _mismatches(mismatches: Sequence[Mismatch], style: Style) -> Iterator[str]:
    for mismatch in mismatches[:SHOWN_MISMATCHES]:
        place = f"{mismatch.sample}, {mismatch.where}, {mismatch.aspect}"
        yield f"      {place}: expected {mismatch.expected}, got {mismatch.got}"
    if len(mismatches) > SHOWN_MISMATCHES:
        yield style.paint(f"      … {len(mismatches) - SHOWN_MISMATCHES} more", "dim")
