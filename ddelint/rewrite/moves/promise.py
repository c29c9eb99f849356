"""A promise: `torch._check` before the line that asks, so that one side goes away. Narrows what the program accepts.

Where the promise follows from what is known there, nothing is narrowed: it is stated as a fact, with the proof.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.conditions import Conditions, Inexpressible
from ddelint.rewrite.expressions import (
    asks_compiling,
    begins_line,
    insert_before,
    is_elif,
    names_read,
    opposite,
    parses,
    torch_name,
    with_operator,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.polarity import general_side, side_of
from ddelint.rewrite.proofs import Proofs
from ddelint.sites import Role
from ddelint.source import SourceFile


@move("promise")
def promise(context: Context) -> Iterator[Candidate]:
    """`torch._check(n > 4)` or `torch._check(n <= 4)` before the statement: the proved, or the general one first."""
    site = context.site
    source = site.source
    statement = _place(context)
    if statement is None or not begins_line(source, statement):
        return
    promises = [one for one in _promises(context, statement) if _defined(context, one.lines, statement)]
    for lines, imports, said, proof in [one for one in promises if one.proof] or promises:
        edits = (insert_before(source, statement, lines),)
        if not parses(source, edits):
            continue
        if proof:
            message = f"tell the compiler that {said}, which is always so"
            yield Candidate("promise", Claim.EQUIVALENT, message, edits, imports, proof=f"{said}: {proof}")
        else:
            yield Candidate(
                "promise",
                Claim.PROMISE,
                f"promise the compiler that {said}; other inputs now raise",
                edits,
                imports,
                notes=("inputs that break the promise raise RuntimeError",),
                decisions=(source.span(site.decision),) if site.decision is not None else (),
            )


def _place(context: Context) -> ast.stmt | None:
    """The statement before which the promise stands: outside of the `elif` chain it belongs to."""
    site = context.site
    if site.role in (Role.WHILE_TEST, Role.COMPREHENSION_TEST):
        return None
    statement: ast.stmt = site.statement
    while is_elif(site.source, statement):
        parent = site.source.parents.get(statement)
        if not isinstance(parent, ast.If):
            return None
        statement = parent
    return statement


class _Promise(NamedTuple):
    lines: list[str]
    """Checks."""
    imports: tuple[Import, ...]
    said: str
    proof: str = ""
    """Why it holds; empty where nobody knows."""


def _promises(context: Context, place: ast.stmt) -> Iterator[_Promise]:
    site = context.site
    proofs = Proofs(context, place)
    test = _asking(context)
    if test is not None and asks_compiling(test):
        return
    if test is not None and (context.diagnostic.code == "DDE105" or Kinds(context).of(test) is Kind.TENSOR):
        return  # the test reads the tensor once more: to the compiler that is another number
    if test is not None:
        side = side_of(context, test)
        for want in (side, not side) if side is not None else (True, False):
            conditions = Conditions(context, assume_tensor=context.diagnostic.code == "DDE105")
            try:
                lines = conditions.lines(test, want, f"{conditions.torch}._check")
            except (Inexpressible, ValueError):
                continue
            said = f"`{site.source.segment(test)}` is {'true' if want else 'false'}"
            proof = proofs.of(test, want) or ""
            yield _Promise(lines, conditions.needed_imports(), " ".join(said.split()), proof)
        return
    torch, needed = torch_name(site.source)
    try:
        parsed = ast.parse(context.diagnostic.expression, mode="eval").body
    except SyntaxError:
        return
    if not isinstance(parsed, ast.Compare) or len(parsed.ops) != 1:
        return
    text = ast.unparse(parsed)
    contrary = with_operator(text, opposite(parsed.ops[0]))
    # what the framework asks is mostly the special case: a size of 0 or 1, an equality that it cannot see
    for said in (contrary, text) if general_side(parsed) is False and _special(parsed) else (text, contrary):
        proof = proofs.of(ast.parse(said, mode="eval").body) or ""
        yield _Promise([f"{torch}._check({said})"], needed, f"`{said}`", proof)


def _special(node: ast.Compare) -> bool:
    return isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value in (0, 1)


def _asking(context: Context) -> ast.expr | None:
    """The test that asks, where the site is one."""
    site = context.site
    if site.decision is None or site.role not in (Role.IF_TEST, Role.TERNARY_TEST, Role.ASSERT_TEST):
        return None
    test = site.decision
    while isinstance(test, ast.BoolOp):
        kinds = Kinds(context)
        asking = [value for value in test.values if site.source.span(value).contains(site.span)]
        asking = asking or [value for value in test.values if kinds.of(value) is not Kind.STATIC]
        if len(asking) != 1:
            return test
        test = asking[0]
    return test


def _defined(context: Context, lines: list[str], statement: ast.stmt) -> bool:
    """Whether every name that the checks read has a value before `statement`."""
    function = context.site.function
    source: SourceFile = context.site.source
    if function is None:
        return False
    try:
        read = names_read(ast.parse("\n".join(lines)))
    except SyntaxError:
        return False
    stores = {
        node.id: min(
            (other.lineno, other.col_offset)
            for other in ast.walk(function)
            if isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store) and other.id == node.id
        )
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    arguments = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    known = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)} | {"torch", "sym_or", "sym_and"}
    begin = (statement.lineno, statement.col_offset)
    return all(name in arguments or (name in known and stores.get(name, (0, 0)) < begin) for name in read)
