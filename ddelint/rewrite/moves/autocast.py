"""A compiled forward under autocast whose backward runs outside: the compiler hears of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import names_written
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting


@rewriting("backward_autocast_off")
def backward_autocast_off(context: Context) -> Iterator[Rewrite]:
    """`with autocast(…):` → `with autocast(…), torch._functorch.config.patch(backward_pass_autocast="off"):`."""
    block, write = _block(context), context.write
    if block is None:
        return
    off = write.expr('torch._functorch.config.patch(backward_pass_autocast="off")')
    yield Rewrite(
        "tell the compiler that backward runs outside of autocast, as it does in eager: gradients agree again",
        {block: write.with_manager(block, off)},
    )


def _block(context: Context) -> ast.With | None:
    """The `with` under whose autocast the result was made that `backward` is called on."""
    call, function = context.site.node, context.site.function
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return None
    name = terminal_name(call.func.value)
    scope: ast.AST = function if function is not None else context.site.source.tree
    autocasts = {known.rpartition(".")[2] for known in operators().regions["autocast"]}
    for block in ast.walk(scope):
        if not isinstance(block, ast.With):
            continue
        managers = [item.context_expr for item in block.items]
        if not any(isinstance(m, ast.Call) and terminal_name(m.func) in autocasts for m in managers):
            continue
        if name in names_written(*block.body) and call not in ast.walk(block):
            return block
    return None
