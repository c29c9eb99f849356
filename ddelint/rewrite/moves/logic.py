"""Python's `and`, `or`, `not`, `in`, `any`, `all` and chained comparisons ask for booleans; symbolic ones do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.checks import Checks, Inexpressible
from ddelint.rewrite.reading.around import around, is_tensor
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting

_ALL_COMPUTED = "every operand is computed: the symbolic form does not stop at the first answer"


@rewriting("symbolic_logic")
def symbolic_logic(context: Context) -> Iterator[Rewrite]:
    """`a and b` → `sym_and(a, b)`, `0 <= u <= n` → `sym_and(0 <= u, u <= n)`; on tensors `a & b`."""
    kinds, site = Kinds(context), context.site
    for node in _outermost(context):
        if not is_pure(node):
            continue
        forms = [_of_tensors, _over_elements if isinstance(node, ast.Call) else _of_symbols]
        # a bool that a helper returns stays one: whoever calls it may join it with others
        for form in forms[::-1] if isinstance(site.statement, ast.Return) and _is_bool(kinds, node) else forms:
            try:
                new = form(context, kinds, node)
            except Inexpressible:
                continue
            if new is not None:
                notes = (_ALL_COMPUTED,) if form is _of_symbols and isinstance(node, ast.BoolOp) else ()
                yield restructured(_message(node), {node: new}, *notes)


def _outermost(context: Context) -> Iterator[ast.expr]:
    """Logical expressions of the statement, largest first within each nest."""
    seen: set[int] = set()
    nodes = [node for node in around(context) if _is_logic(node)]
    nodes.sort(key=lambda node: -sum(1 for _ in ast.walk(node)))
    for node in nodes:
        if id(node) in seen:
            continue
        seen.update(id(inner) for inner in ast.walk(node))
        yield node


def _is_logic(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=ops):
            return len(ops) > 1 or isinstance(ops[0], (ast.In, ast.NotIn))
        case ast.Call(func=ast.Name(id="all" | "any"), args=[_], keywords=[]):
            return True
    return False


def _message(node: ast.expr) -> str:
    match node:
        case ast.BoolOp(op=ast.And()):
            word = "`and`"
        case ast.BoolOp():
            word = "`or`"
        case ast.UnaryOp():
            word = "`not`"
        case ast.Call(func=ast.Name(id=name)):
            word = f"`{name}`"
        case ast.Compare(ops=[_]):
            word = "`in`"
        case _:
            word = "a chained comparison"
    return f"{word} asks for a plain bool while tracing; the symbolic form does not"


def _of_symbols(context: Context, kinds: Kinds, node: ast.expr) -> Expr | None:
    """`sym_and(a, b)`, `torch.sym_not(a)`, `sym_and(0 <= u, u <= n)`. Raises Inexpressible."""
    if not _all_bool(kinds, node):
        return None
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, (ast.Compare, ast.BoolOp)):
        template = "torch.sym_not({}.item())" if _is_flag(kinds, node.operand) else "torch.sym_not({})"
        return context.write.expr(template, node.operand)
    return Checks(context).condition(node, True)


def _is_bool(kinds: Kinds, node: ast.expr) -> bool:
    """Whether eager makes a bool of Python's, and no tensor."""
    match node:
        case ast.BoolOp(values=values):
            return all(_is_bool(kinds, value) for value in values)
        case ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
    return kinds.of(node) is Kind.BOOL


def _is_flag(kinds: Kinds, node: ast.expr) -> bool:
    """Whether it is a tensor of one bool, as far as that is known."""
    shape = kinds.shape(node)
    return is_tensor(kinds, node) and kinds.dtype(node) == "bool" and shape in (None, (), ("1",))


def _all_bool(kinds: Kinds, node: ast.expr) -> bool:
    """Whether every operand is a bool, a tensor of one, or a symbol for one: `n or 1` gives a number and stays."""
    match node:
        case ast.BoolOp(values=values):
            asking = [value for value in values if not kinds.is_setting(value)]
            return bool(asking) and all(_all_bool(kinds, value) or _is_flag(kinds, value) for value in asking)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _all_bool(kinds, operand) or _is_flag(kinds, operand)
        case ast.Compare(ops=ops):
            return not any(isinstance(op, (ast.Is, ast.IsNot)) for op in ops) and kinds.of(node) is not Kind.TENSOR
        case ast.Constant(value=bool()):
            return True
    return kinds.of(node) is Kind.BOOL


def _of_tensors(context: Context, kinds: Kinds, node: ast.expr) -> Expr | None:
    """`a and b` of one-element tensors of booleans."""

    def is_mask(value: ast.expr) -> bool:
        return is_tensor(kinds, value) and kinds.dtype(value) == "bool"

    match node:
        case ast.BoolOp(values=values, op=operator) if all(map(is_mask, values)):
            return context.write.joined(ast.BitAnd() if isinstance(operator, ast.And) else ast.BitOr(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if is_mask(operand):
            return context.write.expr("~{}", operand)
    return None


def _over_elements(context: Context, kinds: Kinds, node: ast.expr) -> Expr | None:
    """`all(c for t in ts)` → `sym_and(True, *(c for t in ts))`; a display of conditions is written out."""
    match node:
        case ast.Call(
            func=ast.Name(id="all" | "any" as name), args=[ast.List(elts=elements) | ast.Tuple(elts=elements)]
        ):
            if not elements or not all(_all_bool(kinds, element) for element in elements):
                return None
            return context.write.expr("sym_and({})" if name == "all" else "sym_or({})", elements)
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() | ast.ListComp() as each]):
            if not _all_bool(kinds, each.elt):
                return None
            return context.write.expr("sym_and(True, *{})" if name == "all" else "sym_or(False, *{})", each)
    return None
