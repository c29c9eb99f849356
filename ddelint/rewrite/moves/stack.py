"""A Python list cannot be indexed by a symbol; a stacked tensor can."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ddelint.nouns.diagnostics import Claim, TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import is_tensor, number_kind, origins
from ddelint.rewrite.reading.constants import value_of
from ddelint.rewrite.reading.kinds import Kinds, definition, is_torch
from ddelint.rewrite.reading.names import asks_compiling, is_pure, names_read, names_written
from ddelint.rewrite.reading.unread import unread_definitions
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, restructured, rewriting

_COST = "every element is computed or stacked, not only the one that is chosen"
_COST_COMPILED = "compiled code computes or stacks every element, not only the one that is chosen"
_ALL_RUN = "all modules run, not only the chosen one; their outputs must have one shape"
_NO_NUMBER = "the value is a tensor without dimensions, no longer a Python number"
_MODULES = frozenset(("ModuleList", "Sequential"))
_TENSOR_LISTS = frozenset(("ParameterList", "BufferList"))


@rewriting("stack_and_index")
def stack_and_index(context: Context) -> Iterator[Rewrite]:
    """`table[i]` → `torch.stack(table)[i]`; numbers become a tensor; modules all run and their outputs are stacked."""
    kinds = Kinds(context)
    for node in origins(context, 1):
        match node:
            case ast.Subscript(value=table, slice=index, ctx=ast.Load()):
                if isinstance(index, (ast.Slice, ast.Tuple)) or not is_pure(node) or _in_a_choice(context, node):
                    continue
                if is_tensor(kinds, table) or not _from_data(kinds, index):
                    continue
                parent = context.site.source.parents.get(node)
                if isinstance(parent, ast.Call) and parent.func is node:
                    yield from _modules(context, kinds, [parent], table, index)
                elif isinstance(parent, ast.Assign) and (calls := _calls_by_name(context, node)):
                    yield from _modules(context, kinds, calls, table, index, parent)
                else:
                    yield from _elements(context, kinds, node, table, index)


@rewriting("stack_and_cut")
def stack_and_cut(context: Context) -> Iterator[Rewrite]:
    """`torch.stack(table[:n])`, `sum(table[:n])` → `torch.stack(table)[:n]`, of a list of tensors of one shape."""
    kinds = Kinds(context)
    for node in origins(context, 1):
        match node:
            case ast.Subscript(value=table, slice=ast.Slice(lower=None, upper=ast.expr() as end, step=None)):
                if isinstance(end, ast.Constant | ast.UnaryOp) or not is_pure(node):
                    continue
                if is_tensor(kinds, table) or not _same_shapes(context, kinds, table):
                    continue
                taken = [_taken_by(context, use) for use in _uses_of(context, node)]
                if not taken or None in taken:
                    continue
                changes: dict[ast.AST, Any] = {}
                for call, template in filter(None, taken):
                    changes[call] = context.write.expr(template, table, _place(context, kinds, end))
                changes |= {statement: [] for statement in unread_definitions(context, list(changes), names_read(node))}
                asked = f"a Python list cannot be cut at `{context.site.source.segment(end)}`"
                yield Rewrite(f"{asked}; the stacked tensors can", changes, Claim.RESTRUCTURED, (_COST,))


_TAKEN = {
    "stack": "torch.stack({})[:{}]",
    "cat": "torch.stack({})[:{}].flatten(0, 1)",
    "concat": "torch.stack({})[:{}].flatten(0, 1)",
    "sum": "torch.stack({})[:{}].sum(0)",
}
"""What takes a list of tensors, and what gives the same of the stacked ones."""


def _uses_of(context: Context, node: ast.expr) -> list[ast.expr]:
    """Where a value is used: `node` itself, or the uses of the one name that it is given."""
    statement, function = context.site.source.parents.get(node), context.site.function
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if function is not None and definition(context, name) is node:
            named = [inner for inner in ast.walk(function) if isinstance(inner, ast.Name) and inner.id == name]
            return [inner for inner in named if isinstance(inner.ctx, ast.Load)]
    return [node]


def _taken_by(context: Context, use: ast.expr) -> tuple[ast.Call, str] | None:
    """The call that takes a list as a whole, along the first dimension, and what it makes of the stacked tensors."""
    call = context.site.source.parents.get(use)
    match call:
        case ast.Call(func=ast.Name(id="sum"), args=[_], keywords=[]):
            return call, _TAKEN["sum"]
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[_, *rest], keywords=keywords):
            dims = [*rest, *(keyword.value for keyword in keywords)]
            first = all(isinstance(dim, ast.Constant) and dim.value == 0 for dim in dims)
            if is_torch(owner) and first and name in _TAKEN and use is call.args[0]:
                return call, _TAKEN[name]
    return None


def _from_data(kinds: Kinds, index: ast.expr) -> bool:
    """Whether an index may be a symbol or a tensor: not a string, not a known number of the run."""
    fact = kinds.fact(index)
    if fact is not None:
        return fact.kind in {"symint", "int", "tensor", "symbool"}
    return any(isinstance(node, (ast.Name, ast.Call)) for node in ast.walk(index))


def _in_a_choice(context: Context, node: ast.expr) -> bool:
    """Whether an expression is already one side of a choice between eager and the compiler."""
    return any(isinstance(a, ast.IfExp) and asks_compiling(a.test) for a in context.site.source.ancestors(node))


def _place(context: Context, kinds: Kinds, index: ast.expr) -> Part:
    """The index as a number."""
    match index:
        case _ if is_tensor(kinds, index):
            return context.write.expr("{}.item()", index)
        case ast.Call(func=ast.Name(id="int"), args=[argument]) if is_tensor(kinds, argument):
            return context.write.expr("{}.item()", argument)
        case ast.Call(func=ast.Name(id="int"), args=[argument]) if number_kind(kinds, argument) == "int":
            return argument
    return index


def _elements(
    context: Context, kinds: Kinds, node: ast.Subscript, table: ast.expr, index: ast.expr
) -> Iterator[Rewrite]:
    write, place = context.write, _place(context, kinds, index)
    asked = f"a Python list cannot be indexed by `{context.site.source.segment(index)}`"
    numbers = _number_table(context, kinds, table)
    if numbers is not None:
        template = "torch.tensor({}, dtype=torch.float64)[{}]" if numbers == "float" else "torch.tensor({})[{}]"
        tensor = write.expr(template, table, place)
        message = f"{asked}; a tensor of its numbers can"
        if numbers != "bool":
            yield restructured(message, {node: write.expr("{}.item()", tensor)})
        yield restructured(message, {node: tensor}, _NO_NUMBER)
    elif _same_shapes(context, kinds, table):
        fact = kinds.fact(table)
        is_list = fact is None or fact.kind in {"list", "tuple"}
        new = write.expr("torch.stack({})[{}]" if is_list else "torch.stack(list({}))[{}]", table, place)
        yield restructured(f"{asked}; the stacked tensors can", {node: new}, _COST)
        yield _beside_eager(context, f"{asked}; the stacked tensors can, which is left to the compiler", {node: new})


def _number_table(context: Context, kinds: Kinds, table: ast.expr) -> str | None:
    """`int`, `float` or `bool` for a list or tuple of numbers; None for anything else."""
    fact = kinds.fact(table)
    if fact is not None:
        element = fact.element
        if fact.kind in {"list", "tuple"} and element is not None and element.kind in {"int", "float", "bool"}:
            return element.kind
        # elements of several kinds, or a list of lists: the literal may say
        if fact.kind not in {"list", "tuple"} or element is not None:
            return None
    literal = _literal(context, table)
    if literal is None or not literal:
        return None
    try:
        types = {type(ast.literal_eval(value)) for value in literal}
    except ValueError:
        return None
    if not types <= {bool, int, float}:
        return None
    if bool in types:
        return "bool" if types == {bool} else None
    return "float" if float in types else "int"


def _literal(context: Context, table: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a list or tuple display: in place, behind a local name, or behind a constant of the module."""
    match value_of(context, table):
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return elements
    return None


def _same_shapes(context: Context, kinds: Kinds, table: ast.expr) -> bool:
    """Whether a list holds tensors of one shape, or nothing speaks against it."""
    fact = kinds.fact(table)
    if fact is not None:
        if fact.python_type.rpartition(".")[2] in _TENSOR_LISTS:
            return True
        element = fact.element
        return fact.kind in {"list", "tuple"} and _stackable(element)
    literal = _literal(context, table)
    return literal is not None and bool(literal) and all(is_tensor(kinds, value) for value in literal)


def _stackable(element: TypeFact | None) -> bool:
    return element is not None and element.kind == "tensor" and element.shape is not None and "?" not in element.shape


def _calls_by_name(context: Context, node: ast.Subscript) -> list[ast.Call]:
    """The calls of what one name is given, where nothing else is done with it: `layer = layers[i]`, `layer(x)`."""
    parents, function, uses = context.site.source.parents, context.site.function, _uses_of(context, node)
    calls = [call for use in uses if isinstance(call := parents.get(use), ast.Call) and call.func is use]
    written = names_written(*function.body) if function is not None else set()
    is_steady = all(definition(context, name) is not None for name in names_read(node.slice) & written)
    return calls if is_steady and len(calls) == len(uses) else []


def _modules(
    context: Context,
    kinds: Kinds,
    calls: Sequence[ast.Call],
    table: ast.expr,
    index: ast.expr,
    named: ast.Assign | None = None,
) -> Iterator[Rewrite]:
    """`layers[i](x)` → `torch.stack([layer(x) for layer in layers])[i]`; `named` gives the chosen one its name."""
    fact = kinds.fact(table)
    if fact is not None:
        is_modules = fact.kind == "module" and fact.python_type.rpartition(".")[2] in _MODULES
        is_functions = fact.kind in {"list", "tuple"} and (
            fact.element is None or fact.element.kind in {"callable", "module"}
        )
        if not (is_modules or is_functions):
            return
    asked = f"a module cannot be chosen by `{context.site.source.segment(index)}` while tracing"
    stacked: dict[ast.AST, Any] = {call: _stacked(context, kinds, call, table, index) for call in calls}
    gone: dict[ast.AST, Any] = {named: []} if named is not None else {}
    yield restructured(f"{asked}; all run, and one output is kept", stacked | gone, _ALL_RUN)
    beside = _beside_eager(context, f"{asked}; there all run; eager goes on choosing", stacked)
    in_eager: dict[ast.AST, Any] = {named: context.write.in_eager([named])} if named is not None else {}
    yield replace(beside, changes={**beside.changes, **in_eager})


def _stacked(context: Context, kinds: Kinds, call: ast.Call, table: ast.expr, index: ast.expr) -> Expr:
    """What the chosen module gives, of what all give."""
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    name = next(n for n in ("module", "each", "module_", "each_") if n not in used)
    return context.write.expr(
        "torch.stack([{each} for {name} in {table}])[{place}]",
        each=context.write.replaced(call, {call.func: context.write.expression(name)}),
        name=name,
        table=table,
        place=_place(context, kinds, index),
    )


def _beside_eager(context: Context, message: str, compiled: Mapping[ast.AST, Any]) -> Rewrite:
    """Eager as it was: what it does not choose does not run there, and gets no gradient, not even one of zeros."""
    changes: dict[ast.AST, Any] = {node: context.write.either(new, node) for node, new in compiled.items()}
    return Rewrite(message, changes, Claim.GENERAL_PATH, (_COST_COMPILED,))
