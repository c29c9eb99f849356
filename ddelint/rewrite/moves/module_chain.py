"""`self.layers[i](x)` with i from data: a chain of torch.cond over a short list, so that one module runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import is_tensor, origins
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import fresh_name, is_pure
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting

_MOST_MODULES = 8
"""Arms that are worth writing out."""
_CHECKED = """
{which} = {place}
torch._check_index((({which} >= 0) & ({which} < {count})).item())
"""
_FUNCTION = """
{before}

def {name}({parameters}):
    return torch.cond(
        {which} == {number},
        lambda {parameters}: {run},
        lambda {parameters}: {other},
        ({parameters},),
    )
"""


@rewriting("module_chain")
def module_chain(context: Context) -> Iterator[Rewrite]:
    """`y = layers[i](x)` → `torch.cond(i == 0, layer 0, torch.cond(i == 1, …))` while compiling; eager indexes."""
    kinds = Kinds(context)
    for node in origins(context, 0):
        match node:
            case ast.Call(func=ast.Subscript(value=table, slice=index), args=[_, *_], keywords=[]):
                fact = kinds.fact(table)
                if fact is None or fact.kind != "module" or fact.length is None:
                    continue
                if 2 <= fact.length <= _MOST_MODULES and is_pure(index) and is_pure(table):
                    yield from _chain(context, kinds, node, table, index, fact.length)


def _chain(
    context: Context, kinds: Kinds, call: ast.Call, table: ast.expr, index: ast.expr, count: int
) -> Iterator[Rewrite]:
    source, write, statement = context.site.source, context.write, context.site.statement
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if value is call:
            template = "{before}\n\n{target} = {chosen}"
        case ast.Return(value=value) if value is call:
            template, target = "{before}\n\nreturn {chosen}", ""
        case _:
            return
    if not all(isinstance(argument, ast.Name) and is_tensor(kinds, argument) for argument in call.args):
        return
    which = fresh_name(source, "which")
    parameters = [*(argument.id for argument in call.args if isinstance(argument, ast.Name)), which]
    names = [fresh_name(source, f"from_{number}") for number in range(count - 1)]
    runs = [write.expr("{}[{}]({}).clone()", table, number, call.args) for number in range(count)]
    others = [*(write.expr("{}({})", name, parameters) for name in names[1:]), runs[-1]]
    lines = write.lines(_CHECKED, which=which, place=_tensor_of(context, kinds, index), count=count)
    for number in reversed(range(count - 1)):
        lines = write.lines(
            _FUNCTION,
            before=lines,
            name=names[number],
            parameters=parameters,
            which=which,
            number=number,
            run=runs[number],
            other=others[number],
        )
    chosen = write.expr("{}({})", names[0], parameters)
    yield restructured(
        "while compiling, a chain of torch.cond runs the one module that is chosen; eager stays as it is",
        {statement: write.beside(write.lines(template, before=lines, target=target, chosen=chosen), [statement])},
        "positions from the end are refused while compiling",
    )


def _tensor_of(context: Context, kinds: Kinds, index: ast.expr) -> Expr:
    """The index as a tensor without dimensions."""
    match index:
        case (
            ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[])
            | ast.Call(func=ast.Name(id="int"), args=[tensor])
        ) if is_tensor(kinds, tensor):
            return context.write.expression(tensor)
    if is_tensor(kinds, index):
        return context.write.expression(index)
    return context.write.expr("torch.full((), {}, dtype=torch.int64)", index)
