"""torch.cond around arms that differ in cost, or that cannot both be computed; eager keeps its branch.

Liveness decides what goes in and out. Nested branches, `elif` and early returns become nested conds. What an arm
changes in place, an attribute of a module included, comes out of the cond and is copied into its place.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.branch_functions import (
    TWICE,
    BranchFunctions,
    NotFunctional,
    arms_of_return,
    has_return,
    predicate,
    separate,
    tensors_read,
)
from ddelint.rewrite.parts.checks import Inexpressible
from ddelint.rewrite.parts.truths import NotAPredicate
from ddelint.rewrite.reading.around import read_elsewhere
from ddelint.rewrite.reading.effects import SILENT, silenced
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    asks_compiling,
    bound_before,
    called,
    enclosing_block,
    fresh_name,
    is_pure,
    names_read,
    names_written,
)
from ddelint.rewrite.reading.regions import changed_in_place, live_behind
from ddelint.rewrite.writing.rewrites import Expr, Lines, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Block, Role, is_talk

_SPEAKING = (Block.RAISES, Block.WARNS)


@rewriting("torch_cond")
def torch_cond(context: Context) -> Iterator[Rewrite]:
    """Arms as functions of the tensors they read, for the compiler; eager keeps its branch."""
    site, statement = context.site, context.site.statement
    if site.decision is None or asks_compiling(site.decision):
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(site.decision)):
        return
    with suppress(NotFunctional, NotAPredicate, Inexpressible, ValueError):
        if site.role is Role.TERNARY_TEST:
            yield from _ternary(context, statement)
        elif site.role is Role.IF_TEST and isinstance(statement, ast.If) and site.block not in _SPEAKING:
            yield from _branch(context, statement)


def _rewrite(context: Context, lines: Lines) -> Rewrite:
    site = context.site
    message = "while compiling, torch.cond computes one of the two arms; eager keeps its branch"
    decisions = (site.decision,) if site.decision is not None else ()
    # what is expensive is not computed for nothing
    preferred = any(isinstance(n, ast.Call) and called(n) in knowledge().expensive for n in ast.walk(site.statement))
    notes = (TWICE, SILENT) if any(map(is_talk, ast.walk(site.statement))) else (TWICE,)
    return restructured(message, {site.statement: lines}, *notes, decisions=decisions, preferred=preferred)


# ---------------------------------------------------------------------- branches


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A copy of the branch in which each attribute that it changes is a local name."""

    functions: BranchFunctions
    statement: ast.If
    rest: Sequence[ast.stmt]
    """What stands behind it in its block, where it may return."""


def _branch(context: Context, statement: ast.If) -> Iterator[Rewrite]:
    block = enclosing_block(context.site.source, statement)
    continues = has_return(statement) and not context.write.is_elif(statement)
    rest = block[block.index(statement) + 1 :] if continues else []
    prepared = _prepared(context, statement, rest)
    yield _rewrite(context, _written(context, prepared))
    if _lays_out_anew([statement, *rest]):
        alike = replace(prepared, functions=replace(prepared.functions, contiguous=True))
        yield _rewrite(context, _written(context, alike))


def _written(context: Context, prepared: _Prepared) -> Lines:
    write, statement = context.write, context.site.statement
    if not has_return(statement):
        return write.beside(_assigning(context, prepared), [statement])
    if write.is_elif(statement):
        raise NotFunctional("an elif that returns")
    if prepared.functions.names or changed_in_place([prepared.statement, *prepared.rest]):
        raise NotFunctional("a change in place before a return")
    arms = arms_of_return(prepared.statement, prepared.rest)
    return [*write.while_compiling(prepared.functions.returning(prepared.statement.test, arms)), statement]


def _assigning(context: Context, prepared: _Prepared) -> Statements:
    """Lines that give every live name the chosen arm's value; what was changed in place is copied into its place."""
    statement, functions, write = prepared.statement, prepared.functions, context.write
    state = functions.names
    changed = changed_in_place([statement]) & functions.local
    if changed & (_rebound(statement) - set(state.values())):
        raise NotFunctional("changed in place on one side, given another value on the other")
    copied = changed | set(state.values())
    behind = live_behind(context.site.source, context.site.statement)  # on another turn of a loop, too
    outputs = {
        name: fresh_name(context.site.source, f"{name}_after") if name in copied else name
        for name in sorted(names_written(*statement.body, *statement.orelse) | copied)
        if name in copied or name in behind or read_elsewhere(context, name, context.site.statement)
    }
    if not outputs:
        raise NotFunctional("nothing comes out")
    lines: Statements = []
    for attribute, local in state.items():
        lines += write.assigned(local, attribute)
    lines += functions.assigning(statement.test, (statement.body, statement.orelse), outputs, copied)
    for name in sorted(copied):
        # under autograd all that comes out of a cond has a history, which state must not take over
        fact = functions.context.type_of(name)
        bare = name in state.values() and fact is not None and not fact.requires_grad
        template = "{}.copy_({}.detach())" if bare else "{}.copy_({})"
        lines += write.block([write.expr(template, name, outputs[name])])
    return lines


def _rebound(statement: ast.If) -> set[str]:
    """Names that the arms give another object."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.AugAssign, ast.If, ast.For, ast.While, ast.With)):
            found |= names_written(node)
    return found


def _prepared(context: Context, statement: ast.If, rest: Sequence[ast.stmt]) -> _Prepared:
    if context.site.function is None:
        raise NotFunctional("no function")
    parts = [statement, *rest]
    stored = {
        ast.unparse(node)
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    stored |= {root for root in changed_in_place(parts) if not root.isidentifier()}
    state: dict[str, str] = {}
    types: dict[str, TypeFact] = dict(context.types)
    for attribute in sorted(stored):
        fact = context.type_of(attribute)
        if fact is None or fact.kind != "tensor" or not re.fullmatch(r"\w+(\.\w+)+", attribute):
            raise NotFunctional(f"`{attribute}` is changed")
        state[attribute] = fresh_name(context.site.source, f"{attribute.rpartition('.')[2]}_state")
        types[state[attribute]] = fact
    local = frozenset(bound_before(context.site.function, statement) | set(state.values()))
    functions = BranchFunctions(replace(context, types=types), local, state)
    if not state:
        return _Prepared(functions, silenced(statement, context.site.source), rest)
    branch, *behind = (_Localized(state).visit(copy.deepcopy(part)) for part in parts)
    return _Prepared(functions, silenced(branch, context.site.source), behind)


@dataclass
class _Localized(ast.NodeTransformer):
    """Attributes as the local names that stand for them, where they stood."""

    names: Mapping[str, str]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = self.names.get(ast.unparse(node))
        if name is not None:
            return ast.copy_location(ast.Name(id=name, ctx=node.ctx), node)
        self.generic_visit(node)
        return node


def _lays_out_anew(body: Sequence[ast.stmt]) -> bool:
    """Whether something in `body` may give a tensor other strides than the usual ones."""
    names = {node.attr for statement in body for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    return bool(names & (knowledge().aliasing.strides | knowledge().expensive))


# ---------------------------------------------------------------------- choices inside a statement


def _ternary(context: Context, statement: ast.stmt) -> Iterator[Rewrite]:
    write = context.write
    choice = context.site.source.parents.get(context.site.decision) if context.site.decision is not None else None
    if not isinstance(choice, ast.IfExp) or not (is_pure(choice.body) and is_pure(choice.orelse)):
        raise NotFunctional("an arm with an effect")
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is choice:
            lines = write.assigned(name, _chosen(context, choice, statement))
        case ast.Return(value=value) if value is choice:
            lines = write.lines("return {value}", value=_chosen(context, choice, statement))
        case _:
            raise NotFunctional("a choice inside an expression")
    yield _rewrite(context, write.beside(lines, [statement]))


def _chosen(context: Context, choice: ast.IfExp, statement: ast.stmt) -> Expr:
    write, function = context.write, context.site.function
    if function is None:
        raise NotFunctional("no function")
    operands = tensors_read(context, names_read(choice.body, choice.orelse) & bound_before(function, statement))
    template = (
        "torch.cond({test}, lambda {operands}: {then}, lambda {operands}: {otherwise}, {handed})"
        if operands
        else "torch.cond({test}, lambda: {then}, lambda: {otherwise}, {handed})"
    )
    then, otherwise = (separate(context, arm, arm) for arm in (choice.body, choice.orelse))
    test, handed = predicate(context, choice.test), write.tuple(operands)
    return write.expr(template, test=test, operands=operands, then=then, otherwise=otherwise, handed=handed)
