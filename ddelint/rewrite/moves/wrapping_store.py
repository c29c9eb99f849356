"""A store into a ring that goes on at its beginning where its end is reached: by places modulo the size it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.ring_stores import PLACES, PartOfRing, Ring, StoringArm, asks_for_the_end, rings, storing_arm
from ddelint.rewrite.proving.proofs import Proofs
from ddelint.rewrite.proving.relations import relation
from ddelint.rewrite.proving.sums import Sums
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import asks_compiling, fresh_name
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "while compiling, store at places modulo the ring's size: that goes on at the beginning by itself"

_NAMES = ("count", "size", "rows", "places")


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
        whole, parted = (storing_arm(context, body) for body in (bodies if want else bodies[::-1]))
        found = rings(context, whole, parted)
        if found and all(asks_for_the_end(context, statement.test, want, ring, whole) for ring in found):
            write_to = _Places(context, statement, whole)
            lines = [line for ring in found for line in write_to.lines(ring)]
            if write_to.is_whole:
                new = write.beside(lines, [statement])
                yield restructured(_MESSAGE, {statement: new}, decisions=(statement.test,), preferred=True)
            return


class _Places:
    """Stores at places that are counted once for all that begin at one place and are equally long."""

    def __init__(self, context: Context, statement: ast.stmt, arm: StoringArm) -> None:
        self._context, self._arm, self._proofs = context, arm, Proofs(context, statement)
        self._write, self._kinds, self._sums = context.write, Kinds(context), Sums(context, arm.names)
        self._names: dict[tuple[str, ...], tuple[Expr, ...]] = {}
        self.is_whole = True
        """Whether all could be said without the names that the arm gives."""

    def lines(self, ring: Ring) -> Statements:
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
        value = write.expr(PLACES[store.dimension], write.expr("{}.to({})", store.value, store.base), rows)
        place = write.expr(PLACES[store.dimension], store.base, places)
        return [*lines, *write.lines("{place} = {value}", place=place, value=value)]

    def _as_the_text_says(self, ring: Ring, start: Expr, count: Expr, size: Expr) -> Statements:
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

    def _in_range(self, ring: Ring, start: Expr, count: Expr, size: Expr) -> Statements:
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

    def _size(self, node: ast.expr, store: PartOfRing) -> str:
        """How long a tensor is where a store moves; its own text where nothing says."""
        shape = self._kinds.shape(node)
        size = shape[store.dimension] if shape is not None and len(shape) > store.dimension else "?"
        return ast.unparse(node) if size == "?" else size
