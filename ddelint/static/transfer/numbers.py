"""Arithmetic of numbers as linear forms, sizes among them, and the symbols that stand for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from ddelint.static.domain.facts import NONNEGATIVE, Facts
from ddelint.static.domain.linear import Comparison, Linear, fresh_symbol
from ddelint.static.domain.values import KNOWN, Constant, Known, Step, Tensor, Unbacked, Value, form_of, replace

Pick = Callable[[Iterable[float]], float]
"""`max` or `min`."""
EXTREMES: Mapping[str, Pick] = {"largest": max, "smallest": min}
"""By the behaviours that rules/operators.toml names."""

MOST_TERMS = 64
"""A number that is made of more symbols is just a number."""


class Numbers:
    """The symbols of one file, and arithmetic with them. What is learned on the way is learned in `facts`."""

    def __init__(self) -> None:
        self.symbols: dict[object, int] = {}
        """Symbols of non-linear expressions and of sizes, by structure: the same expression is the same symbol."""
        self.given: set[int] = set()
        """Outlines of tensors that come in as arguments: their sizes are known while tracing."""

    def size_of(self, tensor: Tensor, position: int, facts: Facts) -> Value:
        """The size of one dimension (negative positions count from the end)."""
        if position < 0 and tensor.complete:
            position += len(tensor.dims)
        if 0 <= position < len(tensor.dims):
            return tensor.dims[position]
        if position < 0 and -position <= len(tensor.tail):
            return tensor.tail[position]
        return Known(self.symbol_form((tensor.outline, position), facts))

    def symbol_form(self, key: object, facts: Facts) -> Linear:
        """The symbol of a size that is known while tracing, the same one for the same tensor and dimension."""
        symbol = self.symbols.get(key)
        if symbol is None:
            symbol = self.symbols[key] = fresh_symbol()
        form = Linear.of(symbol)
        facts.learn_bounds(form, NONNEGATIVE)
        return form

    def new_size(
        self, birth: ast.expr, facts: Facts, trail: Step | None, form: Linear | None = None, upper: float | None = None
    ) -> Unbacked:
        """A size that depends on data: not negative, and otherwise anything."""
        form = form if form is not None else Linear.of(fresh_symbol())
        facts.learn_bounds(form, NONNEGATIVE if upper is None else (0, upper))
        return Unbacked("size", birth, form, trail=trail)

    def at_most(self, count: Unbacked, size: Value, facts: Facts) -> None:
        """A count of elements cannot exceed the size that it counts in."""
        form = form_of(size)
        if count.form is not None and form is not None:
            facts.learn(Comparison(count.form.plus(form, -1), ast.LtE))

    def product(self, sizes: Iterable[Value], facts: Facts) -> Value:
        """The product of sizes (an element count)."""
        result: Value = Constant(1)
        for size in sizes:
            result = self.arithmetic(ast.Mult, result, size, facts)
        return result

    def arithmetic(self, operator: type[ast.operator], left: Value, right: Value, facts: Facts) -> Value:
        """Arithmetic of numbers, as a linear form where it is one."""
        first, second = form_of(left), form_of(right)
        form = self._combined(operator, first, second, facts)
        unbacked = [value for value in (left, right) if isinstance(value, Unbacked)]
        if not unbacked:
            if isinstance(left, Constant) and isinstance(right, Constant):
                return folded(operator, left.value, right.value)
            if any(isinstance(v, Constant) and not isinstance(v.value, (int, float)) for v in (left, right)):
                return KNOWN
            return Known(form)
        if form is not None and not form.terms:
            return Constant(form.constant)
        source = unbacked[0]
        topic = shared_topic(unbacked)
        if topic == "size" and operator is ast.Sub:
            topic = "number"
        if all(value.topic == "bool" for value in unbacked) and operator in (ast.BitAnd, ast.BitOr):
            if operator is ast.BitAnd and len(unbacked) == 2:
                return replace(source, comparisons=unbacked[0].comparisons + unbacked[1].comparisons, form=None)
            return replace(source, comparisons=(), form=None)
        return replace(source, topic=topic, form=form, comparisons=(), offsets=source.offsets)

    def extreme(self, pick: Pick, values: Sequence[Value], facts: Facts) -> Linear | None:
        """The largest (`pick` is `max`) or the smallest of numbers, the same symbol for the same numbers."""
        forms = tuple(form for form in map(form_of, values) if form is not None)
        if len(forms) < len(values):
            return None
        form = Linear.of(self.symbols.setdefault((pick, forms), fresh_symbol()))
        bounds = [facts.bounds(each) for each in forms]
        facts.learn_bounds(form, (pick(low for low, _ in bounds), pick(high for _, high in bounds)))
        return form

    def _combined(
        self, operator: type[ast.operator], first: Linear | None, second: Linear | None, facts: Facts
    ) -> Linear | None:
        if first is None or second is None or len(first.terms) + len(second.terms) > MOST_TERMS:
            return None
        if operator is ast.Add:
            return first.plus(second)
        if operator is ast.Sub:
            return first.plus(second, -1)
        if operator is ast.Mult and not first.terms:
            return second.times(first.constant)
        if operator is ast.Mult and not second.terms:
            return first.times(second.constant)
        if not first.terms and not second.terms:
            result = folded(operator, first.constant, second.constant)
            return result.form if isinstance(result, Constant) else None
        if operator is ast.FloorDiv and second == Linear((), 1):
            return first
        if operator not in (ast.Mult, ast.FloorDiv, ast.Mod):
            return None
        if operator is ast.Mult:
            first, second = sorted((first, second), key=lambda form: (form.terms, form.constant))
        key = (operator, first, second)
        known = key in self.symbols
        if not known:
            self.symbols[key] = fresh_symbol()
        form = Linear.of(self.symbols[key])
        low, _ = facts.bounds(first)
        if operator is ast.Mod and not second.terms and second.constant > 0:
            facts.learn_bounds(form, (0, second.constant - 1))
        elif low >= 0 and facts.bounds(second)[0] >= 0:
            facts.learn_bounds(form, NONNEGATIVE)
        return form


_FOLD: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def folded(operator: type[ast.operator], left: object, right: object) -> Value:
    """`left OPERATOR right` of literals, where that is a small int, or text put together."""
    if type(left) is int and type(right) is int and operator in _FOLD and abs(left) < 2**40 and abs(right) < 2**40:
        if operator in (ast.FloorDiv, ast.Mod) and right == 0:
            return KNOWN
        return Constant(_FOLD[operator](left, right))
    if isinstance(left, str) and isinstance(right, str) and operator is ast.Add:
        return Constant(left + right)
    return KNOWN


def shared_topic(values: list[Unbacked]) -> str:
    """What a number that is computed from these is."""
    topics = {value.topic for value in values}
    if len(topics) == 1:
        return topics.pop()
    return "size" if topics == {"size", "input"} else "number"
