"""What is cut to a length where a condition holds, and kept as it is elsewhere: one length says both."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import is_tensor, number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, enclosing_block, fresh_name, is_pure
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "while compiling, choose the length: that of the cut, or all that there is"
_LENGTH = "torch.full((), {n}, dtype=torch.int64, device={x}.device)"


@dataclass(frozen=True, slots=True)
class _Cut:
    """`name = name[:length]`."""

    name: str
    length: ast.expr


@rewriting("cut_or_keep")
def cut_or_keep(context: Context) -> Iterator[Rewrite]:
    """`if c: x = x[:n]` → `x = x[:k]` while compiling, `k` chosen; so for `if c: return x[:n]`, then `return x`."""
    site = context.site
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or statement.orelse:
        return
    if asks_compiling(statement.test) or not is_pure(statement.test) or context.write.is_elif(statement):
        return
    *before, last = statement.body
    returns = isinstance(last, ast.Return)
    cuts = list(_returned(context, statement)) if returns else list(_assigned(context, statement))
    own = [inner for inner in before if returns or not _cuts_of(context, inner)]
    if not cuts or not _are_its_own(context, statement, own):
        return
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        with suppress(NotAPredicate):
            lines: list[Any] = [*own, *_lines(context, cuts, assumed, returns)]
            write = context.write
            new = [*write.while_compiling(lines), statement] if returns else write.beside(lines, [statement])
            yield restructured(_MESSAGE, {statement: new}, decisions=(statement.test,), preferred=True)


def _lines(context: Context, cuts: Sequence[_Cut], assumed: bool, returns: bool) -> Statements:
    """The chosen length, and everything cut to it."""
    write, statement = context.write, context.site.statement
    assert isinstance(statement, ast.If)
    x, length = cuts[0].name, cuts[0].length
    test = Truths(context, write.expr("{}.device", x), assumed).of(statement.test)
    is_number = not is_tensor(Kinds(context), length)
    cut: Expr = write.expr(_LENGTH, n=length, x=x) if is_number else write.expression(length)
    whole = write.expr(_LENGTH, n=write.expr("{}.shape[0]", x), x=x)
    kept = fresh_name(context.site.source, "kept_length")
    lines = write.assigned(kept, write.expr("torch.where({}, {}, {}).item()", test, cut, whole))
    values = [write.expr("{}[:{}]", one.name, write.expression(kept)) for one in cuts]
    if returns:
        value = values[0] if len(values) == 1 else write.tuple(values)
        return [*lines, *write.lines("return {value}", value=value)]
    return [*lines, *(line for one, value in zip(cuts, values) for line in write.assigned(one.name, value))]


def _assigned(context: Context, statement: ast.If) -> Iterator[_Cut]:
    """The cuts of a block that ends in one, all to one length."""
    found = [cut for inner in statement.body for cut in _cuts_of(context, inner)]
    ends_in_one = bool(_cuts_of(context, statement.body[-1]))
    if ends_in_one and len({ast.unparse(cut.length) for cut in found}) == 1:
        yield from found


def _returned(context: Context, statement: ast.If) -> Iterator[_Cut]:
    """`return x[:n]` in front of `return x`."""
    block = enclosing_block(context.site.source, statement)
    match statement.body[-1], block[block.index(statement) + 1 :]:
        case ast.Return(value=ast.expr() as value), [ast.Return(value=ast.expr() as whole)]:
            found = _cuts(context, whole, value)
            if len({ast.unparse(cut.length) for cut in found}) == 1:
                yield from found


def _cuts_of(context: Context, statement: ast.stmt) -> list[_Cut]:
    """What a statement cuts, where it does nothing else: `x = x[:n]`, `x, y = x[:n], y[:n]`."""
    match statement:
        case ast.Assign(targets=[target], value=value):
            return _cuts(context, target, value)
    return []


def _cuts(context: Context, wholes: ast.expr, values: ast.expr) -> list[_Cut]:
    """The cuts that `values` are of the names `wholes`, one each; none where one of them is something else."""
    match wholes, values:
        case ast.Tuple(elts=names), ast.Tuple(elts=cut) if len(names) == len(cut):
            pairs = list(zip(names, cut))
        case _:
            pairs = [(wholes, values)]
    found = [_cut_to(context, value) for _, value in pairs]
    own = [each for each, (name, _) in zip(found, pairs) if each is not None and ast.unparse(name) == each.name]
    return own if len(own) == len(pairs) else []


def _cut_to(context: Context, value: ast.expr) -> _Cut | None:
    """`x[:n]` of a tensor, to a number or a tensor that holds one."""
    match value:
        case ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Slice(lower=None, upper=upper, step=None)) if (
            upper is not None and is_pure(upper)
        ):
            kinds = Kinds(context)
            is_length = number_kind(kinds, upper) in ("int", "") or kinds.shape(upper) == ()
            return _Cut(name, upper) if is_length and is_tensor(kinds, whole) else None
    return None


def _are_its_own(context: Context, statement: ast.If, lines: Sequence[ast.stmt]) -> bool:
    """Whether lines give names of the block's own alone: they may run where it doesn't."""
    behind = live_behind(context.site.source, statement)
    return all(
        isinstance(line, ast.Assign)
        and len(line.targets) == 1
        and isinstance(line.targets[0], ast.Name)
        and line.targets[0].id not in behind
        and is_pure(line.value)
        for line in lines
    )
