"""The same inputs of a program of which a setting is another one: what else a value may be, buffers whose rows stand in
another order, and two changes at once. What reads settings is in `reads`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any

import torch

from ddelint.verify.calls import module_of
from ddelint.verify.enumerations import other_members, said
from ddelint.verify.flags import FLAG
from ddelint.verify.members import as_numpy, is_container, of_numpy, others_of
from ddelint.verify.samples import Sample, is_ordinary

_MOST_BUFFERS, _MOST_PAIRS = 2, 8
_LARGEST = 1 << 20
"""Elements of a buffer up to which it is turned round."""

Change = Callable[[Sample], Sample]


def other_values(value: object, *, is_tested: bool) -> Sequence[object]:
    """What else a setting may be. Bools are inverted, floats halved, and zero becomes one half: a fill or factor that
    begins as zero or one hides what it is for; so are numbers in a list or a dictionary, one at a time. Integers become
    two more than twice as much where a test rests on them, or where they are zero, and are else left alone, for sizes
    and counts of layers go together. A member of an enumeration becomes each other one."""
    if isinstance(value, Enum):
        return other_members(value)
    if is_container(value):
        return others_of(value)
    other = _other_value(value, is_tested=is_tested)
    return () if other is None else (other,)


def _other_value(value: object, *, is_tested: bool) -> object:
    if (python := of_numpy(value)) is not None:
        other = _other_value(python, is_tested=is_tested)
        made = None if other is None else as_numpy(type(value), other, python // 2)
        return None if made is None or made == value else made
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        changed = 0.5 * value or 0.5
        return None if changed == value or changed != changed else changed  # infinite, or NaN
    return 2 * value + 2 if isinstance(value, int) and (is_tested or value == 0) else None


def other_buffers(program: Any, names: Collection[str]) -> Iterator[partial[Sample]]:
    """Changes of an input set: the rows of a buffer that is saved, and that goes by one of these names, stand in
    reverse: an order that begins as 0, 1, 2, … changes nothing."""
    return itertools.islice(
        (
            partial(_with_buffer, path, name, other)
            for path, module in _users_modules(program)
            for name, buffer in module._buffers.items()
            if name in names and name not in module._non_persistent_buffers_set
            if buffer is not None and (other := _reversed(buffer)) is not None
        ),
        _MOST_BUFFERS,
    )


def zero_settings(program: Any) -> Iterator[Change]:
    """Changes of an input set: a float that a module of the user's holds is zero, one at a time."""
    for path, module in _users_modules(program):
        for name, value in vars(module).items():
            if type(value) is float and value and name[0] != "_":
                yield partial(_with_zero, path, name)


def pairs(changes: Sequence[partial[Sample]]) -> Iterator[Change]:
    """Two of these changes at once, a flag that is inverted and what is none first: it may show what that is for.

    The last argument of each is the new value.
    """

    def rank(pair: tuple[partial[Sample], ...]) -> int:
        return (1, 0, 2)[sum(isinstance(change.args[-1], bool) for change in pair)]

    for one, other in sorted(itertools.combinations(changes, 2), key=rank)[:_MOST_PAIRS]:
        yield partial(with_both, one, other)


def with_both(one: Change, other: Change, sample: Sample) -> Sample:
    """One change, and then another."""
    return other(one(sample))


def _users_modules(program: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    owner = module_of(program)
    for path, module in owner.named_modules() if owner is not None else ():
        if type(module).__module__.partition(".")[0] != "torch":
            yield path, module


def _reversed(buffer: torch.Tensor) -> torch.Tensor | None:
    """Its rows in reverse, or moved on by one where that is the same; None where no other order differs."""
    if not is_ordinary(buffer) or not buffer.dim() or not buffer.is_contiguous() or buffer.numel() > _LARGEST:
        return None
    others = (buffer.flip(0), buffer.roll(1, 0))
    return next((other for other in others if not torch.equal(other, buffer)), None)


def _with_buffer(path: str, name: str, value: torch.Tensor, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        with torch.no_grad():
            _module_at(program, path)._buffers[name].copy_(value)
        return program

    return _changed(sample, f"{_place(path, name)} in reverse", prepare)


def _with_zero(path: str, name: str, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        object.__setattr__(_module_at(program, path), name, 0.0)
        return program

    return _changed(sample, f"{_place(path, name)}={said(0.0)}", prepare)


def _module_at(program: Any, path: str) -> torch.nn.Module:
    module = module_of(program)
    assert module is not None, "a setting is one of a module"
    return module.get_submodule(path)


def _place(path: str, name: str) -> str:
    return ".".join(part for part in ("self", path, name) if part)


def _changed(sample: Sample, text: str, prepare: Callable[[Any], Any]) -> Sample:
    return replace(sample, label=f"{sample.label}, {text}", declared=False, prepare=prepare, mode=FLAG)
