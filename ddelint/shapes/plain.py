"""A condition in its simplest words: `32 * x.shape[0] != 0` is `x.shape[0] >= 1`, since no size is negative."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from ddelint.rewrite.proving.linear import Sum
from ddelint.shapes.extremes import spelled_out
from ddelint.shapes.facts import Fact, Unreadable, negated, read, size_name
from ddelint.shapes.linear_forms import follows, linear, refuted
from ddelint.shapes.ranges import ranges_of
from ddelint.sources.comparing import MIRRORED

ALWAYS = "True"
"""A condition that holds for all sizes."""
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def plain(text: str) -> str:
    """The same condition with small numbers, sums on both sides, nothing that is always so."""
    try:
        fact = read(text)
    except Unreadable:
        return text
    if not fact.names and (truth := fact.holds({})) is not None:
        return str(truth)
    if isinstance(fact.node, ast.BoolOp):
        return _combined(fact.node)
    if (multiple := _multiple(fact.node)) is not None:
        return multiple
    if (simpler := _quotient(fact.node) or _each_factor(fact.node)) is not None:
        return plain(simpler)
    found = linear(fact)
    if found is None or not found[0].factors:
        if (ranged := _by_its_range(fact)) is not None:
            return ranged
        if (spelled := spelled_out(fact.node)) is not None and len(without := plain(spelled)) < len(text):
            return without
        return ALWAYS if refuted([negated(text)]) else ast.unparse(fact.node)
    written = _compared(*found)
    always = [f"{name} >= 0" for name in sorted(fact.names)]
    if fact.names and len(fact.names) == 1 and "!=" in written:
        name = next(iter(fact.names))
        bound = f"{name} >= 1"
        if follows(bound, [written, *always]) and follows(written, [bound]):
            return bound
    return written


def _by_its_range(fact: Fact) -> str | None:
    """`(n - 5) // 2 + 1 >= 4` as `n >= 11`: what holds of one size in one range, or of its multiples."""
    ranges = ranges_of(fact.text)
    if len(ranges) != 1 or len(fact.names) != 1:
        return None
    name = next(iter(fact.names))
    low, dots, high = ranges[0].partition("..")
    if "multiple" in ranges[0]:
        return f"{name} % {ranges[0].split()[-1]} {'!=' if ranges[0].startswith('no ') else '=='} 0"
    if not low.isdigit():
        return None
    bounds = [f"{name} >= {low}"] * (low != "0") + [f"{name} <= {high}"] * bool(high)
    return (" and ".join(bounds) or None) if dots else f"{name} == {low}"


def _multiple(node: ast.expr) -> str | None:
    """`6 * n % 48 == 0` as `n % 8 == 0`."""
    match node:
        case ast.Compare(
            left=ast.BinOp(left=divided, op=ast.Mod(), right=ast.Constant(value=int(divisor))),
            ops=[(ast.Eq() | ast.NotEq()) as op],
            comparators=[ast.Constant(value=0)],
        ) if divisor > 0:
            found = linear(read(f"{ast.unparse(divided)} == 0"))
            if found is not None and len(found[0].factors) == 1 and not found[0].constant:
                ((name, factor),) = found[0].factors.items()
                left = divisor // math.gcd(int(factor), divisor)
                return f"{name} % {left} {_SIGNS[type(op)]} 0"
    return None


def _quotient(node: ast.expr) -> str | None:
    """`n // 8 >= 2` as `n >= 16`."""
    match node:
        case ast.Compare(
            left=ast.BinOp(left=divided, op=ast.FloorDiv(), right=ast.Constant(value=int(divisor))),
            ops=[op],
            comparators=[ast.Constant(value=int(limit))],
        ) if divisor > 0:
            text = ast.unparse(divided)
            match op:
                case ast.GtE():
                    return f"{text} >= {limit * divisor}"
                case ast.Gt():
                    return f"{text} >= {(limit + 1) * divisor}"
                case ast.LtE():
                    return f"{text} <= {(limit + 1) * divisor - 1}"
                case ast.Lt():
                    return f"{text} <= {limit * divisor - 1}"
    return None


def _each_factor(node: ast.expr) -> str | None:
    """`8 * a * b != 0` as `a >= 1 and b >= 1`, `8 * a * b < 1` as `a <= 0 or b <= 0`: no factor is negative."""
    match node:
        case ast.Compare(left=ast.BinOp(op=ast.Mult()) as left, ops=[op], comparators=[ast.Constant(value=int(limit))]):
            number, others = 1, dict[str, ast.expr]()
            for factor in _factors(left):
                if isinstance(factor, ast.Constant) and isinstance(factor.value, int):
                    number *= factor.value
                else:
                    others[ast.unparse(factor)] = factor
            if number > 0 and others and all(map(_is_never_negative, others.values())):
                return _of_all(list(others), op, limit, number)
    return None


def _of_all(factors: Sequence[str], op: ast.cmpop, limit: int, number: int) -> str | None:
    """What `number * a * b` compared with a limit says of each, where only zero is on the other side of the limit."""
    match op:
        case ast.NotEq() if limit == 0:
            positive = True
        case ast.GtE() | ast.Lt() if 0 < limit <= number:
            positive = isinstance(op, ast.GtE)
        case ast.Gt() | ast.LtE() if 0 <= limit < number:
            positive = isinstance(op, ast.Gt)
        case ast.Eq() if limit == 0:
            positive = False
        case _:
            return None
    return " and ".join(f"{one} >= 1" for one in factors) if positive else " or ".join(f"{one} <= 0" for one in factors)


def _is_never_negative(node: ast.expr) -> bool:
    """Whether sizes that are not negative make an expression that isn't, by its form."""
    match node:
        case ast.Constant(value=int(value)):
            return value >= 0
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right):
            return _is_never_negative(left) and _is_never_negative(right)
    return size_name(node) is not None


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from _factors(left)
            yield from _factors(right)
        case _:
            yield node


def _combined(node: ast.BoolOp) -> str:
    """Of alternatives those that are not covered by another; of conditions together those that say something more."""
    parts = list(dict.fromkeys(plain(ast.unparse(part)) for part in node.values))
    both = isinstance(node.op, ast.And)
    idle, final = (ALWAYS, "False") if both else ("False", ALWAYS)
    parts = [part for part in parts if part != idle] or [idle]
    if final in parts:
        return final
    if not both and refuted([negated(part) for part in parts]):
        return ALWAYS
    for one in list(parts):
        others = [part for part in parts if part is not one]
        if others and (follows(one, others) if both else any(follows(other, [one]) for other in others)):
            parts = others
    if len(parts) == 1:
        return parts[0]
    return (" and " if both else " or ").join(f"({one})" if _is_mixed(one) else one for one in parts)


def _is_mixed(text: str) -> bool:
    return isinstance(read(text).node, ast.BoolOp)


def _compared(difference: Sum, op: type[ast.cmpop]) -> str:
    numbers = [abs(int(factor)) for factor in difference.factors.values()]
    common = _common(numbers) if difference.constant % _common(numbers) == 0 else 1
    scaled = difference.times(Fraction(1, common))
    leading = next(iter(sorted(scaled.factors)))
    if scaled.factors[leading] < 0:
        scaled, op = scaled.times(Fraction(-1)), MIRRORED.get(op, op)
    left = {name: factor for name, factor in scaled.factors.items() if factor > 0}
    right = {name: -factor for name, factor in scaled.factors.items() if factor < 0}
    constant = int(-scaled.constant)
    if right and constant < 0:
        return f"{_sum(left, -constant)} {_SIGNS[op]} {_sum(right, 0)}"
    if op is ast.Lt and not right:
        op, constant = ast.LtE, constant - 1
    elif op is ast.Gt and not right:
        op, constant = ast.GtE, constant + 1
    if op is ast.LtE and len(left) == 1 and not right and not constant:
        op = ast.Eq  # no size is negative
    return f"{_sum(left, 0)} {_SIGNS[op]} {_sum(right, constant)}"


def _common(numbers: list[int]) -> int:
    return math.gcd(*numbers) or 1


def _sum(factors: dict[str, Fraction], constant: int) -> str:
    terms = [name if factor == 1 else f"{int(factor)} * {name}" for name, factor in sorted(factors.items())]
    if constant or not terms:
        terms.append(str(constant))
    return " + ".join(terms).replace("+ -", "- ")
