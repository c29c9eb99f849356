"""One of two values, chosen in an expression by data: `a if c else b`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.checks import Checks, Inexpressible
from ddelint.rewrite.parts.harmless import FLOATS, PROTECTED, UNPROTECTED, Protection, harmless, may_harm, reduces_few
from ddelint.rewrite.parts.merge import device_of
from ddelint.rewrite.parts.pieces import chosen_piece
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import draws_random, is_pure
from ddelint.rewrite.writing.rewrites import Changes, Expr, Rewrite, restructured

COST = "both values are computed"
MESSAGE = "compute both values and choose with torch.where"


def chosen_by(test: ast.expr, changes: Changes) -> Rewrite:
    """The rewrite in which `torch.where` chooses as `test` did."""
    return restructured(MESSAGE, changes, COST, decisions=(test,))


def ways_to_protect(context: Context, *arms: ast.AST) -> Iterator[Protection]:
    """By a bound that the test says of a float and without, where it compares one; of what the arms read from before,
    where they read such; of reductions of few rows, where there are any; not at all."""
    test, kinds = context.site.decision, Kinds(context)
    nodes = ast.walk(test) if test is not None else ()
    compared = [side for node in nodes if isinstance(node, ast.Compare) for side in (node.left, *node.comparators)]
    is_of_floats = any(number_kind(kinds, side) == "float" for side in compared if not isinstance(side, ast.Constant))
    yield PROTECTED
    if is_of_floats:
        yield Protection(bounded=False)
    inside = [node for arm in arms for node in ast.walk(arm)]
    if any(reduces_few(context, node) for node in inside):
        yield Protection(few=True)
    if any(may_harm(context, node) for node in inside):
        yield Protection(again=True)
    yield UNPROTECTED


def merged_ternary(context: Context, assumed: bool) -> Iterator[Rewrite]:
    """`a if c else b` → `torch.where(c, a, b)`. `assumed`: what nothing says is a tensor is taken for one."""
    write, test = context.write, context.site.decision
    choice = context.site.source.parents.get(test) if test is not None else None
    if test is None or not isinstance(choice, ast.IfExp):
        return
    yield from _nested_numbers(context, choice, assumed)
    arms = (choice.body, choice.orelse)
    if not all(is_pure(arm) and not draws_random(arm) for arm in arms):
        return
    numbers = {type(arm.value) if isinstance(arm, ast.Constant) else None for arm in arms}
    with suppress(Inexpressible):
        if numbers == {int}:  # of floats, what is compiled fails behind Dynamo (torch 2.13)
            condition = Checks(context, assume_tensor=assumed).condition(test, True)
            new = write.expr("torch.sym_ite({}, {}, {})", condition, *arms)
            yield restructured("let torch.sym_ite choose between the two", {choice: new}, decisions=(test,))
    with suppress(NotAPredicate):
        built = Truths(context, device_of(context, *arms), assumed).of(test)
        if numbers == {float}:
            yield chosen_by(test, {choice: write.expr(FLOATS, built, *arms)})
        piece = chosen_piece(write, built, write.expression(arms[0]), write.expression(arms[1]))
        if piece is not None:
            yield chosen_by(test, {choice: piece})
        both_floats = numbers != {float} and {number_kind(Kinds(context), arm) for arm in arms} == {"float"}
        for way in ways_to_protect(context, *arms):
            kept = [harmless(context, arm, built, arm is choice.body, way) for arm in arms]
            values = [arm if protected is None else protected for arm, protected in zip(arms, kept)]
            if both_floats:  # what reads the choice goes on with a number, not with a tensor
                yield chosen_by(test, {choice: write.expr(FLOATS, built, *values)})
            yield chosen_by(test, {choice: write.expr("torch.where({}, {}, {})", built, *values)})


def _nested_numbers(context: Context, choice: ast.IfExp, assumed: bool) -> Iterator[Rewrite]:
    """`0.1 if c else 0.01 if d else f`: one number, chosen by nested torch.where."""
    parents, outermost = context.site.source.parents, choice
    while isinstance(parent := parents.get(outermost), ast.IfExp) and parent.test is not outermost:
        outermost = parent
    leaves, tests = _numbers_of(outermost)
    kinds = {number_kind(Kinds(context), leaf) for leaf in leaves}
    if len(tests) < 2 or len(kinds) != 1 or not kinds <= {"int", "float"} or not all(map(is_pure, (*leaves, *tests))):
        return
    write, truths = context.write, Truths(context, None, assumed)

    def chosen(node: ast.expr) -> Expr:
        if not isinstance(node, ast.IfExp):
            return write.expression(node)
        first = chosen(node.body)
        if not isinstance(node.body, ast.IfExp) and kinds == {"float"}:
            first = write.expr("torch.full((), {}, dtype=torch.float64)", first)
        return write.expr("torch.where({}, {}, {})", truths.of(node.test), first, chosen(node.orelse))

    with suppress(NotAPredicate):
        new = write.expr("{}.item()", chosen(outermost))
        yield restructured(MESSAGE, {outermost: new}, COST, decisions=tuple(tests))


def _numbers_of(node: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """What nested ternaries choose between, and their tests."""
    if not isinstance(node, ast.IfExp):
        return [node], []
    parts = [_numbers_of(node.body), _numbers_of(node.orelse)]
    return [leaf for leaves, _ in parts for leaf in leaves], [node.test, *(t for _, tests in parts for t in tests)]
