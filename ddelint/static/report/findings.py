"""Findings: of what was met on a walk, by the rules, and of what the text of a file shows."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from functools import lru_cache

from ddelint.knowledge import catalog, extensions
from ddelint.knowledge.classification import reported_span, rule_for
from ddelint.nouns.diagnostics import Diagnostic, Severity, Span, Symbol
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile, descend
from ddelint.static.domain.demands import Event
from ddelint.static.domain.invariants import Invariants
from ddelint.static.domain.values import Tensor, Unbacked, Value
from ddelint.static.report import breadcrumbs
from ddelint.static.report.implicit import without_single_reads
from ddelint.static.report.reach import only_when_failing

_SUBJECT_SAYS_IT = frozenset(("DDE202", "DDE203", "DDE204", "DDE206", "DDE208", "DDE301", "DDE302", "DDE303"))
"""Rules whose message is about a part of the reported node: the index, the bound, the argument."""

_LOGIC = (ast.Compare, ast.BoolOp, ast.UnaryOp)


def of_events(source: SourceFile, events: list[Event], invariants: Invariants) -> list[Diagnostic]:
    """What was met on a walk, in its order."""
    kept = without_single_reads(source, events)
    return [d for event in kept if (d := _diagnostic(source, event, invariants)) is not None]


def of_places(source: SourceFile, places: Iterable[tuple[str, ast.expr, str]]) -> list[Diagnostic]:
    """What the text of a file shows: see `patterns.places`."""
    found: list[Diagnostic] = []
    for code, node, sentence in places:
        rule = _rule(code)
        if rule is not None:
            span, text = source.span(node), _text(source, node)
            message = rule.message.format(expression=text)
            found.append(
                Diagnostic(code, message, span, rule.severity, expression=text, breadcrumbs=((span, sentence),))
            )
    return found


def each_once(found: list[Diagnostic]) -> list[Diagnostic]:
    """Findings in the order of the file, each once, and those left out that another one says."""
    unique: dict[tuple[str, Span], Diagnostic] = {}
    for diagnostic in found:
        unique.setdefault((diagnostic.code, diagnostic.span), diagnostic)
    ordered = sorted(unique.values(), key=lambda d: (d.span.row, d.span.column, d.code))
    kept = [d for d in ordered if d.code not in _INNER or not any(_says_it(other, d) for other in ordered)]
    return [d for d in kept if not any(_is_number_by(d, other) for other in kept)]


_INNER = frozenset(("DDE201", "DDE205", "DDE207"))
"""What is read on the way to another question: where that is reported, they say the same once more."""
_CONVERSION = "DDE201"
"""What gives a plain number, of which nothing more is asked."""


def _says_it(outer: Diagnostic, inner: Diagnostic) -> bool:
    """Whether a finding is part of what another one is about."""
    if outer.severity is not Severity.ERROR or outer.code == inner.code:
        return False
    return outer.span.contains(inner.span) and (outer.code not in _INNER or inner.severity is not Severity.ERROR)


def _is_number_by(outer: Diagnostic, inner: Diagnostic) -> bool:
    """Whether a conversion is only of what a conversion within it answers: `int(math.log2(n))`."""
    if not outer.code == inner.code == _CONVERSION or outer.span == inner.span or not outer.span.contains(inner.span):
        return False
    births = [symbol.created for symbol in outer.symbols]
    return bool(births) and all(birth is not None and inner.span.contains(birth) for birth in births)


def _diagnostic(source: SourceFile, event: Event, invariants: Invariants) -> Diagnostic | None:
    site = site_of(source, event.node)
    if only_when_failing(site):
        return None
    symbols = _symbols(source, event, invariants)
    kind = event.value_kind
    if isinstance(event.value, Unbacked) and event.value.comparisons and not isinstance(event.node, _LOGIC):
        # a comparison made elsewhere: its name alone is no test for emptiness
        kind = "bool"
    code = event.rule or rule_for(site, kind, question=event.question, operator=event.operator, symbols=symbols)
    span = reported_span(site, code)
    subject = event.subject if event.subject is not None and code in _SUBJECT_SAYS_IT else None
    expression = event.text or _text(source, subject if subject is not None else span)
    rule = _rule(code)
    message = rule.message.format(expression=expression) if rule else expression
    return Diagnostic(
        code=code,
        message=f"{message} ({event.fact})" if event.fact else message,
        span=span,
        severity=_severity(event, rule),
        origin=("static",),
        expression=expression,
        symbols=symbols,
        breadcrumbs=breadcrumbs.of(source, event, span, expression),
        kinds=_kinds(event),
    )


def _kinds(event: Event) -> tuple[tuple[str, str], ...]:
    """Tensors and numbers in a question: itself, and its parts."""
    found = {"": _kind(event.value)} if event.value is not None else {}
    for node, value in event.parts:
        with contextlib.suppress(RecursionError):  # nobody asks about the kind of such a thing
            found[ast.unparse(node)] = _kind(value)
    return tuple(found.items())


def _kind(value: Value) -> str:
    if isinstance(value, Tensor):
        return "tensor"
    return "bool" if isinstance(value, Unbacked) and (value.topic == "bool" or value.comparisons) else "number"


def _severity(event: Event, rule: catalog.Rule | None) -> Severity:
    if rule is None:
        return Severity.ERROR
    return Severity.WARNING if event.advice and rule.severity is Severity.ERROR else rule.severity


@extensions.remembered
def _rule(code: str) -> catalog.Rule | None:
    try:
        return catalog.rule(code)
    except KeyError:
        return None


def _text(source: SourceFile, where: Span | ast.AST) -> str:
    return " ".join(source.segment(where).split())


def _symbols(source: SourceFile, event: Event, invariants: Invariants) -> tuple[Symbol, ...]:
    """The run-time numbers in the question, each with its birth."""
    parts: list[tuple[ast.expr, Value]] = list(event.parts)
    if not parts and event.value is not None:
        parts = [(event.subject if event.subject is not None else event.node, event.value)]
    found: dict[str, Symbol] = {}
    for node, value in parts:
        name = _text(source, node)
        if isinstance(value, Unbacked):
            low, high = invariants.bounds(value)
            low = 0 if low is None and value.topic == "size" else low
            made = Symbol(name, _text(source, value.birth), source.span(value.birth), lower=low, upper=high)
        elif isinstance(value, Tensor):
            size = next(iter(value.unbacked_dims), None)
            origin = size.birth if size is not None else _assigned(source, node) or node
            made = Symbol(name, _text(source, origin), source.span(origin))
        else:
            continue
        found.setdefault(name, made)
    return tuple(found.values())


def _assigned(source: SourceFile, node: ast.expr) -> ast.expr | None:
    """What the name was last bound to above its use, where it is a name."""
    if not isinstance(node, ast.Name):
        return None
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    function = next((parent for parent in source.ancestors(node) if isinstance(parent, functions)), None)
    best: ast.expr | None = None
    for value, row in _bindings(function).get(node.id, ()) if function is not None else ():
        if row < node.lineno and (best is None or row > best.lineno):
            best = value
    return best


@lru_cache(maxsize=16)
def _bindings(function: ast.AST) -> dict[str, list[tuple[ast.expr, int]]]:
    """The names in the targets of a function's assignments, each with what is assigned and the row."""
    found: dict[str, list[tuple[ast.expr, int]]] = {}
    for statement in descend(function):
        if isinstance(statement, ast.Assign):
            for name in {n.id for target in statement.targets for n in descend(target) if isinstance(n, ast.Name)}:
                found.setdefault(name, []).append((statement.value, statement.lineno))
    return found
