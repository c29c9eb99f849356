"""Expressions that go on to the left: long sums, calls of what calls gave. They are evaluated from their inner end.

`x + 1 + 2 + 3` is a sum of a sum of a sum, and `x.relu().abs()` a call of an attribute of a call: a generated table, or
a builder that is called a thousand times, nests deeper than Python's stack, though nobody would call it deep.
"""

from __future__ import annotations

import ast

FIRST: dict[type[ast.AST], str] = {
    ast.Attribute: "value",
    ast.Await: "value",
    ast.BinOp: "left",
    ast.Call: "func",
    ast.Subscript: "value",
    ast.UnaryOp: "operand",
}
"""The part that is evaluated first, before anything else happens."""
