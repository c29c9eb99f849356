"""A test, said in code that the compiler can record: one condition a check, no Python `and`, `or`, `not` of symbols.

`Checks.lines` turns `not (a or b)` into two checks, chained comparisons into one check each, `any(...)` into a loop of
checks, and a tensor's truth value into an explicit `.item()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.truths import MEMBER, SAME
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kind, Kinds, is_integer
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_rank, called, cannot_raise, draws_random, is_literal, is_pure, opposite
from ddelint.rewrite.reading.optional import may_be_none
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements

_TARGETS = frozenset(("actual", "expected"))
"""What the loop over two shapes calls their sizes."""


class Inexpressible(Exception):
    """A condition that cannot be put into checks."""


@dataclass
class Checks:
    """Turns tests into conditions and checks for one site."""

    context: Context
    call: Part | None = None
    """What checks; `torch._check` where it is not said."""
    message: Sequence[Part] = ()
    """A further argument of each check."""
    robust: bool = False
    """Say equalities of tensors as the negation of their opposite: strict export drops a check that fixes a number
    which nothing else uses (measured on torch 2.13)."""
    assume_tensor: bool = False
    """What to take an expression for whose kind nothing shows."""
    is_certain: bool = field(default=True, init=False)
    """Whether eager takes all that was built: each condition a bool, and NaN on the same side as before."""

    def __post_init__(self) -> None:
        self.kinds, self.write = Kinds(self.context), self.context.write
        self._check = self.call or self.write.expr("torch._check")

    # ------------------------------------------------------------------ statements

    def lines(self, node: ast.expr, want: bool) -> Statements:
        """Checks that `node` is true (or false), with `if` and `for` around. Raises Inexpressible."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.lines(operand, not want)
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self.lines(argument, want)
            case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is want:
                if self.message and (together := self._side_by_side(values, want)) is not None:
                    return self._checks([together])  # what is said stands there once
                return [line for value in values for line in self.lines(value, want)]
            case ast.BoolOp(values=values):
                return self._one_of(values, want)
            case ast.Compare(ops=[_, _, *_]) if want:
                return self._checks(self._links(node))
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]) if (
                isinstance(sign, ast.Eq) is want and _is_sizes(left) and _is_sizes(right)
            ):
                return self._size_lines(left, right)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp(generators=[_]) as each]):
                if (name == "all") is want:
                    return self._each(each, want)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
                if isinstance(operator, ast.In) is not want and _is_written_out(left, right):
                    return self._checks(self._members(left, right, ast.NotEq()))
        return self._checks([self.condition(node, want)])

    def _checks(self, conditions: Sequence[Expr]) -> Statements:
        return [
            statement
            for one in conditions
            for statement in self.write.lines("{call}({arguments})", call=self._check, arguments=[one, *self.message])
        ]

    def _side_by_side(self, values: Sequence[ast.expr], want: bool) -> Expr | None:
        """All of `values` are `want`, as one condition, where each is the truth of a tensor; else None."""
        if not all(self._is_tensor(value) and not isinstance(value, (ast.BoolOp, ast.NamedExpr)) for value in values):
            return None
        reduced = _reduced(values[0])  # what has a maximum has a minimum
        if not all(cannot_raise(value) or (reduced and _reduced(value) == reduced) for value in values[1:]):
            return None
        truths = [self._as_truth(value) for value in values]
        operator = ast.BitAnd() if want else ast.BitOr()
        return self._item(reduce(lambda left, right: self.write.operation(left, operator, right), truths), want)

    def _one_of(self, values: list[ast.expr], want: bool) -> Statements:
        """At least one of `values` is `want`. What is known while tracing becomes an `if` and still guards the rest."""
        known = 0
        while known < len(values) - 1 and self._is_known(values[known]):
            known += 1
        rest = values[known:]
        if len(rest) == 1:
            body = self.lines(rest[0], want)
        else:
            self._compute_all(rest)
            body = self._checks([self._combined("sym_or({})", [self.condition(value, want) for value in rest])])
        if not known:
            return body
        guards = [self.write.negated(value) if want else value for value in values[:known]]
        return self.write.lines("if {test}:\n    {body}", test=self.write.joined(ast.And(), guards), body=body)

    def _is_known(self, value: ast.expr) -> bool:
        """Whether an operand is answered without a question: static, or standing before the one that asks."""
        if self.kinds.of(value) is Kind.STATIC or self._is_left_out(value):
            return True
        site, span = self.context.site, self.context.site.source.span(value)
        if site.decision is None or value is site.decision or span.contains(site.span):
            return False
        before = (span.end_row, span.end_column) <= (site.span.row, site.span.column)
        return before and site.node is not site.decision and self.kinds.of(value) is not Kind.TENSOR

    def _is_left_out(self, value: ast.expr) -> bool:
        """Whether the static pass found in an operand nothing of what it asks about."""
        asked = {text for text, _ in self.context.diagnostic.kinds if text}
        parts = (ast.unparse(part) for part in ast.walk(value) if isinstance(part, ast.expr))
        return self.context.kind == "static" and bool(asked) and asked.isdisjoint(parts) and is_pure(value)

    def _each(self, each: ast.GeneratorExp, want: bool) -> Statements:
        (generator,) = each.generators
        if generator.is_async:
            raise Inexpressible("async")
        body = self.lines(each.elt, want)
        for test in reversed(generator.ifs):
            body = self.write.lines("if {test}:\n    {body}", test=test, body=body)
        return self.write.lines(
            "for {target} in {iterated}:\n    {body}", target=generator.target, iterated=generator.iter, body=body
        )

    def _size_lines(self, left: ast.expr, right: ast.expr) -> Statements:
        """Dimension by dimension: Dynamo skips a comparison of whole shapes."""
        if not (is_pure(left) and is_pure(right)):
            raise Inexpressible("a shape with an effect")
        for shape, sizes in ((left, right), (right, left)):
            if isinstance(sizes, (ast.Tuple, ast.List)):
                self._rely_on(all(self.kinds.of(element) is not Kind.UNKNOWN for element in sizes.elts))
                if any(map(self._is_tensor, sizes.elts)):
                    return self._checks([*self._written_sizes(shape, sizes.elts)])
        if _TARGETS & live_behind(self.context.site.source, self.context.site.statement):
            raise Inexpressible("names that are taken")
        return [
            *self._checks([self.write.expr("len({}) == len({})", left, right)]),
            *self.write.lines(
                "for actual, expected in zip({left}, {right}):\n    {body}",
                left=left,
                right=right,
                body=self._checks([self.write.expr("actual == expected")]),
            ),
        ]

    def _written_sizes(self, shape: ast.expr, elements: Sequence[ast.expr]) -> Iterator[Expr]:
        """A check for each size: a tensor among them (a count that was never read) is read by `.item()`."""
        yield self.write.expr("len({}) == {}", shape, len(elements))
        for number, element in enumerate(elements):
            template = "{}[{}] == {}.item()" if self._is_tensor(element) else "{}[{}] == {}"
            yield self.write.expr(template, shape, number, element)

    # ------------------------------------------------------------------ one condition

    def condition(self, node: ast.expr, want: bool) -> Expr:
        """One bool or symbolic bool that says that `node` is true (or false). Raises Inexpressible."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.condition(operand, not want)
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self.condition(argument, want)
            case ast.NamedExpr():
                raise Inexpressible("an assignment inside the test")
            case ast.BoolOp(op=operator, values=values):
                self._compute_all(values)
                together = "sym_and({})" if isinstance(operator, ast.And) is want else "sym_or({})"
                return self._combined(together, [self.condition(value, want) for value in values])
            case ast.Compare(left=first, ops=[_, _, *_], comparators=sides):
                self._compute_all([first, *sides[1:]])
                linked = self._combined("sym_and({})", self._links(node))
                return linked if want else self._not(linked)
            case ast.Compare(ops=[ast.In() | ast.NotIn() as operator], left=left, comparators=[right]):
                if self._is_tensor(right):
                    return self._item(self.write.expr(MEMBER, right, left), isinstance(operator, ast.In) is want)
                if not _is_written_out(left, right):
                    return self.write.expression(node) if want else self.write.negated(node)
                inside = isinstance(operator, ast.In) is want
                members = self._members(left, right, ast.Eq() if inside else ast.NotEq())
                return self._combined("sym_or({})" if inside else "sym_and({})", members)
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                return self._relation(node, self.write.expression(node), left, operator, right, want)
            case ast.Call(args=[_, _, *_]) if called(node) in {"equal", "allclose"}:
                return self._whole(node, want)
        return self._truth(node, want)

    def _not(self, condition: Part) -> Expr:
        return self.write.expr("torch.sym_not({})", condition)

    def _compute_all(self, values: Sequence[ast.expr]) -> None:
        """Raises Inexpressible where an operand behind the first may fail that Python leaves out once it has an answer.

        With a run, that is for the run to show.
        """
        for number, value in enumerate(values[1:], start=1):
            if self.context.kind == "static" and not cannot_raise(value, not asks_rank(*values[:number])):
                raise Inexpressible("an operand that the first answer may guard")

    def _combined(self, template: str, conditions: Sequence[Expr]) -> Expr:
        return conditions[0] if len(conditions) == 1 else self.write.expr(template, conditions)

    def _links(self, node: ast.Compare) -> list[Expr]:
        """Each link of a chained comparison as a condition of its own."""
        sides = [node.left, *node.comparators]
        if not all(is_pure(side) for side in sides[1:-1]):
            raise Inexpressible("a chained comparison with an effect")
        return [
            self._relation(
                ast.Compare(left=left, ops=[operator], comparators=[right]),
                self.write.operation(left, operator, right),
                left, operator, right, True,
            )
            for left, operator, right in zip(sides, node.ops, sides[1:])
        ]  # fmt: skip

    def _relation(
        self, node: ast.Compare, built: Expr, left: ast.expr, operator: ast.cmpop, right: ast.expr, want: bool
    ) -> Expr:
        kind = self.kinds.of(node)
        self._rely_on(kind is not Kind.UNKNOWN)
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and self.assume_tensor):
            return self._tensor_relation(built, left, operator, right, want)
        if want:
            return built
        if isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            numbers = {number_kind(self.kinds, side) for side in (left, right)}
            if "float" in numbers:
                return self._not(built)  # NaN is neither less nor greater
            self._rely_on("" not in numbers)
        return self.write.negated(built)

    def _rely_on(self, is_known: bool) -> None:
        self.is_certain = self.is_certain and is_known

    def _tensor_relation(self, built: Expr, left: ast.expr, operator: ast.cmpop, right: ast.expr, want: bool) -> Expr:
        item = self.write.expr("{}.item()", built)
        if self.robust:
            return self._not(self.write.expr("{}.item()", self.write.negated(built)) if want else item)
        if self._is_exact(left) and self._is_exact(right):
            sides = [self.write.expr("{}.item()", s) if self._is_read(s) else s for s in (left, right)]
            return self.write.operation(sides[0], operator if want else opposite(operator)(), sides[1])
        if not want and isinstance(operator, (ast.Eq, ast.NotEq)):
            return self.write.expr("{}.item()", self.write.negated(built))  # of NaN, too
        return item if want else self._not(item)

    def _is_tensor(self, node: ast.expr) -> bool:
        return self.kinds.of(node) is Kind.TENSOR

    def _is_exact(self, side: ast.expr) -> bool:
        """Whether comparing the item gives what comparing the tensor gives: one element, integers throughout."""
        kind = self.kinds.of(side)
        if kind is Kind.NUMBER:
            if isinstance(side, ast.Constant):
                return isinstance(side.value, int)
            fact = self.kinds.fact(side)
            return fact is None or fact.kind in {"int", "symint"}
        shape = self.kinds.shape(side)
        one_element = self._is_read(side) and shape is not None and all(size == "1" for size in shape)
        return one_element and is_integer(self.kinds.dtype(side))

    def _is_read(self, side: ast.expr) -> bool:
        return self.kinds.of(side) not in (Kind.NUMBER, Kind.STATIC, Kind.BOOL)

    def _members(self, left: ast.expr, right: ast.expr, sign: ast.cmpop) -> list[Expr]:
        """One comparison of `left` with each element of a display."""
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            raise Inexpressible("a container that is not written out")
        self._rely_on(all(self.kinds.of(side) not in (Kind.UNKNOWN, Kind.TENSOR) for side in (left, *right.elts)))
        return [self.write.operation(left, sign, item) for item in right.elts]

    def _whole(self, node: ast.Call, want: bool) -> Expr:
        """`torch.equal(a, b)` has no traceable answer: compare element by element."""
        if not isinstance(node.func, ast.Attribute) or ast.unparse(node.func.value) not in {"torch", self.write.torch}:
            raise Inexpressible("a method")
        if called(node) == "equal":
            a, b = node.args[:2]
            if not all(is_pure(side) and not draws_random(side) for side in (a, b)):
                raise Inexpressible("what is compared would be computed twice")
            return self._item(self.write.expr(SAME, a, b, a, b, a), want)
        return self._item(self.write.expr("torch.isclose({}).all()", [*node.args, *node.keywords]), want)

    def _truth(self, node: ast.expr, want: bool) -> Expr:
        if _is_sizes(node):  # a check wants a bool, which a shape is not
            return self.write.expr("len({}) > 0" if want else "len({}) == 0", node)
        kind = self.kinds.of(node)
        self._rely_on(kind is not Kind.UNKNOWN and not (kind is Kind.STATIC and want))
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and self.assume_tensor):
            return self._item(self._as_truth(node), want)
        if may_be_none(self.context.site.source, node):
            raise Inexpressible("None at times")
        if kind is Kind.NUMBER:
            return self.write.expr("{} != 0" if want else "{} == 0", node)
        if want:
            return self.write.expression(node)
        return self.write.negated(node) if kind is Kind.STATIC else self._not(node)

    def _as_truth(self, node: ast.expr) -> Expr:
        """The truth of a one-element tensor, as a tensor of booleans."""
        dtype = self.kinds.dtype(node)
        is_bool = dtype == "bool" or (not dtype and isinstance(node, ast.Call) and called(node) in knowledge().boolean)
        return self.write.expression(node) if is_bool else self.write.expr("({} != 0)", node)

    def _item(self, tensor: Part, want: bool) -> Expr:
        """The item of a one-element tensor of booleans, or its opposite."""
        if want and self.robust:
            return self._not(self.write.expr("torch.logical_not({}).item()", tensor))
        item = self.write.expr("{}.item()", tensor)
        return item if want else self._not(item)


def _reduced(node: ast.expr) -> str:
    """The tensor of which a comparison with a constant takes one number, as text; empty for anything else."""
    match node:
        case ast.Compare(
            left=ast.Call(func=ast.Attribute(value=tensor, attr=name), args=[], keywords=[]), comparators=[limit]
        ) if name in knowledge().reductions and is_literal(limit):
            return ast.unparse(tensor)
    return ""


def _is_written_out(left: ast.expr, right: ast.expr) -> bool:
    return isinstance(right, (ast.Tuple, ast.List, ast.Set)) and bool(right.elts) and is_pure(left)


def _is_sizes(node: ast.expr) -> bool:
    """Whether an expression is a shape, or a list or tuple display of sizes."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and not any(isinstance(element, ast.Starred) for element in elements)
        case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "tuple") | ast.Attribute(attr="Size"), args=[argument]):
            return _is_sizes(argument)
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _is_sizes(value)
    return False
