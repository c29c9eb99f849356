"""What is read from a tensor that is made of Python's values alone is a constant: known while compiling."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.bars import values_gone_over, values_of
from ddelint.rewrite.parts.outlining.forms import TENSOR
from ddelint.rewrite.parts.outlining.operands import OutOfReach, handed, parameter_name, reads
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.bindings import type_at
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    draws_random,
    enclosing_block,
    fresh_name,
    names_read,
    names_written,
    places_of_stores,
    position,
)
from ddelint.rewrite.reading.regions import (
    assigned_on_every_way,
    bound_inside,
    changed_in_place,
    leaves_a_loop,
    live_behind,
)
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_MESSAGE = "it depends on no tensor that is given: it is computed while compiling, and what comes out is a constant"
_LAZY = frozenset(("enumerate", "filter", "iter", "map", "reversed", "zip"))
"""What Python's functions give whose result is read once: no constant."""
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_BINDING = (ast.Lambda, *_COMPREHENSIONS)
_MORE = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Delete, ast.Global, ast.Nonlocal)
"""What does more than compute."""
_MOST_STATEMENTS = 20


_Loop = ast.For | ast.comprehension


class _DependsOnMore(Exception):
    """What is read depends on a tensor that is given, or the text does not show on what."""


@dataclass
class _Computation:
    """What is read, and the statements before it that it depends on.

    Where it is read of what a loop goes over, one by one, the function computes it for all turns.
    """

    read: ast.expr
    statements: list[ast.stmt] = field(default_factory=list)
    """In front of the loop, where there is one."""
    loop: _Loop | None = None
    in_loop: list[ast.stmt] = field(default_factory=list)
    """The statements of the loop."""
    parameters: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What it is given, a name or chain of attributes: what that is called inside, and its annotation."""
    replacements: dict[str, str] = field(default_factory=dict)
    """Chain of attributes → the parameter that stands for it."""

    @property
    def body(self) -> list[ast.stmt]:
        """All of it, in order."""
        last: ast.stmt = ast.Expr(self.read)
        if self.loop is not None:
            last = ast.For(self.loop.target, values_of(self.loop.iter), [*self.in_loop, last], [])
        return [*self.statements, last]

    def add(self, statements: set[ast.stmt]) -> bool:
        """Take in statements that give a name its value; False where all of them are in."""
        new = statements - {*self.statements, *self.in_loop}
        inside = new & set(_body_of(self.loop)) if self.loop is not None else set()
        self.in_loop = sorted({*self.in_loop, *inside}, key=position)
        self.statements = sorted({*self.statements, *(new - inside)}, key=position)
        return bool(new)


@rewriting("constant_result")
def constant_result(context: Context) -> Iterator[Rewrite]:
    """`torch.linspace(0, n, k).int().tolist()` → a function that runs while compiling, whose result is a constant."""
    written: set[ast.AST] = set()
    for read in dict.fromkeys(_reads(context)):
        if read in written:
            continue
        try:
            found = _computation(context, read)
        except (_DependsOnMore, OutOfReach):
            continue
        written |= set(ast.walk(read))
        yield _written(context, found) if found.loop is None else _written_for_all_turns(context, found.loop, found)


def _reads(context: Context) -> Iterator[ast.expr]:
    """The expressions that gave birth to the numbers of the question, whole where they stand in a comprehension."""
    source, function = context.site.source, context.site.function
    spans = [symbol.created for symbol in context.diagnostic.symbols if symbol.created is not None]
    for span in (*spans, context.site.span):
        node = source.at(span) if span.filename == source.filename else None
        if not isinstance(node, ast.expr) or not any(one is function for one in source.ancestors(node)):
            continue
        around = [parent for parent in source.ancestors(node) if isinstance(parent, ast.expr)]
        binding = [number for number, parent in enumerate(around) if isinstance(parent, _BINDING)]
        if _is_tested(source.parents.get(node), node) and not binding:
            yield node
            continue
        for parent in around[binding[-1] :] if binding else [node]:
            lazy = _is_lazy(parent) and not _is_unpacked(source.parents.get(parent))
            if isinstance(parent, ast.ListComp) or (isinstance(parent, ast.Call) and not lazy):
                yield parent
                break
        if binding and isinstance(around[binding[-1]], _COMPREHENSIONS):
            yield node


def _is_lazy(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LAZY


def _is_tested(parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether nothing but the truth of a value is asked for."""
    match parent:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test is node
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False


def _is_unpacked(parent: ast.AST | None) -> bool:
    """Whether all that an expression gives is taken at once: `a, b = map(…)`."""
    return isinstance(parent, ast.Assign) and all(
        isinstance(target, (ast.Tuple, ast.List)) for target in parent.targets
    )


def _computation(context: Context, read: ast.expr) -> _Computation:
    """How `read` comes about. Raises _DependsOnMore or OutOfReach where it is not made of Python's values alone."""
    found = _Computation(read, loop=_generator(context, read))
    while len(found.statements) + len(found.in_loop) <= _MOST_STATEMENTS:
        try:
            _read_parameters(context, found)
        except OutOfReach as error:
            loop = _loop_giving(context, read, error.name)
            if loop is not None and found.loop is None:
                found.loop = loop
                found.statements, before = [], found.statements
                found.add(set(before))
            elif not found.add(set(_giving(context, read, error.name))):
                raise
        else:
            _check_pure(found.body)
            if found.loop is not None:
                _check_untouched(found.loop, found)
            return found
    raise _DependsOnMore


def _body_of(loop: _Loop) -> list[ast.stmt]:
    return loop.body if isinstance(loop, ast.For) else []


def _loop_giving(context: Context, read: ast.expr, name: str) -> _Loop | None:
    """The loop that gives `name` the values it goes over, one a turn, where a turn reads once and gives no other."""
    source, statement = context.site.source, _statement(context, read)
    loop = source.parents.get(statement)
    if not isinstance(loop, ast.For) or statement not in loop.body or name not in names_written(loop.target):
        return None
    earlier = loop.body[: loop.body.index(statement)]
    return loop if name not in names_written(*earlier) | changed_in_place(earlier) else None


def _generator(context: Context, read: ast.expr) -> ast.comprehension | None:
    """What the comprehension goes over that gives names of `read` their values, and has one value for each.

    Raises _DependsOnMore where more than one is needed, or not each of them is taken.
    """
    around = [node for node in context.site.source.ancestors(read) if isinstance(node, _BINDING)]
    giving = [node for node in around if names_read(read) & _bound_by(node)]
    match giving:
        case []:
            return None
        case [ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp() as each]:
            one, *more = each.generators
        case _:
            raise _DependsOnMore
    if more or one.ifs or one.is_async or read in set(ast.walk(one.iter)):
        raise _DependsOnMore
    return one


def _bound_by(node: ast.expr) -> set[str]:
    """The names that a comprehension or lambda gives values to."""
    if isinstance(node, ast.Lambda):
        return {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    assert isinstance(node, _COMPREHENSIONS)
    return {name for one in node.generators for name in names_written(one.target)}


def _check_untouched(loop: _Loop, found: _Computation) -> None:
    """Raises _DependsOnMore where a turn of the loop changes what the values of later turns are computed from."""
    body = _body_of(loop)
    changed = names_written(*body) | changed_in_place(body)
    changed |= {
        ast.unparse(node)
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    if any(
        f"{one}.".startswith(f"{text}.") or f"{text}.".startswith(f"{one}.")
        for text in found.parameters
        for one in changed
    ):
        raise _DependsOnMore


def _read_parameters(context: Context, found: _Computation) -> None:
    """Fill in what goes in. Raises OutOfReach where that is none of Python's own values."""
    region = Region(found.body)
    found.parameters, found.replacements = {}, {}
    taken = names_written(*found.statements) | bound_inside(found.body)
    for node in reads(context, region):
        chain, form = handed(context, region, node, node)
        text = ast.unparse(chain)
        fact = type_at(context, text, node)
        kinds = {part.kind for part in (fact, fact.element if fact is not None else None) if part is not None}
        holds_tensors = any(TENSOR in each for each in (form.schema, *(part.schema for part in form.parts)))
        if any(kind.startswith("sym") for kind in kinds) or (holds_tensors and "none" not in kinds):
            raise OutOfReach(node.id, f"`{text}` depends on data")
        if text in found.parameters:
            continue
        name = text if isinstance(chain, ast.Name) else parameter_name(context, text, taken)
        taken.add(name)
        if name != text:
            found.replacements[text] = name
        found.parameters[text] = (name, "None" if "none" in kinds else form.annotation)


def _giving(context: Context, read: ast.expr, name: str) -> Iterator[ast.stmt]:
    """The statements before `read` that give `name` its value. Raises _DependsOnMore where others may do so, too."""
    source, function = context.site.source, context.site.function
    assert function is not None
    statement = _statement(context, read)
    in_loop = False
    before: list[ast.stmt] = []
    for around in (statement, *source.ancestors(statement)):
        if around is function:
            break
        in_loop |= isinstance(around, (ast.For, ast.While))
        if isinstance(around, ast.stmt):
            block = enclosing_block(source, around)
            earlier = block[: block.index(around)]
            before += [one for one in earlier if name in names_written(one) | changed_in_place([one])]
    known = {node for one in before for node in ast.walk(one)}
    others = [store for store in places_of_stores(function, name) if store not in known]
    if any(in_loop or position(store) < position(statement) for store in others):
        raise _DependsOnMore
    yield from before


def _statement(context: Context, read: ast.expr) -> ast.stmt:
    return next(node for node in context.site.source.ancestors(read) if isinstance(node, ast.stmt))


def _check_pure(body: list[ast.stmt]) -> None:
    """Raises _DependsOnMore where it gives something else each time, or does more than compute."""
    for statement in body:
        nodes = list(ast.walk(statement))
        stored = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
        if draws_random(statement) or stored or leaves_a_loop(statement) or any(isinstance(n, _MORE) for n in nodes):
            raise _DependsOnMore
    if changed_in_place(body) - names_written(*body):
        raise _DependsOnMore


def _written(context: Context, found: _Computation) -> Rewrite:
    body = context.write.lines("return {value}", value=_value(context, found))
    changes, call = _defined(context, found, "", body)
    changes |= {statement: [] for statement in _needless(context, found)}
    return Rewrite(_MESSAGE, changes | {found.read: call}, preferred=True)


def _written_for_all_turns(context: Context, loop: _Loop, found: _Computation) -> Rewrite:
    """The values of all turns are computed in front of the loop, which goes over them beside its own."""
    write, source, renamed = context.write, context.site.source, found.replacements
    values, value = (fresh_name(source, word) for word in ("values", "value"))
    body = write.lines(
        _ALL_TURNS,
        values=values,
        target=write.expression(loop.target),
        iterated=write.renamed(values_gone_over(write, loop.iter), renamed),
        body=write.renamed_lines(found.in_loop, renamed),
        value=_value(context, found),
    )
    changes, call = _defined(context, found, "_each_turn", body)
    changes[loop.target] = write.tuple([loop.target, write.expr(value)])
    changes[loop.iter] = write.expr("zip({}, {})", write.expression(loop.iter), call)
    return Rewrite(_MESSAGE, changes | {found.read: write.expr(value)}, preferred=True)


_ALL_TURNS = """
{values} = []
for {target} in {iterated}:
    {body}
    {values}.append({value})
return {values}
"""


def _value(context: Context, found: _Computation) -> Any:
    """What is read, in the function, as what can be a constant: a truth value, a tuple."""
    value = context.write.renamed(found.read, found.replacements)
    if _is_tested(context.site.source.parents.get(found.read), found.read):
        return context.write.expr("bool({})", value)
    return context.write.expr("tuple({})", value) if _is_lazy(found.read) else value


def _defined(context: Context, found: _Computation, ending: str, end: list[Any]) -> tuple[dict[ast.AST, Any], Any]:
    """The function in front of the one that reads, and its call; the function's body ends in `end`."""
    write, source, function = context.write, context.site.source, context.site.function
    assert function is not None
    name = fresh_name(source, f"_{function.name.strip('_')}_{_what_it_gives(context, found.read)}{ending}")
    body = [*write.renamed_lines(found.statements, found.replacements), *end]
    parameters = [(inside, write.expr(annotation)) for inside, annotation in found.parameters.values()]
    definition = write.lines(knowledge().outlining["constant"], name=name, parameters=parameters, body=body)
    top = [node for node in (function, *source.ancestors(function)) if isinstance(node, ast.stmt)][-1]
    call = write.expr("{}({})", name, [write.expr(text) for text in found.parameters])
    return {top: [*definition, top]}, call


def _what_it_gives(context: Context, read: ast.expr) -> str:
    """A word for the result: what it is called behind, or how it is read."""
    match _statement(context, read):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.strip("_")
    return "constant"


def _needless(context: Context, found: _Computation) -> list[ast.stmt]:
    """The statements before that nothing else reads: no other statement, and none of them that stays itself."""
    source, statement = context.site.source, _statement(context, found.read)
    block = enclosing_block(source, statement)
    needless: list[ast.stmt]
    needless = [one for one in found.statements if one in block and isinstance(one, (ast.Assign, ast.AnnAssign))]
    inside = {*ast.walk(found.read)}
    loads = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    own = {node.id for node in loads if node not in inside}
    own |= live_behind(source, statement) - assigned_on_every_way([statement])
    reads = {one: names_read(one) for one in block[: block.index(statement)]}
    while True:
        read = own.union(*(names for one, names in reads.items() if one not in needless))
        kept = [one for one in needless if not names_written(one) & read]
        if len(kept) == len(needless):
            return kept
        needless = kept
