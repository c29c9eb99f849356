"""Rows where there is nothing: what stands behind an emptiness test runs of zeros, whose result nobody chooses.

Unlike one element more, which only a reduction can be given, this is right for whatever comes behind the test.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.counted import counted, rows_of, zeros_like_rows
from ddelint.rewrite.reading.around import is_unconditional, listed_mask
from ddelint.rewrite.reading.kinds import Kind, Kinds, own_arguments, reduces_all, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import is_of_torch_or_python
from ddelint.rewrite.reading.names import (
    called,
    fresh_name,
    is_pure,
    is_whole_slice,
    names_read,
    names_written,
    position,
    unused,
)
from ddelint.rewrite.reading.polarity import general_side
from ddelint.rewrite.reading.regions import changed_in_place
from ddelint.rewrite.writing.rewrites import Expr, Statements

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def rows_for_nothing(
    context: Context, test: ast.expr, path: Sequence[ast.AST]
) -> tuple[dict[ast.AST, Any], dict[str, str]]:
    """On a path behind a test, the tensors whose rows it counts, and those of the same rows, with as many as it wants.

    Where it counts the places of a mask, what the path selects by it. Empty where it counts nothing of the kind, or the
    path is neither a run of statements nor an arm of `a if c else b`. With the new names that stand for old ones there.
    """
    statements = [node for node in path if isinstance(node, ast.stmt)]
    if len(path) == 1 and isinstance(path[0], ast.expr):
        return _rows_in_an_arm(context, test, path[0]), {}
    if not statements or len(statements) < len(path):
        return {}, {}
    guarded = _behind_the_count(test)
    counts = counted(test, rows_of, general_side(test))
    behind = {name: rows for name, rows in counts.items() if _is_read([*statements, *guarded], name)}
    if not behind:
        return _selected_behind(context, test, statements)
    wanted: dict[str, int] = {}
    for name, rows in behind.items():
        same = _of_the_same_rows(context, name)
        wanted |= {one: rows for one in same if _is_read([*statements, *guarded], one)}
    wanted |= behind
    guarded = [operand for operand in guarded if any(_is_read([operand], one) for one in wanted)]
    if guarded and (context.write.is_elif(context.site.statement) or wanted.keys() & names_written(*statements)):
        return {}, {}
    lines: Statements = []
    changes: dict[ast.AST, Any] = {}
    stand_ins: dict[str, str] = {}
    for one, rows in wanted.items():
        value = _with_rows(context, one, rows)
        if one in names_written(*statements):
            lines += context.write.assigned(one, value)
            continue
        filled = stand_ins[one] = fresh_name(context.site.source, f"{one}_or_zeros")
        lines += context.write.assigned(filled, value)
        inside = (node for part in (*statements, *guarded) for node in ast.walk(part))
        changes |= {node: context.write.expression(filled) for node in inside if _reads(node, one)}
    first, statement = statements[0], context.site.statement
    if guarded:
        return {statement: [*lines, statement], **changes}, stand_ins
    if first in set(ast.walk(statement)):
        return {first: [*lines, first], **changes}, stand_ins
    return {statement: [statement, *lines], **changes}, stand_ins


def _rows_in_an_arm(context: Context, test: ast.expr, arm: ast.expr) -> dict[ast.AST, Any]:
    """`x.log().mean() if len(x) else 0`: what the arm reads of the rows that the test counts; in eager, too, which
    computes the arm where one of both is chosen.

    Where the name lives in the expression alone (`[… for x in xs]`), what stands in its place has no name.
    """
    changes: dict[ast.AST, Any] = {}
    for name, rows in counted(test, rows_of, general_side(test)).items():
        read = [node for node in ast.walk(arm) if _reads(node, name)]
        changes |= dict.fromkeys(read, _filled(context, name, rows))
    return changes


def _behind_the_count(test: ast.expr) -> list[ast.expr]:
    """`x[0] > t` of `len(x) > 0 and x[0] > t`, of `len(x) == 0 or x[0] > t`: asked only where something is there."""
    match test:
        case ast.BoolOp(op=operator, values=values) if general_side(test) is isinstance(operator, ast.And):
            counts = [bool(counted(value, rows_of, general_side(value))) for value in values]
            first = counts.index(True) if True in counts else len(values)
            return [value for value, is_count in zip(values[first:], counts[first:]) if not is_count]
    return []


def _selected_behind(
    context: Context, test: ast.expr, statements: Sequence[ast.stmt]
) -> tuple[dict[ast.AST, Any], dict[str, str]]:
    """Behind each selection by the mask whose places a test counts, the rows that the test wants; in eager what is
    selected stays what it is. A selection on the way (`x[m].max(0)`) gets a name of its own; where others are made of
    it, it has that as long as nothing changes.
    """
    masks = counted(test, _mask_of, general_side(test))
    changes: dict[ast.AST, Any] = {}
    names: dict[str, str] = {}
    known: dict[str, str] = {}
    """Selection → its name, while nothing changes."""
    for statement in statements if masks else ():
        wanted = {name: masks[by] for name, by in _selected(statement) if by in masks}
        if wanted:
            lines = [context.write.assigned(name, _with_rows(context, name, rows)) for name, rows in wanted.items()]
            changes[statement] = [statement, *itertools.chain.from_iterable(lines)]
            names |= dict(zip(wanted, wanted))
        elif isinstance(statement, _SIMPLE):
            changes |= _named_within(context, statement, masks, known, names)
        given = _given_alone(context, statement)
        known = {text: name for text, name in known.items() if given and given not in names_read(ast.parse(text))}
        written = names_written(statement) | changed_in_place([statement])
        written |= names_read(
            *(part for call in _unknown_calls(context, statement) for part in ast.iter_child_nodes(call))
        )
        masks = {mask: rows for mask, rows in masks.items() if not names_read(ast.parse(mask)) & written}
    return changes, names if changes else {}


def _named_within(
    context: Context, statement: ast.stmt, masks: Mapping[str, int], known: dict[str, str], names: dict[str, str]
) -> dict[ast.AST, Any]:
    """Each selection that a statement makes on its way by such a mask, by its name, which is one of `names` from then
    on, and `known` where nobody holds what is selected."""
    lines: Statements = []
    changes: dict[ast.AST, Any] = {}
    selections = [
        node for node in ast.walk(statement) if isinstance(node, ast.Subscript) and _is_selection(node, masks)
    ]
    for node in sorted(selections, key=position):
        if not is_unconditional(context.site.source, node, statement) or _may_come_too_late(context, statement, node):
            continue
        shared = known if _gives_others(context, node) else {}
        name = shared.get(ast.unparse(node), "")
        if not name:
            name = unused(fresh_name(context.site.source, f"chosen_{_word(node.value)}"), names)
            lines += context.write.assigned(name, node)
            lines += context.write.assigned(name, _with_rows(context, name, masks[ast.unparse(node.slice)]))
            shared[ast.unparse(node)] = names[name] = name
        changes[node] = context.write.expression(name)
    return {statement: [*lines, statement], **changes} if lines else changes


def _is_selection(node: ast.AST, masks: Mapping[str, int]) -> bool:
    """Whether it reads `x[mask]` by one of these, of an `x` that nothing changes and that is no such selection."""
    match node:
        case ast.Subscript(value=rows, slice=mask, ctx=ast.Load()) if ast.unparse(mask) in masks:
            return is_pure(rows) and not any(_is_selection(inner, masks) for inner in ast.walk(rows))
    return False


def _word(rows: ast.expr) -> str:
    """A word for what rows are selected of."""
    match rows:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_")
    return "rows"


def _unknown_calls(context: Context, statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls of what is no function of torch's or Python's, and no tensor's method: they may change what they get."""
    kinds, source = Kinds(context), context.site.source
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner)) if kinds.of(owner) is Kind.TENSOR:
                continue
            case ast.Call() if not is_of_torch_or_python(node.func, source):
                yield node


def _may_come_too_late(context: Context, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether something that a statement calls before a part of it may change what that reads."""
    calls = _unknown_calls(context, statement)
    return any(position(call) < position(node) and node not in set(ast.walk(call)) for call in calls)


def _given_alone(context: Context, statement: ast.stmt) -> str:
    """The name that a statement gives what it computes, where it does nothing else; else empty."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value):
            alone = not changed_in_place([statement]) and next(_unknown_calls(context, statement), None) is None
            return name if alone else ""
    return ""


def _gives_others(context: Context, node: ast.expr) -> bool:
    """Whether what is done with a value right away makes another of it, so that nobody holds it."""
    parent = context.site.source.parents.get(node)
    match parent:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.Attribute(attr=attr):
            return attr in knowledge().reductions
    return False


def _mask_of(node: ast.expr) -> str:
    """The text of `m` in `m.any()`, `torch.sum(m)`, `m.sum().item()`; empty where it is none of these."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="item"), args=[])
            | ast.Call(func=ast.Name(id="bool" | "int"), args=[ast.Call() as inner])
        ):
            return _mask_of(inner)
        case ast.Call() if called(node) in knowledge().present & knowledge().reductions and reduces_all(node):
            mask = tensor_argument(node)
            return "" if mask is None else ast.unparse(mask)
    return ""


def _of_the_same_rows(context: Context, name: str) -> Iterator[str]:
    """A name, and others that what it is selected by (`x[mask]`) selects before the site."""
    yield name
    function = context.site.function
    selections = dict(_selections(context, function)) if function is not None else {}
    if name in selections:
        yield from (other for other, by in selections.items() if other != name and by == selections[name])


def _selections(context: Context, function: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that are given `x[mask]` before the site, and the text of the mask."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and position(node) < position(context.site.statement):
            yield from _selected(node)


def _selected(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names that a statement gives `x[mask]`, or the places of a mask, each with the text of the mask."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pairs = [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = [(target.id, value) for target, value in zip(targets, values) if isinstance(target, ast.Name)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if (mask := listed_mask(value)) is not None:
            yield from ((target.id, ast.unparse(mask)) for target in targets if isinstance(target, ast.Name))
            return
        case _:
            return
    for name, value in pairs:
        if isinstance(value, ast.Subscript) and not isinstance(value.slice, (ast.Slice, ast.Constant)):
            yield name, ast.unparse(value.slice)
        if (mask := _listed_in(value)) is not None:
            yield name, ast.unparse(mask)


def _listed_in(value: ast.expr) -> ast.expr | None:
    """`m` of `torch.where(m)[0]`, `m.nonzero()`, `torch.nonzero(m).squeeze(1)`, `m.nonzero()[:, 0]`."""
    match value:
        case ast.Subscript(value=inner, slice=ast.Constant()) if listed_mask(inner) is not None:
            return listed_mask(inner)
        case ast.Subscript(value=inner, slice=ast.Tuple(elts=[rows, ast.Constant()])) if is_whole_slice(rows):
            return _listed_in(inner)
        case ast.Call() if called(value) in knowledge().listings and listed_mask(value) is None:
            return tensor_argument(value) if not own_arguments(value) else None
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), keywords=[]) if attr in knowledge().flattened_by:
            return _listed_in(inner) if tuple(map(integer, value.args)) in knowledge().flattened_by[attr] else None
    return None


def _with_rows(context: Context, name: str, rows: int) -> Expr:
    """`name`, with zeros for the rows that are missing while compiling."""
    return context.write.either(_filled(context, name, rows), name)


def _filled(context: Context, name: str, rows: int) -> Expr:
    """`name`, with zeros for the rows that are missing."""
    zeros = zeros_like_rows(context, name, rows)
    return context.write.expr(
        "torch.cat([{x}, {zeros}])[: torch.sym_max({x}.shape[0], {n})]", x=name, zeros=zeros, n=rows
    )


def _is_read(parts: Sequence[ast.AST], name: str) -> bool:
    return any(_reads(node, name) for part in parts for node in ast.walk(part))


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
