"""DDE413: what a module counts in Python, call by call: what is compiled of it is for one count."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence

import torch

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import COUNTED
from ddelint.sources.counts import adds_to
from ddelint.sources.source import SourceFile
from ddelint.trace import overlay
from ddelint.trace.provenance import Paths
from ddelint.verify.calls import module_of
from ddelint.verify.frozen import Constant
from ddelint.verify.program import Program
from ddelint.verify.references import Reference


def counted_questions(program: Program, references: Sequence[Reference]) -> tuple[Question, ...]:
    """Each number that calls of the original change one after the other, and that the program still counts in Python.

    Dynamo guards on an integer of a module by its value (torch/_dynamo/variables/builder.py: `wrap_literal`, while
    `allow_unspec_int_on_nn_module` is off), so that it compiles for each count; torch.export runs the count while
    tracing, and what it exports does not.
    """
    changed = _numbers_changed(references)
    module = module_of(program.entry.build()) if changed else None
    if module is None:
        return ()
    paths = Paths(program.options.paths)
    found = (_question(module, name, paths) for name in changed)
    return tuple(question for question in found if question is not None)


def _numbers_changed(references: Sequence[Reference]) -> list[str]:
    """The attributes, by their way from the module, that the second of two calls changes as the first one did.

    What begins anew in each call, or has reached its end, holds what it held.
    """
    calls = [reference.calls[1] for reference in references if reference.sample.declared and len(reference.calls) > 1]
    effects = [call.effects for call in calls if call.returned]
    changed = {
        name: None
        for of_one in effects
        for name, value in of_one.items()
        if isinstance(value, Constant) and type(value.value) is int
    }
    return list(changed)


def _question(module: torch.nn.Module, name: str, paths: Paths) -> Question | None:
    """Asked where the count goes up, in a file of `paths`."""
    owner, _, attribute = name.rpartition(".")
    try:
        counts = module.get_submodule(owner)
    except AttributeError:  # `global SEEN`, or gone from the rewritten program
        return None
    if type(getattr(counts, attribute, None)) is not int:
        return None
    place = next(_places(type(counts), attribute, paths), None)
    if place is None:
        return None
    source, span = place
    said = source.segment(span)
    return Question(span, COUNTED, said, said, asks=("compile",), detail=f"{said} is another number in each call")


def _places(kind: type, attribute: str, paths: Paths) -> Iterator[tuple[SourceFile, Span]]:
    """Where methods of a class add to an attribute of `self`, its own ones first."""
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
                yield from ((source, source.span(target)) for target in _counts(definition, attribute))


def _counts(definition: ast.ClassDef, attribute: str) -> Iterator[ast.Attribute]:
    for node in ast.walk(definition):
        match node:
            case ast.AugAssign(target=ast.Attribute() as target):
                counts = True
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                counts = adds_to(target, value)
            case ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value):
                counts = adds_to(target, value)
            case _:
                continue
        if counts and ast.unparse(target) == f"self.{attribute}":
            yield target
