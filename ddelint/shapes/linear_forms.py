"""Conditions over sizes as linear inequalities over the integers, for proofs: `refuted` says that none satisfies all.

What is not linear (`a * b`) counts as a number of its own, so that a refutation is right and its absence says nothing.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product

from ddelint.rewrite.proving.linear import AtLeastZero, Sum, contradiction, name, number
from ddelint.shapes.counting import values_to_try
from ddelint.shapes.facts import Fact, Unreadable, negated, read, size_name, with_words

_MOST_CASES = 64
"""Cases (`!=` is two) that one refutation looks at."""
_Case = tuple[Sum, ...]
"""Sums that are all at least zero."""


def refuted(texts: Iterable[str]) -> bool:
    """Whether no sizes satisfy all of these conditions; False says nothing."""
    facts = [read(text) for text in _one_name_each(with_numbers(texts))]
    return _refuted_linearly(facts) or any(_refuted_by_counting(name, facts) for name in _names(facts))


def _refuted_linearly(facts: Sequence[Fact]) -> bool:
    """Whether each combination of cases is a contradiction; those that are one already are not looked into further."""
    alternatives = [_cases(fact.node) for fact in facts]
    sure = [one for cases in alternatives if len(cases) == 1 for one in cases]
    open_ = [cases for cases in alternatives if len(cases) != 1]
    left = _MOST_CASES

    def refuted_with(chosen: list[_Case], waiting: list[list[_Case]]) -> bool:
        nonlocal left
        left -= 1
        if _is_contradiction(chosen, facts):
            return True
        if not waiting or left < 0:
            return False
        return all(refuted_with([*chosen, case], waiting[1:]) for case in waiting[0])

    return refuted_with(sure, sorted(open_, key=len))


def with_numbers(texts: Iterable[str]) -> list[str]:
    """The same conditions, with its number for each size that can only be one."""
    wanted = list(texts)
    numbers = dict(found for text in wanted if (found := number_said(text)) is not None)
    return [
        text if number_said(text) is not None or not read(text).names & numbers.keys() else _filled(text, numbers)
        for text in wanted
    ]


def _one_name_each(texts: Iterable[str]) -> list[str]:
    """The same conditions, with one name for sizes that are equal; the equalities stay as they are."""
    wanted = list(texts)
    names: dict[str, str] = {}
    pairs = [pair for text in wanted if (pair := _equal_sizes(text)) is not None]
    for first, second in pairs:
        kept, gone = names.get(first, first), names.get(second, second)
        names |= dict.fromkeys([gone, *(name for name, found in names.items() if found == gone)], kept)
    names = {name: found for name, found in names.items() if name != found}
    same = [_equal_sizes(text) is not None for text in wanted]
    return [
        text if known or not names.keys() & read(text).names else with_words(text, names)
        for text, known in zip(wanted, same)
    ]


def _equal_sizes(text: str) -> tuple[str, str] | None:
    match read(text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            first, second = size_name(left), size_name(right)
            return (first, second) if first is not None and second is not None else None
    return None


def number_said(text: str) -> tuple[str, int] | None:
    """`x.shape[0] == 6` as its parts."""
    match read(text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int(value))]):
            name = size_name(left)
            return (name, value) if name is not None else None
    return None


def multiple_said(text: str) -> tuple[str, int] | None:
    """`x.shape[0] % 8 == 0` as its parts."""
    match read(text).node:
        case ast.Compare(
            left=ast.BinOp(left=left, op=ast.Mod(), right=ast.Constant(value=int(number))),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            name = size_name(left)
            return (name, number) if name is not None else None
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
    alone = [fact for fact in facts if fact.names == {name} and values_to_try([fact.node]) is not None]
    tried = values_to_try(fact.node for fact in alone)
    if not alone or tried is None:
        return False
    return not any(all(fact.holds({name: value}) for fact in alone) for value in range(sum(tried)))


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


def is_product(text: str) -> bool:
    """Whether a condition says of several sizes multiplied which number that is: `a * b == 32`."""
    fact = read(text)
    match fact.node:
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant()]):
            found = linear(fact)
            return len(fact.names) > 1 and (found is None or not found[0].factors.keys() <= fact.names)
    return False


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
    given += [AtLeastZero(one) for one in _larger_than_factors(given)]
    return contradiction(given) is not None


def _larger_than_factors(given: Sequence[AtLeastZero]) -> list[Sum]:
    """`a * b - a`, which is not negative where b is at least one."""
    products = sorted({name_ for one in given for name_ in one.sum.factors if " * " in name_})
    factors = {factor for one in products for factor in one.split(" * ")}
    positive = {
        one for one in factors if contradiction([*given, AtLeastZero(name(one).times(Fraction(-1)))]) is not None
    }
    return [
        name(one) - name(" * ".join((*parts[:at], *parts[at + 1 :])))
        for one in products
        for parts in [one.split(" * ")]
        for at, factor in enumerate(parts)
        if factor in positive
    ]


def _cases(node: ast.expr) -> list[_Case]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            reader = _Reader()
            return _compared(reader.sum_of(left) - reader.sum_of(right), op)
        case ast.BoolOp(op=ast.And(), values=values):
            return [tuple(one for case in chosen for one in case) for chosen in product(*map(_cases, values))]
        case ast.BoolOp(op=ast.Or(), values=values):
            return [case for value in values for case in _cases(value)]
        case ast.Constant(value=False):
            return []
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
        return name(_in_order(node))

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


def _in_order(node: ast.expr) -> str:
    """An expression's text, the parts of sums and products in order: one name, however it is written."""

    class Ordered(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            if not isinstance(node.op, (ast.Add, ast.Mult)):
                return node
            first, *others = sorted(_parts(node, type(node.op)), key=ast.unparse)
            return reduce(lambda left, right: ast.BinOp(left, node.op, right), others, first)

    return ast.unparse(Ordered().visit(ast.parse(ast.unparse(node), mode="eval").body))


def _parts(node: ast.expr, op: type[ast.operator]) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, op):
        yield from _parts(node.left, op)
        yield from _parts(node.right, op)
    else:
        yield node


def _terms(of: Sum) -> Iterator[tuple[str, Fraction]]:
    yield from of.factors.items()
    if of.constant or not of.factors:
        yield "", of.constant
