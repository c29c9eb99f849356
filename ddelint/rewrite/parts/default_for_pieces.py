"""A default in place of pieces that no iteration appends: pieces of no rows are appended, and it stands behind them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.nothing import of_nothing_too
from ddelint.rewrite.parts.outlining.operator import one_or_all
from ddelint.rewrite.reading.around import origins
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.loops import made_empty
from ddelint.rewrite.reading.names import called, draws_random, enclosing_block, fresh_name, is_pure, names_written
from ddelint.rewrite.reading.polarity import IS_NONE
from ddelint.rewrite.reading.regions import changed_in_place, live_behind, separate_names
from ddelint.rewrite.writing.rewrites import Changes

COUNTED = "{count} = {name}.shape[0] + {every}.shape[0] * (1 - torch.sym_min({name}.shape[0], 1))\n"
CUT_OFF = COUNTED + "{name} = torch.cat([{name}, {every}])[:{count}]"
"""All rows of the default where there are none, and none where there are."""


def default_for_pieces(context: Context, statement: ast.If) -> Changes:
    """For a loop whose iterations append nothing where there is nothing (`statement`, a `continue`), with `if not
    pieces: return d` and `return torch.cat(pieces)` behind it. Empty where it is no such loop."""
    source, write, test = context.site.source, context.write, statement.test
    loop = source.parents.get(statement)
    match statement.body:
        case [ast.Continue()] if not statement.orelse and isinstance(loop, ast.For) and not loop.orelse:
            block = enclosing_block(source, loop)
        case _:
            return {}
    match block[block.index(loop) + 1 :]:
        case [ast.If(body=[*before, ast.Return(value=ast.expr() as default)], orelse=[]) as empty, ast.Return() as end]:
            joined = [ast.unparse(part.args[0]) for part in _parts(end.value) if _is_joined(part)]
        case _:
            return {}
    parts, defaults = _parts(end.value), _parts(default)
    fits = len(set(joined)) == len(parts) == len(defaults) and _asks_for_no_element(empty.test, joined)
    if not fits or any(map(draws_random, (*before, default))) or not is_pure(default):
        return {}
    if not all(isinstance(inner, ast.Assign) and is_pure(inner.value) for inner in before):
        return {}
    read, rest = Counter(_reads(empty.test, end)), loop.body[loop.body.index(statement) + 1 :]
    if not _only_appends(context, loop, rest, {name: read[name] for name in joined}):
        return {}
    given: list[Any] = []
    lines: list[Any] = []
    back = []
    for name, part, one in zip(joined, parts, defaults):
        every, whole = (fresh_name(source, f"{name}_{word}") for word in ("for_none", "joined"))
        given += write.lines("{every} = {one}", every=every, one=one)
        lines += write.lines("{whole} = {part}", whole=whole, part=part)
        lines += write.lines(CUT_OFF, name=whole, every=every, count=fresh_name(source, f"{name}_count"))
        back.append((every, whole))
    for_none, cut = (one_or_all(write, list(map(write.expression, names))) for names in zip(*back))
    # without a single iteration there is nothing to join, compiled or not
    at_once = write.lines("if {test}:\n    return {for_none}", test=empty.test, for_none=for_none)
    # eager never comes there with nothing
    more = of_nothing_too(context, test, rest, known=False)
    return {
        **{node: write.expr("{} if {} else {}", new, write.compiling, node) for node, new in more.items()},
        test: write.expr("not torch.compiler.is_compiling() and {}", test),
        empty.test: write.expr("torch.compiler.is_compiling() or {}", empty.test),
        empty.body[-1]: [*given, *at_once, *lines, *write.lines("return {cut}", cut=cut)],
    }


def _only_appends(context: Context, loop: ast.For, rest: Sequence[ast.stmt], joined: Mapping[str, int]) -> bool:
    """Whether the rest of an iteration does nothing but append a piece to each list, which is empty before the loop and
    read as often as said behind it, and leaves out no rows but those that the test asks about: then there are no rows
    to join where nothing is appended, and only there."""
    source, filled = context.site.source, list[str]()
    for statement in rest:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])):
                if not is_pure(value):
                    return False
                filled.append(name)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                pass
            case _:
                return False
    reads = Counter(_reads(context.site.function or source.tree))
    if sorted(filled) != sorted(joined) or any(reads[name] != count + 1 for name, count in joined.items()):
        return False
    if any(made_empty(context, loop, name) is None for name in joined):
        return False
    changed = changed_in_place(rest)
    given = (names_written(*rest) | changed) - joined.keys()
    before = set(_reads(*(statement for statement in loop.body if statement not in rest)))
    if given & (live_behind(source, loop) | before) or changed - joined.keys() - separate_names(rest):
        return False
    asked = {ast.unparse(node) for node in origins(context)}
    return not any(map(draws_random, rest)) and all(ast.unparse(m) in asked for m in _masks(Kinds(context), rest))


def _reads(*nodes: ast.AST) -> Iterator[str]:
    """Names that are read there, each as often as it is."""
    for inner in (inner for node in nodes for inner in ast.walk(node)):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield inner.id


def _masks(kinds: Kinds, statements: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """What picks rows by what they hold."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=places)):
                yield from (place for place in places if kinds.dtype(place) == "bool")
            case ast.Subscript(slice=place) if kinds.dtype(place) == "bool":
                yield place
            case ast.Call() if called(node) in knowledge().listings:
                yield node


def _parts(value: ast.expr | None) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value] if value is not None else []


def _is_joined(part: ast.expr) -> TypeGuard[ast.Call]:
    """Whether it is `torch.cat(pieces)`."""
    match part:
        case ast.Call(args=[ast.Name()], keywords=[]):
            return called(part) in knowledge().concatenations
    return False


def _asks_for_no_element(test: ast.expr, names: Collection[str]) -> bool:
    """Whether a test is true where one of these lists has no element."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name in names
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])):
            return name in names
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), ops=[operator], comparators=[right]
        ):
            return name in names and (type(operator), integer(right)) in IS_NONE
    return False
