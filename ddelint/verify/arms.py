"""One program run in one way, ready to be measured: compiled once, in a cache of its own, beside the others.

Runs in the worker. Each arm is a function of its own, so that what Dynamo compiled for one is not used for another.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import FunctionType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.measurements import COMPILED, EAGER, Arm
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, Entry
from ddelint.trace.marks import tensors_at
from ddelint.verify import device as devices
from ddelint.verify import failures, profiles
from ddelint.verify.calls import module_of, run
from ddelint.verify.generated_code import kernel_calls
from ddelint.verify.mismatches import mismatches
from ddelint.verify.references import Reference
from ddelint.verify.sameness import EXACT
from ddelint.verify.samples import fresh
from ddelint.verify.timing import interleaved, quartiles

NO_DEVICE = "n/a: no device"
_OTHER_INPUTS = 6
"""Declared inputs that recompiles are counted over, each called twice."""
_ROUNDS = 20
"""Short turns: what disturbs the machine for a second then disturbs all arms."""


@dataclass(frozen=True, slots=True)
class Marks:
    """How input dimensions are marked: parameter → dimensions, and for `x.0` a hint or bounds."""

    dimensions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unbacked: bool = True
    hints: Mapping[str, int] = field(default_factory=dict)
    lowers: Mapping[str, int] = field(default_factory=dict)
    """The smallest size."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """The largest."""

    def put_on(self, named: Mapping[str, Any]) -> None:
        """Mark the tensors among the arguments."""
        for name, dimensions in self.dimensions.items():
            tensor = named.get(name)
            if not isinstance(tensor, torch.Tensor):
                continue
            for dimension in dimensions:
                place = f"{name}.{dimension}"
                torch_internals.mark_sizes(
                    tensor,
                    dimension,
                    unbacked=self.unbacked,
                    hint=self.hints.get(place),
                    lower=self.lowers.get(place),
                    upper=self.bounds.get(place),
                )


@dataclass(frozen=True)
class Setting:
    """What all arms of one program share."""

    entry: Entry
    seed: int
    """Of the measured batch."""
    state: Mapping[str, torch.Tensor] | None = None
    """The original's parameters and buffers, for equal weights; None: as the program makes them."""
    device: str = "cpu"

    def program(self) -> Any:
        """The program, with the shared weights, on the device."""
        built: Any = self.entry.build()
        module = module_of(built)
        if module is not None:
            if self.state is not None:
                module.load_state_dict(self.state, strict=False)
            if self.device != "cpu":
                module.to(self.device)
        return built

    def arguments(self, seed: int, marks: Marks | None = None) -> Arguments:
        """New arguments, marked as `marks` says, or not at all."""

        def unmarked(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.layout is not torch.strided or tensor.is_nested:
                return tensor
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)

        arguments = devices.moved(fresh(self.entry, seed), self.device)
        args, kwargs = pytree.tree_map_only(torch.Tensor, unmarked, arguments)
        if marks is not None:
            marks.put_on(tensors_at(self.entry.parameters, (args, kwargs)))
        return tuple(args), dict(kwargs)


class Runner:
    """One arm: `start` compiles it, `count` looks at one call, `times` is filled by `measure`."""

    def __init__(self, setting: Setting, program: str, how: str, marks: Marks | None = None) -> None:
        self.arm = Arm(program, how)
        self.codes: list[str] = []
        self._setting = setting
        self._marks = marks
        self._graphs = 0
        self._call: Callable[[], Any] | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be measured."""
        return self._call is not None and not self.arm.error

    @property
    def call(self) -> Callable[[], Any]:
        """One call on the batch. Only of an arm that is ready."""
        assert self._call is not None
        return self._call

    def start(self, reference: Reference, *, compared: bool = True) -> None:
        """Compile by a first call in an empty cache, compare the result with `reference`, count what a call does.

        Not `compared` is what this device gives otherwise in eager already.
        """
        setting, device = self._setting, self._setting.device
        try:
            with self.around(), torch_internals.empty_inductor_cache(), torch_internals.generated_code(self.codes):
                program = setting.program()
                target = self._target(program, "inductor")
                args, kwargs = setting.arguments(setting.seed, self._marks)
                started = perf_counter()
                outcome = run(
                    target,
                    setting.arguments(setting.seed, self._marks),
                    module=module_of(program),
                    surroundings=setting.entry.surroundings,
                )
                seconds = perf_counter() - started
            compiled = self.arm.how != EAGER
            self.arm = replace(self.arm, first_seconds=seconds if compiled else None)
            if outcome.error is not None and reference.first.returned:
                self.give_up(str(outcome.error))
                return
            tolerance = EXACT if not compiled and device == "cpu" else devices.tolerance(device)
            target_name = "compile" if device == "cpu" else "cuda"
            differing = next(iter(mismatches(reference, [outcome], target_name, tolerance)), None) if compared else None
            self._call = lambda: target(*args, **kwargs)
            with self.around(), setting.entry.surroundings():
                self._call()
                counts = profiles.profiled(self._call, device)
            written = kernel_calls(self.codes) if device == "cpu" else 0
            self.arm = replace(
                self.arm,
                graphs=self._graphs if compiled else None,
                launches=counts.launches if compiled else None,
                kernels=counts.kernels + written,
                host_syncs=counts.host_syncs,
                agrees=differing is None if compared else None,
                difference="" if differing is None else _difference(differing),
            )
        except (Exception, SystemExit) as error:
            self.give_up(failures.summary(error))

    def count_recompiles(self) -> None:
        """More graphs for the entry's other inputs, two calls each; with a backend that only counts."""
        setting = self._setting
        if self.arm.how == EAGER or not self.ready:
            return
        made = 0

        def counting(graph: Any, example_inputs: Any) -> Any:
            nonlocal made
            made += 1
            return graph.forward

        with self.around():
            target = self._target(setting.program(), counting)
            first: int | None = None
            seeds = range(setting.seed, setting.seed + (_OTHER_INPUTS if setting.entry.seeded else 1))
            for seed in (*seeds, *seeds):
                run(target, setting.arguments(seed, self._marks), surroundings=setting.entry.surroundings)
                first = made if first is None else first
        self.arm = replace(self.arm, recompiles=made - (first or 0))

    def try_cuda_graphs(self) -> None:
        """Whether the arm can be recorded as a CUDA graph."""
        setting = self._setting
        if self.arm.how in (EAGER, COMPILED) or not self.ready:
            return
        if setting.device == "cpu":
            self.arm = replace(self.arm, cuda_graphs=NO_DEVICE)
            return
        before = torch_internals.cuda_graph_skips()
        try:
            with self.around(), torch_internals.empty_inductor_cache(), setting.entry.surroundings():
                target = self._target(setting.program(), "inductor", mode="reduce-overhead")
                for _ in range(3):  # a warm-up, the recording, a replay
                    args, kwargs = setting.arguments(setting.seed, self._marks)
                    target(*args, **kwargs)
                torch.cuda.synchronize()
        except Exception as error:
            self.arm = replace(self.arm, cuda_graphs=f"not safe: {failures.summary(error)}")
            return
        skipped = torch_internals.cuda_graph_skips() - before
        self.arm = replace(self.arm, cuda_graphs=f"not safe: {skipped} graphs skipped" if skipped else "safe")

    def timed(self, times: Sequence[float]) -> None:
        """Take the measured milliseconds over."""
        lower, middle, upper = quartiles(times)
        self.arm = replace(self.arm, milliseconds=middle, lower=lower, upper=upper)

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """The settings under which the arm is compiled and called."""
        with warnings.catch_warnings(), torch_internals.measuring_settings(captured=self.arm.how != COMPILED):
            warnings.simplefilter("ignore")
            yield

    def give_up(self, message: str) -> None:
        """Say why it is not measured."""
        self.arm = replace(self.arm, error=message)

    def _target(self, program: Any, backend: Any, mode: str | None = None) -> Any:
        if self.arm.how == EAGER:
            return program
        function = _own_function(program)
        if mode is not None:
            return torch.compile(function, fullgraph=True, mode=mode)
        counted = self._counted(backend) if isinstance(backend, str) else backend
        return torch.compile(function, fullgraph=self.arm.how != COMPILED, backend=counted)

    def _counted(self, name: str) -> Callable[..., Any]:
        inner = torch_internals.backend(name)

        def counted(graph: Any, example_inputs: Any) -> Any:
            made = inner(graph, example_inputs)
            self._graphs += 1
            return made

        return counted


def warm_up(device: str) -> None:
    """Compile something small, so that no arm's first call pays for what is loaded or built once for a process."""

    def small(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    # what keeps this from being compiled keeps the arms, too, and they say so
    with (
        contextlib.suppress(Exception),
        torch_internals.measuring_settings(captured=True),
        torch_internals.empty_inductor_cache(),
    ):
        torch.compile(small)(torch.zeros(8, device=device))


def _own_function(program: Callable[..., Any]) -> Callable[..., Any]:
    """A function with code of its own that calls the program: Dynamo keeps what it compiles by code."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return program(*args, **kwargs)

    return FunctionType(call.__code__.replace(), call.__globals__, "call", None, call.__closure__)


def _difference(found: Any) -> str:
    return f"{found.aspect}: expected {found.expected}, got {found.got}"


def measure(runners: Sequence[Runner], setting: Setting, seconds: float) -> None:
    """Time the arms that are ready, in turns; about so many seconds for each."""
    ready = [runner for runner in runners if runner.ready]
    captured = not any(runner.arm.how == COMPILED for runner in ready)
    with warnings.catch_warnings(), torch_internals.measuring_settings(captured=captured), setting.entry.surroundings():
        warnings.simplefilter("ignore")
        found = interleaved(
            [runner.call for runner in ready], setting.device, rounds=_ROUNDS, seconds=seconds / _ROUNDS
        )
    for runner, times in zip(ready, found):
        runner.timed(times)
