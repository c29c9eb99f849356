"""torch.cond around arms that differ in cost, or that cannot both be computed; eager keeps its branch.

Liveness decides what goes in and out. Nested branches, `elif` and early returns become nested conds. What an arm
changes in place, an attribute of a module included, comes out of the cond and is copied into its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ddelint.diagnostics import Edit, TypeFact
from ddelint.rewrite.branch_functions import (
    BranchFunctions,
    NotFunctional,
    arms_of_return,
    as_tuple,
    has_return,
    predicate,
    read_elsewhere,
    separate,
)
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.conditions import Inexpressible
from ddelint.rewrite.expressions import (
    asks_compiling,
    begins_line,
    block_text,
    bound_before,
    called,
    enclosing_block,
    fresh_name,
    here,
    indent_unit,
    insert_before,
    is_elif,
    is_pure,
    names_read,
    names_written,
    owns_lines,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.predicates import NotAPredicate
from ddelint.rewrite.proposals import offer_beside
from ddelint.rewrite.regions import changed_in_place
from ddelint.sites import Block, Role
from ddelint.source import SourceFile

NAME = "torch_cond"
_STRIDES = frozenset(
    (
        "T",
        "H",
        "mT",
        "adjoint",
        "einsum",
        "expand",
        "flip",
        "movedim",
        "permute",
        "swapaxes",
        "swapdims",
        "t",
        "transpose",
    )
)


@move(NAME)
def torch_cond(context: Context) -> Iterator[Candidate]:
    """Arms as functions of the tensors they read, for the compiler; eager keeps its branch."""
    site = context.site
    statement = site.statement
    if site.decision is None or asks_compiling(site.decision) or not begins_line(site.source, statement):
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(site.decision)):
        return
    try:
        if site.role is Role.IF_TEST and isinstance(statement, ast.If):
            if site.block not in (Block.RAISES, Block.WARNS):
                yield from _branch(context, statement)
        elif site.role is Role.TERNARY_TEST:
            yield from _ternary(context, statement)
    except (NotFunctional, NotAPredicate, Inexpressible, ValueError):
        return


# ---------------------------------------------------------------------- branches


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The branch on a text in which each attribute that it changes is a local name."""

    functions: BranchFunctions
    statement: ast.If
    rest: tuple[ast.stmt, ...]
    state: dict[str, str]
    """Attribute → the local name that stands for it."""


def _branch(context: Context, statement: ast.If) -> Iterator[Candidate]:
    source = context.site.source
    if not owns_lines(source, statement):
        raise NotFunctional("a shared line")
    block = enclosing_block(source, statement)
    returns = has_return(statement)
    rest = block[block.index(statement) + 1 :] if returns and not is_elif(source, statement) else []
    prepared = _prepared(context, statement, rest)
    yield from _written(context, prepared, returns)
    if not _lays_out_anew([statement, *rest]):
        return
    layout = f"{torch_name(source)[0]}.contiguous_format"
    alike = replace(prepared, functions=replace(prepared.functions, contiguous=layout))
    yield from _written(context, alike, returns)


def _written(context: Context, prepared: _Prepared, returns: bool) -> Iterator[Candidate]:
    source, statement = context.site.source, context.site.statement
    if returns:
        lines = _returning(prepared)
    else:
        lines = _assigning(context, prepared)
    lines = [*(f"{local} = {attribute}" for attribute, local in prepared.state.items()), *lines]
    asks = f"if {torch_name(source)[0]}.compiler.is_compiling():"
    unit, newline, indentation = indent_unit(source, statement), source.newline, source.indentation(statement)
    if is_elif(source, statement):
        kept = block_text(source, [statement], indentation + unit)
        if kept is None or returns:
            raise NotFunctional("lines that cannot be moved")
        inner = newline.join((indentation + 2 * unit + line) if line else "" for line in lines)
        text = f"else:{newline}{indentation}{unit}{asks}{newline}{newline}{inner}{newline}{newline}{kept}"
        yield from _candidate(context, (Edit(source.span(statement), _without_comment(source, statement, text)),))
    elif returns:
        inside = ((unit + line) if line else "" for line in lines)
        yield from _candidate(context, (insert_before(source, statement, [asks, "", *inside, ""]),))
    else:
        inner = newline.join((indentation + unit + line) if line else "" for line in lines)
        text = f"{asks}{newline}{newline}{inner}{newline}{newline}{indentation}el"
        yield from _candidate(context, (Edit(here(source, statement), text),))


def _returning(prepared: _Prepared) -> list[str]:
    statement = prepared.statement
    if prepared.state or changed_in_place([statement, *prepared.rest]):
        raise NotFunctional("a change in place before a return")
    return prepared.functions.returning(statement.test, *arms_of_return(statement, prepared.rest))


def _assigning(context: Context, prepared: _Prepared) -> list[str]:
    """Lines that give every live name the chosen arm's value; what was changed in place is copied into its place."""
    statement = prepared.statement
    changed = changed_in_place([statement]) & prepared.functions.local
    rebound = _rebound(statement)
    state = set(prepared.state.values())
    if changed & (rebound - state):
        raise NotFunctional("changed in place on one side, given another value on the other")
    copied = changed | state
    outputs = sorted(
        name
        for name in names_written(*statement.body, *statement.orelse) | copied
        if name in copied or read_elsewhere(context, name, context.site.statement)
    )
    if not outputs:
        raise NotFunctional("nothing comes out")
    targets = [fresh_name(prepared.functions.source, f"{name}_after") if name in copied else name for name in outputs]
    target = ", ".join(targets)
    lines = prepared.functions.assigning(statement.test, statement.body, statement.orelse, outputs, target, copied)
    for name, new in zip(outputs, targets):
        if name in copied:
            # under autograd all that comes out of a cond has a history, which state must not take over
            fact = prepared.functions.context.type_of(name)
            bare = name in state and fact is not None and not fact.requires_grad
            lines.append(f"{name}.copy_({new}{'.detach()' if bare else ''})")
    return lines


def _rebound(statement: ast.If) -> set[str]:
    """Names that the arms give another object."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.AugAssign, ast.If, ast.For, ast.While, ast.With)):
            found |= names_written(node)
    return found


def _prepared(context: Context, statement: ast.If, rest: Sequence[ast.stmt]) -> _Prepared:
    source, function = context.site.source, context.site.function
    if function is None:
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
        state[attribute] = fresh_name(source, f"{attribute.rpartition('.')[2]}_state")
        types[state[attribute]] = fact
    local = bound_before(function, statement)
    local |= set(state.values())
    changed_context = replace(context, types=types)
    unit = indent_unit(source, statement)
    if not state:
        return _Prepared(
            BranchFunctions(changed_context, source, unit, frozenset(local)), statement, tuple(rest), state
        )
    edits = [
        Edit(source.span(node), state[ast.unparse(node)])
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in state
    ]
    changed = SourceFile(source.filename, source.apply(edits), source.encoding)
    position = (statement.lineno, statement.col_offset)
    same = next(n for n in ast.walk(changed.tree) if isinstance(n, ast.If) and (n.lineno, n.col_offset) == position)
    block = enclosing_block(changed, same)
    behind = block[block.index(same) + 1 :] if rest else []
    site = replace(context.site, source=changed)
    functions = BranchFunctions(replace(changed_context, site=site), changed, unit, frozenset(local))
    return _Prepared(functions, same, tuple(behind), state)


def _without_comment(source: SourceFile, statement: ast.stmt, text: str) -> str:
    """`text` without the comment behind the statement, which stays where it is."""
    end = statement.end_lineno or statement.lineno
    comment = source.lines[end - 1].rstrip("\r\n")[source.span(statement).end_column - 1 :]
    return text[: len(text) - len(comment)] if comment and text.endswith(comment) else text


# ---------------------------------------------------------------------- choices inside a statement


def _ternary(context: Context, statement: ast.stmt) -> Iterator[Candidate]:
    source = context.site.source
    choice = source.parents.get(context.site.decision) if context.site.decision is not None else None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is choice:
            head = f"{name} = "
        case ast.Return(value=value) if value is choice:
            head = "return "
        case _:
            raise NotFunctional("a choice inside an expression")
    if not isinstance(choice, ast.IfExp) or not (is_pure(choice.body) and is_pure(choice.orelse)):
        raise NotFunctional("an arm with an effect")
    if not owns_lines(source, statement):
        raise NotFunctional("a shared line")
    operands = _tensors_read(context, [choice.body, choice.orelse], statement)
    arms = [separate(text_of(source, arm), arm) for arm in (choice.body, choice.orelse)]
    parameters = ", ".join(operands)
    torch = torch_name(source)[0]
    functions = ", ".join(f"lambda {parameters}: {arm}" if parameters else f"lambda: {arm}" for arm in arms)
    call = f"{torch}.cond({predicate(context, choice.test)}, {functions}, {as_tuple(operands)})"
    unit, indentation, newline = indent_unit(source, statement), source.indentation(statement), source.newline
    kept = block_text(source, [statement], indentation + unit)
    if kept is None:
        raise NotFunctional("lines that cannot be moved")
    asks = f"if {torch}.compiler.is_compiling():"
    text = f"{asks}{newline}{indentation}{unit}{head}{call}{newline}{indentation}else:{newline}{kept}"
    yield from _candidate(context, (Edit(source.span(statement), _without_comment(source, statement, text)),))


def _tensors_read(context: Context, arms: Sequence[ast.expr], statement: ast.stmt) -> list[str]:
    prepared = [ast.Expr(arm) for arm in arms]
    function = context.site.function
    if function is None:
        raise NotFunctional("no function")
    local = bound_before(function, statement)
    kinds = Kinds(context)
    found = []
    for name in sorted(names_read(*prepared) & local):
        fact = context.type_of(name)
        if fact is not None and fact.kind in {"symint", "symfloat", "symbool"}:
            raise NotFunctional("an arm reads a number that only exists at run time")
        kind = kinds.of(ast.Name(id=name, ctx=ast.Load()))
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and name != "self"):
            found.append(name)
    return found


# ---------------------------------------------------------------------- the candidate


def _candidate(context: Context, edits: tuple[Edit, ...]) -> Iterator[Candidate]:
    message = "while compiling, torch.cond computes one of the two arms; eager stays as it is"
    for candidate in offer_beside(context, NAME, message, edits):
        yield replace(candidate, preferred=_dear(context.site.statement))


def _lays_out_anew(body: Sequence[ast.stmt]) -> bool:
    """Whether something in `body` may give a tensor other strides than the usual ones."""
    names = {node.attr for statement in body for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    return bool(names & (_STRIDES | knowledge().dear))


def _dear(statement: ast.stmt) -> bool:
    """Whether an arm does what nobody wants to compute in vain."""
    return any(isinstance(node, ast.Call) and called(node) in knowledge().dear for node in ast.walk(statement))
