"""Loops whose number of turns hangs on data: run to a bound that is known, and mask what would not have run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.arms import NotMergeable
from ddelint.rewrite.bounds import stated_bound
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    begins_line,
    called,
    comments_in,
    enclosing_block,
    fresh_name,
    here,
    indent_unit,
    insert_before,
    is_elif,
    is_pure,
    joined,
    laid_out,
    line_start,
    names_read,
    names_written,
    owns_lines,
    parses,
    targets_written,
    text_of,
    torch_name,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.moves.where import Merge, device_of
from ddelint.rewrite.predicates import NotAPredicate
from ddelint.rewrite.regions import live_behind
from ddelint.sites import Role
from ddelint.source import SourceFile

NAME = "masked_loop"
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise, ast.Try, ast.With)


@dataclass(frozen=True, slots=True)
class _Counted:
    """A loop `for index in range(start, stop)`, or the `while` that says the same."""

    statement: ast.For | ast.While
    index: str
    start: str
    stop: ast.expr
    body: list[ast.stmt]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A number of turns that is never too small."""

    text: str
    rows: ast.expr | None = None
    """The tensor whose rows are read, where there is one."""
    stated: bool = False
    """Whether the program itself says that there are no more turns; else a check has to."""


@move(NAME)
def masked_loop(context: Context) -> Iterator[Candidate]:
    """`for i in range(int(n))` over `x[i]`: loop to `x.shape[0]`, changed names masked; a `break` becomes a mask."""
    site = context.site
    if site.role is Role.IF_TEST and isinstance(site.statement, ast.If):
        yield from _leaving(context, site.statement)
        yield from _skipping(context, site.statement)
        yield from _trimming(context, site.statement)
        yield from _returning(context, site.statement)
        return
    loop = _counted(context)
    if loop is None or not owns_lines(site.source, loop.statement):
        return
    if any(isinstance(node, _LEAVING) for statement in loop.body for node in ast.walk(statement)):
        return
    if _read_after(context, loop.index, loop.statement):
        return
    bound = _bound(context, loop)
    if bound is None:
        return
    yield from _masked(context, loop, bound)
    yield from _summed(context, loop, bound)


def _counted(context: Context) -> _Counted | None:
    statement = context.site.statement
    match statement:
        case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[])):
            found = _Counted(statement, index, "", stop, statement.body)
        case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[start, stop])):
            found = _Counted(statement, index, context.site.source.segment(start), stop, statement.body)
        case ast.While(test=ast.Compare(left=ast.Name(id=index), ops=[ast.Lt()], comparators=[stop])):
            return _counting_while(context, statement, index, stop)
        case _:
            return None
    if statement.orelse or index in names_written(*statement.body):
        return None
    if index == "_" and "_" not in names_read(*statement.body):
        return replace(found, index=fresh_name(context.site.source, "turn"))
    return found


def _counting_while(context: Context, statement: ast.While, index: str, stop: ast.expr) -> _Counted | None:
    """`i = 0; while i < n: …; i += 1`."""
    match statement.body[-1]:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=1)) if name == index:
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=read), op=ast.Add(), right=ast.Constant(value=1)),
        ) if name == index == read:
            pass
        case _:
            return None
    body = statement.body[:-1]
    first = _value_before(context, index, statement)
    if statement.orelse or not body or index in names_written(*body) or not isinstance(first, ast.Constant):
        return None
    if not isinstance(first.value, int):
        return None
    start = "" if first.value == 0 else str(first.value)
    return _Counted(statement, index, start, stop, body)


def _value_before(context: Context, name: str, statement: ast.stmt) -> ast.expr | None:
    """The value of the last plain assignment to `name` before `statement` in the same block."""
    parent = context.site.source.parents.get(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            for earlier in reversed(block[: block.index(statement)]):
                match earlier:
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                        return value
                if name in names_written(earlier):
                    return None
    return None


def _read_after(context: Context, name: str, statement: ast.stmt) -> bool:
    return context.site.function is None or name in live_behind(context.site.source, statement)


def _bound(context: Context, loop: _Counted) -> _Bound | None:
    source, kinds = context.site.source, Kinds(context)
    written = {name for statement in loop.body for name in names_written(statement)}
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Subscript) or not is_pure(node.value):
                continue
            position = _position(node.slice, loop.index)
            if position is None or names_read(node.value) & written:
                continue
            kind = kinds.of(node.value)
            fact = kinds.fact(node.value)
            if fact is not None and fact.kind in {"list", "tuple"} and position == 0:
                return _Bound(f"len({source.segment(node.value)})")
            if kind not in (Kind.TENSOR, Kind.UNKNOWN):
                continue
            shape = kinds.shape(node.value)
            if shape is not None and (position >= len(shape) or not shape[position].isdigit()):
                continue
            rows = node.value if position == 0 and isinstance(node.slice, ast.Name) else None
            return _Bound(f"{text_of(source, node.value, Binding.PRIMARY)}.shape[{position}]", rows)
    stated = stated_bound(context, loop.stop)
    return _Bound(stated, stated=True) if stated else None


def _position(index: ast.expr, name: str) -> int | None:
    """The dimension that `name` alone indexes."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for position, part in enumerate(parts):
        match part:
            case ast.Name(id=read) if read == name:
                return position
            case ast.Constant(value=int()) | ast.Slice() | ast.Name():
                continue
            case _:
                return None
    return None


def _limit(context: Context, stop: ast.expr) -> tuple[str, bool]:
    """The text of the number of turns without a cast, and whether it is a tensor."""
    kinds = Kinds(context)
    source = context.site.source
    match stop:
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            text, tensor = _limit(context, inner)
            return text, tensor or kinds.of(inner) is Kind.UNKNOWN
        case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]):
            return text_of(source, value, Binding.BITWISE), True
    return text_of(source, stop, Binding.BITWISE), kinds.of(stop) is Kind.TENSOR


def _turn(context: Context, loop: _Counted) -> str:
    """The text of `index < stop` as a tensor."""
    torch = torch_name(context.site.source)[0]
    text, tensor = _limit(context, loop.stop)
    if tensor:
        return f"{loop.index} < {text}"
    device = device_of(context, *loop.body)
    return f"{torch}.full((), {loop.index} < {text}, dtype={torch}.bool{f', device={device}' if device else ''})"


def masked_turn(
    context: Context, statement: ast.stmt, body: Sequence[ast.stmt], test: str, index: str = ""
) -> list[str]:
    """The lines of `body` with everything that outlives it chosen by `test`. Raises NotMergeable."""
    branch = ast.copy_location(ast.If(test=ast.Constant(True), body=list(body), orelse=[]), statement)
    merge = Merge(context, branch, context.diagnostic.code == "DDE105", safe=False, whole=statement)
    local = frozenset(
        name
        for name in names_written(*body) - {index}
        if not merge.defined_before(name) and not _read_after(context, name, statement) and _written_first(body, name)
    )
    return merge.masked(test, local)


def _written_first(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether `name` is given a value before it is read, on the top level of `body`."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value) | ast.AnnAssign(target=ast.Name() as targets, value=value):
                if value is not None and name in names_read(value):
                    return False
                plain = targets if isinstance(targets, list) else [targets]
                if any(isinstance(n, ast.Name) and n.id == name for t in plain for n in ast.walk(t)):
                    return True
        if name in names_read(statement) or name in names_written(statement):
            return False
    return False


def _masked(context: Context, loop: _Counted, bound: _Bound) -> Iterator[Candidate]:
    source = context.site.source
    torch = torch_name(source)[0]
    unit = indent_unit(source, loop.statement)
    try:
        inner = masked_turn(context, loop.statement, loop.body, _turn(context, loop), loop.index)
    except (NotMergeable, NotAPredicate, ValueError):
        return
    text, tensor = _limit(context, loop.stop)
    count = f"{text}.item()" if tensor and stands_as_primary(text) else f"({text}).item()" if tensor else text
    lines = [
        *comments_in(source, source.span(loop.statement)),
        *([] if bound.stated else [f"{torch}._check_index({count} <= {bound.text})"]),
        f"for {loop.index} in range({loop.start + ', ' if loop.start else ''}{bound.text}):",
        *(unit + line for line in inner),
    ]
    yield from _candidate(context, loop, lines, "loop to the known bound, and keep the old values in the turns beyond")


def stands_as_primary(text: str) -> bool:
    """Whether `.item()` can be appended to a text."""
    node = ast.parse(text, mode="eval").body
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) or text.startswith("(")


def _candidate(context: Context, loop: _Counted, lines: list[str], message: str) -> Iterator[Candidate]:
    source = context.site.source
    unit = indent_unit(source, loop.statement)
    depth = len(source.indentation(loop.statement).expandtabs(4))
    edits = (Edit(source.span(loop.statement), joined(source, loop.statement, laid_out(lines, depth, unit))),)
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            message,
            edits,
            torch_name(source)[1],
            notes=("every turn up to the bound is computed",),
        )


def _summed(context: Context, loop: _Counted, bound: _Bound) -> Iterator[Candidate]:
    """`acc = acc + x[i]` as one masked sum."""
    source = context.site.source
    torch = torch_name(source)[0]
    rows = bound.rows
    if rows is None or len(loop.body) != 1 or loop.start:
        return
    match loop.body[0]:
        case ast.AugAssign(target=ast.Name(id=total), op=ast.Add(), value=ast.Subscript() as row):
            inplace = True
        case ast.Assign(
            targets=[ast.Name(id=total)],
            value=ast.BinOp(left=ast.Name(id=read), op=ast.Add(), right=ast.Subscript() as row),
        ) if total == read:
            inplace = False
        case _:
            return
    shape = Kinds(context).shape(rows)
    if shape is None or ast.unparse(row.value) != ast.unparse(rows) or not isinstance(row.slice, ast.Name):
        return
    text, tensor = _limit(context, loop.stop)
    values = source.segment(rows)
    count = f"{text}.item()" if tensor and stands_as_primary(text) else f"({text}).item()" if tensor else text
    spread = f".reshape(-1{', 1' * (len(shape) - 1)})" if len(shape) > 1 else ""
    mask = f"{torch}.arange({bound.text}, device={text_of(source, rows, Binding.PRIMARY)}.device) < {text}"
    mask = f"({mask}){spread}" if spread else mask
    amount = f"{torch}.where({mask}, {values}, 0).sum(0)"
    lines = [
        *comments_in(source, source.span(loop.statement)),
        f"{torch}._check_index({count} <= {bound.text})",
        f"{total} += {amount}" if inplace else f"{total} = {total} + {amount}",
    ]
    yield from _candidate(context, loop, lines, "one masked sum instead of the loop")


# ---------------------------------------------------------------------- leaving a loop early


def _leaving(context: Context, statement: ast.If) -> Iterator[Candidate]:
    """`if c: break` in a loop with a known number of turns: the later turns change nothing while compiling."""
    source = context.site.source
    loop = source.parents.get(statement)
    if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse or asks_compiling(statement.test):
        return
    if statement.orelse or not isinstance(statement.body[-1], ast.Break) or not begins_line(source, loop):
        return
    position = loop.body.index(statement)
    before, behind, extra = loop.body[:position], loop.body[position + 1 :], statement.body[:-1]
    others = [*before, *behind, *extra]
    if any(isinstance(node, _LEAVING) for other in others for node in ast.walk(other)):
        return
    target_names = names_written(loop.target)
    if any(_read_after(context, name, loop) for name in target_names) or not owns_lines(source, loop):
        return
    torch = torch_name(source)[0]
    unit = indent_unit(source, statement)
    going = fresh_name(source, "going")
    merge = Merge(context, statement, context.diagnostic.code == "DDE105", safe=False)
    try:
        predicate = merge.predicates({}).text(statement.test)
        lines = masked_turn(context, loop, before, going, "") if before else []
        test = f"not {torch}.compiler.is_compiling() and {text_of(source, statement.test, Binding.AND)}"
        lines += [f"if {test}:", *(unit + source.segment(inner) for inner in statement.body)]
        if extra:
            found = fresh_name(source, "found")
            lines.append(f"{found} = {going} & {wrapped(predicate, Binding.BITWISE + 1)}")
            lines += masked_turn(context, loop, extra, found, "")
            lines.append(f"{going} = {going} & ~{found}")
        else:
            lines.append(f"{going} = {going} & ~{wrapped(predicate, Binding.ARITHMETIC + 2)}")
        lines += masked_turn(context, loop, behind, going, "") if behind else []
    except (NotMergeable, NotAPredicate, ValueError):
        return
    device = device_of(context, statement, *loop.body, defined=lambda name: merge.defined_before(name, loop))
    header = f"for {source.segment(loop.target)} in {text_of(source, loop.iter)}"
    text = [
        *comments_in(source, source.span(loop)),
        f"{going} = {torch}.ones((), dtype={torch}.bool{f', device={device}' if device else ''})",
        header + ":",
        *(unit + line for line in lines),
    ]
    depth = len(source.indentation(loop).expandtabs(4))
    edits = (Edit(source.span(loop), joined(source, loop, laid_out(text, depth, unit))),)
    if parses(source, edits) and not (targets_written(loop) & {going}):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "run all turns while compiling, and keep the values from where eager leaves the loop",
            edits,
            torch_name(source)[1],
            notes=("every turn is computed",),
            decisions=(source.span(statement.test),),
        )


def _skipping(context: Context, statement: ast.If) -> Iterator[Candidate]:
    """`if c: continue`: while compiling, what follows in the turn changes nothing where `c` holds."""
    source = context.site.source
    loop = source.parents.get(statement)
    if not isinstance(loop, (ast.For, ast.While)) or statement not in loop.body or asks_compiling(statement.test):
        return
    behind = loop.body[loop.body.index(statement) + 1 :]
    alone = len(statement.body) == 1 and isinstance(statement.body[0], ast.Continue) and not statement.orelse
    if not alone or not behind or not begins_line(source, statement) or not owns_lines(source, behind[-1]):
        return
    if any(isinstance(node, _LEAVING) for other in behind for node in ast.walk(other)):
        return
    torch = torch_name(source)[0]
    unit = indent_unit(source, statement)
    kept = fresh_name(source, "kept")
    merge = Merge(context, statement, context.diagnostic.code == "DDE105", safe=False)
    first, last = source.span(statement), source.span(behind[-1])
    span = Span(source.filename, first.row, first.column, last.end_row, last.end_column)
    try:
        predicate = merge.predicates({}).text(statement.test)
        lines = [
            *comments_in(source, span),
            f"if not {torch}.compiler.is_compiling() and {text_of(source, statement.test, Binding.AND)}:",
            f"{unit}continue",
            f"{kept} = ~{wrapped(predicate, Binding.ARITHMETIC + 2)}",
            *masked_turn(context, loop, behind, kept, ""),
        ]
    except (NotMergeable, NotAPredicate, ValueError):
        return
    depth = len(source.indentation(statement).expandtabs(4))
    edits = (Edit(span, joined(source, statement, laid_out(lines, depth, unit))),)
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "while compiling, compute the rest of the turn always and keep the old values where eager skips it",
            edits,
            torch_name(source)[1],
            notes=("the rest of every turn is computed",),
            decisions=(source.span(statement.test),),
        )


def _trimming(context: Context, statement: ast.If) -> Iterator[Candidate]:
    """`if c: break` at the end of a turn that makes a tensor longer: all turns run, and the rest is cut off."""
    source = context.site.source
    loop = source.parents.get(statement)
    if not isinstance(loop, ast.For) or not loop.body or loop.body[-1] is not statement or loop.orelse:
        return
    alone = len(statement.body) == 1 and isinstance(statement.body[0], ast.Break) and not statement.orelse
    if not alone or asks_compiling(statement.test) or not (begins_line(source, loop) and owns_lines(source, statement)):
        return
    if not begins_line(source, loop.body[0]):
        return
    grown = [found for node in ast.walk(loop) if isinstance(node, ast.Assign) and (found := grown_tensor(source, node))]
    names = [name for name, _, _ in grown]
    merge = Merge(context, statement, context.diagnostic.code == "DDE105", safe=False)
    if not grown or len(set(names)) != len(names) or not all(merge.defined_before(name, loop) for name in names):
        return
    if any(_assignments(loop, name) != 1 for name in names):
        return
    after = [name for name in sorted(names_written(loop)) if name not in names and _read_after(context, name, loop)]
    again = [node for node in loop.body if _derived(node, after, loop)]
    torch = torch_name(source)[0]
    unit = indent_unit(source, loop)
    going, turns = fresh_name(source, "going"), fresh_name(source, "turns")
    sizes = [fresh_name(source, f"{name}_size") for name in names]
    asks = f"{torch}.compiler.is_compiling()"
    try:
        predicate = merge.predicates({}).text(statement.test)
    except (NotAPredicate, ValueError):
        return
    first = names[0]
    before = [
        f"{going} = {torch}.ones((), dtype={torch}.bool, device={first}.device)",
        f"{turns} = {torch}.zeros((), dtype={torch}.int64, device={first}.device)",
        *(f"{size} = {name}.shape[{dim}]" for size, (name, _, dim) in zip(sizes, grown)),
    ]
    within = [
        f"if not {asks} and {text_of(source, statement.test, Binding.AND)}:",
        f"{unit}break",
        f"{going} = {going} & ~{wrapped(predicate, Binding.ARITHMETIC + 2)}",
    ]
    behind = [f"if {asks}:"]
    for size, (name, added, dim) in zip(sizes, grown):
        behind.append(f"{unit}{name} = {name}.narrow({dim}, 0, {size} + {turns}.item() * {added}.shape[{dim}])")
    behind += [unit + source.segment(node) for node in again]
    newline, outer, inner = source.newline, source.indentation(loop), source.indentation(loop.body[0])
    edits = (
        insert_before(source, loop, before),
        Edit(line_start(source, _first_row(source, loop)), f"{inner}{turns} = {turns} + {going}{source.newline}"),
        Edit(
            source.span(statement),
            joined(source, statement, [*comments_in(source, source.span(statement)), *within])
            + "".join(f"{newline}{outer}{line}" for line in behind),
        ),
    )
    if parses(source, edits):
        left = [name for name in after if name not in {n for node in again for n in names_written(node)}]
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "run all turns while compiling, and cut off what the turns after the break have added",
            edits,
            torch_name(source)[1],
            notes=("every turn is computed", *(f"`{name}` keeps what the last turn gave it" for name in left)),
            decisions=(source.span(statement.test),),
        )


def _first_row(source: SourceFile, loop: ast.For) -> int:
    """The row where the body begins, with the comments above its first statement."""
    row = loop.body[0].lineno
    while row - 1 > (loop.iter.end_lineno or loop.lineno) and source.lines[row - 2].strip()[:1] in ("#", ""):
        row -= 1
    return row


def grown_tensor(source: SourceFile, node: ast.Assign) -> tuple[str, str, str] | None:
    """Name, what is added, and dimension of `out = torch.cat((out, added), dim=-1)`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(args=[ast.Tuple(elts=parts) | ast.List(elts=parts), *rest], keywords=keywords) as call,
        ) if called(call) in {"cat", "concat", "concatenate"}:
            pass
        case _:
            return None
    match parts:
        case [ast.Name(id=read), added] if read == name and name not in names_read(added) and is_pure(added):
            pass
        case _:
            return None
    dims = [*rest, *(keyword.value for keyword in keywords if keyword.arg in {"dim", "axis"})]
    if len(dims) > 1 or len(keywords) + len(rest) > 1:
        return None
    return name, text_of(source, added, Binding.PRIMARY), source.segment(dims[0]) if dims else "0"


def _assignments(loop: ast.For, name: str) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in ast.walk(loop)
    )


def _derived(node: ast.stmt, after: list[str], loop: ast.For) -> bool:
    """Whether a statement of the loop gives a name its only value from what the loop makes longer."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name in after and is_pure(value) and name not in names_read(value) and _assignments(loop, name) == 1
    return False


def _returning(context: Context, statement: ast.If) -> Iterator[Candidate]:
    """`if c: return a` in a loop, `return b` behind it: each turn notes its choice, and the first that holds counts."""
    source = context.site.source
    loop = next((node for node in source.ancestors(statement) if isinstance(node, (ast.For, ast.While))), None)
    if not isinstance(loop, ast.For) or loop.orelse or is_elif(source, statement) or statement.orelse:
        return
    block = enclosing_block(source, loop)
    last = block[-1]
    match statement.body, last:
        case [ast.Return(value=ast.expr() as early)], ast.Return(value=ast.expr() as final):
            pass
        case _:
            return
    if isinstance(early, (ast.Tuple, ast.Constant)) or isinstance(final, (ast.Tuple, ast.Constant)):
        return
    if not (is_pure(early) and begins_line(source, statement) and begins_line(source, loop)):
        return
    if asks_compiling(statement.test) or not owns_lines(source, last):
        return
    torch = torch_name(source)[0]
    unit, newline, indentation = indent_unit(source, loop), source.newline, source.indentation(statement)
    choices = fresh_name(source, "choices")
    merge = Merge(context, statement, context.diagnostic.code == "DDE105", safe=False)
    try:
        predicate = merge.predicates({}).text(statement.test)
    except (NotAPredicate, ValueError):
        return
    asks = f"if {torch}.compiler.is_compiling():"
    noted = f"{choices}.append(({predicate}, {text_of(source, early)}))"
    condition, value, result = (fresh_name(source, name) for name in ("condition", "value", "result"))
    fold = [
        f"{result} = {text_of(source, final)}",
        f"for {condition}, {value} in reversed({choices}):",
        f"{unit}{result} = {torch}.where({condition}, {value}, {result})",
        f"return {result}",
    ]
    edits = (
        insert_before(source, loop, [f"{choices} = []"]),
        Edit(here(source, statement), f"{asks}{newline}{indentation}{unit}{noted}{newline}{indentation}el"),
        Edit(source.span(last), joined(source, last, fold)),
    )
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "run all turns while compiling, and choose the first value that eager would have returned",
            edits,
            torch_name(source)[1],
            notes=("every turn is computed",),
            decisions=(source.span(statement.test),),
        )
