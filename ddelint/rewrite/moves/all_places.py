"""A loop that changes one place after the other becomes one change of all of them: nobody asks which or how many."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import listed_tensor, read_elsewhere
from ddelint.rewrite.reading.groups import distinct_ids
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import for_over_result, surrounding_for
from ddelint.rewrite.reading.names import called, draws_random, fresh_name, is_pure, names_read, names_written
from ddelint.rewrite.reading.regions import live_behind
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Statements, restructured, rewriting

_MESSAGE = "change all places at once: each takes what it would have taken, and how many there are is not asked"
_PLAIN = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_SIGNS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class _NoStore(Exception):
    """The loop does more than change a place that its number names."""


@rewriting("store_at_all_places")
def store_at_all_places(context: Context) -> Iterator[Rewrite]:
    """`for i in ids.unique(): w[i] = v` → `w[ids.unique()] = v`; a value may read the place, or hang on a test."""
    loop = surrounding_for(context) or for_over_result(context)
    if loop is None or not isinstance(loop.target, ast.Name) or loop.orelse:
        return
    name, places = loop.target.id, _places(context, loop.iter)
    if places is None or read_elsewhere(context, name, loop) or names_read(places.ids) & names_written(*loop.body):
        return
    stores = _Stores(context, name, places)
    try:
        lines = stores.of(loop.body)
    except _NoStore:
        return
    if stores.names & live_behind(context.site.source, loop):
        return
    kept = names_read(places.ids)
    changes: dict[ast.AST, Any] = {loop: [*stores.before, *lines]}
    changes |= {statement: [] for statement in unread_definitions(context, [loop.iter], kept)}
    yield restructured(_MESSAGE, changes, preferred=True)
    if stores.reads_places:
        # a negative number is another name for a place: where both come, the loop changes that twice
        part = context.write.expression(fresh_name(context.site.source, "part"))
        twice = context.write.lines(
            "for {part} in ({ids}[{ids} < 0], {ids}[{ids} >= 0]):\n    {body}",
            part=part,
            ids=stores.ids,
            body=_Stores(context, name, places, part).of(loop.body),
        )
        yield restructured(_MESSAGE, {**changes, loop: [*stores.before, *twice]}, preferred=True)


@dataclass(frozen=True, slots=True)
class _Places:
    """The tensor whose elements a loop goes through as numbers of places; `distinct`: none comes twice."""

    ids: ast.expr
    distinct: bool
    template: str = "{}"


def _places(context: Context, iterated: ast.expr) -> _Places | None:
    kinds = Kinds(context)
    node = iterated
    if isinstance(node, ast.Name) and (value := definition(context, node.id)) is not None and is_pure(value):
        node = value
    tensor = listed_tensor(kinds, node) or node
    if is_pure(tensor) and kinds.of(tensor) is Kind.TENSOR and _numbers_places(kinds, tensor):
        is_unique = isinstance(tensor, ast.Call) and called(tensor) in knowledge().distinct
        return _Places(tensor, is_unique or _lists_a_mask(tensor))
    ids = distinct_ids(context, node)
    is_set = any(isinstance(part, ast.Call) and called(part) in knowledge().distinct for part in ast.walk(node))
    if ids is not None and is_set and is_pure(ids) and kinds.dtype(ids).startswith(("int", "uint")):
        return _Places(ids, True, "torch.unique({})")
    return None


def _numbers_places(kinds: Kinds, tensor: ast.expr) -> bool:
    """Whether a tensor holds whole numbers in one dimension, as far as anything says."""
    shape = kinds.shape(tensor)
    return kinds.dtype(tensor).startswith("int") and (shape is None or len(shape) == 1)


def _lists_a_mask(tensor: ast.expr) -> bool:
    """Whether it is `mask.nonzero()`, made flat: each place comes once."""
    listings = knowledge().listings
    return any(isinstance(part, ast.Call) and called(part) in listings for part in ast.walk(tensor))


class _Stores:
    """Reads the body of a loop over places, and writes it for all of them: `ids` takes the place of the loop's name."""

    def __init__(self, context: Context, name: str, places: _Places, given: Expr | None = None) -> None:
        self._write, self._name, self._places = context.write, name, places
        self._kinds = Kinds(context)
        self._stored: set[str] = set()
        self.reads_places = False
        """Whether a store reads what it changes."""
        self._changed: set[str] = set()
        self.names: set[str] = set()
        """Names that each iteration gives a value of its own."""
        ids: Expr = self._write.expr(places.template, places.ids)
        self.ids, self.before = given or ids, list[Any]()
        if given is None and not (isinstance(places.ids, ast.Name) and places.template == "{}"):
            self.ids = self._write.expression(fresh_name(context.site.source, "places"))
            self.before = self._write.assigned(self.ids, ids)

    def of(self, body: Sequence[ast.stmt]) -> Statements:
        """What the body does, done for all places at once. Raises _NoStore."""
        stores = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        self._changed = {ast.unparse(node.value) for node in stores}
        lines = [line for statement in body for line in self._statement(statement)]
        if not self._stored:
            raise _NoStore
        return lines

    def _statement(self, statement: ast.stmt) -> Statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in self.names:
                built = self._value(value)
                self.names.add(name)
                return self._write.assigned(name, built)
            case ast.AugAssign(target=ast.Subscript() as place, op=operator, value=value) if isinstance(
                operator, _PLAIN
            ):
                return self._store(place, self._write.operation(self._place(place), operator, self._value(value)), True)
            case ast.Assign(targets=[ast.Subscript() as place], value=value):
                built = self._value(value)
                if self._is_tensor(value):
                    built = self._as_stored(place, built, value)
                return self._store(place, built, self._reads(place, value))
            case ast.If(test=test, body=[ast.Assign(targets=[ast.Subscript() as place], value=value)], orelse=other):
                match other:
                    case []:
                        otherwise, reads, last = self._place(place), True, place
                    case [ast.Assign(targets=[ast.Subscript() as same], value=last)] if _alike(same, place):
                        otherwise, reads = self._value(last), self._reads(place, test, value, last)
                    case _:
                        raise _NoStore
                chosen = self._write.expr("torch.where({}, {}, {})", self._value(test), self._value(value), otherwise)
                return self._store(place, self._as_stored(place, chosen, value, last), reads)
        raise _NoStore

    def _as_stored(self, place: ast.Subscript, built: Expr, *values: ast.expr) -> Expr:
        """In the dtype of what is changed: a store at one place converts, one at many places refuses another."""
        base = ast.unparse(place.value)
        reads = any(isinstance(node, ast.Subscript) for value in values for node in ast.walk(value))
        if reads and all(_keeps_dtype(value, base) for value in values):
            return built
        return self._write.expr("{}.to({}.dtype)", built, place.value)

    def _is_tensor(self, value: ast.expr) -> bool:
        """Whether a value is written as a tensor: one of each place, or one for all."""
        of_each = isinstance(value, ast.IfExp) or bool(names_read(value) & (self.names | {self._name}))
        return of_each or self._kinds.of(value) is Kind.TENSOR

    def _store(self, place: ast.Subscript, value: Expr, reads: bool) -> Statements:
        """One store; where it reads what it changes, no place may come twice."""
        base = ast.unparse(place.value)
        if (reads and not self._places.distinct) or base in self._stored or self._kinds.of(place.value) is Kind.NUMBER:
            raise _NoStore
        self._stored.add(base)
        self.reads_places |= reads
        return self._write.assigned(self._place(place), value)

    def _reads(self, place: ast.Subscript, *values: ast.expr) -> bool:
        """Whether a value reads the tensor that is changed, by its name or by a name that was given before."""
        base = ast.unparse(place.value)
        nodes = [node for value in values for node in ast.walk(value)]
        return bool(names_read(*values) & self.names) or any(
            isinstance(node, ast.expr) and ast.unparse(node) == base for node in nodes
        )

    def _place(self, place: ast.Subscript) -> Expr:
        """`w[i]`, `w[row, :, int(i)]`, with all places for one. Raises _NoStore for a place that is told otherwise."""
        parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
        others = [part for part in parts if not self._is_number(part)]
        if len(others) != len(parts) - 1 or self._name in names_read(place.value, *others):
            raise _NoStore
        if not is_pure(place) or names_read(place) & self.names:
            raise _NoStore
        return self._write.replaced(place, {part: self.ids for part in parts if self._is_number(part)})

    def _is_number(self, node: ast.expr) -> bool:
        """The loop's name, or the number that it is read as."""
        match node:
            case ast.Name(id=name):
                return name == self._name
            case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)], keywords=[]):
                return name == self._name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item"), args=[], keywords=[]):
                return name == self._name
        return False

    def _value(self, node: ast.expr) -> Expr:
        """A value of one place as the values of all. Raises _NoStore for what is not told element by element."""
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._write.expr("torch.where({}, {}, {})", *map(self._value, (test, body, orelse)))
            case ast.Constant(value=bool() | int() | float()):
                return self._write.expression(node)
            case ast.Name(id=name) if name == self._name:
                return self.ids
            case ast.Name(id=name) if name in self.names:
                return self._write.expression(node)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _PLAIN):
                return self._write.operation(self._value(left), operator, self._value(right))
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if isinstance(operator, _SIGNS):
                return self._write.operation(self._value(left), operator, self._value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._write.expr("-{}", self._value(operand))
            case (
                ast.Call(func=ast.Attribute(value=value, attr="item"), args=[], keywords=[])
                | ast.Call(func=ast.Name(id="float"), args=[value], keywords=[])
            ) if not self._is_number(node) and not _is_text(value):
                return self._value(value)
            case ast.Subscript() if self._name in names_read(node):
                return self._place(node)
        if names_read(node) & (self.names | {self._name}) or not is_pure(node) or draws_random(node):
            raise _NoStore
        if any(isinstance(part, ast.expr) and ast.unparse(part) in self._changed for part in ast.walk(node)):
            raise _NoStore  # what one iteration changes, the next would read
        if self._kinds.of(node) is Kind.TENSOR and self._kinds.shape(node) != ():
            raise _NoStore
        return self._write.expression(node)


def _keeps_dtype(value: ast.expr, base: str) -> bool:
    """Whether a value has the dtype of `base`, whatever that is: made of its elements and of whole numbers."""
    match value:
        case ast.Subscript(value=read):
            return ast.unparse(read) == base
        case ast.Constant(value=number):
            return isinstance(number, int) and not isinstance(number, bool)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _keeps_dtype(operand, base)
        case ast.BinOp(left=left, op=operator, right=right):
            return not isinstance(operator, ast.Div) and _keeps_dtype(left, base) and _keeps_dtype(right, base)
    return False


def _is_text(node: ast.expr) -> bool:
    """The text of a number: `"-inf"` of `float("-inf")`."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _alike(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)
