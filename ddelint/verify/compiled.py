"""The program through export, strict export and torch.compile, each replayed against the original in eager."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.diagnostics import Question, Span
from ddelint.protocol import LOWERING, Compilation, Mismatch, SessionOptions, TargetResult
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, Entry
from ddelint.trace.provenance import Paths
from ddelint.verify import device as devices
from ddelint.verify import failures
from ddelint.verify.assumptions import Assumptions
from ddelint.verify.backward_autocast import Around, backward_question, runs_under_autocast
from ddelint.verify.calls import Outcome, module_of, run
from ddelint.verify.eager import Patience, Reference, mismatches, run_sample, witnessed
from ddelint.verify.inputs import REQUIRING_GRAD, Sample, variations
from ddelint.verify.limits import TooMuch, limited
from ddelint.verify.reach import Rewinding
from ddelint.verify.sameness import COMPILED, Tolerance

_MOST_MISMATCHES = 6
RECOMPILES = 64
"""Graphs of one function before Dynamo gives up: enough for every input set to get its own."""
_ORIGINAL_SECONDS, _REPLAY_SECONDS = 30.0, 45.0
_SHARE = 0.9
"""Of the request's time: what is left is for saying how it went."""

_ZERO_ONE = re.compile(r"Guard failed: [^\n]{0,1000} != [01]\s*$", re.MULTILINE)


def compile_targets(
    original: Entry,
    rewritten: Callable[[], Entry],
    targets: Sequence[str],
    options: SessionOptions,
    samples: int,
    backend: str,
) -> Compilation:
    """Trace what `rewritten()` gives through `targets` and replay it against `original`.

    `samples` 0: trace only. `backend` is torch.compile's; gradients need at least `aot_eager`, which then replaces
    `eager`. What the front ends raise becomes a failed TargetResult, with a Question where user code can be blamed.
    """
    started = perf_counter()
    count = max(samples, 8)
    rewinding = Rewinding(original)
    references = list(eager_references(rewinding.entry, options, samples, count))
    rewinding.back()
    with witnessed(rewinding.entry, references) if samples else contextlib.nullcontext():
        program = Program(Rewinding(rewritten()).entry, options, count)
        return _through_targets(program, targets, options, references, backend, replayed=bool(samples), since=started)


def _through_targets(
    program: Program,
    targets: Sequence[str],
    options: SessionOptions,
    references: Sequence[Reference],
    backend: str,
    *,
    replayed: bool,
    since: float,
) -> Compilation:
    replays = references if replayed else []
    notes: list[str] = []
    results: list[TargetResult] = []
    backward: list[bool] = []
    for target in targets:
        left = options.timeout * _SHARE - (perf_counter() - since)
        try:
            with limited(max(left, 1.0), None):
                if target == "compile":
                    results += Compiling(program, options, backend, notes).judge(references, replays, backward)
                elif target in ("export", "strict"):
                    results.append(_judge_export(program, target, references, replays))
        except TooMuch:
            results.append(TargetResult(target, "cpu", ok=False, error=f"did not finish within {max(left, 1.0):.0f} s"))
    if "compile" in targets and replayed:
        results += _on_devices(program, options, backend, notes, results, replays, backward)
    asked = _autocast_question(program, options, references, results) if replayed else None
    if asked is not None:
        results = [replace(r, questions=(*r.questions, asked)) if r.target == "compile" else r for r in results]
    results = [_shortened(result) for result in results]
    failed_backward = tuple(m for result in results for m in result.mismatches if m.where == "backward")
    return Compilation(
        results=tuple(
            replace(result, mismatches=tuple(m for m in result.mismatches if m.where != "backward"))
            for result in results
        ),
        backward=all(backward) if backward else None,
        mismatches=failed_backward[:_MOST_MISMATCHES],
        notes=tuple(dict.fromkeys(notes)),
    )


def _autocast_question(
    program: Program, options: SessionOptions, references: Sequence[Reference], results: Sequence[TargetResult]
) -> Question | None:
    """DDE701: whether gradients differ only because the backward pass is compiled for the forward's autocast."""
    place = program.blame_anyway()
    compiles = any(result.target == "compile" and not result.error for result in results)
    if place is None or not compiles or not runs_under_autocast(program.entry):
        return None

    def gradients(reference: Reference, inside: Around) -> Outcome:
        @contextlib.contextmanager
        def around() -> Iterator[None]:
            with program.entry.surroundings(), inside():
                yield

        with torch_internals.compile_settings(recompiles=RECOMPILES):
            compiling = Compiling(program, options, "aot_eager", [])
            compiled = compiling.compiled(torch_internals.backend("aot_eager"))
            arguments = compiling.prepared(reference)
            return run(compiled, arguments, module=compiled.module, gradients=True, surroundings=around)

    return backward_question(place, references, gradients)


def _shortened(result: TargetResult) -> TargetResult:
    ranked = sorted(result.mismatches, key=lambda mismatch: not mismatch.declared)
    return replace(result, mismatches=tuple(ranked[:_MOST_MISMATCHES]))


def eager_references(original: Entry, options: SessionOptions, samples: int, count: int) -> Iterator[Reference]:
    """The original in eager; at least up to the first input on which it returns, which is what will be traced."""
    started = perf_counter()
    any_returned = False
    for number, sample in enumerate(variations(original, count, options.seed)):
        if sample.label == REQUIRING_GRAD:  # gradients nobody asked for: eager against eager has compared these
            continue
        spent = perf_counter() - started > min(_ORIGINAL_SECONDS, options.timeout / 10)
        if any_returned and (number >= samples or spent):
            return
        patience = Patience(5.0, options.memory // 4)
        calls = run_sample(original, sample, twice=False, patience=patience)
        if calls is not None:
            any_returned |= calls[0].returned
            twice = len(calls) > 1
            yield Reference(
                sample,
                calls,
                rerun=lambda entry, moved, twice=twice, patience=patience: run_sample(  # type: ignore[misc]
                    entry, moved, twice=twice, patience=patience
                ),
            )


# ------------------------------------------------------------------------------------------------------- the program


class Wrapped(torch.nn.Module):  # type: ignore[misc]
    """A function as the module that torch.export wants."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

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

    def arguments(self, reference: Reference) -> Arguments:
        """This entry's own arguments for an input set of the original (its classes may have been loaded anew)."""
        label = reference.sample.label
        while label not in self._samples:
            sample = next(self._source, None)
            if sample is None:
                return reference.sample.make()
            self._samples[sample.label] = sample
        return self._samples[label].make()

    def dimensions(self, *, unbacked_only: bool) -> dict[str, tuple[int, ...]]:
        """Parameter → dimensions that must not be specialized."""
        names = dict.fromkeys((*self.entry.unbacked, *(() if unbacked_only else self.entry.dynamic)))
        return {
            name: tuple(
                dict.fromkeys(
                    (*self.entry.unbacked.get(name, ()), *(() if unbacked_only else self.entry.dynamic.get(name, ())))
                )
            )
            for name in names
        }

    def named(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments by parameter."""
        args, kwargs = arguments
        return dict(zip(self.entry.parameters, args)) | kwargs

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


def _signature(program: Program, arguments: Arguments, *, constants: bool) -> Any:
    """What an exported program is specialized to: shapes but for dynamic dimensions, dtypes and plain values."""
    dynamic = program.dimensions(unbacked_only=False)
    free = {id(value): dynamic.get(name, ()) for name, value in program.named(arguments).items()}
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


def _example(references: Sequence[Reference]) -> Reference:
    """What is traced with: the first declared input on which the original returns."""
    returned = [reference for reference in references if reference.first.returned]
    return (returned or references)[0]


# ------------------------------------------------------------------------------------------------------------ export


def _judge_export(
    program: Program, target: str, references: Sequence[Reference], replays: Sequence[Reference]
) -> TargetResult:
    started = perf_counter()
    example = _example(references)
    assumptions = Assumptions(Paths(program.options.paths), _export.__code__)
    try:
        # Dynamo runs no frame of the user's: strict export's guesses have no place
        with assumptions.noted() if target == "export" else contextlib.nullcontext():
            exported = _export(program, program.arguments(example), strict=target == "strict")
    except (Exception, SystemExit) as error:
        return TargetResult(
            target,
            "cpu",
            ok=False,
            questions=program.question(error, target, _export.__code__),
            error=failures.summary(error),
            seconds=perf_counter() - started,
        )
    wanted = _signature(program, program.arguments(example), constants=True)
    replay = _Replay(target, COMPILED)
    questions: dict[Span, Question] = {}
    module: torch.nn.Module | None = None
    for reference in replays:
        if perf_counter() - started > _REPLAY_SECONDS:
            break
        if not replay.is_wanted(reference):
            continue
        arguments = program.arguments(reference)
        if _signature(program, arguments, constants=True) != wanted:
            replay.skipped += 1
            continue
        if module is None:
            module = exported.module()
            state = _State(module)
        elif replay.dirty:
            state.restore()
        outcome = run(module, arguments, gradients=False, surroundings=program.entry.surroundings)
        if _refused_by_size(outcome, declared=reference.sample.declared):
            replay.skipped += 1
            replay.compared += reference.first.returned
            continue
        differing = replay.compare(reference, [outcome])
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
    with warnings.catch_warnings(), torch_internals.compile_settings(recompiles=RECOMPILES):
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
        id(value): dict.fromkeys(marked[name], torch.export.Dim.DYNAMIC)
        for name, value in program.named(arguments).items()
        if name in marked and isinstance(value, torch.Tensor)
    }

    def spec(value: Any) -> Any:
        if id(value) in specs:
            return specs[id(value)]
        return None if isinstance(value, torch.Tensor) else pytree.tree_map(lambda leaf: None, value)

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


# ------------------------------------------------------------------------------------------------------------ replay


@dataclass
class _Replay:
    """Runs of a traced program against the original, added up."""

    target: str
    tolerance: Tolerance
    device: str = "cpu"
    replayed: int = 0
    skipped: int = 0
    compared: int = 0
    agreed: int = 0
    dirty: bool = False
    """Whether the last run changed the program's state."""
    mismatches: list[Mismatch] = field(default_factory=list)

    def is_wanted(self, reference: Reference) -> bool:
        """What the original refuses says nothing, unless the user declared it."""
        return reference.first.returned or reference.sample.declared

    def compare(self, reference: Reference, outcomes: Sequence[Outcome]) -> list[Mismatch]:
        """Add one input set; gives what differed."""
        self.replayed += 1
        self.dirty = reference.first.state_changed or outcomes[0].state_changed
        found = list(mismatches(reference, outcomes, self.target, self.tolerance))
        found = [replace(m, where="backward") if m.aspect in ("gradient", "backward") else m for m in found]
        self.mismatches += found
        if reference.first.returned:
            self.compared += 1
            self.agreed += not any(mismatch.where != "backward" for mismatch in found)
        return found

    def result(
        self, *, seconds: float, graphs: int | None = None, recompiles: int | None = None, error: str = ""
    ) -> TargetResult:
        """The outcome of a target that could be traced."""
        return TargetResult(
            self.target.split(" ")[0],
            self.device,
            ok=not error and not any(mismatch.where != "backward" for mismatch in self.mismatches),
            error=error,
            replayed=self.replayed,
            skipped=self.skipped,
            compared=self.compared,
            agreed=self.agreed,
            mismatches=tuple(self.mismatches),
            graphs=graphs,
            recompiles=recompiles,
            seconds=seconds,
        )


# ----------------------------------------------------------------------------------------------------------- compile


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

    def judge(
        self, references: Sequence[Reference], replays: Sequence[Reference], backward: list[bool]
    ) -> list[TargetResult]:
        """The program as it is, and where it takes 0-d tensors, with these cloned inside: the clone hides no error."""
        example = _example(references)
        gradients = bool(replays) and any(reference.first.gradients is not None for reference in replays)
        backend = "aot_eager" if gradients and self._backend == "eager" else self._backend
        if not self._has_numbers(example):
            return [self._run(example, replays, backend, gradients, backward, cloned=False)]
        # the plain form is specialized to each number: its graphs hold no question
        plain_backend = backend if backend != "inductor" else "aot_eager"
        plain = self._run(example, replays, plain_backend, gradients, backward, cloned=False)
        if not plain.ok:
            return [plain]
        derived = self._run(example, replays, backend, gradients, backward, cloned=True)
        if not derived.ok:
            return [replace(derived, recompiles=plain.recompiles)]
        return [replace(derived, graphs=plain.graphs, recompiles=plain.recompiles)]

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
        with torch_internals.compile_settings(recompiles=RECOMPILES):
            self._graphs = 0
            counting = self._counting(backend)
            replay = _Replay("compile", devices.tolerance(self._device), self._device)
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
        replay: _Replay,
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
            if replay.replayed and perf_counter() - started > _REPLAY_SECONDS:
                self._notes.append(f"compile: {replay.replayed} of {len(replays)} inputs replayed in the time")
                break
            if not replay.is_wanted(reference):
                continue
            if replay.dirty:
                compiled = self.compiled(counting, cloned)
            outcomes = []
            wanted = gradients and reference.first.differentiated
            for number in range(len(reference.calls)):
                arguments = self.prepared(reference)
                outcomes.append(
                    run(
                        compiled,
                        arguments,
                        module=compiled.module,
                        seed=number,
                        gradients=wanted,
                        surroundings=self._program.entry.surroundings,
                    )
                )
                if compiled.refusal is not None:  # another input needed another graph, and there is none
                    raise compiled.refusal
            found = replay.compare(reference, outcomes)
            if wanted and reference.first.gradients is not None and outcomes[0].returned:
                backward.append(not any(mismatch.where == "backward" for mismatch in found))
                # a backward that cannot be compiled would be tried again for every input
                gradients = gradients and outcomes[0].gradient_error is None
            if reference.sample.declared:
                declared = self._graphs
        return declared - before

    def prepared(self, reference: Reference) -> Arguments:
        """New arguments, on the device and marked."""
        arguments = devices.moved(self._program.arguments(reference), self._device)
        marked = self._program.dimensions(unbacked_only=True)
        for name, value in self._program.named(arguments).items():
            if name in marked and isinstance(value, torch.Tensor):
                torch_internals.mark_unbacked(value, marked[name])
        return arguments

    def compiled(self, backend: Callable[..., Any], cloned: bool = False) -> _Compiled:
        """The program, compiled when it is called; `cloned`: with 0-d arguments cloned inside."""
        built: Any = self._program.entry.build()
        module = module_of(built)
        if module is not None and self._device != "cpu":
            module.to(self._device)
        target = _with_clones(built) if cloned else built
        return _Compiled(torch.compile(target, fullgraph=not self._options.graph_breaks, backend=backend), module)

    def _counting(self, backend: str) -> Callable[..., Any]:
        inner = None if backend == "eager" else torch_internals.backend(backend)

        def counting(graph: Any, example_inputs: Any) -> Any:
            made = graph.forward if inner is None else inner(graph, example_inputs)
            self._graphs += 1
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


# ----------------------------------------------------------------------------------------------------------- devices


def _on_devices(
    program: Program,
    options: SessionOptions,
    backend: str,
    notes: list[str],
    results: Sequence[TargetResult],
    replays: Sequence[Reference],
    backward: list[bool],
) -> list[TargetResult]:
    """The same on a GPU, through Triton kernels, where there is one and the CPU raised no question."""
    if options.device == "cpu" or backend != "inductor":
        return []
    reason = devices.missing()
    if reason:
        notes.append(f"cuda not run: {reason}")
        return []
    if not all(result.ok for result in results if result.target == "compile"):
        notes.append("cuda not run: torch.compile fails on the CPU")
        return []
    fitting = devices.agreeing(program.entry, replays, program.arguments)
    if not fitting:
        notes.append("cuda not run: the program itself fails or gives other results in eager there")
        return []
    return Compiling(program, options, backend, notes, "cuda").judge(fitting, fitting, backward)
