"""Conditions over products and quotients of sizes, in simpler words: what a reshape asks is seldom linear.

`n * h * w == 4 * n * (h // 2) * (w // 2)` is `h % 2 == 0` and `w % 2 == 0`, unless a factor is zero.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.shapes.facts import COMPARISONS, Unreadable, read, size_name

_Monomial = tuple[str, ...]
"""The factors of a product, in order; each a size, or a quotient."""
Polynomial = Mapping[_Monomial, int]
_MOST_TERMS = 8


@dataclass(frozen=True, slots=True)
class _Quotient:
    """`divided // divisor`, common factors cancelled (the divisor is not zero)."""

    divided: Polynomial
    divisor: Polynomial


@dataclass(slots=True)
class _Reader:
    """Reads expressions as polynomials over sizes and quotients."""

    quotients: dict[str, _Quotient] = field(default_factory=dict)
    whole: Collection[tuple[str, int]] = ()
    """(size, number): the size is known to be a multiple of it."""
    by_quotients: bool = False
    """Whether such a size is read as that number times its quotient."""

    def polynomial(self, node: ast.expr) -> Polynomial:
        """Raises Unreadable for what is none."""
        size = size_name(node)
        if size is not None:
            number = math.lcm(*(number for name, number in self.whole if name == size))
            if number == 1 or not self.by_quotients:
                return {(size,): 1}
            return _times(self._named({(size,): 1}, {(): number}), {(): number})
        match node:
            case ast.Constant(value=bool()):
                raise Unreadable(ast.unparse(node))
            case ast.Constant(value=int(value)):
                return _sum({(): value}, {})
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return _times(self.polynomial(inner), {(): -1})
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _sum(self.polynomial(left), self.polynomial(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return _sum(self.polynomial(left), _times(self.polynomial(right), {(): -1}))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return _times(self.polynomial(left), self.polynomial(right))
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
                return self._quotient(self.polynomial(left), self.polynomial(right))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                divided, divisor = self.polynomial(left), self.polynomial(right)
                whole = _times(divisor, self._quotient(divided, divisor))
                return _sum(divided, _times(whole, {(): -1}))
        raise Unreadable(ast.unparse(node))

    def _quotient(self, divided: Polynomial, divisor: Polynomial) -> Polynomial:
        if not divisor:
            raise Unreadable("a division by zero")
        common = _common([divided, divisor], lambda name: True)
        divided, divisor = _over(divided, common), _over(divisor, common)
        if divisor == {(): 1}:
            return divided
        if len(divisor) > 1:
            return self._named(divided, divisor)
        whole, rest = _taken_apart(divided, divisor)
        if whole:
            return _sum(whole, self._quotient(rest, divisor))
        number = divisor.get((), 0)
        if not rest or (number > 0 and rest.keys() == {()}):
            return {}  # what is left is less than the divisor
        if number > 0 and all(factor < 0 for names, factor in rest.items() if names):
            rounded_up = _sum(_times(rest, {(): -1}), {(): number - 1})
            return _times(self._quotient(rounded_up, divisor), {(): -1})
        return self._named(self._without_what_is_lost(rest, number), divisor)

    def _without_what_is_lost(self, divided: Polynomial, number: int) -> Polynomial:
        """`h + 3` as `h` before it is divided by 4, where h is a multiple of 4."""
        sizes = [names for names in divided if names]
        if (
            all(any((name, number) in self.whole for name in names) for names in sizes)
            and 0 < divided.get((), 0) < number
        ):
            return {names: factor for names, factor in divided.items() if names}
        return divided

    def _named(self, divided: Polynomial, divisor: Polynomial) -> Polynomial:
        text = f"({written(divided)}) // ({written(divisor)})"
        self.quotients[text] = _Quotient(divided, divisor)
        return {(text,): 1}


def _taken_apart(divided: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """What a divisor of one term divides, by it; and what is left."""
    ((by, number),) = divisor.items()
    whole: Polynomial = {}
    rest: Polynomial = {}
    for names, factor in divided.items():
        fits = not Counter(by) - Counter(names)
        if fits and not names:
            quotient, left = divmod(factor, number)
            whole, rest = _sum(whole, {(): quotient}), _sum(rest, {(): left})
        elif fits and factor % number == 0:
            whole = _sum(whole, _over({names: factor}, (by, number)))
        else:
            rest = _sum(rest, {names: factor})
    return whole, rest


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    total = Counter(dict(one))
    total.update(dict(other))
    return {names: factor for names, factor in total.items() if factor}


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > _MOST_TERMS * _MOST_TERMS:
        raise Unreadable("too long a product")
    total: Counter[_Monomial] = Counter()
    for names, factor in one.items():
        for others, more in other.items():
            total[tuple(sorted((*names, *others)))] += factor * more
    return {names: factor for names, factor in total.items() if factor}


def _common(of: Sequence[Polynomial], may: Callable[[str], bool]) -> tuple[_Monomial, int]:
    """The factors that all terms have, of those that may be cancelled; and the largest number."""
    terms = [term for one in of for term in one]
    shared = Counter(terms[0]) if terms else Counter[str]()
    for term in terms[1:]:
        shared &= Counter(term)
    number = math.gcd(*(factor for one in of for factor in one.values())) or 1
    return tuple(sorted(name for name in shared.elements() if may(name))), number


def _over(one: Polynomial, common: tuple[_Monomial, int]) -> Polynomial:
    names, number = common
    return {tuple(sorted((Counter(term) - Counter(names)).elements())): f // number for term, f in one.items()}


def written(one: Polynomial) -> str:
    """A polynomial as text."""
    terms = [_term(names, factor) for names, factor in sorted(one.items(), reverse=True)]
    return " + ".join(terms or ["0"]).replace("+ -", "- ")


def _term(names: _Monomial, factor: int) -> str:
    factors = [f"({name})" if "//" in name else name for name in names]
    return " * ".join([*([str(factor)] if factor != 1 or not names else []), *factors])


# ---------------------------------------------------------------------------------------------------- conditions


Known = Callable[[str], bool]
"""Whether a size, or a quotient of sizes, is known to be at least one."""


def cancelled(text: str, multiples: Collection[tuple[str, int]] = (), positive: Known = lambda factor: False) -> str:
    """A condition without the products and quotients that cancel out, if that is shorter; `True`, `False` for one that
    is about no size then.

    `multiples`: (size, number), where the size is known to be a multiple of it. `positive`: which sizes and quotients
    are known to be at least one, so that a comparison can be divided by them. A quotient is taken to have a divisor
    that is not zero: what divides by zero raises before anybody asks.
    """
    node = read(text).node
    if isinstance(node, ast.BoolOp):
        parts = [cancelled(ast.unparse(part), multiples, positive) for part in node.values]
        short = ast.unparse(ast.BoolOp(node.op, [read(part).node for part in parts]))
        return short if len(short) < len(text) else text
    readers = [_Reader(whole=multiples), *([_Reader(whole=multiples, by_quotients=True)] if multiples else [])]
    found = [one for one in (_cancelled_comparison(node, reader, positive) for reader in readers) if one is not None]
    return min((text, *found), key=len)


def _cancelled_comparison(node: ast.expr, reader: _Reader, positive: Known) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            try:
                difference = _sum(reader.polynomial(left), _times(reader.polynomial(right), {(): -1}))
            except Unreadable:
                return None
            if difference.keys() <= {()}:
                return str(COMPARISONS[type(op)](difference.get((), 0), 0))
            difference = _over(difference, _common([difference], positive))
            sides = _sides(difference, 1)
            return ast.unparse(ast.Compare(sides[0], [op], [sides[1]]))
    return None


def _sides(difference: Polynomial, sign: int) -> tuple[ast.expr, ast.expr]:
    """What is added and what is taken away, as two sums without negative terms."""
    added = {names: factor * sign for names, factor in difference.items() if factor * sign > 0}
    taken = {names: -factor * sign for names, factor in difference.items() if factor * sign < 0}
    return read(written(added)).node, read(written(taken)).node


@dataclass(frozen=True, slots=True)
class Simpler:
    """What a condition comes to: these conditions, where those of `when` hold; where they do not, it holds anyway.

    None at all where the given ones say it already.
    """

    texts: tuple[str, ...]
    when: tuple[str, ...] = ()


def simpler(text: str, given: Iterable[str], positive: Known) -> Simpler | None:
    """An equality or a multiple in simpler words, given that others hold; None where there are no simpler ones."""
    reader = _Reader()
    equation = _equation(text, reader)
    if equation is None or not _is_product(equation, reader):
        return None
    start = equation
    factors, number = _common([equation], lambda name: "//" not in name)
    equation = _over(equation, (factors, number))
    known = [one for one in (_equation(other, reader) for other in given) if one is not None]
    equation = _without_quotients(equation, known, reader, positive)
    if not equation:
        return Simpler(())
    more, number = _common([equation], lambda name: "//" not in name)
    equation = _without_positive_sums(_over(equation, (more, number)))
    open_ = [name for name in dict.fromkeys((*factors, *more)) if not positive(name)]
    split = _each_whole(equation, reader)
    if split is not None:
        texts, sizes = split
        open_ += [name for name in sizes if name not in open_ and not positive(name)]
    else:
        texts = (_equal(equation, reader),)
        if equation == start and "%" not in texts[0]:
            return None
    found = Simpler(texts, tuple(f"{name} >= 1" for name in open_))
    return None if found == Simpler((text,)) or sum(map(len, found.texts)) > len(text) else found


def _equation(text: str, reader: _Reader) -> Polynomial | None:
    """A condition as a polynomial that is zero; None where it is none."""
    match read(text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            try:
                return _sum(reader.polynomial(left), _times(reader.polynomial(right), {(): -1}))
            except Unreadable:
                return None
    return None


def _is_product(equation: Polynomial, reader: _Reader) -> bool:
    """Whether it is more than a sum of sizes, with two terms or more."""
    return len(equation) > 1 and (bool(reader.quotients) or any(len(names) > 1 for names in equation))


def _without_quotients(
    equation: Polynomial, known: Sequence[Polynomial], reader: _Reader, positive: Known
) -> Polynomial:
    """The same with `m * (x // m)` as `x`, where it is known that x is a multiple of m."""
    for text, quotient in list(reader.quotients.items()):
        whole = _times(quotient.divisor, {(text,): 1})
        rest = _sum(quotient.divided, _times(whole, {(): -1}))
        if len(quotient.divisor) > 1 or not any(_is_same(rest, one, positive) for one in known):
            continue
        if all(names.count(text) <= 1 for names in equation) and any(text in names for names in equation):
            total: Polynomial = {}
            for names, factor in equation.items():
                others = {tuple(name for name in names if name != text): factor}
                total = _sum(total, _times(others, quotient.divided if text in names else quotient.divisor))
            equation = total
    return equation


def _without_positive_sums(equation: Polynomial) -> Polynomial:
    """`a * (q + 2) == 8 * (q + 2)` as `a == 8`: sizes and quotients of them are not negative."""
    for name in dict.fromkeys(name for names in equation for name in names):
        if any(names.count(name) > 1 for names in equation):
            continue
        with_it = {
            tuple(sorted((Counter(n) - Counter([name])).elements())): f for n, f in equation.items() if name in n
        }
        rest = {names: factor for names, factor in equation.items() if name not in names}
        if len(with_it) < 2 or with_it.keys() != rest.keys():
            continue
        ratios = {(rest[names] // factor, rest[names] % factor) for names, factor in with_it.items()}
        if len(ratios) == 1 and (ratio := next(iter(ratios)))[1] == 0 and ratio[0] > 0:
            return _over(with_it, ((), math.gcd(*with_it.values())))
    return equation


def _is_same(one: Polynomial, other: Polynomial, positive: Known) -> bool:
    """Whether one is zero where the other is: equal up to a sign, and to factors that are not zero."""
    first, second = (_over(each, _common([each], lambda n: "//" not in n and positive(n))) for each in (one, other))
    return first in (second, _times(second, {(): -1}))


def _each_whole(equation: Polynomial, reader: _Reader) -> tuple[tuple[str, ...], list[str]] | None:
    """`h * w == 6 * (h // 2) * (w // 3)`: each of the sizes is a multiple, where none is zero; with those sizes."""
    if len(equation) != 2:
        return None
    left, right = sorted(equation, key=lambda names: sum(name in reader.quotients for name in names))
    quotients = [name for name in right if name in reader.quotients]
    divisors = [reader.quotients[name].divisor.get((), 0) for name in quotients]
    divided = [reader.quotients[name].divided for name in quotients]
    sizes = [next(iter(one)) for one in divided]
    if not quotients or not all(one == {names: 1} and len(names) == 1 for one, names in zip(divided, sizes)):
        return None
    others = [name for name in right if name not in reader.quotients]
    whole = sorted([*others, *(names[0] for names in sizes)])
    if list(left) != whole or equation[right] != -equation[left] * math.prod(divisors) or 0 in divisors:
        return None
    names = [one[0] for one in sizes]
    return tuple(dict.fromkeys(f"{name} % {by} == 0" for name, by in zip(names, divisors))), names


def _equal(equation: Polynomial, reader: _Reader) -> str:
    """A polynomial that is zero as a condition: a multiple, or two sums that are equal."""
    for text, quotient in reader.quotients.items():
        rest = _sum(quotient.divided, _times(_times(quotient.divisor, {(text,): 1}), {(): -1}))
        if equation in (rest, _times(rest, {(): -1})):
            divisor = written(quotient.divisor)
            return f"{_bracketed(written(quotient.divided))} % {f'({divisor})' if '*' in divisor else divisor} == 0"
    first = max(equation, key=lambda names: (len(names), names))
    left, right = _sides(equation, 1 if equation[first] > 0 else -1)
    return ast.unparse(ast.Compare(left, [ast.Eq()], [right]))


def _bracketed(text: str) -> str:
    return f"({text})" if " + " in text or " - " in text else text


def is_multiple_of_known(text: str, given: Iterable[str]) -> bool:
    """Whether `x % m == 0` is said already by an `x == n * m`."""
    reader = _Reader()
    match read(text).node:
        case ast.Compare(
            left=ast.BinOp(left=left, op=ast.Mod(), right=right), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
        ):
            try:
                divided, divisor = reader.polynomial(left), reader.polynomial(right)
            except Unreadable:
                return False
            common = _common([divided, divisor], lambda name: True)
            divided, divisor = _over(divided, common), _over(divisor, common)
            known = [one for other in given if (one := _equation(other, reader)) is not None]
            return any(_says_multiple(divided, divisor, one) for one in known)
    return False


def _says_multiple(divided: Polynomial, divisor: Polynomial, known: Polynomial) -> bool:
    if len(divided) != 1 or len(divisor) != 1 or len(known) != 2:
        return False
    ((names, factor),), ((by, number),) = divided.items(), divisor.items()
    first, second = known
    return any(
        names == one
        and factor % abs(known[one]) == 0
        and not Counter(by) - Counter(other)
        and abs(known[other]) * (factor // abs(known[one])) % number == 0
        for one, other in ((first, second), (second, first))
    )
