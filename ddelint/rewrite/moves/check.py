"""A raise or an assert on data becomes `torch._check*`; a combined condition inside such a check is taken apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.checks import Checks, Inexpressible
from ddelint.rewrite.proving.relations import parsed
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, called, enclosing_block, names_read, names_written, parameters
from ddelint.rewrite.writing.rewrites import Changes, Expr, Rewrite, Statements, rewriting
from ddelint.sources.sites import Block, classify

NAME = "check_instead_of_raise"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@rewriting(NAME)
def check_instead_of_raise(context: Context) -> Iterator[Rewrite]:
    """`if bad: raise E(m)` and `assert good, m`: a check that the compiler records.

    First the check alone, where it surely raises the same in eager; then a check for the compiler beside the original,
    which eager keeps.
    """
    statement = context.site.statement
    if not isinstance(statement, (ast.If, ast.Assert)) or asks_compiling(statement.test):
        return
    if isinstance(statement, ast.If) and classify(statement.body) is not Block.RAISES:
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(statement.test)):
        return
    refused = knowledge().message_refused & set(context.targets)
    message = _message(context, statement) if isinstance(statement, ast.If) and not refused else None
    for robust in (False, True):
        for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
            checks = Checks(context, robust=robust, assume_tensor=assumed)
            try:
                beside = _beside(context, statement, checks.lines(statement.test, isinstance(statement, ast.Assert)))
                alone = _alone(context, statement, message, checks) if message is not None else None
            except Inexpressible:
                continue
            if alone is None:
                yield beside
            elif checks.is_certain:
                yield from (alone, beside)
            else:  # a run will show; without one, only what leaves eager alone is right
                yield from (beside, alone) if context.kind != "static" else (beside,)


def _message(context: Context, statement: ast.If) -> tuple[str, Expr] | None:
    """The name of the exception that an `if` raises and nothing else, and its text as a function.

    One without a text has no arguments; that of a check always has one.
    """
    write = context.write
    match statement.body:
        case [ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[text], keywords=[]), cause=None)]:
            if not _is_constant_text(context, text):
                return None
            said = write.expr("lambda: {}", text)
        case _:
            return None
    is_pythons = name not in names_written(context.site.source.tree)
    return (name, said) if name in knowledge().checks and is_pythons else None


def _is_constant_text(context: Context, text: ast.expr) -> bool:
    """Whether it is a string over what Dynamo takes in a message: constants of the module, and what rules name."""
    match text:
        case (
            ast.Constant(value=str())
            | ast.JoinedStr()
            | ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr(), op=ast.Add() | ast.Mod())
            | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"))
        ):
            effects = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
            plain = not any(isinstance(node, effects) for node in ast.walk(text))
            return plain and all(_is_constant(context, name) for name in names_read(text))
    return False


def _is_constant(context: Context, name: str) -> bool:
    fact = context.type_of(name)
    if fact is not None and fact.kind in knowledge().message_reads:
        return True
    source = context.site.source
    functions = [f for f in source.ancestors(context.site.statement) if isinstance(f, _FUNCTIONS)]
    local = {found for function in functions for found in parameters(function.args) | names_written(*function.body)}
    return name not in local and name in names_written(*source.tree.body)


def _alone(
    context: Context, statement: ast.If | ast.Assert, message: tuple[str, Expr], beside: Checks
) -> Rewrite | None:
    """The check in the place of the `if`; what stood under its `else` follows."""
    write, (raised, said) = context.write, message
    if isinstance(statement, ast.Assert):
        return None
    check = knowledge().checks[raised]
    checks = Checks(context, write.expr("torch.{}", check), [said], beside.robust, beside.assume_tensor)
    return Rewrite(
        f"let torch.{check} raise the {raised}: it hands the condition to the compiler",
        {statement: [*checks.lines(statement.test, False), *write.otherwise(statement)]},
        notes=(f"the compiled program raises RuntimeError where eager raises {raised}",) * (raised != "RuntimeError"),
        decisions=(statement.test,),
    )


def _beside(context: Context, statement: ast.If | ast.Assert, checks: Statements) -> Rewrite:
    """The checks while compiling, the original statement otherwise: eager is the same by construction."""
    write, test = context.write, statement.test
    if isinstance(statement, ast.If) and statement.orelse:
        # it raises or goes on, so that what stood under `else` may as well follow
        beside = write.beside(checks, [write.without_else(statement)])
        changes: Changes = {statement: [*beside, *write.otherwise(statement)]}
    else:
        changes = {statement: write.beside(checks, [statement])}
    what = "assert" if isinstance(statement, ast.Assert) else "raise"
    return Rewrite(
        f"hand the condition to the compiler with torch._check; eager keeps the {what} as it is",
        changes,
        notes=("the compiled program raises RuntimeError, without the message",),
        decisions=(test,),
    )


# ---------------------------------------------------------------------- checks with Python logic inside


@rewriting("split_check")
def split_check(context: Context) -> Iterator[Rewrite]:
    """`torch._check(a and b)`, `0 <= u <= n`, `not c`, `a or b`: one check each, or sym_or and sym_not."""
    statement = context.site.statement
    match statement:
        case ast.Expr(value=ast.Call(func=func, args=[test] | [test, _], keywords=[]) as call) if _is_check(call):
            if isinstance(test, ast.Starred) or context.write.has_comments(statement):
                return
        case _:
            return
    for assumed in (False, True):
        try:
            lines = Checks(context, func, call.args[1:], assume_tensor=assumed).lines(test, True)
        except Inexpressible:
            return
        yield Rewrite(
            "one check for each condition: Python's own `and`, `or`, `not` and chained comparisons ask too early",
            {statement: lines},
        )


def _is_check(call: ast.Call) -> bool:
    """A call of `torch._check` or of one of its relatives by exception type."""
    return called(call) in set(knowledge().checks.values())


# ---------------------------------------------------------------------- checks that come too late


@rewriting("move_check")
def move_check(context: Context) -> Iterator[Rewrite]:
    """Later checks of the same block about the same names are moved before the statement that asks."""
    source, asking = context.site.source, context.site.statement
    about = _about(context, asking)
    for statement in (asking, *(node for node in source.ancestors(asking) if isinstance(node, ast.stmt))):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        checks = _movable(enclosing_block(source, statement), statement, about)
        if checks:
            yield Rewrite(
                "move the check before the line that needs it",
                {statement: [*checks, statement], **{check: [] for check in checks}},
                notes=("an input that fails the check now raises earlier",),
            )


def _movable(block: Sequence[ast.stmt], statement: ast.stmt, about: set[str]) -> list[ast.stmt]:
    """The checks behind a statement that may stand before it as well."""
    checks: list[ast.stmt] = []
    written = names_written(statement)
    for later in block[block.index(statement) + 1 :]:
        if isinstance(later, ast.Expr) and isinstance(later.value, ast.Call) and _is_check(later.value):
            read = names_read(later)
            if read & about and not (read - {"torch"}) & written:
                checks.append(later)
                continue
        written |= names_written(later)
    return checks


def _about(context: Context, asking: ast.stmt) -> set[str]:
    """Names that the question is about: those in the asking expression, in the question's text and in its symbols."""
    node = context.site.node
    about = names_read(node if isinstance(node, ast.expr) else asking)
    if not isinstance(asking, (ast.For, ast.While, ast.With, ast.If, ast.Try)):
        about |= names_read(asking)
    texts = (context.diagnostic.expression, *(symbol.name for symbol in context.diagnostic.symbols))
    return (about | names_read(*filter(None, map(parsed, texts)))) - {"torch"}
