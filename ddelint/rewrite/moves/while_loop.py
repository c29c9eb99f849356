"""while_loop around a loop over tensors, for the compiler; eager keeps its own loop."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddelint.diagnostics import Edit
from ddelint.rewrite.branch_functions import as_tuple, read_elsewhere
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.conditions import Inexpressible
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    begins_line,
    block_text,
    bound_before,
    called,
    enclosing_block,
    fresh_name,
    indent_unit,
    names_read,
    names_written,
    owns_lines,
    text_of,
    torch_name,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.predicates import NotAPredicate, Predicates
from ddelint.rewrite.proposals import offer_beside
from ddelint.rewrite.regions import separate_names
from ddelint.sites import Role
from ddelint.source import SourceFile

NAME = "while_loop"
_WHILE_LOOP = Import("torch._higher_order_ops.while_loop", "while_loop")


class _NotThis(Exception):
    """The statement is not of this form."""


@move(NAME)
def while_loop(context: Context) -> Iterator[Candidate]:
    """A loop whose number of turns is data, as a while_loop over the tensors it carries; eager keeps its own."""
    site = context.site
    statement = site.statement
    if not begins_line(site.source, statement):
        return
    if isinstance(statement, ast.For) and site.source.span(statement.iter).contains(site.span):
        with contextlib.suppress(_NotThis, ValueError):
            yield from _counted_loop(context, statement)
        return
    if site.decision is None or asks_compiling(site.decision):
        return
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(site.decision)):
        return
    with contextlib.suppress(_NotThis, NotAPredicate, Inexpressible, ValueError):
        if site.role is Role.WHILE_TEST and isinstance(statement, ast.While):
            yield from _loop(context, statement)


@dataclass(frozen=True, slots=True)
class _Part:
    """Statements that become the body of a function, on a text where nothing is changed in place."""

    source: SourceFile
    body: Sequence[ast.stmt]


def _part(context: Context, body: Sequence[ast.stmt]) -> _Part:
    """`body` with `x += v` written as `x = x + v`: a traced arm may not change what it is given."""
    source = context.site.source
    edits = []
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign):
                if not isinstance(node.target, ast.Name) or node.lineno != node.end_lineno:
                    raise _NotThis("a change in place")
                sign = _SIGNS.get(type(node.op))
                if sign is None:
                    raise _NotThis("an operator")
                value = text_of(source, node.value, Binding.ARITHMETIC + 2)
                edits.append(Edit(source.span(node), f"{node.target.id} = {node.target.id} {sign} {value}"))
            if isinstance(node, ast.Call) and called(node).endswith("_") and not called(node).endswith("__"):
                raise _NotThis("a change in place")
            if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                raise _NotThis("a change in place")
            if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.NamedExpr)):
                raise _NotThis("more than a computation")
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                raise _NotThis("a statement without a value")
    if not edits:
        return _Part(source, body)
    changed = SourceFile(source.filename, source.apply(edits), source.encoding)
    rows = {statement.lineno for statement in body}
    columns = {statement.col_offset for statement in body}
    found = [
        node
        for node in ast.walk(changed.tree)
        if isinstance(node, ast.stmt) and node.lineno in rows and node.col_offset in columns
    ]
    return _Part(changed, sorted(found, key=lambda node: node.lineno))


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


def _loop(context: Context, statement: ast.While) -> Iterator[Candidate]:
    """`while t.sum() > 3: …` over tensors."""
    kinds = Kinds(context)
    carried = _carried(context, statement)
    asked = statement.test
    while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
        asked = asked.operand
    flags = {name: value for name in carried if (value := _flag_before(context, name, statement)) is not None}
    is_flag = isinstance(asked, ast.Name) and asked.id in flags
    tensor = is_flag or kinds.of(asked) is Kind.TENSOR or context.diagnostic.code == "DDE105"
    source = context.site.source
    torch = torch_name(source)[0]
    if is_flag and isinstance(asked, ast.Name):
        test = asked.id if asked is statement.test else f"~{asked.id}"
    else:
        test = (
            Predicates(context, assume_tensor=True).text(statement.test) if tensor else source.segment(statement.test)
        )
    numbers = {name for name in carried if kinds.of(ast.Name(id=name, ctx=ast.Load())) is Kind.NUMBER}
    dtypes = {name: "float64" if _is_float(context, name) else "int64" for name in numbers}
    for counted in ({}, dtypes) if numbers else ({},):  # under autograd, everything carried must be a tensor
        goes, turn, body, outputs, unit = _turn(context, statement, carried, numbers)
        parameters = ", ".join(carried)
        target = as_tuple(carried) if len(carried) == 1 else parameters
        starts = [
            f"{torch}.{'ones' if flags[name] else 'zeros'}((), dtype={torch}.bool)"
            if name in flags
            else f"{torch}.full((), {name}, dtype={torch}.{counted[name]})"
            if name in counted
            else name
            for name in carried
        ]
        lines = [
            f"def {goes}({parameters}):",
            f"{unit}return {test}",
            "",
            f"def {turn}({parameters}):",
            *body,
            f"{unit}return {as_tuple(outputs)}",
            "",
            f"{target} = while_loop({goes}, {turn}, {as_tuple(starts)})",
            *(f"{name} = {name}.item()" for name in sorted(counted)),
        ]
        yield from _instead(context, statement, lines)


def _is_float(context: Context, name: str) -> bool:
    fact = context.type_of(name)
    return fact is not None and fact.kind in ("float", "symfloat")


def _flag_before(context: Context, name: str, statement: ast.stmt) -> bool | None:
    """The constant that a flag starts with: `converged = False`."""
    block = enclosing_block(context.site.source, statement)
    for earlier in reversed(block[: block.index(statement)]):
        match earlier:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=bool() as value)) if target == name:
                return value
        if name in names_written(earlier):
            return None
    return None


def _counted_loop(context: Context, statement: ast.For) -> Iterator[Candidate]:
    """`for _ in range(n): …` over tensors, the count kept in a tensor."""
    source = context.site.source
    match statement:
        case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[])):
            pass
        case _:
            raise _NotThis("a loop over something else")
    if index in names_read(*statement.body) or read_elsewhere(context, index, statement):
        raise _NotThis("the index is read")
    carried = _carried(context, statement)
    kinds = Kinds(context)
    if any(kinds.of(ast.Name(id=name, ctx=ast.Load())) is Kind.NUMBER for name in carried):
        raise _NotThis("a number is carried")
    torch = torch_name(source)[0]
    goes, turn, body, outputs, unit = _turn(context, statement, carried, set())
    match stop:
        case ast.Call(func=ast.Name(id="int"), args=[inner]) if kinds.of(inner) in (Kind.TENSOR, Kind.UNKNOWN):
            limit = source.segment(inner)
        case ast.Call(func=ast.Attribute(attr="item", value=inner), args=[]):
            limit = source.segment(inner)
        case _:
            limit = f"{torch}.full((), {source.segment(stop)}, dtype={torch}.int64)"
    turns, most = fresh_name(source, "turns"), fresh_name(source, "most_turns")
    parameters = ", ".join([turns, *carried])
    lines = [
        f"{most} = {limit}",
        "",
        f"def {goes}({parameters}):",
        f"{unit}return {turns} < {most}",
        "",
        f"def {turn}({parameters}):",
        *body,
        f"{unit}return {as_tuple([f'{turns} + 1', *outputs])}",
        "",
        f"{parameters} = while_loop({goes}, {turn}, {as_tuple([f'{torch}.zeros_like({most})', *carried])})",
    ]
    yield from _instead(context, statement, lines)


def _carried(context: Context, statement: ast.While | ast.For) -> list[str]:
    """The names that a turn hands on to the next. Raises _NotThis."""
    source, function = context.site.source, context.site.function
    if statement.orelse or function is None or not owns_lines(source, statement):
        raise _NotThis("a loop with an else")
    if any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in ast.walk(statement)):
        raise _NotThis("a loop that is left")
    written = names_written(*statement.body)
    before = bound_before(function, statement)
    carried = sorted(written & before)
    if not carried or any(read_elsewhere(context, name, statement) for name in written - before):
        raise _NotThis("names without a value before the loop")
    kinds = Kinds(context)
    if any(
        kinds.of(ast.Name(id=name, ctx=ast.Load())) is Kind.STATIC and _flag_before(context, name, statement) is None
        for name in carried
    ):
        raise _NotThis("a carried value that is no tensor")
    return carried


def _turn(
    context: Context, statement: ast.While | ast.For, carried: list[str], numbers: set[str]
) -> tuple[str, str, list[str], list[str], str]:
    """Names of the two functions, the lines of a turn, what it hands on, and a level of indentation."""
    source = context.site.source
    unit = indent_unit(source, statement)
    part = _part(context, statement.body)
    body = block_text(part.source, part.body, unit)
    if body is None:
        raise _NotThis("lines that cannot be moved")
    fresh = separate_names(part.body)
    outputs = [name if name in fresh | numbers else f"{name}.clone()" for name in carried]
    return fresh_name(source, "goes_on"), fresh_name(source, "turn"), body.splitlines(), outputs, unit


def _instead(context: Context, statement: ast.stmt, lines: list[str]) -> Iterator[Candidate]:
    """`lines` for the compiler, the statement for eager."""
    source = context.site.source
    unit, newline, indentation = indent_unit(source, statement), source.newline, source.indentation(statement)
    kept = block_text(source, [statement], indentation + unit)
    if kept is None:
        raise _NotThis("lines that cannot be moved")
    asks = f"if {torch_name(source)[0]}.compiler.is_compiling():"
    inner = newline.join((indentation + unit + line) if line else "" for line in lines)
    text = f"{asks}{newline}{newline}{inner}{newline}{newline}{indentation}else:{newline}{kept}"
    end = statement.end_lineno or statement.lineno
    comment = source.lines[end - 1].rstrip("\r\n")[source.span(statement).end_column - 1 :]
    text = text[: len(text) - len(comment)] if comment and text.endswith(comment) else text
    yield from _candidate(context, (Edit(source.span(statement), text),))


def _candidate(context: Context, edits: tuple[Edit, ...]) -> Iterator[Candidate]:
    yield from offer_beside(
        context,
        NAME,
        "while compiling, while_loop runs the loop; eager stays as it is",
        edits,
        imports=(_WHILE_LOOP,),
    )
