"""The same inputs of a program that was made otherwise: a setting, a global or a buffer that its decisions read is
another one, or two of them are.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from types import CellType, FunctionType
from typing import Any

import torch

from ddelint.verify.calls import module_of
from ddelint.verify.enumerations import as_there, other_members, said
from ddelint.verify.flags import FLAG
from ddelint.verify.members import (
    as_numpy,
    extremes_of,
    fields_of,
    is_container,
    of_numpy,
    others_of,
    part_of,
    with_field,
)
from ddelint.verify.own_words import (
    found_by_the_class,
    is_descriptor,
    is_of_the_class,
    said_by_the_class,
    said_otherwise,
)
from ddelint.verify.reach import DEFAULTS, KEYWORD_DEFAULTS, Reached
from ddelint.verify.samples import Sample, is_ordinary

_MOST_SETTINGS, _MOST_INTEGERS, _MOST_BUFFERS, _MOST_MEMBERS, _MOST_LISTED = 4, 2, 2, 4, 4
_MOST_GLOBALS, _MOST_TEXTS, _MOST_PAIRS = 3, 3, 8
_LARGEST = 1 << 20
"""Elements of a buffer up to which it is turned round."""

NO_DEFAULTS: Mapping[str, object] = {}
Change = Callable[[Sample], Sample]


def other_settings(
    program: Any, names: Mapping[str, bool], defaults: Mapping[str, object] = NO_DEFAULTS
) -> Iterator[partial[Sample]]:
    """Changes of an input set: an attribute of these names that a module of the user's was made with, one at a time.

    `names`: `least`, `config.least` of an object that the module holds, or a pattern (`least_*`), and whether a
    decision's test rests on it. Bools are inverted, floats halved, and zero becomes one half: a fill or factor that
    begins as zero or one hides what it is for; so are numbers in a list or a dictionary, one at a time. Integers become
    two more than twice as much where a test rests on them, or where they are zero, and are else left alone, for sizes
    and counts of layers go together. The rows of a buffer that is saved stand in reverse: an order that begins as 0, 1,
    2, … changes nothing. A member of an enumeration becomes each other one. What is not there is what is taken for it
    (`defaults`), changed in the same way. So is what a property or a method says that gives a constant, for a subclass
    to say otherwise, and what a `__getattr__` of the user's finds.
    """
    left = {
        bool: _MOST_SETTINGS,
        int: _MOST_INTEGERS,
        torch.Tensor: _MOST_BUFFERS,
        Enum: _MOST_MEMBERS,
        list: _MOST_LISTED,
    }
    for path, name, value, is_tested in _settings(program, names, defaults):
        for other in _other_values(value, is_tested=is_tested):
            kind = _kind(other)
            if left[kind]:
                left[kind] -= 1
                yield partial(_with_setting, path, name, other)


def extreme_settings(program: Any, names: Mapping[str, bool], beyond: Sequence[int] = ()) -> Iterator[partial[Sample]]:
    """Changes of an input set as in `other_settings`: floats infinite, zero, negative and NaN, integers that a test
    rests on, or that are one, zero, one more and negative, of the first few settings that are any; one at a time."""
    yield from _in_turn(
        [partial(_with_setting, path, name, other) for other in extremes_of(value, beyond)]
        for path, name, value, is_tested in _settings(program, names)
        if is_tested or type(value) is not int or value == 1
    )


def _settings(
    program: Any, names: Mapping[str, bool], defaults: Mapping[str, object] = NO_DEFAULTS
) -> Iterator[tuple[str, str, object, bool]]:
    """(path of a module of the user's, attribute, value, whether a decision's test rests on it), each once."""
    known: set[tuple[str, str]] = set()
    owner = module_of(program)
    for (pattern, is_tested), place in itertools.product(
        names.items(), owner.named_modules() if owner is not None else ()
    ):
        path, module = place
        if type(module).__module__.partition(".")[0] == "torch":
            continue
        is_absent = pattern in defaults and _value_of(module, pattern) is None and _may_be_set(module, pattern)
        for name in [pattern] if is_absent else _names_in(module, pattern):
            if name != "training" and (path, name) not in known:
                known.add((path, name))
                value = defaults[name] if is_absent else _value_of(module, name)
                yield path, name, value, is_tested
                if isinstance(value, functools.partial):
                    yield from ((path, f"{name}.{bound}", held, False) for bound, held in value.keywords.items())


def other_texts(program: Any, texts: Mapping[str, Sequence[str | int]]) -> Iterator[partial[Sample]]:
    """Changes of an input set: an attribute that holds a text or an integer, each other one that the class compares it
    with."""
    owner, left = module_of(program), {str: _MOST_TEXTS, int: _MOST_TEXTS}
    for (name, known), place in itertools.product(texts.items(), owner.named_modules() if owner is not None else ()):
        path, module = place
        value = _value_of(module, name)
        kind = int if type(value) is int else str
        for other in dict.fromkeys(known) if isinstance(value, kind) and not isinstance(value, Enum) else ():
            if type(other) is kind and other != value and left[kind]:
                left[kind] -= 1
                yield partial(_with_setting, path, name, other)


def other_globals(program: Any, names: Mapping[str, bool]) -> Iterator[partial[Sample]]:
    """Changes of an input set: a number, one in a list or a dictionary, or a member of an enumeration, of these names
    among the globals of the modules that a program's functions stand in, among what these functions enclose, and among
    the attributes of classes (`.fill`) and the defaults of functions (`pooled.fill`), one at a time, as
    `other_settings` changes them."""
    found: Counter[str] = Counter()
    for name, place in _in_order(program, names):
        for other in _other_values(place.value, is_tested=names[name]):
            if not isinstance(other, torch.Tensor) and found[_kind_of(name)] < _MOST_GLOBALS:
                found[_kind_of(name)] += 1
                yield partial(_with_global, name, other)


def extreme_globals(program: Any, names: Mapping[str, bool], beyond: Sequence[int] = ()) -> Iterator[partial[Sample]]:
    """Changes of an input set as in `other_globals`, at the extremes of `extreme_settings`: a tolerance that is a
    default stops a loop at once where it is infinite, and never where it is zero."""
    yield from _in_turn(
        [partial(_with_global, name, other) for other in extremes_of(place.value, beyond)]
        for name, place in _in_order(program, names)
        if names[name] or type(place.value) is not int or place.value == 1
    )


def _in_order(program: Any, names: Mapping[str, bool]) -> Sequence[tuple[str, _Place]]:
    """What stands under these names, in their order."""
    order = {name: number for number, name in enumerate(names)}
    return sorted((found for found in _globals(program) if found[0] in order), key=lambda found: order[found[0]])


def _in_turn(found: Iterable[Sequence[partial[Sample]]]) -> Iterator[partial[Sample]]:
    """The changes of the first few that have any, one of each after the other."""
    for one_of_each in itertools.zip_longest(*[changes for changes in found if changes][:_MOST_SETTINGS]):
        yield from (change for change in one_of_each if change is not None)


def pairs(changes: Sequence[partial[Sample]]) -> Iterator[Change]:
    """Two of these changes at once, a flag that is inverted and what is none first: it may show what that is for.

    The last argument of each is the new value.
    """

    def rank(pair: tuple[partial[Sample], ...]) -> int:
        return (1, 0, 2)[sum(isinstance(change.args[-1], bool) for change in pair)]

    for one, other in sorted(itertools.combinations(changes, 2), key=rank)[:_MOST_PAIRS]:
        yield partial(_with_both, one, other)


def _with_both(one: Change, other: Change, sample: Sample) -> Sample:
    return other(one(sample))


def _names_in(module: torch.nn.Module, pattern: str) -> Sequence[str]:
    """The attributes of a module, or of an object that it holds, that fit a pattern; of what is read of a member of an
    enumeration (`mode.value`) the attribute that holds this."""
    if "*" not in pattern:
        names = list(itertools.accumulate(pattern.split("."), "{}.{}".format))
        found = [name for name in names if _value_of(module, name) is not None]
        # of `self.mode.value` and `self.sizes.index(…)` what the module holds
        return (found[-1] if found and _is_plain(_value_of(module, found[-1])) else pattern,)
    *chain, last = pattern.split(".")
    owner: object = module
    for part in chain:
        owner = getattr(owner, "__dict__", {}).get(part)
    prefix = "".join(f"{part}." for part in chain)
    return [f"{prefix}{name}" for name in getattr(owner, "__dict__", {}) if fnmatchcase(name, last) and name[0] != "_"]


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, float, str, Enum, torch.Tensor)) or is_container(value)


def _other_values(value: object, *, is_tested: bool) -> Sequence[object]:
    if isinstance(value, Enum):
        return other_members(value)
    if is_container(value):
        return others_of(value)
    other = _other_value(value, is_tested=is_tested)
    return () if other is None else (other,)


def _kind(value: object) -> type:
    """What it counts as, where there are no more than a few of each."""
    if isinstance(value, (Enum, torch.Tensor)):
        return Enum if isinstance(value, Enum) else torch.Tensor
    if is_container(value):
        return list
    return int if type(value) is int else bool


def _other_value(value: object, *, is_tested: bool) -> bool | float | int | torch.Tensor | None:
    if (python := of_numpy(value)) is not None:
        other = _other_value(python, is_tested=is_tested)
        made = None if other is None else as_numpy(type(value), other, python // 2)
        return None if made is None or made == value else made
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        other = 0.5 * value or 0.5
        return None if other == value or other != other else other  # infinite, or NaN
    if isinstance(value, torch.Tensor):
        return _reversed(value)
    return 2 * value + 2 if isinstance(value, int) and (is_tested or value == 0) else None


def _reversed(buffer: torch.Tensor) -> torch.Tensor | None:
    """Its rows in reverse, or moved on by one where that is the same; None where no other order differs."""
    if not is_ordinary(buffer) or not buffer.dim() or not buffer.is_contiguous() or buffer.numel() > _LARGEST:
        return None
    others = (buffer.flip(0), buffer.roll(1, 0))
    return next((other for other in others if not torch.equal(other, buffer)), None)


def _value_of(module: torch.nn.Module, name: str) -> object:
    """What stands under a name in a module, or in a plain object that it holds, buffers that are saved among it; None
    where nothing does."""
    if name in module._buffers:
        return None if name in module._non_persistent_buffers_set else module._buffers[name]
    owner: object = module
    value: object = module
    for part in name.split("."):
        owner, value = value, _part_of(value, part)
    if isinstance(value, (property, FunctionType)):
        return said_by_the_class(value) if is_of_the_class(owner, name.rpartition(".")[2]) else None
    if "." not in name and is_descriptor(value):
        return found_by_the_class(module, name)
    return None if isinstance(value, torch.Tensor) else value


def _part_of(owner: object, name: str) -> object:
    if isinstance(owner, torch.nn.Module):
        found = inspect.getattr_static(owner, name, None) if name not in owner._modules else owner._modules[name]
        return found_by_the_class(owner, name, torch.nn.Module) if found is None else found
    return part_of(owner, name)


def _may_be_set(module: torch.nn.Module, name: str) -> bool:
    """Whether what a setting stands in is there, has no property in its place, and is no module, of which a name that
    is read may be a method."""
    within, _, last = name.rpartition(".")
    owner = _value_of(module, within) if within else module
    if isinstance(inspect.getattr_static(type(owner), last, None), property):
        return False
    return isinstance(owner, dict) or owner is module or bool(fields_of(owner))


def _with_setting(path: str, name: str, value: object, sample: Sample) -> Sample:
    words: dict[type, str] = {}
    """Of the program that was prepared last: the class that says it by a property or a method, and under which name."""

    def prepare(program: Any) -> Any:
        words.clear()
        program = sample.prepare(program)
        module = module_of(program)
        assert module is not None, "a setting is one of a module"
        owner: Any = module.get_submodule(path)
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                getattr(owner, name).copy_(value)
            return program
        first, _, rest = name.partition(".")
        while rest and isinstance(_part_of(owner, first), torch.nn.Module):
            owner, (first, _, rest) = _part_of(owner, first), rest.partition(".")
        held = _part_of(owner, first)
        if not rest and is_of_the_class(owner, first):
            words[type(owner)] = first
            return program
        if not rest and is_descriptor(held):
            setattr(owner, first, value)
            return program
        # what several modules may hold is changed in a copy of this one's
        new = with_field(rest, value, held) if rest else copy.deepcopy(as_there(value, held))
        object.__setattr__(owner, first, new)
        return program

    @contextmanager
    def around() -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(sample.around())
            for cls, word in words.items():
                stack.enter_context(said_otherwise(cls, word, value))
            yield

    where = ".".join(part for part in ("self", path, name) if part)
    text = f"{where} in reverse" if isinstance(value, torch.Tensor) else f"{where}={said(value)}"
    return replace(_changed(sample, text, prepare), around=around)


def _kind_of(name: str) -> str:
    """What `_globals` names so."""
    return "class attribute" if name.startswith(".") else "default" if "." in name else "global"


def _with_global(name: str, value: object, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        for found, place in _globals(program):
            if found == name:
                place.put(copy.deepcopy(as_there(value, place.value)))
        return program

    text = f"{_kind_of(name)} {name.removeprefix('.')}"
    return _changed(sample, f"{text}={said(value)}", prepare)


@dataclass(frozen=True)
class _Place:
    """Where a value stands that no object holds."""

    value: object
    put: Callable[[object], object]


def _globals(program: Any) -> Iterator[tuple[str, _Place]]:
    """Names of globals and of what is enclosed that a program's functions say, and of classes' attributes (`.fill`),
    and of the defaults of functions (`pooled.fill`), each with its place."""
    for binding in Reached(program, module_of(program)).bindings:
        first, holder, key = binding.name.partition(" ")[0], binding.holder, binding.key
        if first == "global" and key in holder:
            yield key, _Place(holder[key], partial(operator.setitem, holder, key))
        elif isinstance(holder, CellType):
            yield first, _Place(binding.get(), partial(setattr, holder, "cell_contents"))
        elif first == "class" and isinstance(holder, type):
            yield f".{key}", _Place(binding.get(), partial(setattr, holder, key))
        elif key == DEFAULTS:
            for place, value in enumerate(holder.__defaults__ or ()):
                count = holder.__code__.co_argcount - len(holder.__defaults__)
                name = f"{holder.__name__}.{holder.__code__.co_varnames[count + place]}"
                yield name, _Place(value, partial(_put_default, holder, place))
        elif key == KEYWORD_DEFAULTS:
            for keyword, value in (holder.__kwdefaults__ or {}).items():
                yield f"{holder.__name__}.{keyword}", _Place(value, partial(_put_keyword_default, holder, keyword))


def _put_keyword_default(function: FunctionType, keyword: str, value: object) -> None:
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), keyword: value}


def _put_default(function: FunctionType, place: int, value: object) -> None:
    before = function.__defaults__ or ()
    function.__defaults__ = (*before[:place], value, *before[place + 1 :])


def _changed(sample: Sample, text: str, prepare: Callable[[Any], Any]) -> Sample:
    return replace(sample, label=f"{sample.label}, {text}", declared=False, prepare=prepare, mode=FLAG)
