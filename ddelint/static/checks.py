"""What the interpreter saw, turned into diagnostics by the rules. This is the static pass's front door."""

from __future__ import annotations

import ast
import contextlib
import gc
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from ddelint import catalog, extensions
from ddelint.classification import reported_span, rule_for
from ddelint.diagnostics import Diagnostic, Severity, Span, Symbol
from ddelint.sites import site_of
from ddelint.source import SourceFile, descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.demands import Event
from ddelint.static.domain.invariants import Invariants
from ddelint.static.domain.values import Tensor, Unbacked, Value
from ddelint.static.program.outline import OutlinedSource, outlined
from ddelint.static.program.regions import FileIndex
from ddelint.static.program.scan import might_matter
from ddelint.static.report import breadcrumbs, patterns
from ddelint.static.report.given_up import nested_too_deep, not_parsed, out_of_steps
from ddelint.static.report.implicit import without_single_reads
from ddelint.static.report.reach import only_when_failing
from ddelint.static.walk.interpreter import Interpreter
from ddelint.static.walk.walker import BudgetError

__all__ = ["check_index", "check_source", "might_matter"]

_SUBJECT_SAYS_IT = frozenset(("DDE202", "DDE203", "DDE204", "DDE206", "DDE208", "DDE301", "DDE302", "DDE303"))
"""Rules whose message is about a part of the reported node: the index, the bound, the argument."""


_LOGIC = (ast.Compare, ast.BoolOp, ast.UnaryOp)


def check_source(source: SourceFile, *, assume_compiled: bool = False) -> list[Diagnostic]:
    """All findings of the static pass in one file, in the order of the file.

    With `assume_compiled` every function counts as compiled. Raises SourceError where the file doesn't parse.
    What cannot be read to its end is among the findings (see given_up).
    """
    index = FileIndex(outlined(source))
    try:
        return check_index(index, assume_compiled=assume_compiled)
    finally:
        index.release()


def check_index(index: FileIndex, *, assume_compiled: bool = False) -> list[Diagnostic]:
    """As `check_source`, of a file whose definitions have been looked up. Raises SourceError."""
    with _no_collection():
        found = [*_patterns(index, assume_compiled), *_undecidable(index, assume_compiled)]
    if isinstance(index.source, OutlinedSource):
        found += [not_parsed(index.source, node) for node in index.source.too_deep]
    unique: dict[tuple[str, Span], Diagnostic] = {}
    for diagnostic in found:
        unique.setdefault((diagnostic.code, diagnostic.span), diagnostic)
    ordered = sorted(unique.values(), key=lambda d: (d.span.row, d.span.column, d.code))
    return [d for d in ordered if d.code not in _INNER or not any(_says_it(other, d) for other in ordered)]


_INNER = frozenset(("DDE201", "DDE205", "DDE207"))
"""What is read on the way to another question: where that is reported, they say the same once more."""


def _says_it(outer: Diagnostic, inner: Diagnostic) -> bool:
    """Whether a finding is part of what another one is about."""
    if outer.severity is not Severity.ERROR or outer.code == inner.code:
        return False
    return outer.span.contains(inner.span) and (outer.code not in _INNER or inner.severity is not Severity.ERROR)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """A syntax tree is many objects and no garbage: looking for cycles in it costs a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _patterns(index: FileIndex, assume_compiled: bool) -> list[Diagnostic]:
    source = index.source
    found: list[Diagnostic] = []
    for code, node, sentence in patterns.places(index, assume_compiled):
        rule = _rule(code)
        if rule is not None:
            span, text = source.span(node), _text(source, node)
            message = rule.message.format(expression=text)
            found.append(
                Diagnostic(code, message, span, rule.severity, expression=text, breadcrumbs=((span, sentence),))
            )
    return found


def _undecidable(index: FileIndex, assume_compiled: bool) -> list[Diagnostic]:
    source = index.source
    interpreter = Interpreter(index)
    given_up: list[Diagnostic] = []
    for root in index.roots(assume_compiled):
        if index.has_inputs or index.matters(root.node):
            given_up += _read(interpreter, root.node, partial(interpreter.run, root))
    while (late := interpreter.following.late(index)) is not None:
        given_up += _read(interpreter, late[0].node, partial(interpreter.run_late, *late))
    events = without_single_reads(source, interpreter.events)
    found = [d for event in events if (d := _diagnostic(source, event, interpreter.invariants)) is not None]
    interpreter.release()
    return [*found, *given_up]


def _read(
    interpreter: Interpreter, node: FunctionNode | ast.Lambda, interpret: Callable[[], None]
) -> Iterator[Diagnostic]:
    """Interpret one function; what is given up is said, and what was found until then is right."""
    try:
        interpret()
    except RecursionError:
        yield nested_too_deep(interpreter.source, node, interpreter.row)
    except BudgetError:
        yield out_of_steps(interpreter.source, node, interpreter.row, interpreter.granted)


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
