"""A loop over the groups that occur in the data becomes a loop over all groups: an empty group adds nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.arms import NotMergeable
from ddelint.rewrite.parts.merge import masked_lines
from ddelint.rewrite.reading.around import listed_mask, read_elsewhere
from ddelint.rewrite.reading.groups import distinct_ids
from ddelint.rewrite.reading.kinds import Kinds, definition, is_torch, own_arguments, reduces_all, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import for_over_result, surrounding_for
from ddelint.rewrite.reading.names import is_pure, names_read, names_written
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting

_COST = "every group is visited, empty ones too"
_REFUSED = "compiled code refuses negative numbers, which count from the end"
_COST_COMPILED = "compiled code visits every group, empty ones too"


@dataclass(frozen=True, slots=True)
class _Listing:
    """What a loop goes over: the places where `mask` is true."""

    mask: ast.expr
    row: bool
    """Each iteration gets a row (a tensor of one element); otherwise one number."""


@rewriting("loop_over_groups")
def loop_over_groups(context: Context) -> Iterator[Rewrite]:
    """`for e in hit.nonzero():` → `for e in range(hit.shape[0]):`, with `e[0]` and `x[e].squeeze(0)` said of an int."""
    loop = surrounding_for(context) or for_over_result(context)
    if loop is None or not isinstance(loop.target, ast.Name) or loop.orelse:
        return
    name, listing = loop.target.id, _listing(context, loop.iter)
    if read_elsewhere(context, name, loop):
        return
    if listing is None:
        yield from _distinct_groups(context, loop, name)
        return
    if not is_pure(listing.mask) or names_read(listing.mask) & names_written(*loop.body):
        return
    write, sized = context.write, _sized(context, listing.mask)
    groups = write.expr("range({}.shape[0])", sized)
    uses = _row_uses(context, loop, name) if listing.row else {}
    if None not in uses.values():
        yield restructured(
            "loop over all groups: their number is known, and a group without members adds nothing",
            {loop.iter: groups, **uses},
            _COST,
        )
    if listing.row:
        return
    with suppress(NotMergeable):
        body = masked_lines(context, loop, loop.body, write.expr("{}[{}]", listing.mask, name), name)
        yield restructured(
            "loop over all groups, and keep what a group changes only where it occurs",
            {loop: write.lines("for {name} in {groups}:\n    {body}", name=name, groups=groups, body=body)},
            _COST,
        )


def _distinct_groups(context: Context, loop: ast.For, name: str) -> Iterator[Rewrite]:
    """`for e in ids.unique():` whose numbers choose from a container → over all places of that container."""
    ids, write = distinct_ids(context, loop.iter), context.write
    held = next(_chosen_from(context, loop, name), None)
    if ids is None or held is None or not is_pure(ids) or name in names_written(*loop.body):
        return
    numbers: dict[ast.AST, Any] = {
        node: write.of(name) for inner in loop.body for node in ast.walk(inner) if _reads_number(node, name)
    }
    groups = write.expr("range({})", held)
    message = "loop over all that the container holds: their number is known, and one that nobody chose adds nothing"
    unread: dict[ast.AST, Any] = {statement: [] for statement in unread_definitions(context, [loop.iter])}
    yield restructured(message, {loop.iter: groups, **numbers, **unread}, _COST)
    listed = _only_listed(context, loop.iter)
    # `int(e)` stays: it takes a number of Python, too
    either: dict[ast.AST, Any] = {
        node: write.expr("int({})", name)
        for node in numbers
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
    }
    either[listed] = write.either(groups, listed)
    message = "while compiling, loop over all that the container holds; eager keeps to those that were chosen"
    dtype = Kinds(context).dtype(ids)
    if not dtype or "int" in dtype:
        yield Rewrite(message, either, Claim.GENERAL_PATH, (_COST_COMPILED,))
    if dtype.startswith("int"):
        check = write.while_compiling(write.lines("torch._check(({ids} >= 0).all().item())", ids=ids))
        yield Rewrite(message, {**either, loop: [*check, loop]}, Claim.GENERAL_PATH, (_COST_COMPILED, _REFUSED))
    if numbers or names_read(ids) & names_written(*loop.body):
        return
    with suppress(NotMergeable):
        body = masked_lines(context, loop, loop.body, write.expr("({} == {}).any()", ids, name), name)
        unread = {statement: [] for statement in unread_definitions(context, [loop.iter], names_read(ids))}
        yield restructured(
            "loop over all that the container holds, and keep what one changes only where it is chosen",
            {loop: write.lines("for {name} in {groups}:\n    {body}", name=name, groups=groups, body=body), **unread},
            _COST,
        )


def _only_listed(context: Context, iterated: ast.expr) -> ast.expr:
    """What a loop goes over: where that is a name for it alone, the value that the name is given."""
    if isinstance(iterated, ast.Name) and unread_definitions(context, [iterated]):
        return definition(context, iterated.id) or iterated
    return iterated


def _chosen_from(context: Context, loop: ast.For, name: str) -> Iterator[Expr]:
    """How much is held where the loop's number is a place: a container's known length, a dimension's known size."""
    kinds, write, bound = Kinds(context), context.write, names_written(*loop.body)
    for node in (node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Subscript)):
        table, indices = node.value, node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        chosen = [(isinstance(place, ast.Name) and place.id == name) or _reads_number(place, name) for place in indices]
        if not any(chosen) or not is_pure(table) or names_read(table) & bound:
            continue
        fact, shape = kinds.fact(table), kinds.shape(table)
        if fact is not None and fact.kind in {"module", "list", "tuple"} and isinstance(node.ctx, ast.Load):
            yield write.expr("len({})", table)
        dimension = chosen.index(True)
        plain = all(isinstance(place, ast.Slice) or integer(place) is not None for place in indices[:dimension])
        if shape is not None and plain and dimension < len(shape) and shape[dimension].isdigit():
            yield write.expr("{}.shape[{}]", table, str(dimension))


def _reads_number(node: ast.AST, name: str) -> bool:
    """`int(e)`, `e.item()`."""
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=read)], keywords=[]):
            return read == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=read), attr="item"), args=[], keywords=[]):
            return read == name
    return False


def _listing(context: Context, node: ast.expr, depth: int = 0) -> _Listing | None:
    """What `node` lists: `mask.nonzero()`, `torch.where(mask)[0]`, flattened or turned into a list."""
    if depth > 4:
        return None
    match node:
        case ast.Name(id=name):
            defined = definition(context, name)
            return _listing(context, defined, depth + 1) if defined is not None else None
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            found = listed_mask(value)
            return _Listing(found, False) if found is not None else None
        case ast.Call(func=ast.Attribute(value=inner, attr="flatten" | "ravel" | "view" | "reshape" | "squeeze")):
            if is_torch(inner):
                return None
            listing = _listing(context, inner, depth + 1)
            return _Listing(listing.mask, False) if listing is not None else None
        case ast.Call(func=ast.Attribute(value=inner, attr="tolist")):
            listing = _listing(context, inner, depth + 1)
            return listing if listing is not None and not listing.row else None
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=arguments, keywords=[]):
            if attr not in knowledge().listings or attr == "where":
                return None
            if is_torch(owner) and len(arguments) == 1:
                return _one_dimension(context, arguments[0])
            return _one_dimension(context, owner) if not arguments and not is_torch(owner) else None
    return None


def _one_dimension(context: Context, mask: ast.expr) -> _Listing | None:
    shape = Kinds(context).shape(mask)
    return None if shape is not None and len(shape) != 1 else _Listing(mask, True)


def _sized(context: Context, mask: ast.expr) -> ast.expr:
    """As simple an expression as has the mask's first dimension."""
    table, kinds, node = knowledge(), Kinds(context), mask
    while True:
        match node:
            case ast.Compare(left=left, comparators=[right]) if _scalar(kinds, right):
                node = left
                continue
            case ast.Call(func=ast.Attribute(attr=attr)) if (subject := tensor_argument(node)) is not None:
                others = own_arguments(node)
                plain = attr in table.elementwise and all(_scalar(kinds, other) or attr == "to" for other in others)
                if plain or (attr in table.reductions and _keeps_first(node, others)):
                    node = subject
                    continue
        return node


def _scalar(kinds: Kinds, node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or kinds.shape(node) == ()


def _keeps_first(node: ast.Call, others: list[ast.expr]) -> bool:
    """Whether a reduction goes over other dimensions than the first (negative ones of a tensor of more)."""
    if reduces_all(node):
        return False
    chosen = [keyword.value for keyword in node.keywords if keyword.arg in {"dim", "axis"}] or others[:1]
    if len(chosen) != 1:
        return False
    dims = chosen[0].elts if isinstance(chosen[0], (ast.Tuple, ast.List)) else chosen
    return all(integer(dim) not in (None, 0) for dim in dims)


def _row_uses(context: Context, loop: ast.For, name: str) -> dict[ast.AST, Any]:
    """The body's uses of a row of one element, said of an int; None for a use that cannot be."""
    match loop.body:
        case [ast.Assign(targets=[ast.Name(id=target)], value=value) as first, *rest] if target == name:
            # from here on it is one number, and an int serves as well
            plain = _takes_element(value, name) and rest and name not in names_written(*rest)
            return {first: [] if plain else None}
    if name in names_written(*loop.body):
        return {loop: None}
    return dict(use for statement in loop.body for use in _uses(context, statement, name))


def _uses(context: Context, node: ast.AST, name: str) -> Iterator[tuple[ast.AST, Any]]:
    """`e[0]`, `e.item()`, `int(e)` → `e`; `x[e].squeeze(0)` → `x[e]`; `x[e]` → `x[e : e + 1]`."""
    write = context.write
    match node:
        case ast.expr() if _takes_element(node, name):
            yield node, write.of(name)
            return
        case ast.Call(
            func=ast.Attribute(attr="squeeze", value=ast.Subscript(value=rows, slice=ast.Name(id=read)) as row),
            args=[ast.Constant(value=0)],
        ) if read == name:
            inside = dict(_uses(context, rows, name))
            yield node, None if None in inside.values() else write.replaced(row, inside)
            return
        case ast.Subscript(value=rows, slice=ast.Name(id=read) as index) if read == name:
            yield index, write.slice(name, write.expr("{} + 1", name))
            yield from _uses(context, rows, name)
            return
        case ast.Name(id=read) if read == name and not isinstance(context.site.source.parents.get(node), ast.Compare):
            yield node, None
    for child in ast.iter_child_nodes(node):
        yield from _uses(context, child, name)


def _takes_element(value: ast.expr, name: str) -> bool:
    match value:
        case (
            ast.Subscript(value=ast.Name(id=read), slice=ast.Constant(value=0))
            | ast.Call(func=ast.Attribute(value=ast.Name(id=read), attr="item" | "squeeze"), args=[])
            | ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=read)])
        ):
            return read == name
    return False
