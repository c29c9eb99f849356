"""What the compiler does only where an option of its own allows it: the option is set at the head of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_DOUBT = "it sets an option of the compiler for the whole process"
_COST = "importing the file loads the compiler"


@rewriting("compiler_option")
def compiler_option(context: Context) -> Iterator[Rewrite]:
    """An LSTM that Dynamo refuses to see → `torch._dynamo.config.allow_rnn = True` behind the imports."""
    module, write = context.site.source.tree, context.write
    first = next((statement for statement in module.body if not _is_head(statement)), None)
    for said, option in knowledge().compiler_options.items():
        is_set = any(ast.unparse(statement) == f"{option} = True" for statement in module.body)
        if said in context.detail and first is not None and not is_set:
            setting = write.lines("{option} = True", option=write.expr(option))
            changes: dict[ast.AST, Any] = {first: write.apart([setting, [first]])}
            message = f"the compiler takes this where `{option}` allows it"
            yield Rewrite(message, changes, notes=(_COST,), doubt=_DOUBT)


def _is_head(statement: ast.stmt) -> bool:
    """Whether a statement belongs to the head of a module: its docstring and its imports, tried or not."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Try(body=body) | ast.If(body=body):
            return all(map(_is_head, body))
    return False
