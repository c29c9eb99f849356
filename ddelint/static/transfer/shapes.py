"""What an operator's answer looks like: one method for each shape of answer named in rules/operators.toml."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ddelint.operators import StaticPosition, operators, terminal_name
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Comparison,
    Constant,
    Known,
    Linear,
    Path,
    Series,
    Step,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    fresh_symbol,
    join,
    replace,
    series,
)
from ddelint.static.transfer.products import Products

if TYPE_CHECKING:
    from ddelint.static.walk.interpreter import Interpreter

_SIZES = (Constant, Known, Unbacked)
_ELEMENT_BY_ELEMENT = frozenset(("same", "same_number", "same_mask", "broadcast", "broadcast_mask", "converted"))
"""Of one number that the compiler knows, answers of these shapes are one that it knows."""


@dataclass
class OperatorCall:
    """One call of an operator: as a method, `tensor` is the receiver; as a function, its first argument."""

    node: ast.Call
    name: str
    tensor: Tensor
    arguments: list[Value]
    """Positional arguments after the tensor."""
    nodes: list[ast.expr]
    """Their nodes."""
    keywords: dict[str, Value]
    state: State
    method: bool
    everything: list[Value] = field(default_factory=list)
    """All positional arguments of a function, the tensor included."""
    every_node: list[ast.expr] = field(default_factory=list)
    tensor_node: ast.expr | None = None

    def argument(self, position: int, *names: str) -> Value | None:
        """An argument after the tensor, by position or by one of its names."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.arguments[position] if position < len(self.arguments) else None

    def node_of(self, position: int, *names: str) -> ast.expr | None:
        """The node of that argument."""
        for keyword in self.node.keywords:
            if keyword.arg in names:
                return keyword.value
        return self.nodes[position] if position < len(self.nodes) else None

    def integer(self, position: int, *names: str) -> int | None:
        """The argument where it is a literal int."""
        value = self.argument(position, *names)
        return value.value if isinstance(value, Constant) and type(value.value) is int else None


class Shapes:
    """Computes answers. `answer` looks the operator up; unknown operators give UNKNOWN."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.products = Products(interpreter)
        self._rules: dict[str, Callable[[OperatorCall], Value]] = {
            "same": lambda c: c.tensor.renewed(),
            "same_number": lambda c: replace(c.tensor.renewed(), boolean=False, offsets=False),
            "same_mask": lambda c: replace(c.tensor.renewed(), boolean=True, offsets=False),
            "running_total": lambda c: replace(c.tensor.renewed(), boolean=False, offsets=True),
            "broadcast": self._broadcast,
            "broadcast_mask": self._broadcast_mask,
            "reduction": self._reduction,
            "reduction_mask": self._reduction,
            "reduction_pair": self._reduction_pair,
            "pair_of_scalars": self._pair_of_scalars,
            "pair": self._pair,
            "loss": self._loss,
            "zero_dimensional": lambda c: Tensor((), True, False),
            "tensor": lambda c: Tensor(trail=c.tensor.trail),
            "nonzero": self._nonzero,
            "selection": self._selection,
            "unique": self._unique,
            "bincount": self._selection,
            "repeat_interleave": self._repeat_interleave,
            "where": self._where,
            "item": lambda c: self.number(c.node, c.tensor, c.state, "item"),
            "list_of_items": self._list_of_items,
            "question": self._question,
            "sizes": self._sizes,
            "rank": lambda c: Constant(len(c.tensor.dims)) if c.tensor.complete else KNOWN,
            "element_count": self._element_count,
            "creation": self._creation,
            "new_creation": self._creation,
            "creation_full": self._creation_full,
            "creation_of_integers": self._creation_of_integers,
            "like": self._like,
            "square": self._square,
            "count_up": self._count_up,
            "permutation": self._square,
            "literal": self._literal,
            "reshaped": self._reshaped,
            "expanded": self._expanded,
            "same_as_argument": self._same_as_argument,
            "converted": self._converted,
            "flattened": self._flattened,
            "unsqueezed": self._unsqueezed,
            "squeezed": self._squeezed,
            "swapped": self._swapped,
            "reversed": self._reversed,
            "permuted": self._permuted,
            "repeated": self._repeated,
            "narrowed": self._narrowed,
            "picked": self._picked,
            "indexed": self._indexed,
            "concatenated": self._concatenated,
            "stacked": self._stacked,
            "pieces": self._pieces,
            "tensors": lambda c: Series("tuple", None, Tensor()),
            "padded": lambda c: Tensor(),
            **self.products.rules,
        }

    def answer(self, call: OperatorCall) -> Value:
        """The operator's answer; arguments that must be static, or be ints, are asked for on the way."""
        behaviour = operators().returns.get(call.name)
        if behaviour is None and call.name not in operators().asks_of_elements:
            return UNKNOWN
        self._demand_static(call)
        if behaviour is None:
            return UNKNOWN
        answer = self._rules[behaviour](call)
        if call.name in operators().origins or call.tensor.content is not None:
            answer = self._interpreter.origins.annotated(call, answer)
        if behaviour in _ELEMENT_BY_ELEMENT and isinstance(answer, Tensor) and answer.scalar:
            return replace(answer, literal=_of_literals(call, behaviour))
        return answer

    # ---- demands of operators

    def _demand_static(self, call: OperatorCall) -> None:
        known = operators()
        entry = known.static_positions.get(call.name)
        if entry is not None:
            for value, node in self._at(call, entry):
                value = bare(value)
                if isinstance(value, Series) and not entry.numbers_only:
                    value = value.each
                if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal and value.scalar):
                    parts = self._interpreter.parts(node, call.state)
                    self._interpreter.record(call.node, "integer", value, subject=node, operator=call.name, parts=parts)
                    break
        if call.name in known.asks_of_sizes and call.tensor.unbacked_dims:
            parts = ((call.tensor_node, call.tensor),) if call.tensor_node is not None else ()
            size = call.tensor.unbacked_dims[0]
            self._interpreter.record(call.node, "truth", size, operator=call.name, parts=parts)
        if call.name in known.asks_of_elements:
            parts = ((call.every_node[0], call.everything[0]),) if call.everything and call.every_node else ()
            self._interpreter.record(call.node, "integer", Tensor(), operator=call.name, parts=parts, rule="DDE206")
        needed = known.needs_argument.get(call.name)
        if needed is not None:
            given = call.argument(needed.position - 1, needed.keyword)
            if given is None or (isinstance(given, Constant) and given.value == -1):
                subject = call.tensor_node
                self._interpreter.record(call.node, "integer", call.tensor, subject=subject, operator=call.name)
        if known.returns.get(call.name) in ("creation", "count_up", "square", "permutation"):
            self._demand_integers(call, call.everything, call.every_node)
        elif call.name in known.wants_integers_later:
            self._demand_integers(call, call.arguments, call.nodes)

    def _at(self, call: OperatorCall, entry: StaticPosition) -> Iterable[tuple[Value, ast.expr]]:
        values, nodes = (call.everything, call.every_node) if entry.function_only else (call.arguments, call.nodes)
        for keyword in call.node.keywords:
            if keyword.arg == entry.keyword:
                yield call.keywords[entry.keyword], keyword.value
        last = len(values) if entry.rest else entry.position + 1
        for position in range(entry.position, min(last, len(values), len(nodes))):
            yield values[position], nodes[position]

    def _demand_integers(self, call: OperatorCall, values: list[Value], nodes: list[ast.expr]) -> None:
        """A tensor where an int is expected reads an item behind the scenes."""
        asking = operators().wants_integers_asking.get(call.name)
        for position, (value, node) in enumerate(zip(values, nodes)):
            candidates: list[tuple[Value, ast.expr]] = [(value, node)]
            if isinstance(value, Series) and value.items is not None and isinstance(node, (ast.Tuple, ast.List)):
                candidates = list(zip(value.items, node.elts))
            for one, place in candidates:
                one = bare(one)
                if isinstance(one, Tensor) and one.scalar and not one.literal and one.boolean is not True:
                    self._interpreter.record(
                        call.node,
                        "integer",
                        one,
                        subject=place,
                        parts=((place, one),),
                        rule="DDE204",
                        advice=position != asking,
                    )
                    return

    # ---- elementwise

    def broadcast(self, values: tuple[Value, ...], mask: bool = False, bitwise: bool = False) -> Tensor:
        """Elementwise over several values, the tensors of which decide the shape."""
        tensors = [value for value in map(bare, values) if isinstance(value, Tensor)]
        unknown = any(isinstance(bare(value), (type(UNKNOWN), Path)) for value in values)
        boolean: bool | None = mask
        if bitwise:
            kinds = {tensor.boolean for tensor in tensors}
            boolean = True if kinds == {True} and not unknown else (None if None in kinds or unknown else False)
        elif (
            not mask
            and any(tensor.boolean is not False for tensor in tensors)
            and all(tensor.boolean for tensor in tensors)
        ):
            boolean = None
        offsets = any(tensor.offsets for tensor in tensors) and not mask
        trail = next((tensor.trail for tensor in tensors if tensor.unbacked_dims), None)
        dims: tuple[Value, ...] = ()
        complete = not unknown and all(tensor.complete for tensor in tensors)
        if complete:
            rank = max((len(tensor.dims) for tensor in tensors), default=0)
            merged: list[Value] = []
            for position in range(rank):
                sizes = [
                    tensor.dims[position - rank + len(tensor.dims)]
                    for tensor in tensors
                    if position - rank + len(tensor.dims) >= 0
                ]
                merged.append(_broadcast_size(sizes))
            dims = tuple(merged)
        elif len(tensors) == 1 and not unknown:
            dims = tensors[0].dims
        else:
            # ranks unknown: only where the one with a data-dependent first dimension meets plain numbers or scalars
            others = [tensor for tensor in tensors if not tensor.scalar]
            if len(others) == 1 and not unknown:
                dims = others[0].dims
        literal = complete and not dims and all(map(_is_literal, values))
        merged_tensor = Tensor(dims, complete, boolean, literal, offsets, trail=trail)
        shaped = [tensor for tensor in tensors if not tensor.scalar]
        if len(shaped) == 1 and not unknown:
            return replace(merged_tensor, outline=shaped[0].outline)
        return merged_tensor

    def _broadcast(self, call: OperatorCall) -> Value:
        if call.method or call.tensor_node is not None:
            return self.broadcast((call.tensor, *call.arguments[:2]))
        return self.broadcast(tuple(call.everything))

    def _broadcast_mask(self, call: OperatorCall) -> Value:
        return self.broadcast((call.tensor, *call.arguments[:1]), mask=True)

    # ---- reductions

    def _dimension(self, call: OperatorCall, position: int = 0) -> Value | None:
        value = call.argument(position, "dim", "axis")
        if isinstance(value, Path):
            return None
        return None if isinstance(value, Constant) and value.value is None else value

    def _reduced(self, call: OperatorCall, dimension: Value | None, keep: Value | None, boolean: bool | None) -> Tensor:
        tensor = call.tensor
        if dimension is None:
            return Tensor((), True, boolean, trail=tensor.trail)
        keeps = isinstance(keep, Constant) and bool(keep.value)
        positions: list[int] = []
        for value in dimension.items or () if isinstance(dimension, Series) else (dimension,):
            if isinstance(value, Constant) and type(value.value) is int:
                positions.append(value.value)
        wanted = len(dimension.items or ()) if isinstance(dimension, Series) else 1
        settled = keep is None or isinstance(keep, Constant)
        if not tensor.complete or len(positions) != wanted or not positions or not settled:
            return Tensor((), False, boolean, trail=tensor.trail)
        gone = {position % len(tensor.dims) for position in positions} if tensor.dims else set()
        dims: list[Value] = []
        for position, size in enumerate(tensor.dims):
            if position not in gone:
                dims.append(size)
            elif keeps:
                dims.append(Constant(1))
        return Tensor(tuple(dims), True, boolean, trail=tensor.trail)

    def _reduction(self, call: OperatorCall) -> Value:
        mask = operators().returns[call.name] == "reduction_mask"
        order = call.argument(0, "p", "q", "ord") if call.name in operators().order_first else None
        if isinstance(bare(order or KNOWN), Tensor):
            return Tensor(boolean=False)  # several quantiles at once
        position = 0 if order is None else 1
        dimension = self._dimension(call, position)
        return self._reduced(call, dimension, call.argument(position + 1, "keepdim"), mask)

    def _reduction_pair(self, call: OperatorCall) -> Value:
        other = bare(call.argument(0, "other") or UNKNOWN)
        if isinstance(other, Tensor):
            return self.broadcast((call.tensor, other))
        counted = 1 if call.name in operators().count_first else 0
        dimension = self._dimension(call, counted)
        if dimension is None and len(call.arguments) == counted:
            if call.name not in operators().always_pairs:
                return self._reduced(call, None, None, call.tensor.boolean)
            dimension = Constant(-1)
        if dimension is None or (dimension == UNKNOWN and "dim" not in call.keywords):
            return UNKNOWN
        keep = call.argument(1 + counted, "keepdim")
        values = self._reduced(call, dimension, keep, call.tensor.boolean)
        indices = self._reduced(call, dimension, keep, False)
        return series((values, indices), "pair")

    def _pair_of_scalars(self, call: OperatorCall) -> Value:
        dimension = self._dimension(call)
        one = self._reduced(call, dimension, call.argument(1, "keepdim"), call.tensor.boolean)
        return series((one, one.renewed()), "pair")

    def _pair(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        count = call.argument(0, "k") if call.name in operators().cut_to else None
        if count is not None:
            position = call.integer(1, "dim")
            if call.argument(1, "dim") is None:
                position = -1
            size = bare(count)
            rank = len(tensor.dims)
            if position is None or not tensor.complete or not -rank <= position < rank:
                tensor = tensor.shaped(tensor.dims[:1] if len(tensor.dims) > 1 and position == -1 else (), False)
            else:
                dims = list(tensor.dims)
                dims[position] = size if isinstance(size, (Constant, Unbacked)) else KNOWN
                tensor = tensor.shaped(tuple(dims))
        return series((tensor.renewed(), replace(tensor.renewed(), boolean=False)), "pair")

    def _loss(self, call: OperatorCall) -> Value:
        reduction = call.keywords.get("reduction")
        if reduction is None:
            return Tensor((), True, False)
        if isinstance(reduction, Constant):
            if reduction.value == "none":
                return Tensor((), False, False)
            return Tensor((), True, False)
        return Tensor((), False, False)

    # ---- data-dependent sizes

    def _born(self, call: OperatorCall, says: str, remembered: bool = False) -> Unbacked:
        """A size that the operator makes; where `remembered`, the same one each time for the same tensor."""
        step = Step(call.node, operators().says.get(says, ""), None)
        form: Linear | None = None
        if remembered:
            form = Linear.of(self._interpreter.derived.setdefault((call.tensor.serial, "nonzero"), fresh_symbol()))
        return self._interpreter.new_size(call.node, call.state, step, form)

    def _nonzero(self, call: OperatorCall) -> Value:
        count = self._born(call, "nonzero", True)
        if call.tensor.complete and len(call.tensor.dims) == 1:
            self._interpreter.at_most(count, call.tensor.dims[0], call.state)
        as_tuple = call.argument(0, "as_tuple")
        if isinstance(as_tuple, Constant) and as_tuple.value:
            return self._indices(call, count)
        if as_tuple is not None and not isinstance(as_tuple, Constant):
            return UNKNOWN
        rank: Value = Constant(len(call.tensor.dims)) if call.tensor.complete else KNOWN
        return Tensor((count, rank), True, False, trail=count.trail)

    def _indices(self, call: OperatorCall, count: Unbacked) -> Value:
        one = Tensor((count,), True, False, trail=count.trail)
        if call.tensor.complete:
            return series(tuple(one.renewed() for _ in call.tensor.dims), "tuple")
        return Series("tuple", None, one)

    def _selection(self, call: OperatorCall) -> Value:
        count = self._born(call, operators().returns[call.name])
        return Tensor((count,), True, call.tensor.boolean, trail=count.trail)

    def _unique(self, call: OperatorCall) -> Value:
        count = self._born(call, "unique")
        self._not_empty(count, call)
        extras = [call.keywords.get("return_inverse"), call.keywords.get("return_counts")]
        if any(extra is not None and not isinstance(extra, Constant) for extra in extras):
            return UNKNOWN
        if len(call.arguments) > 1:
            return UNKNOWN
        dimension = self._dimension(call, 9)
        if dimension is None:
            values = Tensor((count,), True, call.tensor.boolean, trail=count.trail)
        elif isinstance(dimension, Constant) and dimension.value == 0:
            dims = (count, *call.tensor.dims[1:])
            values = Tensor(dims, call.tensor.complete, call.tensor.boolean, trail=count.trail)
        else:
            values = Tensor(trail=count.trail)
        wanted = [bool(extra.value) if isinstance(extra, Constant) else False for extra in extras]
        if not any(wanted):
            return values
        items: list[Value] = [values]
        if wanted[0]:
            items.append(replace(call.tensor.renewed(), boolean=False))
        if wanted[1]:
            items.append(Tensor((count,), True, False, trail=count.trail))
        return series(tuple(items), "tuple")

    def _not_empty(self, count: Unbacked, call: OperatorCall) -> None:
        """There is one distinct element at least where there are any; and there are not more than elements."""
        whole = form_of(self.element_count(call.tensor, call.state))
        if whole is None or count.form is None:
            return
        call.state.facts.learn(Comparison(count.form.plus(whole, -1), ast.LtE))
        if call.state.facts.bounds(whole)[0] >= 1:
            self._interpreter.origins.learn(count.form, 1, None, operators().reasons["unique"])

    def _repeat_interleave(self, call: OperatorCall) -> Value:
        output = call.keywords.get("output_size")
        repeats = bare(call.argument(0, "repeats") or UNKNOWN)
        lone = call.argument(0, "repeats") is None
        dimension = call.integer(1, "dim")
        has_dimension = call.argument(1, "dim") is not None
        if not lone and not isinstance(repeats, Tensor):
            if isinstance(repeats, Unbacked):
                size: Value = self._interpreter.new_size(repeats.birth, call.state, repeats.trail)
            elif isinstance(repeats, (Constant, Known)):
                size = KNOWN
            else:
                return Tensor()
        elif output is not None:
            size = bare(output)
        else:
            size = self._born(call, "repeat_interleave")
        trail = size.trail if isinstance(size, Unbacked) else None
        if lone or not has_dimension:
            return Tensor((size,), True, call.tensor.boolean, trail=trail)
        dims = list(call.tensor.dims)
        if dimension is not None and -len(dims) <= dimension < len(dims) and (call.tensor.complete or dimension >= 0):
            dims[dimension] = size
            return Tensor(tuple(dims), call.tensor.complete, call.tensor.boolean, trail=trail)
        if dimension == 0:
            return Tensor((size,), False, call.tensor.boolean, trail=trail)
        return Tensor(trail=trail)

    def _where(self, call: OperatorCall) -> Value:
        if not call.method and len(call.everything) == 1 and not call.keywords:
            return self._indices(call, self._born(call, "where", True))
        choices = [bare(value) for value in (*call.arguments[:2], *call.keywords.values())]
        merged = self.broadcast((call.tensor, *choices))
        kinds = [choice.boolean if isinstance(choice, Tensor) else False for choice in choices]
        boolean = True if kinds and all(kinds) else (False if kinds and False in kinds and None not in kinds else None)
        return replace(merged, boolean=boolean)

    # ---- reading data

    def number(self, node: ast.expr, tensor: Tensor, state: State, says: str) -> Value:
        """The number that a tensor of one element holds; the same symbol each time the same tensor is read."""
        if tensor.literal:
            return KNOWN
        key = (tensor.serial, "item")
        symbol = self._interpreter.derived.get(key)
        if symbol is None:
            symbol = self._interpreter.derived[key] = fresh_symbol()
            self._interpreter.calls.noted_read(node, tensor, state)
        topic = "bool" if tensor.boolean else "number"
        trail = Step(node, operators().says.get(says, ""), None)
        number = Unbacked(topic, node, Linear.of(symbol), trail=trail, offsets=tensor.offsets)
        if tensor.content is not None:
            self._interpreter.origins.read(number, tensor)
        return number

    def _list_of_items(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        if tensor.scalar:
            return self.number(call.node, tensor, call.state, "item")
        trail = Step(call.node, operators().says.get("list_of_items", ""), None)
        element: Value = Unbacked(
            "bool" if tensor.boolean else "number",
            call.node,
            Linear.of(fresh_symbol()),
            trail=trail,
            group=call.node,
            offsets=tensor.offsets,
        )
        if tensor.literal:
            element = KNOWN
        if not tensor.dims:
            return Series("list", None, element, KNOWN)
        first = tensor.dims[0]
        if isinstance(first, Unbacked):
            self._interpreter.record(
                call.node, "operator", first, operator=operators().iteration, subject=call.tensor_node
            )
        result: Value = element
        for size in reversed(tensor.dims if tensor.complete else tensor.dims[:1]):
            result = Series("list", None, result, size)
        return result

    def _question(self, call: OperatorCall) -> Value:
        value = Unbacked("bool", call.node, None, trail=Step(call.node, operators().says.get("question", ""), None))
        self._interpreter.record(call.node, "operator", value, operator=call.name, parts=((call.node, value),))
        return KNOWN

    # ---- sizes

    def _sizes(self, call: OperatorCall) -> Value:
        position = call.argument(0, "dim")
        if position is None:
            return self._interpreter.shape_of(call.tensor, call.state)
        if isinstance(position, Constant) and type(position.value) is int:
            return self._interpreter.size_of(call.tensor, position.value, call.state)
        return KNOWN

    def _element_count(self, call: OperatorCall) -> Value:
        return self.element_count(call.tensor, call.state)

    def element_count(self, tensor: Tensor, state: State) -> Value:
        """How many elements the tensor has."""
        if tensor.complete:
            return self._interpreter.product(tensor.dims, state)
        form = self._interpreter.symbol_form((tensor.outline, "numel"), state)
        if tensor.unbacked_dims:
            return replace(tensor.unbacked_dims[0], form=form)
        return Known(form)

    def _size_list(self, values: list[Value], state: State, origin: ast.expr) -> tuple[tuple[Value, ...], bool]:
        """Sizes given as ints or as one sequence; the flag says whether they are all of them."""
        if len(values) == 1 and isinstance(bare(values[0]), Series):
            only = bare(values[0])
            assert isinstance(only, Series)
            if only.items is None:
                return (), False
            values = list(only.items)
        sizes: list[Value] = []
        for value in values:
            value = bare(value)
            if isinstance(value, Tensor) and value.scalar and not value.literal:
                sizes.append(self._interpreter.new_size(origin, state, Step(origin, operators().says["item"], None)))
            elif isinstance(value, Unbacked):
                if value.form is not None:
                    state.facts.learn_bounds(value.form, NONNEGATIVE)
                sizes.append(_as_size(value))
            elif isinstance(value, _SIZES):
                sizes.append(value)
            elif value == UNKNOWN:
                sizes.append(KNOWN)
            else:
                return tuple(sizes), False
        return tuple(sizes), True

    # ---- creation

    def _boolean_of(self, call: OperatorCall, default: bool | None) -> bool | None:
        kind = call.keywords.get("dtype")
        if kind is None:
            return default
        return _mask_type(kind)

    def _creation(self, call: OperatorCall) -> Value:
        values = call.arguments if call.method else call.everything
        given = call.keywords.get("size")
        dims, complete = self._size_list([given] if given is not None else values, call.state, call.node)
        default = None if call.method else False
        if call.method and call.tensor.boolean is False:
            default = False
        return Tensor(dims, complete, self._boolean_of(call, default), trail=_trail_of(dims))

    def _creation_full(self, call: OperatorCall) -> Value:
        values = call.arguments if call.method else call.everything
        size = call.keywords.get("size") or (values[0] if values else UNKNOWN)
        fill = call.keywords.get("fill_value") or (values[1] if len(values) > 1 else UNKNOWN)
        dims, complete = self._size_list([size], call.state, call.node)
        default = isinstance(fill, Constant) and isinstance(fill.value, bool)
        return Tensor(dims, complete, self._boolean_of(call, default), trail=_trail_of(dims))

    def _creation_of_integers(self, call: OperatorCall) -> Value:
        size = call.keywords.get("size") or next((v for v in call.everything if isinstance(bare(v), Series)), None)
        if size is None:
            return Tensor(boolean=False)
        dims, complete = self._size_list([size], call.state, call.node)
        return Tensor(dims, complete, False, trail=_trail_of(dims))

    def _like(self, call: OperatorCall) -> Value:
        tensor = call.tensor.renewed()
        return replace(tensor, boolean=self._boolean_of(call, tensor.boolean), offsets=False)

    def _square(self, call: OperatorCall) -> Value:
        dims, complete = self._size_list(call.everything[:2], call.state, call.node)
        if operators().returns[call.name] == "square" and len(dims) == 1:
            dims = (dims[0], dims[0])
        return Tensor(dims, complete, False, trail=_trail_of(dims))

    def _count_up(self, call: OperatorCall) -> Value:
        values = [bare(value) for value in call.everything]
        for name in ("start", "end", "step"):
            if name in call.keywords:
                values.append(bare(call.keywords[name]))
        if len(values) == 1:
            dims, complete = self._size_list(values, call.state, call.node)
            return Tensor(dims, complete, False, trail=_trail_of(dims))
        if len(values) == 2 and all(isinstance(value, _SIZES) for value in values):
            size = self._interpreter.arithmetic(ast.Sub, values[1], values[0], call.state, call.node)
            if isinstance(size, Unbacked):
                if size.form is not None:
                    call.state.facts.learn_bounds(size.form, NONNEGATIVE)
                size = _as_size(size)
            return Tensor((size,), True, False, trail=_trail_of((size,)))
        for value in values:
            if isinstance(value, Unbacked):
                size = self._interpreter.new_size(value.birth, call.state, value.trail)
                return Tensor((size,), True, False, trail=value.trail)
        return Tensor((KNOWN,), True, False)

    def _literal(self, call: OperatorCall) -> Value:
        values = call.arguments if call.method else call.everything
        content = bare(values[0] if values else call.keywords.get("data", UNKNOWN))
        if isinstance(content, Tensor):
            return content
        boolean = self._boolean_of(call, None)
        dims: list[Value] = []
        current: Value = content
        while isinstance(current, Series):
            dims.append(current.length)
            current = bare(current.each)
        if isinstance(current, Path) and current.name.partition(".")[0] in operators().regions["eager_libraries"]:
            content = current = KNOWN  # math.pi
        if current == UNKNOWN or not isinstance(current, (Constant, Known, Unbacked, Tensor)):
            return Tensor((), False, boolean)
        literal = isinstance(current, (Constant, Known)) and _all_settled(content)
        if boolean is None and isinstance(current, Constant):
            boolean = isinstance(current.value, bool)
        return Tensor(tuple(dims), True, boolean, literal=literal, trail=_trail_of(tuple(dims)))

    # ---- views

    def _reshaped(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        if any(isinstance(value, Path) for value in call.arguments) or not call.arguments:
            given = call.keywords.get("shape") or call.keywords.get("size")
            if given is None:
                return Tensor()
            dims, complete = self._size_list([given], call.state, call.node)
        else:
            dims, complete = self._size_list(call.arguments, call.state, call.node)
        known: list[Value] = []
        explicit = any(isinstance(size, Unbacked) for size in dims)
        inferred = any(isinstance(size, Constant) and size.value == -1 for size in dims)
        settled = tensor.complete or tensor.outline in self._interpreter.given
        if explicit and inferred and settled and not tensor.unbacked_dims:
            source = next(size for size in dims if isinstance(size, Unbacked))
            self._interpreter.record(call.node, "other", source, rule="DDE309", advice=True, parts=self._given(call))
        for size in dims:
            if isinstance(size, Constant) and size.value == -1:
                if tensor.unbacked_dims and not explicit:
                    source = tensor.unbacked_dims[0]
                    if tensor.complete and len(tensor.dims) == 1 and len(dims) == 1:
                        known.append(tensor.dims[0])
                    else:
                        known.append(self._interpreter.new_size(source.birth, call.state, source.trail))
                else:
                    known.append(KNOWN)
            else:
                known.append(size)
        return Tensor(tuple(known), complete, tensor.boolean, offsets=tensor.offsets, trail=_trail_of(tuple(known)))

    def _given(self, call: OperatorCall) -> tuple[tuple[ast.expr, Value], ...]:
        return tuple(part for node in call.nodes for part in self._interpreter.parts(node, call.state))

    def _expanded(self, call: OperatorCall) -> Value:
        dims, complete = self._size_list(call.arguments, call.state, call.node)
        tensor = call.tensor
        known: list[Value] = []
        for position, size in enumerate(dims):
            if isinstance(size, Constant) and size.value == -1:
                back = position - len(dims)
                own = tensor.dims[back] if tensor.complete and -back <= len(tensor.dims) else KNOWN
                known.append(own)
            else:
                known.append(size)
        return Tensor(tuple(known), complete, tensor.boolean, trail=_trail_of(tuple(known)))

    def _same_as_argument(self, call: OperatorCall) -> Value:
        other = bare(call.arguments[0]) if call.arguments else UNKNOWN
        if isinstance(other, Tensor):
            return Tensor(other.dims, other.complete, call.tensor.boolean, trail=other.trail)
        return Tensor(boolean=call.tensor.boolean)

    def _converted(self, call: OperatorCall) -> Value:
        boolean = call.tensor.boolean
        for value, node in (
            *zip(call.arguments, call.nodes),
            *((call.keywords[k.arg], k.value) for k in call.node.keywords if k.arg in ("dtype", "other")),
        ):
            value = bare(value)
            if isinstance(value, Path):
                boolean = _mask_type(value)
            elif isinstance(value, Tensor):
                boolean = value.boolean
            elif terminal_name(node) in ("dtype", "target_dtype") or (value == UNKNOWN and boolean):
                boolean = None if terminal_name(node) != "device" else boolean
        return replace(call.tensor.renewed(), boolean=boolean)

    def _flattened(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        start = call.integer(0, "start_dim")
        if call.argument(0, "start_dim") is None:
            start = 0
        end = call.integer(1, "end_dim")
        if call.argument(1, "end_dim") is None:
            end = -1
        if start is None or end is None:
            return Tensor(boolean=tensor.boolean)
        if not tensor.complete:
            if start == 0 and end == -1:
                if tensor.unbacked_dims:
                    source = tensor.unbacked_dims[0]
                    size: Value = self._interpreter.new_size(source.birth, call.state, source.trail)
                    return Tensor((size,), True, tensor.boolean, trail=tensor.trail)
                return Tensor((KNOWN,), True, tensor.boolean)
            if 0 < start <= len(tensor.dims):
                return tensor.shaped(tensor.dims[:start], False)
            return Tensor(boolean=tensor.boolean)
        rank = len(tensor.dims)
        if rank == 0:
            return tensor.shaped((Constant(1),))
        first, last = start % rank, end % rank
        merged = self._interpreter.product(tensor.dims[first : last + 1], call.state)
        if isinstance(merged, Unbacked):
            merged = _as_size(merged)
        return tensor.shaped((*tensor.dims[:first], merged, *tensor.dims[last + 1 :]))

    def _unsqueezed(self, call: OperatorCall) -> Value:
        tensor, position = call.tensor, call.integer(0, "dim")
        if position is None:
            return Tensor(boolean=tensor.boolean)
        if position < 0:
            if not tensor.complete:
                leading = tensor.dims[:1] if tensor.dims and position == -1 else ()
                return tensor.shaped(leading, False)
            position += len(tensor.dims) + 1
        if position > len(tensor.dims):
            return tensor.shaped(tensor.dims, False)
        return tensor.shaped((*tensor.dims[:position], Constant(1), *tensor.dims[position:]), tensor.complete)

    def _squeezed(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        given = call.argument(0, "dim")
        if given is None:
            kept: list[Value] = []
            for size in tensor.dims:
                if isinstance(size, Known):
                    return tensor.shaped(tuple(kept), False)
                if not (isinstance(size, Constant) and size.value == 1):
                    kept.append(size)
            return tensor.shaped(tuple(kept), tensor.complete)
        position = call.integer(0, "dim")
        if position is None or not tensor.dims:
            return Tensor(boolean=tensor.boolean)
        if position < 0:
            if not tensor.complete:
                return tensor.shaped(tensor.dims[:1] if position == -1 and len(tensor.dims) > 1 else (), False)
            position += len(tensor.dims)
        if not 0 <= position < len(tensor.dims):
            return tensor.shaped(tensor.dims, False)
        size = tensor.dims[position]
        if isinstance(size, Constant):
            if size.value != 1:
                return tensor
            return tensor.shaped((*tensor.dims[:position], *tensor.dims[position + 1 :]), tensor.complete)
        if isinstance(size, Unbacked):
            return tensor
        if position == len(tensor.dims) - 1 and tensor.complete and position > 0:
            # x.nonzero().squeeze(1): people squeeze what they know to be 1
            return tensor.shaped(tensor.dims[:position])
        return tensor.shaped(tensor.dims[:position], False)

    def _swapped(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        first, second = call.integer(0, "dim0"), call.integer(1, "dim1")
        if not tensor.complete or first is None or second is None:
            return Tensor(boolean=tensor.boolean)
        dims = list(tensor.dims)
        try:
            dims[first], dims[second] = dims[second], dims[first]
        except IndexError:
            return Tensor(boolean=tensor.boolean)
        return tensor.shaped(tuple(dims))

    def _reversed(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        return tensor.shaped(tuple(reversed(tensor.dims)) if tensor.complete else (), tensor.complete)

    def _permuted(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        order, complete = self._size_list(call.arguments, call.state, call.node)
        positions = [v.value for v in order if isinstance(v, Constant) and type(v.value) is int]
        if not tensor.complete or not complete or len(positions) != len(tensor.dims):
            return Tensor(boolean=tensor.boolean)
        try:
            return tensor.shaped(tuple(tensor.dims[position] for position in positions))
        except IndexError:
            return Tensor(boolean=tensor.boolean)

    def _repeated(self, call: OperatorCall) -> Value:
        times, complete = self._size_list(call.arguments, call.state, call.node)
        tensor = call.tensor
        if tensor.complete and complete and len(times) == len(tensor.dims):
            dims = tuple(self._interpreter.product(pair, call.state) for pair in zip(times, tensor.dims))
            return tensor.shaped(dims)
        return Tensor(boolean=tensor.boolean)

    def _narrowed(self, call: OperatorCall) -> Value:
        tensor, position = call.tensor, call.integer(0, "dim")
        length, complete = self._size_list([call.argument(2, "length") or UNKNOWN], call.state, call.node)
        if position is None or not complete:
            return Tensor(boolean=tensor.boolean)
        dims = list(tensor.dims)
        if -len(dims) <= position < len(dims) and (position >= 0 or tensor.complete):
            dims[position] = length[0]
            return tensor.shaped(tuple(dims), tensor.complete)
        if position == len(dims) and not tensor.complete:
            return tensor.shaped((*dims, length[0]), False)
        return Tensor(boolean=tensor.boolean)

    def _picked(self, call: OperatorCall) -> Value:
        tensor, position = call.tensor, call.integer(0, "dim")
        dims = list(tensor.dims)
        if position is None or not (-len(dims) <= position < len(dims)) or not tensor.complete:
            return Tensor(boolean=tensor.boolean)
        del dims[position]
        return tensor.shaped(tuple(dims))

    def _indexed(self, call: OperatorCall) -> Value:
        tensor, position = call.tensor, call.integer(0, "dim")
        index = bare(call.argument(1, "index") or UNKNOWN)
        if position is None or not isinstance(index, Tensor):
            return Tensor(boolean=tensor.boolean)
        size: Value = index.dims[0] if index.dims else KNOWN
        dims = list(tensor.dims)
        if -len(dims) <= position < len(dims) and (position >= 0 or tensor.complete):
            dims[position] = size
            return tensor.shaped(tuple(dims), tensor.complete)
        if position == 0:
            return tensor.shaped((size,), False)
        return Tensor(boolean=tensor.boolean)

    # ---- several tensors

    def _concatenated(self, call: OperatorCall) -> Value:
        given = bare(call.everything[0] if call.everything else call.keywords.get("tensors", UNKNOWN))
        position = call.integer(0, "dim", "axis")
        if call.argument(0, "dim", "axis") is None:
            position = 0
        return self.joined(given, position, call)

    def joined(self, given: Value, position: int | None, call: OperatorCall) -> Value:
        """A run of tensors, one behind the other along a dimension."""
        if not isinstance(given, Series):
            return Tensor()
        tensors = [bare(item) for item in (given.items if given.items is not None else (given.element,))]
        if not tensors or not all(isinstance(item, Tensor) for item in tensors) or position is None:
            return Tensor()
        kept = [item for item in tensors if isinstance(item, Tensor)]
        first = kept[0]
        boolean = first.boolean if all(item.boolean == first.boolean for item in kept) else None
        if given.items is None and first.unbacked_dims and position == 0 and first.dims:
            source = first.unbacked_dims[0]
            total: Value = self._interpreter.new_size(source.birth, call.state, source.trail)
            return Tensor((total, *first.dims[1:]), first.complete, boolean, trail=source.trail)
        if not all(item.complete and len(item.dims) == len(first.dims) for item in kept):
            if position == 0 and all(item.dims for item in kept):
                return Tensor((self._total([item.dims[0] for item in kept], call.state),), False, boolean)
            return Tensor(boolean=boolean)
        if not -len(first.dims) <= position < len(first.dims):
            return Tensor(boolean=boolean)
        dims = [join_sizes([item.dims[at] for item in kept]) for at in range(len(first.dims))]
        dims[position] = KNOWN
        if given.items is not None:
            dims[position] = self._total([item.dims[position] for item in kept], call.state)
        return Tensor(tuple(dims), True, boolean, trail=_trail_of(tuple(dims)))

    def _total(self, sizes: list[Value], state: State) -> Value:
        total: Value = Constant(0)
        for size in sizes:
            total = self._interpreter.arithmetic(ast.Add, total, size, state, None)
        return _as_size(total) if isinstance(total, Unbacked) else total

    def _stacked(self, call: OperatorCall) -> Value:
        given = bare(call.everything[0] if call.everything else UNKNOWN)
        position = call.integer(0, "dim")
        if call.argument(0, "dim") is None:
            position = 0
        if not isinstance(given, Series) or position is None:
            return Tensor()
        each = bare(given.each)
        if not isinstance(each, Tensor):
            return Tensor()
        if position < 0:
            if not each.complete:
                return Tensor(boolean=each.boolean)
            position += len(each.dims) + 1
        if position > len(each.dims):
            return Tensor(boolean=each.boolean)
        dims = (*each.dims[:position], given.length, *each.dims[position:])
        return Tensor(dims, each.complete, each.boolean, trail=_trail_of(dims))

    def _pieces(self, call: OperatorCall) -> Value:
        tensor = call.tensor
        counted = call.argument(0, *_COUNTS)
        unbinds = call.name in operators().row_by_row
        position = call.integer(0 if unbinds else 1, "dim")
        if call.argument(0 if unbinds else 1, "dim") is None:
            position = 0
        how = bare(counted) if counted is not None and not unbinds else UNKNOWN
        if call.name in operators().tensor_offsets and isinstance(how, Tensor) and not how.literal:
            subject = call.node_of(0, "indices_or_sections", "indices", "tensor_indices_or_sections")
            parts: tuple[tuple[ast.expr, Value], ...] = ((subject, how),) if subject is not None else ()
            self._interpreter.record(call.node, "other", how, subject=subject, parts=parts, rule="DDE303")
        size = tensor.dims[position] if position is not None and 0 <= position < len(tensor.dims) else KNOWN
        if isinstance(size, Unbacked) and not isinstance(how, (Series, Tensor)):
            parts = ((call.tensor_node, tensor),) if call.tensor_node is not None else ()
            self._interpreter.record(
                call.node, "operator", size, operator=call.name, subject=call.tensor_node, parts=parts
            )
        if unbinds:
            dims, complete = (tensor.dims[1:] if position == 0 else ()), tensor.complete and bool(tensor.dims)
            if complete and position is not None and -len(tensor.dims) <= position < len(tensor.dims):
                rest = list(tensor.dims)
                size = rest.pop(position)
                dims = tuple(rest)
            else:
                complete = False
            return Series("tuple", None, tensor.shaped(dims, complete), size)
        dims_list = list(tensor.dims) if tensor.complete or position == 0 else []
        piece: Value = KNOWN
        if isinstance(how, Series) and isinstance(bare(how.each), Unbacked):
            source = bare(how.each)
            assert isinstance(source, Unbacked)
            piece = self._interpreter.new_size(source.birth, call.state, source.trail)
        elif isinstance(how, Tensor) or isinstance(size, Unbacked):
            piece = self._interpreter.new_size(call.node, call.state, None)
        if position is not None and -len(dims_list) <= position < len(dims_list):
            dims_list[position] = piece
        elif position == 0:
            dims_list = [piece]
        length = how.length if isinstance(how, Series) else KNOWN
        return Series("tuple", None, tensor.shaped(tuple(dims_list), tensor.complete and bool(dims_list)), length)


_COUNTS = ("chunks", "split_size_or_sections", "split_size", "split_sizes", "indices_or_sections", "indices")
"""What the argument that says how to cut a tensor is called."""


def join_sizes(sizes: list[Value]) -> Value:
    """A size that several tensors share: the one that is known best."""
    for size in sizes:
        if isinstance(size, Constant):
            return size
    result = sizes[0]
    for size in sizes[1:]:
        result = join(result, size)
    return result if isinstance(result, _SIZES) else KNOWN


def _broadcast_size(sizes: list[Value]) -> Value:
    others = [size for size in sizes if not (isinstance(size, Constant) and size.value == 1)]
    if not others:
        return sizes[0]
    for size in others:
        if isinstance(size, (Constant, Known)):
            return size
    return others[0]


def _as_size(value: Unbacked) -> Unbacked:
    return replace(value, topic="input" if value.topic == "input" else "size", group=None)


def _mask_type(kind: Value) -> bool | None:
    if isinstance(kind, Path):
        return kind.name.rsplit(".", 1)[-1] == "bool"
    return None


def _all_settled(value: Value) -> bool:
    if isinstance(value, Series):
        return all(_all_settled(item) for item in (value.items if value.items is not None else (value.element,)))
    return isinstance(value, (Constant, Known))


def _is_literal(value: Value) -> bool:
    """Whether a tracer knows the value: a Python number, or a tensor of one number that is built from such."""
    value = bare(value)
    return value.literal and value.scalar if isinstance(value, Tensor) else isinstance(value, (Constant, Known))


def _of_literals(call: OperatorCall, behaviour: str) -> bool:
    """Whether an answer of one number is one that a tracer computes along with the program."""
    if call.name in operators().random or not _is_literal(call.tensor):
        return False
    given = (*call.arguments, *call.keywords.values())
    # what a tensor is converted to is a type or a place, never its content
    return behaviour == "converted" or all(isinstance(value, Path) or _is_literal(value) for value in given)


def _trail_of(dims: tuple[Value, ...]) -> Step | None:
    return next((size.trail for size in dims if isinstance(size, Unbacked)), None)
