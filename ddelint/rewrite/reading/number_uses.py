"""Whether a tensor of one number is used as nothing but a number: then it can be read once, where it is bound."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.rewrite.reading.around import function_statements, is_tensor
from ddelint.rewrite.reading.hashing import is_hashed
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, targets_written
from ddelint.rewrite.reading.regions import gives_view


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of a name, each of them one of a number."""

    count: int
    casts: list[ast.Call]
    """`int(n)`: may stay, and is needless, once `n` is a number."""
    reads: list[ast.Call]
    """`n.item()`: must go."""


@dataclass(frozen=True, slots=True)
class NumberUses(Uses):
    """The uses of a name that is bound once."""

    value: ast.expr
    """What it is bound to."""


def number_uses(kinds: Kinds, name: str) -> NumberUses | None:
    """The uses of `name`, where it is bound to a tensor of one number and each use is one of a number."""
    function, value = kinds.context.site.function, definition(kinds.context, name)
    if function is None or value is None or not is_tensor(kinds, value):
        return None
    shape = kinds.shape(value)
    if shape is None or any(size != "1" for size in shape) or _may_change(function, value):
        return None
    uses = uses_as_number(kinds, name)
    return NumberUses(uses.count, uses.casts, uses.reads, value) if uses is not None else None


def uses_as_number(kinds: Kinds, name: str) -> Uses | None:
    """The uses of a name in the site's function, where each is one of a number; None where one is not."""
    source, function = kinds.context.site.source, kinds.context.site.function
    count = 0
    casts: list[ast.Call] = []
    reads: list[ast.Call] = []
    for use in ast.walk(function) if function is not None else ():
        if not (isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load)):
            continue
        count += 1
        parent = source.parents.get(use)
        match parent:
            case ast.Call(func=ast.Name(id="int"), args=[argument], keywords=[]) if argument is use:
                casts.append(parent)
            case ast.Attribute(attr="item") if isinstance(call := source.parents.get(parent), ast.Call):
                reads.append(call)
            case _ if not _takes_number(kinds, use):
                return None
    return Uses(count, casts, reads)


def is_wanted_as_number(kinds: Kinds, name: str) -> bool:
    """Whether the site's function reads `name` somewhere as a bound, a place or a size."""
    function = kinds.context.site.function
    return function is not None and any(
        isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load) and _takes_number(kinds, use)
        for use in ast.walk(function)
    )


def _may_change(function: ast.FunctionDef | ast.AsyncFunctionDef, value: ast.expr) -> bool:
    """Whether a tensor may be a view of something that the function writes to."""
    match value:
        case ast.Call() if gives_view(value):
            pass
        case ast.Subscript() | ast.Attribute() | ast.Name():
            pass
        case _:
            return False
    changed = {text for statement in function_statements(function) for text in targets_written(statement)}
    return any(
        ast.unparse(inner) in changed for inner in ast.walk(value) if isinstance(inner, (ast.Name, ast.Attribute))
    )


def _may_be_indexed(kinds: Kinds, container: ast.expr) -> bool:
    """Whether a place in something of which nothing says what it is may be given as a number, without a run."""
    unknown = kinds.context.kind == "static" and kinds.of(container) is Kind.UNKNOWN
    return unknown and not is_hashed(kinds, container)


def _takes_number(kinds: Kinds, node: ast.expr) -> bool:
    """Whether a number may stand where `node` does, and makes no other kind of value of what is around it."""
    table, parent = knowledge(), kinds.context.site.source.parents.get(node)
    match parent:
        case ast.Slice():
            return True
        case ast.BinOp() | ast.UnaryOp():
            return _takes_number(kinds, parent)
        case ast.Subscript(slice=index, value=value):
            return index is node and (kinds.of(value) is Kind.TENSOR or _may_be_indexed(kinds, value))
        case ast.keyword() | ast.Tuple() | ast.List():
            outer = kinds.context.site.source.parents.get(parent)
            if isinstance(parent, ast.keyword):
                return isinstance(outer, ast.Call) and called(outer) in table.sized | table.shaped
            return isinstance(outer, (ast.Call, ast.keyword)) and _takes_number(kinds, parent)
        case ast.Call(func=ast.Name(id="range"), args=args):
            return node in args
        case ast.Call(func=ast.Attribute(value=owner), args=[first, *_] as args) if node in args:
            name = called(parent)
            return name in table.sized or (name in table.shaped and not (is_torch(owner) and first is node))
    return False
