"""A shortcut, a warning or a masked no-op is asked for only in eager: eager keeps its test, tracing takes one side."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.branch_functions import has_return
from ddelint.rewrite.reading.around import behind_known, read_elsewhere
from ddelint.rewrite.reading.effects import SILENT, is_heard, says_without_effect
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import appended, grown_tensor, is_read_behind, side_that_ends
from ddelint.rewrite.reading.names import asks_compiling, called, stands_in_eager
from ddelint.rewrite.reading.optional import may_be_none
from ddelint.rewrite.reading.polarity import side_of
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.sites import Block, Role, classify, is_talk

_ALWAYS = "torch.compiler.is_compiling() or {}"
_NEVER = "not torch.compiler.is_compiling() and {}"


@rewriting("shortcut_in_eager")
def shortcut_in_eager(context: Context) -> Iterator[Rewrite]:
    """`not torch.compiler.is_compiling() and test`, or `torch.compiler.is_compiling() or test`: the likelier first."""
    site = context.site
    test = site.decision if site.role in (Role.IF_TEST, Role.TERNARY_TEST) else _kept_truth(context)
    if test is None or asks_compiling(test) or _gives_what_is_read(context, test):
        return  # a name that the test gives would have no value where it isn't asked
    if site.role is Role.IF_TEST and site.block in (Block.RAISES, Block.WARNS):
        return
    if isinstance(site.statement, ast.If) and _raises(site.statement.orelse):
        return
    if _leaves_growing_loop(context):
        return  # the iterations after the break would make a tensor longer than eager's
    always = _general_is_true(context, test)
    unlikely = _is_about_values(context, test)
    ends = side_that_ends(context)
    for take_true in (always, not always):
        if ends in (None, take_true):
            yield replace(_variant(context, test, take_true), unlikely=unlikely)


def _gives_what_is_read(context: Context, test: ast.expr) -> bool:
    """Whether a test gives a name that is read outside of it."""
    inside = list(ast.walk(test))
    given = {node.target.id for node in inside if isinstance(node, ast.NamedExpr)}
    return any(
        isinstance(node, ast.Name) and node.id in given and isinstance(node.ctx, ast.Load) and node not in inside
        for node in ast.walk(context.site.function or context.site.source.tree)
    )


def _is_about_values(context: Context, test: ast.expr) -> bool:
    """Whether a test compares the values of tensors, so that neither side is the general one.

    Unless all that its block does is to keep values within bounds, which changes nothing where they are.
    """
    statement = context.site.statement
    if isinstance(statement, ast.If) and not has_return(statement) and _is_now_and_then(context, test):
        return True
    if side_of(context, test) is not None or Kinds(context).of(test) is not Kind.TENSOR:
        return False
    body = statement.body if isinstance(statement, ast.If) and not statement.orelse else []
    return not (body and all(map(_bounds, body)))


def _is_now_and_then(context: Context, test: ast.expr) -> bool:
    """Whether a test asks if it is some call's turn, `self.steps.item() % 4 == 0`: what is done then is likely no
    shortcut, however it may be spelled otherwise, and is tried as one last."""
    named = (definition(context, node.id) for node in ast.walk(test) if isinstance(node, ast.Name))
    for node in (node for root in (test, *named) if root is not None for node in ast.walk(root)):
        match node:
            case ast.Compare(left=remainder, ops=[ast.Eq()]) | ast.UnaryOp(op=ast.Not(), operand=remainder):
                if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in ast.walk(remainder)):
                    return True
    return False


def _bounds(statement: ast.stmt) -> bool:
    table = knowledge().bounds
    match statement:
        case ast.Assign(value=ast.Call() as call) | ast.Expr(value=ast.Call() as call):
            return called(call) in table.upper or called(call) in table.least
    return False


def _kept_truth(context: Context) -> ast.expr | None:
    """The answer that the site's statement gives a name, or its function: it decides where that is tested."""
    match context.site.statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return value if value is not None and Kinds(context).of(value) is Kind.BOOL else None
    return None


def _leaves_growing_loop(context: Context) -> bool:
    """Whether the block breaks out of a loop that makes a tensor or a list longer with each iteration."""
    source, statement = context.site.source, context.site.statement
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Break):
        return False
    loop = next((node for node in source.ancestors(statement) if isinstance(node, (ast.For, ast.While))), None)
    if loop is None:
        return False
    longer = any(grown_tensor(node) is not None for node in ast.walk(loop))
    return longer or any(is_read_behind(context, name, loop) for name in appended(loop))


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


def _variant(context: Context, test: ast.expr, take_true: bool) -> Rewrite:
    # what is known while tracing stays in front: the other operands are only asked behind it
    known, asking = behind_known(context, test) if take_true else ([], [test])
    message = (
        "take the general path while compiling: the block runs always, and changes nothing where it needn't"
        if take_true
        else "take the shortcut only in eager: the general path gives the same while compiling"
    )
    template, write = _ALWAYS if take_true else _NEVER, context.write
    if len(asking) == 1:
        new, place = write.expr(template, asking[0]), asking[0]
    else:
        new, place = write.joined(ast.And(), [*known, write.expr(template, write.joined(ast.And(), asking))]), test
    bare = asking[0].operand if isinstance(asking[0], ast.UnaryOp) else asking[0]
    is_optional = may_be_none(context.site.source, bare)
    if is_optional:  # where there is nothing, there is no other side
        is_bare = bare is asking[0]
        if take_true and is_bare:
            new = write.joined(ast.And(), [write.expr("{} is not None", bare), new])
        elif not take_true and not is_bare:
            new = write.joined(ast.Or(), [write.expr("{} is None", bare), new])
    side = take_true if asking == [test] and not is_optional else None
    return Rewrite(message, {place: new}, Claim.GENERAL_PATH, decisions=(test,), side=side)


@rewriting("validate_in_eager")
def validate_in_eager(context: Context) -> Iterator[Rewrite]:
    """`if not torch.compiler.is_compiling() and bad: raise …`: for a check that the compiled program must not make.

    What eager never brings to this line (an empty crop that it returns before) the general path does.
    """
    site = context.site
    test = site.decision
    if test is None or site.role is not Role.IF_TEST or site.block is not Block.RAISES or asks_compiling(test):
        return
    yield replace(
        _variant(context, test, take_true=False),
        message="ask only in eager: where it would raise, the general path that is compiled gives what eager gives",
        notes=("the compiled program doesn't check it",),
    )


@rewriting("skip_warning_while_compiling")
def skip_warning_while_compiling(context: Context) -> Iterator[Rewrite]:
    """`if not torch.compiler.is_compiling() and test:` where the block only warns, logs or prints; and around a line
    that does."""
    talk, statement, source = _talking_if(context), context.site.statement, context.site.source
    heard = is_heard(source)
    if talk is not None and not asks_compiling(talk.test):
        yield Rewrite(
            "ask only in eager: the block does nothing but warn or log",
            {talk.test: context.write.expr(_NEVER, talk.test)},
            # what the test or a message calls may do more than talk: then a run has to show
            Claim.EQUIVALENT if says_without_effect(talk, source) and not heard else Claim.GENERAL_PATH,
            notes=(SILENT,),
            decisions=(talk.test,),
        )
    if talk is None and is_talk(statement) and not stands_in_eager(source, statement):
        yield Rewrite(
            "say it only in eager: the text wants the number itself",
            {statement: context.write.in_eager([statement])},
            Claim.EQUIVALENT if says_without_effect(statement, source) and not heard else Claim.GENERAL_PATH,
            notes=(SILENT,),
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
    return all(_talks(context, inner, statement) for block in (statement.body, statement.orelse) for inner in block)


def _talks(context: Context, statement: ast.stmt, whole: ast.If) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.If(body=body, orelse=orelse):
            return all(_talks(context, inner, whole) for inner in (*body, *orelse))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return not read_elsewhere(context, name, whole)
    return classify([statement]) is Block.WARNS
