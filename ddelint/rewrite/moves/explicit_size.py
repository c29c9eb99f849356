"""A size left to the operator (`-1`) or a layout that it must prove: both said explicitly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, called, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kinds
from ddelint.rewrite.proposals import lines_before, offer, origins

_MOVE = "explicit_size"


@move(_MOVE)
def explicit_size(context: Context) -> Iterator[Candidate]:
    """`x.view(n, -1)` → `x.view(n, x.numel() // n)`, `x.expand(-1, n)` → its own size, `view` → `reshape`."""
    kinds = Kinds(context)
    for node in origins(context, 1):
        match node:
            case ast.Call(func=ast.Attribute(attr="view" | "reshape" | "expand" as name, value=tensor), args=args):
                if node.keywords or not args or not is_pure(node):
                    continue
                sizes = args[0].elts if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args
                if any(isinstance(size, ast.Starred) for size in sizes):
                    continue
                if name == "expand":
                    yield from _expand(context, kinds, tensor, sizes)
                    continue
                yield from _reshaped(context, node, name)
                yield from _inferred(context, tensor, sizes)
                yield from _checked(context, name, tensor, sizes)


def _minus_one(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node.operand) == "1"


def _plain(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))


def _expand(context: Context, kinds: Kinds, tensor: ast.expr, sizes: list[ast.expr]) -> Iterator[Candidate]:
    source = context.site.source
    if not _plain(tensor):
        return
    text = source.segment(tensor)
    changes: list[tuple[ast.expr, str]] = []
    shape = kinds.shape(tensor)
    for position, size in enumerate(sizes):
        if _minus_one(size):
            same_rank = shape is not None and len(shape) == len(sizes)
            changes.append((size, f"{text}.shape[{position if same_rank else position - len(sizes)}]"))
    yield from offer(context, _MOVE, Claim.EQUIVALENT, "the size that `-1` stands for is said explicitly", changes)


def _inferred(context: Context, tensor: ast.expr, sizes: list[ast.expr]) -> Iterator[Candidate]:
    """The one `-1` of a view as a quotient."""
    source = context.site.source
    inferred = [size for size in sizes if _minus_one(size)]
    if len(inferred) != 1 or not _plain(tensor):
        return
    others = [size for size in sizes if size is not inferred[0]]
    whole = f"{source.segment(tensor)}.numel()"
    if not others:
        text = whole
    elif len(others) == 1:
        text = f"{whole} // {text_of(source, others[0], Binding.ARITHMETIC + 2)}"
    else:
        text = f"{whole} // ({' * '.join(text_of(source, other, Binding.ARITHMETIC + 1) for other in others)})"
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT,
        "`-1` makes the compiler divide and ask; the quotient is said explicitly",
        [(inferred[0], text)],
    )


def _reshaped(context: Context, node: ast.Call, name: str) -> Iterator[Candidate]:
    """`view` must prove that no copy is needed; `reshape` copies where it must."""
    source = context.site.source
    if name != "view" or not isinstance(node.func, ast.Attribute):
        return
    whole = source.span(node.func)
    start = source.offset(whole.end_row, whole.end_column) - len("view")
    if source.text[start : start + 4] != "view":
        return
    span = type(whole)(whole.filename, whole.end_row, whole.end_column - 4, whole.end_row, whole.end_column)
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        "`view` must know that no copy is needed, which strides of unknown sizes do not tell; `reshape` need not",
        edits=[Edit(span, "reshape")],
        notes=("where the layout does not allow a view, the original raises and this copies",),
    )


def _checked(context: Context, name: str, tensor: ast.expr, sizes: list[ast.expr]) -> Iterator[Candidate]:
    """The product of the sizes is the number of elements: said before."""
    source = context.site.source
    if not _plain(tensor) or any(_minus_one(size) for size in sizes) or len(sizes) < 2:
        return
    calls = [call for size in sizes for call in ast.walk(size) if isinstance(call, ast.Call)]
    if any(called(call) in {"item", "tolist"} for call in calls):
        return
    torch, imports = torch_name(source)
    product = " * ".join(text_of(source, size, Binding.ARITHMETIC + 1) for size in sizes)
    line = lines_before(
        source, context.site.statement, [f"{torch}._check({product} == {source.segment(tensor)}.numel())"]
    )
    if line is None or "\n" in product:
        return
    yield from offer(
        context,
        _MOVE,
        Claim.RESTRUCTURED,
        f"the sizes of `{name}` must multiply to the number of elements, which the compiler is told before",
        edits=[line],
        imports=imports,
    )
