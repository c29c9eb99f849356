"""Subscripts of tensors: `x[mask]`, `x[:n]`, `x[i, None, ...]`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.facts import Facts
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.masks import named_a_mask
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Known,
    Series,
    Step,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    replace,
)
from ddelint.static.transfer.elementwise import broadcast
from ddelint.static.walk.walker import Walker


def index_tensor(walker: Walker, node: ast.Subscript, tensor: Tensor, state: State) -> Value:
    """The value of `tensor[…]`, noting slices and indices that ask."""
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return UNKNOWN  # `state["count"]`: whatever the annotation says, no tensor is asked for that
    remaining: list[Value] = list(tensor.dims)
    exact = tensor.complete
    result: list[Value] = []
    sizes_known = True
    """Whether `result` is the whole list of leading dimensions so far."""
    advanced: list[Tensor] = []
    advanced_at = -1
    trail = tensor.trail

    def take() -> Value:
        if remaining:
            return remaining.pop(0)
        return Known()

    kept: list[tuple[ast.expr, ast.expr, Value]] = []
    for position, item in enumerate(items):
        if isinstance(item, ast.Slice):
            size = take()
            result.append(_slice_size(walker, node, item, size, state, kept))
            continue
        if isinstance(item, ast.Constant) and item.value is Ellipsis:
            rest = items[position + 1 :]
            wanted = sum(not _adds_dimension(entry) for entry in rest)
            if exact and len(remaining) >= wanted:
                while len(remaining) > wanted:
                    result.append(remaining.pop(0))
            else:
                sizes_known = False
                remaining = []
            continue
        value = bare(walker.evaluate(item, state))
        if isinstance(value, Tensor) and value.boolean is None and named_a_mask(terminal_name(item)):
            value = replace(value, boolean=True)
        if value == NONE or (isinstance(item, ast.Constant) and item.value is None):
            result.append(Constant(1))
        elif isinstance(value, Tensor):
            if value.boolean and (not value.complete or value.dims):
                flat = value.complete and len(value.dims) == 1
                masked = walker.numbers.size_of(tensor, len(result), state.facts) if flat and sizes_known else None
                for _ in range(len(value.dims) if value.complete else 1):
                    take()
                if not value.complete:
                    remaining, exact = [], False
                memo = walker.numbers.symbols.setdefault((value.serial, "nonzero"), fresh_symbol())
                count = walker.numbers.new_size(node, state.facts, None, Linear.of(memo))
                trail = Step(node, operators().says["index"], None)
                count = Unbacked("size", node, count.form, trail=trail)
                if masked is not None:
                    walker.numbers.at_most(count, value.dims[0], state.facts)
                    walker.numbers.at_most(count, masked, state.facts)
                value = Tensor((count,), True, False)
            elif value.scalar and value.boolean is False and isinstance(node.ctx, ast.Load) and not value.literal:
                take()
                walker.record(node, "integer", value, subject=item, parts=((item, value),), rule="DDE204")
                continue
            else:
                take()
                if value.boolean is None and not value.scalar:
                    sizes_known = sizes_known and bool(value.dims or value.complete)
                    if not value.unbacked_dims:
                        # perhaps a mask: then everything behind it is unknown, too
                        remaining, exact = [], False
                elif value.unbacked_dims and value.trail is not None:
                    trail = value.trail
            if advanced_at < 0:
                advanced_at = len(result)
            advanced.append(value)
        elif isinstance(value, Series):
            take()
            if advanced_at < 0:
                advanced_at = len(result)
            advanced.append(Tensor((value.length if isinstance(value.length, Unbacked) else KNOWN,), True, False))
        elif isinstance(value, (Constant, Known)) or (isinstance(value, Unbacked) and not value.loose):
            take()
        else:
            # an int drops a dimension, an index tensor doesn't
            take()
            sizes_known = False
    _report_slices(walker, node, kept, state)
    if advanced:
        merged = broadcast(tuple(advanced))
        if isinstance(merged, Tensor):
            if sizes_known and (merged.complete or merged.dims):
                result[advanced_at:advanced_at] = merged.dims
                if not merged.complete:
                    del result[advanced_at + len(merged.dims) :]
                    remaining, exact = [], False
            else:
                sizes_known = False
    content = tensor.content
    if content is not None and content.ascending and advanced:
        content = replace(content, ascending=False)
    if not sizes_known:
        unbacked = [d for d in result if isinstance(d, Unbacked)]
        return (
            Tensor((), False, tensor.boolean, offsets=tensor.offsets, content=content, trail=trail)
            if not unbacked
            else Tensor(
                tuple(unbacked[:1]) if isinstance(result[0], Unbacked) else (), False, tensor.boolean, trail=trail
            )
        )
    return Tensor((*result, *remaining), exact, tensor.boolean, offsets=tensor.offsets, content=content, trail=trail)


def stored_at(walker: Walker, node: ast.Subscript, state: State) -> None:
    """`x[…] = v`: a 0-d tensor as an index, or as a bound of a slice, is read as an int."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for item in items:
        parts = (item.lower, item.upper) if isinstance(item, ast.Slice) else (item,)
        for part in parts:
            if part is None:
                continue
            value = bare(walker.value_of(part, state))
            if isinstance(value, Tensor) and value.scalar and not value.literal:
                walker.record(node, "integer", value, subject=part, parts=((part, value),), rule="DDE204")


def _adds_dimension(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _slice_size(
    walker: Walker,
    node: ast.Subscript,
    item: ast.Slice,
    size: Value,
    state: State,
    kept: list[tuple[ast.expr, ast.expr, Value]],
) -> Value:
    """The size that a slice leaves; its data-dependent bounds are collected in `kept`."""
    bounds = {
        name: bare(walker.evaluate(part, state))
        for name, part in (("lower", item.lower), ("upper", item.upper), ("step", item.step))
        if part is not None
    }
    asking = [
        (item, part, bounds[name])
        for name, part in (("lower", item.lower), ("upper", item.upper))
        if part is not None and _asks(bounds[name])
    ]
    kept += asking
    if asking:
        left = walker.numbers.new_size(node, state.facts, Step(node, operators().says["slice"], None))
        if list(bounds) == ["upper"]:
            _learn_least(left, [bounds["upper"], size], state.facts)
        return left
    lower, upper, step = bounds.get("lower"), bounds.get("upper"), bounds.get("step")
    if upper is None and step is None and (lower is None or lower in (NONE, Constant(0))):
        return size
    if not isinstance(size, Unbacked):
        ends = (_integer(upper), _integer(size))
        if lower is None and step is None and ends[0] is not None and ends[1] is not None and ends[0] >= 0:
            return Constant(min(ends[0], ends[1]))
        return KNOWN
    if step is None and upper is None and isinstance(lower, Constant):
        # x[1:] of an unknown number of rows: one less, if there are any
        return Unbacked(
            "size",
            size.birth,
            Linear.of(walker.numbers.symbols.setdefault((node, "rest"), fresh_symbol())),
            trail=size.trail,
        )
    return walker.numbers.new_size(size.birth, state.facts, size.trail)


def _learn_least(left: Unbacked, ends: Sequence[Value], facts: Facts) -> None:
    """The first rows of a tensor are as many as the bound says, or as there are."""
    forms = [form for form in map(form_of, ends) if form is not None]
    least = min((facts.bounds(form)[0] for form in forms), default=0)
    if len(forms) == len(ends) and left.form is not None and least > 0:
        facts.learn_bounds(left.form, (least, math.inf))


def _integer(value: Value | None) -> int | None:
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


def _asks(value: Value) -> bool:
    if isinstance(value, Tensor):
        return not value.literal
    return isinstance(value, Unbacked)


def _report_slices(
    walker: Walker, node: ast.Subscript, kept: list[tuple[ast.expr, ast.expr, Value]], state: State
) -> None:
    """Data-dependent bounds: a tensor is an implicit item, running totals are offsets, all else loses its size."""
    if not kept or not isinstance(node.ctx, ast.Load):
        return
    for item, _, _ in kept:
        mine = [(part, value) for owner, part, value in kept if owner is item]
        tensors = [(part, value) for part, value in mine if isinstance(value, Tensor)]
        if tensors:
            part, value = tensors[0]
            walker.record(node, "integer", value, subject=part, parts=tuple(tensors), rule="DDE204", advice=True)
            return
        rule = "DDE302" if _are_offsets([value for _, value in mine]) else "DDE301"
        bound, number = mine[-1]
        subject = item if len(mine) > 1 else bound
        parts = tuple(found for part, _ in mine for found in walker.parts(part, state))
        walker.record(node, "other", number, subject=subject, parts=parts or tuple(mine), rule=rule)
        return


def _are_offsets(bounds: list[Value]) -> bool:
    """Whether both bounds are numbers of one list: `x[offsets[i]:offsets[i + 1]]`."""
    if len(bounds) != 2:
        return False
    first, second = bounds
    if not isinstance(first, Unbacked) or not isinstance(second, Unbacked) or first.group is None:
        return False
    if first.group is not second.group:
        return False
    return (first.offsets and second.offsets) or all(_is_element(value) for value in (first, second))


def _is_element(value: Unbacked) -> bool:
    """Whether the number was read as it is: no sum, no running total of Python's."""
    return value.form is not None and value.form.constant == 0 and [c for _, c in value.form.terms] == [1]
