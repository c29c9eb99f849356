"""What stopped a front end, as a Question: which expression of the user's asked, and whether data is behind it."""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import sympy

from ddelint.nouns.diagnostics import Frame, Question, Span, TypeFact
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace import provenance, torch_internals
from ddelint.trace.provenance import Paths

_TRUTH = re.compile(
    r"Could not guard on data-dependent|[Dd]ata-dependent (?:branching|assertion|jump)|[Dd]ynamic control flow"
    r"|data-dependent control flow|attempted to jump with (?:TensorVariable|SymNodeVariable)"
)
_INTEGER = re.compile(r"Could not extract specialized integer")
_OPERATOR = re.compile(
    r"DataDependentOutputException|DynamicOutputShapeException|[Dd]ata-dependent output"
    r"|data-dependent output shape|[Dd]ynamic shape operator|[Dd]ata dependent operator"
    r"|no fake impl|fake impl registered|UnsupportedOperatorException"
)
_SPECIALIZED = re.compile(r"[Cc]onstraints violated|ConstraintViolation|specialized it to be a constant")
_FAILURE = re.compile(
    r"[Pp]ending unbacked symbol|PendingUnbackedSymbolNotFound|unhashable type: .{0,200}Sym(?:Int|Float|Bool)"
    r"|\bSym(?:Int|Float|Bool)\b|\bSymNodeVariable\b|[Dd]ata[- ]dependent|\bunbacked\b|(?<![\w.])z?u[f]?\d+(?!\w)"
)
_UNBACKED = re.compile(r"\bwith unbacked symints?\b|^ +args\[\d+\]: [^\n]*(?<![\w.])u\d+\b", re.MULTILINE)
"""A size that isn't known, in what Inductor says: of its own arithmetic (torch/_inductor/sizevars.py), or among the
arguments of the operator that it could not lower (torch/_inductor/exc.py, OperatorIssue)."""
_KERNEL = "Cannot access data pointer of Tensor"
"""What torch says where code that wants memory (a Triton kernel, a C++ extension) meets a fake tensor."""
_OPERATOR_NAME = re.compile(r"\b((?:aten|prims|torch|[a-z_]\w*)(?:\.|::)\w+(?:\.\w+)*)\b")
_TEXT_FRAME = re.compile(r'File "(?P<filename>[^"]+)", line (?P<row>\d+), in (?P<function>\S+)')
_NOTED_FRAME = re.compile(_TEXT_FRAME.pattern + r"(?:\n(?P<indent> +)\S[^\n]*(?:\n(?P<blanks> +)(?P<carets>[~^]+))?)?")
"""As the traceback module writes it."""
_LONGEST_DETAIL = 300


@dataclass(frozen=True)
class _Place:
    """A frame of the user's: columns are byte offsets from 0, None where only the line is known."""

    filename: str
    row: int
    function: str
    column: int | None = None
    end_row: int | None = None
    end_column: int | None = None
    lowered: bool = False
    """Whether this is where a node of the graph comes from: some call in what is named here."""


def first_line(error: BaseException) -> str:
    """The exception's type and the first telling line of its text."""
    lines = [line.strip() for line in _text(error).splitlines() if line.strip()]
    name = type(error).__name__
    # what a backend or a fake kernel raised stands in the second line
    line = next((line for line in lines if not line.startswith("backend=")), "")
    return f"{name}: {line}"[:_LONGEST_DETAIL] if line else name


def question(
    error: BaseException, target: str, paths: Sequence[str], until: CodeType, fallback: Span | None = None
) -> Question | None:
    """What `target` asked when it raised `error`; None where no code of the user's can be named.

    `until` is the code of the caller of the front end: frames above it don't count. `fallback` is blamed where neither
    the exception nor its text names a line of the user's; the kind is then `other`, since nothing there can be fixed.
    """
    chain = causes(error)
    inside = Paths(paths)
    stack = next((found for found in _stacks(chain, until, inside) if found), [])
    mine = [place for place in stack if place.filename in inside]
    blamed = mine[-1] if mine else None
    kind, operator = nature(chain)
    span, text = (fallback, "") if blamed is None else _expression(blamed, kind)
    if span is None:
        return None
    if blamed is None:
        kind = "other"
    detail = _detail(chain, kind)
    types = {}
    if kind == "truth" and text and _is_tensor_question(chain):
        types[text] = TypeFact(kind="tensor", python_type="torch.Tensor")
    return Question(
        span=span,
        kind=kind,
        expression=text,
        raw=_raw(chain),
        frames=tuple(_frame(place, inside) for place in stack),
        asks=("inductor",) if _is_lowering(chain) else (target,),
        operator=operator,
        detail=detail,
        types=types,
    )


def is_front_end(error: BaseException) -> bool:
    """Whether tracing or compiling failed, and not the run of what was compiled."""
    modules = [type(cause).__module__ for cause in causes(error)]
    return any(module.startswith(("torch._", "torch.fx", "torch.export")) for module in modules)


def causes(error: BaseException) -> list[BaseException]:
    """The error and what stands behind it, outermost first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = getattr(current, "inner_exception", None) or current.__cause__ or current.__context__
    return chain


def nature(chain: Sequence[BaseException]) -> tuple[str, str]:
    """(kind, operator) as in Question, from the deepest exception that says something."""
    for error in reversed(chain):
        condition = getattr(error, "cond", None)
        if isinstance(error, torch_internals.Undecidable) and isinstance(condition, sympy.Basic):
            truth = condition.is_Relational or (condition.is_Boolean and not condition.is_Symbol)
            return ("truth" if truth else "integer"), ""
        operator = torch_internals.value_operator(error) or torch_internals.unknown_operator(error)
        if operator:
            return "operator", operator
    if any(_KERNEL in _text(error) for error in chain):  # the text around it names symbols all the same
        return "other", ""
    if _is_lowering(chain):
        return ("failure" if any(_UNBACKED.search(_text(error)) for error in chain) else "other"), ""
    text = "\n".join(_telling(error) for error in chain)
    if _INTEGER.search(text):
        return "integer", ""
    if _TRUTH.search(text):
        return "truth", ""
    if _OPERATOR.search(text):
        return "operator", _operator_in(text)
    if _SPECIALIZED.search(text):
        return "specialized", ""
    if _FAILURE.search(text):
        return "failure", ""
    return "other", ""


def _is_lowering(chain: Sequence[BaseException]) -> bool:
    return any(type(error).__module__.startswith("torch._inductor") for error in chain)


def _operator_in(text: str) -> str:
    quoted = re.search(r"`(torch[\w.]+)`", text)
    if quoted:
        return quoted.group(1)
    for match in _OPERATOR_NAME.finditer(text):
        name = match.group(1).replace("::", ".")
        if name.startswith(("aten.", "prims.")):
            return name
    named = re.search(r"\b(\w+::\w+)\b", text)
    return named.group(1).replace("::", ".") if named else ""


def _telling(error: BaseException) -> str:
    """The error's text without advice, source lines and graphs, all of which may name anything."""
    kept = []
    for line in _text(error).splitlines():
        stripped = line.strip()
        if stripped.startswith(("from user code:", "User Stack", "For more", "Set TORCHDYNAMO_VERBOSE")):
            break
        if stripped.startswith(("Hint:", "Consider annotating", "File ", "# File", "To fix")):
            continue
        kept.append(line)
    return f"{type(error).__name__}: " + "\n".join(kept)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def summary(error: BaseException) -> str:
    """One line that says what went wrong: the question itself where there is one."""
    return _detail(causes(error), "")


def _detail(chain: Sequence[BaseException], kind: str) -> str:
    wanted = [error for error in chain if isinstance(error, torch_internals.Undecidable)]
    return first_line(wanted[-1] if wanted and kind != "other" else chain[0])


def _raw(chain: Sequence[BaseException]) -> str:
    for error in reversed(chain):
        condition = getattr(error, "cond", None)
        if isinstance(condition, sympy.Basic):
            return str(condition)
    return ""


def _is_tensor_question(chain: Sequence[BaseException]) -> bool:
    return any("TensorVariable()" in _text(error) for error in chain)


# -------------------------------------------------------------------------------------------------------------- frames


def _stacks(chain: Sequence[BaseException], until: CodeType, inside: Paths) -> Iterator[list[_Place]]:
    """Stacks of user code, outermost frame first, the most telling stack first; some may be empty.

    Dynamo runs no user frame: its exceptions carry the stack of what it traced. Elsewhere Python's own frames count.
    Last comes what is quoted in the texts.
    """
    yield _of_users(_of_node(chain), inside)
    for error in chain:
        for name in ("real_stack", "user_stack"):
            summary = getattr(error, name, None)
            if isinstance(summary, traceback.StackSummary):
                places = [_from_summary(frame) for frame in summary]
                if any(place.filename in inside for place in places):
                    yield _of_users(places, inside)
    for error in reversed(chain):
        places = [_from_live(place) for place in provenance.raised_stack(chain[0], error, until)]
        if any(place.filename in inside for place in places):
            yield _of_users(places, inside)
    for error in chain:
        places = [
            _Place(match["filename"], int(match["row"]), match["function"])
            for match in _TEXT_FRAME.finditer(_text(error))
        ]
        if any(place.filename in inside for place in places):
            yield _of_users(places, inside)


def _of_node(chain: Sequence[BaseException]) -> list[_Place]:
    """The stack that Dynamo noted on the node of the graph that was being lowered; empty elsewhere."""
    written = torch_internals.lowered_stack(chain)
    return [_with_columns(match) for match in _NOTED_FRAME.finditer(written)]


def _with_columns(match: re.Match[str]) -> _Place:
    """Carets under the quoted line give the columns; the quoted line has lost its own indentation."""
    row, carets = int(match["row"]), match["carets"]
    if carets is None:
        return _Place(match["filename"], row, match["function"], lowered=True)
    real = linecache.getline(match["filename"], row)
    indent = len(real) - len(real.lstrip())
    start = indent + len(match["blanks"]) - len(match["indent"])
    column, end_column = (len(real[:at].encode()) for at in (start, start + len(carets)))
    return _Place(match["filename"], row, match["function"], column, None, end_column, lowered=True)


def _of_users(places: Sequence[_Place], inside: Paths) -> list[_Place]:
    return [place for place in places if place.filename in inside or not provenance.is_plumbing(place.filename)]


def _from_summary(frame: traceback.FrameSummary) -> _Place:
    column, end_column = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    return _Place(frame.filename, frame.lineno or 1, frame.name, column, getattr(frame, "end_lineno", None), end_column)


def _from_live(place: provenance.Place) -> _Place:
    found = provenance.expression_at(place, _sources)
    span = found.span
    if found.source is None:
        return _Place(place.code.co_filename, span.row, place.code.co_qualname)
    lines = found.source.lines

    def byte(row: int, column: int) -> int:
        return len(lines[row - 1][: column - 1].encode()) if row <= len(lines) else column - 1

    return _Place(
        place.code.co_filename,
        span.row,
        place.code.co_qualname,
        byte(span.row, span.column),
        span.end_row,
        byte(span.end_row, span.end_column),
    )


_sources = provenance.Sources()


def _frame(place: _Place, inside: Paths) -> Frame:
    source = _source(place.filename)
    line = source.lines[place.row - 1].rstrip() if source and 0 < place.row <= len(source.lines) else ""
    start = len(line) - len(line.lstrip()) + 1
    span = Span(provenance.real(place.filename), place.row, start, place.row, max(len(line) + 1, start + 1))
    return Frame(span, place.function, place.filename in inside)


def _source(filename: str) -> SourceFile | None:
    """The file as it was loaded: `linecache` knows an overlay's text."""
    lines = linecache.getlines(filename)
    if not lines:
        return None
    source = SourceFile(os.path.realpath(filename), "".join(lines))
    try:
        source.tree  # noqa: B018 - a file that does not parse has no places in it
    except SourceError:
        return None
    return source


def _expression(place: _Place, kind: str) -> tuple[Span, str]:
    """The asking expression at `place`, and its text on one line."""
    source = _source(place.filename)
    if source is None:
        return Span(provenance.real(place.filename), place.row, 1, place.row, 2), ""
    node: ast.AST | None = _node_at(source, place) or _statement_at(source, place.row)
    if node is None:
        return _frame(place, Paths(())).span, ""
    node = _asking(node, source)
    if place.lowered:
        node = _only_call(node)
    elif kind == "truth":
        node = _tested(node)
    if isinstance(node, ast.expr):
        return source.span(node), " ".join(source.segment(node).split())
    return _frame(place, Paths(())).span, ""


def _node_at(source: SourceFile, place: _Place) -> ast.AST | None:
    """The outermost expression (else the statement) with exactly this range; the end row may be unknown."""
    if place.column is None or place.end_column is None:
        return None
    statement = None
    for node in ast.walk(source.tree):
        if (
            isinstance(node, (ast.expr, ast.stmt))
            and (node.lineno, node.col_offset, node.end_col_offset) == (place.row, place.column, place.end_column)
            and place.end_row in (None, node.end_lineno)
        ):
            if isinstance(node, ast.expr):
                return node
            statement = node
    return statement


def _statement_at(source: SourceFile, row: int) -> ast.stmt | None:
    """The innermost statement on a row."""
    best: ast.stmt | None = None
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= row <= (node.end_lineno or node.lineno):
            continue
        if best is None or node.lineno >= best.lineno:
            best = node
    return best


def _only_call(node: ast.AST) -> ast.AST:
    """The one call in an expression, where there is one."""
    calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return calls[0] if len(calls) == 1 else node


def _tested(node: ast.AST) -> ast.AST:
    """A jump carries the range of the whole expression: what is tested in it."""
    match node:
        case ast.IfExp(test=test):
            return test
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            tests = [test for generator in node.generators for test in generator.ifs]
            return tests[0] if len(tests) == 1 else node
    return node


def _asking(node: ast.AST, source: SourceFile) -> ast.AST:
    """The part of a statement that must have asked."""
    found: Any = None
    match node:
        case ast.Assign(value=found) | ast.AugAssign(value=found) | ast.Expr(value=found):
            return found
        case ast.Return(value=ast.expr() as found) | ast.AnnAssign(value=ast.expr() as found):
            return found
        case ast.stmt():
            site = locate(source, source.span(node))
            return site.node if site is not None else node
    return node
