"""An early return on emptiness goes while compiling; what divides by the count then divides by at least 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import function_statements, headers, is_tensor, number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, called, is_pure, names_read, names_written
from ddelint.rewrite.reading.polarity import general_path, general_side
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting
from ddelint.sources.sites import Block, Role

_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)


@rewriting("clamp_divisor")
def clamp_divisor(context: Context) -> Iterator[Rewrite]:
    """The emptiness test is asked only in eager, and `x / n` behind it becomes `x / torch.sym_max(n, 1)`."""
    site = context.site
    test = site.decision
    if test is None or site.role not in (Role.IF_TEST, Role.TERNARY_TEST) or asks_compiling(test):
        return
    if site.block in (Block.RAISES, Block.WARNS):
        return
    side = general_side(test)
    if side is None or isinstance(site.source.parents.get(test), ast.BoolOp):
        return
    clamped = _clamped(context, general_path(context, test, side), _related(context, test))
    if clamped:
        in_eager = "torch.compiler.is_compiling() or {}" if side else "not torch.compiler.is_compiling() and {}"
        yield Rewrite(
            "the empty case is asked for only in eager; while compiling the general path divides by at least 1",
            {**clamped, test: context.write.expr(in_eager, test)},
            Claim.GENERAL_PATH,
            decisions=(test,),
        )


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


def _clamped(context: Context, path: Sequence[ast.AST], related: set[str]) -> dict[ast.AST, Expr]:
    """Divisors and means of the general path, with what doesn't divide by zero."""
    changes: dict[ast.AST, Expr | None] = {}
    for root in path:
        for node in ast.walk(root):
            match node:
                case ast.BinOp(op=operator, right=right) if isinstance(operator, _DIVISIONS):
                    changes[right] = _at_least_one(context, right, related)
                case ast.Call(func=ast.Attribute(value=owner)) if called(node) == "mean":
                    changes[node] = _mean(context, node, owner, related)
    return {node: new for node, new in changes.items() if new is not None}


def _at_least_one(context: Context, node: ast.expr, related: set[str]) -> Expr | None:
    """A divisor that is never 0; None where it is not a count."""
    kinds, name = Kinds(context), called(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Constant) or not names_read(node) & related or not is_pure(node):
        return None
    if name in {"sym_max", "max", "clamp", "clamp_min", "maximum"}:
        return None
    fact = kinds.fact(node)
    if fact is not None and fact.kind in {"int", "float"} and fact.role:
        return None
    if is_tensor(kinds, node):
        counts = name in {"sum", "count_nonzero", "numel"} or kinds.dtype(node).startswith("int")
        return context.write.expr("{}.clamp(min=1)", node) if counts else None
    if number_kind(kinds, node) == "int" or name == "item":
        return context.write.expr("torch.sym_max({}, 1)", node)
    return None


def _mean(context: Context, node: ast.Call, tensor: ast.expr, related: set[str]) -> Expr | None:
    """`x.mean(0)` → `x.sum(0) / torch.sym_max(x.shape[0], 1)`."""
    own, write = node.args, context.write
    if ast.unparse(tensor) == write.torch:
        if not own:
            return None
        tensor, *own = own
    if not isinstance(tensor, (ast.Name, ast.Attribute)) or not names_read(tensor) & related:
        return None
    if any(keyword.arg not in {"dim", "keepdim"} for keyword in node.keywords) or len(own) > 1:
        return None
    match own[0] if own else next((k.value for k in node.keywords if k.arg == "dim"), None):
        case None:
            count = write.expr("{}.numel()", tensor)
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()) as dimension:
            count = write.expr("{}.shape[{}]", tensor, dimension)
        case _:
            return None
    return write.expr("{}.sum({}) / torch.sym_max({}, 1)", tensor, [*own, *node.keywords], count)
