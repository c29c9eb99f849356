"""Answers whose shapes are written like an einsum."""

from __future__ import annotations

from collections.abc import Mapping

from ddelint.knowledge.operators import operators
from ddelint.static.domain.values import KNOWN, UNKNOWN, Constant, Series, Tensor, Unbacked, Value, bare
from ddelint.static.transfer.letters import Pattern, Sizes, Token, computed_from, parsed
from ddelint.static.transfer.operator_call import Kernel, OperatorCall
from ddelint.static.transfer.sizes import trail_of


def _by_letters(call: OperatorCall) -> Value:
    letters = parsed(operators().letters[call.name])
    if not letters.without.isdisjoint(call.keywords):
        return UNKNOWN
    tensors = _tensors(call)
    if letters.without and len(call.arguments) > len(tensors) - 1:
        return UNKNOWN
    return _first_that_fits(letters.patterns, tensors, call)


def _einsum(call: OperatorCall) -> Value:
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
    return _first_that_fits((pattern,), tensors, call)


def _first_that_fits(patterns: tuple[Pattern, ...], tensors: list[Tensor], call: OperatorCall) -> Value:
    for pattern in patterns:
        sizes = Sizes()
        if sizes.fits(pattern, tensors):
            return _answer(pattern, sizes, tensors, call)
    return Tensor(boolean=None if call.name in operators().keeps_dtype else False)


def _answer(pattern: Pattern, sizes: Sizes, tensors: list[Tensor], call: OperatorCall) -> Tensor:
    boolean = tensors[0].boolean if call.name in operators().keeps_dtype else False
    dims: list[Value] = []
    for token in pattern.answer:
        if token.text == "..." and sizes.leading is None:
            first = () if sizes.first is None else (sizes.first,)
            return Tensor(first, False, boolean, trail=trail_of(first))
        if token.text == "*" and sizes.rest is None:
            return Tensor(tuple(dims), False, boolean, trail=trail_of(tuple(dims)))
        dims += _sizes_of(token, sizes, call)
    return Tensor(tuple(dims), True, boolean, trail=trail_of(tuple(dims)))


def _sizes_of(token: Token, sizes: Sizes, call: OperatorCall) -> tuple[Value, ...]:
    text = token.text
    if text == "...":
        return sizes.leading or ()
    if text == "*":
        return tuple(computed(size, call) for size in sizes.rest or ())
    if not text:
        given = bare(call.argument(token.position, token.keyword) or KNOWN)
        if isinstance(given, Unbacked):
            return (call.numbers.new_size(given.birth, call.facts, given.trail),)
        return (given if isinstance(given, Constant) and type(given.value) is int else KNOWN,)
    if text.isdigit():
        return (Constant(int(text)),)
    if text.isupper():
        return (computed(computed_from(sizes, text), call),)
    return (sizes.named.get(text, KNOWN),)


def computed(size: Value, call: OperatorCall) -> Value:
    """A size computed from another: of that is only known whether it depends on data."""
    if isinstance(size, Unbacked):
        return call.numbers.new_size(size.birth, call.facts, size.trail)
    return KNOWN


def _matmul(call: OperatorCall) -> Value:
    tensors = _tensors(call)
    if len(tensors) != 2:
        return Tensor(boolean=False)
    return multiplied(*tensors)


def multiplied(one: Tensor, other: Tensor) -> Tensor:
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
        return Tensor(first, False, False, trail=trail_of(first))
    dims = (*sizes.leading, *(sizes.named.get(token.text, KNOWN) for token in pattern.answer[1:]))
    return Tensor(dims, True, False, trail=trail_of(dims))


def _tensors(call: OperatorCall) -> list[Tensor]:
    """The tensors of a call, in the order of its arguments."""
    rest = (*call.arguments, *call.keywords.values())
    return [call.tensor, *(value for value in map(bare, rest) if isinstance(value, Tensor))]


RULES: Mapping[str, Kernel] = {
    "by_letters": _by_letters,
    "einsum": _einsum,
    "matmul": _matmul,
}
