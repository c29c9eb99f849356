"""Facts that the compiler cannot see, stated with `torch._check` before the line that needs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.knowledge.operators import operators
from ddelint.nouns.diagnostics import Claim, Symbol
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.proofs import Proofs
from ddelint.rewrite.proving.relations import elements, parsed, relation
from ddelint.rewrite.reading.around import counted_mask
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import called, opposite, parameters
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.sites import Role

_TESTS = frozenset((Role.IF_TEST, Role.WHILE_TEST, Role.ASSERT_TEST, Role.TERNARY_TEST, Role.COMPREHENSION_TEST))
_ORIGIN = "a count is never negative and never more than what is counted"
_PLAIN = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.BinOp, ast.UnaryOp),
    *(ast.operator, ast.cmpop, ast.unaryop, ast.expr_context),
)
"""What a fact may be made of, calls for sizes and `.shape[…]` aside."""
_SIZE_CALLS = frozenset(("size", "numel", "dim", "nelement", "sym_max", "sym_min"))


@rewriting("size_fact")
def size_fact(context: Context) -> Iterator[Rewrite]:
    """`torch._check(n >= 0)`, `torch._check(n <= mask.numel())`, or the asked relation itself, before the statement."""
    facts, decides = list(_bounds(context)), _decides(context)
    if facts and not (decides and _leave_open(context, facts)):
        yield from _stated(context, facts, Claim.EQUIVALENT, _ORIGIN, proof=_ORIGIN)
    if decides or context.kind not in ("truth", "failure", "operator"):
        return
    proofs = Proofs(context, context.site.statement)
    for fact in _asked(context):
        proof, said = proofs.of(fact), ast.unparse(fact)
        claim = Claim.EQUIVALENT if proof else Claim.RESTRUCTURED
        reported = f"`{said}`: {proof}" if proof else ""
        for stated in ([fact], [*facts, fact]) if facts else ([fact],):
            yield from _stated(context, stated, claim, f"states `{said}`, which the operator asks for", reported)


def _decides(context: Context) -> bool:
    """Whether a test asks, and no operator."""
    return context.site.role in _TESTS or isinstance(context.site.statement, ast.Match)


def _leave_open(context: Context, facts: Sequence[ast.expr]) -> bool:
    """Whether a test may go either way whatever the bounds say: whether there is nothing, or more than some number."""
    only_least = all(isinstance(fact, ast.Compare) and isinstance(fact.ops[0], ast.GtE) for fact in facts)
    match parsed(context.diagnostic.expression):
        case ast.Compare(ops=[ast.Lt() | ast.GtE()], comparators=[ast.Constant(value=0)]):
            return False
        case ast.Compare(ops=[_], comparators=[ast.Constant(value=0)]):
            return True
        case ast.Compare(ops=[_], comparators=[right]):
            return only_least and not isinstance(right, ast.UnaryOp)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return True
    return False


def _stated(context: Context, facts: Sequence[ast.expr], claim: Claim, why: str, proof: str) -> Iterator[Rewrite]:
    function, statement = context.site.function, context.site.statement
    if function is None:
        return
    known = {
        ast.unparse(node.args[0])
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and called(node) in operators().checks and node.args
    }
    if not all(ast.unparse(fact) in known for fact in facts):
        checks = [check for fact in facts for check in context.write.lines("torch._check({fact})", fact=fact)]
        yield Rewrite(why, {statement: [*checks, statement]}, claim, proof=proof)


def _bounds(context: Context) -> Iterator[ast.expr]:
    """What follows from where a symbol comes from."""
    for symbol in context.diagnostic.symbols:
        number = _usable(context, symbol.name)
        if number is None:
            continue
        counted = _counted(context, symbol)
        if counted is None and ".shape[" not in symbol.name and ".size(" not in symbol.name:
            continue
        yield relation(number, ast.GtE(), 0)
        if isinstance(counted, ast.Name) and _usable(context, counted.id) is not None:
            yield relation(number, ast.LtE(), elements(counted))


def _counted(context: Context, symbol: Symbol) -> ast.expr | None:
    """What the expression that made a symbol counts: `mask` of `mask.sum().item()`; None where it is no count."""
    tree = parsed(symbol.expression)
    masks = (counted_mask(Kinds(context), node) for node in ast.walk(tree)) if tree is not None else ()
    return next((mask for mask in masks if mask is not None), None)


def _asked(context: Context) -> Iterator[ast.expr]:
    """The question of an operator, and its opposite, where it is a relation of things at hand."""
    match _usable(context, context.diagnostic.expression):
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            # an operator that asks for zero, for a small size or for inequality hopes that it isn't so
            small = isinstance(operator, (ast.Eq, ast.Lt, ast.LtE)) and ast.unparse(right) in {"0", "1", "2"}
            signs: list[ast.cmpop] = [operator, opposite(operator)()]
            for sign in reversed(signs) if isinstance(operator, ast.NotEq) or small else signs:
                yield relation(left, sign, right)
                # whoever asks for one row goes on to ask for none
                if isinstance(sign, ast.NotEq) and ast.unparse(right) in {"0", "1"}:
                    yield relation(left, ast.Gt(), right)


def _usable(context: Context, text: str) -> ast.expr | None:
    """`text` as an expression over names of the function that reads nothing anew; None where it isn't one."""
    function, tree = context.site.function, parsed(text)
    if function is None or tree is None:
        return None
    row = context.site.statement.lineno
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.lineno <= row]
    known = parameters(function.args) | {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        match node:
            case ast.Call() if called(node) in _SIZE_CALLS:
                continue
            case ast.Name(id=name) if name not in known | {"torch", "math"}:
                return None
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                continue
            case _ if not isinstance(node, _PLAIN):
                return None
    return tree
