"""The same inputs of a program that reads something else than it did: a setting, whatever holds it, one at a time."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ddelint.trace.entry import Entry
from ddelint.trace.ownership import is_users
from ddelint.verify.calls import module_of
from ddelint.verify.enumerations import said
from ddelint.verify.families import texts_beside
from ddelint.verify.flags import FLAG
from ddelint.verify.members import extremes_of, other_number
from ddelint.verify.other_settings import Change, other_values, with_both
from ddelint.verify.reading_code import is_readable, read_by
from ddelint.verify.reads import GIVEN, Read, Readings, Seen, settled
from ddelint.verify.recording import Recorder
from ddelint.verify.running import Patience, run_sample
from ddelint.verify.samples import Sample

_MOST, _MOST_OF_A_KIND, _MOST_BEHIND, _MOST_EXTREME, _MOST_TEXTS, _MOST_FILES = 16, 6, 2, 4, 3, 8
_NOTED = 8
"""Inputs on which is noted what is read."""


class Settings:
    """What the text of a program reads that is no data: it is one and the same on several inputs."""

    def __init__(
        self, original: Entry, program: Any, recorder: Recorder, patience: Patience | None, is_over: Callable[[], bool]
    ) -> None:
        """`program`: one that `original` has built. `is_over`: whether no more than one run is begun."""
        self._original = original
        self._recorder = recorder
        self._patience = patience
        self._is_over = is_over
        self._filenames = _files(program, recorder)
        self._found: list[tuple[Read, Seen]] = []
        self.are_known = all(is_readable(filename, recorder.tested.get(filename, ())) for filename in self._filenames)
        """Whether the program runs while what it reads is noted: a compiler that it calls may not go through that."""

    def note(self, samples: Sequence[Sample]) -> None:
        """Note what the original reads on these inputs, on which it returns."""
        self._found = self._noted(samples)

    def names(self) -> frozenset[str]:
        """The attributes that the files of decisions say."""
        inside = itertools.chain(*map(ast.walk, self._recorder.trees.values()))
        return frozenset(node.attr for node in inside if isinstance(node, ast.Attribute))

    def others(self) -> Iterator[partial[Sample]]:
        """Changes of an input set: something that is read becomes another value, one at a time."""
        return self._changes(self._found)

    def behind(self, change: Change, samples: Sequence[Sample]) -> Iterator[Change]:
        """A change, and with it another value of what is only read under it: `fills=True` shows what `fill` is for."""
        known = {read for read, _ in self._found}
        under = self._noted(list(map(change, samples)))
        changes = self._changes([(read, seen) for read, seen in under if read not in known])
        yield from (partial(with_both, change, other) for other in itertools.islice(changes, _MOST_BEHIND))

    def extremes(self, beyond: Sequence[int] = ()) -> Iterator[partial[Sample]]:
        """The same of numbers at their extremes: floats infinite, zero, negative and NaN, integers that a test rests
        on, or that are one, zero, one more and negative; of the first few that are any, one of each after the other."""
        numbers = [
            [self._change(read, seen, other) for other in extremes_of(seen.value, beyond)]
            for read, seen in self._found
            if not seen.rank or type(seen.value) is not int or seen.value == 1
        ]
        for one_of_each in itertools.zip_longest(*[changes for changes in numbers if changes][:_MOST_EXTREME]):
            yield from (change for change in one_of_each if change is not None)

    def _noted(self, samples: Sequence[Sample]) -> list[tuple[Read, Seen]]:
        runs: list[Readings] = []
        for sample in samples[:_NOTED]:
            if runs and self._is_over():
                break
            readings = Readings()
            noting = _around(sample, partial(self._noting, readings))
            calls = run_sample(self._original, noting, twice=True, patience=self._patience)
            self.are_known &= not sample.declared or (calls is not None and calls[0].returned)
            if len(readings.calls) > 1:
                runs.append(readings)
        return settled(runs)

    @contextmanager
    def _noting(self, readings: Readings) -> Iterator[None]:
        readings.calls.append({})
        with self._by(readings):
            yield

    def _changes(self, found: Sequence[tuple[Read, Seen]]) -> Iterator[partial[Sample]]:
        counts: Counter[type] = Counter()
        for read, seen in found:
            for other in _others(read, seen, self._recorder.texts):
                if counts.total() < _MOST and counts[type(other)] < _MOST_OF_A_KIND:
                    counts[type(other)] += 1
                    yield self._change(read, seen, other)

    def _change(self, read: Read, seen: Seen, other: object) -> partial[Sample]:
        return partial(_with_reading, self._by, read, seen.value, other)

    def _by(self, readings: Readings) -> AbstractContextManager[None]:
        """Within, what the program reads goes through `readings`."""
        return read_by(readings, self._filenames, self._recorder.trees, self._recorder.tested)


def _files(program: Any, recorder: Recorder) -> list[str]:
    """The files of decisions, and those of the user's that the classes of a program's modules are written in."""
    owner = module_of(program)
    written = (_file_of(type(module)) for module in (owner.modules() if owner is not None else ()))
    files = itertools.chain(recorder.trees, (name for name in written if name and is_users(name)))
    return list(dict.fromkeys(files))[:_MOST_FILES]


def _file_of(kind: type) -> str:
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    return code.co_filename if code is not None else ""


def _others(read: Read, seen: Seen, texts: Mapping[str, Sequence[str | int]]) -> Sequence[object]:
    value = seen.value
    named = itertools.chain(*(known for name, known in texts.items() if name.rpartition(".")[2] == read.name))
    compared = [one for one in dict.fromkeys(named) if type(one) is type(value) and one != value][:_MOST_TEXTS]
    if type(value) is str:
        return compared or _other_numbers(value) or texts_beside(value)
    if isinstance(value, (list, tuple)) and read.holder.startswith(GIVEN):
        return ()
    return [*other_values(value, is_tested=not seen.rank), *compared]


def _other_numbers(text: str) -> Sequence[str]:
    """Of a text that says a number one that says another."""
    with suppress(ValueError):
        other = other_number(int(text)) if text.isdecimal() else other_number(float(text))
        return (str(other),) if str(other) != text else ()
    return ()


def _with_reading(
    by: Callable[[Readings], AbstractContextManager[None]], read: Read, value: object, other: object, sample: Sample
) -> Sample:
    readings = Readings(changes={read: (value, other)})
    label = f"{sample.label}, {read}={said(other)}"
    return replace(_around(sample, partial(by, readings)), label=label, declared=False, mode=FLAG)


def _around(sample: Sample, inner: Callable[[], AbstractContextManager[None]]) -> Sample:
    @contextmanager
    def around() -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(sample.around())
            stack.enter_context(inner())
            yield

    return replace(sample, around=around)
