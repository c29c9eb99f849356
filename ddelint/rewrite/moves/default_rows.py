"""A default for nothing: it stands behind the rows that there are, and is cut off where there are any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.default_for_pieces import COUNTED, CUT_OFF, default_for_pieces
from ddelint.rewrite.reading.around import is_tensor, origins
from ddelint.rewrite.reading.kinds import Kinds, own_arguments
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import asks_compiling, called, draws_random, fresh_name, is_pure, names_written
from ddelint.rewrite.reading.polarity import IS_NONE, IS_SOME
from ddelint.rewrite.writing.rewrites import Changes, Expr, Rewrite, Writer, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "the default stands behind the rows that there are, and is cut off where there are any"

_SEVERAL = "{every} = {default}\n" + CUT_OFF
_PLAIN = (
    "{every} = {default}\n" + COUNTED + "{name} = torch.cat([{name}, {every}])\n"
    "{name} = {name}[torch.arange({name}.shape[0], device={name}.device) < {count}]"
)
"""The same, picked by a mask: their number is one symbol, of which Inductor asks nothing. Several tensors are cut, so
that the same is known of all."""


@rewriting("default_rows")
def default_rows(context: Context) -> Iterator[Rewrite]:
    """`if len(x) == 0: x = d[None]` → `x = torch.cat([x, d[None]])[: torch.sym_max(x.shape[0], 1)]`; so for a default
    of several rows, and for one in place of pieces that no iteration appends, while compiling."""
    site, kinds = context.site, Kinds(context)
    if site.role is Role.IF_TEST and isinstance(site.statement, ast.If) and site.decision is site.statement.test:
        yield from _statement(context, kinds, site.statement)
        changes = default_for_pieces(context, site.statement) if _asks_for_nothing(site.decision) else {}
        if changes and not asks_compiling(site.decision):
            yield _rewrite(changes, site.decision)
    for node in origins(context):
        if isinstance(node, ast.IfExp) and (is_none := _asks_for_nothing(node.test)) is not None:
            default, rows = (node.body, node.orelse) if is_none else (node.orelse, node.body)
            if is_pure(node) and _is_one_row(default) and is_tensor(kinds, rows):
                yield _rewrite({node: _behind(context.write, rows, default)}, node.test)


def _statement(context: Context, kinds: Kinds, statement: ast.If) -> Iterator[Rewrite]:
    """A block that gives names a default; what stands in an `else` is then run of the default as well."""
    write, test = context.write, statement.test
    if not _asks_for_nothing(test) or asks_compiling(test) or write.is_elif(statement):
        return
    if len(names_written(*statement.body)) < len(statement.body):
        return  # a second value of a name is one of the first
    lines: list[Any] = []
    defaults: list[ast.expr] = []
    for inner in statement.body:
        match inner:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=default) if is_pure(default):
                if not is_tensor(kinds, ast.Name(name, ast.Load())):
                    return
                rows = ast.copy_location(ast.Name(name, ast.Load()), target)
                if _is_one_row(default):
                    lines += write.lines("{name} = {built}", name=name, built=_behind(write, rows, default))
                elif is_tensor(kinds, default) and not draws_random(default):
                    every = fresh_name(context.site.source, f"{name}_for_none")
                    count = fresh_name(context.site.source, f"{name}_count")
                    template = _SEVERAL if len(statement.body) > 1 else _PLAIN
                    lines += write.lines(template, name=name, every=every, default=default, count=count)
                else:
                    return
                defaults.append(default)
            case _:
                return
    if all(map(_is_one_row, defaults)):
        yield _rewrite({statement: [*lines, *statement.orelse]}, test)
    elif not statement.orelse:
        # as many rows again are copied, which eager does without
        template = "if torch.compiler.is_compiling():\n    {lines}\nelif {test}:\n    {body}"
        yield _rewrite({statement: write.lines(template, lines=lines, test=test, body=statement.body)}, test)


def _rewrite(changes: Changes, test: ast.expr) -> Rewrite:
    return Rewrite(_MESSAGE, changes, Claim.GENERAL_PATH, decisions=(test,), preferred=True)


def _behind(write: Writer, rows: ast.expr, default: ast.expr) -> Expr:
    template = "torch.cat([{rows}, {default}])[: torch.sym_max({rows}.shape[0], 1)]"
    return write.expr(template, rows=rows, default=default)


def _asks_for_nothing(test: ast.expr) -> bool | None:
    """Whether a test is true where there is nothing (True) or something (False); None where it asks otherwise."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _asks_for_nothing(operand)
            return None if inner is None else not inner
        case ast.Compare(ops=[operator], comparators=[right]):
            asked = (type(operator), integer(right))
            return True if asked in IS_NONE else False if asked in IS_SOME else None
        case ast.Call() if called(test) in knowledge().present:
            return False
    return None


def _is_one_row(value: ast.expr) -> bool:
    """Whether the text says that a tensor's first dimension is of one."""
    match value:
        case ast.Subscript(slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), *_])):
            return True
        case ast.Call(args=[ast.List(elts=[_]) | ast.Tuple(elts=[_]), *_]) if called(value) in knowledge().literal:
            return True
        case ast.Call():
            name, makes = called(value), called(value) in knowledge().segments.constructors
            first = next(iter(value.args if makes else own_arguments(value)), None)
            if isinstance(first, (ast.Tuple, ast.List)) and first.elts:
                first = first.elts[0]
            sized = makes or name in knowledge().row_shaping
            return (name in knowledge().row_adding and integer(first) == 0) or (sized and integer(first) == 1)
    return False
