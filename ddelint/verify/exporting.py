"""torch.export of a program, strict or not, replayed against the original in eager."""

from __future__ import annotations

import contextlib
import inspect
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import TargetResult
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments
from ddelint.trace.provenance import Paths
from ddelint.verify import failures
from ddelint.verify.assumptions import Assumptions
from ddelint.verify.calls import Outcome, run
from ddelint.verify.mismatches import tolerance_for
from ddelint.verify.program import RECOMPILES, Program, Wrapped, example_of, signature
from ddelint.verify.references import Reference
from ddelint.verify.replaying import Replay
from ddelint.verify.sameness import COMPILED

_ZERO_ONE = re.compile(r"Guard failed: [^\n]{0,1000} != [01]\s*$", re.MULTILINE)


def judge_export(
    program: Program, target: str, references: Sequence[Reference], replays: Sequence[Reference], notes: list[str]
) -> TargetResult:
    """Export the program and replay it; `notes` hears of what time ran out for."""
    started = perf_counter()
    example = example_of(references)
    assumptions = Assumptions(Paths(program.options.paths), _export.__code__)
    try:
        # Dynamo runs no frame of the user's: strict export's guesses have no place
        with assumptions.noted() if target == "export" else contextlib.nullcontext():
            exported = _export(program, program.arguments(example), strict=target == "strict")
        # fails where an attribute of the program has a name that a graph module needs (`self.graph`, torch 2.13)
        module = exported.module()
    except (Exception, SystemExit) as error:
        return TargetResult(
            target,
            "cpu",
            ok=False,
            questions=program.question(error, target, _export.__code__),
            error=failures.summary(error),
            seconds=perf_counter() - started,
        )
    wanted = signature(program, program.arguments(example), constants=True)
    replay = Replay(target, tolerance_for(replays, COMPILED))
    questions: dict[Span, Question] = {}
    state = _State(module)
    for reference in replays:
        if replay.is_over(reference, perf_counter() - started, len(replays), notes):
            break
        if not replay.is_wanted(reference):
            continue
        arguments = program.arguments(reference)
        if signature(program, arguments, constants=True) != wanted:
            replay.skipped += 1
            continue
        if replay.dirty:
            state.restore()
        outcome = run(module, arguments, seed=reference.seed_of(0), surroundings=program.entry.surroundings)
        outcomes = [outcome]
        for call in range(1, len(reference.sequel) + 1):
            arguments = program.arguments(reference, call)
            outcomes.append(
                run(module, arguments, seed=reference.seed_of(call), surroundings=program.entry.surroundings)
            )
        if _refused_by_size(outcome, declared=reference.sample.declared):
            replay.skipped += 1
            replay.compared += reference.first.returned
            continue
        differing = replay.compare(reference, outcomes)
        if differing:
            found = assumptions.wrong_on(module, program.arguments(reference), differing[0])
            if found is not None:
                questions.setdefault(found.span, found)
    return replace(replay.result(seconds=perf_counter() - started), questions=tuple(questions.values()))


class _State:
    """Parameters and buffers of an exported program, which all its modules share, to begin each replay with."""

    def __init__(self, module: torch.nn.Module) -> None:
        tensors = [*module.parameters(), *module.buffers()]
        self._saved = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def restore(self) -> None:
        """As it was."""
        with torch.no_grad():
            for tensor, saved in self._saved:
                tensor.copy_(saved)


def _export(program: Program, arguments: Arguments, *, strict: bool) -> Any:
    built = program.entry.build()
    module = built if isinstance(built, torch.nn.Module) else Wrapped(built)
    args, kwargs = arguments
    shapes = _dynamic_shapes(program, module, arguments)
    with warnings.catch_warnings(), torch_internals.compile_settings(recompiles=RECOMPILES, exporting=True):
        warnings.simplefilter("ignore")
        with program.entry.surroundings():
            return torch.export.export(module, args, kwargs or None, dynamic_shapes=shapes, strict=strict)


def _dynamic_shapes(program: Program, module: torch.nn.Module, arguments: Arguments) -> Any:
    """`Dim.DYNAMIC` for the marked dimensions, in the nesting that torch.export wants; None where none is marked."""
    marked = program.dimensions(unbacked_only=False)
    if not marked:
        return None
    args, kwargs = arguments
    specs = {
        id(value): dict.fromkeys(marked[place], torch.export.Dim.DYNAMIC)
        for place, value in program.tensors(arguments).items()
        if place in marked
    }

    def spec(value: Any) -> Any:
        return pytree.tree_map(lambda leaf: specs.get(id(leaf)), value)

    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    return {
        name: tuple(map(spec, value))
        if isinstance(value, tuple) and name not in program.entry.parameters
        else {key: spec(part) for key, part in value.items()}
        if isinstance(value, dict) and name not in program.entry.parameters
        else spec(value)
        for name, value in bound.items()
    }


def _refused_by_size(outcome: Outcome, *, declared: bool) -> bool:
    """Whether the exported program's own check of its input sizes refused an input.

    Sizes 0 and 1 are special to every backed dimension, so that even a declared input may be refused for one.
    """
    error = outcome.error
    if error is None or error.kind != "AssertionError" or "Guard failed" not in error.message:
        return False
    return not declared or _ZERO_ONE.search(error.message) is not None
