"""A test on a size gets an answer for when the compiler cannot know: guard_or_false, guard_or_true."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    called,
    parses,
    replaced,
    symbolic,
    text_of,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.polarity import general_side, side_of
from ddelint.sites import Block, Role

_TESTS = (Role.IF_TEST, Role.TERNARY_TEST, Role.BOOLEAN_OPERAND)
_GUARDS = frozenset(("guard_or_false", "guard_or_true", "statically_known_true", "guard_size_oblivious"))


@move("guard_on_size")
def guard_on_size(context: Context) -> Iterator[Candidate]:
    """`guard_or_false(n == 0)`: the comparison that asks is wrapped, with the general answer first."""
    site = context.site
    if site.role not in _TESTS or site.decision is None or site.block in (Block.RAISES, Block.WARNS):
        return
    operand = _asking_operand(context)
    if operand is None:
        return
    test, text = operand
    side = side_of(context, test)
    for answer in (side if side is not None else False, not side if side is not None else True):
        function = "guard_or_true" if answer else "guard_or_false"
        edits = (Edit(site.source.span(test), f"{function}({text})"),)
        if parses(site.source, edits):
            yield Candidate(
                "guard_on_size",
                Claim.GENERAL_PATH,
                f"take the {'true' if answer else 'false'} side of the size test where the compiler cannot know it",
                edits,
                (symbolic(function),),
                decisions=(site.source.span(site.decision),),
            )


def _asking_operand(context: Context) -> tuple[ast.expr, str] | None:
    """The smallest truth value that asks, and its text as a symbolic bool."""
    source = context.site.source
    decision = context.site.decision
    if decision is None:
        return None
    test = decision
    while True:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                test = operand
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                test = argument
            case ast.BoolOp(values=values):
                asking = [value for value in values if source.span(value).contains(context.site.span)]
                if not asking:
                    kinds = Kinds(context)
                    asking = [value for value in values if kinds.of(value) is not Kind.STATIC]
                if len(asking) != 1:
                    return None
                test = asking[0]
            case _:
                break
    if any(isinstance(node, ast.Call) and called(node) in _GUARDS for node in ast.walk(test)):
        return None
    return _symbolic_text(context, test)


def _symbolic_text(context: Context, test: ast.expr) -> tuple[ast.expr, str] | None:
    source, kinds = context.site.source, Kinds(context)
    kind = kinds.of(test)
    lengths = [
        (node, f"{text_of(source, node.args[0], Binding.PRIMARY)}.shape[0]")
        for node in ast.walk(test)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and kinds.of(node.args[0]) in (Kind.TENSOR, Kind.UNKNOWN)
    ]
    text = replaced(source, test, lengths)
    if kind is Kind.TENSOR:
        if general_side(test) is not True or isinstance(test, ast.Compare):
            return None  # a value, not a size: neither answer is the general one
        return test, f"{text if isinstance(test, (ast.Call, ast.Name, ast.Attribute)) else f'({text})'}.item()"
    match test:
        case ast.Compare(ops=[_]):
            return test, text
        case ast.Compare():
            return None
    if kind is Kind.NUMBER:
        return test, f"{text} != 0"
    if kind in (Kind.BOOL, Kind.UNKNOWN):
        return test, text
    return None
