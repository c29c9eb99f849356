"""DDE413: what a program counts in Python, call by call: what is compiled of it is for one count."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import COUNTED
from ddelint.sources.compiling import answer_while_compiling
from ddelint.sources.counts import adds_to
from ddelint.sources.source import SourceFile
from ddelint.trace import overlay
from ddelint.trace.provenance import Paths
from ddelint.verify.calls import module_of
from ddelint.verify.frozen import Constant, Container, Frozen, attributes_of
from ddelint.verify.program import Program
from ddelint.verify.references import Reference

Way = tuple[str | int, ...]
"""From a module to a number: names of attributes, keys of a dictionary, places in a list."""


def counted_questions(program: Program, references: Sequence[Reference]) -> tuple[Question, ...]:
    """Each number that calls of the original change one after the other, and that the program still counts in Python:
    an attribute of a module, or what a plain object, a dictionary or a list that a module holds has in it.

    Dynamo guards on an integer of a module, and on those behind it, by its value (torch/_dynamo/variables/builder.py:
    `wrap_literal`, while `allow_unspec_int_on_nn_module` is off), so that it compiles for each count; torch.export runs
    the count while tracing, and what it exports does not.
    """
    changed = _numbers_changed(references)
    module = module_of(program.entry.build()) if changed else None
    if module is None:
        return ()
    paths = Paths(program.options.paths)
    found = (_question(module, way, paths) for way in changed)
    return tuple({question.span: question for question in found if question is not None}.values())


def _numbers_changed(references: Sequence[Reference]) -> list[Way]:
    """The ways to the numbers that the second of two calls changes as the first one did.

    What begins anew in each call, or has reached its end, holds what it held.
    """
    changed: dict[Way, None] = {}
    for reference in references:
        if not reference.sample.declared or len(reference.calls) < 2 or not reference.calls[1].returned:
            continue
        first, second = (call.effects for call in reference.calls[:2])
        for name, value in second.items():
            way: Way = tuple(name.removeprefix("self.").split("."))
            if isinstance(value, Constant):
                changed |= {way: None} if type(value.value) is int else {}
            elif name in first:
                changed |= {(*way, *inside): None for inside in _parting(first[name], value)}
    return list(changed)


def _parting(before: Frozen, now: Frozen) -> Iterator[Way]:
    """The ways from something that has parts to the numbers in which it differs."""
    match before, now:
        case Container(kind=kind, keys=keys, parts=parts), Container() if (kind, keys) == (now.kind, now.keys):
            for key, one, other in zip(keys, parts, now.parts):
                if isinstance(key, (str, int)):
                    yield from ((key, *inside) for inside in _parting(one, other))
        case Constant(), Constant() if type(before.value) is type(now.value) is int and before != now:
            yield ()


def _question(module: torch.nn.Module, way: Way, paths: Paths) -> Question | None:
    """Asked where the count goes up, in a file of `paths`."""
    holders: list[Any] = [module]
    for key in way:
        part = _part(holders[-1], key)
        if part is None:  # `global SEEN`, or gone from the rewritten program
            return None
        holders.append(part)
    if type(holders.pop()) is not int:
        return None
    for number, holder in reversed(list(enumerate(holders))):
        if isinstance(holder, (dict, list)):
            continue
        place = next(_places(type(holder), _said("self", holders[number:], way[number:]), paths), None)
        if place is not None:
            source, span = place
            said = source.segment(span)
            return Question(
                span, COUNTED, said, said, asks=("compile",), detail=f"{said} is another number in each call"
            )
    return None


def _part(holder: Any, key: str | int) -> Any:
    """What something holds under a key or a name; None where it doesn't."""
    if isinstance(holder, dict):
        return holder.get(key)
    if isinstance(holder, list):
        return holder[key] if isinstance(key, int) and key < len(holder) else None
    if isinstance(holder, torch.nn.Module):
        return getattr(holder, str(key), None)
    return attributes_of(holder).get(str(key))


def _said(root: str, holders: Sequence[Any], way: Way) -> str:
    """What code says for a way from an object: `self.stats['calls']`, `self.meter.calls`."""
    return root + "".join(
        f"[{key!r}]" if isinstance(holder, (dict, list)) else f".{key}" for holder, key in zip(holders, way)
    )


def _places(kind: type, said: str, paths: Paths) -> Iterator[tuple[SourceFile, Span]]:
    """Where methods of a class add to what is `said` of `self`, its own ones first."""
    for cls in kind.__mro__:
        try:
            filename = inspect.getsourcefile(cls)
        except TypeError:  # of no file
            continue
        if filename is None or filename not in paths:
            continue
        source = SourceFile(filename, overlay.text_of(filename))
        for definition in ast.walk(source.tree):
            if isinstance(definition, ast.ClassDef) and definition.name == cls.__name__:
                yield from ((source, source.span(target)) for target in _counts(definition, said))


def _counts(definition: ast.ClassDef, said: str) -> Iterator[ast.expr]:
    for node in _compiled(definition):
        match node:
            case ast.AugAssign(target=ast.Attribute() | ast.Subscript() as target):
                counts = True
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=value):
                counts = adds_to(target, value)
            case ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value):
                counts = adds_to(target, value)
            case _:
                continue
        if counts and ast.unparse(target) == said:
            yield target


def _compiled(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node, but for what is said to run in eager alone."""
    yield node
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=test, orelse=compiled) if answer_while_compiling(test) is False:
                for other in compiled:
                    yield from _compiled(other)
            case _:
                yield from _compiled(child)
