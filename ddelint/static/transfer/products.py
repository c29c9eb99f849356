"""Answers that are put together from the sizes of several tensors: products, pooling, padding, rearranging."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ddelint.operators import operators
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Series,
    Step,
    Tensor,
    Unbacked,
    Value,
    bare,
    series,
)
from ddelint.static.transfer.letters import Pattern, Sizes, Token, computed_from, parsed

if TYPE_CHECKING:
    from ddelint.static.transfer.shapes import OperatorCall
    from ddelint.static.walk.interpreter import Interpreter


class Products:
    """One method for each shape of answer, as in Shapes."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.rules: dict[str, Callable[[OperatorCall], Value]] = {
            "by_letters": self._by_letters,
            "einsum": self._einsum,
            "matmul": self._matmul,
            "padded_by": self._padded,
            "moved": self._moved,
            "unflattened": self._unflattened,
            "differences": self._differences,
            "side_by_side": self._side_by_side,
        }

    # ---- letters

    def _by_letters(self, call: OperatorCall) -> Value:
        letters = parsed(operators().letters[call.name])
        if not letters.without.isdisjoint(call.keywords):
            return UNKNOWN
        tensors = _tensors(call)
        if letters.without and len(call.arguments) > len(tensors) - 1:
            return UNKNOWN
        return self._first_that_fits(letters.patterns, tensors, call)

    def _einsum(self, call: OperatorCall) -> Value:
        text = bare(call.everything[0]) if call.everything else UNKNOWN
        if not isinstance(text, Constant) or not isinstance(text.value, str) or "->" not in text.value:
            return Tensor(boolean=False)
        pattern = parsed(text.value.replace(" ", "")).patterns[0]
        given = [bare(value) for value in call.everything[1:]]
        if len(given) == 1 and isinstance(given[0], Series):
            given = [bare(item) for item in given[0].items or ()]
        tensors = [value for value in given if isinstance(value, Tensor)]
        upper = any(token.text.isupper() or token.text == "_" for token in pattern.answer)
        if len(tensors) != len(pattern.tensors) or upper or any(tokens is None for tokens in pattern.tensors):
            return Tensor(boolean=False)
        return self._first_that_fits((pattern,), tensors, call)

    def _first_that_fits(self, patterns: tuple[Pattern, ...], tensors: list[Tensor], call: OperatorCall) -> Value:
        for pattern in patterns:
            sizes = Sizes()
            if sizes.fits(pattern, tensors):
                return self._answer(pattern, sizes, tensors, call)
        return Tensor(boolean=None if call.name in operators().keeps_dtype else False)

    def _answer(self, pattern: Pattern, sizes: Sizes, tensors: list[Tensor], call: OperatorCall) -> Tensor:
        boolean = tensors[0].boolean if call.name in operators().keeps_dtype else False
        dims: list[Value] = []
        for token in pattern.answer:
            if token.text == "..." and sizes.leading is None:
                first = () if sizes.first is None else (sizes.first,)
                return Tensor(first, False, boolean, trail=_trail_of(first))
            if token.text == "*" and sizes.rest is None:
                return Tensor(tuple(dims), False, boolean, trail=_trail_of(tuple(dims)))
            dims += self._sizes_of(token, sizes, call)
        return Tensor(tuple(dims), True, boolean, trail=_trail_of(tuple(dims)))

    def _sizes_of(self, token: Token, sizes: Sizes, call: OperatorCall) -> tuple[Value, ...]:
        text = token.text
        if text == "...":
            return sizes.leading or ()
        if text == "*":
            return tuple(self._computed(size, call) for size in sizes.rest or ())
        if not text:
            given = bare(call.argument(token.position, token.keyword) or KNOWN)
            if isinstance(given, Unbacked):
                return (self._interpreter.new_size(given.birth, call.state, given.trail),)
            return (given if isinstance(given, Constant) and type(given.value) is int else KNOWN,)
        if text.isdigit():
            return (Constant(int(text)),)
        if text.isupper():
            return (self._computed(computed_from(sizes, text), call),)
        return (sizes.named.get(text, KNOWN),)

    def _computed(self, size: Value, call: OperatorCall) -> Value:
        """A size computed from another: of that is only known whether it depends on data."""
        if isinstance(size, Unbacked):
            return self._interpreter.new_size(size.birth, call.state, size.trail)
        return KNOWN

    # ---- products and paddings

    def _matmul(self, call: OperatorCall) -> Value:
        tensors = _tensors(call)
        if len(tensors) != 2:
            return Tensor(boolean=False)
        return self.multiplied(*tensors)

    def multiplied(self, one: Tensor, other: Tensor) -> Tensor:
        """`one @ other`."""
        text = "...ij,...jk->...ik"
        if one.complete and len(one.dims) == 1:
            text = "i,...ij->...j"
        if other.complete and len(other.dims) == 1:
            text = "...i,i->..."
        pattern = parsed(text).patterns[0]
        sizes = Sizes()
        if not sizes.fits(pattern, [one, other]):
            return Tensor(boolean=False)
        if sizes.leading is None:
            first = () if sizes.first is None else (sizes.first,)
            return Tensor(first, False, False, trail=_trail_of(first))
        dims = (*sizes.leading, *(sizes.named.get(token.text, KNOWN) for token in pattern.answer[1:]))
        return Tensor(dims, True, False, trail=_trail_of(dims))

    def _padded(self, call: OperatorCall) -> Value:
        tensor, widths = call.tensor, bare(call.argument(0, "pad") or UNKNOWN)
        if not isinstance(widths, Series) or widths.items is None or not tensor.complete:
            first = tensor.dims[:1] if tensor.unbacked_dims and tensor.dims else ()
            return Tensor(first, False, tensor.boolean, trail=tensor.trail)
        dims = list(tensor.dims)
        pairs = list(zip(widths.items[::2], widths.items[1::2]))
        if len(pairs) > len(dims):
            return Tensor(boolean=tensor.boolean)
        for back, pair in enumerate(pairs, 1):
            for width in map(bare, pair):
                if isinstance(width, (Unbacked, Constant)):
                    total = self._interpreter.arithmetic(ast.Add, dims[-back], width, call.state, None)
                    dims[-back] = total if not isinstance(total, Unbacked) else self._computed(total, call)
                else:
                    dims[-back] = self._computed(dims[-back], call)
        return Tensor(tuple(dims), True, tensor.boolean, trail=_trail_of(tuple(dims)))

    # ---- rearranging

    def _moved(self, call: OperatorCall) -> Value:
        """`movedim`: one dimension to another place."""
        tensor, source, target = call.tensor, call.integer(0, "source"), call.integer(1, "destination")
        rank = len(tensor.dims)
        if source is None or target is None or not tensor.complete:
            return Tensor(boolean=tensor.boolean)
        if not (-rank <= source < rank and -rank <= target < rank):
            return Tensor(boolean=tensor.boolean)
        dims = list(tensor.dims)
        dims.insert(target % rank, dims.pop(source % rank))
        return tensor.shaped(tuple(dims))

    def _unflattened(self, call: OperatorCall) -> Value:
        tensor, position = call.tensor, call.integer(0, "dim")
        sizes = bare(call.argument(1, "sizes") or UNKNOWN)
        rank = len(tensor.dims)
        if position is None or not tensor.complete or not isinstance(sizes, Series) or sizes.items is None:
            return Tensor(boolean=tensor.boolean)
        if not -rank <= position < rank:
            return Tensor(boolean=tensor.boolean)
        at = position % rank
        inner: list[Value] = []
        for size in map(bare, sizes.items):
            if isinstance(size, Constant) and size.value == -1:
                inner.append(self._computed(tensor.dims[at], call))
            elif isinstance(size, (Constant, Unbacked)):
                inner.append(size)
            else:
                inner.append(KNOWN)
        return tensor.shaped((*tensor.dims[:at], *inner, *tensor.dims[at + 1 :]))

    def _differences(self, call: OperatorCall) -> Value:
        """`diff`: one row less along one dimension."""
        tensor, position = call.tensor, call.integer(1, "dim")
        if call.argument(1, "dim") is None:
            position = -1
        rank = len(tensor.dims)
        if position is None or not tensor.complete or not -rank <= position < rank:
            return Tensor(boolean=tensor.boolean)
        dims = list(tensor.dims)
        size = dims[position]
        if isinstance(size, Unbacked):
            self._interpreter.record(
                call.node, "truth", size, subject=call.tensor_node, operator=call.name, parts=_parts(call)
            )
        dims[position] = self._computed(size, call)
        return tensor.shaped(tuple(dims))

    def _side_by_side(self, call: OperatorCall) -> Value:
        """`hstack` and its kin: `cat` along a dimension that follows from the rank."""
        given = bare(call.everything[0]) if call.everything else UNKNOWN
        items = given.items if isinstance(given, Series) else None
        tensors = [value for value in map(bare, items or ()) if isinstance(value, Tensor) and value.complete]
        if items is None or not tensors or len(tensors) != len(items):
            return Tensor()
        rank = len(tensors[0].dims)
        if any(len(tensor.dims) != rank for tensor in tensors) or rank == 0:
            return Tensor()
        along = operators().side_by_side[call.name]
        if rank == 1 and along != "h":
            rows = [tensor.shaped((Constant(1), *tensor.dims)) for tensor in tensors]
            if along == "c":
                rows = [tensor.shaped((*tensor.dims, Constant(1))) for tensor in tensors]
            return self._joined(rows, 1 if along == "c" else 0, call)
        return self._joined(tensors, 0 if along == "v" or rank == 1 else 1, call)

    def _joined(self, tensors: list[Tensor], position: int, call: OperatorCall) -> Value:
        return self._interpreter.calls.shapes.joined(series(tuple(tensors)), position, call)


def _tensors(call: OperatorCall) -> list[Tensor]:
    """The tensors of a call, in the order of its arguments."""
    rest = (*call.arguments, *call.keywords.values())
    return [call.tensor, *(value for value in map(bare, rest) if isinstance(value, Tensor))]


def _parts(call: OperatorCall) -> tuple[tuple[ast.expr, Value], ...]:
    return ((call.tensor_node, call.tensor),) if call.tensor_node is not None else ()


def _trail_of(dims: tuple[Value, ...]) -> Step | None:
    return next((size.trail for size in dims if isinstance(size, Unbacked)), None)
