"""A size left to the operator (`-1`) or a layout that it must prove: both said explicitly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import below, integer, is_plain
from ddelint.rewrite.reading.around import origins
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import called, is_pure
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("explicit_size")
def explicit_size(context: Context) -> Iterator[Rewrite]:
    """`x.view(n, -1)` → `x.view(n, x.numel() // n)`, `x.expand(-1, n)` → its own size, `view` → `reshape`."""
    for node in origins(context, 1):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="view" | "reshape" | "expand" as name, value=tensor) as method, args=args
            ):
                if node.keywords or not args or not is_pure(node):
                    continue
                sizes = args[0].elts if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args
                if any(isinstance(size, ast.Starred) for size in sizes):
                    continue
                if name == "view":
                    yield _reshaped(context, method)
                if is_plain(tensor):
                    yield from _said(context, name, tensor, sizes)


def _said(context: Context, name: str, tensor: ast.expr, sizes: list[ast.expr]) -> Iterator[Rewrite]:
    """The sizes, each said in full."""
    left_out = [size for size in sizes if integer(size) == -1]
    if name == "expand":
        yield _expanded(context, tensor, sizes)
    elif len(left_out) == 1:
        yield _inferred(context, tensor, left_out[0], [size for size in sizes if size is not left_out[0]])
    elif not left_out and len(sizes) > 1:
        yield from _checked(context, name, tensor, sizes)


def _expanded(context: Context, tensor: ast.expr, sizes: list[ast.expr]) -> Rewrite:
    shape = Kinds(context).shape(tensor)
    first = 0 if shape is not None and len(shape) == len(sizes) else -len(sizes)
    changes: dict[ast.AST, Any] = {
        size: context.write.expr("{}.shape[{}]", tensor, first + position)
        for position, size in enumerate(sizes)
        if integer(size) == -1
    }
    return Rewrite("the size that `-1` stands for is said explicitly", changes)


def _inferred(context: Context, tensor: ast.expr, left_out: ast.expr, others: list[ast.expr]) -> Rewrite:
    """The one `-1` of a view as a quotient."""
    write = context.write
    size = write.expr("{}.numel()", tensor)
    if others:
        size = write.expr("{} // {}", size, write.joined(ast.Mult(), others))
    return Rewrite("`-1` makes the compiler divide and ask; the quotient is said explicitly", {left_out: size})


def _reshaped(context: Context, method: ast.Attribute) -> Rewrite:
    """`view` must prove that no copy is needed; `reshape` copies where it must."""
    return restructured(
        "`view` must know that no copy is needed, which strides of unknown sizes do not tell; `reshape` need not",
        {method: context.write.expr("{}.reshape", method.value)},
        "where the layout does not allow a view, the original raises and this copies",
    )


def _checked(context: Context, name: str, tensor: ast.expr, sizes: list[ast.expr]) -> Iterator[Rewrite]:
    """The product of the sizes is the number of elements: said before."""
    calls = [call for size in sizes for call in ast.walk(size) if isinstance(call, ast.Call)]
    if any(called(call) in {"item", "tolist"} for call in calls):
        return
    write = context.write
    product = write.joined(ast.Mult(), sizes)
    yield restructured(
        f"the sizes of `{name}` must multiply to the number of elements, which the compiler is told before",
        below(context, write.lines("torch._check({product} == {tensor}.numel())", product=product, tensor=tensor), {}),
    )
