"""State that a branch changes step by step: while compiling, each step is made where it stands, where the test says so.

`where_merge` computes what a branch leaves and chooses once; here a later step may read what an earlier one changed,
and steps may stand in loops, in branches and in `with` of their own, or in what a call runs (a target network that is
synchronised at times).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.arms import NotMergeable
from ddelint.rewrite.parts.masking import Masking
from ddelint.rewrite.parts.merge import device_of
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import behind_known
from ddelint.rewrite.reading.names import (
    asks_compiling,
    bound_before,
    fresh_name,
    is_pure,
)
from ddelint.rewrite.reading.naming import condition_name
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Lines, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "while compiling, make each change of state where the test says so, by torch.where; eager keeps its branch"
_COST = "what a change takes is computed always"
_KEPT = "`{}` is not set to None by what is compiled"
_BARE = ("return", "return None")


@rewriting("masked_state")
def masked_state(context: Context) -> Iterator[Rewrite]:
    """`if c: return`, `x[:n] = v`, `y.copy_(x)` → `x[:n] = torch.where(c, x[:n], v)`, …; so for `if c: continue`, and
    for what `if c:` holds."""
    statement, site = context.site.statement, context.site
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or statement.orelse:
        return
    if asks_compiling(statement) or not is_pure(statement.test) or context.write.is_elif(statement):
        return
    skipped, end = _skipped(context, statement)
    steps = statement.body if skipped is None else skipped
    known, asked = _apart(context, statement) if skipped is not None else ([], statement)
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        with suppress(NotMergeable, NotAPredicate):
            lines, let_go = _masked(context, asked, steps, assumed, holds=skipped is None)
            changes: Lines = context.write.beside(lines, [statement])
            if skipped is not None:
                early = context.write.while_compiling([*lines, *context.write.lines(end)], known)
                changes = [*early, statement]
            rewrite = restructured(_MESSAGE, {statement: changes}, _COST, decisions=(statement.test,))
            yield replace(rewrite, doubt=_KEPT.format(let_go[0])) if let_go else rewrite


def _apart(context: Context, statement: ast.If) -> tuple[Sequence[ast.expr], ast.If]:
    """What is known of `if self.last is not None and x == self.last: return`, and the branch that is left behind it."""
    known, asking = behind_known(context, statement.test)
    match statement.test:
        case ast.BoolOp(values=operands) if known and [*known, *asking] == operands:
            rest = asking[0] if len(asking) == 1 else ast.BoolOp(ast.And(), asking)
            test = ast.copy_location(rest, asking[0])
            return known, ast.copy_location(ast.If(test, statement.body, []), statement)
    return [], statement


def _skipped(context: Context, statement: ast.If) -> tuple[Sequence[ast.stmt] | None, str]:
    """What an `if c: return` leaves out, up to the end of the function, or an `if c: continue`, of the loop's body; and
    which of these it is. None where the statement is no such thing."""
    function, loop = context.site.function, context.site.source.parents.get(statement)
    ends: tuple[str, ...]
    match [ast.unparse(inner) for inner in statement.body]:
        case ["continue"] if isinstance(loop, (ast.For, ast.While)) and statement in loop.body:
            end, ends, block = "continue", ("continue",), loop.body
        case ["return" | "return None"] if function is not None and statement in function.body:
            end, ends, block = "return", _BARE, function.body
        case _:
            return None, ""
    behind = block[block.index(statement) + 1 :]
    return behind[:-1] if behind and ast.unparse(behind[-1]) in ends else behind, end


def _masked(
    context: Context, branch: ast.If, steps: Sequence[ast.stmt], assumed: bool, *, holds: bool
) -> tuple[Statements, list[str]]:
    """The steps, each made where the test comes to `holds`, and what they set to None. Raises NotMergeable,
    NotAPredicate."""
    write = context.write
    test = Truths(context, device_of(context, branch.test, *steps), assumed).of(branch.test)
    name = write.expression(fresh_name(context.site.source, condition_name(write.code(test))))
    # a buffer that the steps change would answer anew
    given = write.expr("{}.clone()", test) if isinstance(branch.test, (ast.Name, ast.Attribute)) else test
    masking = Masking(context, name, holds, assumed)
    lines = [line for step in steps for line in masking.step(step)]
    if not masking.changes:
        raise NotMergeable("no state is changed")
    outer = bound_before(context.site.function, branch) if context.site.function is not None else set()
    # names that end with the function do not live on; those of a loop's body may, in its next turn and behind it
    last = branch if holds else steps[-1]
    ends = not holds and context.site.function is not None and last in context.site.function.body
    if not ends and masking.names & (live_behind(context.site.source, last) | outer):
        raise NotMergeable("a name that lives on")
    return [*write.assigned(name, given), *lines], masking.let_go
