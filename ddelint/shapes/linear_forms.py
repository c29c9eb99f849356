"""Conditions over sizes as linear inequalities over the integers, for proofs: `refuted` says that none satisfies all.

What is not linear (`a * b`) counts as a number of its own, so that a refutation is right and its absence says nothing.
"""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from ddelint.rewrite.proving.linear import AtLeastZero, Sum, contradiction, name, number
from ddelint.shapes.facts import Fact, Unreadable, moduli_in, negated, numbers_in, read, size_name

_MOST_CASES = 64
"""Cases (`!=` is two) that one refutation looks at."""
_MOST_VALUES = 100_000
"""Values of one size that are tried one by one."""
_Case = tuple[Sum, ...]
"""Sums that are all at least zero."""


def refuted(texts: Iterable[str]) -> bool:
    """Whether no sizes satisfy all of these conditions; False says nothing."""
    facts = [read(text) for text in with_numbers(texts)]
    return _refuted_linearly(facts) or any(_refuted_by_counting(name, facts) for name in _names(facts))


def _refuted_linearly(facts: Sequence[Fact]) -> bool:
    alternatives = [_cases(fact.node) for fact in facts]
    count = 1
    for cases in alternatives:
        count *= max(1, len(cases))
    if count > _MOST_CASES:
        return False
    return all(_is_contradiction(chosen, facts) for chosen in product(*alternatives))


def with_numbers(texts: Iterable[str]) -> list[str]:
    """The same conditions, with its number for each size that can only be one."""
    wanted = list(texts)
    numbers = dict(found for text in wanted if (found := number_said(text)) is not None)
    return [
        text if number_said(text) is not None or not read(text).names & numbers.keys() else _filled(text, numbers)
        for text in wanted
    ]


def number_said(text: str) -> tuple[str, int] | None:
    """`x.shape[0] == 6` as its parts."""
    match read(text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int(value))]):
            name = size_name(left)
            return (name, value) if name is not None else None
    return None


def _filled(text: str, numbers: Mapping[str, int]) -> str:
    class Filled(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            name = size_name(node)
            return node if name is None or name not in numbers else ast.Constant(numbers[name])

        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
                with contextlib.suppress(ArithmeticError, Unreadable):
                    return ast.Constant(read(ast.unparse(node)).evaluate({}))
            return node

    return ast.unparse(Filled().visit(ast.parse(text, mode="eval").body))


def _names(facts: Sequence[Fact]) -> set[str]:
    return {name for fact in facts for name in fact.names}


def _refuted_by_counting(name: str, facts: Sequence[Fact]) -> bool:
    """Whether the conditions on one size alone exclude each value: what they say repeats itself from some value on."""
    alone = [fact for fact in facts if fact.names == {name} and _repeats(fact.node)]
    period = math.lcm(1, *moduli_in(alone))
    beyond = 2 * (sum(map(abs, numbers_in(alone))) + 1) * period
    if not alone or beyond + period > _MOST_VALUES:
        return False
    return not any(all(fact.holds({name: value}) for fact in alone) for value in range(beyond + period))


def _repeats(node: ast.expr) -> bool:
    """Whether the truth of a condition is periodic for large sizes: sums, products with numbers, quotients, rests."""
    allowed = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
    return all(
        isinstance(part.op, allowed) and (isinstance(part.op, (ast.Add, ast.Sub)) or _has_number(part))
        for part in ast.walk(node)
        if isinstance(part, ast.BinOp)
    ) and all(_is_piecewise(part) for part in ast.walk(node) if isinstance(part, ast.Call))


def _is_piecewise(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("max", "min", "abs")


def _has_number(node: ast.BinOp) -> bool:
    if isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant)
    return isinstance(node.right, ast.Constant)


def follows(text: str, given: Sequence[str]) -> bool:
    """Whether a condition is known to hold wherever the given ones do."""
    related = _related(text, given)
    return refuted([*related, negated(text)])


def _related(text: str, given: Sequence[str]) -> list[str]:
    """Those of the given conditions that share sizes with `text`, by way of others if need be."""
    names, left = set(read(text).names), list(given)
    chosen: list[str] = []
    while True:
        near = [one for one in left if read(one).names & names]
        if not near:
            return chosen
        chosen += near
        left = [one for one in left if one not in near]
        names |= {found for one in near for found in read(one).names}


def linear(fact: Fact) -> tuple[Sum, type[ast.cmpop]] | None:
    """`left - right` and the comparison, where a condition is a comparison of sums of sizes."""
    match fact.node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            reader = _Reader()
            found = reader.sum_of(left) - reader.sum_of(right)
            if not reader.known and all(one in fact.names for one in found.factors):
                return found, type(op)
    return None


def _is_contradiction(chosen: Sequence[_Case], facts: Sequence[Fact]) -> bool:
    reader = _Reader()
    for fact in facts:
        for node in ast.walk(fact.node):
            if isinstance(node, ast.Compare):
                reader.sum_of(node.left), reader.sum_of(node.comparators[0])
    given = [AtLeastZero(one) for case in chosen for one in case]
    given += [AtLeastZero(one) for one in reader.known]
    given += [AtLeastZero(name(size)) for size in sorted({size for fact in facts for size in fact.names})]
    return contradiction(given) is not None


def _cases(node: ast.expr) -> list[_Case]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            reader = _Reader()
            return _compared(reader.sum_of(left) - reader.sum_of(right), op)
        case ast.BoolOp(op=ast.And(), values=values):
            return [tuple(one for case in chosen for one in case) for chosen in product(*map(_cases, values))]
        case ast.BoolOp(op=ast.Or(), values=values):
            return [case for value in values for case in _cases(value)]
    return [()]


def _compared(difference: Sum, op: ast.cmpop) -> list[_Case]:
    one = number(1)
    opposite = difference.times(Fraction(-1))
    match op:
        case ast.GtE():
            return [(difference,)]
        case ast.Gt():
            return [(difference - one,)]
        case ast.LtE():
            return [(opposite,)]
        case ast.Lt():
            return [(opposite - one,)]
        case ast.Eq():
            return [(difference, opposite)]
        case ast.NotEq():
            return [(difference - one,), (opposite - one,)]
    return [()]


class _Reader:
    """Reads expressions as sums; what it learns of quotients and products on the way stands in `known`."""

    def __init__(self) -> None:
        self.known: list[Sum] = []

    def sum_of(self, node: ast.expr) -> Sum:
        """The sum that an expression is; a name of its own for what is not linear."""
        size = size_name(node)
        if size is not None:
            return name(size)
        match node:
            case ast.Constant(value=int(value)):
                return number(value)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self.sum_of(inner).times(Fraction(-1))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.sum_of(left) + self.sum_of(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self.sum_of(left) - self.sum_of(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(self.sum_of(left), self.sum_of(right))
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int(divisor))) if divisor > 0:
                return self._quotient(self.sum_of(left), divisor)
            case ast.BinOp(left=left, op=ast.Mod(), right=ast.Constant(value=int(divisor))) if divisor > 0:
                divided = self.sum_of(left)
                return divided - self._quotient(divided, divisor).times(Fraction(divisor))
            case ast.Call(func=ast.Name(id="max" | "min" as called), args=arguments):
                return self._extreme(called, [self.sum_of(argument) for argument in arguments])
        return name(ast.unparse(node))

    def _product(self, left: Sum, right: Sum) -> Sum:
        if not left.factors:
            return right.times(left.constant)
        if not right.factors:
            return left.times(right.constant)
        total = number(0)
        for first, factor in _terms(left):
            for second, other in _terms(right):
                total = total + self._term(first, second).times(factor * other)
        return total

    def _term(self, first: str, second: str) -> Sum:
        if not first or not second:
            return name(first or second) if first or second else number(1)
        parts = sorted((*first.split(" * "), *second.split(" * ")))
        together = name(" * ".join(parts))
        self.known.append(together)  # sizes, quotients of sizes and products of them are not negative
        return together

    def _quotient(self, divided: Sum, divisor: int) -> Sum:
        text = " + ".join(f"{factor} {term}" for term, factor in sorted(_terms(divided)))
        quotient = name(f"({text}) // {divisor}")
        rest = divided - quotient.times(Fraction(divisor))
        self.known += [rest, number(divisor - 1) - rest]
        return quotient

    def _extreme(self, called: str, of: Sequence[Sum]) -> Sum:
        text = "; ".join(" + ".join(f"{factor} {term}" for term, factor in sorted(_terms(one))) for one in of)
        extreme = name(f"{called}({text})")
        self.known += [extreme - one if called == "max" else one - extreme for one in of]
        return extreme


def _terms(of: Sum) -> Iterator[tuple[str, Fraction]]:
    yield from of.factors.items()
    if of.constant or not of.factors:
        yield "", of.constant
