"""The rewritten entry as export and torch.compile see it."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import SessionOptions
from ddelint.trace.entry import Arguments, Entry
from ddelint.trace.marks import tensors_at
from ddelint.trace.provenance import Paths
from ddelint.verify import failures
from ddelint.verify.inputs import variations
from ddelint.verify.references import Reference
from ddelint.verify.samples import Sample

RECOMPILES = 64
"""Graphs of one function before Dynamo gives up: enough for every input set to get its own."""


class Wrapped(torch.nn.Module):  # type: ignore[misc]
    """A function as the module that torch.export wants, with its parameters where they are known.

    Dynamic shapes go by these; torch 2.13 takes none for a `forward` with `**kwargs`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        own: Any = lambda *args, **kwargs: function(*args, **kwargs)  # noqa: E731
        with contextlib.suppress(TypeError, ValueError):
            own.__signature__ = inspect.signature(function)
            self.forward = own  # type: ignore[method-assign]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)


class Program:
    """The rewritten entry, as the targets see it."""

    def __init__(self, entry: Entry, options: SessionOptions, count: int) -> None:
        self.entry = entry
        self.options = options
        self._samples: dict[str, Sample] = {}
        self._source = variations(entry, count, options.seed)

    def arguments(self, reference: Reference, call: int = 0) -> Arguments:
        """This entry's own arguments for an input set of the original (its classes may have been loaded anew)."""
        label = reference.sequel[call - 1] if reference.sequel and call else reference.sample.label
        while label not in self._samples:
            sample = next(self._source, None)
            if sample is None:
                return reference.sample.make()
            self._samples[sample.label] = sample
        return self._samples[label].make()

    def dimensions(self, *, unbacked_only: bool) -> dict[str, tuple[int, ...]]:
        """A tensor's place → dimensions that must not be specialized."""
        names = dict.fromkeys((*self.entry.unbacked, *(() if unbacked_only else self.entry.dynamic)))
        return {
            name: tuple(
                dict.fromkeys(
                    (*self.entry.unbacked.get(name, ()), *(() if unbacked_only else self.entry.dynamic.get(name, ())))
                )
            )
            for name in names
        }

    def tensors(self, arguments: Arguments) -> dict[str, torch.Tensor]:
        """The tensors among the arguments, by where they stand: `tokens`, `batch['mask']`."""
        return tensors_at(self.entry.parameters, arguments)

    def blame_anyway(self) -> Span | None:
        """The first line of what is called: blamed where a failure names no line of the user's."""
        try:
            program = self.entry.build()
            function: Any = program.forward if isinstance(program, torch.nn.Module) else program
            function = inspect.unwrap(getattr(function, "__func__", function))
            filename, row = function.__code__.co_filename, function.__code__.co_firstlineno
        except Exception:
            return None
        return Span(filename, row, 1, row, 2) if filename in Paths(self.options.paths) else None

    def question(self, error: BaseException, target: str, code: Any) -> tuple[Question, ...]:
        """What a front end asked."""
        try:
            found = failures.question(error, target, self.options.paths, code, self.blame_anyway())
        except Exception as problem:  # never lose the front end's own error over its explanation
            sys.stderr.write(f"ddelint: {type(problem).__name__} while reading an error: {problem}\n")
            found = None
        return (found,) if found is not None else ()


def signature(program: Program, arguments: Arguments, *, constants: bool) -> Any:
    """What an exported program is specialized to: shapes but for dynamic dimensions, dtypes and plain values."""
    dynamic = program.dimensions(unbacked_only=False)
    free = {id(value): dynamic.get(name, ()) for name, value in program.tensors(arguments).items()}
    leaves, spec = pytree.tree_flatten(arguments)
    parts: list[Any] = [str(spec)]
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            skipped = {d % max(leaf.dim(), 1) for d in free.get(id(leaf), ())}
            parts.append((str(leaf.dtype), tuple(None if d in skipped else s for d, s in enumerate(leaf.shape))))
        elif constants and isinstance(leaf, (bool, int, float, str, type(None))):
            parts.append((type(leaf).__name__, leaf))
        else:
            parts.append(type(leaf).__name__)
    return tuple(parts)


def example_of(references: Sequence[Reference]) -> Reference:
    """What is traced with: the first declared input on which the original returns."""
    returned = [reference for reference in references if reference.first.returned]
    return (returned or references)[0]
