"""A tensor that is made of a list of tensors without dimensions reads each as a number; stacked, none is read."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.dtypes import literal_dtype
from ddelint.rewrite.reading.kinds import NUMBERS, Kinds, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, called, is_pure, position, runs_whenever
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_MESSAGE = "a tensor made of tensors reads each of them as a number; while compiling they are stacked"
_OPTIONS = frozenset(("dtype", "device"))
_SAME = frozenset(("float32", "int64", "bool"))
"""Dtypes that a list of numbers of this kind gets by itself."""


@rewriting("stack_instead_of_tensor")
def stack_instead_of_tensor(context: Context) -> Iterator[Rewrite]:
    """`torch.tensor(losses, dtype=d)` → `torch.stack(losses).detach().to(dtype=d)` while compiling."""
    kinds, write = Kinds(context), context.write
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(value=owner), args=[listed], keywords=options) if (
                is_torch(owner) and called(node) in knowledge().literal and is_pure(node) and not asks_compiling(listed)
            ):
                dtype = _element(kinds, listed)
                options = [option for option in options if not _is_off_while_compiling(option)]
            case _:
                continue
        given = {option.arg for option in options}
        if dtype is None or not given <= _OPTIONS or ("dtype" not in given and dtype not in _SAME):
            continue
        stacked = write.expr("torch.stack({}).detach()", listed)
        if options:
            stacked = write.expr("{stacked}.to({options})", stacked=stacked, options=options)
        new = write.either(stacked, node)
        yield Rewrite(_MESSAGE, {node: new})


def _element(kinds: Kinds, listed: ast.expr) -> str | None:
    """The dtype of the tensors without dimensions that a list holds; None where it holds anything else.

    A run of the original may have seen numbers in a list that by now is given tensors.
    """
    fact = kinds.fact(listed)
    element = fact.element if fact is not None else None
    if element is not None and element.kind == "tensor":
        return element.dtype if element.shape == () else None
    match listed:
        case ast.Name() if fact is None or element is None or element.kind in NUMBERS:
            parts = _given(kinds.context, listed)
        case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
            pass
        case ast.ListComp(elt=part):
            parts = [part]
        case _:
            return None
    dtypes = {_dtype(kinds, part) for part in parts}
    return dtypes.pop() if len(dtypes) == 1 else None


def _dtype(kinds: Kinds, part: ast.expr) -> str | None:
    """The dtype of a tensor without dimensions; None for anything else."""
    match part:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[test, *values], keywords=[]) if (
            name in knowledge().choosing and is_torch(owner) and len(values) == 2 and kinds.shape(test) == ()
        ):
            chosen = {_literal(value) or _dtype(kinds, value) for value in values}
            return chosen.pop() if len(chosen) == 1 else None
    return kinds.dtype(part) if kinds.shape(part) == () else None


def _literal(value: ast.expr) -> str:
    """The dtype of a number of Python's as a tensor chosen from two; a list of such numbers gets the same."""
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    return "float32" if isinstance(number, ast.Constant) and type(number.value) is float else literal_dtype(value)


def _given(context: Context, listed: ast.Name) -> list[ast.expr]:
    """What may have been appended to a list that begins empty, where it is read; nothing where it may get other things.

    It begins where that surely ran; what stands behind the read in a loop ran before it, too.
    """
    function, source = context.site.function, context.site.source
    if function is None:
        return []
    here = next(node for node in source.ancestors(listed) if isinstance(node, ast.stmt))
    named = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == listed.id]
    before = [node for node in named if isinstance(node.ctx, ast.Store) and position(node) < position(here)]
    begun = max(before, key=position, default=None)
    beginning = source.parents.get(begun) if begun is not None else None
    match beginning:
        case ast.Assign(targets=[_], value=ast.List(elts=[])) | ast.AnnAssign(value=ast.List(elts=[])):
            pass
        case _:
            return []
    if begun is None or not runs_whenever(source, beginning, here) or any(_is_elsewhere(context, n) for n in named):
        return []
    around = [node for node in source.ancestors(listed) if node not in source.ancestors(begun)]
    loops = [node for node in around if isinstance(node, (ast.For, ast.While))]
    again = {*ast.walk(loops[-1])} if loops else set()
    parts: list[ast.expr] = []
    for node in named:
        is_last = node is listed or (source.parents.get(node) is here and not again)
        reaches = node in again or position(begun) < position(node) < position(listed)
        if is_last or not reaches:
            continue
        user = source.parents.get(node)
        match user, source.parents.get(user) if user is not None else None:
            case ast.Attribute(attr="append"), ast.Call(func=func, args=[part], keywords=[]) if func is user:
                parts.append(part)
            case ast.Call(func=func), _ if func is not node and _only_reads(func):
                pass
            case _:
                return []
    return parts


def _is_elsewhere(context: Context, node: ast.Name) -> bool:
    """Whether a name stands in a function inside of that which is looked at: nobody knows when that runs."""
    inside = itertools.takewhile(
        lambda around: around is not context.site.function, context.site.source.ancestors(node)
    )
    return any(isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for around in inside)


def _only_reads(function: ast.expr) -> bool:
    """Whether what a list is given to is torch's own, or asks for its length."""
    match function:
        case ast.Name(id="len"):
            return True
        case ast.Attribute(value=owner):
            return is_torch(owner)
    return False


def _is_off_while_compiling(option: ast.keyword) -> bool:
    """`requires_grad=False`, and `requires_grad=… and not torch.compiler.is_compiling()`: a leaf in eager alone."""
    if option.arg != "requires_grad":
        return False
    match option.value:
        case ast.Constant(value=value):
            return not value
        case ast.BoolOp(op=ast.And(), values=[*_, ast.UnaryOp(op=ast.Not(), operand=last)]):
            return asks_compiling(last)
    return False
