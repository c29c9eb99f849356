"""A tensor that is made of a list of tensors without dimensions reads each as a number; stacked, none is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.kinds import Kinds, is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, called, is_pure
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
    """The dtype of the tensors without dimensions that a list holds; None where it holds anything else."""
    fact = kinds.fact(listed)
    if fact is not None:
        element = fact.element
        one = element is not None and element.kind == "tensor" and element.shape == ()
        return element.dtype if element is not None and one else None
    match listed:
        case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
            pass
        case ast.ListComp(elt=part):
            parts = [part]
        case _:
            return None
    dtypes = {kinds.dtype(part) if kinds.shape(part) == () else None for part in parts}
    return dtypes.pop() if len(dtypes) == 1 else None


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
