"""A size that is read from data although a tensor at hand has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around, is_tensor
from ddelint.rewrite.reading.kinds import Kinds, definition, own_arguments
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, is_pure
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, restructured, rewriting
from ddelint.sources.sites import site_of

_MOST = 3


@rewriting("size_at_hand")
def size_at_hand(context: Context) -> Iterator[Rewrite]:
    """`n = lengths.max().item()` → `n = x.shape[1]`, with a check that the data says the same.

    `x.repeat_interleave(torch.tensor(counts))` → `output_size=sum(counts)`: what Python's own numbers come to.
    """
    write = context.write
    yield from _summed(context)
    for name, assignment in _read_sizes(context):
        fact = context.type_of(name)
        if not is_pure(assignment.value) or fact is None or fact.kind != "int" or fact.value is None:
            continue
        read = _symbolic(context, assignment.value)
        for tensor, dimension in list(_sizes(context, assignment, fact.value))[:_MOST]:
            size = write.expr("{}.shape[{}]", tensor, dimension)
            template = "torch._check({read} == {size})\n{name} = {size}"
            yield restructured(
                f"`{write.code(size)}` is that size, and known; what is read from the data is only checked against it",
                {assignment: write.lines(template, read=read, size=size, name=name)},
                "where the data says another size, this raises",
            )


def _summed(context: Context) -> Iterator[Rewrite]:
    """The size of what is repeated as often as Python's own numbers say."""
    write = context.write
    for call in _repeating(context):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        repeats = given.get("repeats", next(iter(own_arguments(call)), None))
        place = replace(context, site=site_of(context.site.source, call))
        counts = _numbers(place, repeats) if repeats is not None and "output_size" not in given else None
        if counts is not None:
            size = write.expr("sum({})", counts)
            arguments: list[Part] = [*call.args, *call.keywords, write.keyword("output_size", size)]
            new = write.expr("{}({})", call.func, arguments)
            yield Rewrite(f"`{write.code(size)}` is the size of the result, and known without the data", {call: new})


def _repeating(context: Context) -> Iterator[ast.Call]:
    """Calls that repeat rows: those that made what is asked about; all of the function where that is not known."""
    source, function = context.site.source, context.site.function
    created = [symbol.created for symbol in context.diagnostic.symbols if symbol.created is not None]
    made = [source.at(span) for span in dict.fromkeys(created) if span.filename == source.filename]
    for node in made if created or function is None else ast.walk(function):
        if isinstance(node, ast.Call) and called(node) in knowledge().repeating:
            yield node


def _numbers(context: Context, node: ast.expr) -> ast.expr | None:
    """The list that a tensor is made of, as far as the text says; of anything else there is no sum, or another one."""
    match node:
        case ast.Name(id=name):
            made = definition(context, name)
            return _numbers(context, made) if isinstance(made, ast.Call) else None
        case ast.Call(args=[ast.Name() | ast.List() | ast.Tuple() as numbers]) if called(node) in knowledge().literal:
            return numbers
    return None


def _read_sizes(context: Context) -> Iterator[tuple[str, ast.Assign]]:
    """Names of the site's statement whose one definition reads data, and that definition."""
    for name in dict.fromkeys(node.id for node in around(context) if isinstance(node, ast.Name)):
        value = definition(context, name)
        assignment = context.site.source.parents.get(value) if value is not None else None
        if value is not None and isinstance(assignment, ast.Assign) and _reads(value):
            yield name, assignment


def _reads(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Call) and called(inner) in {"item", "int"} for inner in ast.walk(node))


def _symbolic(context: Context, node: ast.expr) -> Expr:
    """The reading expression without `int()`."""
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[argument]):
            return context.write.expr("{}.item()" if is_tensor(Kinds(context), argument) else "{}", argument)
    return context.write.expression(node)


def _sizes(context: Context, assignment: ast.Assign, value: str) -> Iterator[tuple[str, int]]:
    """Dimensions of tensors at hand that had this value in a run."""
    function = context.site.function
    if function is None or value in {"0", "1"}:
        return
    parameters = [argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
    earlier = [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < assignment.lineno
    ]
    for name in dict.fromkeys([*parameters, *reversed(earlier)]):
        fact = context.type_of(name)
        if fact is None or fact.kind != "tensor" or not fact.shape:
            continue
        for dimension, size in enumerate(fact.shape):
            if size == value:
                yield name, dimension
