"""A loop that stores one row after the other where data says becomes one store of all rows, asked for no place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.columns import Column, Columns, NotRowwise, base_of, indices_of, selected, spread, subscript
from ddelint.rewrite.reading.around import read_elsewhere
from ddelint.rewrite.reading.kinds import is_integer
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import for_over_result, surrounding_for
from ddelint.rewrite.reading.names import fresh_name, is_pure, is_whole_slice, names_read, names_written, unused
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Statements, restructured, rewriting

_MESSAGE = (
    "store all rows at once: each goes where the loop would have put it, and neither places nor rows are asked for"
)


@rewriting("store_all_rows")
def store_all_rows(context: Context) -> Iterator[Rewrite]:
    """`for i, k in enumerate(ids.tolist()): out[k] = x[i]` → `out[ids] = x`, of rows for one place the last."""
    loop = surrounding_for(context) or for_over_result(context)
    if loop is None or loop.orelse:
        return
    named = names_written(loop.target)
    if any(read_elsewhere(context, name, loop) for name in named):
        return
    if names_written(*loop.body) & (live_behind(context.site.source, loop) | names_read(loop.iter)):
        return
    try:
        stores = _Stores(context, loop)
        changes: dict[ast.AST, Any] = {loop: stores.of(loop.body)}
    except NotRowwise:
        return
    changes |= {statement: [] for statement in unread_definitions(context, [loop.iter], stores.columns.read)}
    yield restructured(_MESSAGE, changes, preferred=True)


class _Stores:
    """Reads the body of a loop over rows, and writes its stores for all rows. Raises NotRowwise for what is more."""

    def __init__(self, context: Context, loop: ast.For) -> None:
        self._write, self._source = context.write, context.site.source
        self.columns = Columns(context, loop, {ast.unparse(base) for base in _changed(loop)})
        self._stored: dict[str, bool] = {}
        """What has been stored to, and whether each store adds."""
        self._names: set[str] = set()

    def of(self, body: Sequence[ast.stmt]) -> Statements:
        """What the body does, done for all rows at once."""
        lines = [line for statement in body for line in self._statement(statement)]
        if not self._stored:
            raise NotRowwise
        return lines

    def _statement(self, statement: ast.stmt) -> Statements:
        match statement:
            case ast.Assign(targets=[ast.Subscript() as place], value=value):
                return self._store(base_of(place), indices_of(place), value)
            case ast.AugAssign(target=ast.Subscript() as place, op=ast.Add() | ast.Sub() as operator, value=value):
                return self._add(base_of(place), indices_of(place), value, isinstance(operator, ast.Sub))
            case ast.Expr(ast.Call(func=ast.Attribute(value=view, attr=attr), args=[value], keywords=[])):
                base, indices = selected(view)
                if attr in knowledge().overwriting:
                    return self._store(base, indices, value)
                if attr in knowledge().adding:
                    return self._add(base, indices, value, knowledge().adding[attr])
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                return self.columns.named(target, value)
        raise NotRowwise

    def _store(self, base: ast.expr, indices: Sequence[ast.expr], value: ast.expr) -> Statements:
        """`x[r, c] = v` of all rows; where several name one place, of the last of them."""
        parts = self._places(base, indices, adds=False)
        rows, before = self.columns.value(value), list[Any]()
        places = [part for part in parts if isinstance(part, Column)]
        if not rows.is_alike and not any(part.is_distinct for part in places):
            kept, before = self._last_rows(base, parts)
            rows = rows.chosen(self._write, kept)
            parts = [part.chosen(self._write, kept) if isinstance(part, Column) else part for part in parts]
        leading, trailing = self._around(base, parts)
        return [
            *before,
            *self._write.assigned(
                self._written(base, parts),
                self._laid(rows, base, leading, trailing),
            ),
        ]

    def _add(self, base: ast.expr, indices: Sequence[ast.expr], value: ast.expr, negative: bool) -> Statements:
        """`x[r, c] += v` of all rows: rows for one place add up."""
        parts = self._places(base, indices, adds=True)
        write, rows = self._write, self.columns.value(value)
        if is_integer(self.columns.kinds.dtype(base) or "int") and not is_integer(rows.dtype):
            raise NotRowwise  # what is no integer torch adds to none, where its `.to(dtype)` would be
        leading, trailing = self._around(base, parts)
        if leading > 1 or (leading and trailing):
            raise NotRowwise
        viewed = write.expression(base)
        if any(not isinstance(part, Column) and not is_whole_slice(part) for part in parts):
            viewed = subscript(write, base, [None if isinstance(part, Column) else part for part in parts])
        if leading:
            viewed = write.expr("{}.movedim(0, -1)", viewed)
        places = [part.all for part in parts if isinstance(part, Column)]
        added = self._laid(rows, base, 0, leading + trailing, number=True)
        if negative:
            added = write.expr("-{}", added)
        return write.lines(
            "{viewed}.index_put_({places}, {added}, accumulate=True)",
            viewed=viewed,
            places=write.expr("({},)", places[0]) if len(places) == 1 else write.expr("({})", write.tuple(places)),
            added=added,
        )

    def _places(self, base: ast.expr, indices: Sequence[ast.expr], adds: bool) -> list[Column | ast.expr]:
        """Where something is stored to: columns of numbers, whole dimensions, and numbers of Python's."""
        if not is_pure(base) or names_read(base) & self.columns.names:
            raise NotRowwise
        text = ast.unparse(base)
        if text in self._stored and not (adds and self._stored[text]):
            raise NotRowwise  # what one iteration stores, the next may overwrite
        self._stored[text] = adds
        parts = [self.columns.place(part) for part in indices]
        where = [number for number, part in enumerate(parts) if isinstance(part, Column)]
        between = parts[where[0] : where[-1]] if where else []
        if not where or any(not isinstance(part, Column) for part in between):
            raise NotRowwise
        return parts

    def _around(self, base: ast.expr, parts: Sequence[Column | ast.expr]) -> tuple[int, int]:
        """How many whole dimensions a place has before those that are named by rows, and behind them."""
        shape = self.columns.kinds.shape(base)
        if shape is None or len(shape) < len(parts):
            raise NotRowwise
        whole = [isinstance(part, ast.Slice) for part in parts]
        first = next(number for number, part in enumerate(parts) if isinstance(part, Column))
        leading = sum(whole[:first])
        return leading, sum(whole) - leading + len(shape) - len(parts)

    def _laid(self, rows: Column, base: ast.expr, leading: int, trailing: int, number: bool = False) -> Expr:
        """The rows as they lie in what they are stored to, in its dtype."""
        write = self._write
        if rows.is_number:
            return write.expr("{}.new_tensor({})", base, rows.all) if number else rows.all
        # one place converts what is stored, many refuse another dtype, which a module in half precision may have
        built = write.expr("{}.to({}.dtype)", rows.all, base)
        if rows.rank == leading + trailing:
            return write.expr("{}.movedim(0, {})", built, str(leading)) if leading else built
        if rows.rank == 0:
            return spread(write, built, leading, trailing)
        raise NotRowwise

    def _last_rows(self, base: ast.expr, parts: Sequence[Column | ast.expr]) -> tuple[Expr, Statements]:
        """The rows behind which no other names the same place, in a name, and the lines that find them."""
        write = self._write
        named = [(number, part) for number, part in enumerate(parts) if isinstance(part, Column)]
        sizes = [write.expr("{}.shape[{}]", base, str(number)) for number, _ in named]
        columns = [part.all for _, part in named]
        every = write.expr("torch.arange({}, device={}.device)", write.joined(ast.Mult(), sizes), base)
        if len(named) > 1:
            every = write.expr("{}.view({})", every, sizes)
        places, order, last, kept = (self._fresh(name) for name in ("places", "order", "last", "kept"))
        lines = write.lines(
            "{places} = {every}[{columns}]\n"
            "{order} = torch.arange({places}.shape[0], device={places}.device)\n"
            "{last} = {order}.new_zeros({size}).scatter_reduce(0, {places}, {order}, {largest})\n"
            "{kept} = ({last}[{places}] == {order}).nonzero()[:, 0]",
            places=places,
            order=order,
            last=last,
            kept=kept,
            every=every,
            largest=write.string("amax"),
            columns=columns,
            size=write.joined(ast.Mult(), sizes),
        )
        return write.expression(kept), lines

    def _fresh(self, name: str) -> str:
        found = unused(fresh_name(self._source, name), self._names)
        self._names.add(found)
        return found

    def _written(self, base: ast.expr, parts: Sequence[Column | ast.expr]) -> Expr:
        return subscript(self._write, base, [part.all if isinstance(part, Column) else part for part in parts])


def _changed(loop: ast.For) -> Iterator[ast.expr]:
    """What the body of a loop stores to."""
    for statement in loop.body:
        for node in ast.walk(statement):
            match node:
                case ast.Subscript(ctx=ast.Store()):
                    yield base_of(node)
                case ast.Call(func=ast.Attribute(value=view, attr=attr)) if attr in {
                    *knowledge().overwriting,
                    *knowledge().adding,
                }:
                    yield selected(view)[0]
