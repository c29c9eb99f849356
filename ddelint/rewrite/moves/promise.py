"""A promise: `torch._check` before the line that asks, so that one side goes away. Narrows what the program accepts.

Where the promise follows from what is known there, nothing is narrowed: it is stated as a fact, with the proof.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.checks import Checks, Inexpressible
from ddelint.rewrite.proving.proofs import Proofs
from ddelint.rewrite.proving.relations import parsed, relation
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import asks_compiling, bound_before, names_read, names_written, opposite
from ddelint.rewrite.reading.polarity import general_side, side_of
from ddelint.rewrite.writing.rewrites import Changes, Rewrite, Statements, rewriting
from ddelint.sources.sites import Role

_RAISES = "inputs that break the promise raise RuntimeError"


@rewriting("promise")
def promise(context: Context) -> Iterator[Rewrite]:
    """`torch._check(n > 4)` or `torch._check(n <= 4)` before the statement: the proved, or the general one first."""
    statement = _place(context)
    if statement is None:
        return
    yield from _of_no_early_return(context)
    promises = [one for one in _promises(context, statement) if _is_defined(context, one.condition, statement)]
    for checks, _, said, proof in [one for one in promises if one.proof] or promises:
        changes: Changes = {statement: [*checks, statement]}
        if proof:
            message = f"tell the compiler that {said}, which is always so"
            yield Rewrite(message, changes, Claim.EQUIVALENT, proof=f"{said}: {proof}")
        else:
            yield Rewrite(
                f"promise the compiler that {said}; other inputs now raise",
                changes,
                Claim.PROMISE,
                (_RAISES,),
                (context.site.decision,) if context.site.decision is not None else (),
            )


def _of_no_early_return(context: Context) -> Iterator[Rewrite]:
    """`if not m.any(): return` → while compiling, a check that `m.any()`; eager returns as before.

    What a tensor says is read once: the check stands in the place of the test.
    """
    statement, test, write = context.site.statement, _asking(context), context.write
    if not isinstance(statement, ast.If) or test is not statement.test or write.is_elif(statement):
        return
    if statement.orelse or not isinstance(statement.body[-1], ast.Return) or asks_compiling(test):
        return
    if context.diagnostic.code == "DDE105" or Kinds(context).of(test) is Kind.TENSOR:
        with suppress(Inexpressible):
            checks = Checks(context, assume_tensor=True).lines(test, False)
            changes: Changes = {statement: write.beside(checks, [statement])}
            message = f"promise the compiler that {_said(context, test, False)}; it refuses other inputs, eager returns"
            yield Rewrite(message, changes, Claim.PROMISE, (_RAISES,), (test,))


def _said(context: Context, test: ast.expr, want: bool) -> str:
    return f"`{' '.join(context.site.source.segment(test).split())}` is {'true' if want else 'false'}"


def _place(context: Context) -> ast.stmt | None:
    """The statement before which the promise stands: outside of the `elif` chain it belongs to."""
    site = context.site
    if site.role in (Role.WHILE_TEST, Role.COMPREHENSION_TEST):
        return None
    statement: ast.stmt = site.statement
    while context.write.is_elif(statement):
        parent = site.source.parents.get(statement)
        if not isinstance(parent, ast.If):
            return None
        statement = parent
    return statement


class _Promise(NamedTuple):
    checks: Statements
    condition: ast.expr
    """What they say, true or false."""
    said: str
    proof: str = ""
    """Why it holds; empty where nobody knows."""


def _promises(context: Context, place: ast.stmt) -> Iterator[_Promise]:
    test = _asking(context)
    if test is None:
        yield from _of_the_framework(context, Proofs(context, place))
        return
    if asks_compiling(test):
        return
    if context.diagnostic.code == "DDE105" or Kinds(context).of(test) is Kind.TENSOR:
        return  # the test reads the tensor once more: to the compiler that is another number
    side = side_of(context, test)
    for want in (side, not side) if side is not None else (True, False):
        try:
            checks = Checks(context).lines(test, want)
        except Inexpressible:
            continue
        yield _Promise(checks, test, _said(context, test, want), Proofs(context, place).of(test, want) or "")


def _of_the_framework(context: Context, proofs: Proofs) -> Iterator[_Promise]:
    """What an operator asks, and its contrary."""
    asked = parsed(context.diagnostic.expression)
    match asked:
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            contrary = relation(left, opposite(sign)(), right)
        case _:
            return
    # what the framework asks is mostly the special case: a size of 0 or 1, an equality that it cannot see
    for said in (contrary, asked) if general_side(asked) is False and _special(asked) else (asked, contrary):
        checks = context.write.lines("torch._check({said})", said=said)
        yield _Promise(checks, said, f"`{ast.unparse(said)}`", proofs.of(said) or "")


def _special(node: ast.Compare) -> bool:
    return isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value in (0, 1)


def _asking(context: Context) -> ast.expr | None:
    """The test that asks, where the site is one."""
    site = context.site
    if site.decision is None or site.role not in (Role.IF_TEST, Role.TERNARY_TEST, Role.ASSERT_TEST):
        return None
    test = site.decision
    while isinstance(test, ast.BoolOp):
        kinds = Kinds(context)
        asking = [value for value in test.values if site.source.span(value).contains(site.span)]
        asking = asking or [value for value in test.values if kinds.of(value) is not Kind.STATIC]
        if len(asking) != 1:
            return test
        test = asking[0]
    return test


def _is_defined(context: Context, condition: ast.expr, statement: ast.stmt) -> bool:
    """Whether every name that the condition reads has a value before `statement`."""
    function = context.site.function
    if function is None:
        return False
    before, stored = bound_before(function, statement), names_written(*function.body)
    known = {node.id for node in ast.walk(context.site.source.tree) if isinstance(node, ast.Name)} | {"torch"}
    return all(name in before or (name in known and name not in stored) for name in names_read(condition))
