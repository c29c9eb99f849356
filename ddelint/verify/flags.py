"""The same inputs with another Python argument, or a module that was made with others: a flag inverted, a default
where another value was given.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ddelint.trace.entry import Arguments
from ddelint.verify.samples import Sample

FLAG = "with another argument"
"""The mode of inputs with another Python argument than any that was declared."""
_MOST = 6
_MOST_SETTINGS, _MOST_INTEGERS = 4, 2


def other_flags(program: Callable[..., Any], sample: Sample) -> Iterator[Callable[[Sample], Sample]]:
    """Changes of an input set: each argument of Python's that the program may decide by, one at a time.

    Bools are inverted; what has a default is left to it, where something else was given; a number that a test of the
    program names becomes zero, or one.
    """
    called = program.forward if isinstance(program, torch.nn.Module) else program
    try:
        signature = inspect.signature(called)
        args, kwargs = sample.make()
        given = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return
    tested = _tested(called)
    found = 0
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or found >= _MOST:
            continue
        value = given.arguments.get(name, parameter.default)
        for other in _others(value, parameter.default, is_tested=name in tested):
            found += 1
            yield partial(_with_argument, signature, name, other)


def other_settings(program: Any, names: Mapping[str, bool]) -> Iterator[Callable[[Sample], Sample]]:
    """Changes of an input set: an attribute of these names that a module of the user's was made with, one at a time.

    `names`: `least`, or `config.least` of an object that the module holds, and whether a decision's test rests on it.
    Bools are inverted, floats halved, and zero becomes one half: a fill or factor that begins as zero or one hides what
    it is for. Integers become two more than twice as much where a test rests on them, or where they are zero, and are
    else left alone, for sizes and counts of layers go together.
    """
    found = {bool: 0, int: 0}
    for (name, is_tested), place in itertools.product(
        names.items(), program.named_modules() if isinstance(program, torch.nn.Module) else ()
    ):
        path, module = place
        value = _value_of(module, name)
        if type(module).__module__.partition(".")[0] == "torch" or name == "training":
            continue
        other = _other_setting(value, is_tested=is_tested)
        kind = int if type(other) is int else bool
        if other is None or found[kind] >= (_MOST_INTEGERS if kind is int else _MOST_SETTINGS):
            continue
        found[kind] += 1
        yield partial(_with_setting, path, name, other)


def _other_setting(value: object, *, is_tested: bool) -> bool | float | int | None:
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        other = 0.5 * value or 0.5
        return None if other == value or other != other else other  # infinite, or NaN
    return 2 * value + 2 if isinstance(value, int) and (is_tested or value == 0) else None


def _value_of(module: torch.nn.Module, name: str) -> object:
    """What stands under a name in a module, or in a plain object that it holds; None where nothing does."""
    value: object = module
    for part in name.split("."):
        value = getattr(value, "__dict__", {}).get(part)
    return value


def _with_setting(path: str, name: str, value: object, sample: Sample) -> Sample:
    def prepare(program: Any) -> Any:
        owner = program.get_submodule(path)
        *chain, last = name.split(".")
        for part in chain:  # what several modules may hold is changed in a copy of this one's
            held = copy.copy(getattr(owner, part))
            object.__setattr__(owner, part, held)
            owner = held
        object.__setattr__(owner, last, value)
        return program

    where = ".".join(part for part in ("self", path, name) if part)
    return replace(sample, label=f"{sample.label}, {where}={value!r}", declared=False, prepare=prepare, mode=FLAG)


def _others(value: object, default: object, *, is_tested: bool) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif default is None and value is not None:
        yield None
    elif isinstance(value, (int, float)) and is_tested:
        yield type(value)(value == 0)


def _tested(called: Callable[..., Any]) -> frozenset[str]:
    """The names in the tests of a function."""
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(called)))
        tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
        return frozenset(node.id for test in tests for node in ast.walk(test) if isinstance(node, ast.Name))
    return frozenset()


def _with_argument(signature: inspect.Signature, name: str, value: object, sample: Sample) -> Sample:
    def make() -> Arguments:
        args, kwargs = sample.make()
        bound = signature.bind(*args, **kwargs)
        bound.arguments[name] = value
        return bound.args, dict(bound.kwargs)

    return replace(sample, label=f"{sample.label}, {name}={value!r}", declared=False, make=make, mode=FLAG)
