"""A loop that reduces the rows of one group after the other becomes one operation that adds each row to its group."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import named
from ddelint.rewrite.reading.around import around, statement_of
from ddelint.rewrite.reading.constants import value_of
from ddelint.rewrite.reading.kinds import Kinds, definition, is_integer, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import surrounding_for
from ddelint.rewrite.reading.names import called, fresh_name, names_read, names_written
from ddelint.rewrite.reading.segments import Groups, Iteration, Outcome, Reduction, groups_of, is_stack, only_stack
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Changes, Expr, Part, Rewrite, Statements, restructured, rewriting

_SUM, _MEAN = "sum", "mean"


@rewriting("segment_reduction")
def segment_reduction(context: Context) -> Iterator[Rewrite]:
    """`for g in range(n): out[g] = x[ids == g].mean(0)` → sums by `index_add`, divided by the sizes of the groups."""
    kinds = Kinds(context)
    loop, behind = surrounding_for(context), _behind(context)
    loops = [loop] if loop is not None else [node for node in behind if isinstance(node, ast.For)]
    for loop in loops:
        if not loop.orelse:
            yield from _for_loop(context, kinds, loop)
    for node in dict.fromkeys([*around(context), *behind]):
        match node, _listed(context, node):
            case ast.Call(), ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[], is_async=0) as generator]):
                groups = groups_of(context, generator.target, generator.iter)
                reduction = Iteration(kinds, groups).value(element) if groups is not None else None
                if groups is not None and reduction is not None and _can_be_at_once(kinds, groups, reduction):
                    yield from _stacked(_AtOnce(context, groups, reduction), node)


def _behind(context: Context) -> list[ast.AST]:
    """The loops, and calls that stack, which alone read the value that the site's statement gives a name."""
    match context.site.statement, context.site.function:
        case ast.Assign(targets=[ast.Name()]) as statement, ast.FunctionDef() as function:
            reads = {
                node: node.iter if isinstance(node, ast.For) else node
                for node in ast.walk(function)
                if isinstance(node, ast.For) or (isinstance(node, ast.Call) and is_stack(node))
            }
            return [node for node, read in reads.items() if statement in unread_definitions(context, [read])]
    return []


def _listed(context: Context, node: ast.AST) -> ast.expr | None:
    """The list that a call stacks, behind its name."""
    return value_of(context, node.args[0]) if isinstance(node, ast.Call) and is_stack(node) and node.args else None


def _unread(context: Context, gone: ast.AST, reduction: Reduction, groups: Groups) -> dict[ast.AST, Any]:
    """What only the loop has read: the pieces, and the list of their lengths."""
    parts = (reduction.values, reduction.ids, reduction.otherwise, groups.lengths, groups.count)
    kept = names_read(*(part for part in parts if part is not None))
    return {statement: [] for statement in unread_definitions(context, [gone], kept)}


def _for_loop(context: Context, kinds: Kinds, loop: ast.For) -> Iterator[Rewrite]:
    groups = groups_of(context, loop.target, loop.iter)
    outcome = Iteration(kinds, groups).outcome(loop.body) if groups is not None else None
    if groups is None or outcome is None or not _can_be_at_once(kinds, groups, outcome.reduction):
        return
    reduction = outcome.reduction
    written = names_written(*loop.body) | {groups.name, groups.piece}
    parts = [part for part in (reduction.values, reduction.ids, reduction.otherwise) if part is not None]
    own = {name.id for name in reduction.nothing}  # in the new text, none of the values
    stored = set() if outcome.rows else names_read(outcome.out)  # a group's own rows are read by no other
    if (names_read(*parts) - own) & (written | stored):
        return
    built = _AtOnce(context, groups, reduction, guarded=outcome.guard is not None)
    if not outcome.appends:
        yield _rewrite({loop: [*built.lines, *built.stored(outcome)]}, outcome.guard or reduction.test)
    elif outcome.guard is None and (used := only_stack(context, outcome.out, loop)) is not None:
        stack, born = used
        lines = [*built.not_empty(), *built.lines]
        changes: dict[ast.AST, Any] = {born: [], loop: lines, stack: context.write.of(built.result)}
        yield _rewrite({**changes, **_unread(context, loop.iter, reduction, groups)}, reduction.test)


def _stacked(built: _AtOnce, node: ast.Call) -> Iterator[Rewrite]:
    write = built.context.write
    statement = statement_of(write.source, node)
    if statement is not None:
        lines = [*built.not_empty(), *built.lines, statement]
        unread = _unread(built.context, node, built.reduction, built.groups)
        yield _rewrite({statement: lines, node: write.of(built.result), **unread}, built.reduction.test)


def _rewrite(changes: Changes, test: ast.expr | None) -> Rewrite:
    return restructured(
        "reduce all groups at once: each row is added to its group's place",
        changes,
        "sums are added up in another order",
        decisions=(test,) if test is not None else (),
        preferred=True,
    )


def _can_be_at_once(kinds: Kinds, groups: Groups, reduction: Reduction) -> bool:
    """Whether the types are such that one operation gives what the loop gives."""
    dtype = kinds.dtype(reduction.values)
    if is_integer(dtype) and dtype != "int64" and reduction.how in (_SUM, _MEAN):
        return False  # a sum of these has another type than its rows
    if groups.lengths is not None:
        return kinds.dtype(groups.lengths) in ("int64", "int32", "integer")
    if reduction.ids is None:
        return False
    shape, dtype = kinds.shape(reduction.ids), kinds.dtype(reduction.ids)
    if (shape is not None and len(shape) != 1) or (dtype and not dtype.startswith("int")):
        return False
    same = groups.distinct is not None and ast.unparse(groups.distinct) == ast.unparse(reduction.ids)
    return groups.count is not None or same


@dataclass
class _AtOnce:
    """The lines that reduce all groups at once; `guarded`: a test around the loop's reduction skips empty groups."""

    context: Context
    groups: Groups
    reduction: Reduction
    guarded: bool = False

    def __post_init__(self) -> None:
        self.write, self.lines = self.context.write, list[Any]()
        self.place, self.result = self._fresh("place"), self._fresh(f"group_{self.reduction.how}")
        self.numbers = self._fresh("groups")
        self.dimensions = len(Kinds(self.context).shape(self.reduction.values) or ())
        self.empty_ones = self.guarded or self.reduction.test is not None
        values = self._named(self.reduction.values, "rows")
        if self.groups.lengths is not None:
            self._place_pieces(values, self.groups.lengths)
        elif self.reduction.ids is not None:
            self._place_rows(self.reduction.ids)
        self._reduce(values)

    def _fresh(self, base: str) -> str:
        return fresh_name(self.context.site.source, base)

    def _add(self, template: str, **parts: Part) -> None:
        self.lines += self.write.lines(template, **parts)

    def _named(self, node: ast.expr, base: str) -> Expr:
        """`node` where it is a name or attribute, else a new name for it."""
        part, lines = named(self.context, node, base)
        self.lines += lines
        return self.write.expression(part)

    def _new(self, base: str, value: Part) -> Expr:
        """A new name for a value."""
        name = self.write.expression(self._fresh(base))
        self.lines += self.write.assigned(name, value)
        return name

    # ------------------------------------------------------------------ each row's place

    def _place_pieces(self, values: Expr, lengths: ast.expr) -> None:
        self.sizes = self._named(lengths, "lengths")
        self.count = self.room = self.write.expr("{}.shape[0]", self.sizes)
        self._add(
            "torch._check((({lengths} >= 0).all() & ({lengths}.sum() == {values}.shape[0])).item())\n"
            "{place} = torch.searchsorted("
            "{lengths}.cumsum(0), torch.arange({values}.shape[0], device={values}.device), right=True)",
            lengths=self.sizes,
            values=values,
            place=self.place,
        )

    def _place_rows(self, node: ast.expr) -> None:
        write, how = self.write, self.reduction.how
        whole = Kinds(self.context).dtype(node) in ("int64", "integer")
        ids = self._named(node, "ids") if whole else self._new("ids", write.expr("{}.long()", node))
        self.sizes = write.expression(self._fresh("sizes"))
        names: dict[str, Part] = {"ids": ids, "place": self.place, "sizes": self.sizes}
        if self.groups.count is None:
            self.count = self.room = write.expr("{}.shape[0]", self.numbers)
            unique = "{groups}, {place} = torch.unique({ids}, return_inverse=True)"
            counted = "{groups}, {place}, {sizes} = torch.unique({ids}, return_inverse=True, return_counts=True)"
            self._add(counted if how == _MEAN else unique, groups=self.numbers, **names)
            return
        self.count = write.expression(self.groups.count)
        self.room = write.expr("{} + 1", self.count)
        if isinstance(self.groups.count, ast.Constant) and isinstance(self.groups.count.value, int):
            self.room = write.expression(self.groups.count.value + 1)
        self._add(
            "# the first place is for what belongs to no group\n"
            "{place} = torch.where(({ids} >= 0) & ({ids} < {count}), {ids} + 1, 0)",
            count=self.count,
            **names,
        )
        if self.empty_ones or how != _SUM:
            counted = "{sizes} = {place}.new_zeros({room}).index_add(0, {place}, torch.ones_like({place}))[1:]"
            self._add(counted, room=self.room, **names)

    # ------------------------------------------------------------------ the reduction

    def _reduce(self, values: Expr) -> None:
        write, how, otherwise = self.write, self.reduction.how, self.reduction.otherwise
        behind = [write.expr("{}.shape[{}]", values, number) for number in range(1, self.dimensions)]
        reduced = write.expr("{}.new_zeros({})", values, [self.room, *behind])
        if how in (_SUM, _MEAN):
            reduced = write.expr("{}.index_add(0, {}, {})", reduced, self.place, values)
        else:
            self._check_rows()
            place = write.expression(self.place)
            if self.dimensions > 1:
                place = write.expr("{}.expand_as({})", self._column(place), values)
            reduced = write.expr(
                "{}.scatter_reduce(0, {}, {}, {}, include_self=False)", reduced, place, values, write.string(how)
            )
        if self.groups.count is not None:
            reduced = write.expr("{}[1:]", reduced)
        self.lines += write.assigned(self.result, reduced)
        if how == _MEAN:
            sizes = write.expr("{}.clamp(min=1)", self.sizes) if self.empty_ones else self.sizes
            self.lines += write.assigned(self.result, write.expr("{} / {}", self.result, self._column(sizes)))
        if otherwise is not None and self.groups.distinct is None:
            of_nothing = {name: write.expr("{}[:0]", values) for name in self.reduction.nothing}
            self.lines += write.assigned(self.result, self._chosen(write.replaced(otherwise, of_nothing)))

    def _check_rows(self) -> None:
        """The maximum of nothing raises: an IndexError over one dimension, a RuntimeError over all of them."""
        if not self.empty_ones and self.groups.distinct is None:
            check = "torch._check" if self.reduction.everything else "torch._check_index"
            self._add("{check}(({sizes} > 0).all().item())", check=check, sizes=self.sizes)

    def _column(self, part: Expr) -> Expr:
        """One number a row, as something to compute with whole rows by."""
        if self.dimensions == 1:
            return part
        return self.write.expr("{}.reshape({})", part, [-1] + [1] * (self.dimensions - 1))

    def _chosen(self, otherwise: Part) -> Expr:
        """The result where a group has rows, else something else."""
        sizes = self._column(self.sizes)
        return self.write.expr("torch.where({} > 0, {}, {})", sizes, self.result, otherwise)

    # ------------------------------------------------------------------ what becomes of it

    def not_empty(self) -> Statements:
        """`torch.stack` of no group raises a RuntimeError."""
        known = Kinds(self.context).shape(self.groups.lengths) if self.groups.lengths is not None else None
        some = known and known[0].isdigit() and int(known[0]) > 0
        if some or self.groups.distinct is not None or isinstance(self.groups.count, ast.Constant):
            return []
        return self.write.lines("torch._check({count} > 0)", count=self.count)

    def stored(self, outcome: Outcome) -> Statements:
        """The result in the rows that the loop has written to."""
        write, out = self.write, outcome.out
        if outcome.rows:
            return self._given_to_rows(out)
        if self.groups.distinct is not None:  # none of them is empty
            return write.lines("{out}[{groups}] = {result}", out=out, groups=self.numbers, result=self.result)
        rows = write.expression(out)
        if not _has_rows(self.context, out, self.groups):
            rows = write.expr("{}.narrow(0, 0, {})", rows, self.count)
        value = self._chosen(rows) if outcome.guard is not None else self.result
        return write.lines("{rows}.copy_({value})", rows=rows, value=value)

    def _given_to_rows(self, out: ast.expr) -> Statements:
        """Each row of `out` gets the result of its group; what belongs to none stays as it is."""
        write, result = self.write, self.write.expression(self.result)
        if self.groups.distinct is not None:
            return write.lines("{out}.copy_({result}[{place}])", out=out, result=result, place=self.place)
        own = self._column(write.expr("{} > 0", self.place))
        value = write.expr("{}[({} - 1).clamp(min=0)]", result, self.place)
        return write.lines("{out}.copy_(torch.where({own}, {value}, {out}))", out=out, own=own, value=value)


def _has_rows(context: Context, out: ast.expr, groups: Groups) -> bool:
    """Whether `out` has as many rows as there are groups, by what is written."""
    counts = {ast.unparse(groups.count)} if groups.count is not None else _sizes_of(groups.lengths)
    if counts & _sizes_of(out):
        return True
    made = definition(context, out.id) if isinstance(out, ast.Name) else None
    if not isinstance(made, ast.Call):
        return False
    table = knowledge().segments
    if called(made) in table.alike:
        return bool(counts & _sizes_of(tensor_argument(made)))
    if called(made) not in table.constructors or not made.args:
        return False
    sizes = made.args[0]
    first = sizes.elts[0] if isinstance(sizes, (ast.Tuple, ast.List)) and sizes.elts else sizes
    return ast.unparse(first) in counts


def _sizes_of(node: ast.expr | None) -> set[str]:
    """The texts that say how many rows something has."""
    text = ast.unparse(node) if node is not None else ""
    return {f"{text}.shape[0]", f"{text}.size(0)", f"len({text})"} if text else set()
