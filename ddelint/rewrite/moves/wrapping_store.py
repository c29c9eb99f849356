"""A store into a ring that goes on at its beginning where its end is reached: by places modulo the size it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import (
    asks_compiling,
    draws_random,
    fresh_name,
    is_pure,
    is_whole_slice,
    names_read,
    names_written,
)
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "while compiling, store at places modulo the ring's size: that goes on at the beginning by itself"

_PLACES = ("{}[{}]", "{}[:, {}]", "{}[:, :, {}]", "{}[:, :, :, {}]")


@dataclass(frozen=True, slots=True)
class _Store:
    """`base[:, lower:upper] = value`."""

    base: ast.expr
    dimension: int
    lower: ast.expr | None
    value: ast.expr

    @property
    def name(self) -> str:
        return ast.unparse(self.base)


@rewriting("wrapping_store")
def wrapping_store(context: Context) -> Iterator[Rewrite]:
    """`if i + n <= size: ring[i : i + n] = v`, `else:` in two parts → `ring[(torch.arange(n) + i) % size] = v`."""
    site, write = context.site, context.write
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or not statement.orelse:
        return
    if asks_compiling(statement.test) or write.is_elif(statement):
        return
    for whole, parted in ((statement.body, statement.orelse), (statement.orelse, statement.body)):
        stores, parts = _stores(context, whole), _stores(context, parted)
        if stores and _go_on(stores, parts) and not _reads_its_own(whole, stores):
            lines = write.beside(_lines(context, stores), [statement])
            yield restructured(_MESSAGE, {statement: lines}, decisions=(statement.test,), preferred=True)
            return


def _stores(context: Context, arm: Sequence[ast.stmt]) -> list[_Store]:
    """What an arm stores; nothing where it does more than that, and than naming numbers that it alone reads."""
    found: list[_Store] = []
    for statement in arm:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=base, slice=index)], value=value) if _are_pure(base, value):
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                parts = [
                    n for n, part in enumerate(indices) if isinstance(part, ast.Slice) and not is_whole_slice(part)
                ]
                others = [part for n, part in enumerate(indices) if n not in parts]
                if len(parts) != 1 or parts[0] >= len(_PLACES) or not all(map(is_whole_slice, others)):
                    return []
                moving = indices[parts[0]]
                assert isinstance(moving, ast.Slice)
                if moving.step is not None:
                    return []
                found.append(_Store(base, parts[0], moving.lower, value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value):
                if name in live_behind(context.site.source, context.site.statement):
                    return []
            case _:
                return []
    return found


def _reads_its_own(arm: Sequence[ast.stmt], stores: Sequence[_Store]) -> bool:
    """Whether what an arm stores, or where, has a name that the arm gives: it is not there without the arm."""
    parts = [part for store in stores for part in (store.base, store.lower, store.value) if part is not None]
    return any(names_written(*arm) & names_read(part) for part in parts)


def _are_pure(*parts: ast.expr) -> bool:
    """Whether parts may stand more than once, or once less."""
    return all(is_pure(part) and not draws_random(part) for part in parts)


def _go_on(stores: Sequence[_Store], parts: Sequence[_Store]) -> bool:
    """Whether each store is one in two parts, and nothing else is stored."""
    same = {part.name for part in parts} == {store.name for store in stores}
    return same and all(_goes_on(store, [part for part in parts if part.name == store.name]) for store in stores)


def _goes_on(store: _Store, parts: Sequence[_Store]) -> bool:
    """Whether two stores are one in two parts: from where it begins, and from the ring's beginning on."""
    if len(parts) != 2 or store.lower is None or any(part.dimension != store.dimension for part in parts):
        return False
    if any(part.lower is not None and ast.dump(part.lower) == ast.dump(store.lower) for part in parts[1:]):
        parts = parts[::-1]
    first, second = parts
    begins = second.lower is None or ast.unparse(second.lower) == "0"
    if not begins or first.lower is None or ast.dump(first.lower) != ast.dump(store.lower):
        return False
    until, since = _part_of(first, store), _part_of(second, store)
    return until is not None and since is not None and _is_cut(until, since)


def _part_of(part: _Store, store: _Store) -> ast.Slice | None:
    """The rows of the whole that are stored there."""
    match part.value:
        case ast.Subscript(value=value, slice=index) if ast.dump(value) == ast.dump(store.value):
            indices = index.elts if isinstance(index, ast.Tuple) else [index]
            moving = [index for index in indices if not is_whole_slice(index)]
            others = indices[: store.dimension]
            if len(moving) == 1 and all(map(is_whole_slice, others)) and indices.index(moving[0]) == store.dimension:
                return moving[0] if isinstance(moving[0], ast.Slice) and moving[0].step is None else None
    return None


def _is_cut(until: ast.Slice, since: ast.Slice) -> bool:
    """Whether two slices are what lies in front of a place, and what lies behind it."""
    begins = until.lower is None or ast.unparse(until.lower) == "0"
    if not begins or until.upper is None or since.lower is None or since.upper is not None:
        return False
    return ast.dump(until.upper) == ast.dump(since.lower)


def _lines(context: Context, stores: Sequence[_Store]) -> Statements:
    """The stores, at places that are counted once for all that begin at one place and are equally long."""
    write, kinds = context.write, Kinds(context)
    lines: list[Statements] = []
    names: dict[tuple[str, ...], Expr] = {}
    for store in stores:
        count = write.expr("{}.shape[{}]", store.value, store.dimension)
        size = write.expr("{}.shape[{}]", store.base, store.dimension)
        told = (ast.unparse(store.lower or store.base), *(_size(kinds, x, store) for x in (store.value, store.base)))
        if told not in names:
            base = "places" if not names else f"places_{len(names) + 1}"
            names[told] = write.expression(fresh_name(context.site.source, base))
            template = "(torch.arange({}, device={}.device) + {}) % {}"
            lines.append(write.assigned(names[told], write.expr(template, count, store.base, store.lower or 0, size)))
        value = write.expr("{}.to({}.dtype)", store.value, store.base)
        place = write.expr(_PLACES[store.dimension], store.base, names[told])
        lines.append(write.lines("{place} = {value}", place=place, value=value))
    return [line for group in lines for line in group]


def _size(kinds: Kinds, node: ast.expr, store: _Store) -> str:
    """How long a tensor is where a store moves; its own text where nothing says."""
    shape = kinds.shape(node)
    size = shape[store.dimension] if shape is not None and len(shape) > store.dimension else "?"
    return ast.unparse(node) if size == "?" else size
