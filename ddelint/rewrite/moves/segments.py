"""A loop that reduces the rows of one group after the other becomes one operation that adds each row to its group."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    called,
    comments_in,
    fresh_name,
    indent_unit,
    is_pure,
    joined,
    laid_out,
    names_read,
    names_written,
    owns_lines,
    parses,
    removal,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kinds, definition, is_integer, is_torch, tensor_argument
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.moves.groups import as_tuple
from ddelint.rewrite.proposals import around, lines_before, listed_tensor, statement_of, swap

NAME = "segment_reduction"
_SUM, _MEAN = "sum", "mean"


@dataclass(frozen=True, slots=True)
class _Groups:
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
class _Reduction:
    """`values[ids == group].how(0)`, or of a piece of `values`.

    `everything`: over all dimensions, of which there is one. `otherwise` is what an empty group has instead.
    """

    values: ast.expr
    ids: ast.expr | None
    how: str
    everything: bool
    test: ast.expr | None = None
    otherwise: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one turn of a loop does: it stores the reduction in a row of `out`, or appends it to the list `out`."""

    reduction: _Reduction
    out: ast.expr
    appends: bool
    guard: ast.expr | None
    """The test that leaves an empty group alone."""


@move(NAME)
def segment_reduction(context: Context) -> Iterator[Candidate]:
    """`for g in range(n): out[g] = x[ids == g].mean(0)` → sums by `index_add`, divided by the sizes of the groups."""
    kinds = Kinds(context)
    loop = _loop(context)
    if loop is not None:
        yield from _for_loop(context, kinds, loop)
    for node in around(context):
        match node:
            case ast.Call(
                args=[ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[], is_async=0) as generator]), *rest]
            ) if _is_stack(node, rest):
                groups = _groups(context, generator.target, generator.iter)
                reduction = _value(kinds, element, groups, {}) if groups is not None else None
                if groups is not None and reduction is not None:
                    yield from _stacked(context, kinds, node, groups, reduction)


def _for_loop(context: Context, kinds: Kinds, loop: ast.For) -> Iterator[Candidate]:
    source = context.site.source
    groups = _groups(context, loop.target, loop.iter)
    turn = _turn(kinds, loop.body, groups, {}, None) if groups is not None else None
    if groups is None or turn is None or loop.orelse or not owns_lines(source, loop):
        return
    written = names_written(*loop.body) | {groups.name, groups.piece}
    parts = [part for part in (turn.reduction.values, turn.reduction.ids, turn.reduction.otherwise) if part is not None]
    if names_read(*parts) & (written | names_read(turn.out)):
        return
    built = _built(context, kinds, groups, turn.reduction, turn.guard is not None)
    if built is None:
        return
    lines, result, sizes, count = built
    edits: list[Edit] = []
    if turn.appends:
        stack = _use_of_list(context, turn.out, loop)
        if stack is None or turn.guard is not None:
            return
        lines = [*_not_empty(context, groups, count), *lines]
        edits += [swap(source, stack[0], result), removal(source, stack[1])]
    else:
        lines = [*lines, _stored(context, groups, turn, result, sizes, count)]
    unit = indent_unit(source, loop)
    depth = len(source.indentation(loop).expandtabs(4))
    lines = [*comments_in(source, source.span(loop)), *lines]
    edits.append(Edit(source.span(loop), joined(source, loop, laid_out(lines, depth, unit))))
    yield from _offered(context, edits, turn.guard or turn.reduction.test)


def _stacked(
    context: Context, kinds: Kinds, node: ast.Call, groups: _Groups, reduction: _Reduction
) -> Iterator[Candidate]:
    source = context.site.source
    statement = statement_of(source, node)
    built = _built(context, kinds, groups, reduction, guarded=False)
    if built is None or statement is None:
        return
    lines, result, _, count = built
    depth, unit = len(source.indentation(statement).expandtabs(4)), indent_unit(source, statement)
    line = lines_before(source, statement, laid_out([*_not_empty(context, groups, count), *lines], depth, unit))
    if line is not None:
        yield from _offered(context, [line, swap(source, node, result)], reduction.test)


def _offered(context: Context, edits: Sequence[Edit], test: ast.expr | None) -> Iterator[Candidate]:
    source = context.site.source
    every = tuple(sorted(edits, key=lambda edit: edit.span))
    if parses(source, every):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "reduce all groups at once: each row is added to its group's place",
            every,
            torch_name(source)[1],
            notes=("sums are added up in another order",),
            decisions=(source.span(test),) if test is not None else (),
            preferred=True,
        )


# ------------------------------------------------------------------------------------------------ what is there


def _loop(context: Context) -> ast.For | None:
    """The loop that the site's statement is, or stands in."""
    statement = context.site.statement
    for node in (statement, *context.site.source.ancestors(statement)):
        if isinstance(node, ast.For):
            return node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None


def _groups(context: Context, target: ast.expr, iterated: ast.expr, depth: int = 0) -> _Groups | None:
    if depth > 3:
        return None
    match target, iterated:
        case (
            ast.Tuple(elts=[ast.Name(id=number), ast.Name() as piece]),
            ast.Call(func=ast.Name(id="enumerate"), args=[pieces], keywords=[]),
        ):
            found = _groups(context, piece, pieces, depth + 1)
            return replace(found, name=number) if found is not None and found.piece else None
    if not isinstance(target, ast.Name):
        return None
    match iterated:
        case ast.Call(keywords=[]) if called(iterated) in ("split", "split_with_sizes"):
            whole = tensor_argument(iterated)
            sizes = iterated.args[-1] if iterated.args else None
            tensor = listed_tensor(Kinds(context), sizes) if sizes is not None else None
            if whole is None or tensor is None or not (is_pure(whole) and is_pure(tensor)):
                return None
            return _Groups("", piece=target.id, whole=whole, lengths=tensor)
        case ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]) if is_pure(count):
            return _Groups(target.id, count)
        case ast.Call(func=ast.Attribute(value=inner, attr="tolist"), args=[]):
            return _groups(context, target, inner, depth + 1)
        case ast.Call(keywords=[]) if called(iterated) == "unique":
            ids = tensor_argument(iterated)
            return _Groups(target.id, distinct=ids) if ids is not None else None
        case ast.Name(id=name):
            value = definition(context, name)
            return _groups(context, target, value, depth + 1) if value is not None else None
    return None


def _turn(
    kinds: Kinds,
    body: Sequence[ast.stmt],
    groups: _Groups,
    names: Mapping[str, ast.expr],
    guard: ast.expr | None,
) -> _Turn | None:
    """What the statements of a turn do; None where it is anything else."""
    known = dict(names)
    for number, statement in enumerate(body):
        last = number == len(body) - 1
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not last and is_pure(value):
                known[name] = value
            case ast.If(test=test, body=[ast.Continue()], orelse=[]) if not last and guard is None:
                if not _is_about_rows(test, groups, known, empty=True):
                    return None
                guard = test
            case ast.If(test=test, body=inner, orelse=[]) if last and guard is None:
                filled = _is_about_rows(test, groups, known, empty=False)
                return _turn(kinds, inner, groups, known, test) if filled else None
            case ast.If(test=test, body=[one], orelse=[other]) if last and guard is None:
                first, second = _stores(one, groups), _stores(other, groups)
                if first is None or second is None or ast.unparse(first[0]) != ast.unparse(second[0]):
                    return None
                chosen = ast.IfExp(test=test, body=first[1], orelse=second[1])
                reduction = _value(kinds, chosen, groups, known)
                return _Turn(reduction, first[0], first[2], None) if reduction is not None else None
            case _ if last:
                stored = _stores(statement, groups)
                reduction = _value(kinds, stored[1], groups, known) if stored is not None else None
                if stored is None or reduction is None or (guard is not None and reduction.test is not None):
                    return None
                return _Turn(reduction, stored[0], stored[2], guard)
            case _:
                return None
    return None


def _stores(statement: ast.stmt, groups: _Groups) -> tuple[ast.expr, ast.expr, bool] | None:
    """(where to, what, whether it is appended) of the statement that keeps a group's result."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=out, slice=ast.Name(id=index))], value=value):
            return (out, value, False) if index == groups.name else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=out, attr="append"), args=[value])):
            return out, value, True
    return None


def _value(kinds: Kinds, node: ast.expr, groups: _Groups, names: Mapping[str, ast.expr]) -> _Reduction | None:
    """A reduction, or `reduction if rows else otherwise`."""
    node = _resolved(node, names)
    if not isinstance(node, ast.IfExp):
        return _reduction(kinds, node, groups, names)
    for empty, reduced, otherwise in ((False, node.body, node.orelse), (True, node.orelse, node.body)):
        if _is_about_rows(node.test, groups, names, empty=empty):
            found = _reduction(kinds, reduced, groups, names)
            own = {groups.name, groups.piece, *names}
            if found is None or not is_pure(otherwise) or names_read(otherwise) & own:
                return None
            return replace(found, test=node.test, otherwise=otherwise)
    return None


def _resolved(node: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    for _ in range(len(names) + 1):
        if not (isinstance(node, ast.Name) and node.id in names):
            return node
        node = names[node.id]
    return node


def _reduction(kinds: Kinds, node: ast.expr, groups: _Groups, names: Mapping[str, ast.expr]) -> _Reduction | None:
    node = _resolved(node, names)
    both = knowledge().segments.with_places
    match node:
        case ast.Attribute(value=ast.Call() as call, attr="values") if called(call) in both:
            pass
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=0)) if called(call) in both:
            pass
        case ast.Call() as call if called(call) not in both or _dimension(call) is None:
            pass
        case _:
            return None
    how = knowledge().segments.reductions.get(called(call))
    argument = tensor_argument(call)
    if how is None or argument is None:
        return None
    dimension = _dimension(call)
    rows = _resolved(argument, names)
    values, ids = groups.whole, None
    if isinstance(rows, ast.Subscript):
        values, ids = rows.value, _ids(rows.slice, groups.name, names)
    if values is None or (ids is None and not _is_piece(rows, groups)) or dimension not in (None, "0"):
        return None
    rank = kinds.shape(values)
    if rank is None or groups.name in names_read(values, *([ids] if ids is not None else [])) or not is_pure(values):
        return None
    if dimension is None and len(rank) != 1:
        return None
    return _Reduction(values, ids, how, dimension is None)


def _is_piece(node: ast.expr, groups: _Groups) -> bool:
    return bool(groups.piece) and isinstance(node, ast.Name) and node.id == groups.piece


def _dimension(call: ast.Call) -> str | None:
    """The text of the dimension that is reduced; None for all of them, `?` where something else is said, too."""
    function = isinstance(call.func, ast.Name) or (isinstance(call.func, ast.Attribute) and is_torch(call.func.value))
    given = [*(call.args[1:] if function else call.args), *(k.value for k in call.keywords if k.arg in ("dim", "axis"))]
    if len(given) > 1 or any(keyword.arg not in ("dim", "axis") for keyword in call.keywords):
        return "?"
    return ast.unparse(given[0]) if given else None


def _ids(node: ast.expr, group: str, names: Mapping[str, ast.expr]) -> ast.expr | None:
    """`ids` where `node` selects the rows of which `ids == group`: by a mask, or by what lists it."""
    node = _resolved(node, names)
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = (left, right)
            for one, other in (sides, sides[::-1]):
                if isinstance(one, ast.Name) and one.id == group:
                    return other if is_pure(other) else None
            return None
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            mask = as_tuple(_resolved(value, names))
            return _ids(mask, group, names) if mask is not None else None
        case ast.Call(func=ast.Attribute(value=listed, attr="squeeze" | "flatten" | "view" | "reshape")):
            listed = _resolved(listed, names)
            if isinstance(listed, ast.Call) and called(listed) in ("nonzero", "argwhere"):
                mask = tensor_argument(listed)
                return _ids(mask, group, names) if mask is not None else None
    return None


def _is_about_rows(test: ast.expr, groups: _Groups, names: Mapping[str, ast.expr], *, empty: bool) -> bool:
    """Whether a test says that the group is empty (or, with `empty` False, that it is not)."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_about_rows(operand, groups, names, empty=not empty)
        case ast.Call(args=[inner]) if called(test) in ("guard_or_false", "guard_or_true", "bool"):
            return _is_about_rows(inner, groups, names, empty=empty)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return empty and _counts(left, groups, names)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return not empty and _counts(left, groups, names)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
            return _is_about_rows(inner, groups, names, empty=empty)
        case ast.Call() if called(test) == "any":
            mask = tensor_argument(test)
            return not empty and mask is not None and _ids(mask, groups.name, names) is not None
    return not empty and _counts(test, groups, names)


def _counts(node: ast.expr, groups: _Groups, names: Mapping[str, ast.expr]) -> bool:
    """Whether `node` is how many rows the group has (or a number that is 0 exactly if there are none)."""
    node = _resolved(node, names)
    match node:
        case ast.Call(func=ast.Name(id="len" | "int"), args=[inner]):
            return _counts(inner, groups, names) or _selects(inner, groups, names)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
            return _counts(inner, groups, names)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Constant(value=0)):
            return _selects(inner, groups, names)
        case ast.Call(func=ast.Attribute(value=inner, attr="numel" | "size"), args=arguments):
            return all(ast.unparse(a) == "0" for a in arguments) and _selects(inner, groups, names)
        case ast.Call() if called(node) in ("sum", "count_nonzero"):
            mask = tensor_argument(node)
            return mask is not None and _ids(mask, groups.name, names) is not None
    return False


def _selects(node: ast.expr, groups: _Groups, names: Mapping[str, ast.expr]) -> bool:
    """Whether `node` holds one entry for each row of the group: the rows themselves, or their places."""
    node = _resolved(node, names)
    if isinstance(node, ast.Compare):
        return False
    if _is_piece(node, groups):
        return True
    if _ids(node, groups.name, names) is not None:
        return True
    return isinstance(node, ast.Subscript) and _ids(node.slice, groups.name, names) is not None


def _is_stack(node: ast.Call, rest: Sequence[ast.expr]) -> bool:
    dimensions = [*rest, *(keyword.value for keyword in node.keywords)]
    return called(node) == "stack" and all(ast.unparse(dimension) == "0" for dimension in dimensions)


def _use_of_list(context: Context, out: ast.expr, loop: ast.For) -> tuple[ast.Call, ast.stmt] | None:
    """The one `torch.stack(out)` and the statement `out = []`, where nothing else uses the list."""
    function = context.site.function
    if function is None or not isinstance(out, ast.Name):
        return None
    source = context.site.source
    inside = set(ast.walk(loop))
    stacks: list[ast.Call] = []
    born: list[ast.stmt] = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != out.id or node in inside:
            continue
        parent = source.parents.get(node)
        match parent:
            case ast.Call(args=[_, *rest]) if _is_stack(parent, rest):
                stacks.append(parent)
            case ast.Assign(targets=[_], value=ast.List(elts=[])) | ast.AnnAssign(value=ast.List(elts=[])):
                born.append(parent)
            case _:
                return None
    if len(stacks) != 1 or len(born) != 1 or not owns_lines(source, born[0]):
        return None
    return (stacks[0], born[0]) if stacks[0].lineno > loop.lineno else None


# ------------------------------------------------------------------------------------------------ what is written


def _built(
    context: Context, kinds: Kinds, groups: _Groups, reduction: _Reduction, guarded: bool
) -> tuple[list[str], str, str, str] | None:
    """The lines that reduce, the names of their result and of the groups' sizes, and the number of groups."""
    source = context.site.source
    torch, _ = torch_name(source)
    shape, dtype = kinds.shape(reduction.values), kinds.dtype(reduction.values)
    if shape is None or (is_integer(dtype) and dtype != "int64" and reduction.how in (_SUM, _MEAN)):
        return None  # a sum of these has another type than its rows
    lines: list[str] = []
    values = _named(context, reduction.values, "rows", lines)
    place, sizes, result = (fresh_name(source, base) for base in ("place", "sizes", f"group_{reduction.how}"))
    safe = guarded or reduction.test is not None
    places = _places(context, kinds, groups, reduction, values, place, sizes)
    if places is None:
        return None
    made, count, room, cut, size_lines, sizes = places
    lines += made
    checked = reduction.how not in (_SUM, _MEAN) and not safe and groups.distinct is None
    if (safe and groups.distinct is None) or reduction.how == _MEAN or checked:
        lines += size_lines
    tail = "".join(f", {values}.shape[{number}]" for number in range(1, len(shape)))
    behind = f"-1{', 1' * (len(shape) - 1)}"
    column = sizes if len(shape) == 1 else f"{sizes}.reshape({behind})"
    if reduction.how in (_SUM, _MEAN):
        lines.append(f"{result} = {values}.new_zeros({room}{tail}).index_add(0, {place}, {values}){cut}")
        if reduction.how == _MEAN:
            divisor = f"{sizes}.clamp(min=1){column.removeprefix(sizes)}" if safe else column
            lines.append(f"{result} = {result} / {divisor}")
    else:
        if checked:
            check = "_check" if reduction.everything else "_check_index"
            lines.append(f"{torch}.{check}(({sizes} > 0).all().item())")
        spread = place if len(shape) == 1 else f"{place}.reshape({behind}).expand_as({values})"
        reduced = f'scatter_reduce(0, {spread}, {values}, "{reduction.how}", include_self=False)'
        lines.append(f"{result} = {values}.new_zeros({room}{tail}).{reduced}{cut}")
    if reduction.otherwise is not None and groups.distinct is None:
        lines.append(f"{result} = {torch}.where({column} > 0, {result}, {text_of(source, reduction.otherwise)})")
    return lines, result, column, count


def _places(
    context: Context, kinds: Kinds, groups: _Groups, reduction: _Reduction, values: str, place: str, sizes: str
) -> tuple[list[str], str, str, str, list[str], str] | None:
    """Lines that give each row its place; the number of groups; how many places there are, and which are the groups';
    lines that give the groups' sizes, and their name."""
    source = context.site.source
    torch, _ = torch_name(source)
    lines: list[str] = []
    if groups.lengths is not None:
        lengths = _named(context, groups.lengths, "lengths", lines)
        if kinds.dtype(groups.lengths) not in ("int64", "int32", "integer"):
            return None
        lines.append(f"{torch}._check((({lengths} >= 0).all() & ({lengths}.sum() == {values}.shape[0])).item())")
        steps = f"{torch}.arange({values}.shape[0], device={values}.device)"
        lines.append(f"{place} = {torch}.searchsorted({lengths}.cumsum(0), {steps}, right=True)")
        count = f"{lengths}.shape[0]"
        return lines, count, count, "", [], lengths
    if reduction.ids is None:
        return None
    owner, dtype = kinds.shape(reduction.ids), kinds.dtype(reduction.ids)
    if (owner is not None and len(owner) != 1) or (dtype and not dtype.startswith("int")):
        return None
    ids = _named(context, reduction.ids, "ids", lines)
    if dtype not in ("int64", "integer"):
        ids = f"{ids}.long()"
    if groups.count is None:
        if groups.distinct is None or ast.unparse(groups.distinct) != ast.unparse(reduction.ids):
            return None
        names = fresh_name(source, "groups")
        count = f"{names}.shape[0]"
        if reduction.how != _MEAN:
            return (
                [*lines, f"{names}, {place} = {torch}.unique({ids}, return_inverse=True)"],
                count,
                count,
                "",
                [],
                sizes,
            )
        counted = f"{torch}.unique({ids}, return_inverse=True, return_counts=True)"
        return [*lines, f"{names}, {place}, {sizes} = {counted}"], count, count, "", [], sizes
    count, below = (text_of(source, groups.count, level) for level in (Binding.ARITHMETIC, Binding.COMPARED + 1))
    lines.append("# the first place is for what belongs to no group")
    lines.append(f"{place} = {torch}.where(({ids} >= 0) & ({ids} < {below}), {ids} + 1, 0)")
    ones = f"{torch}.ones_like({place})"
    room = str(int(count) + 1) if count.isdigit() else f"{count} + 1"
    counted = f"{sizes} = {place}.new_zeros({room}).index_add(0, {place}, {ones})[1:]"
    return lines, count, room, "[1:]", [counted], sizes


def _named(context: Context, node: ast.expr, base: str, lines: list[str]) -> str:
    """The text of `node` where it is a name or attribute, else a new name for it."""
    source = context.site.source
    if isinstance(node, (ast.Name, ast.Attribute)):
        return source.segment(node)
    name = fresh_name(source, base)
    lines.append(f"{name} = {text_of(source, node)}")
    return name


def _not_empty(context: Context, groups: _Groups, count: str) -> list[str]:
    """`torch.stack` of no group raises a RuntimeError."""
    known = Kinds(context).shape(groups.lengths) if groups.lengths is not None else None
    if known and known[0].isdigit() and int(known[0]) > 0:
        return []
    if groups.distinct is not None or isinstance(groups.count, ast.Constant):
        return []
    return [f"{torch_name(context.site.source)[0]}._check({count} > 0)"]


def _stored(context: Context, groups: _Groups, turn: _Turn, result: str, sizes: str, count: str) -> str:
    source = context.site.source
    out = text_of(source, turn.out, Binding.PRIMARY)
    torch, _ = torch_name(source)
    if groups.distinct is not None:
        names = count.removesuffix(".shape[0]")
        return f"{out}[{names}] = {result}"  # none of them is empty
    whole = _is_whole(context, turn.out, ast.unparse(ast.parse(count, mode="eval").body))
    rows = out if whole else f"{out}.narrow(0, 0, {count})"
    value = f"{torch}.where({sizes} > 0, {result}, {rows})" if turn.guard is not None else result
    return f"{rows}.copy_({value})"


def _is_whole(context: Context, out: ast.expr, count: str) -> bool:
    """Whether `out` has as many rows as there are groups."""
    if count in _sizes_of(out):
        return True
    made = definition(context, out.id) if isinstance(out, ast.Name) else None
    if not isinstance(made, ast.Call):
        return False
    table = knowledge().segments
    if called(made) in table.alike:
        model = tensor_argument(made)
        return model is not None and count in _sizes_of(model)
    if called(made) not in table.constructors or not made.args:
        return False
    sizes = made.args[0]
    first = sizes.elts[0] if isinstance(sizes, (ast.Tuple, ast.List)) and sizes.elts else sizes
    return ast.unparse(first) == count


def _sizes_of(node: ast.expr) -> tuple[str, ...]:
    text = ast.unparse(node)
    return f"{text}.shape[0]", f"{text}.size(0)", f"len({text})"
