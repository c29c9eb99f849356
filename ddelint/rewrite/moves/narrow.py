"""A slice between symbols makes a size of its own; `narrow` keeps the symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.proposals import is_tensor, number_kind, offer, origins, statement_of
from ddelint.source import SourceFile

_STRICT = "a slice is cut to the size that is there; `narrow` raises where it reaches beyond"
_IN_PLACE: dict[type[ast.operator], str] = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@dataclass(frozen=True, slots=True)
class _Cut:
    """One slice of a subscript as dimension, start and length. `base` is the text that is narrowed."""

    base: str
    dimension: int
    start: str
    length: str
    size: str
    """The text of the size of that dimension; empty where it cannot be said."""
    step: str
    bound: str
    """The stop of a slice that starts at 0: what may be clamped instead."""


@move("narrow")
def narrow(context: Context) -> Iterator[Candidate]:
    """`y[:n]` → `y.narrow(0, 0, n)`; `x[:, s:s + 3]` → `x.narrow(1, s, 3)`; an assigned slice → `.copy_()`."""
    source = context.site.source
    kinds = Kinds(context)
    torch, imports = torch_name(source)
    for node in origins(context):
        if not isinstance(node, ast.Subscript) or not is_pure(node):
            continue
        cut = _cut(source, kinds, node)
        if cut is None:
            continue
        if isinstance(node.ctx, ast.Store):
            yield from _assigned(context, kinds, node, cut)
            continue
        message = _message(source, node)
        step = f"[::{cut.step}]" if cut.step else ""
        text = f"{cut.base}.narrow({cut.dimension}, {cut.start}, {cut.length}){step}"
        yield from offer(context, "narrow", Claim.RESTRUCTURED, message, [(node, text)], notes=(_STRICT,))
        if cut.bound and cut.size:
            clamped = f"{torch}.sym_min({cut.bound}, {cut.size})"
            yield from offer(
                context,
                "narrow",
                Claim.RESTRUCTURED,
                message,
                [(node, f"{cut.base}.narrow({cut.dimension}, 0, {clamped}){step}")],
                imports=imports,
                notes=("a negative bound counts from the end in a slice and raises in `narrow`",),
            )
        if not cut.step:
            # torch 2.13's Inductor fails on some views whose start is a number of run time
            rows = f"{torch}.arange({cut.length}, device={cut.base}.device)"
            if cut.start != "0":
                rows += f" + {cut.start}" if cut.start.isidentifier() else f" + ({cut.start})"
            yield from offer(
                context,
                "narrow",
                Claim.RESTRUCTURED,
                f"{message}; so does picking its rows by index",
                [(node, f"{cut.base}.index_select({cut.dimension}, {rows})")],
                imports=imports,
                notes=("a copy, where the slice was a view", "it raises where the slice reaches beyond what is there"),
            )


def _message(source: SourceFile, node: ast.expr) -> str:
    text = " ".join(source.segment(node).split())
    return f"`{text}` makes a new unknown size; `narrow` keeps the one it is given"


def _cut(source: SourceFile, kinds: Kinds, node: ast.Subscript) -> _Cut | None:
    """How to say a subscript with one data-dependent slice; None where it has none, or where its form is not known."""
    if not (is_tensor(kinds, node.value) or (kinds.of(node.value) is Kind.UNKNOWN and kinds.fact(node.value) is None)):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dynamic = [part for part in parts if isinstance(part, ast.Slice) and _is_dynamic(kinds, part)]
    if len(dynamic) != 1 or not isinstance(dynamic[0], ast.Slice):
        return None
    wanted = dynamic[0]
    before = parts[: parts.index(wanted)]
    kept, original = 0, 0
    for part in before:
        match part:
            case ast.Slice():
                kept, original = kept + 1, original + 1
            case ast.Constant(value=None):
                kept += 1
            case ast.Constant(value=value) if value is Ellipsis:
                return None
            case _ if number_kind(kinds, part) == "int":
                original += 1
            case _:
                return None
    others = [part for part in parts if part is not wanted]
    for part in others[len(before) :]:
        if not isinstance(part, (ast.Slice, ast.Constant)) and number_kind(kinds, part) != "int":
            return None
    base = text_of(source, node.value, Binding.PRIMARY)
    size = f"{base}.shape[{original}]" if is_pure(node.value) and _cheap(node.value) else ""
    full = all(isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step) for part in others)
    if not full:
        pieces = [":" if part is wanted else source.segment(part) for part in parts]
        while pieces and pieces[-1] == ":" and len(pieces) > 1:
            pieces.pop()
        base = f"{base}[{', '.join(pieces)}]"
    return _measure(source, wanted, base, kept, size)


def _is_dynamic(kinds: Kinds, part: ast.Slice) -> bool:
    return any(bound is not None and not _constant(bound) for bound in (part.lower, part.upper))


def _constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _cheap(node: ast.expr) -> bool:
    """Whether naming `node` twice reads no data again."""
    return all(isinstance(n, (ast.Name, ast.Attribute, ast.expr_context)) for n in ast.walk(node))


def _measure(source: SourceFile, part: ast.Slice, base: str, dimension: int, size: str) -> _Cut | None:
    if part.step is not None and not (
        isinstance(part.step, ast.Constant) and isinstance(part.step.value, int) and part.step.value > 0
    ):
        return None
    step = source.segment(part.step) if part.step is not None else ""
    lower, upper = part.lower, part.upper
    bound = ""
    if lower is not None and _zero(lower):
        lower = None
    if isinstance(lower, ast.UnaryOp) and isinstance(lower.op, ast.USub):
        if upper is not None or not size:
            return None
        count = text_of(source, lower.operand, Binding.ARITHMETIC + 1)
        return _Cut(base, dimension, f"{size} - {count}", text_of(source, lower.operand), size, step, "")
    start = "0" if lower is None else text_of(source, lower)
    if upper is None:
        if not size or lower is None:
            return None
        length = f"{size} - {text_of(source, lower, Binding.ARITHMETIC + 1)}"
    elif isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub):
        if not size:
            return None
        length = f"{size} - {text_of(source, upper.operand, Binding.ARITHMETIC + 1)}"
        if lower is not None:
            length += f" - {text_of(source, lower, Binding.ARITHMETIC + 1)}"
    elif lower is None:
        length = bound = text_of(source, upper)
    else:
        length = _difference(source, lower, upper)
    return _Cut(base, dimension, start, length, size, step, bound)


def _zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def _difference(source: SourceFile, lower: ast.expr, upper: ast.expr) -> str:
    """The text of `upper - lower`; `n` where upper is `lower + n`."""
    match upper:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            if ast.unparse(left) == ast.unparse(lower):
                return text_of(source, right)
            if ast.unparse(right) == ast.unparse(lower):
                return text_of(source, left)
    return f"{text_of(source, upper, Binding.ARITHMETIC)} - {text_of(source, lower, Binding.ARITHMETIC + 1)}"


def _assigned(context: Context, kinds: Kinds, node: ast.Subscript, cut: _Cut) -> Iterator[Candidate]:
    """`out[i, :l] = v` → `out[i].narrow(0, 0, l).copy_(v)`."""
    source = context.site.source
    statement = statement_of(source, node)
    target = f"{cut.base}.narrow({cut.dimension}, {cut.start}, {cut.length})" + (f"[::{cut.step}]" if cut.step else "")
    match statement:
        case ast.Assign(targets=[only], value=value) if only is node:
            number = kinds.of(value) in (Kind.NUMBER, Kind.BOOL) or isinstance(value, ast.Constant)
            method = "fill_" if number else "copy_"
        case ast.AugAssign(target=only, value=value, op=operator) if only is node and type(operator) in _IN_PLACE:
            method = _IN_PLACE[type(operator)]
        case _:
            return
    yield from offer(
        context,
        "narrow",
        Claim.RESTRUCTURED,
        _message(source, node),
        edits=[Edit(source.span(statement), f"{target}.{method}({text_of(source, value)})")],
        notes=(_STRICT,),
    )
