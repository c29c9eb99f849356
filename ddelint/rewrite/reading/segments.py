"""Reductions of the rows of one group after the other: which groups there are, what is reduced, what becomes of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import listed_mask, listed_tensor
from ddelint.rewrite.reading.kinds import Kinds, definition, own_arguments, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, is_pure, names_read


@dataclass(frozen=True, slots=True)
class Groups:
    """What a loop goes through: numbers below `count`, the distinct values of some ids, or pieces of a tensor."""

    name: str
    """The loop's number of the group; empty where it has none."""
    count: ast.expr | None = None
    distinct: ast.expr | None = None
    piece: str = ""
    """The loop's name for the rows of a group, where these are `whole.split(lengths.tolist())`."""
    whole: ast.expr | None = None
    lengths: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """`values[ids == group].how(0)`, or of a piece of `values`.

    `everything`: over all dimensions, of which there is one. `otherwise` is what an empty group has instead, in which
    `nothing` are the names of its rows: none of `values`.
    """

    values: ast.expr
    ids: ast.expr | None
    how: str
    everything: bool
    test: ast.expr | None = None
    otherwise: ast.expr | None = None
    nothing: tuple[ast.Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one iteration does: it stores the reduction in a row of `out`, or appends it to the list `out`.

    `rows`: it stores it in all rows of `out` that are those of the group.
    """

    reduction: Reduction
    out: ast.expr
    appends: bool
    guard: ast.expr | None = None
    """The test that leaves an empty group alone."""
    rows: bool = False


def groups_of(context: Context, target: ast.expr, iterated: ast.expr, depth: int = 0) -> Groups | None:
    """The groups that `for target in iterated` goes through; None where it goes through anything else."""
    if depth > 3:
        return None
    match target, iterated:
        case (
            ast.Tuple(elts=[ast.Name(id=number), ast.Name() as piece]),
            ast.Call(func=ast.Name(id="enumerate"), args=[pieces], keywords=[]),
        ):
            found = groups_of(context, piece, pieces, depth + 1)
            return replace(found, name=number) if found is not None and found.piece else None
    if not isinstance(target, ast.Name):
        return None
    match iterated:
        case ast.Call() if called(iterated) in ("split", "split_with_sizes"):
            whole, sizes = tensor_argument(iterated), _split_sizes(iterated)
            tensor = listed_tensor(Kinds(context), sizes) if sizes is not None else None
            if whole is None or tensor is None or not (is_pure(whole) and is_pure(tensor)):
                return None
            return Groups("", piece=target.id, whole=whole, lengths=tensor)
        case ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]) if is_pure(count):
            return Groups(target.id, count)
        case ast.Call(func=ast.Attribute(value=inner, attr="tolist"), args=[]):
            return groups_of(context, target, inner, depth + 1)
        case ast.Call(keywords=[]) if called(iterated) == "unique":
            ids = tensor_argument(iterated)
            return Groups(target.id, distinct=ids) if ids is not None else None
        case ast.Name(id=name):
            value = definition(context, name)
            return groups_of(context, target, value, depth + 1) if value is not None else None
    return None


def _split_sizes(call: ast.Call) -> ast.expr | None:
    """The lengths of a `split` along the first dimension."""
    axes = [keyword.value for keyword in call.keywords if keyword.arg in ("dim", "axis")]
    given = [*own_arguments(call), *(keyword.value for keyword in call.keywords if keyword.value not in axes)]
    along_the_first = all(ast.unparse(axis) == "0" for axis in (*axes, *given[1:]))
    return given[0] if given and along_the_first else None


def is_stack(node: ast.Call) -> bool:
    """Whether a call puts what it is given on top of each other, along a new first dimension."""
    dimensions = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return called(node) == "stack" and all(ast.unparse(dimension) == "0" for dimension in dimensions)


@dataclass(frozen=True, slots=True)
class _Stored:
    """Where a group's result is kept: in its row of `out`, at the end of the list `out`, in rows that `ids` names."""

    out: ast.expr
    value: ast.expr
    appends: bool
    ids: ast.expr | None = None

    @property
    def place(self) -> tuple[str, bool, str]:
        return ast.unparse(self.out), self.appends, "" if self.ids is None else ast.unparse(self.ids)


@dataclass
class Iteration:
    """Reads one iteration over groups; `names` holds the values that it has given to names so far."""

    kinds: Kinds
    groups: Groups
    names: dict[str, ast.expr] = field(default_factory=dict)

    def outcome(self, body: Sequence[ast.stmt]) -> Outcome | None:
        """What the statements do; None where it is anything else."""
        *before, last = body
        guard: ast.expr | None = None
        for statement in before:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value):
                    self.names[name] = value
                case ast.If(test=test, body=[ast.Continue()], orelse=[]) if guard is None:
                    if not self._is_about_rows(test, empty=True):
                        return None
                    guard = test
                case _:
                    return None
        match last:
            case ast.If(test=test, body=inner, orelse=[]) if guard is None:
                return _guarded(self.outcome(inner), test) if self._is_about_rows(test, empty=False) else None
        stored = self._stored(last)
        reduction = self.value(stored.value) if stored is not None else None
        if stored is None or reduction is None:
            return None
        if stored.ids is not None and (reduction.ids is None or not _alike(stored.ids, reduction.ids)):
            return None
        return _guarded(Outcome(reduction, stored.out, stored.appends, rows=stored.ids is not None), guard)

    def _stored(self, statement: ast.stmt) -> _Stored | None:
        """What the statement that keeps a group's result does."""
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=out, slice=ast.Name(id=index))], value=value) if (
                index == self.groups.name
            ):
                return _Stored(out, value, False)
            case ast.Assign(targets=[ast.Subscript(value=out, slice=selected)], value=value):
                ids = self._ids(selected)
                return None if ids is None else _Stored(out, value, False, ids)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=out, attr="append"), args=[value])):
                return _Stored(out, value, True)
            case ast.If(test=test, body=[one], orelse=[other]):
                first, second = self._stored(one), self._stored(other)
                if first is not None and second is not None and first.place == second.place:
                    return replace(first, value=ast.IfExp(test=test, body=first.value, orelse=second.value))
        return None

    # ------------------------------------------------------------------ what is reduced

    def value(self, node: ast.expr) -> Reduction | None:
        """A reduction, or `reduction if rows else otherwise`."""
        node = self._resolved(node)
        if not isinstance(node, ast.IfExp):
            return self._reduction(node)
        if self._is_about_one(node.test) and (found := self._reduction(node.orelse)) is not None:
            rows = self._resolved(node.body)
            is_same = isinstance(rows, ast.Subscript) and _alike(rows.value, found.values)
            return found if is_same and self._selects(rows) else None
        for empty, reduced, otherwise in ((False, node.body, node.orelse), (True, node.orelse, node.body)):
            if self._is_about_rows(node.test, empty=empty):
                found = self._reduction(reduced)
                nothing = tuple(name for name in self._own(otherwise) if self._are_rows(name, found))
                if found is None or not is_pure(otherwise) or len(nothing) < len(self._own(otherwise)):
                    return None
                return replace(found, test=node.test, otherwise=otherwise, nothing=nothing)
        return None

    def _own(self, node: ast.expr) -> list[ast.Name]:
        """The names in an expression that each iteration gives another value."""
        own = {self.groups.name, self.groups.piece, *self.names}
        return [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in own]

    def _are_rows(self, node: ast.Name, found: Reduction | None) -> bool:
        """Whether a name is for the rows of the group, of which the reduction takes some."""
        rows = self._resolved(node)
        if found is None or self._is_piece(rows):
            return found is not None
        whole = ast.unparse(rows.value) if isinstance(rows, ast.Subscript) else ""
        return isinstance(rows, ast.Subscript) and whole == ast.unparse(found.values) and bool(self._ids(rows.slice))

    def _resolved(self, node: ast.expr) -> ast.expr:
        for _ in range(len(self.names) + 1):
            if not (isinstance(node, ast.Name) and node.id in self.names):
                return node
            node = self.names[node.id]
        return node

    def _reduction(self, node: ast.expr) -> Reduction | None:
        call = _reducing(self._resolved(node))
        how = knowledge().segments.reductions.get(called(call)) if call is not None else None
        argument = tensor_argument(call) if call is not None else None
        if call is None or how is None or argument is None:
            return None
        dimension = _dimension(call)
        rows = self._resolved(argument)
        values, ids = self.groups.whole, None
        if isinstance(rows, ast.Subscript):
            values, ids = rows.value, self._ids(rows.slice)
        if values is None or (ids is None and not self._is_piece(rows)) or dimension not in (None, "0"):
            return None
        rank = self.kinds.shape(values)
        read = names_read(values, *([ids] if ids is not None else []))
        if rank is None or self.groups.name in read or not is_pure(values) or (dimension is None and len(rank) != 1):
            return None
        return Reduction(values, ids, how, dimension is None)

    def _is_piece(self, node: ast.expr) -> bool:
        return bool(self.groups.piece) and isinstance(node, ast.Name) and node.id == self.groups.piece

    def _ids(self, node: ast.expr | None) -> ast.expr | None:
        """`ids` where `node` selects the rows of which `ids == group`: by a mask, or by what lists it."""
        node = self._resolved(node) if node is not None else None
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, ast.Name) and one.id == self.groups.name:
                        return other if is_pure(other) else None
            case ast.Subscript(value=value, slice=ast.Constant(value=0)):
                return self._ids(listed_mask(self._resolved(value)))
            case ast.Call(func=ast.Attribute(value=listed, attr="squeeze" | "flatten" | "view" | "reshape")):
                listed = self._resolved(listed)
                if isinstance(listed, ast.Call) and called(listed) in ("nonzero", "argwhere"):
                    return self._ids(tensor_argument(listed))
        return None

    # ------------------------------------------------------------------ what is asked

    def _is_about_rows(self, test: ast.expr, *, empty: bool) -> bool:
        """Whether a test says that the group is empty (or, with `empty` False, that it is not)."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._is_about_rows(operand, empty=not empty)
            case ast.Call(args=[inner]) if called(test) in ("guard_or_false", "guard_or_true", "bool"):
                return self._is_about_rows(inner, empty=empty)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
                return empty and self._counts(left)
            case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
                return not empty and self._counts(left)
            case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
                return self._is_about_rows(inner, empty=empty)
            case ast.Call() if called(test) == "any":
                return not empty and self._ids(tensor_argument(test)) is not None
        return not empty and self._counts(test)

    def _is_about_one(self, test: ast.expr) -> bool:
        """Whether a test says that the group has but one row, which each of the reductions gives back."""
        match test:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.LtE()], comparators=[ast.Constant(value=1)]):
                return self._counts(left)
            case ast.Compare(left=left, ops=[ast.Lt()], comparators=[ast.Constant(value=2)]):
                return self._counts(left)
        return False

    def _counts(self, node: ast.expr) -> bool:
        """Whether `node` is how many rows the group has (or a number that is 0 exactly if there are none)."""
        node = self._resolved(node)
        match node:
            case ast.Call(func=ast.Name(id="len" | "int"), args=[inner]):
                return self._counts(inner) or self._selects(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
                return self._counts(inner)
            case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Constant(value=0)):
                return self._selects(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="numel" | "size"), args=arguments):
                return all(ast.unparse(a) == "0" for a in arguments) and self._selects(inner)
            case ast.Call() if called(node) in ("sum", "count_nonzero"):
                return self._ids(tensor_argument(node)) is not None
        return False

    def _selects(self, node: ast.expr) -> bool:
        """Whether `node` holds one entry for each row of the group: the rows themselves, or their places."""
        node = self._resolved(node)
        if isinstance(node, ast.Compare):
            return False
        selected = self._ids(node) or (self._ids(node.slice) if isinstance(node, ast.Subscript) else None)
        return self._is_piece(node) or selected is not None


def _guarded(found: Outcome | None, test: ast.expr | None) -> Outcome | None:
    """What is done behind a test; None where it is behind one already."""
    if found is None or test is None:
        return found
    twice = found.guard is not None or found.reduction.test is not None
    return None if twice else replace(found, guard=test)


def _alike(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


def _reducing(node: ast.expr) -> ast.Call | None:
    """The call that reduces, in `rows.max(0).values` the one that gives places, too."""
    both = knowledge().segments.with_places
    match node:
        case (
            ast.Attribute(value=ast.Call() as call, attr="values")
            | ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=0))
        ) if called(call) in both:
            return call
        case ast.Call() if called(node) not in both or _dimension(node) is None:
            return node
    return None


def _dimension(call: ast.Call) -> str | None:
    """The text of the dimension that is reduced; None for all of them, `?` where something else is said, too."""
    given = [*own_arguments(call), *(k.value for k in call.keywords if k.arg in ("dim", "axis"))]
    if len(given) > 1 or any(keyword.arg not in ("dim", "axis") for keyword in call.keywords):
        return "?"
    return ast.unparse(given[0]) if given else None


def only_stack(context: Context, out: ast.expr, loop: ast.For) -> tuple[ast.Call, ast.stmt] | None:
    """The one `torch.stack(out)` behind a loop and the statement `out = []`, where nothing else uses the list."""
    function = context.site.function
    if function is None or not isinstance(out, ast.Name):
        return None
    inside = set(ast.walk(loop))
    stacks: list[ast.Call] = []
    born: list[ast.stmt] = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != out.id or node in inside:
            continue
        parent = context.site.source.parents.get(node)
        match parent:
            case ast.Call(args=[_, *_]) if is_stack(parent):
                stacks.append(parent)
            case ast.Assign(targets=[_], value=ast.List(elts=[])) | ast.AnnAssign(value=ast.List(elts=[])):
                born.append(parent)
            case _:
                return None
    found = len(stacks) == len(born) == 1 and stacks[0].lineno > loop.lineno
    return (stacks[0], born[0]) if found else None
