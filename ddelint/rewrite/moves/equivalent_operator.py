"""An operator that asks about sizes by itself: a fact that answers it, or a form that says the same without asking."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import below, named
from ddelint.rewrite.proving.relations import elements, parsed
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.kinds import Kinds, is_torch
from ddelint.rewrite.reading.managers import library
from ddelint.rewrite.reading.names import asks_compiling, called
from ddelint.rewrite.reading.replacements import Operator, by_position, holes, parameters, replacements, without
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Statements, restructured, rewriting

_SIGNS: Mapping[type[ast.operator], str] = {ast.MatMult: "matmul"}
_KNOWN = ("module", "limit")
"""Holes that are no parameters."""
Given = Mapping[str, ast.expr]
"""A call's arguments, by the operator's parameters."""


@rewriting("equivalent_operator")
def equivalent_operator(context: Context) -> Iterator[Rewrite]:
    """What rules/replacements.toml says of the operator: `torch._check(...)` before it, or another form of it."""
    for node in around(context):
        parent = context.site.source.parents.get(node)
        if isinstance(parent, ast.IfExp) and parent.orelse is node and asks_compiling(parent.test):
            continue  # a rewrite has left it to eager
        for operator in replacements().operators:
            given = _given(context, node, operator)
            if given is not None:
                yield from _offered(context, node, operator, given)


def _given(context: Context, node: ast.expr, operator: Operator) -> Given | None:
    """None where this is another operator, or called in another way."""
    expected = parameters(operator.call)
    match node:
        case ast.BinOp(left=left, right=right, op=sign):
            return dict(zip(expected, (left, right))) if _SIGNS.get(type(sign)) in operator.names else None
        case ast.Call(func=function, args=arguments):
            fact = Kinds(context).fact(function)
            is_module = fact is not None and fact.python_type.rpartition(".")[2] in operator.modules
            if isinstance(function, ast.Attribute) and not is_module and not _of_torch(context, function.value):
                arguments = [function.value, *arguments]
            given = dict(zip(expected, arguments)) | {k.arg or "": k.value for k in node.keywords}
            starred = any(isinstance(argument, ast.Starred) for argument in arguments)
            fits = not starred and len(arguments) <= by_position(operator.call) and given.keys() <= expected.keys()
            if fits and is_module:
                said = [name for form in (*operator.facts, *operator.forms) for name in holes(form)]
                own = {name: ast.Attribute(function, name, ast.Load()) for name in said if name not in _KNOWN}
                return {**own, **given}
            return given if fits and called(node) in operator.names else None
    return None


def _of_torch(context: Context, owner: ast.expr) -> bool:
    """Whether a function is one of a module of torch, not a method: `F`, or what a file imports so."""
    return is_torch(owner) or library(owner, context.site.source) == "torch"


def _offered(context: Context, node: ast.expr, operator: Operator, given: Given) -> Iterator[Rewrite]:
    write, defaults = context.write, parameters(operator.call)
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else "@"
    facts = [_filled(context, fact, given, {}) for fact in operator.facts]
    stated = [line for check, lines, _ in facts for line in (*lines, *write.lines("{check}", check=check))]
    if len(facts) == 1:
        message = f"the compiler is told what holds of all that `{name}` takes"
        yield Rewrite(message, below(context, stated, facts[0][2]), proof=operator.why)
    known = {**given, **_surroundings(context, node)}
    for form in operator.forms:
        said = set(holes(form))
        complete = all(hole in known or defaults.get(hole) is not None for hole in said)
        if complete and not any(_matters(given[p], defaults[p]) for p in defaults if p in given and p not in said):
            new, lines, inside = _filled(context, form, known, defaults)
            if not operator.in_eager:
                new = write.expr("{} if {} else {}", new, write.compiling, write.replaced(node, inside))
            message = f"`{name}` asks {operator.asks}; {operator.why}"
            yield restructured(message, below(context, [*stated, *lines], {node: new}))


def _surroundings(context: Context, node: ast.expr) -> Given:
    """The holes `module`, what is called, and `limit`, what a size that comes of a mask never exceeds."""
    found = {"module": node.func} if isinstance(node, ast.Call) else {}
    for symbol in context.diagnostic.symbols:
        born = parsed(symbol.expression)
        for place in ast.walk(born.slice) if isinstance(born, ast.Subscript) else ():
            if isinstance(place, (ast.Name, ast.Attribute)) and Kinds(context).dtype(place) == "bool":
                return {**found, "limit": elements(place)}
    return found


def _matters(value: ast.expr, default: ast.expr | None) -> bool:
    return default is None or ast.dump(value) != ast.dump(default)


def _filled(
    context: Context, form: str, given: Given, defaults: Mapping[str, ast.expr | None]
) -> tuple[Expr, Statements, dict[ast.AST, Any]]:
    """The form with the arguments; lines that name those which it says several times, and what these become inside."""
    template = without(form, defaults.keys() - given.keys())
    parts: dict[str, Any] = {**defaults, **given}
    before: Statements = []
    inside: dict[ast.AST, Any] = {}
    wanted = holes(template)
    for name in given:
        if wanted.count(name) > 1 and hasattr(given[name], "lineno") and not isinstance(given[name], ast.Constant):
            parts[name], lines = named(context, given[name], name)
            if lines:
                before += lines
                inside[given[name]] = context.write.expression(parts[name])
    return context.write.expr(template, **{name: parts[name] for name in wanted}), before, inside
