"""A compiled forward under autocast whose backward runs outside: the compiler is told so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.operators import operators, terminal_name
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.expressions import parses, torch_name

_OFF = '_functorch.config.patch(backward_pass_autocast="off")'


@move("backward_autocast_off")
def backward_autocast_off(context: Context) -> Iterator[Candidate]:
    """`with autocast(…):` → `with autocast(…), torch._functorch.config.patch(backward_pass_autocast="off"):`."""
    block = _block(context)
    if block is None:
        return
    source = context.site.source
    item = block.items[-1]
    last = source.span(item.optional_vars or item.context_expr)
    torch, imports = torch_name(source)
    needed = (*imports, Import("torch._functorch.config"))  # torch itself loads it late
    end = Span(source.filename, last.end_row, last.end_column, last.end_row, last.end_column)
    edits = (Edit(end, f", {torch}.{_OFF}"),)
    if parses(source, edits):
        yield Candidate(
            "backward_autocast_off",
            Claim.EQUIVALENT,
            "tell the compiler that backward runs outside of autocast, as it does in eager: gradients agree again",
            edits,
            needed,
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
        targets = [
            target.id
            for node in ast.walk(block)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        if name in targets and call not in ast.walk(block):
            return block
    return None
