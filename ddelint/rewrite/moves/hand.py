"""A size that is read from data although a tensor at hand has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, called, is_pure, joined, owns_lines, text_of, torch_name
from ddelint.rewrite.kinds import Kinds
from ddelint.rewrite.proposals import around, is_tensor, offer, statement_of

_MOST = 3


@move("size_at_hand")
def size_at_hand(context: Context) -> Iterator[Candidate]:
    """`n = lengths.max().item()` → `n = x.shape[1]`, with a check that the data says the same."""
    source = context.site.source
    kinds = Kinds(context)
    torch, imports = torch_name(source)
    for name, assignment in _read_sizes(context):
        value = assignment.value
        if not is_pure(value) or not owns_lines(source, assignment):
            continue
        fact = context.type_of(name)
        if fact is None or fact.kind != "int" or fact.value is None:
            continue
        read = _symbolic(context, kinds, value)
        for size in list(_sizes(context, assignment, fact.value))[:_MOST]:
            lines = [f"{torch}._check({read} == {size})", f"{name} = {size}"]
            yield from offer(
                context,
                "size_at_hand",
                Claim.RESTRUCTURED,
                f"`{size}` is that size, and known; what is read from the data is only checked against it",
                edits=[Edit(source.span(assignment), joined(source, assignment, lines))],
                imports=imports,
                notes=("where the data says another size, this raises",),
            )


def _read_sizes(context: Context) -> Iterator[tuple[str, ast.Assign]]:
    """Names of the site's statement whose one definition reads data, and that definition."""
    function = context.site.function
    if function is None:
        return
    source = context.site.source
    names = dict.fromkeys(node.id for node in around(context) if isinstance(node, ast.Name))
    assignments: dict[str, list[ast.Assign]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                assignments.setdefault(name, []).append(node)
    for name, found in assignments.items():
        if len(found) == 1 and statement_of(source, found[0]) is found[0] and _reads(found[0].value):
            yield name, found[0]


def _reads(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Call) and called(inner) in {"item", "int"} for inner in ast.walk(node))


def _symbolic(context: Context, kinds: Kinds, node: ast.expr) -> str:
    """The text of the reading expression without `int()`."""
    source = context.site.source
    match node:
        case ast.Call(func=ast.Name(id="int"), args=[argument]):
            if is_tensor(kinds, argument):
                return f"{text_of(source, argument, Binding.PRIMARY)}.item()"
            return text_of(source, argument, Binding.BITWISE)
    return text_of(source, node, Binding.BITWISE)


def _sizes(context: Context, assignment: ast.Assign, value: str) -> Iterator[str]:
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
                yield f"{name}.shape[{dimension}]"
