"""What a text shows by itself, whoever calls: that something is an array, of which other words say the same.

Guesses from names and annotations do not count here, nor do methods (`x.sum()`): a caller may give what it likes, and
columns of a table or meters sum up to Python's numbers. An array is what torch's functions make, what they were given
in a statement that was run before (they take nothing else), and what is computed of that and of constants. The docs
(how-fixes-are-verified.md) name what is assumed all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_torch, is_whole, reduces_all
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bindings, called, enclosing_block, is_literal

_DEEPEST = 8


def is_shown(context: Context) -> bool:
    """Whether the text shows that what the site's rule puts in its place gives the same for every caller."""
    reading = _Reading(context)
    diagnostic, node = context.diagnostic, context.site.node
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]) if diagnostic.code == "DDE201":
            return reading.is_one_integer(value)
        case ast.Call(func=ast.Name(id="len"), args=[value], keywords=[]) if diagnostic.code == "DDE207":
            return reading.has_rows(value)
    if diagnostic.code in ("DDE103", "DDE104"):
        test = context.site.decision
        return test is not None and all(map(reading.is_one_answer, _operands(test)))
    return diagnostic.code in knowledge().vouched


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What a test is put together from by `and`, `or`, `not`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _operands(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _operands(value)
        case _:
            yield test


def _given_to_torch(node: ast.AST) -> Iterator[str]:
    """The names that torch's functions are given whenever a simple statement, or an expression, is run."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=function), args=[ast.Name(id=name), *_]) if (
            function in knowledge().of_tensors_alone
        ):
            yield name
    for inner in _run_in_any_case(node):
        yield from _given_to_torch(inner)


def _run_in_any_case(node: ast.AST) -> list[ast.AST]:
    """The parts of a simple statement, or an expression, that are run whenever it is."""
    match node:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr() | ast.Call() | ast.keyword():
            return list(ast.iter_child_nodes(node))
        case ast.BinOp() | ast.UnaryOp() | ast.Attribute() | ast.Subscript() | ast.Tuple() | ast.List():
            return list(ast.iter_child_nodes(node))
        case ast.Compare(left=left, comparators=[right, *_]):
            return [left, right]
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            return [first]
    return []


class _Reading:
    """Reads expressions of one function, with nothing known of what runs saw."""

    def __init__(self, context: Context) -> None:
        self.context = replace(context, types={})
        self.kinds = Kinds(self.context)

    def is_one_integer(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an integer of an array's own type, of one element: `(x > 0).sum()`, `torch.argmax(x)`."""
        if isinstance(node, ast.Name) and depth < _DEEPEST:
            value = self._value_of(node)
            return value is not None and self.is_one_integer(value, depth + 1)
        if not isinstance(node, ast.Call) or called(node) not in knowledge().reductions or not reduces_all(node):
            return False
        return is_whole(self.kinds.dtype(node)) and self.is_array(node)

    def is_one_answer(self, node: ast.expr) -> bool:
        """Whether it is an array of one element, whose truth value is told: `torch.isnan(x).any()`."""
        return self.kinds.shape(node) == () and self.is_array(node)

    def has_rows(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an array of at least one dimension: `y[y > 0]`, `torch.nonzero(x)`."""
        match node:
            case ast.Name() if depth < _DEEPEST:
                value = self._value_of(node)
                return value is not None and self.has_rows(value, depth + 1)
            case ast.Subscript(value=value, slice=mask):
                return self.kinds.dtype(mask) == "bool" and self.is_array(mask) and self.is_array(value)
            case ast.Call(func=ast.Attribute(value=owner)) if is_torch(owner):
                return called(node) in knowledge().rows_found and len(node.args) == 1 and not node.keywords
        return False

    def is_array(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an array, whoever calls."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Name():
                value = self._value_of(node)
                return (value is not None and self.is_array(value, depth + 1)) or self._was_given_to_torch(node)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                is_relation = not isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn))
                return is_relation and self._is_of_arrays((left, right), depth)
            case ast.UnaryOp(op=ast.Not()):
                return False
            case ast.UnaryOp(operand=operand):
                return self.is_array(operand, depth + 1)
            case ast.BinOp(left=left, right=right):
                return self._is_of_arrays((left, right), depth)
            case ast.Subscript(value=value):
                return self.is_array(value, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner)) if is_torch(owner):
                return self.kinds.of(node) is Kind.TENSOR
            case ast.Call(func=ast.Attribute(value=owner)):
                return self.kinds.of(node) is Kind.TENSOR and self.is_array(owner, depth + 1)
        return False

    def _is_of_arrays(self, sides: tuple[ast.expr, ast.expr], depth: int) -> bool:
        """Whether an operator gets an array, and another one or a constant: other objects answer in its place."""
        arrays = [self.is_array(side, depth + 1) for side in sides]
        return any(arrays) and all(array or is_literal(side) for array, side in zip(arrays, sides, strict=True))

    def _value_of(self, name: ast.Name) -> ast.expr | None:
        """What the function puts under a name, where nobody else can."""
        return None if self._is_shared(name) else definition(self.context, name.id)

    def _is_shared(self, name: ast.Name) -> bool:
        function = self.context.site.function
        return function is None or any(
            isinstance(node, (ast.Global, ast.Nonlocal)) and name.id in node.names for node in ast.walk(function)
        )

    def _was_given_to_torch(self, name: ast.Name) -> bool:
        """Whether a statement that was run before has given the name, which has one value, to a function of torch."""
        site, function = self.context.site, self.context.site.function
        if function is None or bindings(function, name.id) != 1 or self._is_shared(name):
            return False
        inside = [site.statement]
        inside += [n for n in site.source.ancestors(site.statement) if isinstance(n, ast.stmt)]
        for statement in inside[: inside.index(function)]:
            block = enclosing_block(site.source, statement)
            if any(name.id in _given_to_torch(before) for before in block[: block.index(statement)]):
                return True
        return False
