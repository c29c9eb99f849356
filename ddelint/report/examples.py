"""What one would write by hand, for the kind of question that was asked, and in the names of whoever asks.

A rule lists questions with capital letters for whatever stands there (`M.any()`), and the lines to write instead.
There `is` is any comparison of two, and in the lines the same one, and `is not` its opposite.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddelint.sources.parsing import TOO_DEEP, parse

if TYPE_CHECKING:
    from ddelint.knowledge.catalog import Rule

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
LONGEST = 60
"""Characters of what stands for one letter: longer ones make no example that anybody reads."""
_PLACE = "{form}"


def example_of(rule: Rule, expression: str) -> str:
    """The lines for a question; empty where the rule knows none for one like it."""
    asked = _expression(expression)
    if asked is None:
        return ""
    for example in rule.by_hand:
        for pattern, form in example.asks.items():
            found = _Found()
            known, written = _expression(pattern), _expression(form)
            if known is None or written is None:  # a test holds that there is none
                continue
            if found.matches(known, asked) and found.is_short:
                return example.code.replace(_PLACE, ast.unparse(found.visit(written)))
    return ""


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
    return isinstance(node, ast.Name) and len(node.id) == 1 and node.id.isupper()


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
            if not isinstance(node, ast.expr) or isinstance(node, (ast.BoolOp, ast.Starred)):
                return False
            return ast.dump(self._parts.setdefault(pattern.id, node)) == ast.dump(node)
        if isinstance(pattern, ast.Is) and type(node) in _OPPOSITE:
            self._comparison = type(node)  # type: ignore[assignment]
            return True
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
        return node if self._comparison is None else _OPPOSITE[self._comparison]()
