"""What the real kernels of custom operators return: for which arguments, tensors of which sizes.

Seen in eager runs of the entry, and tried on other values of the same shapes. A try runs in a process of its own,
because a kernel that gets values it was not made for may crash or never return.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import dumps, loads
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace import eager_runs, torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.isolation import Child, Death, Limits, Supervisor

Name = tuple[str, int | str]
"""A number among the arguments: ("x", 0) is a size of `x`, ("x", "elements") their product, ("n", "value") an int,
("rows", "length") how many a list holds."""
Signature = tuple[tuple[str, int, str], ...]
"""Name, rank and dtype of each tensor argument: calls that differ in it may return other things.

A truth value among the arguments stands there with the rank `FLAG` and its value for a dtype.
"""
FLAG = -1
_MOST_CALLS = 32
"""Calls of one operator with one signature that are kept."""
_MOST_NUMBERS = 8
"""Integers among the arguments that are varied."""
_MOST_ELEMENTS = 2**20
"""Of the tensors of a call whose values are kept for trying others."""
_DIMENSIONS = 3
"""Along which arguments are made shorter."""
_LONGER = 32
"""How many times as long arguments are made."""
_LARGEST = 1000
"""An integer that is tried for being larger than each size: a kernel may make a tensor of it, or of its square."""
_SECONDS = 10.0
"""For each try."""


@dataclass(frozen=True)
class Returned:
    """One value that a kernel returned.

    kind: tensor, int, float, bool, none, or list (then `parts`). `order` are a tensor's dimensions from the largest
    stride to the smallest.
    """

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    device: str = ""
    order: tuple[int, ...] = ()
    value: float = 0
    parts: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Call:
    """One call: the numbers among its arguments, and what came back."""

    numbers: Mapping[Name, int]
    returned: Returned
    apart: bool = False
    """Whether sizes that were equal in the program's calls are made to differ here: this shows which argument a size
    comes from, not whether it comes from one."""


@dataclass
class Calls:
    """The calls of one operator with one signature."""

    calls: list[Call] = field(default_factory=list)
    arguments: tuple[Any, Any] | None = None
    """Those of the first call, apart from what later happens to them; None where they are too large to keep."""


def signature_of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Signature:
    """What distinguishes calls whose results must not be compared."""
    named = _named(func, args, kwargs)
    flags = [(name, FLAG, str(value)) for name, value in _flat(named) if isinstance(value, bool)]
    return (*((name, tensor.dim(), str(tensor.dtype)) for name, tensor in _tensors(named)), *flags)


def flipped(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The arguments with one truth value turned round, for each of them that is an argument by itself."""
    names = torch_internals.argument_names(func)
    given = {**dict(zip(names, args)), **kwargs}
    for name, value in {**torch_internals.default_flags(func), **given}.items():
        number = names.index(name)
        if isinstance(value, bool):
            if number < len(args):
                yield (*args[:number], not value, *args[number + 1 :]), kwargs
            else:
                yield args, {**kwargs, name: not value}


def numbers_of(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Name, Any]:
    """The sizes and integers among the arguments (SymInts, where tensors are fake), by name."""
    found: dict[Name, Any] = {}
    named = _named(func, args, kwargs)
    for name, tensor in _tensors(named):
        for dimension, size in enumerate(tensor.shape):
            found[name, dimension] = size
    for name, value in sorted(named.items()):
        if isinstance(value, (list, tuple)):
            found[name, "length"] = len(value)
    for name, value in _flat(named):
        if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
            found[name, "value"] = value
    for name, tensor in _tensors(named):
        found[name, "elements"] = math.prod(tensor.shape)
    return found


def seen_in_eager(entry: Entry, operator: Any, seeds: Sequence[int]) -> dict[Signature, Calls]:
    """The calls of `operator` in eager runs of the entry, one for each seed."""
    found: dict[Signature, Calls] = {}

    class Watch(torch_internals.dispatch_mode()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func is not operator:
                return func(*args, **kwargs)
            known = found.setdefault(signature_of(func, args, kwargs), Calls())
            if not known.calls and _elements(args, kwargs) <= _MOST_ELEMENTS:
                known.arguments = torch_internals.map_tensors(torch.clone, (args, kwargs))
            numbers = numbers_of(func, args, kwargs)
            result = func(*args, **kwargs)
            if len(known.calls) < _MOST_CALLS:
                returned = _returned(result)
                known.calls += [Call(numbers, returned)] if returned is not None else []
            return result

    eager_runs.run_watched(entry, seeds, Watch())
    if not found:  # an operator that only the traced path calls
        with torch_internals.compiling():
            eager_runs.run_watched(entry, seeds, Watch())
    return {signature: calls for signature, calls in found.items() if calls.calls}


def tried(operator: Any, arguments: Sequence[Callable[[], tuple[Any, Any]]]) -> list[Call]:
    """What `operator` returns for other arguments (made by the functions); those that it refuses are left out."""
    calls: list[Call] = []

    def run(supervisor: Supervisor) -> None:
        with torch.no_grad():
            for make in arguments:
                try:
                    args, kwargs = make()
                    numbers = numbers_of(operator, args, kwargs)
                    returned = _returned(operator(*args, **kwargs))
                except Exception:
                    returned, numbers = None, {}
                known = [[*name, size] for name, size in numbers.items()]
                reported = None if returned is None else [known, to_wire(returned)]
                supervisor.send(dumps(reported).encode())

    child = Child.start(run)
    try:
        for _ in arguments:
            answer = child.receive(Limits(_SECONDS))
            if isinstance(answer, Death):
                break
            reported = loads(answer)
            if reported is not None:
                numbers = {(name, key): size for name, key, size in reported[0]}
                calls.append(Call(numbers, _from_wire(reported[1])))
    finally:
        child.kill()
    return calls


def tried_anew(operator: Any, arguments: tuple[Any, Any]) -> list[Call]:
    """What `operator` returns for arguments that no run has seen, and for their variations."""
    return tried(operator, [lambda: arguments, *variations(arguments)])


def variations(arguments: tuple[Any, Any]) -> list[Callable[[], tuple[Any, Any]]]:
    """The same shapes with other values, and a little shorter: what hangs on values shows, and which size is which.

    Integers may be positions: they are taken from elsewhere in the same tensor, so that none is out of range.
    """
    if _on_a_device(arguments):
        return []

    def changed(change: Callable[[torch.Tensor], torch.Tensor], flag: bool) -> Callable[[], tuple[Any, Any]]:
        def one(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.dtype == torch.bool:
                return torch.full_like(tensor, flag)
            return change(tensor) if tensor.is_floating_point() else tensor.clone()

        return lambda: torch_internals.map_tensors(one, arguments)

    def elsewhere(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], tuple[Any, Any]]:
        def one(tensor: torch.Tensor) -> torch.Tensor:
            return change(tensor) if tensor.dim() and tensor.numel() else tensor.clone()

        return lambda: torch_internals.map_tensors(one, arguments)

    def negative(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.abs().neg()

    return [
        changed(torch.neg, False),
        changed(torch.abs, True),
        changed(negative, True),
        changed(torch.zeros_like, False),
        elsewhere(lambda tensor: tensor[:1].expand_as(tensor).clone()),
        elsewhere(lambda tensor: tensor.reshape(-1)[:1].expand(tensor.numel()).reshape(tensor.shape).clone()),
        elsewhere(lambda tensor: tensor.reshape(-1).sort().values.reshape(tensor.shape)),
        *_along_each(_shorter, arguments),
    ]


def each_alone(arguments: tuple[Any, Any]) -> list[Callable[[], tuple[Any, Any]]]:
    """Other values in one tensor alone, for each of the first ones: two sizes that hang on data each in its own way.

    Integers become 0, which no tensor is too short for where they are positions, and often is what marks nothing.
    """

    def turned(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype == torch.bool:
            return ~tensor
        return tensor.neg() if tensor.is_floating_point() else torch.zeros_like(tensor)

    return [*_of_each(turned, arguments), *_of_each(torch.zeros_like, arguments)]


def each_shorter(arguments: tuple[Any, Any]) -> list[Callable[[], tuple[Any, Any]]]:
    """One element less along a dimension of one tensor alone; never a single one, which fits with any number."""

    def shorter(dimension: int, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() <= dimension or tensor.shape[dimension] < 3:
            raise IndexError(dimension)
        return tensor.narrow(dimension, 0, tensor.shape[dimension] - 1).clone()

    return [one for dimension in range(_DIMENSIONS) for one in _of_each(partial(shorter, dimension), arguments)]


def _of_each(
    change: Callable[[torch.Tensor], torch.Tensor], arguments: tuple[Any, Any]
) -> list[Callable[[], tuple[Any, Any]]]:
    """A change of one tensor, for each of the first ones; none where there is but one."""
    if _on_a_device(arguments):
        return []
    count = min(len(_all_tensors(arguments)), _MOST_NUMBERS)

    def changed(chosen: int) -> tuple[Any, Any]:
        numbers = iter(range(len(_all_tensors(arguments))))
        return torch_internals.map_tensors(  # type: ignore[no-any-return]
            lambda tensor: change(tensor) if next(numbers) == chosen else tensor.clone(), arguments
        )

    return [partial(changed, chosen) for chosen in range(count)] if count > 1 else []


def _on_a_device(arguments: tuple[Any, Any]) -> bool:
    """Whether no fork can use the arguments."""
    return any(tensor.device.type == "cuda" for tensor in _all_tensors(arguments))


def _shorter(arguments: tuple[Any, Any], dimension: int, alone: bool) -> tuple[Any, Any]:
    """One element less along a dimension: two sizes that happen to be equal no longer are. Raises IndexError as
    `_resized` does, or where there are too few."""

    def one(tensor: torch.Tensor, length: int) -> torch.Tensor:
        if length < 2:
            raise IndexError(dimension)
        shorter = tensor.narrow(dimension, 0, length - 1).clone()
        may_be_positions = not tensor.is_floating_point() and tensor.dtype != torch.bool and shorter.numel()
        if may_be_positions and int(shorter.min()) >= 0 and int(shorter.max()) < length:
            return shorter.clamp(max=length - 2)
        return shorter

    return _resized(arguments, dimension, alone, one)


def _longer(arguments: tuple[Any, Any], dimension: int, alone: bool) -> tuple[Any, Any]:
    """Many times as long along a dimension: where a kernel cuts at a length, it shows. Raises IndexError as `_resized`
    does, or where all would be too large."""

    def one(tensor: torch.Tensor, length: int) -> torch.Tensor:
        if not length or _elements(*arguments) * _LONGER > _MOST_ELEMENTS:
            raise IndexError(dimension)
        return torch.cat([tensor] * _LONGER, dimension)

    return _resized(arguments, dimension, alone, one)


def _resized(
    arguments: tuple[Any, Any], dimension: int, alone: bool, one: Callable[[torch.Tensor, int], torch.Tensor]
) -> tuple[Any, Any]:
    """The arguments with `one` of each tensor that is as long along a dimension as the first, and of that length.

    `alone`: none of those in lists, which may be weights. Raises IndexError where no tensor has such a dimension.
    """
    kept = {id(tensor) for tensor in _all_tensors(_lists(arguments))} if alone else set()
    lengths = (t.shape[dimension] for t in _all_tensors(arguments) if t.dim() > dimension and id(t) not in kept)
    length = next(lengths, None)
    if length is None:
        raise IndexError(dimension)

    def resized(tensor: torch.Tensor) -> torch.Tensor:
        is_one = tensor.dim() > dimension and tensor.shape[dimension] == length and id(tensor) not in kept
        return one(tensor, length) if is_one else tensor.clone()

    return torch_internals.map_tensors(resized, arguments)  # type: ignore[no-any-return]


def _lists(arguments: tuple[Any, Any]) -> list[Any]:
    """The arguments that are lists or tuples of tensors."""
    args, kwargs = arguments
    return [v for v in (*args, *kwargs.values()) if isinstance(v, (list, tuple)) and _all_tensors(v)]


def _along_each(
    change: Callable[[tuple[Any, Any], int, bool], tuple[Any, Any]], arguments: tuple[Any, Any]
) -> list[Callable[[], tuple[Any, Any]]]:
    """A change along each of the first dimensions: of all tensors, and where some are in lists, of the others."""
    ways = (False, True) if _lists(arguments) else (False,)
    return [partial(change, arguments, dimension, alone) for alone in ways for dimension in range(_DIMENSIONS)]


def with_longer(arguments: tuple[Any, Any]) -> list[Callable[[], tuple[Any, Any]]]:
    """The arguments made longer along one dimension, for each of the first ones."""
    return _along_each(_longer, arguments)


def with_fewer(arguments: tuple[Any, Any]) -> tuple[Any, Any]:
    """One tensor less in each list that is as long as the first one. Raises IndexError where none has two."""
    args, kwargs = torch_internals.map_tensors(torch.clone, arguments)
    lists = _lists((args, kwargs))
    length = len(lists[0])
    if length < 2:
        raise IndexError(length)

    def one(value: Any) -> Any:
        return value[:-1] if any(value is known for known in lists) and len(value) == length else value

    return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


def with_other_numbers(arguments: tuple[Any, Any]) -> list[Callable[[], tuple[Any, Any]]]:
    """For each integer among the arguments, those in lists included: one more, one less, 1, and more than all sizes.

    The last two are for what a size is compared with (`x[:most]`).
    """
    leaves, spec = pytree.tree_flatten(arguments)
    sizes = [size for tensor in _all_tensors(arguments) for size in tensor.shape if size < _LARGEST]
    ends = (1, max(sizes, default=0) + 1)

    def changed(place: int, value: int) -> tuple[Any, Any]:
        other = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        other[place] = value
        made: tuple[Any, Any] = pytree.tree_unflatten(other, spec)
        return made

    integers = [place for place, leaf in enumerate(leaves) if type(leaf) is int]
    return [
        partial(changed, place, value)
        for place in integers[:_MOST_NUMBERS]
        for value in dict.fromkeys((leaves[place] + 1, leaves[place] - 1, *ends))
        if value != leaves[place]
    ]


def invented(args: Any, kwargs: Any, size: Callable[[torch.SymInt, int], int]) -> list[Callable[[], tuple[Any, Any]]]:
    """Real arguments of the shapes of fake ones; `size(symbolic, number of the try)` chooses for unknown sizes."""

    def made(number: int) -> tuple[Any, Any]:
        generator = torch.Generator().manual_seed(number)

        def plain(value: Any) -> Any:
            return size(value, number) if isinstance(value, torch.SymInt) else value

        def one(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return plain(value)
            shape = [plain(n) for n in value.shape]
            if value.dtype.is_floating_point or value.dtype.is_complex:
                return torch.randn(shape, generator=generator, dtype=value.dtype)
            return torch.randint(0, 2 if number else 1, shape, generator=generator).to(value.dtype)

        return torch_internals.map_leaves(one, (args, kwargs))  # type: ignore[no-any-return]

    return [lambda number=number: made(number) for number in range(3)]  # type: ignore[misc]


def _named(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the names of the operator's schema."""
    names = torch_internals.argument_names(func)
    return {**{names[i] if i < len(names) else str(i): value for i, value in enumerate(args)}, **kwargs}


def _flat(named: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(named.items()):
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
        else:
            yield name, value


def _tensors(named: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    yield from ((name, value) for name, value in _flat(named) if isinstance(value, torch.Tensor))


def _all_tensors(tree: Any) -> list[torch.Tensor]:
    return [value for value in torch_internals.leaves(tree) if isinstance(value, torch.Tensor)]


def _elements(args: Any, kwargs: Any) -> int:
    return sum(tensor.numel() for tensor in _all_tensors((args, kwargs)))


def _returned(value: Any) -> Returned | None:
    """A description of a result; None where it holds something that cannot be described."""
    if value is None:
        return Returned("none")
    if isinstance(value, (bool, int, float)):
        return Returned(type(value).__name__, value=value)
    if isinstance(value, (list, tuple)):
        parts = [_returned(item) for item in value]
        return None if None in parts else Returned("list", parts=tuple(parts))
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    strides = value.stride()
    order = sorted(range(value.dim()), key=lambda d: -strides[d]) if 0 not in value.shape else range(value.dim())
    return Returned("tensor", tuple(value.shape), str(value.dtype), value.device.type, tuple(order))


def is_alike(one: Returned, other: Returned) -> bool:
    """Whether two results have the same structure: as many parts, each of the same kind, dtype and rank."""
    kinds = [(found.kind, found.dtype, len(found.shape), len(found.parts)) for found in (one, other)]
    return kinds[0] == kinds[1] and all(is_alike(a, b) for a, b in zip(one.parts, other.parts))


def _from_wire(reported: Mapping[str, Any]) -> Returned:
    parts = tuple(_from_wire(part) for part in reported["parts"])
    return from_wire(Returned, {**reported, "parts": ()}) if not parts else Returned("list", parts=parts)
