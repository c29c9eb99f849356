"""What the parent and its worker say to each other: requests and results, as frozen dataclasses.

One session is one entry under one set of options. The worker loads the entry once, then answers each request in
a fresh fork of itself, so nothing that user code does survives a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddelint.nouns.diagnostics import GpuEvidence, Question, Span, TypeFact

LOWERING = "lowering"
"""A backend of our own: Inductor up to the code that it writes. What is called then is the graph itself."""
INDUCTOR_BACKENDS = ("inductor", LOWERING)
MEASURING = ("measure", "parity", "gpu", "graph_costs")
"""Requests that always need Inductor."""
COUNTED = "counted"
"""The kind of the question what a module counts in Python (see Question)."""
UNFINISHED = "did not finish"
"""How the error of a target begins that took more time than there was."""
RETURNED = "return"
"""The name under which the type of what a function gives stands among the types of its names."""
SLACK_SECONDS = 30.0
"""What is granted beyond a request's own time, for killing and reporting."""
LEAST_SECONDS = 0.5
"""What a request has in any case, however late it is: whoever answers must be able to say so."""

Overlay = Mapping[str, str]
"""Absolute filename → new text, loaded instead of what is on disk."""


@dataclass(frozen=True, slots=True)
class ScriptSpec:
    """A script to run for the sake of what it compiles, exports or calls."""

    target: str
    """A file or folder as given, or a module's name."""
    module: bool = False
    """Whether `target` is a module's name (`python -m`)."""
    arguments: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Globs: modules of a matching qualified class name or path in their model are captured, too."""


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """What to run. `entry`, `inputs` and `init` are names inside their files; None: as the file offers it.

    `inputs_filename` may also be a file of saved inputs (see trace.saved). With `script` the entry is what that
    script captured: `capture` says which one, of how many `calls`; `filename` is then the file that defines it.
    """

    filename: str
    entry: str | None = None
    inputs_filename: str | None = None
    inputs: str | None = None
    init_filename: str | None = None
    init: str | None = None
    script: ScriptSpec | None = None
    capture: int | None = None
    calls: int = 1


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Everything the worker must know about one entry."""

    entry: EntrySpec
    paths: tuple[str, ...]
    """Absolute files and folders whose code is ours to blame and rewrite."""
    targets: tuple[str, ...] = ("export", "compile")
    """Of `export`, `strict`, `compile`."""
    unbacked: str = ""
    """`none`, `all`, or `NAME.DIM,NAME.DIM` (NAME: the parameter's name in the entry's signature); empty: as the
    entry's own file says."""
    backed: bool = False
    """All other input dimensions are symbols with an example value: what would be guarded is a question (`guarded`)."""
    graph_breaks: bool = False
    """Whether torch.compile may break the graph (else it is asked for one whole graph)."""
    cpp: bool = False
    """Questions report the C++ functions behind them."""
    samples: int = 64
    seed: int = 0
    device: str = "auto"
    gpu: str = ""
    """Whose code is made where there is no device: `sm_90`; empty: the one that is taken by default."""
    timeout: float = 300.0
    """Seconds for one request."""
    memory: int = 8 * 2**30
    """Bytes of resident memory that one request may add."""
    jobs: int = 1
    """Requests that may be answered at a time."""
    has_entry: bool = True
    """Whether the files offer the entry; else each request brings one of its own (`attempt`)."""

    @property
    def request_seconds(self) -> float:
        """What one request may take. A script that must run again has that time for itself."""
        return self.timeout if self.entry.script is None else 2 * self.timeout


def needs_inductor(method: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a request is answered by a process that has loaded Inductor."""
    compiles = arguments.get("backend") in INDUCTOR_BACKENDS and "compile" in arguments["targets"]
    return method in MEASURING or compiles


@dataclass(frozen=True, slots=True)
class EntryFailure:
    """Why an entry could not be run in eager (DDE002).

    kind: missing, raised, exit, timeout, memory, signal, no-torch, bad-inputs; internal is a failure of ddelint.
    """

    kind: str
    message: str
    span: Span | None = None
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """The entry as found: `label` is what the console calls it (`model.py:Model, inputs from make_inputs(seed)`)."""

    label: str
    parameters: tuple[str, ...]
    requires_grad: bool
    seeded: bool
    torch_version: str
    devices: tuple[str, ...]
    names: tuple[str, ...] = ()
    """All entries of a file with `ddelint_entries()`; each can be opened by its name as EntrySpec.entry."""
    unbacked: tuple[str, ...] = ()
    """Input dimensions that are unbacked: `x.0`."""
    triton: bool = False
    """Whether the worker's Python has Triton."""


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """One program that a script called: `filename` defines it, `label` is what the console calls it."""

    label: str
    filename: str
    calls: int
    """How many of its first calls were kept."""
    shapes: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    """Of every call, as far as there is room: parameter → the shape of the tensor that it was given."""


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """How a script went, and what it captured."""

    captures: tuple[CaptureInfo, ...]
    left_out: int = 0
    """Programs beyond those that are kept."""
    ending: str = ""
    """How it ended where it did not end well (`raised ValueError: … (train.py:12)`)."""
    traceback: str = ""
    """The user's frames, where it raised."""


@dataclass(frozen=True, slots=True)
class SavedInputs:
    """What was written by `--save-inputs`; `refused` says of each program that could not be saved why."""

    saved: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer to `open`."""

    info: EntryInfo | None
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class TraceResult:
    """All questions of one program: in the order in which a first run meets them."""

    questions: tuple[Question, ...]
    runs: int
    open_pairs: int = 0
    """(site, answer) pairs that the budget left unexplored."""
    open_sites: tuple[Span, ...] = ()
    failure: EntryFailure | None = None
    """The worker could not trace at all (time, memory, a crash)."""
    seconds: float = 0.0
    memory: int = 0
    """Bytes that tracing added to what its process held, at most."""
    unbacked: bool = False
    """Whether any number that only exists at run time was met, asked about or not."""
    cut: bool = False
    """Whether it ended where something was asked at a place that was to end it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A truth-valued expression of the original source whose taken side is recorded while the original runs."""

    key: str
    span: Span
    compiled: bool | None = None
    """The side that the compiled program takes whatever the truth, where a rewrite chooses one."""
    optional: bool = False
    """Whether it asks for something that callers may leave out. No input is searched for that takes its other side;
    what nobody declared (other arguments and settings, other modes) counts as well as what somebody did."""
    text: str = ""
    """The expression, where it stands in a file that is not part of the search."""


NOT_FINITE = (" inf", " -inf", " nan")
"""How labels of inputs with infinities and NaN of our own making end."""
INTEGERS = "in integers"
"""The mode of inputs with integers where floating-point numbers were declared."""
OTHER_SETTINGS = "with other settings"
"""How a program was not run whose text could not be made to read otherwise, or did not run so."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference between the original in eager and a rewritten program."""

    sample: str
    """Which input: `seed 3`, `mask all false`."""
    declared: bool
    """Whether the input came from the user (make_inputs), not from our variations."""
    where: str
    """eager, traced path, export, strict, compile, backward, cuda."""
    aspect: str
    """value, dtype, shape, type, exception, mutation, gradient, random state, ..."""
    expected: str
    got: str
    narrower: bool = False
    """On an input of our own making the original returned and the rewritten program raised, or took too much; or the
    input was run in a mode that nobody declared (train() for eval(), double precision, strides)."""
    deliberate: bool = False
    """The original raised by its own `raise` or `assert`."""
    stopped: bool = False
    """The original returned, and the rewritten program raised by a `raise` or `assert` of its own."""
    base: str = ""
    """The input set that this one was made from, where running that alone shows the difference again."""

    @property
    def in_a_row(self) -> bool:
        """Whether it is one of several calls of one instance, on one declared input after the other."""
        return " in a row, " in self.sample

    @property
    def speaks_against(self) -> bool:
        """Whether a difference in compiled code speaks against a fix."""
        return self.declared or not self.narrower

    @property
    def is_refusal(self) -> bool:
        """Whether the original returned, and the rewritten program raised."""
        return self.aspect == "exception" and (self.narrower or self.expected == A_RESULT)

    @property
    def is_not_finite(self) -> bool:
        """Whether it was seen on an input with an infinity or NaN of our own making."""
        return any(part.endswith(NOT_FINITE) for part in self.sample.split(", "))

    @property
    def in_integers(self) -> bool:
        """Whether it was seen on integers where floating-point numbers were declared."""
        return f", {INTEGERS}" in self.sample


A_RESULT = "a result"
"""What is expected of a program that returns, or got of it, where the other one raises."""
FEW_INPUTS = 2
"""Inputs that are too few for a side of a decision."""


@dataclass(frozen=True, slots=True)
class Slower:
    """An input on which the rewritten program does more in eager: counted in operators and their sizes, not timed."""

    sample: str
    times: float
    """How many times the work of the original."""
    operators: int
    before: int
    """Operators of the original."""
    sides: Mapping[str, bool] = field(default_factory=dict)
    """Decision key → the side that the original took, where it took one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Eager against eager, and the path that tracing picks, run in eager, against eager."""

    samples: int
    declared: int
    equal: bool
    sides: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Decision key → how many samples took the (true, false) side in the original."""
    mismatches: tuple[Mismatch, ...] = ()
    failure: EntryFailure | None = None
    seconds: float = 0.0
    """CPU time: what else the machine does changes no verdict."""
    prepared: float = 0.0
    """Of which running the original took, which is done once for many programs."""
    slower: tuple[Slower, ...] = ()
    """Declared inputs on which eager does more than before, the worst first."""
    left_out: tuple[str, ...] = ()
    """How the programs were not run, as time ran out: "in train()", "with gradients"."""
    left_unpaired: tuple[str, ...] = ()
    """Arguments and settings that were not changed at once, as time ran out: "self.fill=0.5, self.sharp=False"."""
    left_untried: tuple[str, ...] = ()
    """Arguments and settings that were not of another kind, as time ran out: "w alone in double precision"."""


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One of export, strict, compile (and compile on a device)."""

    target: str
    device: str
    ok: bool
    questions: tuple[Question, ...] = ()
    """Where it failed, mapped to the user's source."""
    error: str = ""
    replayed: int = 0
    skipped: int = 0
    """Samples whose static shapes the traced program does not accept by design."""
    compared: int = 0
    """Inputs for which eager returned and which it was given."""
    agreed: int = 0
    """Those of them for which it gave the same."""
    mismatches: tuple[Mismatch, ...] = ()
    graphs: int | None = None
    recompiles: int | None = None
    seconds: float = 0.0
    as_installed: str = ""
    """What torch.compile raises where it may break the graph and captures no reads; empty: nothing, or not tried."""
    otherwise: str = ""
    """What it raises then for another number among the arguments, mode or setting than before, which eager takes;
    empty: the same."""

    @property
    def asking(self) -> tuple[Question, ...]:
        """The questions, but for what a program counts in Python: that stops no front end."""
        return tuple(question for question in self.questions if question.kind != COUNTED)


@dataclass(frozen=True, slots=True)
class Compilation:
    """The program as a whole through every target."""

    results: tuple[TargetResult, ...]
    backward: bool | None = None
    mismatches: tuple[Mismatch, ...] = ()
    failure: EntryFailure | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRead:
    """One place at which the code for a GPU makes the host wait."""

    operator: str
    times: int
    """In one forward call."""
    frames: tuple[Span, ...] = ()
    """Where the program asks for it, outermost first, on the text that was compiled."""


@dataclass(frozen=True, slots=True)
class GpuCode:
    """The code that Inductor writes for a GPU, made where there is none; None where nothing could be said at all."""

    evidence: GpuEvidence | None = None
    mismatches: tuple[Mismatch, ...] = ()
    failure: EntryFailure | None = None
    seconds: float = 0.0
    reads: tuple[HostRead, ...] = ()
    """Where the host waits in one forward call; empty where nothing was interpreted."""


@dataclass(frozen=True, slots=True)
class Types:
    """Types seen in one eager run of the original: (filename, qualified function name) → name → type."""

    functions: Mapping[str, Mapping[str, TypeFact]] = field(default_factory=dict)
    """Keyed by `filename::qualname`; without a name for a function that ran in a file of the user's under no PATH."""
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Filename → rows that ran, of files under the given PATHs."""
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class ConfigText:
    """A class that holds settings, and an argument of a constructor that seems to be one."""

    parameter: str
    name: str
    """As the file itself may call it; else where it can be imported from: `module:Name`."""
    fields: Mapping[str, str]
    """Name → default, as Python would write it; empty where there is none. Only plain defaults."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A module class or a function that a file defines, as text: what says how to call it.

    Texts are whole definitions (`def forward(self, x): …`), without the indentation that they stand in.
    """

    name: str
    is_class: bool
    row: int
    call: str
    """`forward`, or the function."""
    init: str = ""
    doc: str = ""
    configs: tuple[ConfigText, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramTexts:
    """What a file defines."""

    programs: tuple[ProgramText, ...] = ()
    failure: EntryFailure | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an entry that nobody has written yet was run once in eager; `gives`: what it returned, in a few words."""

    gives: str = ""
    failure: EntryFailure | None = None
    steps: int = 0
    """Calls of torch until it ended, or failed."""
