"""Retired functions, replaced by what the current releases say for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.diagnostics import Claim, Edit, Span
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    SYMBOLIC_SHAPES,
    Binding,
    called,
    fresh_name,
    indent_unit,
    joined,
    owns_lines,
    symbolic,
    text_of,
    torch_name,
)
from ddelint.rewrite.proposals import around, offer
from ddelint.rewrite.replacements import Bounds, replacements

_MOVE = "retired_api"
_GUARDS: dict[type[ast.cmpop], str] = {ast.Eq: "guard_or_false", ast.NotEq: "guard_or_true"}


@move(_MOVE)
def retired_api(context: Context) -> Iterator[Candidate]:
    """`torch._check_is_size(u)` → `torch._check(u >= 0)`, and so on for every call that the statement makes."""
    if context.diagnostic.code == "DDE605":
        yield from _scripted(context)
        return
    ranges = replacements().ranges
    for node in around(context):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if name in ranges:
            yield from _range(context, node, ranges[name])
        elif name == "guard_size_oblivious" and len(node.args) == 1 and not node.keywords:
            yield from _oblivious(context, node)
        elif name == "hint_int" and node.args:
            yield from _hint(context, node)


def _range(context: Context, node: ast.Call, stated: Bounds) -> Iterator[Candidate]:
    """A call that states bounds, as one check each."""
    source = context.site.source
    statement = context.site.statement
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    given: dict[str, ast.expr] = dict(zip(("symbol", *stated.parameters), node.args))
    for keyword in node.keywords:
        if keyword.arg is None:
            return
        given[keyword.arg] = keyword.value
    subject = given.get("symbol") or given.get("i") or given.get("size") or given.get("a")
    if subject is None or len(node.args) > 1 + len(stated.parameters):
        return
    torch, imports = torch_name(source)
    text = text_of(source, subject, Binding.BITWISE)
    if "\n" in text:
        return
    limits: list[str] = []
    low, high = given.get("min"), given.get("max")
    if low is not None and not _is_none(low):
        limits.append(f">= {text_of(source, low, Binding.BITWISE)}")
    elif stated.lowest:
        limits.append(f">= {stated.lowest}")
    if high is not None and not _is_none(high):
        limits.append(f"<= {text_of(source, high, Binding.BITWISE)}")
    if not limits:
        return
    lines: list[str] = []
    message = given.get("message")
    if len(limits) > 1:
        if message is not None and not _may_stand_twice(message):
            return
        if not _may_stand_twice(subject):
            name = fresh_name(source, "bounded")
            lines, text = [f"{name} = {text_of(source, subject)}"], name
    words = "" if message is None or _is_none(message) else f", {text_of(source, message)}"
    lines += [f"{torch}._check({text} {limit}{words})" for limit in limits]
    if not (isinstance(statement, ast.Expr) and statement.value is node):
        return
    separator = "; " if not owns_lines(source, statement) else None
    content = separator.join(lines) if separator else joined(source, statement, lines)
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT,
        f"`{called(node)}` is retired; `{torch}._check` states the same bounds",
        edits=[Edit(source.span(statement), content)],
        imports=imports,
    )


def _may_stand_twice(node: ast.expr) -> bool:
    """Whether computing the expression twice is as good as once: names, attributes, constants, sizes of those."""
    match node:
        case ast.Name() | ast.Constant() | ast.Lambda():
            return True
        case ast.Attribute(value=value):
            return _may_stand_twice(value)
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=place):
            return _may_stand_twice(value) and _may_stand_twice(place)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _may_stand_twice(operand)
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _oblivious(context: Context, node: ast.Call) -> Iterator[Candidate]:
    """`guard_size_oblivious(x == 1)` → `guard_or_false(x == 1)`; the call keeps its argument as it is written."""
    match node.args[0]:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as operator], left=left, comparators=[right]):
            if not any(isinstance(side, ast.Constant) and side.value in (0, 1) for side in (left, right)):
                return
            name = _GUARDS[type(operator)]
        case _:
            return
    yield from _renamed(
        context,
        node,
        name,
        Claim.GENERAL_PATH,
        f"`guard_size_oblivious` is retired; `{name}` gives an unknown size the same answer, and says which",
        decisions=[context.site.source.span(node.args[0])],
    )


def _renamed(
    context: Context,
    node: ast.Call,
    name: str,
    claim: Claim,
    message: str,
    *,
    notes: Sequence[str] = (),
    decisions: Sequence[Span] = (),
) -> Iterator[Candidate]:
    """Call another function of the same module; the import of the old one goes where nothing else uses it."""
    source = context.site.source
    edits = [Edit(source.span(node.func), name)]
    imports = [symbolic(name)]
    if isinstance(node.func, ast.Attribute):
        edits = [Edit(source.span(node.func), f"{source.segment(node.func.value)}.{name}")]
        imports = []
    elif isinstance(node.func, ast.Name):
        old = node.func.id
        uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == old]
        imported = [
            alias
            for statement in source.tree.body
            if isinstance(statement, ast.ImportFrom) and statement.module == SYMBOLIC_SHAPES
            for alias in statement.names
        ]
        mine = [alias for alias in imported if alias.name == old and alias.asname is None]
        if len(uses) == 1 and len(mine) == 1 and not any(alias.name == name for alias in imported):
            edits.append(Edit(source.span(mine[0]), name))
            imports = []
    yield from offer(context, _MOVE, claim, message, edits=edits, imports=imports, notes=notes, decisions=decisions)


def _hint(context: Context, node: ast.Call) -> Iterator[Candidate]:
    fallback = len(node.args) > 1 or any(keyword.arg == "fallback" for keyword in node.keywords)
    name = "optimization_hint" if fallback else "guarding_hint_or_throw"
    yield from _renamed(
        context,
        node,
        name,
        Claim.EQUIVALENT,
        f"`hint_int` is retired; `{name}` says the same",
        notes=("torch 2.13 or later",),
    )


def _scripted(context: Context) -> Iterator[Candidate]:
    """A check in scripted code, asked only where it is not scripted."""
    source, statement = context.site.source, context.site.statement
    if not isinstance(statement, ast.Expr) or not owns_lines(source, statement):
        return
    torch, imports = torch_name(source)
    unit = indent_unit(source, statement)
    text = source.segment(statement)
    if "\n" in text:
        return
    lines = [f"if not {torch}.jit.is_scripting():", f"{unit}{text}"]
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT,
        "TorchScript does not know this check; it is made everywhere else",
        edits=[Edit(source.span(statement), joined(source, statement, lines))],
        imports=imports,
    )
