"""What a loop goes through side by side, as columns: of each of its names the rows of all iterations, in one tensor."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import number_kind
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_whole
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, draws_random, is_pure, is_whole_slice, names_read
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements, Writer

_PLACES = ("int64", "int32")
"""Types of numbers that name places: uint8 is a mask, and others are refused."""
_PLAIN = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


class NotRowwise(Exception):
    """What the loop does is more than what each iteration does with rows of its own."""


@dataclass(frozen=True, slots=True)
class Column:
    """What each iteration has of a value, for all iterations: the rows of a tensor, or one number for all of them."""

    all: Expr
    rank: int | None
    """The dimensions of what one iteration has; None where nothing says."""
    dtype: str = ""
    is_number: bool = False
    """Whether it is one Python number that all iterations have."""
    is_alike: bool = False
    """Whether all iterations have the same."""
    is_distinct: bool = False
    """Whether no two iterations have the same: only of what counts them. Of places that a tensor gives none is sure,
    for -1 is another name of the last one."""

    def chosen(self, write: Writer, rows: Expr) -> Column:
        """Some of its rows."""
        return self if self.is_alike else replace(self, all=write.expr("{}[{}]", self.all, rows))


class Columns:
    """The names of a `for` loop, read as columns, and what its body makes of them.

    `changed`: texts of what the body stores to, whose values no column may read.
    """

    def __init__(self, context: Context, loop: ast.For, changed: Collection[str]) -> None:
        self.kinds = Kinds(context)
        self._context, self._write, self._changed = context, context.write, changed
        self._found: dict[str, Column] = {}
        self._count: str | None = None
        """The name that counts the iterations."""
        self.read: set[str] = set()
        """The names that what it goes through is read from."""
        self._bound: ast.expr | None = None
        """Up to where the count goes, where no tensor says that."""
        self._bind(loop.target, loop.iter)
        if not self._found and self._count is None:
            raise NotRowwise

    @property
    def names(self) -> set[str]:
        """The names that each iteration gives a value of its own."""
        return {*self._found, *([self._count] if self._count is not None else [])}

    # ------------------------------------------------------------------ what the loop goes through

    def _bind(self, target: ast.expr, iterated: ast.expr) -> None:
        """Columns for the names of a target."""
        node = self._followed(iterated)
        match node, target:
            case ast.Call(func=ast.Name(id="zip"), args=several, keywords=[]), ast.Tuple(elts=targets) if len(
                several
            ) == len(targets):
                for inner, one in zip(targets, several):
                    self._bind(inner, one)
            case ast.Call(func=ast.Name(id="enumerate"), args=[one], keywords=[]), ast.Tuple(
                elts=[ast.Name(id=count), inner]
            ):
                self._bind(inner, one)
                self._count = count
            case ast.Call(func=ast.Name(id="range"), args=[bound], keywords=[]), ast.Name(id=count):
                self._count, self._bound = count, None if self._is_length(bound) else bound
                if self._bound is not None and not is_pure(bound):
                    raise NotRowwise
                self.read |= names_read(bound)
            case _:
                self._take_apart(target, self._tensor(node))

    def _followed(self, node: ast.expr) -> ast.expr:
        """A name for what a loop goes through, as what it was made of."""
        if isinstance(node, ast.Name) and self.kinds.of(node) is not Kind.TENSOR:
            value = definition(self._context, node.id)
            if value is not None and is_pure(value):
                return value
        return node

    def _is_length(self, bound: ast.expr) -> bool:
        """Whether a number is the length of a tensor: what the loop counts through is taken to be as long."""
        match self._followed(bound):
            case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Call(func=ast.Attribute(attr="size"), args=[_]):
                return True
            case ast.Call(func=ast.Name(id="len"), args=[_]):
                return True
        return False

    def _tensor(self, node: ast.expr) -> Column:
        """The rows of a tensor, or of a list of its numbers."""
        match node:
            case ast.Call(func=ast.Attribute(value=tensor, attr="tolist"), args=[]):
                return self._tensor(tensor)
        if not is_pure(node) or draws_random(node) or self.kinds.of(node) is not Kind.TENSOR:
            raise NotRowwise
        self.read |= names_read(node)
        shape = self.kinds.shape(node)
        return Column(self._write.expression(node), len(shape) - 1 if shape else None, self.kinds.dtype(node))

    def _take_apart(self, target: ast.expr, rows: Column) -> None:
        """`r` takes the rows, `r, c` their elements."""
        match target:
            case ast.Name(id=name):
                self._found[name] = rows
            case ast.Tuple(elts=parts) if rows.rank in (1, None) and not rows.is_alike:
                for number, part in enumerate(parts):
                    one = self._write.expr("{}[:, {}]", rows.all, str(number))
                    self._take_apart(part, replace(rows, all=one, rank=0))
            case _:
                raise NotRowwise

    # ------------------------------------------------------------------ what its body does

    def named(self, target: ast.expr, value: ast.expr) -> Statements:
        """`r = int(r)`, `r, c = cells[i].tolist()` for all rows. Raises NotRowwise."""
        match target, value:
            case ast.Name(id=name), _:
                column = self.value(value)
                if column.is_number or name == self._count:
                    raise NotRowwise
                self._found[name] = replace(column, all=self._write.expression(name))
                return self._write.assigned(name, column.all)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                given = {node.id for node in targets if isinstance(node, ast.Name)}
                if given & names_read(value):
                    raise NotRowwise
                return [line for pair in zip(targets, values) for line in self.named(*pair)]
            case ast.Tuple(elts=targets), _:
                self._take_apart(target, self.value(value))
                return []
        raise NotRowwise

    def place(self, node: ast.expr) -> Column | ast.expr:
        """A place of each row as a column of numbers; a slice or number that is the same for all as it stands."""
        same = not names_read(node) & self.names and is_pure(node)
        if same and (isinstance(node, ast.Slice) or number_kind(self.kinds, node) == "int"):
            return node
        column = self.value(node)
        is_one = column.rank == 0 or number_kind(self.kinds, node) == "int" or self.kinds.shape(node) == ()
        if column.is_alike or not is_one or not is_whole(column.dtype):
            raise NotRowwise
        if column.dtype in _PLACES:
            return column
        return replace(column, all=self._write.expr("{}.long()", column.all), dtype="int64")

    def value(self, node: ast.expr) -> Column:
        """A value of one iteration as those of all of them. Raises NotRowwise for what is not told row by row."""
        if not names_read(node) & self.names:
            return self._same_for_all(node)
        match node:
            case ast.Name(id=name):
                return self._found[name] if name in self._found else self._counted()
            case ast.Call(func=ast.Attribute(value=value, attr="item" | "tolist"), args=[]):
                return self.value(value)
            case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]):
                column = self.value(value)
                if is_whole(column.dtype):
                    return column
                return replace(column, all=self._write.expr("{}.long()", column.all), dtype="int64")
            case ast.Call(func=ast.Name(id="float"), args=[value], keywords=[]):
                return self.value(value)
            case ast.Call(func=ast.Attribute(value=value)) if self._is_elementwise(node):
                column = self.value(value)
                built = self._write.replaced(node, {value: column.all})
                return Column(built, column.rank, self.kinds.dtype(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                column = self.value(operand)  # 0 and -n may be one place
                return replace(column, all=self._write.expr("-{}", column.all), is_distinct=False)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _PLAIN):
                return self._operation(self.value(left), operator, self.value(right))
            case ast.Subscript():
                return self._read(node)
        raise NotRowwise

    def _same_for_all(self, node: ast.expr) -> Column:
        if not is_pure(node) or draws_random(node) or self._reads_changed(node):
            raise NotRowwise
        built = self._write.expression(node)
        if kind := number_kind(self.kinds, node):
            return Column(built, 0, kind, is_number=True, is_alike=True)
        if self.kinds.of(node) is Kind.TENSOR and self.kinds.shape(node) == ():
            return Column(built, 0, self.kinds.dtype(node), is_alike=True)
        raise NotRowwise

    def _reads_changed(self, node: ast.expr) -> bool:
        return any(isinstance(part, ast.expr) and ast.unparse(part) in self._changed for part in ast.walk(node))

    def _counted(self) -> Column:
        """The numbers of the iterations."""
        rows = next(iter(self._found.values()), None)
        if rows is None or self._bound is not None:
            raise NotRowwise
        built = self._write.expr("torch.arange({}.shape[0], device={}.device)", rows.all, rows.all)
        return Column(built, 0, "int64", is_distinct=True)

    def _is_elementwise(self, node: ast.Call) -> bool:
        """Whether a method is applied element by element, with numbers that are the same for all rows."""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return called(node) in knowledge().elementwise and all(
            not names_read(part) & self.names and (called(node) == "to" or number_kind(self.kinds, part))
            for part in given
        )

    def _operation(self, left: Column, operator: ast.operator, right: Column) -> Column:
        """One operation on two columns; a number of each row meets all that the row of the other has."""
        write, sides = self._write, [left, right]
        ranks = [side.rank for side in sides]
        for one, other in ((0, 1), (1, 0)):
            if sides[one].is_alike or ranks[one] != 0 or ranks[other] == 0:
                continue
            further = ranks[other]
            if further is None:
                raise NotRowwise
            sides[one] = replace(sides[one], all=spread(write, sides[one].all, 0, further))
        if not any(side.is_alike for side in sides) and None in ranks:
            raise NotRowwise
        if all(ranks) and ranks[0] != ranks[1]:
            raise NotRowwise
        rank = None if None in ranks else max(rank for rank in ranks if rank is not None)
        known = {side.dtype for side in sides if not side.is_number}
        whole = len(known) == 1 and is_whole(min(known)) and not isinstance(operator, ast.Div)
        whole = whole and all(side.dtype == "int" for side in sides if side.is_number)
        return Column(write.operation(sides[0].all, operator, sides[1].all), rank, min(known) if whole else "")

    def _read(self, node: ast.Subscript) -> Column:
        """`row[0]`, `x[i]`, `edges[0, i]`, `table[ids[i]]` for all rows."""
        base, parts = base_of(node), indices_of(node)
        if names_read(base) & self.names:
            return self._part_of_row(self.value(base), parts)
        if not is_pure(base) or self._reads_changed(base) or self.kinds.of(base) is not Kind.TENSOR:
            raise NotRowwise
        where = [number for number, part in enumerate(parts) if names_read(part) & self.names]
        shape = self.kinds.shape(base)
        if len(where) != 1:
            raise NotRowwise
        removed = sum(not isinstance(part, ast.Slice) for part in parts)
        rank = len(shape) - removed if shape is not None and len(shape) >= removed else None
        part = parts[where[0]]
        counted = isinstance(part, ast.Name) and part.id == self._count
        if any(isinstance(before, ast.Slice) for before in parts[: where[0]]):
            others = [other for other in parts if other is not part]
            if not counted or self._bound is not None or not all(map(is_whole_slice, others)):
                raise NotRowwise
            built = self._write.expr("{}.movedim({}, 0)", base, str(where[0]))
            return Column(built, rank, self.kinds.dtype(base))
        if counted:
            return Column(self._rows_of(base, parts, where[0]), rank, self.kinds.dtype(base))
        column = self.value(part)
        if column.rank != 0 or not is_whole(column.dtype) or isinstance(part, ast.Slice):
            raise NotRowwise
        return Column(self._subscript(base, parts, {where[0]: column.all}), rank, self.kinds.dtype(base))

    def _rows_of(self, base: ast.expr, parts: Sequence[ast.expr], where: int) -> Expr:
        """`x` of `x[i]`, `x[:, 0]` of `x[i, 0]`, up to the bound of the loop where it has one of its own."""
        if self._bound is None and len(parts) == 1:
            return self._write.expression(base)
        if self._bound is None:
            return self._subscript(base, parts, {where: None})
        return self._subscript(base, parts, {where: self._write.expression(self._bound)}, bound=True)

    def _part_of_row(self, rows: Column, parts: Sequence[ast.expr]) -> Column:
        """`row[0]`, `box[2:]`: the same of all rows."""
        if rows.is_alike or any(names_read(part) & self.names for part in parts):
            raise NotRowwise
        numbers = sum(not isinstance(part, ast.Slice) for part in parts)
        if any(not isinstance(part, ast.Slice) and number_kind(self.kinds, part) != "int" for part in parts):
            raise NotRowwise
        rank = rows.rank - numbers if rows.rank is not None else None
        return Column(subscript(self._write, rows.all, [None, *parts]), rank, rows.dtype)

    def _subscript(
        self, base: ast.expr, parts: Sequence[ast.expr], put: Mapping[int, Expr | None], bound: bool = False
    ) -> Expr:
        """A subscript with some of its parts replaced: None is a whole dimension; with `bound`, up to that."""
        replaced = [
            part if number not in put else self._write.slice(None, put[number]) if bound else put[number]
            for number, part in enumerate(parts)
        ]
        return subscript(self._write, base, replaced)


def base_of(place: ast.Subscript) -> ast.expr:
    """`x` of `x[r, c]` and of `x[r][c]`."""
    base: ast.expr = place
    while isinstance(base, ast.Subscript):
        base = base.value
    return base


def indices_of(place: ast.Subscript) -> list[ast.expr]:
    """`r, c` of `x[r, c]` and of `x[r][c]`. Raises NotRowwise where a piece of a piece is taken."""
    if not isinstance(place.value, ast.Subscript):
        return _parts(place)
    before = indices_of(place.value)
    if any(isinstance(part, ast.Slice) for part in before):
        raise NotRowwise
    return [*before, *_parts(place)]


def selected(view: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """`x` and `:, n, m` of `x.select(1, n).select(1, m)`; `x` and nothing of `x` itself."""
    match view:
        case ast.Call(func=ast.Attribute(value=inner, attr="select"), args=[ast.Constant(value=int(where)), number]):
            base, parts = selected(inner)
            left = [place for place, part in enumerate(parts) if isinstance(part, ast.Slice)]
            left += range(len(parts), len(parts) + where + 1)
            parts += [ast.Slice() for _ in range(left[where] + 1 - len(parts))]
            parts[left[where]] = number
            return base, parts
    return view, []


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def subscript(write: Writer, base: Part, parts: Sequence[Part | None]) -> Expr:
    """`base[parts]`, where None is a whole dimension. Raises NotRowwise for a slice with a step."""
    places: list[Part] = []
    for part in parts:
        match part:
            case None:
                places.append(write.slice(None, None))
            case ast.Slice(step=None, lower=lower, upper=upper):
                places.append(write.slice(lower, upper))
            case ast.Slice():
                raise NotRowwise
            case _:
                places.append(part)
    return write.expr("{}[{}]", base, places)


def spread(write: Writer, rows: Expr, leading: int, trailing: int) -> Expr:
    """`rows[None, :, None]`: numbers, one a row, with as many dimensions of one before and behind."""
    nothing = ast.Constant(None)
    return subscript(write, rows, [*[nothing] * leading, None, *[nothing] * trailing]) if leading + trailing else rows
