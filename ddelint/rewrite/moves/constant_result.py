"""What is read from a tensor that is made of Python's values alone is a constant: known while compiling."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.forms import TENSOR
from ddelint.rewrite.parts.outlining.operands import OutOfReach, handed, parameter_name, reads
from ddelint.rewrite.parts.outlining.region import Region
from ddelint.rewrite.reading.bindings import type_at
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    draws_random,
    enclosing_block,
    fresh_name,
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
_BINDING = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_MORE = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Delete, ast.Global, ast.Nonlocal)
"""What does more than compute."""
_MOST_STATEMENTS = 20


class _DependsOnMore(Exception):
    """What is read depends on a tensor that is given, or the text does not show on what."""


@dataclass
class _Computation:
    """What is read, and the statements before it that it depends on."""

    read: ast.expr
    statements: list[ast.stmt] = field(default_factory=list)
    parameters: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What it is given, a name or chain of attributes: what that is called inside, and its annotation."""
    replacements: dict[str, str] = field(default_factory=dict)
    """Chain of attributes → the parameter that stands for it."""

    @property
    def body(self) -> list[ast.stmt]:
        """All of it, in order."""
        return [*self.statements, ast.Expr(self.read)]


@rewriting("constant_result")
def constant_result(context: Context) -> Iterator[Rewrite]:
    """`torch.linspace(0, n, k).int().tolist()` → a function that runs while compiling, whose result is a constant."""
    for read in dict.fromkeys(_reads(context)):
        try:
            yield _written(context, _computation(context, read))
        except (_DependsOnMore, OutOfReach):
            continue


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
        for parent in around[binding[-1] :] if binding else [node]:
            if isinstance(parent, ast.ListComp) or (isinstance(parent, ast.Call) and not _is_lazy(parent)):
                yield parent
                break


def _is_lazy(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in _LAZY


def _computation(context: Context, read: ast.expr) -> _Computation:
    """How `read` comes about. Raises _DependsOnMore or OutOfReach where it is not made of Python's values alone."""
    found = _Computation(read)
    while len(found.statements) <= _MOST_STATEMENTS:
        try:
            _read_parameters(context, found)
        except OutOfReach as error:
            giving = set(_giving(context, read, error.name)) - set(found.statements)
            if not giving:
                raise
            found.statements = sorted({*found.statements, *giving}, key=position)
        else:
            _check_pure(found.body)
            return found
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
    write, source, function = context.write, context.site.source, context.site.function
    assert function is not None
    name = fresh_name(source, f"_{function.name.strip('_')}_{_what_it_gives(context, found.read)}")
    body = write.renamed_lines(found.statements, found.replacements)
    body += write.lines("return {value}", value=write.renamed(found.read, found.replacements))
    parameters = [(inside, write.expr(annotation)) for inside, annotation in found.parameters.values()]
    definition = write.lines(knowledge().outlining["constant"], name=name, parameters=parameters, body=body)
    top = [node for node in (function, *source.ancestors(function)) if isinstance(node, ast.stmt)][-1]
    call = write.expr("{}({})", name, [write.expr(text) for text in found.parameters])
    changes: dict[ast.AST, Any] = {statement: [] for statement in _needless(context, found)}
    return Rewrite(_MESSAGE, changes | {top: [*definition, top], found.read: call}, preferred=True)


def _what_it_gives(context: Context, read: ast.expr) -> str:
    """A word for the result: what it is called behind, or how it is read."""
    match _statement(context, read):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.strip("_")
    return "constant"


def _needless(context: Context, found: _Computation) -> Iterator[ast.stmt]:
    """The statements before that nothing else reads."""
    source, statement = context.site.source, _statement(context, found.read)
    moved = {node for one in (*found.statements, found.read) for node in ast.walk(one)}
    block = enclosing_block(source, statement)
    around = {node for one in block[: block.index(statement) + 1] for node in ast.walk(one)} - moved
    still_read = {node.id for node in around if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    still_read |= live_behind(source, statement) - assigned_on_every_way([statement])
    for one in found.statements:
        if one in block and isinstance(one, (ast.Assign, ast.AnnAssign)) and not names_written(one) & still_read:
            yield one
