"""What loops do: the one a site stands in, the tensor that each iteration makes longer, what is read behind it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, enclosing_block, is_pure, names_read, names_written
from ddelint.rewrite.reading.regions import is_endless, live_behind


def surrounding_for(context: Context) -> ast.For | None:
    """The `for` that the site's statement is, or stands in."""
    statement = context.site.statement
    for node in (statement, *context.site.source.ancestors(statement)):
        if isinstance(node, ast.For):
            return node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None


def for_over_result(context: Context) -> ast.For | None:
    """The one `for` that goes through what the site's statement assigns to a name."""
    match context.site.statement, context.site.function:
        case ast.Assign(targets=[ast.Name(id=name)]), ast.FunctionDef() as function:
            loops = [node for node in ast.walk(function) if isinstance(node, ast.For) and name in names_read(node.iter)]
            return loops[0] if len(loops) == 1 else None
    return None


def is_read_behind(context: Context, name: str, statement: ast.stmt) -> bool:
    """Whether what `statement` leaves in a name may be read later; so it is taken to be outside of a function."""
    return context.site.function is None or name in live_behind(context.site.source, statement)


def value_before(context: Context, name: str, statement: ast.stmt) -> ast.expr | None:
    """The value of the last plain assignment to `name` before `statement` in the same block."""
    block = enclosing_block(context.site.source, statement)
    for earlier in reversed(block[: block.index(statement)]):
        match earlier:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return value
        if name in names_written(earlier):
            return None
    return None


@dataclass(frozen=True, slots=True)
class Grown:
    """`name = torch.cat((name, …), dim=dimension)`, or the like with `name[order]` in front."""

    name: str
    dimension: ast.expr | None
    stays: bool
    """Whether what was there before is still there: the tensor itself comes first."""


def grown_tensor(node: ast.AST) -> Grown | None:
    """What an assignment makes longer, where it does."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                args=[ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]), *rest],
                keywords=keywords,
            ) as call,
        ) if name in names_read(first) and called(call) in knowledge().concatenations:
            dimensions = [*rest, *(keyword.value for keyword in keywords if keyword.arg in {"dim", "axis"})]
            if len(dimensions) == len(keywords) + len(rest) < 2:
                return Grown(name, dimensions[0] if dimensions else None, isinstance(first, ast.Name))
    return None


def computed_once(loop: ast.For | ast.While, names: Container[str]) -> dict[str, ast.expr]:
    """Names to which a loop gives one value only, not from themselves, and which it computes of some `names`."""
    stores = [node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    found: dict[str, ast.expr] = {}
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value) and stores.count(name) == 1:
                read = names_read(value)
                if name not in read and any(one in names or one in found for one in read):
                    found[name] = value
    return found


def appended(loop: ast.For | ast.While) -> set[str]:
    """Names of lists that a loop appends to."""
    return {
        node.func.value.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and called(node) == "append"
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }


def made_empty(context: Context, loop: ast.For, name: str) -> ast.stmt | None:
    """The statement in front of a loop that makes an empty list, which nothing else gives a value."""
    block, function = enclosing_block(context.site.source, loop), context.site.function
    stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name] if function is not None else []
    if sum(isinstance(node.ctx, ast.Store) for node in stores) != 1:
        return None
    for statement in block[: block.index(loop)]:
        match statement:
            case ast.Assign(targets=[target], value=value):
                pairs = zip(getattr(target, "elts", [target]), getattr(value, "elts", []) or [value])
                if any(isinstance(t, ast.Name) and t.id == name and _is_empty_list(v) for t, v in pairs):
                    return statement
            case ast.AnnAssign(target=ast.Name(id=given), value=ast.expr() as value) if given == name:
                return statement if _is_empty_list(value) else None
    return None


def _is_empty_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts


def _ends_of(node: ast.AST, *, inner: bool = False) -> Iterator[ast.AST]:
    """What ends a loop, of what stands in it; a `break` of an `inner` one ends that alone, and a `return` elsewhere
    nothing."""
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not inner):
        yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        inner = inner or isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        for child in ast.iter_child_nodes(node):
            yield from _ends_of(child, inner=inner)


def side_that_ends(context: Context) -> bool | None:
    """The side of the site's `if` that alone ends the `while True` around it; with the other it would not end."""
    source, branch = context.site.source, context.site.statement
    loop = next((node for node in source.ancestors(branch) if isinstance(node, (ast.For, ast.While))), None)
    if not isinstance(branch, ast.If) or loop is None or not is_endless(loop):
        return None
    ways = [node for statement in loop.body for node in _ends_of(statement)]
    for side, arm in ((True, branch.body), (False, branch.orelse)):
        if ways and all(any(way in set(ast.walk(statement)) for statement in arm) for way in ways):
            return side
    return None
