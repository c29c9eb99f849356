"""What operators demand of their arguments: numbers that are known while tracing."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddelint.knowledge.operators import StaticPosition, operators
from ddelint.static.domain.demands import Parts
from ddelint.static.domain.facts import Facts
from ddelint.static.domain.joining import each_of
from ddelint.static.domain.values import Constant, Series, Tensor, Unbacked, Value, bare
from ddelint.static.transfer.operator_call import OperatorCall


def demand_static(call: OperatorCall) -> None:
    """Note what the operator demands, whatever it answers."""
    known = operators()
    entry = known.static_positions.get(call.name)
    if entry is not None:
        for value, node in _at(call, entry):
            value = bare(value)
            if isinstance(value, Series) and not entry.numbers_only:
                value = each_of(value)
            if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal and value.scalar):
                call.demand("integer", value, subject=node, operator=call.name, look_into=(node,))
                break
    least = known.asks_of_sizes.get(call.name)
    if least is not None:
        size = next((d for d in call.tensor.unbacked_dims if not least or not _is_at_least(d, least, call.facts)), None)
        if size is not None:
            parts: Parts = ((call.tensor_node, call.tensor),) if call.tensor_node is not None else ()
            call.demand("truth", size, operator=call.name, parts=parts)
    if call.name in known.asks_of_elements:
        parts = ((call.every_node[0], call.everything[0]),) if call.everything and call.every_node else ()
        call.demand("integer", Tensor(), operator=call.name, parts=parts, rule="DDE206")
    needed = known.needs_argument.get(call.name)
    if needed is not None:
        given = call.argument(needed.position - 1, needed.keyword)
        if given is None or (isinstance(given, Constant) and given.value == -1):
            subject = call.tensor_node
            call.demand("integer", call.tensor, subject=subject, operator=call.name)
    if known.returns.get(call.name) in ("creation", "count_up", "square", "permutation"):
        _demand_integers(call, call.everything, call.every_node)
    elif call.name in known.wants_integers:
        _demand_integers(call, call.arguments, call.nodes)


def _is_at_least(size: Unbacked, least: int, facts: Facts) -> bool:
    return size.form is not None and facts.bounds(size.form)[0] >= least


def _at(call: OperatorCall, entry: StaticPosition) -> Iterable[tuple[Value, ast.expr]]:
    values, nodes = (call.everything, call.every_node) if entry.function_only else (call.arguments, call.nodes)
    for keyword in call.node.keywords:
        if keyword.arg == entry.keyword:
            yield call.keywords[entry.keyword], keyword.value
    last = len(values) if entry.rest else entry.position + 1
    for position in range(entry.position, min(last, len(values), len(nodes))):
        yield values[position], nodes[position]


def _demand_integers(call: OperatorCall, values: list[Value], nodes: list[ast.expr]) -> None:
    """A tensor where an int is expected reads an item behind the scenes."""
    asking = operators().wants_integers_asking.get(call.name)
    for position, (value, node) in enumerate(zip(values, nodes)):
        candidates: list[tuple[Value, ast.expr]] = [(value, node)]
        if isinstance(value, Series) and value.items is not None and isinstance(node, (ast.Tuple, ast.List)):
            candidates = list(zip(value.items, node.elts))
        for one, place in candidates:
            one = bare(one)
            if isinstance(one, Tensor) and one.scalar and not one.literal and one.boolean is not True:
                call.demand(
                    "integer",
                    one,
                    subject=place,
                    parts=((place, one),),
                    rule="DDE204",
                    advice=position != asking,
                )
                return
