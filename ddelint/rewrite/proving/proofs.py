"""What must be true at a line: follows from where numbers come from, and from checks and tests that stand before it."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ddelint.knowledge.operators import operators
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.derivations import facts, tensor_read
from ddelint.rewrite.proving.linear import AtLeastZero, Sum, contradiction, name, number
from ddelint.rewrite.proving.relations import elements, relation, size
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kinds, definition, reduces_all, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bindings, called, enclosing_block, opposite
from ddelint.sources.sites import Block, classify

_MOST_PREMISES = 60
_MOST_CASES = 16


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
    _own: list[Sum] = field(default_factory=list)
    """What is at least zero by what `//`, `%`, `max` and `min` are."""

    def of(self, condition: ast.expr, want: bool = True) -> str | None:
        """Why `condition` is always true (or false) there, in words; None where that does not follow."""
        premises = sorted(itertools.islice(self._premises(), _MOST_PREMISES), key=lambda premise: premise.row)
        known: list[AtLeastZero] = []
        for index, premise in enumerate(premises):
            first, *others = self._cases(premise.node, premise.want)
            certain = [one for one in first if all(one in other for other in others)]
            known += [AtLeastZero(one, frozenset((index,))) for one in certain]
        contrary = self._cases(condition, not want)
        known += map(AtLeastZero, self._own)
        refuted = [contradiction([*known, *map(AtLeastZero, case)]) for case in contrary]
        used = {index for reasons in refuted if reasons is not None for index in reasons}
        if None in refuted:
            return None
        reported = [f"{premises[index].said} (line {premises[index].row})" for index in sorted(used)]
        return " and ".join(reported) if reported else "it is true of all integers"

    # ------------------------------------------------------------------ conditions

    def _cases(self, node: ast.expr, want: bool) -> list[list[Sum]]:
        """Sums that are at least zero where `node` is `want`: all of one list. An empty list says nothing."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._cases(operand, not want)
            case ast.BoolOp(op=operator, values=values):
                parts = [self._cases(value, want) for value in values]
                return _all_of(parts) if isinstance(operator, ast.And) is want else list(itertools.chain(*parts))
            case ast.Compare(left=left, ops=signs, comparators=rights):
                links = zip((left, *rights), signs, rights)
                parts = [self._compared(one, sign if want else opposite(sign)(), other) for one, sign, other in links]
                return _all_of(parts) if want else list(itertools.chain(*parts))
        return [[]]

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> list[list[Sum]]:
        one, other = self._sum(left), self._sum(right)
        if one is None or other is None:
            return [[]]
        above, below = one - other, other - one
        match sign:
            case ast.Eq():
                return [[above, below]]
            case ast.NotEq():
                return [[above - number(1)], [below - number(1)]]
            case ast.GtE() | ast.Gt():
                return [[above if isinstance(sign, ast.GtE) else above - number(1)]]
            case ast.LtE() | ast.Lt():
                return [[below if isinstance(sign, ast.LtE) else below - number(1)]]
        return [[]]

    # ------------------------------------------------------------------ premises

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
            case ast.Assign(targets=[ast.Name(id=text) as target], value=value) if (
                definition(self.context, text) is value
            ):
                row = statement.lineno
            case _:
                return
        counted = _counted(value, Kinds(self.context))
        if counted is not None:
            subject = ast.unparse(counted)
            fact = self.context.type_of(subject)
            yield Premise(f"`{text}` is a count", row, relation(target, ast.GtE(), 0))
            most = relation(target, ast.LtE(), elements(counted))
            yield Premise(f"`{text}` counts in `{subject}`", row, most)
            if fact is not None and fact.shape is not None and len(fact.shape) == 1:
                same = relation(elements(counted), ast.Eq(), size(counted, ast.Constant(0)))
                yield Premise(f"`{subject}` has one dimension", row, same)
        elif known := list(facts(target, value, Kinds(self.context))):
            for condition, said in known:
                yield Premise(said, row, condition)
        elif self._sum(value) is not None:
            yield Premise(f"`{text} = {ast.unparse(value)}`", row, relation(target, ast.Eq(), value))

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
                return self._sum(size(tensor, dimension))
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
                self._own += [rest, number(int(by) - 1) - rest]
                return quotient if isinstance(node.op, ast.FloorDiv) else rest
        return None

    def _extreme(self, node: ast.Call, one: Sum | None, other: Sum | None) -> Sum | None:
        if one is None or other is None:
            return None
        found = name(ast.unparse(ast.Call(ast.Name(_EXTREMES[called(node)]), node.args, [])))
        for side in (one, other):
            self._own.append(found - side if _EXTREMES[called(node)] == "max" else side - found)
        return found

    def _integer(self, node: ast.expr) -> Sum | None:
        text = ast.unparse(node)
        match node:
            case (
                ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=int()))
                | ast.Call(func=ast.Attribute(value=tensor, attr="numel" | "dim"), args=[], keywords=[])
            ):
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
                return bindings(function, text) <= 1
            case ast.Attribute(value=value, attr=attribute):
                written = any(
                    isinstance(n, ast.Attribute) and n.attr == attribute and not isinstance(n.ctx, ast.Load)
                    for n in ast.walk(function)
                )
                return not written and self._keeps(value)
        return False


_EXTREMES = {"sym_max": "max", "max": "max", "sym_min": "min", "min": "min"}


def _all_of(parts: Sequence[list[list[Sum]]]) -> list[list[Sum]]:
    """The cases in which one of each part holds; nothing is said where these are too many."""
    if math.prod(map(len, parts)) > _MOST_CASES:
        return [[]]
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]


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
    count, table = tensor_read(value), operators()
    if not isinstance(count, ast.Call) or not reduces_all(count):
        return None
    counts = called(count) in table.counting and table.returns.get(called(count)) == "reduction"
    subject = tensor_argument(count)
    return subject if counts and subject is not None and kinds.dtype(subject) == "bool" else None
