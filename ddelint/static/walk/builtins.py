"""What Python's built-ins make of values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ddelint.operators import operators
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Function,
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
from ddelint.static.transfer.runs import element_of, listed_length
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk import hints
from ddelint.static.walk.binding import iterated
from ddelint.static.walk.functions import invoke
from ddelint.static.walk.objects import attribute_of
from ddelint.static.walk.reading_data import read_number
from ddelint.static.walk.walker import Walker


def _cast(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    value = bare(arguments[0]) if arguments else KNOWN
    subject = node.args[0] if node.args else None
    if isinstance(value, Tensor):
        if value.literal:
            return KNOWN
        walker.record(node, "integer", value, parts=((subject, value),) if subject is not None else ())
        number = read_number(walker, node, value, state, "cast")
        return replace(number, topic="number") if isinstance(number, Unbacked) else number
    if isinstance(value, Unbacked):
        parts = walker.parts(subject, state) if subject is not None else ()
        walker.record(node, "integer", value, parts=parts)
        return value
    return KNOWN


def _truth(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    value = bare(arguments[0]) if arguments else KNOWN
    verdict = decide(value, state.facts)
    if verdict is not None:
        return Constant(verdict)
    if isinstance(value, (Tensor, Unbacked)) and not (isinstance(value, Tensor) and value.literal):
        walker.record(node, "truth", value, parts=walker.parts(_argument(node), state))
    return KNOWN


def _length(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    value = bare(arguments[0]) if arguments else UNKNOWN
    if isinstance(value, Tensor):
        size = walker.numbers.size_of(value, 0, state.facts)
        if isinstance(size, Unbacked):
            walker.record(node, "integer", size, parts=((_argument(node), value),))
        return size
    if isinstance(value, Series):
        return value.length
    return KNOWN


def _range(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    values = [bare(value) for value in arguments]
    for value, argument in zip(values, node.args):
        if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
            subject = argument if len(node.args) == 1 else None
            walker.record(node, "integer", value, subject=subject, parts=walker.parts(argument, state), rule="DDE203")
            break
    if len(values) == 1 and isinstance(values[0], Constant):
        return Series("range", None, KNOWN, values[0])
    return Series("range", None, KNOWN, KNOWN)


def keeps(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    values = [bare(value) for value in arguments]
    if len(values) == 1 and isinstance(values[0], Series):
        values = [bare(values[0].each)]
    for value in values:
        if isinstance(value, Tensor):
            return Tensor(value.dims, value.complete)
    for value in values:
        if isinstance(value, Unbacked):
            return replace(value, form=None, comparisons=())
    return KNOWN if all(isinstance(value, (Constant, Known)) for value in values) else UNKNOWN


def _extremes(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    """`max` and `min`: of symbols they stay symbolic, of tensors they are traced."""
    values = [bare(value) for value in arguments]
    if len(values) == 1:
        only = values[0]
        values = [bare(only.each)] if isinstance(only, Series) else [only]
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
    fraction = any(isinstance(value, Constant) and type(value.value) is float for value in values)
    if fraction and source.topic == "number" and not source.loose:  # integers stay symbolic, what else is compared
        walker.record(node, "truth", source, parts=tuple(zip(node.args, values)), rule="DDE108")
    forms = tuple(getattr(value, "form", None) for value in values)
    form = None
    if None not in forms and len(arguments) > 1:
        form = Linear.of(walker.numbers.symbols.setdefault((ast.dump(node.func), forms), fresh_symbol()))
        if all(state.facts.bounds(each)[0] >= 0 for each in forms if each is not None):
            state.facts.learn_bounds(form, NONNEGATIVE)
    return replace(source, form=form, comparisons=())


def _asks_all(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    value = bare(arguments[0]) if arguments else UNKNOWN
    if isinstance(value, Tensor):
        walker.record(node, "truth", value, parts=((_argument(node), value),))
        return KNOWN
    if isinstance(value, Series):
        for item in value.items if value.items is not None else (value.element,):
            item = bare(item)
            if asks(item) and decide(item, state.facts) is None:
                walker.record(node, "truth", item, parts=((_argument(node), item),))
                break
    return KNOWN


def compares(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    value = bare(arguments[0]) if arguments else UNKNOWN
    if isinstance(value, Series):
        each = bare(value.each)
        if isinstance(each, (Tensor, Unbacked)) and "key" not in keywords:
            subject, rule = _argument(node), ""
            if not node.args and isinstance(node.func, ast.Attribute):  # `values.sort()`
                subject, rule = node.func.value, "DDE108" if isinstance(each, Unbacked) else ""
            walker.record(node, "truth", each, parts=((subject, each),), rule=rule)
        return Series("list", None, value.each, value.length)
    return UNKNOWN


def text_of_values(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    for value, argument in zip(map(bare, arguments), node.args):
        if isinstance(value, Unbacked):
            walker.record(
                node,
                "failure",
                value,
                subject=argument,
                parts=walker.parts(argument, state),
                rule="DDE208",
            )
    return KNOWN


def _enumerate(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    value = bare(arguments[0]) if arguments else UNKNOWN
    if node.args:
        iterated(walker, node.args[0], value, state)
    element = element_of(value)
    if isinstance(value, Series) and value.items is not None:
        return series(tuple(series((Constant(i), item), "tuple") for i, item in enumerate(value.items)))
    return Series("list", None, series((KNOWN, element), "tuple"), listed_length(value))


def _zip(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    values = [bare(value) for value in arguments]
    for value, argument in zip(values, node.args):
        iterated(walker, argument, value, state)
    elements = tuple(element_of(value) for value in values)
    return Series("list", None, series(elements, "tuple"), KNOWN)


def _copies(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    if not arguments:
        return series(())
    value = bare(arguments[0])
    iterated(walker, _argument(node), value, state)
    if isinstance(value, Series):
        return replace(value, kind="list") if value.kind != "shape" else value
    if isinstance(value, Tensor):
        return Series("list", None, element_of(value), listed_length(value))
    return UNKNOWN


def _hashes(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    """`set(values)`: a symbol has no hash."""
    if not arguments:
        return Series("set", (), UNKNOWN, Constant(0))
    value = bare(arguments[0])
    iterated(walker, _argument(node), value, state)
    if isinstance(value, Series):
        each = bare(value.each)
        if isinstance(each, Unbacked):
            subject = _argument(node)
            walker.record(node, "failure", each, subject=subject, parts=((subject, each),))
        return Series("set", None, each, KNOWN)
    return UNKNOWN


def _reversed(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    value = bare(arguments[0]) if arguments else UNKNOWN
    if isinstance(value, Series) and value.items is not None:
        return replace(value, items=tuple(reversed(value.items)), kind="list")
    return value if isinstance(value, Series) else UNKNOWN


def _map(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    if len(arguments) != 2:
        return UNKNOWN
    iterable = bare(arguments[1])
    element = element_of(iterable)
    function = arguments[0]
    result: Value = UNKNOWN
    if isinstance(function, Path) and operators().builtins.get(function.name.rsplit(".", 1)[-1]) == "cast":
        plain = bare(element)
        if isinstance(plain, (Unbacked, Tensor)):
            walker.record(node, "integer", plain, parts=((_argument(node, 1), plain),), rule="DDE201")
            result = plain if isinstance(plain, Unbacked) else read_number(walker, node, plain, state, "cast")
        else:
            result = KNOWN
    elif isinstance(function, Function):
        result = invoke(walker, function, [element], {}, state, node)
    return Series("list", None, result, listed_length(iterable))


def _type_test(
    walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    if len(arguments) != 2 or len(node.args) != 2:
        return KNOWN  # `isinstance(*both)`
    value = arguments[0]
    tensor = hints.names_tensor(node.args[1], walker.index)
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


def _getattr(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    if len(arguments) >= 2 and isinstance(arguments[1], Constant) and isinstance(arguments[1].value, str):
        attribute = ast.Attribute(_argument(node), arguments[1].value, ast.Load())
        return attribute_of(walker, arguments[0], ast.copy_location(attribute, node), state)
    return UNKNOWN


def _parent(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    owner = walker.frames[-1].owner
    if owner is None:
        return UNKNOWN
    self_value = next(iter(state.names.values()), UNKNOWN)
    return Parent(owner, self_value)


def _argument(node: ast.Call, position: int = 0) -> ast.expr:
    """An argument as it is written; the call itself where it is not: `isinstance(*both)`, `partial(len, x)()`."""
    return node.args[position] if position < len(node.args) else node


def _table(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State) -> Value:
    return Table(dict(keywords), UNKNOWN)


Builtin = Callable[[Walker, ast.Call, list[Value], dict[str, Value], State], Value]

BUILTINS: Mapping[str, Builtin] = {
    "cast": _cast,
    "truth": _truth,
    "length": _length,
    "count_up": _range,
    "keeps": keeps,
    "extremes": _extremes,
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
    "attribute_test": lambda walker, node, arguments, keywords, state: KNOWN,
    "attribute": _getattr,
    "parent": _parent,
    "silent": lambda walker, node, arguments, keywords, state: UNKNOWN,
    "table": _table,
}
"""By the behaviours that rules/operators.toml names."""
