"""What only training does, in a program that was made without: dropout, and whatever else is zero or one.

A program is often built with `dropout=0.0` to be looked at and with more to be trained. With none, nothing shows that
an arm which is computed and thrown away draws random numbers, or that a gradient draws them once more. What such fields
are called is data: rules/varying.toml. So it is with the floats that a module of the user's reads where it asks
`self.training`, whatever they are called: a share of rows that survive of 1.0, a momentum of 0.0.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ddelint.verify.samples import Sample
from ddelint.verify.varying import varying

WITH_DROPOUT = "in train() with dropout"
_CHANCE = 0.5
_MOST = 3
"""Names of fields that training reads."""


def with_dropout(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input in train(), where chances of zero are one half; nothing for a program that has none."""
    if isinstance(program, torch.nn.Module) and any(True for _ in _zero_chances(program)):
        yield partial(_with_chances, _zero_chances, WITH_DROPOUT)


def with_what_training_reads(program: Any) -> Iterator[Callable[[Sample], Sample]]:
    """The same input in train(), with one half for what is zero or one and read where `self.training` is asked."""
    places: dict[str, list[str]] = {}
    for path, name in _read_by_training(program) if isinstance(program, torch.nn.Module) else ():
        places.setdefault(name, []).append(path)
    for name, paths in itertools.islice(places.items(), _MOST):
        yield partial(_with_chances, partial(_named, name, paths), f"in train() with {name}={_CHANCE}")


def _with_chances(
    fields: Callable[[torch.nn.Module], Iterator[tuple[torch.nn.Module, str]]], mode: str, sample: Sample
) -> Sample:
    before = sample.prepare

    def prepare(program: Any) -> Any:
        program = before(program).train()
        for module, name in list(fields(program)):
            object.__setattr__(module, name, _CHANCE)
        return program

    return replace(sample, label=f"{sample.label}, {mode}", declared=False, prepare=prepare, mode=mode)


def _named(name: str, paths: Sequence[str], program: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    """The field of the modules at these paths: where the original has it, for what is rewritten may ask otherwise."""
    return ((program.get_submodule(path), name) for path in paths)


def _read_by_training(program: torch.nn.Module) -> Iterator[tuple[str, str]]:
    """(path of a module, field)."""
    for path, module in program.named_modules():
        values = vars(module)
        at_the_ends = {name for name, value in values.items() if type(value) is float and value in (0.0, 1.0)}
        wanted = at_the_ends - _names()
        read = _names_beside_training(type(module)) if wanted else ()  # type: ignore[arg-type]
        yield from ((path, name) for name in read if name in wanted)


@functools.lru_cache(maxsize=256)
def _names_beside_training(owner: type) -> tuple[str, ...]:
    """What the methods of a user's class that ask `self.training` read of `self`, in the order of the text."""
    if owner.__module__.partition(".")[0] not in ("builtins", "torch"):
        with suppress(OSError, TypeError, SyntaxError, ValueError):
            return _read_in(textwrap.dedent(inspect.getsource(owner)))
    return ()


@functools.lru_cache(maxsize=64)
def _read_in(text: str) -> tuple[str, ...]:
    methods = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    read = (list(_of_self(method)) for method in methods)
    return tuple(dict.fromkeys(itertools.chain(*(names for names in read if "training" in names))))


def _of_self(method: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                yield name


def _zero_chances(program: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    for module in program.modules():
        for name, value in vars(module).items():
            if name in _names() and type(value) in (float, int) and value == 0:
                yield module, name


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(varying()["chances"])
