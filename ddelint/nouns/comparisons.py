"""Comparisons of two numbers, and what says the opposite of each."""

from __future__ import annotations

import ast
from collections.abc import Mapping

OPPOSITE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
"""For numbers that are ordered: NaN is neither below nor above."""
