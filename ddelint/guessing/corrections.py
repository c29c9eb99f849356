"""Other guesses, where one did not run: what the error says is wrong, and what else is usual."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ddelint.guessing.knowledge import Knowledge
from ddelint.guessing.nouns import NAMESPACE, Argument, Code, Guess, Named, Several, Sizes, Tensor, Value, with_size

_MULTIPLES = (2, 4, 8)
"""By how much images and sequences grow that are too small."""
_OF_FEATURES = ("float", "unit", "bool", "double")
MOST_ELEMENTS = 1 << 24
"""Of a tensor: an error's number may be any, and what grows grows again where that did not help."""
_LARGEST = 1024
"""Rows of an image."""


def corrections(guess: Guess, message: str, facts: Knowledge) -> Iterator[Guess]:
    """Other guesses, the likeliest first. `message`: the error as Python prints it, with its type."""
    for other in _others(guess, message, facts):
        if all(math.prod(tensor.sizes) <= MOST_ELEMENTS for _, tensor, _ in _tensors(other)):
            yield other


def _others(guess: Guess, message: str, facts: Knowledge) -> Iterator[Guess]:
    for error in facts.errors:
        match = error.pattern.search(message)
        if match is not None:
            yield from _ACTIONS[error.action](guess, match, message, facts)
    yield from _missed(guess, message)
    yield from _shapes(guess, None, message, facts)


def _replaced(guess: Guess, index: int, value: Value, why: str) -> Guess:
    inputs = list(guess.inputs)
    argument = inputs[index]
    reason = argument.reason.split("; then")[0]
    inputs[index] = replace(argument, value=value, reason=f"{reason}; then {why}")
    return replace(guess, inputs=tuple(inputs))


def _tensors(guess: Guess) -> Iterator[tuple[int, Tensor, Callable[[Value], Value]]]:
    """Each tensor that is passed, with its argument's index and what puts another one in its place."""
    for index, argument in enumerate(guess.inputs):
        if argument.is_given:
            for tensor, put in _inside(argument.value):
                yield index, tensor, put


def _in_list(value: Several, number: int, put: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda new: replace(value, values=(*value.values[:number], put(new), *value.values[number + 1 :]))


def _in_dict(value: Named, key: str, put: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda new: Named({**value.values, key: put(new)})


def _inside(value: Value) -> Iterator[tuple[Tensor, Callable[[Value], Value]]]:
    match value:
        case Tensor():
            yield value, lambda new: new
        case Several(values=values, is_tuple=False) if values and isinstance(values[0], Tensor):
            yield values[0], lambda new: replace(value, values=(new,) * len(values))
        case Several(values=values):
            for number, each in enumerate(values):
                for tensor, put in _inside(each):
                    yield tensor, _in_list(value, number, put)
        case Named(values=named):
            for key, each in named.items():
                for tensor, put in _inside(each):
                    yield tensor, _in_dict(value, key, put)


def _said(match: re.Match[str] | None, name: str) -> int | None:
    text = match.groupdict().get(name) if match is not None else None
    return int(text) if text else None


def _sizes(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    """Where a size of the error is one of a tensor's, the other number takes its place; in either direction."""
    one, other = _said(match, "bad"), _said(match, "good")
    if not one or not other or one == other:
        return
    for bad, good in ((one, other), (other, one)):
        yield from _exchanged(guess, bad, good)
        for index, tensor, put in _tensors(guess):
            for sizes, why in _resized(tensor, bad, good):
                yield _replaced(guess, index, put(replace(tensor, sizes=sizes)), f"{why}, as running it asked")
    yield from _settled(guess, one, other)


def _exchanged(guess: Guess, bad: int, good: int) -> Iterator[Guess]:
    """Each tensor with the good size for the bad one, then all of them."""
    changed = guess
    for index, tensor, put in _tensors(guess):
        if bad in tensor.sizes:
            value = put(replace(tensor, sizes=tuple(good if size == bad else size for size in tensor.sizes)))
            why = f"{good} for {bad}, as running it asked"
            yield _replaced(guess, index, value, why)
            changed = _replaced(changed, index, value, why)
    if changed is not guess:
        yield changed


def _resized(tensor: Tensor, bad: int, good: int) -> Iterator[tuple[Sizes, str]]:
    """Sizes from which the code may make the good number where it made the bad one, and what changed."""
    if len(tensor.sizes) >= 4:
        yield from _wider(tensor.sizes, bad, good)
    for dimension, size in list(enumerate(tensor.sizes))[1:]:  # the bad number is a multiple of it
        if bad != size and bad % size == 0 and (good * size) % bad == 0:
            scaled = good * size // bad
            yield with_size(tensor.sizes, dimension, scaled), f"{scaled} for {size}"
    if tensor.kind in _OF_FEATURES and tensor.sizes:
        last = tensor.sizes[-1]
        if last + good > bad:  # something is put beside it
            yield with_size(tensor.sizes, -1, last + good - bad), f"{last + good - bad} for {last}"
        if bad not in tensor.sizes and good not in tensor.sizes:
            yield with_size(tensor.sizes, -1, good), f"its last size {good}"


def _wider(sizes: Sizes, bad: int, good: int) -> Iterator[tuple[Sizes, str]]:
    """An image with another area: what is flattened behind it has the size that is wanted."""
    *front, height, width = sizes
    ratio = math.sqrt(good / bad)
    wider = (*front, round(height * ratio), round(width * ratio))
    if wider != sizes and all(wider) and max(wider) <= _LARGEST:
        yield wider, "another size"


def _settled(guess: Guess, one: int, other: int) -> Iterator[Guess]:
    """Arguments of the constructor that are one of two numbers become the other."""
    for number, argument in enumerate(guess.init):
        if isinstance(argument.value, Code) and argument.value.text in (str(one), str(other)):
            text = str(other if argument.value.text == str(one) else one)
            new = replace(argument, value=Code(text), reason=f"{argument.reason}; then as running it asked")
            yield replace(guess, init=(*guess.init[:number], new, *guess.init[number + 1 :]))


def _ranks(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    want, have = _said(match, "want"), _said(match, "have")
    shape = match.groupdict().get("shape")
    met = tuple(int(part) for part in shape.split(",") if part.strip()) if shape else None
    if want is None:
        return
    for index, tensor, put in _tensors(guess):
        rank = len(tensor.sizes)
        if (
            rank == want
            or (have is not None and rank != have)
            or (met is not None and tensor.sizes != met and rank != len(met))
        ):
            continue
        for sizes in _of_rank(tensor, want, facts):
            yield _replaced(guess, index, put(replace(tensor, sizes=sizes)), f"{want} dimensions, as running it asked")


def _last(tensor: Tensor, facts: Knowledge) -> int:
    """The size of the last dimension; where there is none, the usual one."""
    return tensor.sizes[-1] if tensor.sizes else facts.sizes["features"]


def _of_rank(tensor: Tensor, want: int, facts: Knowledge) -> Iterator[Sizes]:
    """Usual shapes of that many dimensions which keep the last size, where it was said, or the first."""
    yield from (sizes for sizes in tensor.others if len(sizes) == want)
    size = facts.sizes
    last, channels = _last(tensor, facts), (tensor.sizes[1] if len(tensor.sizes) > 2 else size["channels"])
    batch = size["batch"]
    match want:
        case 1:
            yield (batch,)
            yield (size["sequence"],)
        case 2:
            yield (batch, last)
            yield (size["nodes"], last)
        case 3:
            yield (batch, size["sequence"], last)
            yield (batch, last, size["sequence"])
            yield (channels, size["height"], size["width"])
        case 4:
            yield (batch, channels, size["height"], size["width"])
            yield (batch, last, size["height"], size["width"])
            yield (batch, size["heads"], size["sequence"], size["eight"])
        case 5:
            yield (batch, channels, size["depth"], size["height"], size["width"])
            yield (batch, size["frames"], channels, size["height"], size["width"])


def _kinds(kind: str, from_kinds: tuple[str, ...]) -> Callable[..., Iterator[Guess]]:
    def changed(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
        found = [(i, t, p) for i, t, p in _tensors(guess) if t.kind in from_kinds]
        for index, tensor, put in sorted(found, key=lambda one: one[1].has_kind):
            new = replace(tensor, kind=kind)
            yield _replaced(guess, index, put(new), f"{kind}, as running it asked")
            if kind == "int" and len(tensor.sizes) > 1 and not tensor.has_shape:
                shorter = replace(new, sizes=tensor.sizes[:-1])
                yield _replaced(guess, index, put(shorter), f"{kind}, as running it asked")

    return changed


def _limits(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    for index, tensor, put in _tensors(guess):
        if tensor.kind == "int" and tensor.high > 2:
            for high in (tensor.high // 2, 2):
                yield _replaced(guess, index, put(replace(tensor, high=max(2, high))), "smaller, as running it asked")
        elif tensor.kind == "int" and tensor.high == 2:
            yield _replaced(guess, index, put(replace(tensor, high=1)), "zeros, as running it asked")


def _larger(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    for factor in _MULTIPLES:
        changed = guess
        for index, tensor, put in _tensors(guess):
            least = 3 if len(tensor.sizes) > 3 else 2 if len(tensor.sizes) == 3 else 1
            start = max(2, least - 1) if len(tensor.sizes) > 3 else least
            sizes = tuple(s * factor if d >= start else s for d, s in enumerate(tensor.sizes))
            changed = _replaced(changed, index, put(replace(tensor, sizes=sizes)), "larger, as running it asked")
        if changed is not guess:
            yield changed


def _scalars(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    """A tensor of one number, and one of fewer dimensions, for each of which the text says no shape."""
    for index, tensor, put in sorted(_tensors(guess), key=lambda one: one[1].has_shape):
        for sizes in dict.fromkeys(((), tensor.sizes[:-1])):
            if sizes != tensor.sizes:
                yield _replaced(guess, index, put(replace(tensor, sizes=sizes)), "fewer numbers, as running it asked")


def _shapes(guess: Guess, match: re.Match[str] | None, message: str, facts: Knowledge) -> Iterator[Guess]:
    """Usual shapes of each tensor of which the text does not say one, then of those of which it does."""
    found = list(_tensors(guess))
    for index, tensor, put in sorted(found, key=lambda one: one[1].has_shape):
        last = _last(tensor, facts)
        size = facts.sizes
        tried: list[Sizes] = [*tensor.others]
        if tensor.kind in ("float", "unit"):
            tried += [
                (size["batch"], size["sequence"], last),
                (size["batch"], last),
                (size["batch"], size["channels"], size["height"], size["width"]),
                (size["batch"], last, size["height"], size["width"]),
                (size["batch"],),
                (size["sequence"], last),
            ]
        elif tensor.kind in ("bool", "int", "ones"):
            batch, sequence = size["batch"], size["sequence"]
            tried += [(batch,), (batch, sequence), (sequence,), (batch, sequence, sequence), (size["nodes"],)]
        alike = [(i, t, p) for i, t, p in found if t.sizes == tensor.sizes and i != index]
        for sizes in dict.fromkeys(tried):
            if sizes == tensor.sizes:
                continue
            if alike:
                changed = _replaced(guess, index, put(replace(tensor, sizes=sizes)), "another shape, by trying")
                for i, other, p in alike:
                    changed = _replaced(changed, i, p(replace(other, sizes=sizes)), "another shape, by trying")
                yield changed
            yield _replaced(guess, index, put(replace(tensor, sizes=sizes)), "another shape, by trying")


def _given(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    """Pass arguments that have a default: the first tensors, one after the other."""
    for index, argument in enumerate(guess.inputs):
        if not argument.is_given and not isinstance(argument.value, Code):
            yield _passed(guess, index)


def _settings(guess: Guess, match: re.Match[str], message: str, facts: Knowledge) -> Iterator[Guess]:
    """Pass the constructor an argument that it misses, or give its settings a field."""
    name = match["name"] or match["required"] or match["field"]
    value = facts.number(name)
    if value is None or guess.builder:
        return
    if not match["field"]:
        if all(argument.name != name for argument in guess.init):
            added = Argument(name, Code(value), "running it asked for it", True)
            yield replace(guess, init=(*guess.init, added))
        return
    for index, argument in enumerate(guess.init):
        if not isinstance(argument.value, Code) or not argument.value.text.endswith(")"):
            continue
        head, _, inner = argument.value.text.removesuffix(")").partition("(")
        if head.endswith((NAMESPACE, *facts.settings["class_ends"])):
            fields = ", ".join(filter(None, (inner, f"{name}={value}")))
            new = replace(argument, value=Code(f"{head}({fields})"))
            yield replace(guess, init=(*guess.init[:index], new, *guess.init[index + 1 :]))


def _missed(guess: Guess, message: str) -> Iterator[Guess]:
    """Pass arguments with a default that the error names."""
    for index, argument in enumerate(guess.inputs):
        if not argument.is_given and re.search(rf"\b{re.escape(argument.name)}\b", message):
            yield _passed(guess, index)


def _passed(guess: Guess, index: int) -> Guess:
    argument: Argument = guess.inputs[index]
    given = replace(argument, is_given=True, by_keyword=True, reason=f"running it asked for it; {argument.reason}")
    return replace(guess, inputs=(*guess.inputs[:index], given, *guess.inputs[index + 1 :]))


_ACTIONS: dict[str, Callable[..., Iterator[Guess]]] = {
    "size": _sizes,
    "rank": _ranks,
    "integers": _kinds("int", ("float", "unit")),
    "booleans": _kinds("bool", ("float", "unit", "int", "ones")),
    "floats": _kinds("float", ("int", "bool", "ones", "double")),
    "limit": _limits,
    "larger": _larger,
    "scalar": _scalars,
    "shape": _shapes,
    "give": _given,
    "setting": _settings,
}
