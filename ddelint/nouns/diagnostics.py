"""The nouns every room shares. Frozen, torch-free, and cheap to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

# in modules of their own, as a call that finds nothing needs no more than these
from ddelint.nouns.levels import Applicability as Applicability
from ddelint.nouns.levels import Claim as Claim
from ddelint.nouns.levels import Severity as Severity
from ddelint.nouns.spans import Edit as Edit
from ddelint.nouns.spans import Span as Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A number that only exists at run time, in the user's words.

    `name` is what the user's code calls it at the question (`n`, `hit.shape[0]`), `expression` the source
    that made it (`mask.sum().item()`), `created` where that stands, `torch_name` the compiler's word (`u0`).
    Bounds are inclusive; None is unbounded.
    """

    name: str
    expression: str
    created: Span | None = None
    torch_name: str = ""
    lower: int | float | None = None
    upper: int | float | None = None


@dataclass(frozen=True, slots=True)
class Equality:
    """What a name at a question is made of, or is known to equal, in the user's words.

    `total` is `a + b` (`u0 + u1` to the compiler), or `right.shape[0]` was checked to be `left.shape[0]`.
    """

    name: str
    expression: str
    torch_expression: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the call stack at a question, outermost first in a Diagnostic."""

    span: Span
    function: str
    inside: bool
    """Whether the file lies under the given PATHs."""
    carriers: tuple[tuple[str, str], ...] = ()
    """Local names that hold symbols of the question, and what they are to the compiler: `n`, `u0`."""


@dataclass(frozen=True, slots=True)
class GpuCounts:
    """What one forward call costs a GPU, read off the code that Inductor writes for it. None: not counted."""

    graphs: int | None = None
    kernels: int | None = None
    """As in GpuEvidence."""
    launches: int | None = None
    """Kernels of Inductor's own that are launched."""
    library_calls: int | None = None
    eager_operators: int | None = None
    """Operators that eager calls between graphs: on a GPU each launches a kernel or more."""
    host_reads: int | None = None
    """Operators at which the host waits for the GPU."""
    bound_microseconds: float | None = None
    """As in GpuEvidence."""


@dataclass(frozen=True, slots=True)
class KernelCost:
    """One kernel of the code for a GPU, or one library function that it calls. What is not known is None."""

    name: str
    library: bool = False
    calls: int = 0
    """In one forward call; none of a backward graph's."""
    registers: int | None = None
    """Of each thread, as the assembler says."""
    spilled: int | None = None
    shared: int | None = None
    """Bytes, as the assembler says."""
    bytes_moved: int | None = None
    """By all of these calls, each byte once a call."""
    operations: int | None = None
    """On floating-point numbers, by all of these calls."""
    bound_microseconds: float | None = None
    """What all of these calls take at least."""


@dataclass(frozen=True, slots=True)
class GpuEvidence:
    """The code that Inductor writes for a GPU. None: not done, with the reason in `notes`. Nothing here is ever true
    without having been done, and assembled or interpreted is not run."""

    target: str
    """`sm_90`."""
    name: str = ""
    """The GPU whose properties it was written for: `H100`."""
    assembled: bool | None = None
    """Whether every kernel becomes machine code that fits that GPU."""
    interpreted: bool | None = None
    """Whether the code, run on the CPU with each kernel interpreted, gives what eager gives."""
    inputs: int | None = None
    """On how many inputs it was interpreted."""
    differs: str = ""
    """What it does on a declared input that eager does not; empty where nobody knows of anything."""
    run: bool | None = None
    """Whether it gave what eager gives on a GPU itself."""
    kernels: int | None = None
    """That Inductor wrote, those of backward graphs among them."""
    launches: int | None = None
    """Of Inductor's own kernels, in one forward call."""
    library_calls: int | None = None
    eager_operators: int | None = None
    """As in GpuCounts."""
    host_reads: int | None = None
    before: GpuCounts | None = None
    """The same of the original, compiled with its graph breaks."""
    registers: int | None = None
    """The most that a kernel needs in each thread."""
    spilled: int | None = None
    """The most bytes that a thread keeps in local memory."""
    shared: int | None = None
    """The most bytes of shared memory that a block needs."""
    bytes_moved: int | None = None
    """Read and written by one forward call, each byte once a kernel."""
    operations: int | None = None
    """On floating-point numbers, in one forward call, those of library calls among them."""
    bound_microseconds: float | None = None
    """A bound, not a time: what one forward call takes at least, each kernel as long as its memory traffic or its
    operations take at the full rate, whichever is longer."""
    cuda_graphs: str = ""
    """`safe`, or `not safe: …`, as far as the code says."""
    per_kernel: tuple[KernelCost, ...] = ()
    """Inductor's kernels, in the order in which they were written, then the library functions."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was run to trust a fix, and how it came out. None means: not run. Never true without a run."""

    samples: int | None = None
    both_sides: bool | None = None
    eager_equal: bool | None = None
    export: bool | None = None
    strict: bool | None = None
    compile: bool | None = None
    backward: bool | None = None
    devices: tuple[str, ...] | None = None
    recompiles: int | None = None
    parity: float | None = None
    sides: tuple[int, int] | None = None
    """How many samples took the (true, false) side of the rewritten decision."""
    agreed: tuple[tuple[str, int, int], ...] = ()
    """(target, inputs on which it gave what eager gave, inputs on which eager returned), where that was counted."""
    notes: tuple[str, ...] = ()
    """What could not be run and why (`cuda not run: no device`), or what the reader should know."""
    gpu: GpuEvidence | None = None
    """The code for a GPU, made where there is none."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite that fixes one diagnostic; `edits` of one fix never overlap each other."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    move: str
    claim: Claim
    reasons: tuple[str, ...] = ()
    """Why it is not safe: what a run did not show, or what it asks of the reader."""


DOES_NOT_APPLY, STILL_ASKS, NEEDS_A_PROMISE = "does not apply here", "the compiler still asks", "needs a promise"
"""How reasons begin that say nothing of the rewrite itself."""
TIME_IS_OVER, IS_ASKED_FIRST = "the entry's time is over (--timeout)", "is asked first, and is still open"
"""How reasons end that a rewrite was not run for."""
OTHER_RESULTS = "another number of results"
"""How the reason begins where two ways return what no graph has both of."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A candidate that was tried and not kept; or, for that reason, a move of which there is none."""

    move: str
    message: str
    reason: str
    code: str = ""
    """How the user's own lines would read, where nothing but `reason` speaks against that; empty elsewhere."""

    @property
    def was_run(self) -> bool:
        """Whether it was tried at all."""
        return not self.reason.endswith((TIME_IS_OVER, IS_ASKED_FIRST))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about one place."""

    code: str
    message: str
    span: Span
    severity: Severity = Severity.ERROR
    origin: tuple[str, ...] = ("static",)
    """`static`, `trace`, or both."""
    expression: str = ""
    """The undecidable question as the user would write it: `n > 4`."""
    symbols: tuple[Symbol, ...] = ()
    breadcrumbs: tuple[tuple[Span, str], ...] = ()
    """From the sink back to the source: each step with its own sentence."""
    frames: tuple[Frame, ...] = ()
    asks: tuple[str, ...] = ()
    """Which front ends ask: `export`, `strict`, `compile`."""
    fix: Fix | None = None
    fixed: bool = False
    """Whether the fix has been written to disk."""
    fix_pending: bool = False
    """Whether there may be a fix that was not worked out, because there are too many: `--diff` and `--fix` do."""
    evidence: Evidence | None = None
    refused: tuple[Refusal, ...] = ()
    detail: str = ""
    """More text, e.g. the user's own traceback for DDE002."""
    hints: tuple[str, ...] = ()
    """What torch itself advises, in the words of the text that was explained."""
    cpp_frames: tuple[str, ...] = ()
    """C++ functions between the blamed call and the question, outermost first (`--cpp`)."""
    equalities: tuple[Equality, ...] = ()
    """How names in the question hang together."""
    kinds: tuple[tuple[str, str], ...] = ()
    """What the static pass takes parts of the question for, by their text: `tensor`, `bool`, or `number` for what was
    read. The empty text stands for what is asked about itself."""
    stands_for: str = ""
    """The rule that the question falls under, where another one takes its place: DDE101, which nothing fixes, of
    DDE901. Whoever selects, silences or knows that rule means this finding, too."""

    @property
    def tried(self) -> tuple[Refusal, ...]:
        """The rewrites that were tried and refused, without the moves that do not apply."""
        return tuple(refusal for refusal in self.refused if refusal.reason != DOES_NOT_APPLY and refusal.was_run)

    @property
    def untried(self) -> tuple[Refusal, ...]:
        """The rewrites that were not run, each with its reason."""
        return tuple(refusal for refusal in self.refused if not refusal.was_run)

    @property
    def codes(self) -> tuple[str, ...]:
        """The rules that it is known by."""
        return (self.code, self.stands_for) if self.stands_for else (self.code,)

    def relocated(self, move: Callable[[Span], Span]) -> Diagnostic:
        """The same finding with each of its spans passed through `move`, for another version of its files."""
        fix = self.fix
        if fix is not None:
            fix = replace(fix, edits=tuple(replace(edit, span=move(edit.span)) for edit in fix.edits))
        return replace(
            self,
            span=move(self.span),
            symbols=tuple(replace(s, created=move(s.created)) if s.created is not None else s for s in self.symbols),
            breadcrumbs=tuple((move(span), text) for span, text in self.breadcrumbs),
            frames=tuple(replace(frame, span=move(frame.span)) for frame in self.frames),
            fix=fix,
        )


@dataclass(frozen=True, slots=True)
class TypeFact:
    """What one eager or fake run saw under a name (`idx`, `self.bias`)."""

    kind: str
    """tensor, int, float, bool, str, none, list, tuple, dict, module, symint, symfloat, symbool, callable, other."""
    dtype: str = ""
    """`float32`, `int64`, `bool` (tensors only)."""
    shape: tuple[str, ...] | None = None
    """Sizes as text: `4` known, `u0` unbacked, `s0` backed (tensors only)."""
    requires_grad: bool = False
    role: str = ""
    """`parameter`, `buffer`, or empty; `buffer` of a module that holds any."""
    frozen: bool = False
    """Whether it is a module with parameters that require no gradient."""
    length: int | None = None
    """Of a list, tuple or dict."""
    element: TypeFact | None = None
    """The type shared by all elements of a list or tuple, where they share one."""
    value: str | None = None
    """repr of a small constant: int, float, bool, str."""
    python_type: str = ""
    """The class's qualified name."""
    items: tuple[tuple[str, TypeFact], ...] = ()
    """Key and type of each item of a small dictionary with names for keys, of a named tuple or dataclass, or of a
    sequence whose elements differ."""


def at_row(name: str, row: int) -> str:
    """The key under which the type stands that a name got in `row`, where it has several kinds."""
    return f"{name}@{row}"


@dataclass(frozen=True, slots=True)
class Question:
    """One place where tracing needs a value that only exists at run time (what the tracer hands on).

    `span` is the asking expression in the deepest frame under PATHs. `kind`:
    truth    — the compiler needs a yes or no (`if n > 4`);
    integer  — it needs a concrete int or float (`range(n)`, `int(t)`, a list index);
    operator — an operator has no data-independent answer (`torch.equal`, `unbind` of an unknown size);
    failure  — the path ended in an exception behind which a data-dependent value stands
               ("not enough values to unpack", "unhashable type: SymInt");
    specialized — a size that was declared dynamic was silently replaced by its example value (`int(x.shape[-1] / 2)`);
    fake     — a custom operator's fake kernel says something else than what the operator returns;
    guarded  — an input's size decides here: the compiled program is for one answer, another one recompiles;
    assumed  — the framework guessed an answer, and on an input for which it is wrong the result differs from eager;
    text     — a symbol was turned into text, which holds the symbol's name instead of the number;
    type     — a symbolic number failed a test of its type that eager's number passes: another way is taken;
    counted  — an attribute counts in Python: what is compiled is for one count;
    autocast — compiled gradients differ, because the backward pass is compiled for the forward's autocast;
    other    — the failure is not data-dependent (DDE005).
    """

    span: Span
    kind: str
    expression: str
    raw: str
    symbols: tuple[Symbol, ...] = ()
    frames: tuple[Frame, ...] = ()
    asks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    operator: str = ""
    """What asked inside the framework, as a dotted name where known: `aten.equal.default`, `torch.chunk`."""
    detail: str = ""
    """First line of torch's own error."""
    types: Mapping[str, TypeFact] = field(default_factory=dict)
    """Types of the names and attribute chains of the blamed function, as seen when it asked."""
    cpp_frames: tuple[str, ...] = ()
    """C++ functions between the blamed call and the question, outermost first, where they were wanted."""
    equalities: tuple[Equality, ...] = ()
    """Names in the question that stand for an expression, and symbols that were found to equal others."""
    fake: tuple[str, ...] = ()
    """Of an operator without a fake kernel: the body of one that fits what the real kernel returned, line by line."""
    joint: bool = False
    """Whether only the gradient of the blamed call asks: the forward goes through."""
