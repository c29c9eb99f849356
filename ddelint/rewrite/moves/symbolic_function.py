"""Functions that demand a concrete number or compare in Python, and what takes a symbol in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.doubles import in_doubles
from ddelint.rewrite.reading.around import around, listed_tensor
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, fresh_name, is_pure
from ddelint.rewrite.reading.replacements import replacements
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting

_UNDEFINED = "where Python raises (for a number out of the function's range), compiled code gives an infinity or NaN"


@rewriting("symbolic_function")
def symbolic_function(context: Context) -> Iterator[Rewrite]:
    """`math.sqrt(n)` → `torch.sym_sqrt(n)`, `math.exp(n)` → `torch.exp`, `divmod`, `v.index(max(v))` → `t.argmax()`."""
    write, table, operators = context.write, replacements().math, replacements().tensors
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[number]) if name in table:
                yield Rewrite(
                    f"`math.{name}` demands a concrete number; `{write.torch}.{table[name]}` takes a symbol",
                    {node: write.expr("torch.{name}({number})", name=table[name], number=number)},
                )
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[number], keywords=[]) if (
                name in operators and not _is_for_eager(context, node)
            ):
                # Python's numbers are doubles
                doubles = in_doubles(Kinds(context), number)
                if doubles is None:
                    doubles = write.expr("torch.scalar_tensor({}, dtype=torch.float64)", number)
                new = write.expr("torch.{name}({doubles}).item()", name=operators[name], doubles=doubles)
                message = f"`math.{name}` takes no symbol; `torch.{operators[name]}` takes a tensor that is made of one"
                both = write.expr("{} if {} else {}", new, write.compiling, node)
                doubt = _UNDEFINED if name in replacements().raising else ""
                yield restructured(message, {node: both}, doubt=doubt)
            case ast.Call(func=ast.Name(id="divmod"), args=[number, divisor], keywords=[]):
                if is_pure(number) and is_pure(divisor):
                    message = "`divmod` takes no symbol; quotient and remainder by themselves do"
                    yield Rewrite(message, _divided(context, node, number, divisor))
            case ast.Call(func=ast.Name(id="sorted"), args=[ast.Call(func=ast.Attribute(value=tensor, attr="tolist"))]):
                if all(k.arg == "reverse" and isinstance(k.value, ast.Constant) for k in node.keywords):
                    falling = any(isinstance(k.value, ast.Constant) and bool(k.value.value) for k in node.keywords)
                    template = "{}.sort(descending=True).values.tolist()" if falling else "{}.sort().values.tolist()"
                    message = "`sorted` compares in Python; the tensor is sorted before it is read"
                    yield Rewrite(message, {node: write.expr(template, tensor)})
            case ast.Call(
                func=ast.Attribute(value=listed, attr="index"),
                args=[ast.Call(func=ast.Name(id="max" | "min" as name), args=[again], keywords=[])],
            ) if ast.dump(again) == ast.dump(listed):
                searched = listed_tensor(Kinds(context), listed)
                if searched is not None:
                    message = f"the list is searched in Python; `arg{name}` finds the first one on the tensor"
                    template = "{}.argmax().item()" if name == "max" else "{}.argmin().item()"
                    yield Rewrite(message, {node: write.expr(template, searched)})


def _is_for_eager(context: Context, node: ast.Call) -> bool:
    """Whether a rewrite has left the call to eager already."""
    parent = context.site.source.parents.get(node)
    return isinstance(parent, ast.IfExp) and parent.orelse is node and asks_compiling(parent.test)


def _divided(context: Context, node: ast.Call, number: ast.expr, divisor: ast.expr) -> dict[ast.AST, Any]:
    """`(n // d, n % d)`; a number that is computed has a name before, for read twice it would be two symbols."""
    write, statement = context.write, context.site.statement
    value, before = write.expression(number), []
    if (
        isinstance(statement, ast.Assign)
        and statement.value is node
        and not isinstance(number, (ast.Name, ast.Constant))
    ):
        name = fresh_name(context.site.source, "value")
        value, before = write.expression(name), [*write.assigned(name, number), statement]
    pair = write.tuple([write.expr("{} // {}", value, divisor), write.expr("{} % {}", value, divisor)])
    return {node: pair} | ({statement: before} if before else {})
