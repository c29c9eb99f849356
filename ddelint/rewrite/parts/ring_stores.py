"""Arms that store into a ring: in one part, or in two where its end is reached; and the test that decides which."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.linear import Sum, number
from ddelint.rewrite.proving.sums import Sums, alone
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition
from ddelint.rewrite.reading.names import draws_random, is_pure, is_whole_slice, names_read, opposite
from ddelint.rewrite.reading.regions import live_behind

PLACES = ("{}[{}]", "{}[:, {}]", "{}[:, :, {}]", "{}[:, :, :, {}]")
"""What is picked along each dimension that a store may move along."""


@dataclass(frozen=True, slots=True)
class PartOfRing:
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
class StoringArm:
    """What an arm stores, and what the numbers stand for that it names and alone reads."""

    stores: Sequence[PartOfRing] = ()
    names: Mapping[str, ast.expr] = field(default_factory=dict)

    def reads_its_own(self, *parts: ast.expr | None) -> bool:
        """Whether a part has a name that the arm gives: it is not there without the arm."""
        return any(self.names.keys() & names_read(part) for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Ring:
    """A store that is one in two parts: `size` is what its parts take for the ring's, `count` how much it stores."""

    whole: PartOfRing
    size: ast.expr
    count: Sum


def storing_arm(context: Context, body: Sequence[ast.stmt]) -> StoringArm:
    """Nothing where an arm does more than store, and than naming numbers that it alone reads."""
    found: list[PartOfRing] = []
    names: dict[str, ast.expr] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=base, slice=index)], value=value) if _are_pure(base, value):
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                parts = [
                    n for n, part in enumerate(indices) if isinstance(part, ast.Slice) and not is_whole_slice(part)
                ]
                others = [part for n, part in enumerate(indices) if n not in parts]
                if len(parts) != 1 or parts[0] >= len(PLACES) or not all(map(is_whole_slice, others)):
                    return StoringArm()
                moving = indices[parts[0]]
                assert isinstance(moving, ast.Slice)
                if moving.step is not None or not _are_pure(*filter(None, (moving.lower, moving.upper))):
                    return StoringArm()
                if Kinds(context).of(base) not in (Kind.TENSOR, Kind.UNKNOWN):
                    return StoringArm()
                found.append(PartOfRing(base, parts[0], moving.lower, moving.upper, value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value):
                if name in live_behind(context.site.source, context.site.statement) or name in names:
                    return StoringArm()
                names[name] = value
            case _:
                return StoringArm()
    return StoringArm(found, names)


def _are_pure(*parts: ast.expr) -> bool:
    """Whether parts may stand more than once, or once less."""
    return all(is_pure(part) and not draws_random(part) for part in parts)


def rings(context: Context, whole: StoringArm, parted: StoringArm) -> list[Ring]:
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


def _ring(
    context: Context, store: PartOfRing, whole: StoringArm, parts: Sequence[PartOfRing], parted: StoringArm
) -> Ring | None:
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
    return Ring(store, size, upper - lower)


def asks_for_the_end(context: Context, test: ast.expr, want: bool, ring: Ring, whole: StoringArm) -> bool:
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


def _part_of(part: PartOfRing, store: PartOfRing) -> ast.Slice | None:
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
