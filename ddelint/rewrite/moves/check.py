"""A raise or an assert on data becomes `torch._check*`; a combined condition inside such a check is taken apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.conditions import Conditions, Inexpressible
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    begins_line,
    block_text,
    called,
    enclosing_block,
    has_comment,
    here,
    insert_before,
    is_elif,
    joined,
    names_read,
    names_written,
    owns_lines,
    parses,
    removal,
    text_of,
    wrap_edits,
)
from ddelint.rewrite.knowledge import knowledge
from ddelint.sites import Block, classify
from ddelint.source import SourceFile

NAME = "check_instead_of_raise"


@move(NAME)
def check_instead_of_raise(context: Context) -> Iterator[Candidate]:
    """`if bad: raise E(m)` and `assert good, m`: a check that the compiler records.

    First the check alone where it raises the same in eager; then a check for the compiler beside the original, which
    eager keeps.
    """
    statement = context.site.statement
    source = context.site.source
    if not isinstance(statement, (ast.If, ast.Assert)) or asks_compiling(statement.test):
        return
    if isinstance(statement, ast.If) and classify(statement.body) is not Block.RAISES:
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(statement.test)):
        return
    if not begins_line(source, statement):
        return
    want = isinstance(statement, ast.Assert)
    seen: set[tuple[Edit, ...]] = set()
    for robust in (False, True):
        for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
            conditions = Conditions(context, robust=robust, assume_tensor=assumed)
            for candidate in _variants(context, statement, want, conditions):
                if candidate.edits not in seen:
                    seen.add(candidate.edits)
                    yield candidate


def _variants(
    context: Context, statement: ast.If | ast.Assert, want: bool, conditions: Conditions
) -> Iterator[Candidate]:
    try:
        alone = list(_alone(context, statement, conditions)) if isinstance(statement, ast.If) else []
        lines = conditions.lines(statement.test, want, f"{conditions.torch}._check")
    except (Inexpressible, ValueError):
        return
    beside = list(_beside(context, statement, lines, conditions))
    yield from (*alone, *beside) if _strict_takes_message(lines) else (*beside, *alone)


def _strict_takes_message(lines: list[str]) -> bool:
    """Whether strict export takes these conditions with a message beside them.

    It does for equalities and for a bool read from a tensor, which fix the symbol; for any other condition the message
    lands in the graph (torch 2.13: AttributeError, 'function' object has no attribute 'is_quantized').
    """
    for line in lines:
        try:
            (statement,) = ast.parse(line).body
        except (SyntaxError, ValueError):
            return False
        match statement:
            case ast.Expr(value=ast.Call(args=[ast.Compare(ops=[ast.Eq()]), *_])):
                pass
            case ast.Expr(value=ast.Call(args=[ast.Call(func=ast.Attribute(attr="item")), *_])):
                pass
            case _:
                return False
    return True


def _candidate(
    context: Context,
    statement: ast.If | ast.Assert,
    edits: tuple[Edit, ...],
    message: str,
    imports: tuple[Import, ...],
    notes: tuple[str, ...],
) -> Iterator[Candidate]:
    source = context.site.source
    if parses(source, edits):
        yield Candidate(
            NAME, Claim.EQUIVALENT, message, edits, imports, notes, decisions=(source.span(statement.test),)
        )


def _alone(context: Context, statement: ast.If, conditions: Conditions) -> Iterator[Candidate]:
    """The check in the place of the whole `if`."""
    source = context.site.source
    raised = _plain_raise(source, statement)
    if raised is None or statement.orelse or not owns_lines(source, statement):
        return
    exception, message = raised
    if has_comment(source, source.span(statement)):
        return
    name = knowledge().checks[exception]
    lines = conditions.lines(statement.test, False, f"{conditions.torch}.{name}", f"lambda: {message}")
    if is_elif(source, statement):
        lines = ["else:", *(conditions.unit + line for line in lines)]
    text = joined(source, statement, lines)
    yield from _candidate(
        context,
        statement,
        (Edit(source.span(statement), text),),
        f"let torch.{name} raise the {exception}: it hands the condition to the compiler",
        conditions.needed_imports(),
        (f"the compiled program raises RuntimeError where eager raises {exception}",)
        if exception != "RuntimeError"
        else (),
    )


def _plain_raise(source: SourceFile, statement: ast.If) -> tuple[str, str] | None:
    """The type and the constant message of a lone `raise E("text")`; None where it is anything else."""
    table = knowledge()
    source_call: ast.expr | None
    match statement.body:
        case [ast.Raise(exc=source_call, cause=None)]:
            pass
        case _:
            return None
    match source_call:
        case ast.Name(id=name) if name in table.checks:
            return name, '""'
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name in table.checks:
            return name, '""'
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str()) as message], keywords=[]) if (
            name in table.checks
        ):
            return name, text_of(source, message)
    return None


def _beside(
    context: Context, statement: ast.If | ast.Assert, lines: list[str], conditions: Conditions
) -> Iterator[Candidate]:
    """The check while compiling, the original statement otherwise: eager is the same by construction."""
    source = context.site.source
    indentation, newline, unit = source.indentation(statement), source.newline, conditions.unit
    asks = f"{conditions.torch}.compiler.is_compiling()"
    inner = newline.join(indentation + unit + line for line in lines)
    edits: tuple[Edit, ...]
    if isinstance(statement, ast.Assert):
        kept = block_text(source, [statement], indentation + unit)
        if kept is None:
            return
        text = f"if {asks}:{newline}{inner}{newline}{indentation}else:{newline}{kept}"
        # block_text takes the trailing comment along with the line: it must not stand twice
        last = source.lines[(statement.end_lineno or statement.lineno) - 1].rstrip("\r\n")
        comment = last[source.span(statement).end_column - 1 :]
        text = text[: len(text) - len(comment)] if comment and text.endswith(comment) else text
        edits = (Edit(source.span(statement), text),)
    elif is_elif(source, statement):
        if statement.orelse:
            return
        edits = (Edit(here(source, statement), f"elif {asks}:{newline}{inner}{newline}{indentation}"),)
    elif statement.orelse:
        check = insert_before(source, statement, [f"if {asks}:", *(unit + line for line in lines)])
        edits = (check, *wrap_edits(source, statement.test, f"not {asks} and ", Binding.AND))
    else:
        edits = (Edit(here(source, statement), f"if {asks}:{newline}{inner}{newline}{indentation}el"),)
    what = "assert" if isinstance(statement, ast.Assert) else "raise"
    yield from _candidate(
        context,
        statement,
        edits,
        f"hand the condition to the compiler with torch._check; eager keeps the {what} as it is",
        conditions.needed_imports(),
        ("the compiled program raises RuntimeError, without the message",),
    )


# ---------------------------------------------------------------------- checks with Python logic inside


@move("split_check")
def split_check(context: Context) -> Iterator[Candidate]:
    """`torch._check(a and b)`, `0 <= u <= n`, `not c`, `a or b`: one check each, or sym_or and sym_not."""
    source, statement = context.site.source, context.site.statement
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return
    call = statement.value
    if not _is_check(call) or not call.args or call.keywords or len(call.args) > 2:
        return
    if isinstance(call.args[0], ast.Starred) or not owns_lines(source, statement):
        return
    if has_comment(source, source.span(statement)):
        return
    message = text_of(source, call.args[1]) if len(call.args) == 2 else ""
    seen: set[tuple[Edit, ...]] = set()
    for assumed in (False, True):
        conditions = Conditions(context, assume_tensor=assumed)
        try:
            lines = conditions.lines(call.args[0], True, source.segment(call.func), message)
        except (Inexpressible, ValueError):
            return
        edits = (Edit(source.span(statement), joined(source, statement, lines)),)
        if edits in seen or not parses(source, edits):
            continue
        seen.add(edits)
        yield Candidate(
            "split_check",
            Claim.EQUIVALENT,
            "one check for each condition: Python's own `and`, `or`, `not` and chained comparisons ask too early",
            edits,
            conditions.needed_imports(),
        )


def _is_check(call: ast.Call) -> bool:
    """A call of `torch._check` or of one of its relatives by exception type."""
    return called(call) in set(knowledge().checks.values())


# ---------------------------------------------------------------------- checks that come too late


@move("move_check")
def move_check(context: Context) -> Iterator[Candidate]:
    """Later checks of the same block about the same names are moved before the statement that asks."""
    source, asking = context.site.source, context.site.statement
    for statement in (asking, *(node for node in source.ancestors(asking) if isinstance(node, ast.stmt))):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        yield from _moved(context, source, asking, statement)


def _moved(context: Context, source: SourceFile, asking: ast.stmt, statement: ast.stmt) -> Iterator[Candidate]:
    block = enclosing_block(source, statement)
    position = block.index(statement)
    about = _about(context, asking)
    edits: list[Edit] = []
    lines: list[str] = []
    written = names_written(statement)
    for later in block[position + 1 :]:
        is_check = isinstance(later, ast.Expr) and isinstance(later.value, ast.Call) and _is_check(later.value)
        if is_check and owns_lines(source, later):
            read = names_read(later)
            if read & about and not (read - {"torch"}) & written:
                kept = block_text(source, [later], "")
                if kept is not None:
                    # a continuation line of the check keeps its distance from the first line
                    lines += kept.splitlines()
                    edits.append(removal(source, later))
                    continue
        written |= names_written(later)
    if not edits or not begins_line(source, statement) or is_elif(source, statement):
        return
    edits.insert(0, insert_before(source, statement, lines))
    if parses(source, edits):
        yield Candidate(
            "move_check",
            Claim.EQUIVALENT,
            "move the check before the line that needs it",
            tuple(edits),
            notes=("an input that fails the check now raises earlier",),
        )


def _about(context: Context, asking: ast.stmt) -> set[str]:
    """Names that the question is about: those in the asking expression, in the question's text and in its symbols."""
    node = context.site.node
    about = names_read(node if isinstance(node, ast.expr) else asking)
    if not isinstance(asking, (ast.For, ast.While, ast.With, ast.If, ast.Try)):
        about |= names_read(asking)
    texts = [context.diagnostic.expression, *(symbol.name for symbol in context.diagnostic.symbols)]
    for text in texts:
        try:
            about |= names_read(ast.parse(text, mode="eval"))
        except SyntaxError:
            continue
    return about - {"torch"}
