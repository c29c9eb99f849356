"""`copy.deepcopy` of tensors stops every front end: while compiling, what it would copy is cloned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, stands_in_eager
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_CLONE = ("{copied}.detach().clone()", "a clone of the tensor is the same copy")
_LEAVES = (
    "torch.utils._pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.detach().clone(), {copied})",
    "with each tensor in it cloned it is the same copy",
)
_OBJECT = ("copy.copy({copied})", "the object alone is copied, and its tensors stay as long as nobody changes them")
_FORMS = {"tensor": (_CLONE,), "dict": (_LEAVES,), "list": (_LEAVES,), "tuple": (_LEAVES,), "": (_CLONE, _LEAVES)}
"""What is written, and why that will do, by the kind of what is copied (empty: not known)."""


@rewriting("clone_instead_of_deepcopy")
def clone_instead_of_deepcopy(context: Context) -> Iterator[Rewrite]:
    """`copy.deepcopy(x)` → `x.detach().clone()` while compiling; so for each tensor of a dictionary, list or tuple."""
    call, write = context.site.node, context.write
    match call:
        case ast.Call(args=[copied], keywords=[]) if called(call) in knowledge().deep_copies:
            pass
        case _:
            return
    if stands_in_eager(context.site.source, call):
        return
    fact = context.type_of(ast.unparse(copied))
    for form, reason in _FORMS.get(fact.kind if fact is not None else "", (_OBJECT,)):
        yield Rewrite(
            f"no compiler copies deeply: {reason}",
            {call: write.expr("{} if {} else {}", write.expr(form, copied=copied), write.compiling, call)},
            Claim.GENERAL_PATH,
        )
