"""The same inputs with another Python argument: a flag inverted, a default where another value was given."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any

import torch

from ddelint.trace.entry import Arguments
from ddelint.verify.enumerations import annotated_members, as_there, other_members, said
from ddelint.verify.families import others_of_its_family, texts_beside
from ddelint.verify.members import (
    extremes_of,
    fields_of,
    is_of_any_length,
    other_fields,
    places_of_numbers,
    with_field,
    with_one_less,
    with_one_more,
    with_other_number,
)
from ddelint.verify.samples import Sample
from ddelint.verify.undeclared import instead_of_none, options_read

FLAG = "with another argument"
"""The mode of inputs with another Python argument, or setting, than any that was declared."""
_MOST, _MOST_TEXTS, _MOST_INSIDE, _MOST_LISTS, _MOST_EXTREME, _MOST_UNDECLARED = 6, 3, 6, 2, 3, 3
NO_TEXTS: Mapping[str, Sequence[str | int]] = {}


def other_flags(
    program: Callable[..., Any], sample: Sample, texts: Mapping[str, Sequence[str | int]] = NO_TEXTS
) -> Iterator[partial[Sample]]:
    """Changes of an input set: each argument of Python's that the program may decide by, one at a time.

    Bools are inverted; what has a default is left to it, where something else was given; a number that a test of the
    program names becomes zero, or one; a text becomes each other one that the program compares it with (`texts`, by
    name; where none is compared under the argument's own name, those that other names are compared with); a member of
    an enumeration becomes each other one, and None one of the enumeration that the argument is annotated with; a
    function, a layer or a dtype another one that takes the same (`families`), and so the name of one. Options that are
    read of keywords are given (`undeclared`). Last come other floats, the first numbers in lists and dictionaries,
    fields of objects, and lists of tensors or numbers with one more and one less.
    """
    called = _called(program)
    signature, given = _bound(called, sample)
    tree = _parsed(called)
    tested, members = _tested(tree), annotated_members(called)
    found = 0
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for parameter in named:
        if found >= _MOST:
            return
        name = parameter.name
        value = given[name]
        others = [*_others(value, parameter.default, is_tested=name in tested), *_other_texts(value, name, texts)]
        others += members.get(name, ()) if value is None else ()
        for other in others:
            found += 1
            yield partial(_with_argument, signature, name, other)
    for keywords in (p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD):
        for option, other in itertools.islice(options_read(tree, keywords), _MOST_UNDECLARED):
            change = partial(_with_option, option, other)
            yield partial(_with_change, signature, keywords, f"with {option}={said(other)}", change)
    last = (p.name for p in named if p.name not in tested or not isinstance(given[p.name], float))
    inner = ((name, place) for name in last for place in places_of_numbers(given[name]))
    for name, place in itertools.islice(inner, _MOST_INSIDE):
        text = f"with another number ({place + 1})"
        yield partial(_with_change, signature, name, text, partial(with_other_number, place=place))
    fields = ((p.name, field, other) for p in named for field, other in other_fields(given[p.name], texts))
    for name, field, other in itertools.islice(fields, _MOST_INSIDE):
        yield partial(_with_change, signature, name, f"with {field}={said(other)}", partial(with_field, field, other))
    for name in [p.name for p in named if is_of_any_length(given[p.name])][:_MOST_LISTS]:
        yield partial(_with_change, signature, name, "with one more", with_one_more)
        yield partial(_with_change, signature, name, "with one less", with_one_less)


def instead_of_nothing(
    program: Callable[..., Any], sample: Sample, texts: Mapping[str, Sequence[str | int]] = NO_TEXTS
) -> Iterator[partial[Sample]]:
    """Changes of an input set: the first few arguments that are None a tensor or a number, and one tensor for `*terms`
    of which none is given; one at a time."""
    called = _called(program)
    signature, given = _bound(called, sample)
    known = {*annotated_members(called), *texts}
    empty = (name for name, value in given.items() if value is None and name not in known)
    for name in itertools.islice(empty, _MOST_UNDECLARED):
        yield from (partial(_with_argument, signature, name, other) for other in instead_of_none(called, name, given))
    for name in (p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL):
        others = instead_of_none(called, name, given) if given[name] in ((), inspect.Parameter.empty) else ()
        for other in others:
            text = f"with {said(other)}"
            yield partial(_with_change, signature, name, text, partial(_alone, other))


def extreme_arguments(
    program: Callable[..., Any], sample: Sample, beyond: Sequence[int] = ()
) -> Iterator[partial[Sample]]:
    """Changes of an input set: the numbers among the first few arguments that are any, and in lists, dictionaries and
    objects, infinite, zero, negative and NaN, one at a time."""
    signature, given = _bound(_called(program), sample)
    found: list[list[partial[Sample]]] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        others = [partial(_with_argument, signature, name, other) for other in extremes_of(given[name], beyond)]
        for field, held in fields_of(given[name]).items():
            for other in extremes_of(held, beyond):
                text = f"with {field}={said(other)}"
                others.append(partial(_with_change, signature, name, text, partial(with_field, field, other)))
        if others:
            found.append(others)
    for one_of_each in itertools.zip_longest(*found[:_MOST_EXTREME]):
        yield from (change for change in one_of_each if change is not None)


def other_numbers(program: Callable[..., Any], sample: Sample) -> Iterator[partial[Sample]]:
    """Changes of an input set: each number among the arguments another one, where it is the default, too."""
    signature, given = _bound(_called(program), sample)
    for name, value in given.items():
        if type(value) in (int, float):
            yield partial(_with_argument, signature, name, value + 1)


def _called(program: Callable[..., Any]) -> Callable[..., Any]:
    """What has the program's signature."""
    return program.forward if isinstance(program, torch.nn.Module) else program


def _bound(called: Callable[..., Any], sample: Sample) -> tuple[inspect.Signature, Mapping[str, Any]]:
    """Its signature, and by name what it is given: an argument or a default. Empty where they do not fit."""
    try:
        signature = inspect.signature(called)
        args, kwargs = sample.make()
        given = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return inspect.Signature(), {}
    return signature, {name: given.arguments.get(name, p.default) for name, p in signature.parameters.items()}


def _other_texts(value: object, name: str, texts: Mapping[str, Sequence[str | int]]) -> Sequence[str | int]:
    kind = int if type(value) is int else str
    if isinstance(value, kind) and not isinstance(value, Enum):
        known = [one for one in texts.get(name, ()) if type(one) is kind]
        if isinstance(value, str) and not known:
            everywhere = (*itertools.chain(*texts.values()), *texts_beside(value))
            known = [one for one in everywhere if type(one) is str]
    else:
        known = [*texts.get(name, ())] if value is None else []
    return [text for text in dict.fromkeys(known) if text != value][:_MOST_TEXTS]


def _others(value: object, default: object, *, is_tested: bool) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif default is None and value is not None:
        yield None
        yield from other_members(value)
    elif isinstance(value, Enum):
        yield from other_members(value)
    elif isinstance(value, (int, float)) and is_tested:
        yield type(value)(value == 0)
    else:
        yield from others_of_its_family(value)


def _parsed(called: Callable[..., Any]) -> ast.AST:
    """The text of a function; an empty one where there is none."""
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        return ast.parse(textwrap.dedent(inspect.getsource(called)))
    return ast.Module([], [])


def _tested(tree: ast.AST) -> frozenset[str]:
    """The names in the tests of a function."""
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
    return frozenset(node.id for test in tests for node in ast.walk(test) if isinstance(node, ast.Name))


def _alone(value: object, given: object) -> tuple[object]:
    return (value.clone() if isinstance(value, torch.Tensor) else value,)


def _with_option(name: str, value: object, keywords: Mapping[str, object] | object) -> object:
    """Keywords with one more; `keywords` is no dictionary where none were given."""
    return {**(keywords if isinstance(keywords, Mapping) else {}), name: value}


def _with_change(
    signature: inspect.Signature, name: str, text: str, change: Callable[[Any], object], sample: Sample
) -> Sample:
    """With what `change` makes of an argument."""

    def make() -> Arguments:
        args, kwargs = sample.make()
        bound = signature.bind(*args, **kwargs)
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            bound.apply_defaults()  # what is given behind arguments that are left out is given to these
        bound.arguments[name] = change(bound.arguments.get(name, signature.parameters[name].default))
        return bound.args, dict(bound.kwargs)

    return replace(sample, label=f"{sample.label}, {name} {text}", declared=False, make=make, mode=FLAG)


def _with_argument(signature: inspect.Signature, name: str, value: object, sample: Sample) -> Sample:
    def make() -> Arguments:
        args, kwargs = sample.make()
        bound = signature.bind(*args, **kwargs)
        there = as_there(value, bound.arguments.get(name, signature.parameters[name].default))
        bound.arguments[name] = there.clone() if isinstance(there, torch.Tensor) else there
        return bound.args, dict(bound.kwargs)

    return replace(sample, label=f"{sample.label}, {name}={said(value)}", declared=False, make=make, mode=FLAG)
