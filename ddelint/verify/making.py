"""The same inputs of a program whose modules were made with another argument: what `__init__` makes of it (a layer with
a bias, a function out of a table) stands nowhere as it was given.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import torch

from ddelint.trace.entry import Arguments
from ddelint.verify.flags import FLAG, NO_TEXTS, other_flags
from ddelint.verify.samples import Sample

_MOST = 6
"""Changes for each class."""


@dataclass(frozen=True)
class _Making:
    """What a module was made with; it is kept, so that no other is known by its `id`."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def sample(self) -> Sample:
        """Its arguments as those of a call of its class."""
        return Sample("", True, lambda: copy.deepcopy((self.args, self.kwargs)))


def other_makings(
    program: Any,
    build: Callable[[], Any],
    classes: Collection[str],
    texts: Mapping[str, Sequence[str | int]] = NO_TEXTS,
) -> Iterator[Callable[[Sample], Sample]]:
    """Changes of an input set of what `build` makes, as it made `program`: the modules of each of these classes (by
    name) are made with another argument, one at a time, as `other_flags` changes those of a call.

    They are given the weights that they had, as far as their names and shapes are the same, and else what their
    `__init__` draws from a fixed seed. A program that is no module, or whose modules are not made by `build` itself,
    has none.
    """
    for cls, makings in _made(program, build, classes).items():
        first = next(iter(makings.values())).sample()
        with contextlib.suppress(Exception):  # arguments of the user's may refuse to be copied, in whatever way
            changes = list(itertools.islice(other_flags(cls, first, texts), _MOST))
            yield from [partial(_made_otherwise, cls.__name__, makings, change) for change in changes]


def _made_otherwise(
    name: str, makings: Mapping[str, _Making], change: Callable[[Sample], Sample], sample: Sample
) -> Sample:
    def prepare(program: Any) -> Any:
        program = sample.prepare(program)
        for path, making in makings.items():
            program = _with_another(program, path, change(making.sample()).make())
        return program

    words = change(next(iter(makings.values())).sample()).label.removeprefix(", ")
    label = f"{sample.label}, {name}({words})"
    return replace(sample, label=label, declared=False, prepare=prepare, mode=FLAG)


def _with_another(program: torch.nn.Module, path: str, arguments: Arguments) -> torch.nn.Module:
    """The program with the module at a path made anew, of the class that it is of there."""
    old = program.get_submodule(path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        new: torch.nn.Module = type(old)(*arguments[0], **arguments[1])
    _take_over(old, new)
    if not path:
        return new
    owner, _, name = path.rpartition(".")
    setattr(program.get_submodule(owner), name, new)
    return program


def _take_over(old: torch.nn.Module, new: torch.nn.Module) -> None:
    """The weights and buffers of a module for those of another that are named and shaped alike; and its mode."""
    known = dict(itertools.chain(old.named_parameters(), old.named_buffers()))
    floating = next((tensor.dtype for tensor in known.values() if tensor.is_floating_point()), None)
    if floating is not None:
        new.to(floating)  # as a program that was put into half precision once it was made
    with torch.no_grad():
        for name, tensor in itertools.chain(new.named_parameters(), new.named_buffers()):
            before = known.get(name)
            if before is not None and before.shape == tensor.shape:
                tensor.requires_grad_(before.requires_grad)
                tensor.copy_(before)
    new.train(old.training)


def _made(program: Any, build: Callable[[], Any], classes: Collection[str]) -> dict[type, dict[str, _Making]]:
    """Class → path → what the module there was made with, of one run of `build`."""
    if not isinstance(program, torch.nn.Module):
        return {}
    with contextlib.suppress(Exception):
        kinds = {type(module) for module in program.modules()}
        owners = {kind for kind in kinds if kind.__name__ in classes and kind.__module__.partition(".")[0] != "torch"}
        made: dict[int, _Making] = {}
        with contextlib.ExitStack() as stack:
            for cls in owners:
                stack.enter_context(mock.patch.object(cls, "__init__", _noting(cls, made)))
            program = build()
        found: dict[type, dict[str, _Making]] = {}
        for path, module in program.named_modules():
            if id(module) in made:
                found.setdefault(type(module), {})[path] = made[id(module)]
        return found
    return {}


def _noting(cls: type, made: dict[int, _Making]) -> Callable[..., None]:
    """The `__init__` of a class, which notes what it is given; not what a subclass of it hands on."""
    initialize: Callable[..., None] = cls.__init__  # type: ignore[misc]

    @functools.wraps(initialize)
    def noted(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is cls:
            made.setdefault(id(self), _Making(self, args, kwargs))
        initialize(self, *args, **kwargs)

    return noted
