"""The code that Inductor writes for a GPU, looked at where there is none: assembled, interpreted, counted.

Runs in the worker, in a process that answers one request: pretending a device patches torch and Triton.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from types import ModuleType
from typing import NamedTuple

from ddelint.knowledge.gpus import DEFAULT, Gpu, UnknownGpu, gpu_of
from ddelint.nouns.diagnostics import GpuCounts, GpuEvidence, KernelCost
from ddelint.nouns.protocol import GpuCode, HostRead, Mismatch, SessionOptions
from ddelint.trace import gpu_internals, torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, limited
from ddelint.verify import failures
from ddelint.verify.calls import Outcome, run
from ddelint.verify.compiled import eager_references
from ddelint.verify.compiling import Compiling
from ddelint.verify.device import ON_GPU
from ddelint.verify.gpu_calls import Collector, Spent
from ddelint.verify.gpu_program import GpuProgram, called_once, cuda_graphs, imports_of
from ddelint.verify.host_reads import frames_of
from ddelint.verify.mismatches import mismatches
from ddelint.verify.profiles import Profile
from ddelint.verify.program import RECOMPILES, Program
from ddelint.verify.reach import Rewinding
from ddelint.verify.references import Reference, witnessed
from ddelint.verify.shrinking import shrinking_of

MOST_INPUTS = 12
"""Interpretation is slow: more inputs say little more."""
_SECONDS, _SHARE = 300.0, 0.3
"""What it may take, and of the entry's own time."""
_FIRST = 0.5
"""How much of it the first input may take, where there is a smaller one."""
_ORIGINAL = 0.25
"""How much more of it the original may take to be counted, where nothing is left."""
_LITTLE = 15.0
"""What it may take where nobody has asked for it."""
_MOST_MISMATCHES = 3
_NOT_WRITTEN = ("InductorError", "BackendCompilerFailed", "LoweringException")
"""Inductor itself has no code for the program, or none that can be made here."""
_NOT_ASSEMBLED = "not assembled: "


def examine(
    original: Entry,
    rewritten: Callable[[], Entry],
    options: SessionOptions,
    samples: int,
    *,
    interpreted: bool,
) -> GpuCode:
    """What can be said of the program's code for a GPU: whether it assembles, and where `interpreted`, whether it gives
    what `original` gives in eager."""
    started = perf_counter()
    try:
        gpu = gpu_of(options.gpu or DEFAULT)
    except UnknownGpu as error:
        return GpuCode(GpuEvidence(options.gpu, notes=(str(error),)))
    reason = gpu_internals.missing()
    if reason:
        return GpuCode(GpuEvidence(gpu.target, gpu.name, notes=(f"not assembled: {reason}",)))
    seconds = min(_SECONDS if interpreted else _LITTLE, options.timeout * _SHARE)
    shrinking = shrinking_of(original, options.seed) if interpreted else None
    entries = _Entries(original, rewritten, dict(sys.modules))
    look = _Look(gpu, options, interpreted, started + seconds, first=_FIRST if shrinking is not None else 1.0)
    look.at(entries, samples)
    if look.late and shrinking is not None:
        left = started + seconds - perf_counter()
        whole = _Look(gpu, options, False, perf_counter() + left / 2)
        whole.at(entries, 1)
        look = _Look(gpu, options, True, started + seconds)
        look.at(entries._replace(original=shrinking.of(original), rewritten=lambda: shrinking.of(rewritten())), samples)
        look.belongs_to(whole, f"interpreted on smaller inputs ({shrinking}): counts and bounds are of these")
    found = replace(look.evidence, notes=tuple(dict.fromkeys(look.notes)))
    return GpuCode(found, tuple(look.mismatches), None, perf_counter() - started, look.reads)


class _Entries(NamedTuple):
    """What is compared."""

    original: Entry
    rewritten: Callable[[], Entry]
    modules: Mapping[str, ModuleType]
    """Those that the original was loaded with; to load the rewritten one may put others in their places."""


class _Look:
    """One program, looked at; `evidence` is what was found so far."""

    def __init__(
        self, gpu: Gpu, options: SessionOptions, interpreted: bool, deadline: float, first: float = 1.0
    ) -> None:
        self._gpu = gpu
        self._patience = first * (deadline - perf_counter())
        """Seconds for the first input."""
        self._options = options
        self._interpreted = interpreted
        self._deadline = deadline
        self.evidence = GpuEvidence(gpu.target, gpu.name)
        self.notes: list[str] = []
        self.mismatches: list[Mismatch] = []
        self.late = False
        """Whether its time ended within the first input."""
        self._costs: dict[str, KernelCost] = {}
        self._libraries: tuple[KernelCost, ...] = ()
        self.reads: tuple[HostRead, ...] = ()
        self._explained = 0
        """Inputs on which it differs from eager as eager's own decompositions do: not counted as equal."""

    def at(self, entries: _Entries, samples: int) -> None:
        """The rewritten program held against the original, which is counted, too."""
        count = min(samples, MOST_INPUTS) if self._interpreted else 1
        tried = max(2 * count, 8)
        rewinding = Rewinding(entries.original)

        def make() -> list[Reference]:
            found = eager_references(rewinding.entry, self._options, tried, tried)
            references = [reference for reference in found if reference.first.returned]
            rewinding.back()
            return references

        with witnessed(rewinding.entry, make, list) as references:
            if not references:
                self.notes.append(f"{_NOT_ASSEMBLED}eager returns on no input")
                return
            self.after(Program(Rewinding(entries.rewritten()).entry, self._options, tried), references[:count])
        if self._interpreted and self.evidence.launches is not None:
            with imports_of(entries.modules):
                self.before(Program(Rewinding(entries.original).entry, self._options, 1), references[0])

    def belongs_to(self, whole: _Look, note: str) -> None:
        """What was found on smaller inputs; what the assembler says is of `whole`, the program at its own sizes."""
        self.notes = [*(n for n in whole.notes if not n.startswith("not interpreted")), *self.notes]
        if self.evidence.interpreted is not None:
            self.notes.append(note)
        known = whole.evidence
        self.evidence = replace(
            self.evidence,
            assembled=known.assembled,
            kernels=known.kernels,
            registers=known.registers,
            spilled=known.spilled,
            shared=known.shared,
        )

    def after(self, program: Program, references: Sequence[Reference]) -> None:
        """The program that is to be judged."""
        collector = Collector(self._gpu, self._interpreted)
        inputs = 0
        random = any(reference.first.drew for reference in references)
        stopped = ""
        if random:
            self.notes.append("random numbers are drawn as eager draws them: a GPU's generator draws others")
        with (
            torch_internals.drawn_as_in_eager(random),
            self._compiling(program, collector) as compile_anew,
        ):
            compiled = compile_anew()
            for reference in references:
                if inputs and perf_counter() > self._deadline:
                    break
                try:
                    left = self._deadline - perf_counter() if inputs else self._patience
                    with limited(max(left, _LITTLE), None):
                        stopped = self._judge(compiled, program, reference, collector, first=not inputs)
                except TooMuch:
                    stopped = "took too long"
                    self.late = not inputs
                if stopped:
                    break
                inputs += 1
                if reference.first.state_changed:
                    compiled = compile_anew()
        differentiated = any(_differentiates(reference) for reference in references)
        self._report(collector, inputs, stopped, complete=bool(inputs) or _complete(collector, differentiated))

    def before(self, program: Program, reference: Reference) -> None:
        """The original, compiled as users do, with its graph breaks: counted, not judged."""
        collector = Collector(self._gpu, True)
        options = replace(self._options, graph_breaks=True)
        error: object = None
        called = Profile(0, 0, 0)
        try:
            with (
                limited(max(self._deadline - perf_counter(), self._patience * _ORIGINAL, _LITTLE), None),
                self._compiling(program, collector, options, captured=False) as compile_anew,
            ):
                compiled = compile_anew()
                gradients = _differentiates(reference)
                error = run(compiled, compiled.prepared(reference), module=compiled.module, gradients=gradients).error
                if error is None:
                    collector.reset()
                    called = called_once(compiled, reference)
        except TooMuch:
            error = "took too long"
        except Exception as raised:
            error = failures.summary(raised)
        if error is not None:
            self.notes.append(f"the original was not counted: {str(error).splitlines()[0]}")
            return
        graphs = sum(not backward for _, backward in collector.codes)
        counts = GpuCounts(
            graphs,
            len(collector.assembled),
            collector.launches,
            collector.library_calls,
            called.in_eager,
            called.host_syncs,
            _microseconds(sum(spent.bound for spent in collector.costs)),
        )
        self.evidence = replace(self.evidence, before=counts)

    @contextlib.contextmanager
    def _compiling(
        self, program: Program, collector: Collector, options: SessionOptions | None = None, *, captured: bool = True
    ) -> Iterator[Callable[[], GpuProgram]]:
        compiling = Compiling(program, options or self._options, "inductor", self.notes)
        backend = gpu_internals.Backend(self._gpu, collector, self._interpreted)
        settings = torch_internals.compile_settings(recompiles=RECOMPILES, captured=captured)
        with settings:
            yield lambda: GpuProgram(compiling, backend)
        if backend.untimed:
            self.notes.append("nothing was timed: of templates and library calls, the first template was taken")

    def _judge(
        self, compiled: GpuProgram, program: Program, reference: Reference, collector: Collector, *, first: bool
    ) -> str:
        """One input; gives why nothing more can be said."""
        gradients = _differentiates(reference)
        outcomes = []
        for number in range(len(reference.calls)):
            outcomes.append(
                run(
                    compiled,
                    compiled.prepared(reference),
                    module=compiled.module,
                    seed=reference.seed_of(number),
                    gradients=gradients,
                    surroundings=program.entry.surroundings,
                )
            )
            if compiled.refusal is not None:
                return failures.summary(compiled.refusal)
            refused = outcomes[-1].error or outcomes[-1].gradient_error
            if refused is not None and refused.kind.rpartition(".")[2] in _NOT_WRITTEN:
                return f"{_NOT_ASSEMBLED}{refused}"
            if collector.limits:
                return f"not interpreted: {collector.limits[0]}"
        if first and self._interpreted and outcomes[0].returned:
            collector.reset()
            self._count(collector, called_once(compiled, reference))
        if not self._interpreted:
            return ""
        # what is refused on inputs that nobody declared is reported for the same program on the CPU
        found = [m for m in mismatches(reference, outcomes, "GPU code", ON_GPU) if m.declared or not m.narrower]
        if found and self._as_decomposed(program, reference, outcomes):
            self._explained += 1
            self.notes.append(
                f"{reference.sample.label}: eager's own kernels differ from what they are decomposed into, "
                "which is what the GPU code gives"
            )
        else:
            self.mismatches += found
        return ""

    def _as_decomposed(self, program: Program, reference: Reference, outcomes: list[Outcome]) -> bool:
        """Whether the GPU code gives what Inductor's decompositions give by eager's kernels: on infinities, those of
        whole operators may differ from a GPU's."""
        compiling = Compiling(program, self._options, "inductor", self.notes)
        plain = compiling.compiled(torch_internals.backend("aot_eager_decomp_partition"))
        calls = [
            run(
                plain,
                compiling.prepared(reference),
                module=plain.module,
                seed=reference.seed_of(number),
                gradients=outcome.differentiated,
                surroundings=program.entry.surroundings,
            )
            for number, outcome in enumerate(outcomes)
        ]
        if not all(call.returned for call in calls):
            return False
        return not any(True for _ in mismatches(replace(reference, calls=calls), outcomes, "GPU code", ON_GPU))

    def _count(self, collector: Collector, called: Profile) -> None:
        self._costs = {code: _cost(spent) for code, spent in collector.kernels.items()}
        self.reads = tuple(HostRead(name, times, frames_of(stack)) for (stack, name), times in collector.reads.items())
        self._libraries = tuple(replace(_cost(spent), library=True) for spent in collector.libraries.values())
        self.evidence = replace(
            self.evidence,
            launches=collector.launches,
            library_calls=collector.library_calls,
            eager_operators=called.in_eager,
            host_reads=called.host_syncs,
            bytes_moved=sum(spent.moved for spent in collector.costs),
            operations=sum(spent.operations for spent in collector.costs),
            bound_microseconds=_microseconds(sum(spent.bound for spent in collector.costs)),
            cuda_graphs=cuda_graphs([code for code, backward in collector.codes if not backward], called.host_syncs),
        )

    def _report(self, collector: Collector, inputs: int, stopped: str, *, complete: bool) -> None:
        """What was found, `complete` where every graph of the program was written."""
        made = list(collector.assembled.values())
        failed = [f"{kernel.name} does not assemble: {kernel.error}" for kernel in made if kernel.error]
        self.notes += failed[:_MOST_MISMATCHES]
        if stopped.startswith(_NOT_ASSEMBLED):
            self.notes.append(stopped)
            return
        if made:
            self.evidence = replace(
                self.evidence,
                assembled=False if failed else True if complete else None,
                kernels=len(made),
                registers=max((kernel.registers for kernel in made), default=None),
                spilled=max((kernel.spilled for kernel in made), default=None),
                shared=max((kernel.shared for kernel in made), default=None),
                per_kernel=self._per_kernel(collector),
            )
        elif collector.codes:
            self.evidence = replace(self.evidence, kernels=0)
            self.notes.append(f"{_NOT_ASSEMBLED}Inductor writes no kernel of its own for it")
        else:
            self.notes.append(f"{_NOT_ASSEMBLED}{stopped or 'nothing was compiled'}")
            return
        if stopped:
            self.notes.append(stopped)
        if made and not failed and not complete:
            self.notes.append(f"{_NOT_ASSEMBLED}stopped before all of the program's code was written")
        if not self._interpreted:
            self.notes.append(
                f"not interpreted: takes longer, and is done where it is asked for (--gpu {self._gpu.target})"
            )
            return
        equal = inputs - self._explained
        wrong = collector.wrong + [_in_words(mismatch) for mismatch in self.mismatches]
        self.notes += [f"interpreted: {text}" for text in wrong[:_MOST_MISMATCHES]]
        if wrong:
            differs = next((_in_words(mismatch) for mismatch in self.mismatches if mismatch.declared), "")
            self.evidence = replace(self.evidence, interpreted=False, inputs=inputs, differs=differs)
        elif equal and collector.launched and not collector.limits:
            self.evidence = replace(self.evidence, interpreted=True, inputs=equal)

    def _per_kernel(self, collector: Collector) -> tuple[KernelCost, ...]:
        """What the assembler says of each kernel, and what one forward call costs of it."""
        costs = [
            replace(
                self._costs.get(code, KernelCost(kernel.name)),
                registers=kernel.registers,
                spilled=kernel.spilled,
                shared=kernel.shared,
            )
            for code, kernel in collector.assembled.items()
            if not kernel.error
        ]
        return (*costs, *self._libraries)


def _cost(spent: Spent) -> KernelCost:
    return KernelCost(
        spent.name,
        calls=spent.calls,
        bytes_moved=spent.moved,
        operations=spent.operations,
        bound_microseconds=_microseconds(spent.bound),
    )


def _differentiates(reference: Reference) -> bool:
    """Whether gradients are asked for."""
    return reference.first.gradients is not None and reference.first.differentiated


def _complete(collector: Collector, differentiated: bool) -> bool:
    """Whether the graphs of a program were written although no call of it came to its end."""
    written = {backward for _, backward in collector.codes}
    return written == ({False, True} if differentiated else {False})


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 6)


def _in_words(mismatch: Mismatch) -> str:
    return f"{mismatch.sample}, {mismatch.aspect}: expected {mismatch.expected}, got {mismatch.got}"
