"""Where a number's very value is wanted later, so that no symbol can stand for it: a key, a member, by `is`, a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.reading.caches import is_asked_in_earnest
from ddelint.rewrite.reading.constants import value_of
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.sources.compiling import answer_while_compiling


def wants_value(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node`, or a name for it, is a key, a set's member, hashed, compared by `is` or put into a text.

    What only eager does, which has the number itself, wants nothing of the compiler.
    """
    return any(_is_wanted(kinds, place) and not _is_left_to_eager(kinds, place) for place in _places(kinds, node))


def _is_left_to_eager(kinds: Kinds, node: ast.expr) -> bool:
    """Whether it stands in a block that is left out while compiling."""
    child: ast.AST = node
    for parent in kinds.context.site.source.ancestors(node):
        if isinstance(parent, ast.If) and (taken := answer_while_compiling(parent.test)) is not None:
            left_out = parent.orelse if taken else parent.body
            if child in left_out:
                return True
        child = parent
    return False


def _places(kinds: Kinds, node: ast.expr) -> Iterator[ast.expr]:
    """`node` with the arithmetic around it, and where the name stands that this is bound to."""
    source, function = kinds.context.site.source, kinds.context.site.function
    whole = _whole(kinds, node)
    yield whole
    match source.parents.get(whole):
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
            name = target.id if isinstance(target, ast.Name) else ""
        case _:
            return
    for use in ast.walk(function) if function is not None else ():
        if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load):
            yield _whole(kinds, use)


def _whole(kinds: Kinds, node: ast.expr) -> ast.expr:
    """The arithmetic or tuple that `node` is part of."""
    parent = kinds.context.site.source.parents.get(node)
    match parent:
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr(), op=ast.Mod()):
            return node
        case ast.BinOp() | ast.UnaryOp():
            return _whole(kinds, parent)
        case ast.Tuple(ctx=ast.Load()):
            outer = _whole(kinds, parent)
            # a tuple is an index of a tensor, a pair of values, or what a text is made of
            return outer if _is_wanted(kinds, outer) else node
    return node


def _is_wanted(kinds: Kinds, node: ast.expr) -> bool:
    source, table = kinds.context.site.source, knowledge().hashing
    match source.parents.get(node):
        case ast.Dict(keys=keys):
            return node in keys
        case ast.DictComp(key=key):
            return key is node
        case ast.Set() | ast.SetComp():
            return True
        case ast.FormattedValue() as parent:
            return not any(isinstance(outer, (ast.Raise, ast.Assert)) for outer in source.ancestors(parent))
        case ast.BinOp(op=ast.Mod(), right=right):
            return right is node
        case ast.Subscript(value=container, slice=place):
            return place is node and is_hashed(kinds, container)
        case ast.Compare(ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, container]):
            return container is not node and (is_hashed(kinds, container) or _says_nothing(kinds, container))
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
            return any(isinstance(side, ast.Constant) and side.value is not None for side in (left, right))
        case ast.Match(subject=subject, cases=cases):
            return subject is node and any(_is_by_identity(case.pattern) for case in cases)
        case ast.Call(func=ast.Attribute(value=container, attr=method), args=[first, *_]) if first is node:
            return method in table.texts or (method in table.methods and is_hashed(kinds, container))
        case ast.Call() as call:
            by_name = isinstance(call.func, ast.Name) and called(call) in table.functions
            return by_name or (call.func is not node and is_asked_in_earnest(call, source))
    return False


def _is_by_identity(pattern: ast.pattern) -> bool:
    """Whether a pattern holds `True` or `False`, which are compared by `is`, or names a class (`bool()`)."""
    parts = ast.walk(pattern)
    return any(
        isinstance(part, ast.MatchClass) or (isinstance(part, ast.MatchSingleton) and part.value is not None)
        for part in parts
    )


def is_hashed(kinds: Kinds, node: ast.expr) -> bool:
    """Whether a container is a dictionary or a set, as far as anything says."""
    fact, table = kinds.fact(node), knowledge().hashing
    if fact is not None:
        return fact.kind in table.containers or fact.python_type.rpartition(".")[2] in table.containers
    value = value_of(kinds.context, node)
    match value:
        case None:
            return _declared(kinds, node) in table.containers
        case ast.Dict() | ast.DictComp() | ast.Set() | ast.SetComp():
            return True
        case ast.Call():
            return called(value) in table.containers
    return False


def _says_nothing(kinds: Kinds, container: ast.expr) -> bool:
    """Whether a name is all that is known of a container, and no run will say more: it may be a dictionary."""
    is_named = isinstance(container, (ast.Name, ast.Attribute)) and value_of(kinds.context, container) is None
    return is_named and kinds.context.kind == "static" and kinds.fact(container) is None


def _declared(kinds: Kinds, node: ast.expr) -> str:
    """What a parameter's annotation calls its type, without what it holds: `dict` of `dict[int, Tensor]`."""
    function = kinds.context.site.function
    parameters = ast.walk(function.args) if function is not None and isinstance(node, ast.Name) else ()
    for each in parameters:
        match each:
            case ast.arg(arg=name, annotation=ast.expr() as annotation) if name == ast.unparse(node):
                plain = annotation.value if isinstance(annotation, ast.Subscript) else annotation
                return ast.unparse(plain).rpartition(".")[2]
    return ""
