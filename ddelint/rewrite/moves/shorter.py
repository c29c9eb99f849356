"""What is cut to a length where it is longer: the smaller of length and limit holds for both, without a question."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.cutting import limits_of
from ddelint.rewrite.parts.truths import Truths
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, called, enclosing_block, fresh_name, is_pure, names_written
from ddelint.rewrite.reading.regions import ends_in_return
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_MESSAGE = "cut to the smaller of length and limit while compiling: that keeps what is short enough as it is"

_IN_ORDER = f"{_MESSAGE}, in the order in which it stands"


@rewriting("shorter_of_both")
def shorter_of_both(context: Context) -> Iterator[Rewrite]:
    """`if len(x) > n: x = x[:n]`, `if len(x) <= n: return x`, then `x[:n]`: to `torch.sym_min(n, len(x))`."""
    statement, write = context.site.statement, context.write
    if not isinstance(statement, ast.If) or statement.orelse or write.is_elif(statement):
        return
    match statement.test:
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as sign], comparators=[right]):
            pass
        case _:
            return
    kinds, source = Kinds(context), context.site.source
    if asks_compiling(statement) or not is_pure(statement.test):
        return
    if any(number_kind(kinds, side) not in ("int", "") for side in (left, right)):
        return
    block = enclosing_block(source, statement)
    returns = ends_in_return(statement.body)
    cutting = block[block.index(statement) + 1 :] if returns else statement.body
    # the limit is the smaller side where what cuts is run
    longer_left = isinstance(sign, (ast.Gt, ast.GtE)) is not returns
    length, limit = (left, right) if longer_left else (right, left)
    cuts, read = limits_of(source, cutting, ast.unparse(limit))
    if not cuts or names_written(*cutting) & {node.id for node in ast.walk(limit) if isinstance(node, ast.Name)}:
        return
    name = fresh_name(source, "shorter")
    template = "not torch.compiler.is_compiling() and {}" if returns else "torch.compiler.is_compiling() or {}"
    lines = write.lines("{name} = torch.sym_min({limit}, {length})", name=name, limit=limit, length=length)
    longer = fresh_name(source, "fits" if returns else "longer")
    # what else is reckoned with the limit (how many were left out) comes to the right number with the smaller one, too
    for limits in (read, cuts) if len(read) > len(cuts) else (cuts,):
        changes: dict[ast.AST, Any] = dict.fromkeys(limits, write.expression(name))
        if ordered := _ordered(context, cutting, longer, keeps_all=returns):
            # what is cut is bound anew, so the test is made before
            first = write.lines("{longer} = {test}", longer=longer, test=statement.test)
            of_name = write.expr(template, write.expression(longer))
            whole = {statement.test: of_name, statement: [*first, *lines, statement]}
            yield Rewrite(
                _IN_ORDER, changes | ordered | whole, Claim.GENERAL_PATH, decisions=(statement.test,), preferred=True
            )
        whole = {statement.test: write.expr(template, statement.test), statement: [*lines, statement]}
        yield Rewrite(_MESSAGE, changes | whole, Claim.GENERAL_PATH, decisions=(statement.test,), preferred=True)


def _ordered(context: Context, body: Sequence[ast.stmt], test: str, *, keeps_all: bool) -> dict[ast.AST, Any]:
    """What puts things into an order before they are cut (`topk`, `argsort`), with lines behind it that undo the order
    where nothing is cut: eager leaves these as they stand. `test` is the name of the answer, which keeps all or cuts.
    """
    write = context.write
    found: dict[ast.AST, Any] = {}
    for statement in body:
        names, places = _order_of(statement)
        if any(fact is not None and len(fact.shape or ()) > 1 for fact in map(context.type_of, names)):
            return {}
        if not names:
            continue
        kept, where = write.expression(fresh_name(context.site.source, "kept")), write.expression(places)
        of_test = Truths(context, write.expr("{}.device", where)).number(write.expression(test))
        arms = [
            write.expr("{}.argsort()", where),
            write.expr("torch.arange({places}.shape[0], device={places}.device)", places=where),
        ]
        chosen = write.expr("torch.where({}, {}, {})", of_test, *(arms if keeps_all else reversed(arms)))
        ordered = [write.expr("{}[{}]", name, kept) for name in names]
        lines = write.lines(
            "if torch.compiler.is_compiling():\n    {kept} = {chosen}\n    {names} = {ordered}",
            kept=kept,
            chosen=chosen,
            names=write.tuple(names) if len(names) > 1 else names[0],
            ordered=write.tuple(ordered) if len(names) > 1 else ordered[0],
        )
        found[statement] = [statement, *lines]
    return found


def _order_of(statement: ast.stmt) -> tuple[list[str], str]:
    """The names that a statement gives things in an order of its own, and the one among them for their places."""
    ordering = knowledge().ordering
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=values), ast.Name(id=places)])], value=ast.Call() as call):
            if called(call) in ordering and places != "_":
                return [name for name in (values, places) if name != "_"], places
        case ast.Assign(targets=[ast.Name(id=places)], value=value):
            while isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
                value = value.value
            match value:
                case (
                    ast.Attribute(value=ast.Call() as call, attr="indices")
                    | ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=1))
                ) if called(call) in ordering:
                    return [places], places
                case ast.Call() as call if called(call) in knowledge().orders:
                    return [places], places
    return [], ""
