"""A tensor stands where a number is expected: read it once, explicitly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, fresh_name, is_pure, text_of
from ddelint.rewrite.kinds import Kind, Kinds, definition
from ddelint.rewrite.proposals import around, headers, is_tensor, lines_before, offer, statement_of


@move("explicit_item")
def explicit_item(context: Context) -> Iterator[Candidate]:
    """`x.expand(-1, n)` with a tensor `n` → `n.item()`; `h, w = size` → `size.tolist()`."""
    kinds = Kinds(context)
    yield from _unpacked(context, kinds)
    yield from _iterated(context, kinds)
    places = list(_number_places(context, kinds))
    if not places:
        return
    texts = dict.fromkeys(ast.unparse(node) for node in places)
    yield from _once_before(context, places, list(texts))
    yield from _in_place(context, places)
    yield from _at_definition(context, kinds, places)


def _number_places(context: Context, kinds: Kinds) -> Iterator[ast.expr]:
    """One-element tensors of the statement that stand where Python wants a number."""
    source = context.site.source
    for node in around(context):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store) or not _one_element(kinds, node):
            continue
        if _wants_number(kinds, source.parents.get(node), node):
            yield node


def _one_element(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor of one number, as far as anything tells."""
    if not is_tensor(kinds, node):
        return False
    shape = kinds.shape(node)
    dtype = kinds.dtype(node)
    if dtype and not (dtype.startswith(("int", "uint")) or dtype == "integer"):
        return False
    return shape is None or all(size == "1" for size in shape)


def _wants_number(kinds: Kinds, parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether a call, slice or index takes `node` as a number: by its place, since operators take tensors elsewhere."""
    source = kinds.context.site.source
    match parent:
        case ast.Slice():
            return True
        case ast.BinOp() | ast.UnaryOp():
            return _wants_number(kinds, source.parents.get(parent), parent)
        case ast.Subscript(slice=index, value=value) if index is node:
            return kinds.of(value) is not Kind.STATIC or kinds.fact(value) is not None
        case ast.Call(func=ast.Name(id="range"), args=args):
            return node in args
        case ast.Tuple() | ast.List():
            outer = source.parents.get(parent)
            if isinstance(outer, ast.keyword):
                outer = source.parents.get(outer)
            return isinstance(outer, ast.Call) and outer.func is not parent
        case ast.Call(args=args, func=function) if node in args:
            # the first argument of a torch function is mostly the tensor that it works on
            method = isinstance(function, ast.Attribute) and is_tensor(kinds, function.value)
            return method or kinds.context.kind != "static"
        case ast.keyword():
            return True
    return False


def _message(text: str) -> str:
    return f"`{text}` is a tensor where a number is expected; one explicit `.item()` gives the compiler one symbol"


def _in_place(context: Context, places: list[ast.expr]) -> Iterator[Candidate]:
    source = context.site.source
    outer = [node for node in places if not any(_strictly_inside(node, other) for other in places)]
    changes = [(node, f"{text_of(source, node, Binding.PRIMARY)}.item()") for node in outer]
    yield from offer(context, "explicit_item", Claim.EQUIVALENT, _message(source.segment(outer[0])), changes)
    if len(outer) > 1:
        for change in changes:
            yield from offer(context, "explicit_item", Claim.EQUIVALENT, _message(source.segment(change[0])), [change])


def _strictly_inside(node: ast.expr, other: ast.expr) -> bool:
    return node is not other and any(inner is node for inner in ast.walk(other))


def _once_before(context: Context, places: list[ast.expr], texts: list[str]) -> Iterator[Candidate]:
    """Used several times in the statement: read before it, into a name."""
    source = context.site.source
    for text in texts:
        same = [node for node in places if ast.unparse(node) == text]
        if len(same) < 2 or not is_pure(same[0]) or _bound_inside(context, same[0]):
            continue
        base = same[0].id if isinstance(same[0], ast.Name) else "count"
        name = fresh_name(source, f"{base}_value")
        line = lines_before(
            source, context.site.statement, [f"{name} = {text_of(source, same[0], Binding.PRIMARY)}.item()"]
        )
        if line is not None:
            yield from offer(
                context,
                "explicit_item",
                Claim.EQUIVALENT,
                _message(source.segment(same[0])),
                [(node, name) for node in same],
                edits=[line],
            )


def _bound_inside(context: Context, node: ast.expr) -> bool:
    """Whether `node` uses a name that the statement itself binds (a comprehension's variable)."""
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    bound = {
        inner.id
        for header in headers(context.site.statement)
        for each in ast.walk(header)
        if isinstance(each, ast.comprehension)
        for inner in ast.walk(each.target)
        if isinstance(inner, ast.Name)
    }
    return bool(used & bound)


def _at_definition(context: Context, kinds: Kinds, places: list[ast.expr]) -> Iterator[Candidate]:
    """`n = mask.sum()` → `n = mask.sum().item()`, where every use of `n` is one of a number."""
    source = context.site.source
    for name in dict.fromkeys(node.id for node in places if isinstance(node, ast.Name)):
        value = definition(context, name)
        if value is None or not is_tensor(kinds, value):
            continue
        yield from offer(
            context,
            "explicit_item",
            Claim.EQUIVALENT,
            f"`{name}` is used as a number: reading it where it is made gives the compiler one symbol",
            [(value, f"{text_of(source, value, Binding.PRIMARY)}.item()")],
        )


def _unpacked(context: Context, kinds: Kinds) -> Iterator[Candidate]:
    """`h, w = size` with a tensor of integers."""
    source = context.site.source
    statements = [context.site.statement]
    for node in around(context):
        if isinstance(node, ast.Name) and (value := definition_by_unpacking(context, node.id)) is not None:
            found = statement_of(source, value)
            if found is not None and found not in statements:
                statements.append(found)
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
                if _integers(kinds, value):
                    yield from offer(
                        context,
                        "explicit_item",
                        Claim.EQUIVALENT,
                        f"`{source.segment(value)}` is unpacked into numbers: `.tolist()` makes one symbol of each",
                        [(value, f"{text_of(source, value, Binding.PRIMARY)}.tolist()")],
                    )


def definition_by_unpacking(context: Context, name: str) -> ast.expr | None:
    """The value of the assignment that unpacks into `name`, where there is just one."""
    function = context.site.function
    if function is None:
        return None
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, (ast.Tuple, ast.List))
        and any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(target))
    ]
    return values[0] if len(values) == 1 else None


def _integers(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor of one dimension that holds integers."""
    if not is_tensor(kinds, node):
        return False
    shape, dtype = kinds.shape(node), kinds.dtype(node)
    return (shape is None or len(shape) == 1) and (dtype == "integer" or dtype.startswith(("int", "uint")))


def _iterated(context: Context, kinds: Kinds) -> Iterator[Candidate]:
    """`for n in sizes:` over a tensor, where `n` is then used as a number."""
    source = context.site.source
    function = context.site.function
    names = {node.id for node in around(context) if isinstance(node, ast.Name)}
    if function is None:
        return
    for node in ast.walk(function):
        if not isinstance(node, (ast.For, ast.comprehension)):
            continue
        bound = {inner.id for inner in ast.walk(node.target) if isinstance(inner, ast.Name)}
        if not bound & names and node is not context.site.statement:
            continue
        iterated: ast.expr = node.iter
        match iterated:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                iterated = inner
            case ast.Call(func=ast.Name(id="zip"), args=args):
                tensors = [argument for argument in args if _integers(kinds, argument)]
                if len(tensors) == 1:
                    iterated = tensors[0]
        if _integers(kinds, iterated):
            yield from offer(
                context,
                "explicit_item",
                Claim.EQUIVALENT,
                f"the loop reads numbers from `{source.segment(iterated)}`: `.tolist()` makes one symbol of each",
                edits=[Edit(source.span(iterated), f"{text_of(source, iterated, Binding.PRIMARY)}.tolist()")],
            )
