"""What a text shows by itself, whoever calls: that something is an array, of which other words say the same.

Guesses from names and annotations do not count here: a caller may give what it likes. What torch makes in the function
itself, what is selected by a mask, and what has the methods of an array (`sum`, `argmax`) is an array, or the original
raises as well.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_torch, is_whole, reduces_all
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called

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
        return all(reading.is_array(node) for node in _asked(context, diagnostic))
    return diagnostic.code in knowledge().vouched


def _asked(context: Context, diagnostic: Diagnostic) -> list[ast.expr]:
    """The parts of a test that are read as tensors."""
    texts = {text for text, kind in diagnostic.kinds if kind == "tensor" and text}
    test = context.site.decision
    found = [node for node in ast.walk(test) if isinstance(node, ast.expr)] if test is not None else []
    return [node for node in found if ast.unparse(node) in texts] or ([test] if test is not None else [])


class _Reading:
    """Reads expressions of one function, with nothing known of what runs saw."""

    def __init__(self, context: Context) -> None:
        self.context = replace(context, types={})
        self.kinds = Kinds(self.context)

    def is_one_integer(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an integer of an array's own type, of one element: `(x > 0).sum()`, `torch.argmax(x)`."""
        if isinstance(node, ast.Name) and depth < _DEEPEST:
            value = definition(self.context, node.id)
            return value is not None and self.is_one_integer(value, depth + 1)
        if not isinstance(node, ast.Call) or called(node) not in knowledge().reductions or not reduces_all(node):
            return False
        return is_whole(self.kinds.dtype(node)) and self.is_array(node)

    def has_rows(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an array of at least one dimension: `x[x > 0]`, `torch.nonzero(x)`."""
        match node:
            case ast.Name() if depth < _DEEPEST:
                value = definition(self.context, node.id)
                return value is not None and self.has_rows(value, depth + 1)
            case ast.Subscript(value=value, slice=ast.Compare(left=left, comparators=comparators)):
                return any(ast.dump(side) == ast.dump(value) for side in (left, *comparators))
            case ast.Subscript(slice=mask):
                return self.kinds.dtype(mask) == "bool" and self.is_array(mask)
            case ast.Call(func=ast.Attribute(value=owner)) if is_torch(owner):
                return called(node) in knowledge().rows_found and len(node.args) == 1 and not node.keywords
        return False

    def is_array(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether it is an array, whoever calls. A comparison by itself may be one of numbers."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.Name():
                value = definition(self.context, node.id)
                return value is not None and self.is_array(value, depth + 1)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                if isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                    return False
                return depth > 0 or any(self.is_array(side, depth + 1) for side in (left, right))
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                return False
            case ast.UnaryOp(operand=operand):
                return self.is_array(operand, depth + 1)
            case ast.BinOp(left=left, right=right):
                return self.is_array(left, depth + 1) or self.is_array(right, depth + 1)
            case ast.Subscript(value=value):
                return self.is_array(value, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner)) if is_torch(owner):
                return self.kinds.of(node) is Kind.TENSOR
            case ast.Call(func=ast.Attribute(value=owner)):
                by_method = called(node) in knowledge().reductions and reduces_all(node)
                return self.kinds.of(node) is Kind.TENSOR and (by_method or self.is_array(owner, depth + 1))
        return False
