"""`self.layers[i](x)` with i from data: a chain of torch.cond over a short list, so that one module runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.branch_functions import as_tuple
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    Binding,
    block_text,
    fresh_name,
    indent_unit,
    is_pure,
    owns_lines,
    parses,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kinds
from ddelint.rewrite.proposals import is_tensor, origins

NAME = "module_chain"
_MOST_MODULES = 8
"""Arms that are worth writing out."""


@move(NAME)
def module_chain(context: Context) -> Iterator[Candidate]:
    """`y = layers[i](x)` → `torch.cond(i == 0, layer 0, torch.cond(i == 1, …))` while compiling; eager indexes."""
    kinds = Kinds(context)
    for node in origins(context, 0):
        match node:
            case ast.Call(func=ast.Subscript(value=table, slice=index), args=[_, *_], keywords=[]):
                fact = kinds.fact(table)
                if fact is None or fact.kind != "module" or fact.length is None:
                    continue
                if 2 <= fact.length <= _MOST_MODULES and is_pure(index) and is_pure(table):
                    yield from _chain(context, node, table, index, fact.length)


def _chain(context: Context, call: ast.Call, table: ast.expr, index: ast.expr, count: int) -> Iterator[Candidate]:
    source, kinds = context.site.source, Kinds(context)
    statement = context.site.statement
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            head = f"{name} = "
        case ast.Return(value=value) if value is call:
            head = "return "
        case _:
            return
    if not owns_lines(source, statement) or not all(isinstance(a, ast.Name) and is_tensor(kinds, a) for a in call.args):
        return
    torch, imports = torch_name(source)
    operands = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    which = fresh_name(source, "which")
    parameters = ", ".join([*operands, which])
    modules = text_of(source, table, Binding.PRIMARY)
    unit, newline, indentation = indent_unit(source, statement), source.newline, source.indentation(statement)
    place = _tensor_of(context, kinds, index, torch)
    lines = [f"{which} = {place}", f"{torch}._check_index((({which} >= 0) & ({which} < {count})).item())", ""]
    runs = [f"{modules}[{number}]({', '.join(operands)}).clone()" for number in range(count)]
    names = [fresh_name(source, f"from_{number}") for number in range(count - 1)]
    for number in reversed(range(count - 1)):
        last = number == count - 2
        other = runs[-1] if last else f"{names[number + 1]}({parameters})"
        lines += [
            f"def {names[number]}({parameters}):",
            f"{unit}return {torch}.cond(",
            f"{unit}{unit}{which} == {number},",
            f"{unit}{unit}lambda {parameters}: {runs[number]},",
            f"{unit}{unit}lambda {parameters}: {other},",
            f"{unit}{unit}{as_tuple([*operands, which])},",
            f"{unit})",
            "",
        ]
    lines.append(f"{head}{names[0]}({parameters})")
    kept = block_text(source, [statement], indentation + unit)
    if kept is None:
        return
    inner = newline.join((indentation + unit + line) if line else "" for line in lines)
    text = f"if {torch}.compiler.is_compiling():{newline}{inner}{newline}{indentation}else:{newline}{kept}"
    span = source.span(statement)
    comment = source.lines[span.end_row - 1].rstrip("\r\n")[span.end_column - 1 :]
    text = text[: len(text) - len(comment)] if comment and text.endswith(comment) else text
    edits = (Edit(span, text),)
    if parses(source, edits):
        yield Candidate(
            NAME,
            Claim.RESTRUCTURED,
            "while compiling, a chain of torch.cond runs the one module that is chosen; eager stays as it is",
            edits,
            imports,
            notes=("positions from the end are refused while compiling",),
        )


def _tensor_of(context: Context, kinds: Kinds, index: ast.expr, torch: str) -> str:
    """The index as a tensor without dimensions."""
    source = context.site.source
    match index:
        case (
            ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[])
            | ast.Call(func=ast.Name(id="int"), args=[tensor])
        ) if is_tensor(kinds, tensor):
            return text_of(source, tensor)
    if is_tensor(kinds, index):
        return text_of(source, index)
    return f"{torch}.full((), {text_of(source, index)}, dtype={torch}.int64)"
