"""Rows that a mask selects where a condition holds, and all of them elsewhere: one mask says both."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.merge import device_of
from ddelint.rewrite.parts.structures import structure_of
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import is_tensor, statement_of
from ddelint.rewrite.reading.effects import says_without_effect
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import (
    asks_compiling,
    enclosing_block,
    fresh_name,
    is_pure,
    is_whole_slice,
    names_read,
    names_written,
)
from ddelint.rewrite.reading.naming import condition_name
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting
from ddelint.sources.sites import Role, is_talk

_MESSAGE = "while compiling, select always: where the test keeps all rows, so does the mask"


@rewriting("select_or_keep")
def select_or_keep(context: Context) -> Iterator[Rewrite]:
    """`if m.any(): x = x[m]` → `x = x[m | ~m.any()]` while compiling; so for `if c: return x`, then `return x[m]`."""
    site, write = context.site, context.write
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or statement.orelse:
        return
    if asks_compiling(statement) or not is_pure(statement.test) or write.is_elif(statement):
        return
    returns = isinstance(statement.body[-1], ast.Return)
    masks = _returned(context, statement) if returns else _assigned(context, statement)
    if not masks:
        return
    name = write.expression(fresh_name(site.source, condition_name(ast.unparse(statement.test))))
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        with suppress(NotAPredicate):
            test = Truths(context, device_of(context, *masks, statement), assumed).of(statement.test)
            yield _rewrite(context, statement, masks, name, test, returns)


def _rewrite(
    context: Context, statement: ast.If, masks: Sequence[ast.expr], name: Expr, test: Expr, returns: bool
) -> Rewrite:
    write = context.write
    keeps_all = name if returns else write.expr("~{}", name)
    asked = "not torch.compiler.is_compiling() and {}" if returns else "torch.compiler.is_compiling() or {}"
    changes: dict[ast.AST, Any] = {}
    for number, same in enumerate(_computed_once(context, masks), 1):
        built, first = write.expr("{} | {}", same[0], keeps_all), statement_of(context.site.source, same[0])
        if len(same) > 1 and first is not None:
            kept = fresh_name(context.site.source, "kept" if number == 1 else f"kept_{number}")
            changes[first] = [*write.assigned(kept, built), *changes.get(first, [first])]
            built = write.expression(kept)
        changes |= dict.fromkeys(same, built)
    changes |= {statement.test: write.expr(asked, name), statement: [*write.assigned(name, test), statement]}
    changes |= {said: write.in_eager([said]) for said in _said(context, statement) if not returns}
    return Rewrite(_MESSAGE, changes, Claim.GENERAL_PATH, decisions=(statement.test,), preferred=True)


def _computed_once(context: Context, masks: Sequence[ast.expr]) -> list[list[ast.expr]]:
    """The masks, those together that are one and the same.

    Inductor stops where two masks count rows of one number that it has come to know as the same (torch 2.13,
    `ShapeEnv._rename_unbacked_to`).
    """
    source, found = context.site.source, list[list[ast.expr]]()
    for mask in masks:
        first, here = (statement_of(source, found[-1][0]) if found else None), statement_of(source, mask)
        if first is not None and here is not None and ast.unparse(found[-1][0]) == ast.unparse(mask):
            block = enclosing_block(source, here)
            if not names_read(mask) & names_written(*block[block.index(first) : block.index(here)]):
                found[-1].append(mask)
                continue
        found.append([mask])
    return found


def _assigned(context: Context, statement: ast.If) -> list[ast.expr]:
    """The masks of a block that does nothing but select rows of names; none where it does more."""
    behind, masks, said = live_behind(context.site.source, statement), list[ast.expr](), _said(context, statement)
    for inner in statement.body:
        selected = _selecting(context, inner)
        if selected is not None:
            masks += selected
            continue
        match inner:  # a mask of the block's own
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in behind and is_pure(value):
                continue
            case ast.Expr() if inner in said:
                continue
        return []
    return masks


def _returned(context: Context, statement: ast.If) -> list[ast.expr]:
    """The masks by which what is returned behind an early return differs from what that one returns."""
    block = enclosing_block(context.site.source, statement)
    said = _said(context, statement)
    match [s for s in statement.body if s not in said], block[block.index(statement) + 1 :]:
        case [ast.Return(value=ast.expr() as early)], [*between, ast.Return(value=ast.expr() as final)]:
            pass
        case _:
            return []
    masks = list[ast.expr]()
    for inner in between:
        selected = _selecting(context, inner)
        if selected is None:
            return []
        masks += selected
    structure = structure_of(early)
    for kept, given in zip(structure.parts, structure_of(final).parts):
        if ast.unparse(kept) == ast.unparse(given) and is_pure(kept):
            continue
        mask = _mask_of(context, given, ast.unparse(kept))
        if mask is None:
            return []
        masks.append(mask)
    return masks if structure == structure_of(final) else []


def _said(context: Context, statement: ast.If) -> list[ast.stmt]:
    """What the block only says."""
    source = context.site.source
    return [inner for inner in statement.body if is_talk(inner) and says_without_effect(inner, source)]


def _selecting(context: Context, statement: ast.stmt) -> list[ast.expr] | None:
    """The masks of `x = x[m]`, `x, y = x[m], y[m]`; None for any other statement."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pass
        case ast.Assign(targets=[ast.Name() as target], value=value):
            targets, values = [target], [value]
        case _:
            return None
    masks = [_mask_of(context, value, ast.unparse(target)) for target, value in zip(targets, values)]
    return None if None in masks else [mask for mask in masks if mask is not None]


def _mask_of(context: Context, value: ast.expr, whole: str) -> ast.expr | None:
    """`m` where a value is `whole[m]` or `whole[:, m]`, and `m` a mask over one dimension."""
    kinds = Kinds(context)
    match value:
        case ast.Subscript(value=selected, slice=index) if ast.unparse(selected) == whole and is_tensor(
            kinds, selected
        ):
            *before, mask = index.elts if isinstance(index, ast.Tuple) else [index]
            shape = kinds.shape(mask)
            is_mask = kinds.dtype(mask) == "bool" and shape is not None and len(shape) == 1
            return mask if is_mask and is_pure(mask) and all(map(is_whole_slice, before)) else None
    return None
