"""Lists, tuples and dictionaries of numbers, each with one of its numbers changed; objects, with one of their fields;
lists of tensors, with one more or one less.

One at a time: all at once may come to another side of a decision, where what one of them is for does not show.
"""

from __future__ import annotations

import copy
import functools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.verify.enumerations import as_there, other_members
from ddelint.verify.families import others_of_its_family, texts_beside

_CONTAINERS = (dict, list, tuple)
_PLAIN = (bool, float, int, str, type(None))
_MOST = 3
"""Floats of a container that become infinite."""
_NO_FIELDS = (torch.Tensor, torch.nn.Module, type, FunctionType, MethodType, ModuleType, Enum, *_CONTAINERS)


def places_of_numbers(value: object) -> Sequence[int]:
    """Where among the leaves of a float or a container the numbers stand that may be others: bools, floats, and
    integers that are zero (others may be sizes, or places)."""
    is_any = isinstance(value, (float, *_CONTAINERS)) or of_numpy(value) is not None
    leaves = pytree.tree_leaves(value) if is_any else []
    changed = ((leaf, other_number(leaf)) for leaf in leaves)
    return [place for place, (leaf, other) in enumerate(changed) if other is not leaf and other != leaf]


def with_other_number(value: object, place: int) -> object:
    """A copy of the value with the leaf at the place changed."""
    leaves, spec = pytree.tree_flatten(value)
    leaves[place : place + 1] = map(other_number, leaves[place : place + 1])
    return pytree.tree_unflatten(leaves, spec)


def others_of(value: object) -> Sequence[object]:
    """A container that holds nothing but numbers and texts, with each of its numbers changed in turn; else none."""
    if not _holds_only_plain(value):
        return ()
    return [with_other_number(value, place) for place in places_of_numbers(value)]


def _holds_only_plain(value: object) -> bool:
    return isinstance(value, _CONTAINERS) and all(
        type(leaf) in _PLAIN or of_numpy(leaf) is not None for leaf in pytree.tree_leaves(value)
    )


def extremes_of(value: object, beyond: Sequence[int] = ()) -> Sequence[object]:
    """What else a number may be: a float infinite, zero, negative and NaN, an integer zero, one more and negative, and
    each of `beyond`; a container that holds nothing but numbers and texts, with its first few floats infinite, one at a
    time."""
    if type(value) is float:
        others: Sequence[object] = (math.inf, 0.0, -1.0, math.nan)
    elif type(value) is int:
        others = (0, value + 1, -1, *beyond)
    elif _holds_only_plain(value):
        leaves, spec = pytree.tree_flatten(value)
        places = [place for place, leaf in enumerate(leaves) if type(leaf) is float and leaf != math.inf][:_MOST]
        changed = ([*leaves[:place], math.inf, *leaves[place + 1 :]] for place in places)
        others = [pytree.tree_unflatten(new, spec) for new in changed]
    else:
        return ()
    return [other for other in others if other != value]


def other_fields(value: object, texts: Mapping[str, Sequence[str | int]]) -> Iterator[tuple[str, object]]:
    """Of an object of the user's: a field, and what it becomes, one at a time. Bools are inverted, floats halved, zeros
    made one half or one; a member of an enumeration becomes each other one, a text each other one of `texts`, by name,
    or of the functions beside one that is named so; functions, layers and dtypes become others that take the same;
    lists and dictionaries of numbers have one of these changed."""
    for name, held in _fields_inside(value):
        others: Sequence[object] = [*other_members(held), *others_of(held), *others_of_its_family(held)]
        compared = [one for one in texts.get(name.rpartition(".")[2], ()) if type(one) is type(held)]
        if type(held) is str:
            others = compared or texts_beside(held)
        elif type(held) in _PLAIN or of_numpy(held) is not None:
            other = other_number(held)
            others = [*others, *compared] if other is held else [other, *(one for one in compared if one != other)]
        yield from ((name, other) for other in others if other != held)


def _fields_inside(value: object) -> Iterator[tuple[str, object]]:
    """Its fields, and those of the objects that it holds (`loss.weight`)."""
    for name, held in fields_of(value).items():
        yield name, held
        yield from ((f"{name}.{inner}", one) for inner, one in fields_of(held).items())


def fields_of(value: object) -> Mapping[str, object]:
    """Field → value of an object of the user's: what it was given, what stands in its slots, the fields of a named
    tuple, the items of a dictionary of the user's class by their names, what a `functools.partial` gives by name.
    Nothing for what is no such object."""
    if isinstance(value, functools.partial):
        return value.keywords
    if type(value).__module__.partition(".")[0] in ("builtins", "torch"):
        return {}
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", ()), value))
    if isinstance(value, dict):
        return {name: held for name, held in dict.items(value) if isinstance(name, str) and name.isidentifier()}
    if isinstance(value, _NO_FIELDS):
        return {}
    return {**dict(_in_slots(value)), **getattr(value, "__dict__", {})}


def part_of(value: object, name: str) -> object:
    """What stands under a name in an object of the user's or a dictionary; None where nothing does."""
    if isinstance(value, dict) and dict.__contains__(value, name):
        return dict.__getitem__(value, name)
    own = getattr(value, "__dict__", {}) if isinstance(value, (dict, list)) else {}
    return own[name] if name in own else fields_of(value).get(name)


def _slots(kind: type) -> Sequence[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else slots
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _in_slots(value: object) -> Iterator[tuple[str, object]]:
    """Slot → value; by the slot itself, for a class below may have a property of that name."""
    for kind in type(value).__mro__:
        for name in _slots(kind):
            with suppress(AttributeError, KeyError):
                yield name, vars(kind)[name].__get__(value)


def with_field(name: str, other: object, value: object) -> object:
    """A copy of an object with another value in a field (`loss.weight`: of one that it holds), also of one that forbids
    changes."""
    first, _, inner = name.partition(".")
    held = part_of(value, first)
    new = with_field(inner, other, held) if inner else copy.deepcopy(as_there(other, held))
    if isinstance(value, tuple):
        return type(value)._make(new if each == first else part for each, part in fields_of(value).items())  # type: ignore[attr-defined]
    if isinstance(value, functools.partial):
        return functools.partial(value.func, *value.args, **{**value.keywords, first: new})
    changed = copy.copy(value)
    if isinstance(changed, dict):
        _put(changed, first, new)
    else:
        object.__setattr__(changed, first, new)
    return changed


def _put(changed: dict[Any, object], name: str, value: object) -> None:
    """Put a value where a dictionary has it: among its attributes, its items, or both (which may be the same)."""
    attributes = getattr(changed, "__dict__", {})
    if name in attributes:
        attributes[name] = value
    if name not in attributes or dict.__contains__(changed, name):
        dict.__setitem__(changed, name, value)


def is_of_any_length(value: Any) -> bool:
    """Whether it is a list or tuple of tensors, or a list of numbers, of which there may be more or fewer."""
    if type(value) not in (list, tuple) or not value:
        return False
    are_numbers = type(value) is list and all(type(one) in (int, float) for one in value)
    return are_numbers or all(isinstance(one, torch.Tensor) for one in value)


def with_one_more(value: Any) -> Any:
    """A list, and a copy of its last member behind it."""
    last = value[-1].detach().clone() if isinstance(value[-1], torch.Tensor) else value[-1]
    return type(value)((*value, last))


def with_one_less(value: Any) -> Any:
    """A list without its last member; one that has a single one stays."""
    return value[:-1] or value


def of_numpy(value: Any) -> bool | int | float | None:
    """Python's number for one of numpy's; None for anything else."""
    if type(value).__module__ != "numpy" or getattr(value, "shape", None) != () or hasattr(value, "__setitem__"):
        return None
    with suppress(Exception):
        number = value.item()
        return number if isinstance(number, (bool, int, float)) else None
    return None


def as_numpy(kind: type, *numbers: Any) -> Any:
    """The first of some numbers that a type of numpy's holds (no 402 is a `uint8`); None where it holds none."""
    for number in numbers:
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("error")  # before numpy 2 integers wrap, with a warning
            made = kind(number)
            if made == number or isinstance(number, float):
                return made
    return None


def is_container(value: object) -> bool:
    """Whether it may hold numbers."""
    return isinstance(value, _CONTAINERS)


def other_number(leaf: Any) -> Any:
    """Zero, which hides what is multiplied with it or added, becomes one half, or one."""
    if (python := of_numpy(leaf)) is not None:
        other = other_number(python)
        made = None if other == python or other != other else as_numpy(type(leaf), other)
        return leaf if made is None or made == leaf else made
    if type(leaf) is bool:
        return not leaf
    if type(leaf) is int:
        return leaf or 1
    return (leaf / 2 or 0.5) if type(leaf) is float and math.isfinite(leaf) else leaf
