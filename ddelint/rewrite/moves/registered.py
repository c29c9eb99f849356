"""A dataclass that a program returns: torch takes apart only what is registered with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.trees import going_through_trees
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_SYMPTOM = re.compile(r"<class '(?:[\w.]*\.)?(\w+)'> in output, which is not a known type")
"""What AOT autograd (torch 2.13, `torch/_functorch/_aot_autograd`) says of an object that it cannot take apart."""


@rewriting("registered_dataclass")
def registered_dataclass(context: Context) -> Iterator[Rewrite]:
    """`@dataclass class Output: …`, which the program returns → `torch.export.register_dataclass(Output)` behind it."""
    found = _SYMPTOM.search(context.detail)
    if found is None:
        return
    for statement in context.site.source.tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == found[1] and _is_dataclass(statement):
            registered = context.write.lines("torch.export.register_dataclass({name})", name=statement.name)
            lines = context.write.apart([[statement], registered])
            yield Rewrite(
                f"`{statement.name}` is registered with torch, which takes the object apart and puts it together",
                {statement: lines},
                doubt=going_through_trees(context.site.source),
            )


def _is_dataclass(definition: ast.ClassDef) -> bool:
    """Whether a class is decorated with `dataclass`, by whatever way it is imported."""
    for decorator in definition.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        match function:
            case ast.Name(id="dataclass"):
                return True
            case ast.Attribute(value=owner, attr="dataclass"):
                return not is_torch(owner)
    return False
