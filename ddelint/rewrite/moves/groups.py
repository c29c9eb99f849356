"""A loop over the groups that occur in the data becomes a loop over all groups: an empty group adds nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.arms import NotMergeable
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    comments_in,
    indent_unit,
    is_pure,
    joined,
    laid_out,
    names_read,
    names_written,
    owns_lines,
    parses,
    removal,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kinds, definition, is_torch, reduces_all
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.moves.loops import masked_turn
from ddelint.rewrite.predicates import NotAPredicate

NAME = "loop_over_groups"


@dataclass(frozen=True, slots=True)
class _Listing:
    """What a loop goes over: the places where `mask` is true."""

    mask: ast.expr
    row: bool
    """Each turn gets a row (a tensor of one element); otherwise one number."""


@move(NAME)
def loop_over_groups(context: Context) -> Iterator[Candidate]:
    """`for e in hit.nonzero():` → `for e in range(hit.shape[0]):`, with `e[0]` and `x[e].squeeze(0)` said of an int."""
    source = context.site.source
    loop = _loop(context)
    if loop is None or not isinstance(loop.target, ast.Name) or loop.orelse:
        return
    name = loop.target.id
    function = context.site.function
    inside = set(ast.walk(loop))
    if function is not None and any(
        isinstance(node, ast.Name) and node.id == name and node not in inside for node in ast.walk(function)
    ):
        return
    listing = _listing(context, loop.iter)
    if listing is None or not is_pure(listing.mask) or names_read(listing.mask) & names_written(*loop.body):
        return
    size = _leading_size(context, listing.mask)
    edits = [Edit(source.span(loop.iter), f"range({size})")]
    yield from _visited(context, loop, listing, size, edits)
    yield from _masked(context, loop, listing, size)


def _visited(context: Context, loop: ast.For, listing: _Listing, size: str, edits: list[Edit]) -> Iterator[Candidate]:
    """The body as it is, for every group."""
    source = context.site.source
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    if listing.row:
        row_edits = _row_edits(context, loop, name)
        if row_edits is None:
            return
        edits += row_edits
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "loop over all groups: the number of turns is known, and a group without members adds nothing",
            tuple(edits),
            notes=("every group is visited, empty ones too",),
            decisions=(),
        )


def _masked(context: Context, loop: ast.For, listing: _Listing, size: str) -> Iterator[Candidate]:
    """Every group in turn, what the body changes kept only for those that occur."""
    source = context.site.source
    if listing.row or not owns_lines(source, loop) or not isinstance(loop.target, ast.Name):
        return
    name = loop.target.id
    unit = indent_unit(source, loop)
    try:
        inner = masked_turn(context, loop, loop.body, f"{text_of(source, listing.mask, Binding.PRIMARY)}[{name}]", name)
    except (NotMergeable, NotAPredicate, ValueError):
        return
    lines = [
        *comments_in(source, source.span(loop)),
        f"for {name} in range({size}):",
        *(unit + line for line in inner),
    ]
    depth = len(source.indentation(loop).expandtabs(4))
    edits = (Edit(source.span(loop), joined(source, loop, laid_out(lines, depth, unit))),)
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "loop over all groups, and keep what a group changes only where it occurs",
            edits,
            torch_name(source)[1],
            notes=("every group is visited, empty ones too",),
        )


def _loop(context: Context) -> ast.For | None:
    """The loop that the site's statement is, or stands in."""
    statement = context.site.statement
    if isinstance(statement, ast.For):
        return statement
    for node in context.site.source.ancestors(statement):
        if isinstance(node, ast.For):
            return node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None


def _listing(context: Context, node: ast.expr, depth: int = 0) -> _Listing | None:
    """What `node` lists: `mask.nonzero()`, `torch.where(mask)[0]`, flattened or turned into a list."""
    if depth > 4:
        return None
    match node:
        case ast.Name(id=name):
            defined = definition(context, name)
            return _listing(context, defined, depth + 1) if defined is not None else None
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            found = as_tuple(value)
            return _Listing(found, False) if found is not None else None
        case ast.Call(func=ast.Attribute(value=inner, attr="flatten" | "ravel" | "view" | "reshape" | "squeeze")):
            if is_torch(inner):
                return None
            listing = _listing(context, inner, depth + 1)
            return _Listing(listing.mask, False) if listing is not None else None
        case ast.Call(func=ast.Attribute(value=inner, attr="tolist")):
            listing = _listing(context, inner, depth + 1)
            return listing if listing is not None and not listing.row else None
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=arguments, keywords=[]):
            if attr not in knowledge().listings or attr == "where":
                return None
            if is_torch(owner) and len(arguments) == 1:
                return _one_dimension(context, arguments[0])
            return _one_dimension(context, owner) if not arguments and not is_torch(owner) else None
    return None


def as_tuple(node: ast.expr) -> ast.expr | None:
    """The mask of `torch.where(mask)` or `mask.nonzero(as_tuple=True)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="where"), args=[mask], keywords=[]) if is_torch(owner):
            return mask
        case ast.Call(
            func=ast.Attribute(value=owner, attr="nonzero"),
            args=arguments,
            keywords=[ast.keyword(arg="as_tuple", value=ast.Constant(value=True))],
        ):
            return arguments[0] if is_torch(owner) and arguments else owner
    return None


def _one_dimension(context: Context, mask: ast.expr) -> _Listing | None:
    shape = Kinds(context).shape(mask)
    return None if shape is not None and len(shape) != 1 else _Listing(mask, True)


def _leading_size(context: Context, mask: ast.expr) -> str:
    """The text of the size of the mask's first dimension, from as simple an expression as has it."""
    source, kinds = context.site.source, Kinds(context)
    node = mask
    while True:
        match node:
            case ast.Compare(left=left, comparators=[right]) if _scalar(kinds, right):
                node = left
                continue
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=arguments):
                table = knowledge()
                subject = arguments[0] if is_torch(owner) and arguments else owner
                others = arguments[1:] if is_torch(owner) else arguments
                if attr in table.elementwise and all(_scalar(kinds, other) or attr == "to" for other in others):
                    node = subject
                    continue
                if attr in table.reductions and _keeps_first(node, others):
                    node = subject
                    continue
        break
    return f"{text_of(source, node, Binding.PRIMARY)}.shape[0]"


def _scalar(kinds: Kinds, node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or kinds.shape(node) == ()


def _keeps_first(node: ast.Call, others: list[ast.expr]) -> bool:
    """Whether a reduction goes over other dimensions than the first (negative ones of a tensor of more)."""
    if reduces_all(node):
        return False
    chosen = [keyword.value for keyword in node.keywords if keyword.arg in {"dim", "axis"}] or others[:1]
    if len(chosen) != 1:
        return False
    dims = chosen[0].elts if isinstance(chosen[0], (ast.Tuple, ast.List)) else [chosen[0]]
    for dim in dims:
        match dim:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                continue
            case ast.Constant(value=int() as value) if value > 0:
                continue
            case _:
                return False
    return True


def _row_edits(context: Context, loop: ast.For, name: str) -> list[Edit] | None:
    """The body's uses of a row of one element, said of an int. None where a use cannot be."""
    source = context.site.source
    edits: list[Edit] = []
    body = loop.body
    match body[0]:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            if not _takes_element(value, name) or not owns_lines(source, body[0]) or len(body) == 1:
                return None
            if name in names_written(*body[1:]):
                return None
            # from here on it is one number, and an int serves as well
            return [removal(source, body[0])]
    if name in names_written(*body):
        return None
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == name:
                edit = _use(context, node, name)
                if edit is None:
                    return None
                edits.append(edit)
    return [edit for edit in edits if edit.content or edit.span]


def _takes_element(value: ast.expr, name: str) -> bool:
    match value:
        case ast.Subscript(value=ast.Name(id=read), slice=ast.Constant(value=0)) if read == name:
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=read), attr="item" | "squeeze"), args=[]) if read == name:
            return True
        case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=read)]) if read == name:
            return True
    return False


def _use(context: Context, node: ast.Name, name: str) -> Edit | None:
    """One use of the row: `e[0]`, `e.item()`, `int(e)` → `e`; `x[e].squeeze(0)` → `x[e]`; `x[e]` → `x[e : e + 1]`."""
    source = context.site.source
    if source.segment(node) != name:
        return None  # inside an f-string, whose places are not known before Python 3.12
    parent = source.parents.get(node)
    if isinstance(parent, ast.expr) and _takes_element(parent, name):
        return Edit(source.span(parent), name)
    whole = source.parents.get(parent) if parent is not None else None
    if isinstance(whole, ast.Call) and _takes_element(whole, name):
        return Edit(source.span(whole), name)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        method = source.parents.get(parent)
        call = source.parents.get(method) if method is not None else None
        match call:
            case ast.Call(func=ast.Attribute(attr="squeeze") as func, args=[ast.Constant(value=0)]) if func is method:
                first, last = source.span(parent), source.span(call)
                gone = Span(source.filename, first.end_row, first.end_column, last.end_row, last.end_column)
                return Edit(gone, "")
        return Edit(source.span(node), f"{name} : {name} + 1")
    if isinstance(parent, ast.Compare):
        return Edit(source.span(node), name)
    return None
