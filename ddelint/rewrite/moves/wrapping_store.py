"""A store into a ring that goes on at its beginning where its end is reached: by places modulo the size it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.linear import Sum, number
from ddelint.rewrite.proving.proofs import Proofs
from ddelint.rewrite.proving.relations import relation
from ddelint.rewrite.proving.sums import Sums, alone
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition
from ddelint.rewrite.reading.names import (
    asks_compiling,
    draws_random,
    fresh_name,
    is_pure,
    is_whole_slice,
    names_read,
    opposite,
)
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "while compiling, store at places modulo the ring's size: that goes on at the beginning by itself"

_NAMES = ("count", "size", "rows", "places")
_PLACES = ("{}[{}]", "{}[:, {}]", "{}[:, :, {}]", "{}[:, :, :, {}]")


@dataclass(frozen=True, slots=True)
class _Store:
    """`base[:, lower:upper] = value`."""

    base: ast.expr
    dimension: int
    lower: ast.expr | None
    upper: ast.expr | None
    value: ast.expr

    @property
    def name(self) -> str:
        return ast.unparse(self.base)


@dataclass(frozen=True, slots=True)
class _Arm:
    """What an arm stores, and what the numbers stand for that it names and alone reads."""

    stores: Sequence[_Store] = ()
    names: Mapping[str, ast.expr] = field(default_factory=dict)

    def reads_its_own(self, *parts: ast.expr | None) -> bool:
        """Whether a part has a name that the arm gives: it is not there without the arm."""
        return any(self.names.keys() & names_read(part) for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class _Ring:
    """A store that is one in two parts: `size` is what its parts take for the ring's, `count` how much it stores."""

    whole: _Store
    size: ast.expr
    count: Sum


@rewriting("wrapping_store")
def wrapping_store(context: Context) -> Iterator[Rewrite]:
    """`if i + n <= size: ring[i : i + n] = v`, `else:` in two parts → `ring[(torch.arange(n) + i) % size] = v`.

    Slices take no place outside of the ring, and no more rows than two rounds of it have: both are checked.
    """
    site, write = context.site, context.write
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or not statement.orelse:
        return
    if asks_compiling(statement.test) or write.is_elif(statement):
        return
    for want in (True, False):
        bodies = (statement.body, statement.orelse)
        whole, parted = (_arm(context, body) for body in (bodies if want else bodies[::-1]))
        rings = _rings(context, whole, parted)
        if rings and all(_asks_for_the_end(context, statement.test, want, ring, whole) for ring in rings):
            write_to = _Places(context, statement, whole)
            lines = [line for ring in rings for line in write_to.lines(ring)]
            if write_to.is_whole:
                new = write.beside(lines, [statement])
                yield restructured(_MESSAGE, {statement: new}, decisions=(statement.test,), preferred=True)
            return


def _arm(context: Context, body: Sequence[ast.stmt]) -> _Arm:
    """Nothing where an arm does more than store, and than naming numbers that it alone reads."""
    found: list[_Store] = []
    names: dict[str, ast.expr] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=base, slice=index)], value=value) if _are_pure(base, value):
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                parts = [
                    n for n, part in enumerate(indices) if isinstance(part, ast.Slice) and not is_whole_slice(part)
                ]
                others = [part for n, part in enumerate(indices) if n not in parts]
                if len(parts) != 1 or parts[0] >= len(_PLACES) or not all(map(is_whole_slice, others)):
                    return _Arm()
                moving = indices[parts[0]]
                assert isinstance(moving, ast.Slice)
                if moving.step is not None or not _are_pure(*filter(None, (moving.lower, moving.upper))):
                    return _Arm()
                if Kinds(context).of(base) not in (Kind.TENSOR, Kind.UNKNOWN):
                    return _Arm()
                found.append(_Store(base, parts[0], moving.lower, moving.upper, value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value):
                if name in live_behind(context.site.source, context.site.statement) or name in names:
                    return _Arm()
                names[name] = value
            case _:
                return _Arm()
    return _Arm(found, names)


def _are_pure(*parts: ast.expr) -> bool:
    """Whether parts may stand more than once, or once less."""
    return all(is_pure(part) and not draws_random(part) for part in parts)


def _rings(context: Context, whole: _Arm, parted: _Arm) -> list[_Ring]:
    """The stores, where each is one in two parts, and nothing else is stored."""
    if {part.name for part in parted.stores} != {store.name for store in whole.stores}:
        return []
    if any(whole.reads_its_own(store.base, store.lower, store.value) for store in whole.stores):
        return []
    found = []
    for store in whole.stores:
        ring = _ring(context, store, whole, [part for part in parted.stores if part.name == store.name], parted)
        if ring is None:
            return []
        found.append(ring)
    return found


def _ring(context: Context, store: _Store, whole: _Arm, parts: Sequence[_Store], parted: _Arm) -> _Ring | None:
    """A store with what its two parts say: one from where it begins, one from the ring's beginning on."""
    if len(parts) != 2 or store.lower is None or store.upper is None:
        return None
    if any(part.dimension != store.dimension for part in parts):
        return None
    if any(part.lower is not None and ast.dump(part.lower) == ast.dump(store.lower) for part in parts[1:]):
        parts = parts[::-1]
    first, second = parts
    begins = second.lower is None or ast.unparse(second.lower) == "0"
    if not begins or first.lower is None or ast.dump(first.lower) != ast.dump(store.lower) or second.upper is None:
        return None
    cut = _cut(_part_of(first, store), _part_of(second, store))
    if cut is None:
        return None
    sums, behind = Sums(context, whole.names), Sums(context, parted.names)
    lower, upper = sums.of(store.lower), sums.of(store.upper)
    end = behind.of(cut) + lower
    reaches = first.upper is None or behind.of(first.upper) == end
    size = alone(end)
    if size is None or not reaches or behind.of(second.upper) != upper - end:
        return None
    return _Ring(store, size, upper - lower)


def _asks_for_the_end(context: Context, test: ast.expr, want: bool, ring: _Ring, whole: _Arm) -> bool:
    """Whether a test is `want` just where what is stored ends within the ring."""
    while isinstance(test, (ast.UnaryOp, ast.Name)):
        inner = test.operand if isinstance(test, ast.UnaryOp) else definition(context, test.id)
        if inner is None or (isinstance(test, ast.UnaryOp) and not isinstance(test.op, ast.Not)):
            return False
        test, want = inner, want is not isinstance(test, ast.UnaryOp)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ring.whole.upper is None:
        return False
    sign = test.ops[0] if want else opposite(test.ops[0])()
    sums = Sums(context, {})
    left, right = sums.of(test.left), sums.of(test.comparators[0])
    room = sums.of(ring.size) - Sums(context, whole.names).of(ring.whole.upper)
    match sign:
        case ast.LtE() | ast.Lt():
            said = right - left
        case ast.GtE() | ast.Gt():
            said = left - right
        case _:
            return False
    least = said - number(1) if isinstance(sign, (ast.Lt, ast.Gt)) else said
    return room == least or room - number(1) == least  # one that ends where the ring does has no second part


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


def _cut(until: ast.Slice | None, since: ast.Slice | None) -> ast.expr | None:
    """Where a first part ends and a second begins."""
    if until is None or since is None or until.upper is None or since.lower is None or since.upper is not None:
        return None
    begins = until.lower is None or ast.unparse(until.lower) == "0"
    return until.upper if begins and ast.dump(until.upper) == ast.dump(since.lower) else None


class _Places:
    """Stores at places that are counted once for all that begin at one place and are equally long."""

    def __init__(self, context: Context, statement: ast.stmt, arm: _Arm) -> None:
        self._context, self._arm, self._proofs = context, arm, Proofs(context, statement)
        self._write, self._kinds, self._sums = context.write, Kinds(context), Sums(context, arm.names)
        self._names: dict[tuple[str, ...], tuple[Expr, ...]] = {}
        self.is_whole = True
        """Whether all could be said without the names that the arm gives."""

    def lines(self, ring: _Ring) -> Statements:
        """One store."""
        write, store = self._write, ring.whole
        size = write.expr("{}.shape[{}]", store.base, store.dimension)
        count = write.expr("{}.shape[{}]", store.value, store.dimension)
        start = write.expression(store.lower or ast.Constant(0))
        if store.lower is not None and self._kinds.of(store.lower) is Kind.TENSOR:
            start = write.expr("{}.item()", start)
        told = (ast.unparse(store.lower or store.base), *(self._size(x, store) for x in (store.value, store.base)))
        lines: Statements = []
        if told in self._names:
            _, _, rows, places = self._names[told]
            lines += self._as_the_text_says(ring, start, count, size)
        else:
            end = f"_{len(self._names) + 1}" if self._names else ""
            fresh = (fresh_name(self._context.site.source, f"{name}{end}") for name in _NAMES)
            count_name, size_name, rows, places = self._names[told] = tuple(map(write.expression, fresh))
            lines += [*write.assigned(count_name, count), *write.assigned(size_name, size)]
            lines += self._as_the_text_says(ring, start, count_name, size_name)
            lines += self._in_range(ring, start, count_name, size_name)
            last = "torch.arange(torch.sym_max({} - {}, 0), {}, device={}.device)"
            lines += write.assigned(rows, write.expr(last, count_name, size_name, count_name, store.base))
            lines += write.assigned(places, write.expr("({} + {}) % {}", rows, start, size_name))
        value = write.expr(_PLACES[store.dimension], write.expr("{}.to({})", store.value, store.base), rows)
        place = write.expr(_PLACES[store.dimension], store.base, places)
        return [*lines, *write.lines("{place} = {value}", place=place, value=value)]

    def _as_the_text_says(self, ring: _Ring, start: Expr, count: Expr, size: Expr) -> Statements:
        """Checks that the numbers of the text are those of the tensors, as far as it does not say so itself."""
        write, store = self._write, ring.whole
        lines: Statements = []
        if self._sums.size(store.value, store.dimension) != ring.count:
            said: Part = write.expr("{} - {}", store.upper or 0, store.lower or 0)
            match store.upper:
                case ast.BinOp(left=left, op=ast.Add(), right=right) if ast.dump(left) == ast.dump(store.lower or left):
                    said = right
            self.is_whole &= not self._arm.reads_its_own(store.upper)
            lines += write.lines("torch._check({said} == {count})", said=said, count=count)
        if self._sums.size(store.base, store.dimension) != self._sums.of(ring.size):
            fits = "{said} == {size} or {start} + {count} <= min({said}, {size})"
            fitting = write.expr(fits, said=ring.size, size=size, start=start, count=count)
            lines += write.lines("torch._check({said})", said=fitting)
        return lines

    def _in_range(self, ring: _Ring, start: Expr, count: Expr, size: Expr) -> Statements:
        """Checks of what slices raise at: a place outside of the ring; one before its beginning, that rows do not end
        before as well; a third round."""
        write, lower = self._write, ring.whole.lower or ast.Constant(0)
        lines: Statements = []
        if self._proofs.of(relation(lower, ast.GtE(), 0)) is None:
            lines += write.lines("torch._check({start} >= -{size})", start=start, size=size)
            lines += write.lines("torch._check(sym_or({start} >= 0, {start} + {count} < 0))", start=start, count=count)
        if self._proofs.of(relation(lower, ast.LtE(), ring.size)) is None:
            lines += write.lines("torch._check({start} <= {size})", start=start, size=size)
        template = "torch._check({start} + {count} <= 2 * {size})"
        return [*lines, *write.lines(template, start=start, count=count, size=size)]

    def _size(self, node: ast.expr, store: _Store) -> str:
        """How long a tensor is where a store moves; its own text where nothing says."""
        shape = self._kinds.shape(node)
        size = shape[store.dimension] if shape is not None and len(shape) > store.dimension else "?"
        return ast.unparse(node) if size == "?" else size
