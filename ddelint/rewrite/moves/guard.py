"""A test on a size gets an answer for when the compiler cannot know: guard_or_false, guard_or_true."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.loops import side_that_ends
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.reading.optional import may_be_none
from ddelint.rewrite.reading.polarity import general_side, side_of
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting
from ddelint.sources.sites import Block, Role

_TESTS = (Role.IF_TEST, Role.TERNARY_TEST, Role.BOOLEAN_OPERAND)
_GUARDED = {True: "guard_or_true({})", False: "guard_or_false({})"}
_GUARDS = frozenset(("guard_or_false", "guard_or_true", "statically_known_true", "guard_size_oblivious"))


@rewriting("guard_on_size")
def guard_on_size(context: Context) -> Iterator[Rewrite]:
    """`guard_or_false(n == 0)`: the comparison that asks is wrapped, with the general answer first."""
    site = context.site
    if site.role not in _TESTS or site.decision is None or site.block in (Block.RAISES, Block.WARNS):
        return
    if side_that_ends(context) is not None:
        return  # the other side would go round for ever
    asking: dict[ast.expr, Expr] = {}
    for test in _asking_operands(context, site.decision):
        condition = _symbolic(context, test)
        if condition is None:
            return
        asking[test] = condition
    for usual in (True, False) if asking else ():
        answers = {test: bool(side_of(context, test)) is usual for test in asking}
        side = "true" if all(answers.values()) else "general" if any(answers.values()) else "false"
        yield Rewrite(
            f"take the {side} side of the size test where the compiler cannot know it",
            {test: context.write.expr(_GUARDED[answers[test]], condition) for test, condition in asking.items()},
            Claim.GENERAL_PATH,
            decisions=(site.decision,),
            side=_answer(site.decision, answers),
        )


def _answer(test: ast.expr, answers: Mapping[ast.expr, bool]) -> bool | None:
    """What a test comes to whose operand is answered; None where it has more than one."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            answer = _answer(operand, answers)
            return None if answer is None else not answer
        case ast.Call(func=ast.Name(id="bool"), args=[operand]):
            return _answer(operand, answers)
    return answers.get(test)


def _asking_operands(context: Context, test: ast.expr) -> list[ast.expr]:
    """The smallest truth values in a test that ask; none where one is guarded already, or nothing says which ask."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand) | ast.Call(func=ast.Name(id="bool"), args=[operand]):
            return _asking_operands(context, operand)
        case ast.BoolOp(values=values):
            asking = [value for value in values if context.asks_in(value)]
            if not asking:
                kinds = Kinds(context)
                asking = [value for value in values if kinds.of(value) is not Kind.STATIC]
                asking = asking if len(asking) == 1 else []
            found = [_asking_operands(context, value) for value in asking]
            return [operand for operands in found for operand in operands] if all(found) else []
    guarded = any(isinstance(node, ast.Call) and called(node) in _GUARDS for node in ast.walk(test))
    return [] if guarded else [test]


def _symbolic(context: Context, test: ast.expr) -> Expr | None:
    """The test as a symbolic bool, with `len()` of tensors as their sizes; None where it asks for more than a size."""
    write, kinds = context.write, Kinds(context)
    lengths: dict[ast.AST, Expr] = {}
    for node in ast.walk(test):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[tensor]) if kinds.of(tensor) in (Kind.TENSOR, Kind.UNKNOWN):
                lengths[node] = write.expr("{}.shape[0]", tensor)
    asked = write.replaced(test, lengths)
    kind = kinds.of(test)
    if kind is Kind.TENSOR:  # a value, not a size: neither answer is the general one, nor is there one without a branch
        general = (
            general_side(test) is True
            and not isinstance(test, ast.Compare)
            and context.site.role is not Role.BOOLEAN_OPERAND
        )
        return write.expr("{}.item()", asked) if general else None
    if isinstance(test, ast.Compare):
        return asked if len(test.ops) == 1 else None
    if kind is Kind.NUMBER:
        return write.expr("{} != 0", asked) if not may_be_none(context.site.source, test) else None
    return asked if kind in (Kind.BOOL, Kind.UNKNOWN) else None
