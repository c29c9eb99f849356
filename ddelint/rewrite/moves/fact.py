"""Facts that the compiler cannot see, stated with `torch._check` before the line that needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddelint.diagnostics import Claim, Symbol
from ddelint.operators import operators
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import OPERATOR_TEXT, called, opposite, torch_name
from ddelint.rewrite.kinds import Kinds, tensor_argument
from ddelint.rewrite.proofs import Proofs
from ddelint.rewrite.proposals import lines_before, offer
from ddelint.sites import Role

_MOVE = "size_fact"
_TESTS = frozenset((Role.IF_TEST, Role.WHILE_TEST, Role.ASSERT_TEST, Role.TERNARY_TEST, Role.COMPREHENSION_TEST))
_ORIGIN = "a count is never negative and never more than what is counted"
_SIZE_CALLS = frozenset(("size", "numel", "dim", "nelement", "sym_max", "sym_min"))


@move(_MOVE)
def size_fact(context: Context) -> Iterator[Candidate]:
    """`torch._check(n >= 0)`, `torch._check(n <= mask.numel())`, or the asked relation itself, before the statement."""
    facts = list(_bounds(context))
    if facts:
        yield from _stated(context, facts, Claim.EQUIVALENT, _ORIGIN, proof=_ORIGIN)
    if context.site.role in _TESTS or context.kind not in ("truth", "failure", "operator"):
        return
    proofs = Proofs(context, context.site.statement)
    for fact in _asked(context):
        proof = proofs.of(ast.parse(fact, mode="eval").body)
        claim = Claim.EQUIVALENT if proof else Claim.RESTRUCTURED
        told = f"`{fact}`: {proof}" if proof else ""
        for stated in ([fact], [*facts, fact]) if facts else ([fact],):
            yield from _stated(context, stated, claim, f"states `{fact}`, which the operator asks for", proof=told)


def _stated(context: Context, facts: list[str], claim: Claim, why: str, proof: str) -> Iterator[Candidate]:
    torch, imports = torch_name(context.site.source)
    line = lines_before(context.site.source, context.site.statement, [f"{torch}._check({fact})" for fact in facts])
    if line is not None and not _stand_before(context, facts):
        for candidate in offer(context, _MOVE, claim, why, edits=[line], imports=imports):
            yield replace(candidate, proof=proof)


def _stand_before(context: Context, facts: list[str]) -> bool:
    """Whether all the checks are in the function already."""
    function = context.site.function
    if function is None:
        return True
    known = {
        ast.unparse(node.args[0])
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and called(node) in operators().checks and node.args
    }
    return all(_normal(fact) in known for fact in facts)


def _normal(text: str) -> str:
    return ast.unparse(ast.parse(text, mode="eval"))


def _bounds(context: Context) -> Iterator[str]:
    """What follows from where a symbol comes from."""
    for symbol in context.diagnostic.symbols:
        name = _usable(context, symbol.name)
        if name is None:
            continue
        counted = _counted(context, symbol)
        if counted is None and ".shape[" not in symbol.name and ".size(" not in symbol.name:
            continue
        yield f"{name} >= 0"
        if counted and _usable(context, counted) is not None and counted.isidentifier():
            yield f"{name} <= {counted}.numel()"


def _counted(context: Context, symbol: Symbol) -> str | None:
    """What the expression that made a symbol counts: `mask` of `mask.sum().item()`; None where it is no count."""
    try:
        tree = ast.parse(symbol.expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in operators().counting:
            subject = tensor_argument(node)
            if subject is not None and Kinds(context).dtype(subject) == "bool":
                return ast.unparse(subject)
    return None


def _asked(context: Context) -> Iterator[str]:
    """The question of an operator, and its opposite, where it is a relation of things at hand."""
    text = _usable(context, context.diagnostic.expression)
    if text is None:
        return
    match ast.parse(text, mode="eval").body:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            sides = [ast.unparse(left), ast.unparse(right)]
            kinds = [type(operator), opposite(operator)]
            # an operator that asks for zero, for a small size or for inequality hopes that it isn't so
            small = isinstance(operator, (ast.Eq, ast.Lt, ast.LtE)) and sides[1] in {"0", "1", "2"}
            if isinstance(operator, ast.NotEq) or small:
                kinds.reverse()
            for kind in kinds:
                yield f"{sides[0]} {OPERATOR_TEXT[kind]} {sides[1]}"
                if kind is ast.NotEq and sides[1] == "0":
                    yield f"{sides[0]} > 0"


def _usable(context: Context, text: str) -> str | None:
    """`text` where it is an expression over names of the function that reads nothing anew."""
    function = context.site.function
    if function is None:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    known = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    row = context.site.statement.lineno
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno <= row:
            known.add(node.id)
    for node in ast.walk(tree):
        match node:
            case ast.Call() if called(node) in _SIZE_CALLS:
                continue
            case ast.Name(id=name) if name not in known | {"torch", "math"}:
                return None
            case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Name() | ast.Constant() | ast.Attribute():
                continue
            case ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.operator() | ast.cmpop() | ast.unaryop():
                continue
            case ast.expr_context():
                continue
            case _:
                return None
    return text
