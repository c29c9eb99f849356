"""What one would write by hand, for the kind of question that was asked, and in the names of whoever asks.

A rule lists questions with capital letters for whatever stands there (`A.any()`), and the lines to write instead.
Some letters stand for less: `D` for an integer that is written out, `N` and `M` for a number, `T` for a tensor, each as
far as its spelling tells. None stands for a module, and so `F` is no letter. There `is` is any comparison of two by
size, and in the lines the same one, and `is not` its opposite. The first pattern that matches is the one that counts.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddelint.knowledge.operators import operators
from ddelint.nouns.comparisons import OPPOSITE
from ddelint.sources.parsing import TOO_DEEP, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddelint.knowledge.catalog import Rule

LONGEST = 60
"""Characters of what stands for one letter: longer ones make no example that anybody reads."""
_PLACE = "{form}"


def example_of(rule: Rule, expression: str) -> str:
    """The lines for a question; empty where the rule knows none for one like it."""
    return next((lines for _, lines in examples_of(rule, expression)), "")


def examples_of(rule: Rule, expression: str) -> Iterator[tuple[str, str]]:
    """Each pattern that is one of a question, in the rule's order, with the lines that it says."""
    asked = _expression(expression)
    if asked is None:
        return
    for example in rule.by_hand:
        for pattern, form in example.asks.items():
            found = _Found()
            known, written = _expression(pattern), _expression(form)
            if known is None or written is None:  # a test holds that there is none
                continue
            if found.matches(known, asked) and found.is_short:
                yield pattern, example.code.replace(_PLACE, ast.unparse(found.visit(written)))


def _expression(text: str) -> ast.expr | None:
    try:
        tree = parse(text, "question")
    except (SyntaxError, ValueError, *TOO_DEEP):
        return None
    match tree.body:
        case [ast.Expr(value=value)]:
            return value
    return None


def _is_letter(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and len(node.id) == 1 and node.id.isupper() and not _is_spelled(node, "modules")


def _is_spelled(node: ast.AST, kind: str) -> bool:
    """Whether a name is one of a list of names."""
    return isinstance(node, ast.Name) and node.id in operators().spelling[kind]


def _may_stand_for(letter: str, node: object) -> bool:
    """Whether an expression may be what a letter stands for."""
    match node:
        case ast.Constant(value=value):
            return letter != "T" and type(value) in ((int,) if letter == "D" else (int, float))
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.UnaryOp() | ast.BinOp() | ast.Compare():
            pass
        case _:  # what holds others, a choice, a function, and so on: no value of which a question is asked
            return False
    if _is_spelled(node, "modules"):
        return False
    if letter == "D":
        return isinstance(node, ast.UnaryOp) and _is_number(node) and _may_stand_for("D", node.operand)
    if letter in ("N", "M"):
        return _is_number(node)
    return letter != "T" or _is_tensor(node)


def _is_number(node: ast.AST) -> bool:
    """Whether an expression is a number of Python's, or a name that may be one."""
    known = operators().spelling
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Name(id=name):
            return name not in known["several"] and name not in known["modules"]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Subscript(value=sizes):
            return _is_sizes(sizes) and not isinstance(node.slice, ast.Slice)
        case ast.Attribute(attr=name):
            return name in known["number_attributes"]
        case ast.Call(func=ast.Name(id=name)) if name in known["of_numbers"]:
            return all(map(_is_number, node.args)) and not node.keywords
        case ast.Call(func=ast.Name(id=name)):
            return name in known["number_calls"]
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in known["number_calls"] and (name not in known["sizes"] or bool(node.args or node.keywords))
    return False


def _is_sizes(node: ast.AST) -> bool:
    """Whether an expression gives the sizes of a tensor: `x.shape`, `x.size()`."""
    match node:
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]):
            return name in operators().spelling["sizes"]
    return False


def _is_tensor(node: ast.AST) -> bool:
    """Whether an expression may be a tensor: none that gives numbers, and no operator, which may be one of numbers."""
    known = operators().spelling
    no_tensors = known["number_calls"] | known["number_attributes"] | known["no_tensors"]
    match node:
        case ast.Name():
            return node.id not in known["several"] and node.id not in known["modules"]
        case ast.Attribute(attr=name):
            return name not in no_tensors
        case ast.Subscript(value=value):
            return _is_tensor(value)
        case ast.Call(func=ast.Name(id=name)) if name in known["of_numbers"]:
            return not any(map(_is_number, node.args))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in no_tensors
    return False


class _Found(ast.NodeTransformer):
    """What stands for the letters of a pattern in a question; visited, it fills in those of another expression."""

    def __init__(self) -> None:
        self._parts: dict[str, ast.expr] = {}
        self._comparison: type[ast.cmpop] | None = None

    @property
    def is_short(self) -> bool:
        """Whether all of it is as short as examples are."""
        return all(len(ast.unparse(part)) <= LONGEST for part in self._parts.values())

    def matches(self, pattern: object, node: object) -> bool:
        """Whether a node is what a pattern says, each letter the same expression wherever it stands."""
        if isinstance(pattern, ast.Name) and _is_letter(pattern):
            if not isinstance(node, ast.expr) or not _may_stand_for(pattern.id, node):
                return False
            return ast.dump(self._parts.setdefault(pattern.id, node)) == ast.dump(node)
        if isinstance(pattern, ast.Is):
            if type(node) in OPPOSITE:
                self._comparison = type(node)  # type: ignore[assignment]
            return type(node) in OPPOSITE
        if isinstance(pattern, list) and isinstance(node, list):
            return len(pattern) == len(node) and all(map(self.matches, pattern, node))
        if type(pattern) is not type(node) or not isinstance(pattern, ast.AST):
            return pattern == node
        fields = (field for field in pattern._fields if field not in ("ctx", "kind"))
        return all(self.matches(getattr(pattern, field), getattr(node, field)) for field in fields)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._parts.get(node.id, node) if _is_letter(node) else node

    def visit_Is(self, node: ast.Is) -> ast.cmpop:
        return node if self._comparison is None else self._comparison()

    def visit_IsNot(self, node: ast.IsNot) -> ast.cmpop:
        return node if self._comparison is None else OPPOSITE[self._comparison]()
