"""What is cut where it is longer than a limit, and kept as it is where it isn't."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, is_pure, names_read, names_written
from ddelint.sources.source import SourceFile


def limits_of(source: SourceFile, body: Sequence[ast.stmt], limit: str) -> tuple[list[ast.expr], list[ast.expr]]:
    """Where a limit cuts something, and wherever it is read.

    It cuts as the end of a slice, an argument of `topk` and its like, or a name's new value. A number that is written
    down is the limit only where it cuts (`x[:2].mean(2)`), and 0 is none: what is longer is not empty.
    """
    if limit == "0":
        return [], []
    found: list[ast.expr] = []
    read: list[ast.expr] = []
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.expr) and ast.unparse(node) == limit:
            read.append(node)
            match source.parents[node]:
                case ast.Slice(upper=upper) if upper is node:
                    found.append(node)
                case ast.Call() as call if called(call) in knowledge().shaped and node in call.args:
                    found.append(node)
                case ast.keyword(arg="k") | ast.Assign(targets=[ast.Name()]):
                    found.append(node)
    return found, found if limit.isdigit() else read


def cut_alike(context: Context, statement: ast.If) -> dict[ast.AST, Any]:
    """`if n > k: x, i = y.topk(k)`, `else: x, i = y.sort()` with both to the smaller of `n` and `k`: of one length.

    Each arm does what it did where it runs. Empty where the arms are no such pair.
    """
    match statement.test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as sign], comparators=[right]):
            pass
        case _:
            return {}
    kinds, write = Kinds(context), context.write
    if not is_pure(statement.test) or any(number_kind(kinds, side) not in ("int", "") for side in (left, right)):
        return {}
    for length, limit in ((left, right), (right, left)):
        cuts_first = isinstance(sign, (ast.Gt, ast.GtE)) is (length is left)
        cutting, keeping = (statement.body, statement.orelse) if cuts_first else (statement.orelse, statement.body)
        cuts, _ = limits_of(context.site.source, cutting, ast.unparse(limit))
        given = names_written(*cutting) & names_written(*keeping)
        tensors = sorted(name for name in given if kinds.of(ast.Name(name, ast.Load())) is Kind.TENSOR)
        if cuts and tensors and not given & names_read(limit):
            shorter = write.expr("torch.sym_min({}, {})", limit, length)
            lines = [write.expr("{}.narrow(0, 0, {})", name, shorter) for name in tensors]
            cut = [line for name, value in zip(tensors, lines) for line in write.assigned(name, value)]
            return {**dict.fromkeys(cuts, shorter), keeping[-1]: [keeping[-1], *cut]}
    return {}
