"""A shortcut, a warning or a masked no-op is asked for only in eager: eager keeps its test, tracing takes one side."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    compiling,
    names_read,
    parses,
    torch_name,
    wrap_edits,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.moves.loops import grown_tensor
from ddelint.rewrite.polarity import side_of
from ddelint.sites import Block, Role, classify


@move("shortcut_in_eager")
def shortcut_in_eager(context: Context) -> Iterator[Candidate]:
    """`not torch.compiler.is_compiling() and test`, or `torch.compiler.is_compiling() or test`: the likelier first."""
    site = context.site
    test = site.decision
    if test is None or site.role not in (Role.IF_TEST, Role.TERNARY_TEST) or asks_compiling(test):
        return
    if site.role is Role.IF_TEST and site.block in (Block.RAISES, Block.WARNS):
        return
    if isinstance(site.statement, ast.If) and _raises(site.statement.orelse):
        return
    if _leaves_growing_loop(context):
        return  # the turns after the break would make a tensor longer than eager's
    always = _general_is_true(context, test)
    for take_true in (always, not always):
        yield from _variant(context, test, take_true)


def _leaves_growing_loop(context: Context) -> bool:
    """Whether the block breaks out of a loop that makes a tensor longer with each turn."""
    source, statement = context.site.source, context.site.statement
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Break):
        return False
    loop = next((node for node in source.ancestors(statement) if isinstance(node, (ast.For, ast.While))), None)
    return loop is not None and any(
        isinstance(node, ast.Assign) and grown_tensor(source, node) is not None for node in ast.walk(loop)
    )


def _raises(body: Sequence[ast.stmt]) -> bool:
    """Whether the other arm only raises: then the test is a validation, and skipping it would drop the check."""
    return bool(body) and not isinstance(body[0], ast.If) and classify(list(body)) is Block.RAISES


def _general_is_true(context: Context, test: ast.expr) -> bool:
    """Whether the general path is the one behind a true test."""
    side = side_of(context, test)
    if side is not None:
        return side
    statement = context.site.statement
    if isinstance(statement, ast.If) and context.site.role is Role.IF_TEST:
        return not statement.orelse and context.site.block in (Block.ASSIGNS, Block.OTHER)
    return False


def _variant(context: Context, test: ast.expr, take_true: bool) -> Iterator[Candidate]:
    source = context.site.source
    asks = compiling(context)
    # what is known while tracing stays in front: the other operands are only asked behind it
    if take_true:
        edits = _behind_known(context, test, f"{asks} or ") or wrap_edits(source, test, f"{asks} or ", Binding.OR)
        message = "take the general path while compiling: the block runs always, and changes nothing where it needn't"
    else:
        edits = wrap_edits(source, test, f"not {asks} and ", Binding.AND)
        message = "take the shortcut only in eager: the general path gives the same while compiling"
    if parses(source, edits):
        yield Candidate(
            "shortcut_in_eager",
            Claim.GENERAL_PATH,
            message,
            edits,
            torch_name(source)[1],
            decisions=(source.span(test),),
        )


@move("validate_in_eager")
def validate_in_eager(context: Context) -> Iterator[Candidate]:
    """`if not torch.compiler.is_compiling() and bad: raise …`: for a check that the compiled program must not make.

    What eager never brings to this line (an empty crop that it returns before) the general path does.
    """
    site = context.site
    test = site.decision
    if test is None or site.role is not Role.IF_TEST or site.block is not Block.RAISES or asks_compiling(test):
        return
    for candidate in _variant(context, test, take_true=False):
        yield replace(
            candidate,
            move="validate_in_eager",
            message="ask only in eager: where it would raise, the general path that is compiled gives what eager gives",
            notes=("the compiled program doesn't check it",),
        )


def _behind_known(context: Context, test: ast.expr, text: str) -> tuple[Edit, ...] | None:
    """For `known and asks`: `known and (is_compiling() or asks)`; the block must not run where `known` is false."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            pass
        case _:
            return None
    kinds = Kinds(context)
    asking = [value for value in values if kinds.of(value) is not Kind.STATIC]
    if len(asking) != 1:
        source = context.site.source
        asking = [value for value in values if source.span(value).contains(context.site.span)]
    if len(asking) != 1 or len(values) < 2:
        return None
    return wrap_edits(context.site.source, asking[0], f"({text}", Binding.OR, behind=")")


@move("skip_warning_while_compiling")
def skip_warning_while_compiling(context: Context) -> Iterator[Candidate]:
    """`if not torch.compiler.is_compiling() and test:` where the block only warns, logs or prints."""
    site = context.site
    source = site.source
    talk = _talking_if(context)
    if talk is None or asks_compiling(talk.test):
        return
    edits = wrap_edits(source, talk.test, f"not {compiling(context)} and ", Binding.AND)
    if parses(source, edits):
        yield Candidate(
            "skip_warning_while_compiling",
            Claim.EQUIVALENT,
            "ask only in eager: the block does nothing but warn or log",
            edits,
            torch_name(source)[1],
            notes=("the compiled program doesn't warn",),
            decisions=(source.span(talk.test),),
        )


def _talking_if(context: Context) -> ast.If | None:
    """The outermost `if` whose arms only talk and whose test the site needs: an `elif` runs where it is false."""
    site = context.site
    found: ast.If | None = None
    child: ast.AST = site.statement
    for node in (site.statement, *site.source.ancestors(site.statement)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        is_other_arm = isinstance(node, ast.If) and child in node.orelse
        child = node
        if isinstance(node, ast.If) and not is_other_arm and _only_talks(context, node):
            in_test = site.source.span(node.test).contains(site.span)
            found = node if in_test or found is not None or node is not site.statement else found
    return found


def _only_talks(context: Context, statement: ast.If) -> bool:
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(statement)):
        return False
    outside = _names_read_outside(context, statement)
    return all(_talks(inner, outside) for block in (statement.body, statement.orelse) for inner in block)


def _talks(statement: ast.stmt, outside: set[str]) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.If(body=body, orelse=orelse):
            return all(_talks(inner, outside) for inner in (*body, *orelse))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name not in outside
    return classify([statement]) is Block.WARNS


def _names_read_outside(context: Context, statement: ast.If) -> set[str]:
    function = context.site.function
    if function is None:
        return set()
    inside = set(ast.walk(statement))
    return {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node not in inside
        for name in names_read(node)
    }
