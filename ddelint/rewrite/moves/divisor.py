"""An early return on emptiness goes while compiling; what divides by the count then divides by at least 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    after,
    asks_compiling,
    binding,
    called,
    compiling,
    enclosing_block,
    here,
    is_pure,
    names_read,
    names_written,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kinds
from ddelint.rewrite.polarity import general_side
from ddelint.rewrite.proposals import function_statements, headers, is_tensor, number_kind, offer, place_of, swap
from ddelint.sites import Block, Role

_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)


@move("clamp_divisor")
def clamp_divisor(context: Context) -> Iterator[Candidate]:
    """The emptiness test is asked only in eager, and `x / n` behind it becomes `x / torch.sym_max(n, 1)`."""
    site = context.site
    test = site.decision
    if test is None or site.role not in (Role.IF_TEST, Role.TERNARY_TEST) or asks_compiling(test):
        return
    if site.block in (Block.RAISES, Block.WARNS):
        return
    side = general_side(test)
    if side is None:
        return
    source = site.source
    clamped = list(_clamped(context, _general_path(context, test, side), _related(context, test)))
    if not clamped:
        return
    word = f"{compiling(context)} or " if side else f"not {compiling(context)} and "
    level = Binding.OR if side else Binding.NOT
    opened, closed = ("", "") if binding(test) >= level else ("(", ")")
    edits = [*clamped, Edit(here(source, test), word + opened)]
    if isinstance(source.parents.get(test), ast.BoolOp):
        return
    if closed:
        edits.append(Edit(after(source, test), closed))
    yield from offer(
        context,
        "clamp_divisor",
        Claim.GENERAL_PATH,
        "the empty case is asked for only in eager; while compiling the general path divides by at least 1",
        edits=edits,
        imports=torch_name(source)[1],
        decisions=[source.span(test)],
    )


def _general_path(context: Context, test: ast.expr, side: bool) -> list[ast.AST]:
    """What runs on the general side: that arm, and the statements that follow."""
    site = context.site
    if isinstance(site.statement, ast.If) and site.role is Role.IF_TEST:
        arm: Sequence[ast.stmt] = site.statement.body if side else site.statement.orelse
        block = enclosing_block(site.source, site.statement)
        return [*arm, *block[block.index(site.statement) + 1 :]]
    parent = site.source.parents.get(test)
    if isinstance(parent, ast.IfExp):
        return [parent.body if side else parent.orelse]
    return []


def _related(context: Context, test: ast.expr) -> set[str]:
    """Names that the tested quantity is made of, and names made from them."""
    function = context.site.function
    names = names_read(test)
    if function is None:
        return names
    assignments = [
        (names_written(statement), {name for header in headers(statement) for name in names_read(header)})
        for statement in function_statements(function)
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
    ]
    for written, read in reversed(assignments):
        if written & names:
            names |= read
    for written, read in assignments:
        if read & names:
            names |= written
    return names


def _clamped(context: Context, path: Sequence[ast.AST], related: set[str]) -> Iterator[Edit]:
    kinds = Kinds(context)
    source = context.site.source
    for root in path:
        for node in ast.walk(root):
            match node:
                case ast.BinOp(op=operator, right=right) if isinstance(operator, _DIVISIONS):
                    text = _at_least_one(context, kinds, right, related)
                    if text is not None:
                        yield swap(source, right, text)
                case ast.Call() if called(node) == "mean":
                    text = _mean(context, kinds, node, related)
                    if text is not None:
                        yield swap(source, node, text)


def _at_least_one(context: Context, kinds: Kinds, node: ast.expr, related: set[str]) -> str | None:
    """A divisor that is never 0; None where it is not a count."""
    source = context.site.source
    if isinstance(node, ast.Constant) or not names_read(node) & related or not is_pure(node):
        return None
    if called_name(node) in {"sym_max", "max", "clamp", "clamp_min", "maximum"}:
        return None
    torch, _ = torch_name(source)
    fact = kinds.fact(node)
    if fact is not None and fact.kind in {"int", "float"} and fact.role:
        return None
    if is_tensor(kinds, node):
        if called_name(node) in {"sum", "count_nonzero", "numel"} or kinds.dtype(node).startswith("int"):
            return f"{text_of(source, node, Binding.PRIMARY)}.clamp(min=1)"
        return None
    if number_kind(kinds, node) == "int" or called_name(node) == "item":
        return f"{torch}.sym_max({text_of(source, node)}, 1)"
    return None


def called_name(node: ast.expr) -> str:
    """The last part of what is called, for a call; empty for anything else."""
    return called(node) if isinstance(node, ast.Call) else ""


def _mean(context: Context, kinds: Kinds, node: ast.Call, related: set[str]) -> str | None:
    """`x.mean(0)` → `x.sum(0) / torch.sym_max(x.shape[0], 1)`."""
    source = context.site.source
    torch, _ = torch_name(source)
    if not isinstance(node.func, ast.Attribute):
        return None
    own = node.args
    if ast.unparse(node.func.value) == torch:
        if not node.args:
            return None
        tensor, own = node.args[0], node.args[1:]
    else:
        tensor = node.func.value
    if not isinstance(tensor, (ast.Name, ast.Attribute)) or not names_read(tensor) & related:
        return None
    if any(keyword.arg not in {"dim", "keepdim"} for keyword in node.keywords) or len(own) > 1:
        return None
    dimension = own[0] if own else next((k.value for k in node.keywords if k.arg == "dim"), None)
    text = text_of(source, tensor, Binding.PRIMARY)
    if dimension is None:
        count = f"{text}.numel()"
    elif isinstance(dimension, ast.Constant) or (
        isinstance(dimension, ast.UnaryOp) and isinstance(dimension.operand, ast.Constant)
    ):
        count = f"{text}.shape[{source.segment(dimension)}]"
    else:
        return None
    arguments = [source.segment(argument) for argument in own]
    arguments += [source.segment(keyword) for keyword in node.keywords]
    quotient = f"{text}.sum({', '.join(arguments)}) / {torch}.sym_max({count}, 1)"
    return f"({quotient})" if place_of(source, node) > Binding.ARITHMETIC + 1 else quotient
