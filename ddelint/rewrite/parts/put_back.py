"""State that what stands behind an early return changes: while compiling, it is put back where eager had returned."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.operands import augmented
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls, modules_changed_by_calls
from ddelint.rewrite.reading.gone_through import modules_changed
from ddelint.rewrite.reading.names import SAME_MEMORY, fresh_name
from ddelint.rewrite.reading.regions import changed_in_place
from ddelint.rewrite.writing.rewrites import Expr, Statements

_KEPT = "{name} = {held}.clone()"
_BACK = "{held}.copy_(torch.where({test}, {name}, {held}))"
_KEPT_EACH = "{name} = [each.detach().clone() for each in {held}]"
_BACK_EACH = (
    "for {each}, {before} in zip({held}, {name}):\n    {each}.detach().copy_(torch.where({test}, {before}, {each}))"
)


def state_changed(context: Context, statements: Sequence[ast.stmt]) -> Mapping[str, str]:
    """Tensors among attributes that statements, and what they call, change in place → a name for what one held before.

    In the order of their texts: "self.centre", "self.memory.bank"; "self.target.parameters()" for all of a module's.
    """
    facts = {text: context.type_of(text) for text in changed_in_place(statements)}
    here = {text for text, fact in facts.items() if fact is not None and fact.kind == "tensor"}
    found = here | augmented(context, statements) | changed_by_calls(context, statements)
    state = sorted(text for text in found if "." in text and "(" not in text)
    # the same attribute of two parts needs two names
    last = [text.rpartition(".")[2] for text in state]
    names = [one if last.count(one) == 1 else text.replace(".", "_") for text, one in zip(state, last)]
    of_modules = sorted({*modules_changed(statements).values(), *modules_changed_by_calls(context, statements)})
    parts = [re.sub(r"\W+", "_", text.partition("()")[0].removeprefix("self.")) for text in of_modules]
    both = zip((*state, *of_modules), (*names, *parts))
    return {text: fresh_name(context.site.source, f"{name}_before") for text, name in both}


def changes_only(context: Context, statement: ast.stmt, state: Mapping[str, str]) -> bool:
    """Whether a simple statement changes such state, and no other tensor in place; what it calls may do more, which
    only a comparison shows."""
    if not isinstance(statement, (ast.Expr, ast.AugAssign)):
        return False
    changed = state_changed(context, [statement]).keys()
    return bool(changed) and changed <= state.keys() and not changed_otherwise(context, [statement], state)


def changed_otherwise(context: Context, statements: Sequence[ast.stmt], state: Mapping[str, str]) -> set[str]:
    """What statements change in place but for such state; what a module's methods do is seen in them."""
    facts = {text: context.type_of(text) for text in changed_in_place(statements) - state.keys()}
    # what a loop calls the tensors of a module
    named = {name for name, text in modules_changed(statements).items() if text in state}
    named |= {f"{name}.{SAME_MEMORY}" for name in named}
    return {text for text, fact in facts.items() if fact is None or fact.kind != "module"} - named


def kept(context: Context, state: Mapping[str, str]) -> Statements:
    """What the state holds, kept under the names."""
    write = context.write
    return [
        line
        for text, name in state.items()
        for line in write.lines(_KEPT_EACH if _are_many(text) else _KEPT, name=name, held=_given(context, text))
    ]


def put_back(context: Context, state: Mapping[str, str], test: Expr) -> Statements:
    """The state as it was kept where `test` is true."""
    write = context.write
    each, before = (write.expression(ast.Name(fresh_name(context.site.source, name))) for name in ("each", "before"))
    return [
        line
        for text, name in state.items()
        for line in (
            write.lines(_BACK_EACH, each=each, before=before, held=_given(context, text), name=name, test=test)
            if _are_many(text)
            else write.lines(_BACK, held=_given(context, text), name=name, test=test)
        )
    ]


def _are_many(text: str) -> bool:
    """Whether a text says what gives all of a module's tensors."""
    return text.endswith("()")


def _given(context: Context, text: str) -> Expr:
    return context.write.expression(ast.parse(text, mode="eval").body)
