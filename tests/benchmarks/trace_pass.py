"""One traced path, all paths, and a whole `check --fix`, against torch's own export and draft export.

    python tests/benchmarks/trace_pass.py [--fix]

Every arm is measured alike: torch is imported, the small program through ddelint's worker and a small draft export are
done, the program's file is imported; then each turn runs in a fork of that process, as a trace of ddelint
always does. So each arm pays for what it sets up for this program, and none for what any program needs. `draft_export,
again` is a second draft export in the same fork, which finds torch's caches filled by the first. export stops at its
first error on these programs: its time is that of failing. With `--fix` the whole `check --fix` is timed, too, on
a copy, torch's import included.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import logging
import os
import pickle
import shutil
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measuring import ROOT, Measured, commands, python

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "end_to_end")]

PROGRAMS = (
    "quickstart/model.py",
    "programs/cap_kept_boxes.py",
    "programs/cast_to_width.py",
    "programs/clear_bad_loss.py",
    "programs/mean_of_chosen.py",
    "programs/skip_absent_experts.py",
    "programs/pad_to_multiple.py",
    "programs/loss_over_labelled.py",
    "puzzles/vb.py",
    "puzzles/contigstride.py",
)


MODELS = (
    ("mixtral_16_layers", ROOT / "tests" / "benchmarks" / "models" / "mixtral_16_layers.py"),
    ("mixtral_16_layers_grouped", ROOT / "tests" / "benchmarks" / "models" / "mixtral_16_layers_grouped.py"),
    ("qwen2_vl_vision", ROOT / "tests" / "end_to_end" / "realworld_cases" / "tf_qwen2_vl_vision.py"),
)
"""Models of transformers, with its whole package to blame."""


ARMS = ("export", "draft_export", "draft_export, again", "all paths", "with gradients")
TURNS = 5
MODEL_TURNS = 2
"""draft_export takes half a minute for one."""


@dataclass(frozen=True)
class Traced:
    """One program, by all arms."""

    times: dict[str, Measured]
    raised: bool
    """Whether draft_export did not get to its end."""
    runs: int
    memory: int
    """Bytes that all paths added, at most."""


@dataclass(frozen=True)
class Turn:
    """One run of one arm."""

    wall: float
    cpu: float
    raised: bool = False
    runs: int = 1
    memory: int = 0


def measured(path: Path, blamed: str, turns: int) -> Traced:
    """Each arm in forks of a process that has imported the program; turns are interleaved."""
    taken: dict[str, list[Turn]] = in_fork(lambda: _all_turns(path, blamed, turns))
    times = {
        arm: Measured(arm, tuple(turn.wall for turn in of_arm), tuple(turn.cpu for turn in of_arm))
        for arm, of_arm in taken.items()
    }
    last = taken["all paths"][-1]
    return Traced(times, taken["draft_export"][-1].raised, last.runs, last.memory)


def _all_turns(path: Path, blamed: str, count: int) -> dict[str, list[Turn]]:
    from judge import Program

    from ddelint.nouns.protocol import EntrySpec, SessionOptions
    from ddelint.trace.entries import Loader
    from ddelint.trace.importing import prepare_path

    options = SessionOptions(EntrySpec(str(path)), (blamed,))
    prepare_path(options)
    entry = Loader(options).load()
    program = Program(path)
    arms = {
        "export": lambda: _torch_turn(program, "export"),
        "draft_export": lambda: _torch_turn(program, "draft_export"),
        "draft_export, again": lambda: (_torch_turn(program, "draft_export"), _torch_turn(program, "draft_export"))[1],
        "all paths": lambda: _trace_turn(entry, replace(options, targets=("export",))),
        "with gradients": lambda: _trace_turn(entry, options),
    }
    turns: dict[str, list[Turn]] = {arm: [] for arm in ARMS}
    for _ in range(count):
        for arm in ARMS:
            turns[arm].append(in_fork(arms[arm]))
    return turns


def _torch_turn(program: Any, name: str) -> Turn:
    import torch

    args, kwargs = program.inputs(0)
    exportable = program.exportable()
    raised = False
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        start, busy = time.perf_counter(), time.process_time()
        try:
            getattr(torch.export, name)(exportable, args, kwargs)
        except Exception:
            raised = True
        return Turn(time.perf_counter() - start, time.process_time() - busy, raised)


def _trace_turn(entry: Any, options: Any) -> Turn:
    from ddelint.trace.explorer import trace_entry

    start, busy = time.perf_counter(), time.process_time()
    trace = trace_entry(entry, options.paths, options)
    taken = Turn(time.perf_counter() - start, time.process_time() - busy, False, trace.runs, trace.memory)
    if trace.failure is not None:
        raise SystemExit(trace.failure.message)
    return taken


def in_fork(function: Callable[[], Any]) -> Any:
    """What `function` gives, run in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as out:
                pickle.dump(function(), out)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read()
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("a measured process failed")
    return pickle.loads(text)


def warm_up_process() -> None:
    """What ddelint's worker does before it serves, and a draft export besides."""
    import torch

    from ddelint.trace import warm_up

    class Counting(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return x[mask].sum(0) if mask.sum().item() > 2 else x.sum(0)

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    warm_up.front_ends()
    mask = torch.tensor([True, False, True, True])
    torch.export.draft_export(Counting(), (torch.zeros(4, 4), mask))
    gc.collect()
    gc.freeze()


def whole(path: Path) -> Measured:
    """`ddelint check --fix`, each time on a fresh copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        command = python("-m", "ddelint", "check", str(copy), "--fix", "--unsafe-fixes", "--no-cache", "-q")
        seconds = []
        for _ in range(5):
            shutil.copy(path, copy)
            seconds += commands({"check --fix": command}, turns=1, cwd=Path(folder))[0].wall
    return Measured("check --fix", tuple(seconds), tuple(seconds))


def report(name: str, path: Path, blamed: str, turns: int, check: bool) -> tuple[float, ...]:
    """Print one row; gives the ratios of all paths to export, to draft_export, and to its second run."""
    found = measured(path, blamed, turns)
    ms = {arm: row.median_cpu * 1000 for arm, row in found.times.items()}
    ratios = tuple(ms["all paths"] / ms[arm] for arm in ARMS[:3])
    fixed = f"{whole(path).median_wall:.1f}" if check else ""
    raises = " (raises)" if found.raised else ""
    print(
        f"| {name} | {ms['export']:.0f} | {ms['draft_export']:.0f}{raises} | {ms['draft_export, again']:.0f} | "
        f"{found.runs} | {ms['all paths']:.0f} | {ms['with gradients']:.0f} | "
        f"{' | '.join(f'{ratio:.2f}' for ratio in ratios)} | {found.memory / 2**20:.0f} | {fixed} |",
        flush=True,
    )
    return ratios


def main() -> None:
    """Print one line a program."""
    os.environ["OMP_NUM_THREADS"] = "1"
    warm_up_process()
    print(f"CPU time in ms, medians of {TURNS} ({MODEL_TURNS} of the models).\n")
    print(
        "| program | export | draft_export | draft_export, again | runs | all paths | with gradients "
        "| all paths / export | / draft_export | / draft_export, again | memory, MiB | check --fix, s |"
    )
    print("|---|" + "---:|" * 11)
    fixtures = [(name, ROOT / "fixtures" / name) for name in PROGRAMS]
    ratios = [report(name, path, str(path), TURNS, check="--fix" in sys.argv) for name, path in fixtures]
    medians = [f"{statistics.median(row[number] for row in ratios):.2f}" for number in range(3)]
    print(f"| median | | | | | | | {' | '.join(medians)} | | |")
    transformers = importlib.util.find_spec("transformers")
    if transformers is None or transformers.origin is None:
        print("transformers is not installed: its models are left out")
        return
    for name, path in MODELS:
        report(name, path, os.path.dirname(transformers.origin), MODEL_TURNS, check=False)


if __name__ == "__main__":
    main()
