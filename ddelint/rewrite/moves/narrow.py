"""A slice between symbols makes a size of its own; `narrow` keeps the symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.around import is_count, is_tensor, number_kind, origins, statement_of
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import fresh_name, is_literal, is_pure, is_whole_slice
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Writer, restructured, rewriting
from ddelint.sources.source import SourceFile

_STRICT = "a slice is cut to the size that is there; `narrow` raises where it reaches beyond"
_NEGATIVE = "a negative bound counts from the end in a slice and raises in `narrow`"
_BY_PLACES = "while compiling, a number is stored where a place lies between the bounds: no size is asked"
_OF_NUMBER = "{bound} - {size} * torch.sym_max(torch.sym_min({bound}, 0), -1)"
_OF_TENSOR = "torch.where({bound} < 0, {bound} + {size}, {bound})"
_PICKED = ("a copy, where the slice was a view", "it raises where the slice reaches beyond what is there")
_WHOLE = "whole"
_IN_PLACE: dict[type[ast.operator], str] = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@dataclass(frozen=True, slots=True)
class _Base:
    """What is narrowed; `size` is that of the dimension in question."""

    dimension: int
    once: Expr
    """Where it is named once."""
    first: Expr
    """Where it is named again behind this: bound to a name on the way, where it is worked out."""
    again: Expr
    size: Expr
    whole: Expr
    """What the subscript picks of, named again."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """One slice of a subscript as start and length."""

    write: Writer
    base: _Base
    start: Part
    length: Part
    of_size: bool
    """Whether the size of the dimension is said in these."""
    step: ast.expr | None = None
    bound: ast.expr | None = None
    """The stop of a slice that starts at 0, or the start of one that goes to the end: what may be clamped instead."""
    is_last: bool = False
    """Whether the dimension is certainly the last one of the base."""

    def filled(self, kinds: Kinds, value: ast.expr) -> Expr | None:
        """A number stored at the places between the bounds: no size is asked, nor whether they lie inside. A bound that
        may be negative counts from the end then."""
        if self.bound is None or self.step is not None:
            return None
        write, base = self.write, self.base
        places = write.expr("torch.arange({}, device={}.device)", base.size, base.whole)
        filled = base.first if self.is_last else write.expr("{}.transpose({}, -1)", base.first, base.dimension)
        template = "{}.masked_fill_({} < {}, {})" if self.start == 0 else "{}.masked_fill_({} >= {}, {})"
        if is_count(kinds, self.bound):
            return write.expr(template, filled, places, self.bound, value)
        signed = _OF_TENSOR if is_tensor(kinds, self.bound) else _OF_NUMBER
        bound = write.expr(signed, bound=self.bound, size=base.size)
        return write.expr(template, filled, places, bound, value)

    def narrowed(self) -> Expr:
        """The `narrow` of that start and length."""
        base = self.base.first if self.of_size else self.base.once
        new = self.write.expr("{}.narrow({}, {}, {})", base, self.base.dimension, self.start, self.length)
        return new if self.step is None else self.write.expr("{}[::{}]", new, self.step)

    def clamped(self) -> _Cut | None:
        """The same where the bound reaches beyond what is there; None where that is not known."""
        if self.bound is None:
            return None
        clamped = self.write.expr("torch.sym_min({}, {})", self.bound, self.base.size)
        if self.start == 0:
            return replace(self, length=clamped, of_size=True)
        return replace(self, start=clamped, length=self.write.expr("{} - {}", self.base.size, clamped), of_size=True)

    def selected(self) -> Expr:
        """The same rows, picked by their index."""
        rows = self.write.expr("torch.arange({}, device={}.device)", self.length, self.base.again)
        if self.start != 0:
            rows = self.write.expr("{} + {}", rows, self.start)
        return self.write.expr("{}.index_select({}, {})", self.base.first, self.base.dimension, rows)


@rewriting("narrow")
def narrow(context: Context) -> Iterator[Rewrite]:
    """`y[:n]` → `y.narrow(0, 0, n)`; `x[:, s:s + 3]` → `x.narrow(1, s, 3)`; an assigned slice → `.copy_()`."""
    kinds, write = Kinds(context), context.write
    for node in origins(context):
        if not isinstance(node, ast.Subscript) or not is_pure(node):
            continue
        cut = _cut(context, kinds, node)
        if cut is None:
            continue
        message = f"`{write.code(node)}` makes a new unknown size; `narrow` keeps the one it is given"
        if isinstance(node.ctx, ast.Store):
            yield from _assigned(context, kinds, node, cut, message)
            continue
        yield restructured(message, {node: cut.narrowed()}, _STRICT)
        clamped = cut.clamped()
        if clamped is not None:
            yield restructured(message, {node: clamped.narrowed()}, _NEGATIVE)
        if cut.step is None:
            # torch 2.13's Inductor fails on some views whose start is a number of run time
            message += "; so does picking its rows by index"
            yield restructured(message, {node: cut.selected()}, *_PICKED)


def _cut(context: Context, kinds: Kinds, node: ast.Subscript) -> _Cut | None:
    """How to say a subscript with one data-dependent slice; None where it has none, or where its form is not known."""
    if not (is_tensor(kinds, node.value) or (kinds.of(node.value) is Kind.UNKNOWN and kinds.fact(node.value) is None)):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dynamic = [part for part in parts if isinstance(part, ast.Slice) and _is_dynamic(part)]
    if len(dynamic) != 1:
        return None
    wanted = dynamic[0]
    before = parts[: parts.index(wanted)]
    kept, original = 0, 0
    for part in before:
        match part:
            case ast.Slice():
                kept, original = kept + 1, original + 1
            case ast.Constant(value=None):
                kept += 1
            case ast.Constant(value=value) if value is Ellipsis:
                return None
            case _ if number_kind(kinds, part) == "int":
                original += 1
            case _:
                return None
    for part in parts[len(before) + 1 :]:
        if not isinstance(part, (ast.Slice, ast.Constant)) and number_kind(kinds, part) != "int":
            return None
    whole = ast.Slice()
    places = [whole if part is wanted or is_whole_slice(part) else part for part in parts]
    while places and places[-1] is whole:
        places.pop()
    cut = _measured(context.write, wanted, _base(context, node.value, places, kept, original))
    fact = kinds.fact(node.value)
    rank = len(fact.shape) if fact is not None and fact.shape is not None else 0
    return replace(cut, is_last=original + 1 == rank and wanted is parts[-1]) if cut is not None else None


def _base(context: Context, value: ast.expr, places: list[ast.expr], dimension: int, of_value: int) -> _Base:
    """`value[places]`, which has its dimension number `of_value` as its `dimension`."""
    write = context.write
    name = write.expression(value)
    named = name
    if not _cheap(value) and _may_bind(context.site.source, value):
        name = write.expr(fresh_name(context.site.source, _WHOLE))
        named = write.expr("({} := {})", name, value)

    def picked(whole: Expr) -> Expr:
        return write.expr("{}[{}]", whole, places) if any(not is_whole_slice(place) for place in places) else whole

    once, first, again = map(picked, (write.expression(value), named, name))
    return _Base(dimension, once, first, again, write.expr("{}.shape[{}]", name, of_value), write.expr("{}", name))


def _may_bind(source: SourceFile, node: ast.expr) -> bool:
    """Whether `:=` may stand there: not in what a comprehension goes through, nor in a class."""
    inner: ast.AST = node
    for outer in source.ancestors(node):
        if isinstance(outer, ast.comprehension) and outer.iter is inner:
            return False
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return not isinstance(outer, ast.ClassDef)
        inner = outer
    return True


def _is_dynamic(part: ast.Slice) -> bool:
    return any(bound is not None and not is_literal(bound) for bound in (part.lower, part.upper))


def _cheap(node: ast.expr) -> bool:
    """Whether naming `node` twice reads no data again."""
    return all(isinstance(n, (ast.Name, ast.Attribute, ast.expr_context)) for n in ast.walk(node))


def _measured(write: Writer, part: ast.Slice, base: _Base) -> _Cut | None:
    """Start and length of a slice; None where they cannot be said."""
    lower, upper, step = part.lower, part.upper, part.step
    if step is not None and not (isinstance(step, ast.Constant) and isinstance(step.value, int) and step.value > 0):
        return None
    if lower is not None and integer(lower) == 0:
        lower = None
    if lower is not None and (count := _negated(lower)) is not None:
        if upper is not None:
            return None
        return _Cut(write, base, write.expr("{} - {}", base.size, count), count, of_size=True, step=step)
    start: Part = 0 if lower is None else lower
    behind = None if upper is None else _negated(upper)
    if upper is not None and behind is None:
        if lower is None:
            return _Cut(write, base, start, upper, of_size=False, step=step, bound=upper)
        return _Cut(write, base, start, _difference(write, lower, upper), of_size=False, step=step)
    taken = [count for count in (behind, lower) if count is not None]
    if not taken:
        return None
    length = write.joined(ast.Sub(), [base.size, *taken])
    return _Cut(write, base, start, length, of_size=True, step=step, bound=lower if upper is None else None)


def _negated(node: ast.expr) -> ast.expr | None:
    """`n` of `-n`."""
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _difference(write: Writer, lower: ast.expr, upper: ast.expr) -> Part:
    """`upper - lower`; `n` where upper is `lower + n`."""
    match upper:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            if ast.unparse(left) == ast.unparse(lower):
                return right
            if ast.unparse(right) == ast.unparse(lower):
                return left
    return write.expr("{} - {}", upper, lower)


def _assigned(context: Context, kinds: Kinds, node: ast.Subscript, cut: _Cut, message: str) -> Iterator[Rewrite]:
    """`out[i, :l] = v` → `out[i].narrow(0, 0, l).copy_(v)`; a number is filled in where places lie before `l`."""
    statement = statement_of(context.site.source, node)
    match statement:
        case ast.Assign(targets=[only], value=value) if only is node:
            number = kinds.of(value) in (Kind.NUMBER, Kind.BOOL) or isinstance(value, ast.Constant)
            method = "fill_" if number else "copy_"
        case ast.AugAssign(target=only, value=value, op=operator) if only is node and type(operator) in _IN_PLACE:
            method = _IN_PLACE[type(operator)]
        case _:
            return
    filled = cut.filled(kinds, value) if method == "fill_" else None
    if filled is not None:
        template = "if torch.compiler.is_compiling():\n    {filled}\nelse:\n    {statement}"
        yield restructured(_BY_PLACES, {statement: context.write.lines(template, filled=filled, statement=[statement])})
    target = cut.narrowed()
    lines = context.write.lines("{target}.{method}({value})", target=target, method=method, value=value)
    yield restructured(message, {statement: lines}, _STRICT)
