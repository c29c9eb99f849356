"""torch.compile(fullgraph=True) of a program on one device, replayed against the original in eager."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import LOWERING, SessionOptions, TargetResult
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments
from ddelint.verify import cpp_kernels, failures
from ddelint.verify import device as devices
from ddelint.verify.calls import module_of, run
from ddelint.verify.flags import other_numbers
from ddelint.verify.mismatches import tolerance_for
from ddelint.verify.modes import in_other_dtypes, in_other_sizes, other_modes, parts_in_other_mode
from ddelint.verify.other_settings import zero_settings
from ddelint.verify.program import RECOMPILES, Program, example_of
from ddelint.verify.references import Reference
from ddelint.verify.replaying import Replay
from ddelint.verify.samples import Sample

_RANDOM = "compile: random numbers are drawn as eager draws them; without that, Inductor's code draws others"


_AS_INSTALLED = 8
"""Inputs for torch.compile without settings: a graph that breaks before `torch.cond` is asked for one arm at a time."""
_ZEROS = 2
"""Settings of zero for which control flow is compiled once more."""


class Compiling:
    """torch.compile(fullgraph=True) of a program on one device."""

    def __init__(
        self, program: Program, options: SessionOptions, backend: str, notes: list[str], device: str = "cpu"
    ) -> None:
        self._program = program
        self._options = options
        self._backend = backend
        self._notes = notes
        self._device = device
        self._graphs = 0
        self._hands_over = False
        """Whether a graph holds control flow that was handed to the compiler as a whole."""

    def judge(
        self, references: Sequence[Reference], replays: Sequence[Reference], backward: list[bool]
    ) -> list[TargetResult]:
        """The program as it is, and where it takes 0-d tensors, with these cloned inside: the clone hides no error."""
        example = example_of(references)
        gradients = bool(replays) and any(reference.first.gradients is not None for reference in replays)
        backend = "aot_eager" if gradients and self._backend == "eager" else self._backend
        if not self._has_numbers(example):
            result = self._run(example, replays, backend, gradients, backward, cloned=False)
            return [self._and_as_installed(result, example, replays)]
        # the plain form is specialized to each number: its graphs hold no question
        plain_backend = backend if backend != "inductor" else "aot_eager"
        plain = self._run(example, replays, plain_backend, gradients, backward, cloned=False)
        if not plain.ok:
            return [plain]
        derived = self._run(example, replays, backend, gradients, backward, cloned=True)
        if not derived.ok:
            return [replace(derived, recompiles=plain.recompiles)]
        result = replace(derived, graphs=plain.graphs, recompiles=plain.recompiles)
        return [self._and_as_installed(result, example, replays)]

    def _and_as_installed(self, result: TargetResult, example: Reference, replays: Sequence[Reference]) -> TargetResult:
        """The result, and whether torch.compile takes control flow that was handed to it where no setting makes it
        capture what is read, and where something else is given or set than before:
        everything else breaks the graph there, and goes on."""
        if not (result.ok and self._hands_over and replays):
            return result
        with torch_internals.compile_settings(recompiles=RECOMPILES, captured=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = torch.compile(self._built()[0], backend="eager")
            given = (example, *(r for r in replays if r.sample.declared and r.first.returned))[:_AS_INSTALLED]
            for reference in given:
                error = self._error(compiled, self._program.arguments(reference))
                if error is not None and failures.is_front_end(error):
                    return replace(result, as_installed=failures.summary(error))
            refused = self._refused_number(compiled, example) or self._refused_otherwise(given)
            return replace(result, otherwise=refused)

    def _refused_number(self, compiled: Callable[..., Any], example: Reference) -> str:
        """What a program that has been compiled raises for another number than before, for which torch.compile puts a
        symbol, and which eager takes."""
        changes = other_numbers(self._built()[0], example.sample)
        return self._first_refusal([example], changes, lambda prepare: compiled)

    def _refused_otherwise(self, references: Sequence[Reference]) -> str:
        """What compiling raises in another mode, dtype or size, or with a setting of zero, where eager takes one of the
        inputs: an arm of control flow is traced even where it is not run, and must give what the other gives."""

        def compiled(prepare: Callable[[Any], Any]) -> Callable[..., Any]:
            return torch.compile(prepare(self._built()[0]), backend="eager")  # type: ignore[no-any-return]

        program = self._built()[0]
        modes = itertools.islice(other_modes(program), 1) if isinstance(program, torch.nn.Module) else ()
        zeros = zero_settings(program)
        dtypes = in_other_dtypes(references[0].sample, self._program.entry.parameters)
        changes = [*modes, *parts_in_other_mode(program), *dtypes, *in_other_sizes(), *itertools.islice(zeros, _ZEROS)]
        return self._first_refusal(references, changes, compiled)

    def _first_refusal(
        self,
        references: Sequence[Reference],
        changes: Iterable[Callable[[Sample], Sample]],
        compiled: Callable[[Callable[[Any], Any]], Callable[..., Any]],
    ) -> str:
        """What is raised under the first of these changes under which eager raises nothing on one of the inputs;
        `compiled` gets what prepares a program for it."""
        for change in changes:
            for sample in (change(reference.sample) for reference in references):
                if self._error(sample.prepare(self._built()[0]), sample.make(), sample.around) is not None:
                    continue
                error = self._error(compiled(sample.prepare), sample.make(), sample.around)
                if error is not None:
                    return f"{sample.label.rpartition(', ')[2]}: {failures.summary(error)}"
                break
        return ""

    def _error(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Exception | None:
        """What a call raises, within what is `around` it."""
        args, kwargs = devices.moved(arguments, self._device)
        try:
            with self._program.entry.surroundings(), around():
                function(*args, **kwargs)
        except Exception as error:
            return error
        return None

    def _has_numbers(self, example: Reference) -> bool:
        leaves = pytree.tree_leaves(self._program.arguments(example))
        return any(isinstance(leaf, torch.Tensor) and leaf.dim() == 0 for leaf in leaves)

    def _run(
        self,
        example: Reference,
        replays: Sequence[Reference],
        backend: str,
        gradients: bool,
        backward: list[bool],
        *,
        cloned: bool,
    ) -> TargetResult:
        started = perf_counter()
        random = backend == "inductor" and any(reference.first.drew for reference in replays)
        if random:
            self._notes.append(_RANDOM)
        with (
            torch_internals.compile_settings(recompiles=RECOMPILES),
            torch_internals.drawn_as_in_eager(random),
            cpp_kernels.compiled_together(),
        ):
            self._graphs = 0
            counting = self._counting(backend)
            replay = Replay("compile", tolerance_for(replays, devices.tolerance(self._device)), self._device)
            try:
                first = self.compiled(counting, cloned)
                self._first_call(first, example)
                graphs = self._graphs
                recompiles = self._replay(replay, replays, counting, gradients, backward, cloned)
            except (Exception, SystemExit) as error:
                if _lacks_compiler(error) and backend in ("inductor", LOWERING):
                    self._notes.append("inductor not run: no C++ compiler")
                    return self._run(example, replays, "aot_eager", gradients, backward, cloned=cloned)
                words = "with 0-d arguments cloned inside: " if cloned else ""
                return replace(
                    replay.result(seconds=perf_counter() - started, graphs=self._graphs or None),
                    ok=False,
                    questions=self._program.question(error, "compile", _Compiled.__call__.__code__),
                    error=words + failures.summary(error),
                )
            return replay.result(
                seconds=perf_counter() - started, graphs=graphs, recompiles=recompiles if replays else None
            )

    def _first_call(self, compiled: _Compiled, example: Reference) -> None:
        """Compile by calling; raises what the front end raises. What the graph raises comes up in the replay."""
        args, kwargs = self.prepared(example)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = self._graphs
            try:
                with self._program.entry.surroundings():
                    compiled(*args, **kwargs)
            except Exception as error:
                if self._graphs == before or failures.is_front_end(error):
                    raise

    def _replay(
        self,
        replay: Replay,
        replays: Sequence[Reference],
        counting: Callable[..., Any],
        gradients: bool,
        backward: list[bool],
        cloned: bool,
    ) -> int:
        """Gives how many more graphs the declared inputs needed; raises what the front end raises for one of them."""
        started = perf_counter()
        compiled = self.compiled(counting, cloned)
        before = declared = self._graphs
        for reference in replays:
            if replay.is_over(reference, perf_counter() - started, len(replays), self._notes):
                break
            if not replay.is_wanted(reference):
                continue
            if replay.dirty:
                compiled = self.compiled(counting, cloned)
            outcomes = []
            wanted = gradients and reference.first.differentiated
            for number in range(len(reference.calls)):
                arguments = self.prepared(reference, number)
                outcomes.append(
                    run(
                        compiled,
                        arguments,
                        module=compiled.module,
                        seed=reference.seed_of(number),
                        gradients=wanted,
                        surroundings=self._program.entry.surroundings,
                    )
                )
                if compiled.refusal is not None:  # another input needed another graph, and there is none
                    raise compiled.refusal
            found = replay.compare(reference, outcomes)
            if wanted and reference.first.gradients is not None and outcomes[0].returned:
                if all(mismatch.where == "backward" for mismatch in found):  # of another result, gradients say nothing
                    backward.append(not found)
                # a backward that cannot be compiled would be tried again for every input
                gradients = gradients and outcomes[0].gradient_error is None
            if reference.sample.declared:
                declared = self._graphs
        return declared - before

    def prepared(self, reference: Reference, call: int = 0) -> Arguments:
        """New arguments, on the device and marked."""
        arguments = devices.moved(self._program.arguments(reference, call), self._device)
        marked = self._program.dimensions(unbacked_only=True)
        for place, value in self._program.tensors(arguments).items():
            if place in marked:
                torch_internals.mark_unbacked(value, marked[place])
        return arguments

    def compiled(self, backend: Callable[..., Any], cloned: bool = False) -> _Compiled:
        """The program, compiled when it is called; `cloned`: with 0-d arguments cloned inside."""
        built, module = self._built()
        target = _with_clones(built) if cloned else built
        return _Compiled(torch.compile(target, fullgraph=not self._options.graph_breaks, backend=backend), module)

    def _built(self) -> tuple[Any, torch.nn.Module | None]:
        """The program and its module, on the device."""
        built: Any = self._program.entry.build()
        module = module_of(built)
        if module is not None and self._device != "cpu":
            module.to(self._device)
        return built, module

    def _counting(self, backend: str) -> Callable[..., Any]:
        inner = None if backend == "eager" else torch_internals.backend(backend)

        def counting(graph: Any, example_inputs: Any) -> Any:
            made = graph.forward if inner is None else inner(graph, example_inputs)
            self._graphs += 1
            self._hands_over = self._hands_over or torch_internals.holds_control_flow(graph)
            return made

        return counting


class _Compiled:
    """A compiled program and the module whose state it changes."""

    def __init__(self, function: Callable[..., Any], module: torch.nn.Module | None) -> None:
        self._function = function
        self.module = module
        self.refusal: BaseException | None = None
        """What the front end raised in the last call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.refusal = None
        try:
            return self._function(*args, **kwargs)
        except Exception as error:
            if failures.is_front_end(error):
                self.refusal = error
            raise


def _with_clones(inner: Callable[..., Any]) -> Callable[..., Any]:
    def with_clones(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_cloned(value) for value in args)
        kwargs = {name: _cloned(value) for name, value in kwargs.items()}
        return inner(*args, **kwargs)

    return with_clones


def _cloned(value: Any) -> Any:
    """Tensors without dimensions cloned, also in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return value.clone() if value.dim() == 0 else value
    if type(value) in (list, tuple):
        return type(value)([_cloned(part) for part in value])
    if type(value) is dict:
        return {key: _cloned(part) for key, part in value.items()}
    return value


def _lacks_compiler(error: BaseException) -> bool:
    return any(type(cause).__name__ == "InvalidCxxCompiler" for cause in failures.causes(error))
