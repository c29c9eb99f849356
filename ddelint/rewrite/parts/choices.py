"""Values that a loop might have left with: noted at each exit while compiling; the first exit that holds counts."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements

_LONG_TEST = 40
"""Characters of a test from which it gets a name of its own."""
_DOUBLE = "torch.full((), {}, dtype=torch.float64)"
"""A Python float as a tensor that keeps its precision."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that is chosen among those that it had at the exits."""

    place: str
    """The name or attribute that has the value behind the loop."""
    value: Part
    """What it is inside the loop."""
    first: Part | None = None
    """What it is behind the loop, where the place is a variable that the program hasn't."""
    number: str = ""
    """`int`, `float` or `bool` for a Python number; empty for a tensor."""
    in_place: bool = False
    """Whether the loop changes the tensor itself."""
    shared: bool = False
    """Whether others know the tensor, too, so that the chosen value is copied into it."""
    grows: Part | None = None
    """The dimension along which the tensor is longer the later an exit is."""


class Choices:
    """The values that a loop would have left with, an entry for each exit of each iteration."""

    def __init__(self, context: Context, kept: Sequence[Kept]) -> None:
        self.kept, self.write, source = kept, context.write, context.site.source
        self.name, self.left = fresh_name(source, "choices"), fresh_name(source, "left")
        self.noted_as = [fresh_name(source, f"{one.place.rpartition('.')[2]}_then") for one in kept]

    def begun(self) -> Statements:
        """The line in front of the loop."""
        return self.write.lines("{choices} = []", choices=self.name)

    def noted(self, test: Expr, given: Mapping[str, Part] | None = None) -> Statements:
        """The lines at an exit: its test, and the values there; those not `given` are as they are inside the loop."""
        given = given or {}
        values = [
            self._noted(one, given[one.place]) if one.place in given else self._noted(one, one.value, one.in_place)
            for one in self.kept
        ]
        named = len(self.write.code(test)) > _LONG_TEST
        lines = self.write.assigned(self.left, test) if named else []
        entry = self.write.tuple([self.left if named else test, *values])
        return [*lines, *self.write.lines("{choices}.append({entry})", choices=self.name, entry=entry)]

    def held(self, left: str, test: Expr, given: Mapping[str, Part] | None = None) -> Statements:
        """The lines at an exit whose test, once it was true, stays so under the name `left`."""
        # a new tensor each time: `|=` would change what is noted
        once = self.write.operation(left, ast.BitOr(), test)
        return [*self.write.assigned(left, once), *self.noted(self.write.expression(left), given)]

    def _noted(self, kept: Kept, value: Part, copied: bool = False) -> Expr:
        if kept.number == "float":
            return self.write.expr(_DOUBLE, value)
        return self.write.expr("{}.clone()", value) if copied else self.write.expression(value)

    def chosen(self, behind: Statements) -> Statements:
        """The lines behind the loop, with further ones that are wanted only while compiling."""
        write = self.write
        lines: Statements = []
        for kept, then in zip(self.kept, self.noted_as):
            value = write.expr("torch.where({}, {}, {})", self.left, self._as_long(kept, then), kept.place)
            template = "{place}.copy_({value})" if kept.shared else "{place} = {value}"
            lines += write.lines(template, place=kept.place, value=value)
        target = write.tuple([self.left, *self.noted_as])
        loop = write.lines("for {target} in reversed({all}):\n    {lines}", target=target, all=self.name, lines=lines)
        before = [line for k in self.kept if k.number == "float" for line in self._again(k, _DOUBLE)]
        after = [*(line for k in self.kept if k.number for line in self._again(k, "{}.item()")), *behind]
        if after:
            body = [*before, *loop, *after]
            loop = write.lines("if {choices}:\n    {body}", choices=self.name, body=body)
        return [*(line for k in self.kept if k.first is not None for line in write.assigned(k.place, k.first)), *loop]

    def _as_long(self, kept: Kept, then: str) -> Expr:
        """A value at an exit, as long as what it is chosen against: the places behind its end say nothing."""
        if kept.grows is None:
            return self.write.expression(then)
        rest = "{x}.narrow({d}, {then}.shape[{d}], {x}.shape[{d}] - {then}.shape[{d}])"
        filled = self.write.expr(rest, x=kept.place, then=then, d=kept.grows)
        return self.write.expr("torch.cat([{then}, {filled}], {d})", then=then, filled=filled, d=kept.grows)

    def _again(self, kept: Kept, template: str) -> Statements:
        return self.write.assigned(kept.place, self.write.expr(template, kept.place))
