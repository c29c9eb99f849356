"""while_loop around a loop over tensors, for the compiler; eager keeps its own loop."""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Container, Iterator, Mapping, Sequence

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.branch_functions import TWICE
from ddelint.rewrite.parts.checks import Inexpressible
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.around import read_elsewhere
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.loops import value_before
from ddelint.rewrite.reading.names import (
    asks_compiling,
    bound_before,
    called,
    fresh_name,
    names_read,
    names_written,
)
from ddelint.rewrite.reading.regions import separate_names
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Statements, restructured, rewriting
from ddelint.sources.sites import Role

_LOOP = """

def {goes_on}({parameters}):
    return {test}

def {turn}({parameters}):
    {body}
    return {outputs}

{target} = while_loop({goes_on}, {turn}, {starts})
"""
_FLAGS = {True: "torch.ones((), dtype=torch.bool)", False: "torch.zeros((), dtype=torch.bool)"}
_NUMBERS = {True: "torch.full((), {}, dtype=torch.float64)", False: "torch.full((), {}, dtype=torch.int64)"}


class _NotThis(Exception):
    """The statement is not of this form."""


@rewriting("while_loop")
def while_loop(context: Context) -> Iterator[Rewrite]:
    """A loop whose number of iterations is data, as a while_loop over the tensors it carries; eager keeps its own."""
    site, statement = context.site, context.site.statement
    with contextlib.suppress(_NotThis, NotAPredicate, Inexpressible, ValueError):
        if isinstance(statement, ast.For) and site.source.span(statement.iter).contains(site.span):
            yield from _counted_loop(context, statement)
        elif site.role is Role.WHILE_TEST and isinstance(statement, ast.While) and site.decision is not None:
            named = any(isinstance(node, ast.NamedExpr) for node in ast.walk(site.decision))
            if not named and not asks_compiling(site.decision):
                yield from _loop(context, statement)


def _rewrite(context: Context, lines: Statements) -> Rewrite:
    site = context.site
    message = "while compiling, while_loop runs the loop; eager stays as it is"
    decisions = (site.decision,) if site.decision is not None else ()
    beside = context.write.beside(lines, [site.statement])
    return restructured(message, {site.statement: beside}, TWICE, decisions=decisions)


def _loop(context: Context, statement: ast.While) -> Iterator[Rewrite]:
    """`while t.sum() > 3: …` over tensors."""
    write, kinds, carried = context.write, Kinds(context), _carried(context, statement)
    flags = {name: value for name in carried if (value := _flag_before(context, name, statement)) is not None}
    numbers = [name for name in carried if kinds.of(_named(name)) is Kind.NUMBER]
    test = _test(context, statement.test, flags)
    for counted in (numbers, []) if numbers else ([],):  # a number carried alone, or under autograd, fails to compile
        starts: dict[str, Part] = {name: name for name in carried}
        starts |= {name: write.expr(_NUMBERS[_is_float(context, name)], name) for name in counted}
        starts |= {name: write.expr(_FLAGS[value]) for name, value in flags.items()}
        lines = _called(context, statement, test, starts, _outputs(context, statement, carried, numbers))
        if counted:
            lines = write.picked_by_tensors(lines, _indices(kinds, counted, statement))
        for name in counted:
            lines += write.assigned(name, write.expr("{}.item()", name))
            if _counts_up(context, name, statement):  # Inductor asks that of what is cut there
                lines += write.lines("torch._check({name} >= 0)", name=name)
        yield _rewrite(context, lines)


def _counts_up(context: Context, name: str, statement: ast.While) -> bool:
    """Whether a number that is at least zero before a loop is added to there, and nothing else."""
    match value_before(context, name, statement):
        case ast.Constant(value=int() as start) if not isinstance(start, bool) and start >= 0:
            pass
        case _:
            return False
    return all(_adds(node, name) for node in statement.body if name in names_written(node))


def _adds(node: ast.stmt, name: str) -> bool:
    """`name += 1`, `name = name + 1`."""
    match node:
        case ast.AugAssign(target=ast.Name(), op=ast.Add(), value=ast.Constant(value=int() as step)):
            return step >= 0
        case ast.Assign(
            targets=[ast.Name()], value=ast.BinOp(ast.Name(id=same), ast.Add(), ast.Constant(int() as step))
        ):
            return same == name and step >= 0
    return False


def _indices(kinds: Kinds, counted: Sequence[str], statement: ast.While) -> set[str]:
    """The indices of one place that an iteration makes of what is counted: not `order + n`, which has a dimension."""
    made = {*counted}
    for node in statement.body:
        if isinstance(node, ast.Assign) and names_read(node.value) & made:
            made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    found = set()
    for place in ast.walk(statement):
        match place:
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                continue
            case ast.Subscript(slice=index) if names_read(index) & made and _is_one(kinds, index):
                found.add(ast.unparse(index))
    return found


def _is_one(kinds: Kinds, node: ast.expr) -> bool:
    """Whether nothing says that a number or tensor has a dimension."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_one(kinds, left) and _is_one(kinds, right)
        case ast.UnaryOp(operand=operand):
            return _is_one(kinds, operand)
    return not isinstance(node, (ast.Tuple, ast.Slice, ast.Compare)) and not kinds.shape(node)


def _test(context: Context, test: ast.expr, flags: Container[str]) -> Expr:
    """What asks for another iteration, of what is carried. Raises NotAPredicate."""
    asked = test
    while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
        asked = asked.operand
    if isinstance(asked, ast.Name) and asked.id in flags:
        return context.write.expr("{}" if asked is test else "~{}", asked)
    if Kinds(context).of(asked) is Kind.TENSOR or context.diagnostic.code == "DDE105":
        return Truths(context, assume_tensor=True).of(test)
    return context.write.expression(test)


def _is_float(context: Context, name: str) -> bool:
    fact = context.type_of(name)
    return fact is not None and fact.kind in ("float", "symfloat")


def _flag_before(context: Context, name: str, statement: ast.stmt) -> bool | None:
    """The constant that a flag starts with: `converged = False`."""
    value = value_before(context, name, statement)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _counted_loop(context: Context, statement: ast.For) -> Iterator[Rewrite]:
    """`for _ in range(n): …` over tensors, the count kept in a tensor."""
    write, kinds, source = context.write, Kinds(context), context.site.source
    match statement:
        case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[])):
            pass
        case _:
            raise _NotThis("a loop over something else")
    if index in names_read(*statement.body) or read_elsewhere(context, index, statement):
        raise _NotThis("the index is read")
    carried = _carried(context, statement)
    if any(kinds.of(_named(name)) is Kind.NUMBER for name in carried):
        raise _NotThis("a number is carried")
    match stop:
        case ast.Call(func=ast.Name(id="int"), args=[inner]) if kinds.of(inner) in (Kind.TENSOR, Kind.UNKNOWN):
            limit = write.expression(inner)
        case ast.Call(func=ast.Attribute(attr="item", value=inner), args=[]):
            limit = write.expression(inner)
        case _:
            limit = write.expr("torch.full((), {}, dtype=torch.int64)", stop)
    turns, most = fresh_name(source, "turns"), fresh_name(source, "most_turns")
    starts: dict[str, Part] = {turns: write.expr("torch.zeros_like({})", most)}
    starts |= {name: name for name in carried}
    outputs = [write.expr("{} + 1", turns), *_outputs(context, statement, carried, ())]
    lines = _called(context, statement, write.expr("{} < {}", turns, most), starts, outputs)
    yield _rewrite(context, [*write.assigned(most, limit), *lines])


def _named(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def _carried(context: Context, statement: ast.While | ast.For) -> list[str]:
    """The names that an iteration hands on to the next. Raises _NotThis."""
    function = context.site.function
    if statement.orelse or function is None:
        raise _NotThis("a loop with an else")
    if any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in ast.walk(statement)):
        raise _NotThis("a loop that is left")
    _require_computations(statement.body)
    written = names_written(*statement.body)
    before = bound_before(function, statement)
    carried = sorted(written & before)
    if not carried or any(read_elsewhere(context, name, statement) for name in written - before):
        raise _NotThis("names without a value before the loop")
    kinds = Kinds(context)
    if any(
        kinds.of(_named(name)) is Kind.STATIC and _flag_before(context, name, statement) is None for name in carried
    ):
        raise _NotThis("a carried value that is no tensor")
    return carried


def _require_computations(body: Sequence[ast.stmt]) -> None:
    """Raises _NotThis where a statement does more than give names values; `x += v` can give `x` another object."""
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.AugAssign(target=target) if not isinstance(target, ast.Name):
                raise _NotThis("a change in place")
            case ast.Call() if called(node).endswith("_") and not called(node).endswith("__"):
                raise _NotThis("a change in place")
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                raise _NotThis("a change in place")
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Global() | ast.Nonlocal() | ast.NamedExpr():
                raise _NotThis("more than a computation")
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                raise _NotThis("a statement without a value")


# ---------------------------------------------------------------------- the loop as functions


def _outputs(
    context: Context, statement: ast.While | ast.For, carried: Sequence[str], numbers: Sequence[str]
) -> list[Expr]:
    """What an iteration hands on: tensors that may be what it was handed are copied."""
    write = context.write
    own = separate_names([_Rebinding().visit(copy.deepcopy(inner)) for inner in statement.body])
    return [write.expr("{}" if name in own or name in numbers else "{}.clone()", name) for name in carried]


class _Rebinding(ast.NodeTransformer):
    """`x += v` as `x = x + v`, as it is written."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        value = ast.BinOp(ast.Name(id=ast.unparse(node.target), ctx=ast.Load()), node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)


def _called(
    context: Context,
    statement: ast.While | ast.For,
    test: Expr,
    starts: Mapping[str, Part],
    outputs: Sequence[Expr],
) -> Statements:
    """The two functions, and the call that gives the names of `starts` their values behind the loop."""
    write, source = context.write, context.site.source
    return write.lines(
        _LOOP,
        goes_on=fresh_name(source, "goes_on"),
        turn=fresh_name(source, "turn"),
        parameters=[*starts],
        test=test,
        body=write.rebound_lines(statement.body),
        outputs=write.tuple(outputs),
        target=write.tuple([*starts]),
        starts=write.tuple([*starts.values()]),
    )
