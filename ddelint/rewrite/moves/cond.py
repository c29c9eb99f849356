"""What is left: torch.cond around two arms that differ in cost, while_loop around a loop over tensors."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, Import, move
from ddelint.rewrite.conditions import Conditions, Inexpressible
from ddelint.rewrite.expressions import (
    Binding,
    asks_compiling,
    begins_line,
    block_text,
    called,
    enclosing_block,
    fresh_name,
    here,
    indent_unit,
    insert_before,
    is_elif,
    is_pure,
    names_read,
    names_written,
    owns_lines,
    parses,
    text_of,
    torch_name,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.predicates import NotAPredicate, Predicates
from ddelint.sites import Block, Role
from ddelint.source import SourceFile

NAME = "torch_cond"
_MOST_STATEMENTS = 15
"""Statements behind an early return that may stand a second time, for the compiler."""
_VIEWS = frozenset(
    (
        "contiguous",
        "detach",
        "expand",
        "flatten",
        "movedim",
        "narrow",
        "permute",
        "reshape",
        "select",
        "squeeze",
        "t",
        "to",
        "transpose",
        "type_as",
        "unflatten",
        "unsqueeze",
        "view",
        "view_as",
    )
)
_WHILE_LOOP = Import("torch._higher_order_ops.while_loop", "while_loop")


class _NotThis(Exception):
    """The statement is not of this form."""


@move(NAME)
def torch_cond(context: Context) -> Iterator[Candidate]:
    """Arms as functions of the tensors they read, for the compiler; eager keeps its branch or loop."""
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
    try:
        if site.role is Role.WHILE_TEST and isinstance(statement, ast.While):
            yield from _loop(context, statement)
        elif site.role is Role.IF_TEST and isinstance(statement, ast.If):
            if site.block not in (Block.RAISES, Block.WARNS):
                yield from _branch(context, statement)
        elif site.role is Role.TERNARY_TEST:
            yield from _ternary(context, statement)
    except (_NotThis, NotAPredicate, Inexpressible, ValueError):
        return


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


# ---------------------------------------------------------------------- branches


def _branch(context: Context, statement: ast.If) -> Iterator[Candidate]:
    source = context.site.source
    if is_elif(source, statement) or not owns_lines(source, statement):
        raise _NotThis("an elif")
    returns = any(isinstance(node, ast.Return) for node in ast.walk(statement))
    if not returns:
        yield from _assigning(context, statement)
        return
    if not isinstance(statement.body[-1], ast.Return):
        raise _NotThis("a return in the middle")
    block = enclosing_block(source, statement)
    behind = block[block.index(statement) + 1 :]
    rest = statement.orelse or behind
    if not rest or len(rest) > _MOST_STATEMENTS or not isinstance(rest[-1], ast.Return):
        raise _NotThis("no return at the end")
    unit = indent_unit(source, statement)
    operands = _operands(context, [*statement.body, *rest], statement)
    lines = [
        *_function(context, "when_true", operands, statement.body, None, unit),
        "",
        *_function(context, "when_false", operands, rest, None, unit),
        "",
        f"return {_call(context, statement.test, operands)}",
    ]
    asks = f"if {torch_name(source)[0]}.compiler.is_compiling():"
    edit = insert_before(source, statement, [asks, "", *((unit + line) if line else "" for line in lines), ""])
    yield from _candidate(context, (edit,))


def _assigning(context: Context, statement: ast.If) -> Iterator[Candidate]:
    source = context.site.source
    unit = indent_unit(source, statement)
    written = sorted(names_written(*statement.body, *statement.orelse))
    outputs = [name for name in written if _read_elsewhere(context, name, statement)]
    if not outputs:
        raise _NotThis("nothing comes out")
    both = names_written(*statement.body) & names_written(*statement.orelse)
    extra = [name for name in outputs if name not in both]
    operands = _operands(context, [*statement.body, *statement.orelse], statement, extra)
    if not set(extra) <= set(operands):
        raise _NotThis("a name without a value on one side")
    lines = [
        *_function(context, "when_true", operands, statement.body, outputs, unit),
        "",
        *_function(context, "when_false", operands, statement.orelse, outputs, unit),
        "",
        f"{', '.join(outputs)} = {_call(context, statement.test, operands)}",
    ]
    newline, indentation = source.newline, source.indentation(statement)
    asks = f"if {torch_name(source)[0]}.compiler.is_compiling():"
    inner = newline.join((indentation + unit + line) if line else "" for line in lines)
    text = f"{asks}{newline}{newline}{inner}{newline}{newline}{indentation}el"
    yield from _candidate(context, (Edit(here(source, statement), text),))


def _ternary(context: Context, statement: ast.stmt) -> Iterator[Candidate]:
    source = context.site.source
    choice = source.parents.get(context.site.decision) if context.site.decision is not None else None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is choice:
            head = f"{name} = "
        case ast.Return(value=value) if value is choice:
            head = "return "
        case _:
            raise _NotThis("a choice inside an expression")
    if not isinstance(choice, ast.IfExp) or not (is_pure(choice.body) and is_pure(choice.orelse)):
        raise _NotThis("an arm with an effect")
    if not owns_lines(source, statement):
        raise _NotThis("a shared line")
    operands = _operands(context, [ast.Expr(choice.body), ast.Expr(choice.orelse)], statement)
    arms = [_separate(text_of(source, arm), arm, operands) for arm in (choice.body, choice.orelse)]
    parameters = ", ".join(operands)
    torch = torch_name(source)[0]
    predicate = _predicate(context, choice.test)
    functions = ", ".join(f"lambda {parameters}: {arm}" for arm in arms)
    call = f"{torch}.cond({predicate}, {functions}, {_tuple(operands)})"
    unit, indentation, newline = indent_unit(source, statement), source.indentation(statement), source.newline
    kept = block_text(source, [statement], indentation + unit)
    if kept is None:
        raise _NotThis("lines that cannot be moved")
    asks = f"if {torch}.compiler.is_compiling():"
    text = f"{asks}{newline}{indentation}{unit}{head}{call}{newline}{indentation}else:{newline}{kept}"
    end = statement.end_lineno or statement.lineno
    comment = source.lines[end - 1].rstrip("\r\n")[source.span(statement).end_column - 1 :]
    text = text[: len(text) - len(comment)] if comment and text.endswith(comment) else text
    yield from _candidate(context, (Edit(source.span(statement), text),))


def _read_elsewhere(context: Context, name: str, statement: ast.stmt) -> bool:
    function, inside = context.site.function, set(ast.walk(statement))
    return function is None or any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node not in inside
        for node in ast.walk(function)
    )


def _operands(context: Context, body: Sequence[ast.stmt], statement: ast.stmt, extra: Sequence[str] = ()) -> list[str]:
    """The tensors that the arms read from outside, by name. Raises _NotThis for numbers that only exist at run time."""
    kinds = Kinds(context)
    found: list[str] = []
    scope = context.site.function
    if scope is None:
        raise _NotThis("no function")
    local = {node.arg for node in ast.walk(scope) if isinstance(node, ast.arg)} | {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and (node.lineno, node.col_offset) < (statement.lineno, statement.col_offset)
    }
    calls = [node.func for part in body for node in ast.walk(part) if isinstance(node, ast.Call)]
    called_names = {function.id for function in calls if isinstance(function, ast.Name)}
    for name in sorted((names_read(*body) | set(extra)) & local):
        fact = context.type_of(name)
        if fact is not None and fact.kind in {"symint", "symfloat", "symbool"}:
            raise _NotThis("an arm reads a number that only exists at run time")
        kind = kinds.of(ast.Name(id=name, ctx=ast.Load()))
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and name not in called_names and name != "self"):
            found.append(name)
    return found


def _function(
    context: Context, name: str, operands: list[str], body: Sequence[ast.stmt], outputs: list[str] | None, unit: str
) -> list[str]:
    """The lines of an arm as a function. `outputs` None: the arm returns by itself."""
    part = _part(context, body)
    inner = names_written(*part.body)
    lines: list[str] = []
    kept = part.body if outputs is not None else part.body[:-1]
    if kept:
        text = block_text(part.source, kept, unit)
        if text is None:
            raise _NotThis("lines that cannot be moved")
        lines += text.splitlines()
    if outputs is not None:
        fresh = _fresh_names(part.body)
        values = [output if output in fresh else f"{output}.clone()" for output in outputs]
        lines.append(f"{unit}return {', '.join(values)}")
    else:
        last = part.body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            raise _NotThis("no value")
        elements = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        fresh = _fresh_names(part.body)
        values = []
        for element in elements:
            text = text_of(part.source, element)
            named = isinstance(element, ast.Name) and element.id in inner and element.id in fresh
            values.append(text if named else _separate(text, element, operands))
        returned = _tuple(values) if isinstance(last.value, ast.Tuple) else values[0]
        lines.append(f"{unit}return {returned}")
    return [f"def {name}({', '.join(operands)}):", *lines]


def _fresh_names(body: Sequence[ast.stmt]) -> set[str]:
    """Names whose last value in `body` is certainly a tensor of its own, not a view of an operand."""
    fresh: set[str] = set()
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not _may_alias(value):
                fresh.add(name)
            case _:
                fresh -= names_written(statement)
    return fresh


def _may_alias(node: ast.expr) -> bool:
    match node:
        case ast.BinOp():
            return False
        case ast.Call():
            return called(node) in _VIEWS or called(node).startswith(("as_", "unbind", "split", "chunk"))
        case ast.UnaryOp():
            return False
    return True


def _separate(text: str, node: ast.expr, operands: list[str]) -> str:
    """An output that is no view of an operand: torch.cond refuses those."""
    return f"{wrapped(text, Binding.PRIMARY)}.clone()" if _may_alias(node) else text


def _predicate(context: Context, test: ast.expr) -> str:
    """The test as a tensor, or as a symbolic bool."""
    if Kinds(context).of(test) is Kind.TENSOR or context.diagnostic.code == "DDE105":
        return Predicates(context, assume_tensor=context.diagnostic.code == "DDE105").text(test)
    conditions = Conditions(context)
    text = conditions.condition(test, True)
    if conditions.imports:
        return Predicates(context).text(test)
    return text


def _tuple(operands: list[str]) -> str:
    return f"({', '.join(operands)}{',' if len(operands) == 1 else ''})"


def _call(context: Context, test: ast.expr, operands: list[str]) -> str:
    torch = torch_name(context.site.source)[0]
    return f"{torch}.cond({_predicate(context, test)}, when_true, when_false, {_tuple(operands)})"


def _candidate(context: Context, edits: tuple[Edit, ...], loop: bool = False) -> Iterator[Candidate]:
    source = context.site.source
    if not parses(source, edits):
        return
    what = "while_loop runs the loop" if loop else "torch.cond computes one of the two arms"
    yield Candidate(
        NAME,
        Claim.RESTRUCTURED,
        f"while compiling, {what}; eager stays as it is",
        edits,
        (*torch_name(source)[1], *((_WHILE_LOOP,) if loop else ())),
        notes=("the code stands twice: once for eager, once for the compiler",),
        decisions=(source.span(context.site.decision),) if context.site.decision is not None else (),
    )


# ---------------------------------------------------------------------- loops


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
    goes, turn, body, outputs, unit = _turn(context, statement, carried, numbers)
    parameters = ", ".join(carried)
    starts = [
        f"{torch}.{'ones' if flags[name] else 'zeros'}((), dtype={torch}.bool)" if name in flags else name
        for name in carried
    ]
    lines = [
        f"def {goes}({parameters}):",
        f"{unit}return {test}",
        "",
        f"def {turn}({parameters}):",
        *body,
        f"{unit}return {_tuple(outputs)}",
        "",
        f"{_tuple(carried) if len(carried) == 1 else parameters} = while_loop({goes}, {turn}, {_tuple(starts)})",
    ]
    yield from _instead(context, statement, lines)


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
    if index in names_read(*statement.body) or _read_elsewhere(context, index, statement):
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
        f"{unit}return {_tuple([f'{turns} + 1', *outputs])}",
        "",
        f"{parameters} = while_loop({goes}, {turn}, {_tuple([f'{torch}.zeros_like({most})', *carried])})",
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
    before = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} | {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and (node.lineno, node.col_offset) < (statement.lineno, statement.col_offset)
    }
    carried = sorted(written & before)
    if not carried or any(_read_elsewhere(context, name, statement) for name in written - before):
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
    fresh = _fresh_names(part.body)
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
    yield from _candidate(context, (Edit(source.span(statement), text),), loop=True)
