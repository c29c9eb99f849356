"""Functions that demand a concrete number or compare in Python, and what takes a symbol in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around, listed_tensor
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import is_pure
from ddelint.rewrite.reading.replacements import replacements
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting


@rewriting("symbolic_function")
def symbolic_function(context: Context) -> Iterator[Rewrite]:
    """`math.sqrt(n)` → `torch.sym_sqrt(n)`, `divmod(n, 2)` → `(n // 2, n % 2)`, `v.index(max(v))` → `t.argmax()`."""
    write, table = context.write, replacements().math
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[number]) if name in table:
                yield Rewrite(
                    f"`math.{name}` demands a concrete number; `{write.torch}.{table[name]}` takes a symbol",
                    {node: write.expr("torch.{name}({number})", name=table[name], number=number)},
                )
            case ast.Call(func=ast.Name(id="divmod"), args=[number, divisor], keywords=[]):
                if is_pure(number) and is_pure(divisor):
                    message = "`divmod` takes no symbol; quotient and remainder by themselves do"
                    pair = [write.expr("{} // {}", number, divisor), write.expr("{} % {}", number, divisor)]
                    yield Rewrite(message, {node: write.tuple(pair)})
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
