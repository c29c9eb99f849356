"""Comparisons as the syntax has them."""

from __future__ import annotations

import ast

MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
"""The comparison of two numbers that says the same with its sides exchanged."""
