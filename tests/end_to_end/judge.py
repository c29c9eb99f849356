"""Judges a program, and a rewrite of it, without any help from ddelint: eager, export, strict export, compile.

A program is a Python file with `Model` or `fn` and `make_inputs(seed)`; its docstring says `kind:`, `fix:` and
`unfixable:`. Module constants: `UNBACKED = {argument: [dims]}` (marked for compile, dynamic for export) and
`DYNAMIC = {argument: [dims]}` (dynamic for export). Or it is a file with `model`, `args` and `kwargs`: then seed 0
means these inputs, and the other seeds vary their values.

Nothing here imports ddelint: this is the second opinion. Each program is judged in a fork of one process that has
loaded torch, so that crashes, endless loops and Dynamo's state stay with the program that caused them.

    python judge.py ORIGINAL [REWRITTEN]      prints one JSON object
    python judge.py --serve                   answers JSON requests, one a line (what `Judge` talks to)
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of one call."""
TARGETS = ("export", "strict", "compile", "derived")
"""`derived`: compile with 0-d tensor arguments cloned inside; otherwise Dynamo guards on their values."""


@dataclass(frozen=True)
class Header:
    """What a program's docstring says of itself."""

    title: str
    kind: str
    fix: str
    unfixable: bool

    @property
    def control(self) -> bool:
        """A program without a data-dependent error."""
        return self.kind == "no-error-control"


def header(path: Path) -> Header:
    """Read the docstring of a program. Raises ValueError for a file without one."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    if docstring is None:
        raise ValueError(f"{path} has no docstring")
    keys = dict(re.findall(r"^(kind|fix|unfixable): (.*)$", docstring, flags=re.M))
    return Header(
        docstring.splitlines()[0], keys.get("kind", ""), keys.get("fix", ""), keys.get("unfixable", "no") == "yes"
    )


@dataclass
class TargetVerdict:
    """How one target came out: it traced, and every replayed seed agreed with the original in eager."""

    traced: bool
    error: str = ""
    mismatched: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    """Seeds whose sizes make a backed expression 0 or 1, which torch specializes on whatever the program says."""
    graphs: int | None = None

    @property
    def ok(self) -> bool:
        """Traced, and replayed like eager."""
        return self.traced and not self.mismatched and not self.raised

    def __str__(self) -> str:
        if not self.traced:
            return self.error.split(":")[0] or "failed"
        notes = [f"wrong:{len(self.mismatched)}"] if self.mismatched else []
        notes += [f"raises:{len(self.raised)}"] if self.raised else []
        notes += [f"refuses:{len(self.refused)}"] if self.refused else []
        return " ".join(["ok", *notes]) if notes else "ok"


@dataclass
class Verdict:
    """A program against the original it came from (or against itself)."""

    targets: dict[str, TargetVerdict] = field(default_factory=dict)
    eager_differences: list[str] = field(default_factory=list)
    failure: str = ""
    """The judged process died or ran out of time."""

    @property
    def fails(self) -> bool:
        """Whether some target does not work."""
        return bool(self.failure) or not all(verdict.ok for verdict in self.targets.values())

    @property
    def clean(self) -> bool:
        """Every target works and eager is what it was."""
        return not self.fails and not self.eager_differences


class Judge:
    """A process with torch loaded that judges each program in a fork of its own."""

    def __init__(self, python: str = sys.executable, path: Sequence[str] = ()) -> None:
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(path))
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def __call__(
        self,
        original: Path,
        rewritten: Path | None = None,
        *,
        eager_seeds: int = 64,
        seeds: int = 8,
        backend: str = "eager",
        targets: Sequence[str] = TARGETS,
        timeout: float = 240.0,
        record: Path | None = None,
        against: Path | None = None,
    ) -> Verdict:
        """Judge `rewritten` (default: the original itself) against `original`.

        `record` writes down what the original does; `against` compares with such a record in place of the original
        (for one program on two versions of a package, which need two processes).
        """
        request = {
            "original": str(original),
            "rewritten": str(rewritten or original),
            "record": str(record) if record else "",
            "against": str(against) if against else "",
            "eager_seeds": eager_seeds,
            "seeds": seeds,
            "backend": backend,
            "targets": list(targets),
            "timeout": timeout,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the judging process ended")
        return verdict_from(json.loads(line))


def verdict_from(table: Mapping[str, Any]) -> Verdict:
    """The inverse of `dataclasses.asdict` for a Verdict."""
    targets = {name: TargetVerdict(**value) for name, value in table["targets"].items()}
    return Verdict(targets, list(table["eager_differences"]), table["failure"])


# ------------------------------------------------------------------------------------------- inside the judging process


class Program:
    """A program file, loaded."""

    def __init__(self, path: Path) -> None:
        name = f"judged_{path.stem}_{abs(hash(str(path)))}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        self.module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        spec.loader.exec_module(self.module)
        self.unbacked: dict[int, list[int]] = getattr(self.module, "UNBACKED", {})
        self.dynamic: dict[int, list[int]] = getattr(self.module, "DYNAMIC", {}) or self.unbacked

    def inputs(self, seed: int) -> Arguments:
        """Fresh arguments."""
        if hasattr(self.module, "make_inputs"):
            return tuple(self.module.make_inputs(seed)), {}
        given = copy.deepcopy((tuple(self.module.args), dict(self.module.kwargs)))
        return given if seed == 0 else varied(given, seed)

    def build(self) -> Callable[..., Any]:
        """A fresh module or function; weights from one seed."""
        import torch

        torch.manual_seed(0)
        if hasattr(self.module, "Model"):
            return self.module.Model()  # type: ignore[no-any-return]
        if hasattr(self.module, "model"):
            return copy.deepcopy(self.module.model)  # type: ignore[no-any-return]
        return self.module.fn  # type: ignore[no-any-return]

    def exportable(self) -> Any:
        """A fresh nn.Module: what torch.export takes."""
        import torch

        built = self.build()
        if isinstance(built, torch.nn.Module):
            return built

        class Wrapped(torch.nn.Module):
            def forward(self, *args: Any) -> Any:
                return built(*args)

        return Wrapped()

    def dynamic_shapes(self) -> Any:
        """What torch.export takes for the dynamic dimensions, or None."""
        import torch

        if not self.dynamic:
            return None
        spec = tuple(
            dict.fromkeys(self.dynamic[i], torch.export.Dim.DYNAMIC) if i in self.dynamic else None
            for i in range(len(self.inputs(0)[0]))
        )
        return spec if hasattr(self.module, "Model") else (spec,)


def varied(arguments: Arguments, seed: int) -> Arguments:
    """The same shapes and dtypes with other values: floats drawn anew, the rest rolled or turned."""
    import torch
    from torch.utils import _pytree as pytree

    generator = torch.Generator().manual_seed(seed)

    def vary(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dim() == 0:
            return value
        if value.is_floating_point():
            return torch.rand(value.shape, generator=generator).to(value.dtype) * value.abs().max().clamp(min=1.0)
        return value.roll(seed, -1) if seed % 2 else value.flip(0)

    return pytree.tree_map(vary, arguments)  # type: ignore[no-any-return]


@dataclass
class Outcome:
    """What one call did."""

    value: Any = None
    error: str = ""
    """The exception type's name; empty where the call returned."""
    arguments: Any = None
    """The arguments after the call."""
    buffers: dict[str, Any] = field(default_factory=dict)
    """The module's buffers after the call."""
    saved: frozenset[str] = frozenset()
    """What the state dict has."""
    message: str = ""


def call(function: Callable[..., Any], arguments: Arguments = ((), {})) -> Outcome:
    """Call, with whatever it raises caught."""
    import torch

    torch.manual_seed(1)
    random.seed(1)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(function(*arguments[0], **arguments[1]), "", arguments)
        except Exception as error:
            return Outcome(None, type(error).__name__, arguments, message=str(error))


def difference(expected: Any, got: Any, relative: float = 1e-4, absolute: float = 1e-5) -> str:
    """How two results differ, in a few words; empty where they don't. NaN equals NaN."""
    import torch

    if isinstance(expected, torch.Tensor) or isinstance(got, torch.Tensor):
        if not (isinstance(expected, torch.Tensor) and isinstance(got, torch.Tensor)):
            return f"type: {type(expected).__name__} became {type(got).__name__}"
        if expected.dtype != got.dtype:
            return f"dtype: {expected.dtype} became {got.dtype}"
        if expected.shape != got.shape:
            return f"shape: {tuple(expected.shape)} became {tuple(got.shape)}"
        if expected.is_sparse or got.is_sparse:
            expected, got = expected.to_dense(), got.to_dense()
        exact = not expected.is_floating_point() and not expected.is_complex()
        same = (
            torch.equal(expected, got) if exact else torch.allclose(expected, got, relative, absolute, equal_nan=True)
        )
        return "" if same else "value"
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if list(expected) != list(got):
            return f"keys: {list(expected)} became {list(got)}"
        return next((text for key in expected if (text := difference(expected[key], got[key], relative, absolute))), "")
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        if len(expected) != len(got):
            return f"length: {len(expected)} became {len(got)}"
        return next((text for pair in zip(expected, got) if (text := difference(*pair, relative, absolute))), "")
    if isinstance(expected, float) and isinstance(got, float):
        return (
            ""
            if expected == got or (expected != expected and got != got) or abs(expected - got) < absolute
            else "value"
        )
    if is_dataclass(expected) and type(expected).__qualname__ == type(got).__qualname__:  # each program has its own
        return difference(vars(expected), vars(got), relative, absolute)
    if type(expected) is not type(got) and not (isinstance(expected, (bool, int)) and isinstance(got, (bool, int))):
        return f"type: {type(expected).__name__} became {type(got).__name__}"
    if hasattr(expected, "__dict__") and type(expected).__eq__ is object.__eq__:
        return difference(vars(expected), vars(got), relative, absolute)
    return "" if expected == got else f"value: {expected!r} became {got!r}"


def run(program: Program, seed: int) -> Outcome:
    """One eager call of a fresh build."""
    import torch

    built = program.build()
    outcome = call(built, program.inputs(seed))
    if isinstance(built, torch.nn.Module):
        outcome.buffers = dict(built.named_buffers())
        outcome.saved = frozenset(built.state_dict())
    return outcome


def eager_differences(expected: Sequence[Outcome], rewritten: Program) -> list[str]:
    """Calls on the same inputs: values, exception types, and what happened to the arguments and buffers."""
    found = []
    for seed, first in enumerate(expected):
        second = run(rewritten, seed)
        if first.error != second.error:
            text = f"exception: {first.error or 'none'} became {second.error or 'none'}"
        else:
            text = difference(first.value, second.value, 1e-5, 1e-6)
            text = text or difference(first.arguments, second.arguments)
            # a buffer that no checkpoint holds counts for a number of Python, whose state nobody compared either
            held = {k: v for k, v in second.buffers.items() if k in first.buffers or k in second.saved}
            text = text or difference(first.buffers, held)
        if text:
            found.append(f"seed {seed}: {text}")
    return found


_ZERO_ONE = re.compile(r"Guard failed: [^\n]* != [01]\s*$", re.MULTILINE)


def replay(
    verdict: TargetVerdict, expected: Sequence[Outcome], program: Program, traced: Callable[[int], Any], static: bool
) -> None:
    """Compare a traced program with the original in eager, seed by seed."""
    import torch

    def shapes(seed: int) -> list[Any]:
        return [tuple(a.shape) if isinstance(a, torch.Tensor) else None for a in program.inputs(seed)[0]]

    for seed, first in enumerate(expected):
        if static and shapes(seed) != shapes(0):
            continue
        second = call(lambda seed=seed: traced(seed))
        if second.error:
            if not first.error:
                by_size = _ZERO_ONE.search(second.message) is not None and bool(program.unbacked)
                (verdict.refused if by_size else verdict.raised).append(seed)
        elif first.error or difference(first.value, second.value):
            verdict.mismatched.append(seed)


def rewound(built: Any) -> Callable[[], None]:
    """What puts a module's parameters and buffers back to what they are now: seeds are calls of a fresh module."""
    import torch

    held = [*built.parameters(), *built.buffers()] if isinstance(built, torch.nn.Module) else []
    held = [tensor for tensor in held if not torch.nn.parameter.is_lazy(tensor)]
    saved = [tensor.detach().clone() for tensor in held]

    def back() -> None:
        with torch.no_grad():
            for tensor, before in zip(held, saved):
                if not torch.equal(tensor, before):
                    tensor.copy_(before)

    return back


def describe(error: BaseException) -> str:
    """Exception type and first telling line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"


def judge_export(expected: Sequence[Outcome], program: Program, strict: bool) -> TargetVerdict:
    """torch.export, replayed."""
    import torch

    try:
        args, kwargs = program.inputs(0)
        shapes = program.dynamic_shapes()
        exported = torch.export.export(program.exportable(), args, kwargs, dynamic_shapes=shapes, strict=strict)
    except Exception as error:
        return TargetVerdict(False, describe(error))
    verdict = TargetVerdict(True)
    module = exported.module()
    back = rewound(module)

    def traced(seed: int) -> Any:
        back()
        args, kwargs = program.inputs(seed)
        return module(*args, **kwargs)

    replay(verdict, expected, program, traced, static=not program.dynamic)
    return verdict


def judge_compile(expected: Sequence[Outcome], program: Program, derived: bool, backend: str) -> TargetVerdict:
    """torch.compile(fullgraph=True), replayed; the graphs are counted."""
    import torch
    import torch._dynamo as dynamo

    dynamo.reset()
    dynamo.config.capture_scalar_outputs = True
    dynamo.config.capture_dynamic_output_shape_ops = True
    graphs = 0
    target: Any = program.build()
    back = rewound(target)
    if derived:
        inner = target

        def with_clones(*args: Any, **kwargs: Any) -> Any:
            return inner(*[a.clone() if isinstance(a, torch.Tensor) and a.dim() == 0 else a for a in args], **kwargs)

        target = with_clones

    def counting(graph: Any, example_inputs: Any) -> Any:
        nonlocal graphs
        graphs += 1
        if backend == "eager":
            return graph
        return dynamo.lookup_backend(backend)(graph, example_inputs)

    compiled = torch.compile(target, fullgraph=True, backend=counting)

    def traced(seed: int) -> Any:
        back()
        args, kwargs = program.inputs(seed)
        for i, dims in program.unbacked.items():
            dynamo.decorators.mark_unbacked(args[i], dims)
        return compiled(*args, **kwargs)

    try:
        traced(0)
    except Exception as error:
        return TargetVerdict(False, describe(error))
    verdict = TargetVerdict(True)
    replay(verdict, expected, program, traced, static=False)
    verdict.graphs = graphs
    return verdict


def judge(request: Mapping[str, Any]) -> Verdict:
    """Answer one request, in this process."""
    import torch

    torch.set_num_threads(1)
    compared = bool(request["against"]) or request["original"] != request["rewritten"]
    seeds = max(request["seeds"], request["eager_seeds"] if compared or request["record"] else 0)
    verdict = Verdict()
    program = Program(Path(request["original"]))
    if request["against"]:
        expected = torch.load(request["against"], weights_only=False)[:seeds]
    else:
        expected = [run(program, seed) for seed in range(seeds)]
    if request["record"]:
        torch.save(expected, request["record"])
    if compared:  # loaded late: it may register the original's custom operators again
        program = Program(Path(request["rewritten"]))
        verdict.eager_differences = eager_differences(expected, program)
    expected = expected[: request["seeds"]]
    zero_dim = any(isinstance(a, torch.Tensor) and a.dim() == 0 for a in program.inputs(0)[0])
    for target in request["targets"]:
        if target == "derived" and not zero_dim:
            continue
        if target in ("export", "strict"):
            verdict.targets[target] = judge_export(expected, program, target == "strict")
        else:
            derived = target == "derived"
            verdict.targets[target] = judge_compile(expected, program, derived, request["backend"])
    return verdict


def judge_in_fork(request: Mapping[str, Any]) -> Verdict:
    """Answer one request in a fork of this process, within its time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            answer = judge(request)
        except BaseException as error:
            answer = Verdict(failure=describe(error))
        with os.fdopen(writing, "w") as pipe:
            json.dump(asdict(answer), pipe)
        os._exit(0)
    os.close(writing)
    deadline = time.monotonic() + request["timeout"]
    text = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            piece = os.read(reading, 1 << 16)
            if not piece:
                break
            text += piece
    else:
        os.killpg(child, signal.SIGKILL)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    try:
        return verdict_from(json.loads(text))
    except ValueError:
        return Verdict(failure=f"ended with status {status}" if left > 0 else "ran out of time")


def main() -> None:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("original", nargs="?", type=Path)
    parser.add_argument("rewritten", nargs="?", type=Path)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--backend", default="eager")
    options = parser.parse_args()
    if options.serve:
        answers = os.fdopen(os.dup(1), "w")
        import torch._dynamo
        import torch._export
        import torch.export._trace  # noqa: F401  (the forks start warm)

        for line in sys.stdin:
            json.dump(asdict(judge_in_fork(json.loads(line))), answers)
            answers.write("\n")
            answers.flush()
        return
    if options.original is None:
        parser.error("a program is needed")
    rewritten = options.rewritten or options.original
    request = {
        "original": str(options.original),
        "rewritten": str(rewritten),
        "record": "",
        "against": "",
        "eager_seeds": 64,
        "seeds": options.seeds,
        "backend": options.backend,
        "targets": TARGETS,
    }
    print(json.dumps(asdict(judge(request)), indent=1))


if __name__ == "__main__":
    main()
