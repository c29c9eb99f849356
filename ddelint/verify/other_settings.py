"""The same inputs of a program that was made otherwise: a setting, a global or a buffer that its decisions read is
another one, or two of them are.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import torch

from ddelint.verify.calls import module_of
from ddelint.verify.enumerations import as_there, other_members, said
from ddelint.verify.flags import FLAG
from ddelint.verify.members import extremes_of, is_container, others_of
from ddelint.verify.reach import Reached
from ddelint.verify.samples import Sample, is_ordinary

_MOST_SETTINGS, _MOST_INTEGERS, _MOST_BUFFERS, _MOST_MEMBERS, _MOST_LISTED = 4, 2, 2, 4, 4
_MOST_GLOBALS, _MOST_TEXTS, _MOST_PAIRS = 3, 3, 8
_LARGEST = 1 << 20
"""Elements of a buffer up to which it is turned round."""

Change = Callable[[Sample], Sample]


def other_settings(program: Any, names: Mapping[str, bool]) -> Iterator[partial[Sample]]:
    """Changes of an input set: an attribute of these names that a module of the user's was made with, one at a time.

    `names`: `least`, `config.least` of an object that the module holds, or a pattern (`least_*`), and whether a
    decision's test rests on it. Bools are inverted, floats halved, and zero becomes one half: a fill or factor that
    begins as zero or one hides what it is for; so are numbers in a list or a dictionary, one at a time. Integers become
    two more than twice as much where a test rests on them, or where they are zero, and are else left alone, for sizes
    and counts of layers go together. The rows of a buffer that is saved stand in reverse: an order that begins as 0, 1,
    2, … changes nothing. A member of an enumeration becomes each other one.
    """
    left = {
        bool: _MOST_SETTINGS,
        int: _MOST_INTEGERS,
        torch.Tensor: _MOST_BUFFERS,
        Enum: _MOST_MEMBERS,
        list: _MOST_LISTED,
    }
    for path, name, value, is_tested in _settings(program, names):
        for other in _other_values(value, is_tested=is_tested):
            kind = _kind(other)
            if left[kind]:
                left[kind] -= 1
                yield partial(_with_setting, path, name, other)


def extreme_settings(program: Any, names: Mapping[str, bool]) -> Iterator[partial[Sample]]:
    """Changes of an input set as in `other_settings`: floats infinite, zero, negative and NaN, integers that a test
    rests on zero, one more and negative, of the first few settings that are any; one at a time."""
    found = [
        [partial(_with_setting, path, name, other) for other in extremes_of(value)]
        for path, name, value, is_tested in _settings(program, names)
        if is_tested or type(value) is not int
    ]
    for one_of_each in itertools.zip_longest(*[changes for changes in found if changes][:_MOST_SETTINGS]):
        yield from (change for change in one_of_each if change is not None)


def _settings(program: Any, names: Mapping[str, bool]) -> Iterator[tuple[str, str, object, bool]]:
    """(path of a module of the user's, attribute, value, whether a decision's test rests on it), each once."""
    known: set[tuple[str, str]] = set()
    owner = module_of(program)
    for (pattern, is_tested), place in itertools.product(
        names.items(), owner.named_modules() if owner is not None else ()
    ):
        path, module = place
        if type(module).__module__.partition(".")[0] == "torch":
            continue
        for name in _names_in(module, pattern):
            if name != "training" and (path, name) not in known:
                known.add((path, name))
                yield path, name, _value_of(module, name), is_tested


def other_texts(program: Any, texts: Mapping[str, Sequence[str]]) -> Iterator[partial[Sample]]:
    """Changes of an input set: an attribute that holds a text, each other one that the class compares it with."""
    owner, left = module_of(program), _MOST_TEXTS
    for (name, known), place in itertools.product(texts.items(), owner.named_modules() if owner is not None else ()):
        path, module = place
        value = _value_of(module, name)
        for other in dict.fromkeys(known) if isinstance(value, str) and not isinstance(value, Enum) else ():
            if other != value and left:
                left -= 1
                yield partial(_with_setting, path, name, other)


def other_globals(program: Any, names: Mapping[str, bool]) -> Iterator[partial[Sample]]:
    """Changes of an input set: a number, one in a list or a dictionary, or a member of an enumeration, of these names
    among the globals of the modules that a program's functions stand in, one at a time, as `other_settings` changes
    them."""
    found = 0
    for name, holder in _globals(program):
        for other in _other_values(holder[name], is_tested=names[name]) if name in names else ():
            if not isinstance(other, torch.Tensor) and found < _MOST_GLOBALS:
                found += 1
                yield partial(_with_global, name, other)


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
        return (next((name for name in names if isinstance(_value_of(module, name), Enum)), pattern),)
    *chain, last = pattern.split(".")
    owner: object = module
    for part in chain:
        owner = getattr(owner, "__dict__", {}).get(part)
    prefix = "".join(f"{part}." for part in chain)
    return [f"{prefix}{name}" for name in getattr(owner, "__dict__", {}) if fnmatchcase(name, last) and name[0] != "_"]


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
    value: object = module
    for part in name.split("."):
        value = inspect.getattr_static(value, part, None)
    return None if isinstance(value, torch.Tensor) else value


def _with_setting(path: str, name: str, value: object, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        module = module_of(program)
        assert module is not None, "a setting is one of a module"
        owner: Any = module.get_submodule(path)
        *chain, last = name.split(".")
        for part in chain:  # what several modules may hold is changed in a copy of this one's
            held = copy.copy(getattr(owner, part))
            object.__setattr__(owner, part, held)
            owner = held
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                getattr(owner, last).copy_(value)
        else:
            object.__setattr__(owner, last, copy.deepcopy(as_there(value, getattr(owner, last))))
        return program

    where = ".".join(part for part in ("self", path, name) if part)
    text = f"{where} in reverse" if isinstance(value, torch.Tensor) else f"{where}={said(value)}"
    return _changed(sample, text, prepare)


def _with_global(name: str, value: object, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        for found, holder in _globals(program):
            if found == name:
                holder[name] = copy.deepcopy(as_there(value, holder[name]))
        return program

    return _changed(sample, f"global {name}={said(value)}", prepare)


def _globals(program: Any) -> Iterator[tuple[str, dict[Any, Any]]]:
    """Names of globals that a program's functions say, each with the module's dictionary that has it."""
    for binding in Reached(program, module_of(program)).bindings:
        if binding.name.startswith("global ") and binding.key in binding.holder:
            yield binding.key, binding.holder


def _changed(sample: Sample, text: str, prepare: Callable[[Any], Any]) -> Sample:
    return replace(sample, label=f"{sample.label}, {text}", declared=False, prepare=prepare, mode=FLAG)
