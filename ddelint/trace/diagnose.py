"""A question of the tracer, reported as a diagnostic. Runs in the parent: no torch."""

from __future__ import annotations

import ast
import re
from itertools import takewhile

from ddelint.knowledge.catalog import rule
from ddelint.knowledge.classification import reported_span, rule_for
from ddelint.nouns.diagnostics import Diagnostic, Question, Severity, Span, Symbol
from ddelint.nouns.protocol import COUNTED, EntryFailure
from ddelint.sources.buffers import made_of_constants
from ddelint.sources.sites import Site, locate
from ddelint.sources.source import SourceFile

_CODE_OF_KIND = {
    "other": "DDE005",
    "specialized": "DDE404",
    "text": "DDE208",
    "type": "DDE210",
    "fake": "DDE802",
    "assumed": "DDE406",
    "autocast": "DDE701",
    COUNTED: "DDE413",
}
_COMPILERS_OWN = frozenset(("AssertionError", "BackendCompilerFailed", "InductorError"))
_STOPS = frozenset(("truth", "integer", "operator", "failure"))
"""Kinds of questions that stop a front end, whatever the rule says of the milder case."""
_BACKED = re.compile(r"\bs\d+\b")
_MISSING_FAKE = ("no fake impl", "fake impl registered", "meta kernel", "UnsupportedOperator", "no Meta")
_SIZE = re.compile(r"""[\w.\[\]'"]+\.(?:shape\[-?\w+\]|size\(-?\w+\))""")
_PENDING = ("ending unbacked symbol",)


def diagnose(question: Question, source: SourceFile) -> Diagnostic:
    """The diagnostic for `question`, on the text that it was asked of."""
    site = locate(source, question.span)
    code = _code(question, site)
    span = question.span
    if site is not None:
        span = reported_span(site, code) if question.kind == "truth" else site.span
    expression = question.expression or (source.segment(span) if site is not None else question.raw)
    if question.kind == "truth" and site is not None and span != question.span:
        expression = " ".join(source.segment(span).split())
    if question.kind == "other":
        expression = question.detail or expression
    return Diagnostic(
        code=code,
        message=_message(question, code, expression),
        span=span,
        severity=Severity.ERROR if question.kind in _STOPS else rule(code).severity,
        origin=("trace",),
        expression=expression,
        symbols=question.symbols,
        frames=question.frames,
        asks=question.asks,
        detail=question.detail,
        cpp_frames=question.cpp_frames,
        equalities=question.equalities,
    )


def _is_the_compilers(question: Question) -> bool:
    """Whether a failure is one of what compiles, by the types of exceptions that its text begins with."""
    types = takewhile(str.isidentifier, question.detail.split(": "))
    return not _COMPILERS_OWN.isdisjoint(types)


def _message(question: Question, code: str, expression: str) -> str:
    if question.kind == "failure" and code == "DDE304" and _is_the_compilers(question):
        return f"torch's compiler fails at `{expression}`, behind which a size of run time stands"
    text = rule(code).message.format(expression=expression)
    return f"{text}: {question.detail}" if question.kind == "fake" else text


def entry_failed(failure: EntryFailure, source: SourceFile) -> Diagnostic:
    """DDE002 for an entry that could not be run in eager."""
    span = failure.span
    if span is None or span.filename != source.filename:
        first = source.tree.body[0] if source.tree.body else None
        span = source.span(first) if first is not None else None
    if span is None:
        span = Span(source.filename, 1, 1, 1, 2)
    entry_rule = rule("DDE002")
    return Diagnostic(
        code="DDE002",
        message=failure.message,
        span=span,
        severity=entry_rule.severity,
        origin=("trace",),
        detail=failure.traceback,
    )


def _code(question: Question, site: Site | None) -> str:
    if question.joint and question.kind in _STOPS:
        return "DDE702"
    if question.asks == ("inductor",) and question.kind in _STOPS:
        sliced = site is not None and isinstance(site.node, ast.Subscript)
        return "DDE301" if sliced else "DDE304"
    if question.kind in _CODE_OF_KIND:
        return _CODE_OF_KIND[question.kind]
    if any(text in question.detail for text in _PENDING):
        return "DDE803"
    if question.kind == "operator" and any(text in question.detail for text in _MISSING_FAKE):
        return "DDE801"
    if site is None:
        return "DDE101" if question.kind == "truth" else "DDE206"
    if question.kind in ("truth", "integer") and _is_constant(question, site):
        return "DDE310"
    code = rule_for(
        site,
        _value_kind(question, site),
        question=question.kind,
        operator=question.operator,
        symbols=question.symbols,
        inputs=len(set(_BACKED.findall(question.raw))) if question.raw.startswith("Eq(") else 1,
    )
    if question.kind == "failure" and "export" not in question.asks:
        # a symbol as text or as a key fails in Python already; this failed in what torch.compile makes of the program
        if code == "DDE208":
            return code if "unhashable" in question.detail else "DDE304"
        # the compiler's own assertion says nothing of how many values there are
        return "DDE304" if _is_the_compilers(question) else code
    return code


def _is_constant(question: Question, site: Site) -> bool:
    """Whether all that a question hangs on is read from buffers that never change."""
    if made_of_constants(site.source, site.node):
        return True
    created = [symbol.created for symbol in question.symbols]
    return bool(created) and all(
        span is not None
        and span.filename == site.source.filename
        and made_of_constants(site.source, site.source.at(span))
        for span in created
    )


def _value_kind(question: Question, site: Site) -> str:
    """What the question is about: a tensor itself, a dimension, or a number read from data."""
    text = " ".join(site.source.segment(site.span).split())
    fact = question.types.get(text)
    if fact is not None and fact.kind == "tensor":
        return "tensor"
    if question.symbols and all(symbol.created is None and _is_size(symbol) for symbol in question.symbols):
        return "input"
    if any(symbol.created == question.span or symbol.created == site.span for symbol in question.symbols):
        made_here = isinstance(site.node, ast.Call) and text.endswith((".item()", ".tolist()"))
        return "number" if made_here else "tensor"
    return "size" if any(_is_size(symbol) for symbol in question.symbols) else "number"


def _is_size(symbol: Symbol) -> bool:
    """Whether it is a tensor's size, by what the program calls it or by what it was read off (`n = x.shape[0]`)."""
    return any(text in symbol.name for text in (".shape[", ".size(")) or bool(_SIZE.fullmatch(symbol.expression))
