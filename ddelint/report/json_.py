"""The `json` and `json-lines` formats, whose keys keep the meaning that ruff's users know."""

from __future__ import annotations

import json
import os
from typing import Any

from ddelint.knowledge import catalog
from ddelint.nouns.diagnostics import Diagnostic, Evidence, Fix, Frame, Span, Symbol
from ddelint.report import gpu_words
from ddelint.report.by_hand import Help, help_for
from ddelint.report.model import Report


def render_report(report: Report) -> str:
    """The remaining findings as an indented JSON array with a final line end."""
    return json.dumps([finding(diagnostic) for diagnostic in report.remaining], indent=2) + "\n"


def render_lines(report: Report) -> str:
    """The remaining findings, one JSON object a line."""
    return "".join(json.dumps(finding(diagnostic)) + "\n" for diagnostic in report.remaining)


def finding(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as plain values; filenames are absolute, rows and columns count from 1."""
    try:
        rule = catalog.rule(diagnostic.code)
        name, url = rule.name, rule.url
    except KeyError:
        name, url = diagnostic.code, None
    span, by_hand = diagnostic.span, help_for(diagnostic)
    return {
        "code": diagnostic.code,
        "name": name,
        "message": diagnostic.message,
        "filename": _absolute(span.filename),
        "location": _start(span),
        "end_location": _end(span),
        "url": url,
        "fix": _fix(diagnostic.fix) if diagnostic.fix is not None else None,
        "fix_pending": diagnostic.fix_pending,
        "severity": diagnostic.severity.value,
        "origin": list(diagnostic.origin),
        "expression": diagnostic.expression,
        "asks": list(diagnostic.asks),
        "symbols": [_symbol(symbol) for symbol in diagnostic.symbols],
        "equalities": [
            {"name": e.name, "expression": e.expression, "torch_expression": e.torch_expression}
            for e in diagnostic.equalities
        ],
        "breadcrumbs": [{**_place(step), "message": message} for step, message in diagnostic.breadcrumbs],
        "frames": [_frame(frame) for frame in diagnostic.frames],
        "cpp_frames": list(diagnostic.cpp_frames),
        "evidence": _evidence(diagnostic.evidence or Evidence()),
        "refused": [{"move": r.move, "message": r.message, "reason": r.reason} for r in diagnostic.refused],
        "help": _help(by_hand) if by_hand is not None else None,
        "detail": diagnostic.detail,
        "hints": list(diagnostic.hints),
    }


def _help(by_hand: Help) -> dict[str, Any]:
    own = bool(by_hand.code) and not by_hand.is_example
    return {"hindrance": by_hand.hindrance, "code": by_hand.code, "own_code": own, "says": by_hand.intro}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "move": fix.move,
        "claim": fix.claim.value,
        "reasons": list(fix.reasons),
        "edits": [
            {
                "content": edit.content,
                "filename": _absolute(edit.span.filename),
                "location": _start(edit.span),
                "end_location": _end(edit.span),
            }
            for edit in fix.edits
        ],
    }


def _symbol(symbol: Symbol) -> dict[str, Any]:
    return {
        "name": symbol.name,
        "expression": symbol.expression,
        "created": _place(symbol.created) if symbol.created is not None else None,
        "torch_name": symbol.torch_name,
        "lower": symbol.lower,
        "upper": symbol.upper,
    }


def _frame(frame: Frame) -> dict[str, Any]:
    return {**_place(frame.span), "function": frame.function, "inside": frame.inside, "carriers": dict(frame.carriers)}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    """What was not run is null, never true."""
    return {
        "samples": evidence.samples,
        "both_sides": evidence.both_sides,
        "sides": list(evidence.sides) if evidence.sides is not None else None,
        "eager_equal": evidence.eager_equal,
        "export": evidence.export,
        "strict": evidence.strict,
        "compile": evidence.compile,
        "backward": evidence.backward,
        "devices": list(evidence.devices) if evidence.devices is not None else None,
        "agreed": {target: [agreed, of] for target, agreed, of in evidence.agreed} or None,
        "recompiles": evidence.recompiles,
        "parity": evidence.parity,
        "gpu": gpu_words.plain(evidence.gpu),
        "notes": list(evidence.notes),
    }


def _place(span: Span) -> dict[str, Any]:
    return {"filename": _absolute(span.filename), **_start(span)}


def _start(span: Span) -> dict[str, int]:
    return {"row": span.row, "column": span.column}


def _end(span: Span) -> dict[str, int]:
    return {"row": span.end_row, "column": span.end_column}


def _absolute(filename: str) -> str:
    return filename if filename == "-" else os.path.abspath(filename)
