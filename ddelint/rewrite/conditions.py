"""A test, said in words that the compiler can record: one condition a line, no Python `and`, `or`, `not` of symbols.

`Conditions.lines` turns `not (a or b)` into two checks, chained comparisons into one check each, `any(...)` into a loop
of checks, and a tensor's truth value into an explicit `.item()`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context, Import
from ddelint.rewrite.expressions import (
    OPERATOR_TEXT,
    Binding,
    asks_rank,
    called,
    cannot_raise,
    indent_unit,
    is_pure,
    negated,
    opposite,
    symbolic,
    text_of,
    torch_name,
    with_operator,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds, is_integer, tensor_argument
from ddelint.rewrite.knowledge import knowledge

_LONGEST_LINE = 110


class Inexpressible(Exception):
    """A condition that cannot be put into checks."""


@dataclass
class Conditions:
    """Turns tests into conditions and lines of checks for one site."""

    context: Context
    robust: bool = False
    """Say equalities of tensors as the negation of their opposite: strict export drops a check that fixes a number
    which nothing else uses (measured on torch 2.13)."""
    assume_tensor: bool = False
    """What to take an expression for that nothing tells the kind of."""
    imports: set[Import] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source = self.context.site.source
        self.kinds = Kinds(self.context)
        self.torch, self._torch_import = torch_name(self.source)
        self.unit = indent_unit(self.source, self.context.site.statement)

    def needed_imports(self) -> tuple[Import, ...]:
        """What the built text needs."""
        return (*self._torch_import, *sorted(self.imports, key=lambda i: (i.module, i.name)))

    # ------------------------------------------------------------------ lines

    def lines(self, node: ast.expr, want: bool, call: str, message: str = "") -> list[str]:
        """Lines that check that `node` is true (or false): `call(condition, message)`, with `if` and `for` around.

        `message` is the text of a further argument, or empty. Raises Inexpressible.
        """
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.lines(operand, not want, call, message)
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self.lines(argument, want, call, message)
            case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is want:
                return [line for value in values for line in self.lines(value, want, call, message)]
            case ast.BoolOp(values=values):
                return self._one_of(values, want, call, message)
            case ast.Compare() if len(node.ops) > 1 and want:
                return [line for text in self._links(node) for line in self._call(call, text, message)]
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if self._sizes(left) and self._sizes(
                right
            ):
                if isinstance(operator, ast.Eq) is want and isinstance(operator, (ast.Eq, ast.NotEq)):
                    return self._size_lines(left, right, call, message)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp() as each]):
                if (name == "all") is want and len(each.generators) == 1:
                    return self._each(each, want, call, message)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
                if isinstance(operator, ast.In) is not want and self._written_out(left, right):
                    return [
                        line for text in self._members(left, right, "!=") for line in self._call(call, text, message)
                    ]
        return self._call(call, self.condition(node, want), message)

    def _call(self, call: str, condition: str, message: str) -> list[str]:
        """One check, over several lines where it would be too long."""
        line = f"{call}({condition}{', ' if message else ''}{message})"
        depth = len(self.source.indentation(self.context.site.statement).expandtabs(4)) + len(self.unit.expandtabs(4))
        if depth + len(line) <= _LONGEST_LINE or "\n" in line:
            return [line]
        arguments = [condition, message] if message else [condition]
        return [f"{call}(", *(f"{self.unit}{argument}," for argument in arguments), ")"]

    def _one_of(self, values: list[ast.expr], want: bool, call: str, message: str) -> list[str]:
        """At least one of `values` is `want`. What is known while tracing becomes an `if` and still guards the rest."""
        known = 0
        while known < len(values) - 1 and self._is_known(values[known]):
            known += 1
        rest = values[known:]
        if len(rest) == 1:
            body = self.lines(rest[0], want, call, message)
        else:
            self._compute_all(rest)
            together = self._combined("sym_or", [self.condition(value, want) for value in rest])
            body = self._call(call, together, message)
        if not known:
            return body
        guards = [
            wrapped(negated(self.source, value), Binding.NOT) if want else text_of(self.source, value, Binding.NOT)
            for value in values[:known]
        ]
        return [f"if {' and '.join(guards)}:", *(self.unit + line for line in body)]

    def _is_known(self, value: ast.expr) -> bool:
        """Whether an operand is answered without a question: static, or standing before the one that asks."""
        if self.kinds.of(value) is Kind.STATIC:
            return True
        decision = self.context.site.decision
        asking = self.context.site.span
        span = self.source.span(value)
        if decision is None or value is decision or span.contains(asking):
            return False
        before = (span.end_row, span.end_column) <= (asking.row, asking.column)
        return before and self.context.site.node is not decision and self.kinds.of(value) is not Kind.TENSOR

    def _each(self, each: ast.GeneratorExp, want: bool, call: str, message: str) -> list[str]:
        generator = each.generators[0]
        if generator.is_async:
            raise Inexpressible("async")
        target, iterated = self.source.segment(generator.target), text_of(self.source, generator.iter)
        body = self.lines(each.elt, want, call, message)
        for test in reversed(generator.ifs):
            body = [f"if {text_of(self.source, test)}:", *(self.unit + line for line in body)]
        return [f"for {target} in {iterated}:", *(self.unit + line for line in body)]

    def _sizes(self, node: ast.expr) -> bool:
        """Whether an expression is a shape, or a list or tuple display of sizes."""
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return bool(elements) and not any(isinstance(element, ast.Starred) for element in elements)
            case ast.Attribute(attr="shape"):
                return True
            case ast.Call(func=ast.Attribute(attr="size"), args=[], keywords=[]):
                return True
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[argument]):
                return self._sizes(argument)
            case ast.Call(func=ast.Attribute(attr="Size"), args=[argument]):
                return self._sizes(argument)
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self._sizes(value)
        return False

    def _both_sizes(self, left: ast.expr, right: ast.expr) -> bool:
        return self._sizes(left) and self._sizes(right)

    def _size_lines(self, left: ast.expr, right: ast.expr, call: str, message: str) -> list[str]:
        """Dimension by dimension: Dynamo skips a comparison of whole shapes."""
        first, second = text_of(self.source, left, Binding.COMPARED), text_of(self.source, right, Binding.COMPARED)
        if not (is_pure(left) and is_pure(right)):
            raise Inexpressible("a shape with an effect")
        for shape, sizes in ((left, right), (right, left)):
            if isinstance(sizes, (ast.Tuple, ast.List)) and self._holds_tensor(sizes.elts):
                return self._written_sizes(shape, sizes.elts, call, message)
        return [
            *self._call(call, f"len({first}) == len({second})", message),
            f"for actual, expected in zip({first}, {second}):",
            *(self.unit + line for line in self._call(call, "actual == expected", message)),
        ]

    def _holds_tensor(self, elements: Sequence[ast.expr]) -> bool:
        return any(self.kinds.of(element) is Kind.TENSOR for element in elements)

    def _written_sizes(self, shape: ast.expr, elements: Sequence[ast.expr], call: str, message: str) -> list[str]:
        """A line for each size: a tensor among them (a count that was never read) is read by `.item()`."""
        whole = text_of(self.source, shape, Binding.PRIMARY)
        lines = self._call(call, f"len({whole}) == {len(elements)}", message)
        for number, element in enumerate(elements):
            tensor = self.kinds.of(element) is Kind.TENSOR
            size = text_of(self.source, element, Binding.PRIMARY if tensor else Binding.BITWISE)
            lines += self._call(call, f"{whole}[{number}] == {size}{'.item()' if tensor else ''}", message)
        return lines

    # ------------------------------------------------------------------ one condition

    def condition(self, node: ast.expr, want: bool) -> str:
        """The text of one bool or symbolic bool that says that `node` is true (or false). Raises Inexpressible."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.condition(operand, not want)
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self.condition(argument, want)
            case ast.NamedExpr():
                raise Inexpressible("an assignment inside the test")
            case ast.BoolOp(op=operator, values=values):
                self._compute_all(values)
                function = "sym_and" if isinstance(operator, ast.And) is want else "sym_or"
                return self._combined(function, [self.condition(value, want) for value in values])
            case ast.Compare(left=first, comparators=sides) if len(node.ops) > 1:
                self._compute_all([first, *sides[1:]])
                links = self._links(node)
                if want:
                    return self._combined("sym_and", links)
                return f"{self.torch}.sym_not({self._combined('sym_and', links)})"
            case ast.Compare(ops=[ast.In() | ast.NotIn() as operator], left=left, comparators=[right]):
                return self._member(node, left, right, isinstance(operator, ast.In) is want, want)
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                return self._comparison(node, left, operator, right, want)
            case ast.Call() if called(node) in {"equal", "allclose"} and len(node.args) >= 2:
                return self._whole(node, want)
        return self._truth(node, want)

    def _compute_all(self, values: Sequence[ast.expr]) -> None:
        """Raises Inexpressible where an operand behind the first may fail that Python leaves out once it has an answer.

        With a run, that is for the run to show.
        """
        for number, value in enumerate(values[1:], start=1):
            if self.context.kind == "static" and not cannot_raise(value, not asks_rank(*values[:number])):
                raise Inexpressible("an operand that the first answer may guard")

    def _combined(self, function: str, conditions: list[str]) -> str:
        if len(conditions) == 1:
            return conditions[0]
        self.imports.add(symbolic(function))
        return f"{function}({', '.join(conditions)})"

    def _links(self, node: ast.Compare) -> list[str]:
        """Each link of a chained comparison as a condition of its own."""
        sides = [node.left, *node.comparators]
        if not all(is_pure(side) for side in sides[1:-1]):
            raise Inexpressible("a chained comparison with an effect")
        texts: list[str] = []
        for left, operator, right in zip(sides, node.ops, sides[1:]):
            link = ast.Compare(left=left, ops=[operator], comparators=[right])
            first, second = (text_of(self.source, side, Binding.BITWISE) for side in (left, right))
            text = f"{first} {OPERATOR_TEXT[type(operator)]} {second}"
            texts.append(self._relation(link, text, left, operator, right, True))
        return texts

    def _comparison(self, node: ast.Compare, left: ast.expr, operator: ast.cmpop, right: ast.expr, want: bool) -> str:
        return self._relation(node, text_of(self.source, node), left, operator, right, want)

    def _relation(
        self, node: ast.Compare, text: str, left: ast.expr, operator: ast.cmpop, right: ast.expr, want: bool
    ) -> str:
        kind = self.kinds.of(node)
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and self.assume_tensor):
            return self._tensor_relation(text, left, operator, right, want)
        if want:
            return text
        ordered = isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        floats = any((fact := self.kinds.fact(side)) and fact.kind in {"float", "symfloat"} for side in (left, right))
        if ordered and floats:  # NaN is neither less nor greater
            return f"{self.torch}.sym_not({text})"
        return with_operator(text, opposite(operator))

    def _tensor_relation(self, text: str, left: ast.expr, operator: ast.cmpop, right: ast.expr, want: bool) -> str:
        if self.robust:
            inverse = with_operator(text, opposite(operator)) if want else text
            return f"{self.torch}.sym_not({wrapped(inverse, Binding.PRIMARY)}.item())"
        if all(self._exact(side) for side in (left, right)):
            texts = []
            for side in (left, right):
                tensor = self.kinds.of(side) is Kind.TENSOR or self._reduced(side)
                place = Binding.PRIMARY if tensor else Binding.BITWISE
                texts.append(text_of(self.source, side, place) + (".item()" if tensor else ""))
            chosen = type(operator) if want else opposite(operator)
            return f"{texts[0]} {OPERATOR_TEXT[chosen]} {texts[1]}"
        if want:
            return f"{wrapped(text, Binding.PRIMARY)}.item()"
        return f"{self.torch}.sym_not({wrapped(text, Binding.PRIMARY)}.item())"

    def _exact(self, side: ast.expr) -> bool:
        """Whether comparing the item gives what comparing the tensor gives: one element, integers throughout."""
        kind = self.kinds.of(side)
        if kind is Kind.NUMBER:
            if isinstance(side, ast.Constant):
                return isinstance(side.value, int)
            fact = self.kinds.fact(side)
            return fact is None or fact.kind in {"int", "symint"}
        if kind is Kind.STATIC or kind is Kind.BOOL:
            return False
        shape = self.kinds.shape(side)
        one_element = shape is not None and all(size == "1" for size in shape)
        return one_element and (is_integer(self.kinds.dtype(side)) or self.kinds.dtype(side) == "integer")

    def _reduced(self, side: ast.expr) -> bool:
        return self.kinds.of(side) not in (Kind.NUMBER, Kind.STATIC, Kind.BOOL)

    def _member(self, node: ast.Compare, left: ast.expr, right: ast.expr, inside: bool, want: bool) -> str:
        """`u in (1, 2)` as comparisons; a container that isn't written out stays as it is."""
        if not self._written_out(left, right):
            return text_of(self.source, node) if want else negated(self.source, node)
        return self._combined("sym_or" if inside else "sym_and", self._members(left, right, "==" if inside else "!="))

    def _written_out(self, left: ast.expr, right: ast.expr) -> bool:
        return isinstance(right, (ast.Tuple, ast.List, ast.Set)) and bool(right.elts) and is_pure(left)

    def _members(self, left: ast.expr, right: ast.expr, operator: str) -> list[str]:
        """One comparison of `left` with each element of a display."""
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            raise Inexpressible("a container that is not written out")
        subject = text_of(self.source, left, Binding.BITWISE)
        return [f"{subject} {operator} {text_of(self.source, item, Binding.BITWISE)}" for item in right.elts]

    def _whole(self, node: ast.Call, want: bool) -> str:
        """`torch.equal(a, b)` has no traceable answer: compare element by element."""
        first, second = node.args[0], node.args[1]
        if called(node) == "equal":
            pair = f"{text_of(self.source, first, Binding.BITWISE)} == {text_of(self.source, second, Binding.BITWISE)}"
            whole = f"({pair}).all()"
        else:
            arguments = [text_of(self.source, argument) for argument in node.args]
            arguments += [self.source.segment(keyword) for keyword in node.keywords]
            whole = f"{self.torch}.isclose({', '.join(arguments)}).all()"
        if not isinstance(node.func, ast.Attribute) or ast.unparse(node.func.value) not in {"torch", self.torch}:
            raise Inexpressible("a method")
        return self._item(whole, want)

    def _truth(self, node: ast.expr, want: bool) -> str:
        kind = self.kinds.of(node)
        if kind is Kind.UNKNOWN and self.assume_tensor:
            kind = Kind.TENSOR
        if kind is Kind.TENSOR:
            text = text_of(self.source, node, Binding.PRIMARY)
            dtype = self.kinds.dtype(node)
            if dtype == "bool" or (not dtype and isinstance(node, ast.Call) and called(node) in knowledge().boolean):
                return self._item(text, want)
            return self._item(f"({text} != 0)", want)
        if kind is Kind.NUMBER:
            return f"{text_of(self.source, node, Binding.BITWISE)} {'!=' if want else '=='} 0"
        if want:
            return text_of(self.source, node)
        if kind is Kind.STATIC:
            return negated(self.source, node)
        return f"{self.torch}.sym_not({text_of(self.source, node)})"

    def _item(self, text: str, want: bool) -> str:
        """The item of a one-element tensor of booleans, or its opposite."""
        if not want:
            return f"{self.torch}.sym_not({text}.item())"
        if self.robust:
            return f"{self.torch}.sym_not({self.torch}.logical_not({text}).item())"
        return f"{text}.item()"


def subject_of(node: ast.expr) -> ast.expr:
    """The tensor that a test is about: `mask` of `mask.any()`; the node itself where it isn't a call."""
    return (tensor_argument(node) or node) if isinstance(node, ast.Call) else node
