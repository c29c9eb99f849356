"""What must be true at a line: follows from where numbers come from, and from checks and tests that stand before it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ddelint.operators import operators
from ddelint.rewrite import origins
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.expressions import called, enclosing_block
from ddelint.rewrite.kinds import Kinds, definition, reduces_all, tensor_argument
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.linear import AtLeastZero, Sum, contradiction, name, number
from ddelint.rewrite.proposals import number_kind
from ddelint.sites import Block, classify

_MOST_PREMISES = 60


@dataclass(frozen=True)
class Premise:
    """Something that is true at the place."""

    said: str
    row: int
    node: ast.expr
    want: bool = True


@dataclass
class Proofs:
    """Proves what holds before one statement. Speaks of integers alone: sums of floats round."""

    context: Context
    place: ast.stmt
    _sums: list[tuple[Sum, str]] = field(default_factory=list)
    """What is true of `//`, `%`, `max` and `min` themselves: at least zero, and why."""

    def of(self, condition: ast.expr, want: bool = True) -> str | None:
        """Why `condition` is always true (or false) there, in words; None where that does not follow."""
        premises = sorted(itertools.islice(self._premises(), _MOST_PREMISES), key=lambda premise: premise.row)
        known: list[AtLeastZero] = []
        for index, premise in enumerate(premises):
            for inequality in self._conjunction(premise.node, premise.want) or ():
                known.append(AtLeastZero(inequality, frozenset((index,))))
        used = self._proved(condition, want, known)
        if used is None:
            return None
        told = [f"{premises[index].said} (line {premises[index].row})" for index in sorted(used)]
        return " and ".join(told) if told else "it is true of all integers"

    # ------------------------------------------------------------------ the goal

    def _proved(self, node: ast.expr, want: bool, known: Sequence[AtLeastZero]) -> frozenset[int] | None:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._proved(operand, not want, known)
            case ast.BoolOp(op=operator, values=values):
                found = [self._proved(value, want, known) for value in values]
                proved = [one for one in found if one is not None]
                if isinstance(operator, ast.And) is want:
                    return frozenset().union(*proved) if len(proved) == len(found) else None
                return proved[0] if proved else None
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._compared(left, sign, right, want, known)
        return None

    def _compared(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr, want: bool, known: Sequence[AtLeastZero]
    ) -> frozenset[int] | None:
        one, other = self._sum(left), self._sum(right)
        if one is None or other is None:
            return None
        above, below = one - other, other - one
        if isinstance(sign, (ast.Eq, ast.NotEq)):
            if isinstance(sign, ast.Eq) is want:
                both = self._follows(above, known), self._follows(below, known)
                return both[0] | both[1] if both[0] is not None and both[1] is not None else None
            found = self._follows(above - number(1), known)
            return found if found is not None else self._follows(below - number(1), known)
        goal = _at_least_zero(above, sign, want)
        return self._follows(goal, known) if goal is not None else None

    def _follows(self, goal: Sum, known: Sequence[AtLeastZero]) -> frozenset[int] | None:
        """Whether `goal >= 0`: its contrary, `-goal - 1 >= 0`, contradicts what is known."""
        own = [AtLeastZero(inequality) for inequality, _ in self._sums]
        return contradiction([*known, *own, AtLeastZero(goal.times(Fraction(-1)) - number(1))])

    # ------------------------------------------------------------------ premises

    def _conjunction(self, node: ast.expr, want: bool) -> list[Sum] | None:
        """Inequalities that hold where `node` is `want`; None where it says nothing linear."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._conjunction(operand, not want)
            case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is want:
                return [one for value in values for one in self._conjunction(value, want) or ()]
            case ast.Compare(left=left, ops=signs, comparators=rights) if want or len(signs) == 1:
                found: list[Sum] = []
                for before, sign, after in zip((left, *rights), signs, rights):
                    one, other = self._sum(before), self._sum(after)
                    if one is None or other is None:
                        continue
                    if isinstance(sign, (ast.Eq, ast.NotEq)):
                        if isinstance(sign, ast.Eq) is want:
                            found += [one - other, other - one]
                        continue
                    inequality = _at_least_zero(one - other, sign, want)
                    if inequality is not None:
                        found.append(inequality)
                return found
        return None

    def _premises(self) -> Iterator[Premise]:
        """What the tests around the place, and the statements that have run before it, say; the nearest first."""
        source, below = self.context.site.source, self.place
        chain = [below, *(node for node in source.ancestors(below) if isinstance(node, ast.stmt))]
        for statement in chain:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                return
            if statement is not below and isinstance(statement, (ast.If, ast.While)):
                inside = any(below is one for one in statement.body)
                if inside or isinstance(statement, ast.If):
                    text = f"`{source.segment(statement.test)}` is {'true' if inside else 'false'} here"
                    yield Premise(text, statement.lineno, statement.test, inside)
            block = enclosing_block(source, statement)
            for earlier in reversed(block[: next(i for i, one in enumerate(block) if one is statement)]):
                yield from _stated(source.segment(earlier), earlier)
                yield from self._assigned(earlier)
            below = statement

    def _assigned(self, statement: ast.stmt) -> Iterator[Premise]:
        """What an assignment to a name says of it: what it counts, or what it is the sum of."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=text)], value=value) if definition(self.context, text) is value:
                row = statement.lineno
            case _:
                return
        counted = _counted(value, Kinds(self.context))
        if counted is not None:
            subject = ast.unparse(counted)
            fact = self.context.type_of(subject)
            yield Premise(f"`{text}` is a count", row, _parsed(f"{text} >= 0"))
            yield Premise(f"`{text}` counts in `{subject}`", row, _parsed(f"{text} <= ({subject}).numel()"))
            if fact is not None and fact.shape is not None and len(fact.shape) == 1:
                same = _parsed(f"({subject}).numel() == ({subject}).shape[0]")
                yield Premise(f"`{subject}` has one dimension", row, same)
        elif told := list(origins.facts(text, value, Kinds(self.context))):
            for condition, said in told:
                yield Premise(said, row, _parsed(condition))
        elif self._sum(value) is not None:
            yield Premise(f"`{text} = {ast.unparse(value)}`", row, _parsed(f"{text} == {ast.unparse(value)}"))

    # ------------------------------------------------------------------ sums

    def _sum(self, node: ast.expr) -> Sum | None:
        """`node` as a sum of integers that keep their values in the function; None where it is anything else."""
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return number(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._sum(operand)
                return inner.times(Fraction(-1)) if inner is not None else None
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod(), right=right):
                one, other = self._sum(left), self._sum(right)
                return self._combined(node, one, other) if one is not None and other is not None else None
            case ast.Call(args=[first, second], keywords=[]) if called(node) in _EXTREMES:
                return self._extreme(node, self._sum(first), self._sum(second))
            case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[dimension], keywords=[]):
                return self._sum(_parsed(f"{ast.unparse(tensor)}.shape[{ast.unparse(dimension)}]"))
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
                return self._integer(node)
        return None

    def _combined(self, node: ast.BinOp, one: Sum, other: Sum) -> Sum | None:
        match node.op:
            case ast.Add():
                return one + other
            case ast.Sub():
                return one - other
            case ast.Mult() if not one.factors or not other.factors:
                return other.times(one.constant) if not one.factors else one.times(other.constant)
            case ast.FloorDiv() | ast.Mod() if not other.factors and other.constant > 0:
                by = other.constant
                quotient = name(ast.unparse(ast.BinOp(node.left, ast.FloorDiv(), node.right)))
                rest = one - quotient.times(by)
                self._sums += [(rest, "floor"), (number(int(by) - 1) - rest, "floor")]
                return quotient if isinstance(node.op, ast.FloorDiv) else rest
        return None

    def _extreme(self, node: ast.Call, one: Sum | None, other: Sum | None) -> Sum | None:
        if one is None or other is None:
            return None
        found = name(ast.unparse(ast.Call(ast.Name(_EXTREMES[called(node)]), node.args, [])))
        for side in (one, other):
            self._sums.append((found - side if _EXTREMES[called(node)] == "max" else side - found, "extreme"))
        return found

    def _integer(self, node: ast.expr) -> Sum | None:
        text = ast.unparse(node)
        match node:
            case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=int())):
                known = self._keeps(tensor)
            case ast.Call(func=ast.Attribute(value=tensor, attr="numel" | "dim"), args=[], keywords=[]):
                known = self._keeps(tensor)
            case ast.Name() | ast.Attribute():
                known = self._keeps(node) and number_kind(Kinds(self.context), node) == "int"
            case _:
                known = False
        return name(text) if known else None

    def _keeps(self, node: ast.expr) -> bool:
        """Whether a name or attribute chain is the same thing throughout the function."""
        function = self.context.site.function
        if function is None:
            return False
        match node:
            case ast.Name(id=text):
                stored = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == text]
                writes = sum(not isinstance(n.ctx, ast.Load) for n in stored)
                arguments = sum(isinstance(n, ast.arg) and n.arg == text for n in ast.walk(function))
                return writes + arguments <= 1
            case ast.Attribute(value=value, attr=attribute):
                written = any(
                    isinstance(n, ast.Attribute) and n.attr == attribute and not isinstance(n.ctx, ast.Load)
                    for n in ast.walk(function)
                )
                return not written and self._keeps(value)
        return False


_EXTREMES = {"sym_max": "max", "max": "max", "sym_min": "min", "min": "min"}


def _at_least_zero(above: Sum, sign: ast.cmpop, want: bool) -> Sum | None:
    """The sum that is at least zero where `left SIGN right` is `want`, with `above` = left - right."""
    match sign:
        case ast.GtE():
            return above if want else above.times(Fraction(-1)) - number(1)
        case ast.Gt():
            return above - number(1) if want else above.times(Fraction(-1))
        case ast.LtE():
            return above.times(Fraction(-1)) if want else above - number(1)
        case ast.Lt():
            return above.times(Fraction(-1)) - number(1) if want else above
    return None


def _stated(text: str, statement: ast.stmt) -> Iterator[Premise]:
    """What is true behind a statement: a check, an assert, an `if` that raised otherwise."""
    first = " ".join(text.split())
    match statement:
        case ast.Expr(value=ast.Call(args=[condition, *_]) as call) if called(call) in set(knowledge().checks.values()):
            yield Premise(f"`{first}`", statement.lineno, condition)
        case ast.Assert(test=condition):
            yield Premise(f"`{first}`", statement.lineno, condition)
        case ast.If(test=condition, body=body, orelse=[]) if classify(body) is Block.RAISES:
            yield Premise(f"`{ast.unparse(condition)}` raises", statement.lineno, condition, False)


def _counted(value: ast.expr, kinds: Kinds) -> ast.expr | None:
    """The mask of `mask.sum().item()`, `int(mask.sum())` and the like; None for anything else."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
            value = inner
        case ast.Call(func=ast.Name(id="int"), args=[inner], keywords=[]):
            value = inner
        case _:
            return None
    if not isinstance(value, ast.Call) or not reduces_all(value):
        return None
    table = operators()
    counts = called(value) in table.counting and table.returns.get(called(value)) == "reduction"
    subject = tensor_argument(value)
    return subject if counts and subject is not None and kinds.dtype(subject) == "bool" else None


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
