"""State that what stands behind an early return changes: while compiling, it is put back where eager had returned."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.operands import augmented
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.reading.regions import changed_in_place
from ddelint.rewrite.writing.rewrites import Expr, Statements


def state_changed(context: Context, statements: Sequence[ast.stmt]) -> Mapping[str, str]:
    """Tensors among attributes that statements, and what they call, change in place → a name for what one held before.

    In the order of their texts: "self.centre", "self.memory.bank".
    """
    facts = {text: context.type_of(text) for text in changed_in_place(statements)}
    here = {text for text, fact in facts.items() if fact is not None and fact.kind == "tensor"}
    found = here | augmented(context, statements) | changed_by_calls(context, statements)
    state = sorted(text for text in found if "." in text and "(" not in text)
    # the same attribute of two parts needs two names
    last = [text.rpartition(".")[2] for text in state]
    names = [one if last.count(one) == 1 else text.replace(".", "_") for text, one in zip(state, last)]
    return {text: fresh_name(context.site.source, f"{name}_before") for text, name in zip(state, names)}


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
    return {text for text, fact in facts.items() if fact is None or fact.kind != "module"}


def kept(context: Context, state: Mapping[str, str]) -> Statements:
    """What the state holds, kept under the names."""
    write = context.write
    return [
        line
        for text, name in state.items()
        for line in write.assigned(write.expression(name), write.expr("{}.clone()", write.expression(text)))
    ]


def put_back(context: Context, state: Mapping[str, str], test: Expr) -> Statements:
    """The state as it was kept where `test` is true."""
    write = context.write
    template = "{place}.copy_(torch.where({test}, {before}, {place}))"
    return [
        line
        for text, name in state.items()
        for line in write.lines(template, place=write.expression(text), test=test, before=write.expression(name))
    ]
