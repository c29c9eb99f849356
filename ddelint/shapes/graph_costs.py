"""What several ways of compiling a program cost on the same inputs: graphs, seconds, time. Runs in the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from ddelint.nouns.dispatches import Cost, Costs
from ddelint.nouns.size_specs import SizeSpec
from ddelint.shapes.facts import Sizes
from ddelint.shapes.trying import first_line, shapes_spec_of, sized
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.rerun import quiet
from ddelint.verify.generated_code import without_checks
from ddelint.verify.timing import interleaved, quartiles

_RECOMPILES = 64
_ROUNDS, _SECONDS = 3, 0.1
"""For timing one call in one arm."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of compiling: under a spec, or with backed dimensions where there is none."""

    name: str
    spec: SizeSpec | None = None
    hints: Mapping[str, int] = field(default_factory=dict)
    """Variable of the spec → the size that Inductor tunes for."""
    cases: Mapping[str, Sizes] = field(default_factory=dict)
    """The part that a call is of → its sizes."""


def graph_costs(entry: Entry, seed: int, arms: Sequence[Arm]) -> Costs:
    """Compile each way with Inductor, call it with its cases, and time the calls of a part in turns."""
    with torch_internals.compile_settings(recompiles=_RECOMPILES), torch.no_grad(), quiet():
        torch.manual_seed(0)
        started = [_Started(entry, seed, arm) for arm in arms]
        times = _times(entry, seed, started)
    return Costs(
        tuple(
            Cost(
                one.arm.name,
                len(one.codes),
                one.seconds,
                {part: found[one.arm.name] for part, found in times.items() if one.arm.name in found},
                tuple(without_checks(one.codes)),
                one.error,
            )
            for one in started
        )
    )


class _Started:
    """One arm, compiled for all of its cases."""

    def __init__(self, entry: Entry, seed: int, arm: Arm) -> None:
        self.arm = arm
        self.codes: list[str] = []
        self.seconds = 0.0
        self.error = ""
        self.compiled = _compiled(entry, seed, arm)
        for part, sizes in arm.cases.items():
            known = len(self.codes)
            with torch_internals.generated_code(self.codes):
                started = perf_counter()
                try:
                    self.call(entry, seed, sizes)()
                except Exception as error:
                    self.error = f"{part}: {first_line(error)}"
                    return
            if len(self.codes) > known:
                self.seconds += perf_counter() - started

    def call(self, entry: Entry, seed: int, sizes: Sizes) -> Callable[[], Any]:
        """A call with inputs of such sizes."""
        args, kwargs = sized(entry, seed, sizes)

        def run() -> Any:
            with entry.surroundings():
                return self.compiled(*args, **kwargs)

        return run


def _compiled(entry: Entry, seed: int, arm: Arm) -> Callable[..., Any]:
    program = entry.build()
    compiled: Callable[..., Any]
    if arm.spec is None:
        compiled = torch.compile(program, isolate_recompiles=True)
        return compiled
    spec = shapes_spec_of(arm.spec, entry, seed, program, arm.hints)
    compiled = torch_internals.compiled_under(program, spec, "inductor")
    return compiled


def _times(entry: Entry, seed: int, started: Sequence[_Started]) -> dict[str, dict[str, float]]:
    """Part → arm → milliseconds."""
    parts = dict.fromkeys(part for one in started for part in one.arm.cases)
    found: dict[str, dict[str, float]] = {}
    with torch.compiler.set_stance("fail_on_recompile"):
        for part in parts:
            arms = [one for one in started if part in one.arm.cases and not one.error]
            calls = [one.call(entry, seed, one.arm.cases[part]) for one in arms]
            runs = interleaved(calls, "cpu", rounds=_ROUNDS, seconds=_SECONDS)
            found[part] = {one.arm.name: quartiles(times)[1] for one, times in zip(arms, runs)}
    return found


def arms_from(given: Sequence[Mapping[str, Any]], spec_of: Callable[[Any], SizeSpec]) -> Iterator[Arm]:
    """Arms as they cross the wire."""
    for one in given:
        yield Arm(one["name"], spec_of(one["spec"]) if one["spec"] is not None else None, one["hints"], one["cases"])
