"""Python's `and`, `or`, `not`, `in`, `any`, `all` and chained comparisons ask for booleans; symbolic ones do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.conditions import Conditions, Inexpressible
from ddelint.rewrite.expressions import Binding, is_pure, symbolic, text_of, torch_name
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.proposals import around, is_tensor, offer

_MOVE = "symbolic_logic"
_TENSOR_OPERATORS: dict[type[ast.boolop], str] = {ast.And: "&", ast.Or: "|"}


@move(_MOVE)
def symbolic_logic(context: Context) -> Iterator[Candidate]:
    """`a and b` → `sym_and(a, b)`, `0 <= u <= n` → `sym_and(0 <= u, u <= n)`; on tensors `a & b`."""
    kinds = Kinds(context)
    for node in _outermost(context):
        if not is_pure(node):
            continue
        yield from _of_tensors(context, kinds, node)
        if isinstance(node, ast.Call):
            yield from _over_elements(context, kinds, node)
        else:
            yield from _of_symbols(context, kinds, node)


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


def _of_symbols(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Candidate]:
    if not _all_bool(kinds, node):
        return
    conditions = Conditions(context)
    try:
        text = conditions.condition(node, True)
    except Inexpressible:
        return
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, (ast.Compare, ast.BoolOp)):
        torch, _ = torch_name(context.site.source)
        text = f"{torch}.sym_not({text_of(context.site.source, node.operand)})"
    notes = ("every operand is computed: the symbolic form does not stop at the first answer",)
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        _message(node),
        [(node, text)],
        imports=conditions.needed_imports(),
        notes=notes if isinstance(node, ast.BoolOp) else (),
    )


def _all_bool(kinds: Kinds, node: ast.expr) -> bool:
    """Whether every operand is a bool or a symbol for one: `n or 1` gives a number and stays."""
    match node:
        case ast.BoolOp(values=values):
            return all(_all_bool(kinds, value) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _all_bool(kinds, operand) or kinds.of(operand) is Kind.BOOL
        case ast.Compare(ops=ops):
            return not any(isinstance(op, (ast.Is, ast.IsNot)) for op in ops) and kinds.of(node) is not Kind.TENSOR
        case ast.Constant(value=bool()):
            return True
    return kinds.of(node) is Kind.BOOL


def _of_tensors(context: Context, kinds: Kinds, node: ast.expr) -> Iterator[Candidate]:
    """`a and b` of one-element tensors of booleans."""
    source = context.site.source
    match node:
        case ast.BoolOp(values=values, op=operator):
            if all(is_tensor(kinds, value) and kinds.dtype(value) == "bool" for value in values):
                texts = [text_of(source, value, Binding.BITWISE + 1) for value in values]
                text = f" {_TENSOR_OPERATORS[type(operator)]} ".join(texts)
                yield from offer(context, _MOVE, Claim.RESTRUCTURED, _message(node), [(node, text)])
        case ast.UnaryOp(op=ast.Not(), operand=operand) if is_tensor(kinds, operand):
            if kinds.dtype(operand) == "bool":
                text = f"~{text_of(source, operand, Binding.ARITHMETIC + 2)}"
                yield from offer(context, _MOVE, Claim.RESTRUCTURED, _message(node), [(node, text)])


def _over_elements(context: Context, kinds: Kinds, node: ast.Call) -> Iterator[Candidate]:
    """`all(c for t in ts)` → `sym_and(True, *(c for t in ts))`; a display of conditions is written out."""
    source = context.site.source
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    function, empty = ("sym_and", "True") if name == "all" else ("sym_or", "False")
    match node.args[0]:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements:
            if any(isinstance(element, ast.Starred) or not _all_bool(kinds, element) for element in elements):
                return
            text = f"{function}({', '.join(text_of(source, element) for element in elements)})"
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element) as each:
            if not _all_bool(kinds, element):
                return
            inner = source.segment(each)
            if isinstance(each, ast.GeneratorExp) and not inner.startswith("("):
                inner = f"({inner})"
            text = f"{function}({empty}, *{inner})"
        case _:
            return
    yield from offer(context, _MOVE, Claim.RESTRUCTURED, _message(node), [(node, text)], imports=[symbolic(function)])
