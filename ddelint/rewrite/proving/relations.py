"""Conditions on numbers as nodes of no file: they have no place, and are written as `ast.unparse` has them."""

from __future__ import annotations

import ast


def parsed(text: str) -> ast.expr | None:
    """The expression that a run or a question names; None where the text is no expression."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return unplaced(tree)


def unplaced(tree: ast.expr) -> ast.expr:
    """The expression as one that is in no file: it is written anew, not taken over."""
    for node in ast.walk(tree):
        vars(node).pop("lineno", None)
    return tree


def relation(left: ast.expr, sign: ast.cmpop, right: ast.expr | int) -> ast.Compare:
    """`left SIGN right`."""
    return ast.Compare(left, [sign], [ast.Constant(right) if isinstance(right, int) else right])


def elements(tensor: ast.expr) -> ast.Call:
    """`tensor.numel()`."""
    return ast.Call(ast.Attribute(tensor, "numel", ast.Load()), [], [])


def size(tensor: ast.expr, dimension: ast.expr) -> ast.Subscript:
    """`tensor.shape[dimension]`."""
    return ast.Subscript(ast.Attribute(tensor, "shape", ast.Load()), dimension, ast.Load())


def less_one(number: ast.expr) -> ast.BinOp:
    """`number - 1`."""
    return ast.BinOp(number, ast.Sub(), ast.Constant(1))
