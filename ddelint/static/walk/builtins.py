"""What Python's built-ins make of values."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import partial

from ddelint.knowledge.operators import operators
from ddelint.static.domain.call import Call
from ddelint.static.domain.joining import alternatives, each_of
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    ClassReference,
    Constant,
    Function,
    Instance,
    Known,
    Parent,
    Path,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.numbers import EXTREMES, Pick
from ddelint.static.transfer.runs import element_of, listed_length
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk import hints
from ddelint.static.walk.binding import iterated
from ddelint.static.walk.functions import invoke
from ddelint.static.walk.objects import attribute_of
from ddelint.static.walk.reading_data import read_number
from ddelint.static.walk.walker import Walker


def _cast(walker: Walker, call: Call) -> Value:
    value = bare(call.arguments[0]) if call.arguments else KNOWN
    subject = call.node.args[0] if call.node.args else None
    if isinstance(value, Tensor):
        if value.literal:
            return KNOWN
        walker.record(call.node, "integer", value, parts=((subject, value),) if subject is not None else ())
        number = read_number(walker, call.node, value, call.state, "cast")
        return replace(number, topic="number") if isinstance(number, Unbacked) else number
    if isinstance(value, Unbacked):
        parts = walker.parts(subject, call.state) if subject is not None else ()
        walker.record(call.node, "integer", value, parts=parts)
        return value
    return KNOWN


def _truth(walker: Walker, call: Call) -> Value:
    value = bare(call.arguments[0]) if call.arguments else KNOWN
    verdict = decide(value, call.state.facts)
    if verdict is not None:
        return Constant(verdict)
    if isinstance(value, (Tensor, Unbacked)) and not (isinstance(value, Tensor) and value.literal):
        walker.record(call.node, "truth", value, parts=walker.parts(call.argument_node(), call.state))
    return KNOWN


def _length(walker: Walker, call: Call) -> Value:
    value = bare(call.first)
    if isinstance(value, Tensor):
        size = walker.numbers.size_of(value, 0, call.state.facts)
        if isinstance(size, Unbacked):
            walker.record(call.node, "integer", size, parts=((call.argument_node(), value),))
        return size
    if isinstance(value, Series):
        return value.length
    return KNOWN


def _range(walker: Walker, call: Call) -> Value:
    values = [bare(value) for value in call.arguments]
    for value, argument in zip(values, call.node.args):
        if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
            subject = argument if len(call.node.args) == 1 else None
            walker.record(
                call.node, "integer", value, subject=subject, parts=walker.parts(argument, call.state), rule="DDE203"
            )
            break
    if len(values) == 1 and isinstance(values[0], Constant):
        return Series("range", None, KNOWN, values[0])
    return Series("range", None, KNOWN, KNOWN)


def keeps(walker: Walker, call: Call) -> Value:
    values = [bare(value) for value in call.arguments]
    if len(values) == 1 and isinstance(values[0], Series):
        values = [bare(each_of(values[0]))]
    for value in values:
        if isinstance(value, Tensor):
            return Tensor(value.dims, value.complete)
    for value in values:
        if isinstance(value, Unbacked):
            return replace(value, form=None, comparisons=())
    return KNOWN if all(isinstance(value, (Constant, Known)) for value in values) else UNKNOWN


def _extreme(walker: Walker, call: Call, pick: Pick) -> Value:
    """`max` and `min`: of symbols they stay symbolic, of tensors they are traced."""
    values = [bare(value) for value in call.arguments]
    if len(values) == 1:
        only = values[0]
        values = [bare(each_of(only))] if isinstance(only, Series) else [only]
        if isinstance(only, Series) and isinstance(only.length, Constant) and only.length.value == 1:
            return values[0]
    for value in values:
        if isinstance(value, Tensor):
            scalar = all(not isinstance(each, Tensor) or each.scalar for each in values)
            return Tensor((), scalar, value.boolean)
    unbacked = [value for value in values if isinstance(value, Unbacked)]
    if not unbacked:
        return KNOWN if all(isinstance(value, (Constant, Known)) for value in values) else UNKNOWN
    source = unbacked[0]
    fraction = any(
        (isinstance(value, Constant) and type(value.value) is float) or _is_fraction(walker, node, call.state, set())
        for node, value in zip(call.node.args, values)
    )
    if fraction and source.topic == "number" and not source.loose:  # integers stay symbolic, what else is compared
        walker.record(call.node, "truth", source, parts=tuple(zip(call.node.args, values)), rule="DDE108")
    form = walker.numbers.extreme(pick, values, call.state.facts) if len(call.arguments) > 1 else None
    return replace(source, form=form, comparisons=())


def _is_fraction(walker: Walker, node: ast.expr, state: State, seen: set[ast.AST]) -> bool:
    """Whether a number is no integer, by how it is computed or by what it is read from."""
    known = operators()
    match node:
        case ast.Constant(value=literal):
            return type(literal) is float
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Pow()):
            return _is_fraction(walker, node.left, state, seen) or _is_fraction(walker, node.right, state, seen)
        case ast.UnaryOp(operand=operand):
            return _is_fraction(walker, operand, state, seen)
        case ast.Call(func=ast.Attribute(value=inner, attr=name), keywords=keywords) as call:
            if known.returns.get(name) == "item" or name in known.regions["sign_only"]:
                return any(_is_fraction(walker, part, state, seen) for part in (inner, *call.args))
            is_rounded = any(keyword.arg in known.regions["rounded_by"] for keyword in keywords)
            return name in known.regions["fractions"] and not is_rounded
        case ast.Call(func=ast.Name(id=function), args=[inner]) if function in known.regions["sign_only"]:
            return _is_fraction(walker, inner, state, seen)
        case ast.Call():
            return False
    value = walker.value_of(node, state)
    made = value.trail.node if isinstance(value, Unbacked) and value.trail is not None else node
    if made in seen or not isinstance(made, ast.expr):  # a loop makes a number of itself
        return False
    seen.add(made)
    return made is not node and _is_fraction(walker, made, state, seen)


def _asks_all(walker: Walker, call: Call) -> Value:
    value = bare(call.first)
    if isinstance(value, Tensor):
        walker.record(call.node, "truth", value, parts=((call.argument_node(), value),))
        return KNOWN
    if isinstance(value, Series):
        for item in value.items if value.items is not None else (value.element,):
            item = bare(item)
            if asks(item) and decide(item, call.state.facts) is None:
                walker.record(call.node, "truth", item, parts=((call.argument_node(), item),))
                break
    return KNOWN


def compares(walker: Walker, call: Call) -> Value:
    value = bare(call.first)
    if isinstance(value, Series):
        each = bare(each_of(value))
        while isinstance(each, Series) and each.items:  # pairs are compared by what stands first in them, first
            each = bare(each.items[0])
        if isinstance(each, (Tensor, Unbacked)) and "key" not in call.keywords:
            subject, rule = call.argument_node(), ""
            if not call.node.args and isinstance(call.node.func, ast.Attribute):  # `values.sort()`
                subject, rule = call.node.func.value, "DDE108" if isinstance(each, Unbacked) else ""
            walker.record(call.node, "truth", each, parts=((subject, each),), rule=rule)
        return Series("list", None, each_of(value), value.length)
    return UNKNOWN


def text_of_values(walker: Walker, call: Call) -> Value:
    for value, argument in zip(map(bare, call.arguments), call.node.args):
        if isinstance(value, Unbacked):
            walker.record(
                call.node,
                "failure",
                value,
                subject=argument,
                parts=walker.parts(argument, call.state),
                rule="DDE208",
            )
    return KNOWN


def _enumerate(walker: Walker, call: Call) -> Value:
    value = bare(call.first)
    if call.node.args:
        iterated(walker, call.node.args[0], value, call.state)
    element = element_of(value)
    if isinstance(value, Series) and value.items is not None:
        return series(tuple(series((Constant(i), item), "tuple") for i, item in enumerate(value.items)))
    return Series("list", None, series((KNOWN, element), "tuple"), listed_length(value))


def _zip(walker: Walker, call: Call) -> Value:
    values = [bare(value) for value in call.arguments]
    for value, argument in zip(values, call.node.args):
        iterated(walker, argument, value, call.state)
    elements = tuple(element_of(value) for value in values)
    return Series("list", None, series(elements, "tuple"), KNOWN)


def _copies(walker: Walker, call: Call) -> Value:
    if not call.arguments:
        return series(())
    value = bare(call.arguments[0])
    iterated(walker, call.argument_node(), value, call.state)
    if isinstance(value, Series):
        return replace(value, kind="list") if value.kind != "shape" else value
    if isinstance(value, Tensor):
        return Series("list", None, element_of(value), listed_length(value))
    return UNKNOWN


def _hashes(walker: Walker, call: Call) -> Value:
    """`set(values)`: a symbol has no hash."""
    if not call.arguments:
        return Series("set", (), UNKNOWN, Constant(0))
    value = bare(call.arguments[0])
    iterated(walker, call.argument_node(), value, call.state)
    if isinstance(value, Series):
        each = bare(each_of(value))
        if isinstance(each, Unbacked):
            subject = call.argument_node()
            walker.record(call.node, "failure", each, subject=subject, parts=((subject, each),))
        return Series("set", None, each, KNOWN)
    return UNKNOWN


def _reversed(walker: Walker, call: Call) -> Value:
    value = bare(call.first)
    if isinstance(value, Series) and value.items is not None:
        return replace(value, items=tuple(reversed(value.items)), kind="list")
    return value if isinstance(value, Series) else UNKNOWN


def _map(walker: Walker, call: Call) -> Value:
    if len(call.arguments) != 2:
        return UNKNOWN
    iterable = bare(call.arguments[1])
    element = element_of(iterable)
    function = call.arguments[0]
    result: Value = UNKNOWN
    if isinstance(function, Path) and operators().builtins.get(function.name.rsplit(".", 1)[-1]) == "cast":
        plain = bare(element)
        if isinstance(plain, (Unbacked, Tensor)):
            walker.record(call.node, "integer", plain, parts=((call.argument_node(1), plain),), rule="DDE201")
            result = plain if isinstance(plain, Unbacked) else read_number(walker, call.node, plain, call.state, "cast")
        else:
            result = KNOWN
    elif isinstance(function, Function):
        result = invoke(walker, function, [element], {}, call.state, call.node)
    return Series("list", None, result, listed_length(iterable))


def _attribute_test(walker: Walker, call: Call) -> Value:
    """`hasattr(torch.special, "erfcx")`: what a program asks for is there by now."""
    match call.node.args:
        case [module, ast.Constant(value=str())] if (
            walker.index.dotted(module) in operators().regions["growing_modules"]
        ):
            return Constant(True)
    return KNOWN


def _type_test(walker: Walker, call: Call) -> Value:
    if len(call.arguments) != 2 or len(call.node.args) != 2:
        return KNOWN  # `isinstance(*both)`
    value = call.arguments[0]
    tensor = hints.names_tensor(call.node.args[1], call.arguments[1])
    if value == NONE and tensor is not None:
        return Constant(False)
    if tensor is True:
        if isinstance(value, Tensor):
            return Constant(True)
        if isinstance(value, (Unbacked, Series, Table, Known, Constant)):
            return Constant(False)
    if tensor is False and isinstance(value, Tensor):
        return KNOWN
    return KNOWN


def _getattr(walker: Walker, call: Call) -> Value:
    """`getattr(owner, name)`; of a name that is put together, each method whose name begins and ends like it."""
    if len(call.arguments) < 2:
        return UNKNOWN
    owner, name = bare(call.first), call.arguments[1]
    if isinstance(name, Constant) and isinstance(name.value, str):
        names = [name.value]
    elif isinstance(owner, (Instance, ClassReference)) and len(call.node.args) > 1:
        pattern = _pattern_of_text(walker, call.node.args[1], call.state)
        methods = {name for base in walker.index.bases(owner.cls) for name in base.methods}
        names = sorted(filter(pattern.fullmatch, methods)) if pattern is not None else []
    else:
        names = []
    attributes = [ast.copy_location(ast.Attribute(call.argument_node(), n, ast.Load()), call.node) for n in names]
    found = [attribute_of(walker, owner, attribute, call.state) for attribute in attributes]
    return found[0] if len(found) == 1 else alternatives(found)


def _pattern_of_text(walker: Walker, node: ast.expr, state: State) -> re.Pattern[str] | None:
    """A pattern for text that is put together of known and unknown pieces; None where nothing of it is known."""
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            pieces = [left, right]
        case ast.JoinedStr(values=values):
            pieces = [piece.value if isinstance(piece, ast.FormattedValue) else piece for piece in values]
        case _:
            return None
    known = [walker.value_of(piece, state) for piece in pieces]
    texts = [value.value if isinstance(value, Constant) else None for value in known]
    if not any(texts):
        return None
    return re.compile("".join(re.escape(text) if isinstance(text, str) else r"\w+" for text in texts))


def _parent(walker: Walker, call: Call) -> Value:
    owner = walker.frames[-1].owner
    if owner is None:
        return UNKNOWN
    self_value = next(iter(call.state.names.values()), UNKNOWN)
    return Parent(owner, self_value)


def _table(walker: Walker, call: Call) -> Value:
    return Table(dict(call.keywords), UNKNOWN)


Builtin = Callable[[Walker, Call], Value]

BUILTINS: Mapping[str, Builtin] = {
    "cast": _cast,
    "truth": _truth,
    "length": _length,
    "count_up": _range,
    "keeps": keeps,
    **{name: partial(_extreme, pick=pick) for name, pick in EXTREMES.items()},
    "asks_all": _asks_all,
    "compares": compares,
    "text": text_of_values,
    "enumerate": _enumerate,
    "zip": _zip,
    "copies": _copies,
    "hashes": _hashes,
    "reversed": _reversed,
    "map": _map,
    "type_test": _type_test,
    "attribute_test": _attribute_test,
    "attribute": _getattr,
    "parent": _parent,
    "silent": lambda walker, call: UNKNOWN,
    "table": _table,
}
"""By the behaviours that rules/operators.toml names."""
