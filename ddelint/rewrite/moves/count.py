"""Operators whose number of results, or whose output's form, hangs on data: the same said with a static count.

As many pieces as the code has names for; and what demands a concrete count from positions that `arange` gives for a
symbol.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from ddelint.knowledge.unions import is_none
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import Applied, applied, below, integer, named
from ddelint.rewrite.reading.around import around, is_tensor
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import called, fresh_name, is_pure
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Statements, restructured, rewriting

_MOST_PIECES = 8
_OTHER_PIECES = "another number of pieces still raises ValueError, with another message"
_OTHER_ROWS = "another number of rows still raises ValueError, with another message"
_COMPARED = "({whole}.unsqueeze(-1) == torch.arange({count}, device={whole}.device)).long()"
_NO_NUMBER = "comparing with `arange` needs no number from the data"
_SYMBOL = "comparing with `arange` leaves it a symbol"
_COUNTED = f"`one_hot` wants the number of classes while tracing; {_SYMBOL}"
_RAISES = " where `one_hot` raises"
_LINSPACE = ("start", "end", "steps")
_WINDOWS = (
    "{windows} = torch.arange(0, {whole}.shape[{axis}] - {size} + 1, {step}, device={whole}.device).unsqueeze(1)"
    " + torch.arange({size}, device={whole}.device)"
)
_CELLS = """\
{positions} = torch.arange({width}, device={whole}.device)
{cells} = torch.arange({count}, device={whole}.device).unsqueeze(1)
{cells} = ({positions} >= {cells} * {width} // {count}) & ({positions} < -(-({cells} + 1) * {width} // {count}))
{cells} = {cells}.to({whole}.dtype) / {cells}.sum(1, keepdim=True)
"""


@rewriting("static_count")
def static_count(context: Context) -> Iterator[Rewrite]:
    """`torch.chunk(x, 2)` → two `narrow`; unpacking → a checked count; `one_hot`, `linspace`, `unfold` by `arange`."""
    for node in around(context):
        if isinstance(node, ast.Call) and called(node) in _OPERATORS and is_pure(node):
            call = applied(node)
            if call is not None:
                yield from _OPERATORS[called(node)](context, call)
    yield from _unpacked(context)


# ---------------------------------------------------------------------- pieces


def _chunk(context: Context, call: Applied) -> Iterator[Rewrite]:
    """`x.chunk(2)` → two `narrow`: two or more pieces of a size that is not known."""
    write, count, axis = context.write, integer(call.argument(0, "chunks")), call.axis(1)
    if count is None or not 2 <= count <= _MOST_PIECES or axis is None:
        return
    whole, lines = named(context, call.tensor, "whole")
    size = write.expr("{}.shape[{}]", whole, axis)
    piece = fresh_name(context.site.source, "half" if count == 2 else "piece")
    starts: list[Part] = [0, piece, *(write.expr("{} * {}", number, piece) for number in range(2, count))]

    def cut(start: Part, length: Part) -> Expr:
        return write.expr("{}.narrow({}, {}, {})", whole, axis, start, length)

    def least(first: Part, second: Part) -> Expr:
        return write.expr("torch.sym_min({}, {})", first, second)

    if count == 2:
        pieces = [cut(0, piece), cut(piece, write.expr("{} - {}", size, piece))]
    else:
        rests = [size, *(write.expr("torch.sym_max({} - {}, 0)", size, start) for start in starts[1:])]
        cuts = [starts[0], *(least(start, size) for start in starts[1:])]
        pieces = [cut(start, least(piece, rest)) for start, rest in zip(cuts, rests, strict=True)]
    rounded = write.lines("{piece} = ({size} + {less}) // {count}", piece=piece, size=size, less=count - 1, count=count)
    if count == 2 and _targets(context, call.node) == 2:
        # a single row makes one piece, which cannot be unpacked into two names
        rounded = [*write.lines("torch._check_value({size} != 1)", size=size), *rounded]
    even = write.lines(
        "torch._check({size} % {count} == 0)\n{piece} = {size} // {count}", piece=piece, size=size, count=count
    )
    for sizes, parts, note in (
        (rounded, pieces, f"always {count} pieces; `chunk` gives fewer where the size is small"),
        (even, [cut(start, piece) for start in starts], f"sizes that {count} does not divide now raise"),
    ):
        yield restructured(
            f"the number of pieces of `chunk` hangs on the size; {count} pieces by `narrow` do not",
            below(context, [*lines, *sizes], {call.node: write.expr("({}, {})", parts[0], parts[1:])}),
            note,
        )


def _targets(context: Context, node: ast.expr) -> int | None:
    """Into how many names the value `node` is unpacked."""
    match context.site.statement:
        case ast.Assign(targets=[ast.Tuple(elts=elements) | ast.List(elts=elements)], value=value) if value is node:
            return None if any(isinstance(element, ast.Starred) for element in elements) else len(elements)
    return None


def _split(context: Context, call: Applied) -> Iterator[Rewrite]:
    """`a, b = x.split(n)` → `x.split([n, x.shape[0] - n])`."""
    size = call.argument(0, "split_size_or_sections") or call.argument(0, "split_size")
    axis, count = call.axis(1), _targets(context, call.node)
    if size is None or axis is None or count is None or count < 2 or integer(size) is not None:
        return
    if Kinds(context).of(size) is Kind.STATIC or not is_pure(size) or isinstance(size, (ast.List, ast.Tuple)):
        return
    write = context.write
    whole, lines = named(context, call.tensor, "whole")
    piece, further = named(context, size, "piece")
    have = write.expr("{}.shape[{}]", whole, axis)
    taken = piece if count == 2 else write.expr("{} * {}", count - 1, piece)
    checks = write.lines(
        "torch._check({piece} > 0)\n"
        "torch._check_value({taken} < {have})\n"
        "torch._check_value({have} <= {count} * {piece})",
        piece=piece,
        taken=taken,
        have=have,
        count=count,
    )
    sizes = write.expr("[{}, {} - {}]", [piece] * (count - 1), have, taken)
    dimension = [] if call.argument(1, "dim") is None else [write.keyword("dim", axis)]
    new = write.expr("{}.split({})", whole, [sizes, *dimension])
    yield restructured(
        f"the number of pieces of `split` hangs on the size; a list of {count} lengths does not",
        below(context, [*lines, *further, *checks], {call.node: new}),
        _OTHER_PIECES,
    )


def _unpacked(context: Context) -> Iterator[Rewrite]:
    """`a, b = t`, `a, b = t.unbind(1)`: the number of rows is checked first."""
    match context.site.statement:
        case ast.Assign(targets=[ast.Tuple(elts=elements) | ast.List(elts=elements)], value=value):
            rows = _rows(Kinds(context), value)
        case _:
            return
    if rows is None or any(isinstance(element, ast.Starred) for element in elements):
        return
    tensor, axis = rows
    whole, lines = named(context, tensor, "whole")
    check = context.write.lines(
        "torch._check_value({whole}.shape[{axis}] == {count})", whole=whole, axis=axis, count=len(elements)
    )
    yield restructured(
        f"{len(elements)} names want {len(elements)} rows, which the compiler is told before they are unpacked",
        below(context, [*lines, *check], {tensor: context.write.expression(whole)} if lines else {}),
        _OTHER_ROWS,
    )


def _rows(kinds: Kinds, value: ast.expr) -> tuple[ast.expr, int] | None:
    """The tensor whose rows are unpacked, and the dimension that they lie along."""
    if isinstance(value, ast.Call) and called(value) == "unbind":
        call = applied(value)
        axis = call.axis(0) if call is not None else None
        return (call.tensor, axis) if call is not None and axis is not None else None
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        return None  # what a call returns may be a tuple of tensors
    fact = kinds.fact(value)
    if (fact is not None and fact.kind != "tensor") or not (is_tensor(kinds, value) or kinds.of(value) is Kind.UNKNOWN):
        return None
    return value, 0


# ---------------------------------------------------------------------- positions


def _one_hot(context: Context, call: Applied) -> Iterator[Rewrite]:
    """`one_hot(t, n)` → a comparison with `arange(n)`, cut at once where the result is cut to a bound."""
    count = call.argument(0, "num_classes")
    if count is None:
        yield from _one_hot_of_data(context, call)
    elif is_pure(count):
        cut = _cut_to(context, call.node)
        if cut is not None:
            message = f"the classes beyond `{context.write.code(cut[1])}` are cut off anyway; {_NO_NUMBER}"
            yield _compared(context, call, *cut, message, ("a negative index gives a row of zeros" + _RAISES,))
        note = "an index out of range gives a row of zeros" + _RAISES
        yield _compared(context, call, call.node, count, _COUNTED, (note,))


def _compared(
    context: Context, call: Applied, old: ast.expr, count: Part, message: str, notes: tuple[str, ...] = ()
) -> Rewrite:
    whole, lines = named(context, call.tensor, "whole")
    new = context.write.expr(_COMPARED, whole=whole, count=count)
    return restructured(message, below(context, lines, {old: new}), *notes)


def _one_hot_of_data(context: Context, call: Applied) -> Iterator[Rewrite]:
    """The classes are counted from the data."""
    write, node = context.write, call.node
    whole, lines = named(context, call.tensor, "whole")
    new = write.expr(_COMPARED, whole=whole, count=write.expr("{}.max().item() + 1", whole))
    message = f"`one_hot` without `num_classes` reads the number of classes from the data; {_SYMBOL}"
    yield restructured(message, below(context, lines, {node: new}))
    match context.site.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            fact = context.type_of(name)
            if fact is not None and fact.shape and fact.shape[-1].isdigit():
                seen = write.keyword("num_classes", int(fact.shape[-1]))
                yield Rewrite(
                    f"`one_hot` without `num_classes` reads their number from the data; a run had {fact.shape[-1]}",
                    {node: write.expr("{}({})", node.func, [*node.args, *node.keywords, seen])},
                    Claim.PROMISE,
                    ("the number of classes is that of one run: better pass the true one",),
                )


def _cut_to(context: Context, node: ast.Call) -> tuple[ast.Subscript, ast.expr] | None:
    """For `one_hot(…)[..., :k]`: the subscript and `k`."""
    parent = context.site.source.parents.get(node)
    match parent:
        case ast.Subscript(
            value=value,
            slice=ast.Tuple(elts=[ast.Constant(value=value_of_dots), ast.Slice(None, ast.expr() as upper, None)]),
        ) if value is node and value_of_dots is Ellipsis and is_pure(upper):
            return parent, upper
    return None


def _linspace(context: Context, call: Applied) -> Iterator[Rewrite]:
    """`linspace(a, b, n)` → `a + (b - a) * arange(n) / (n - 1)`."""
    write, node = context.write, call.node
    given = dict(zip(_LINSPACE, node.args)) | {k.arg: k.value for k in node.keywords if k.arg in _LINSPACE}
    if len(node.args) > len(_LINSPACE) or len(given) != len(_LINSPACE) or not all(map(is_pure, given.values())):
        return
    first, last, steps = (given[name] for name in _LINSPACE)
    keywords: list[Part] = [keyword for keyword in node.keywords if keyword.arg not in _LINSPACE]
    if "dtype" not in call.named:
        keywords.append(write.keyword("dtype", write.expr("torch.get_default_dtype()")))
    template = "{first} + ({last} - {first}) * {points} / {less}"
    if isinstance(first, ast.Constant) and first.value == 0:
        from_one = isinstance(last, ast.Constant) and last.value == 1
        template = "{points} / {less}" if from_one else "{last} * {points} / {less}"
    new = write.expr(
        template,
        first=first,
        last=last,
        points=write.expr("torch.arange({})", [steps, *keywords]),
        less=write.expr("torch.sym_max({} - 1, 1)", steps),
    )
    message = "`linspace` demands a concrete count; the same points by `arange` do not"
    yield restructured(message, {node: new}, "points may differ in the last bit")


def _unfold(context: Context, call: Applied) -> Iterator[Rewrite]:
    """Windows as an index: `x[..., starts[:, None] + arange(size)]`, moved to where `unfold` has them."""
    write = context.write
    dimension, size, step = (call.argument(i, key) for i, key in enumerate(("dimension", "size", "step")))
    axis = integer(dimension)
    if axis is None or axis < -1 or size is None or step is None or len(call.arguments) + len(call.named) != 3:
        return
    whole, lines = named(context, call.tensor, "whole")
    windows = fresh_name(context.site.source, "windows")
    lines += write.lines(_WINDOWS, windows=windows, whole=whole, axis=axis, size=size, step=step)
    if axis == -1:
        new = write.expr("{}[..., {}]", whole, windows)
    else:
        places: list[Part] = [*(ast.Slice() for _ in range(axis)), windows]
        new = write.expr("{}[{}].movedim({}, -1)", whole, places, axis + 1)
    yield restructured(
        "`unfold` demands a concrete window; indexing with the windows' positions does not",
        below(context, lines, {call.node: new}),
        "the windows are copied: writing to them no longer writes to the tensor",
    )


def _average_pool(context: Context, call: Applied, bases: Sequence[str]) -> Iterator[Rewrite]:
    """`adaptive_avg_pool1d(x, n)` → a sum weighted by its cells, which `arange` makes; one a dimension."""
    write, source, size = context.write, context.site.source, call.argument(0, "output_size")
    if size is None or not is_pure(size):
        return
    sizes = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size] * len(bases)
    if len(sizes) != len(bases) or any(isinstance(part, ast.Starred) or is_none(part) for part in sizes):
        return
    whole, before = named(context, call.tensor, "whole")
    lines: Statements = list(before)
    new = write.expression(whole)
    for axis in range(-1, -len(bases) - 1, -1):
        cells = fresh_name(source, bases[axis])
        width = write.expr("{}.shape[{}]", whole, axis)
        positions = fresh_name(source, "positions")
        lines += write.lines(_CELLS, positions=positions, cells=cells, width=width, count=sizes[axis], whole=whole)
        # Inductor (2.13) asks whether a size is 1 where a product of matrices has two sizes of run time
        template = "({} * {}).sum({})" if axis == -1 else "({} * {}.unsqueeze(-1)).sum({})"
        new = write.expr(template, write.expr("{}.unsqueeze({})", new, axis - 1), cells, axis)
    yield restructured(
        "adaptive pooling demands a concrete output size; sums weighted by its cells do not",
        below(context, lines, {call.node: new}),
        "values may differ in the last bits",
    )


_OPERATORS: Mapping[str, Callable[[Context, Applied], Iterator[Rewrite]]] = {
    "chunk": _chunk,
    "split": _split,
    "one_hot": _one_hot,
    "linspace": _linspace,
    "unfold": _unfold,
    "adaptive_avg_pool1d": partial(_average_pool, bases=("cells",)),
    "adaptive_avg_pool2d": partial(_average_pool, bases=("row_cells", "column_cells")),
}
