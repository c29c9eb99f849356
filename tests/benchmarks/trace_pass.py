"""One traced path, all paths, and a whole `check --fix`, against torch's own export and draft export.

    python tests/benchmarks/trace_pass.py

The three tracing arms run in one process with torch loaded and warm (a first, unmeasured turn for each), each on fresh
modules, so that only tracing is compared. export stops at its first error on these programs: its time is that of
failing. `check --fix` is the whole command on a copy, torch's import included.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import os
import shutil
import statistics
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import ROOT, Measured, calls, commands, python

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
    ("qwen2_vl_vision", ROOT / "tests" / "end_to_end" / "realworld_cases" / "tf_qwen2_vl_vision.py"),
)
"""Models of transformers, with its whole package to blame."""


@dataclass(frozen=True)
class Traced:
    """One program, by all arms."""

    times: dict[str, Measured]
    raised: bool
    """Whether draft_export did not get to its end."""
    runs: int
    memory: int
    """Bytes that all paths added, at most."""


def in_process(path: Path, blamed: str, targets: tuple[str, ...]) -> Traced:
    """export and draft_export, here; one path and all paths, in ddelint's worker (the reply's own clock)."""
    import torch
    from judge import Program

    from ddelint.protocol import EntryFailure, EntrySpec, SessionOptions
    from ddelint.trace.session import Worker

    program = Program(path)
    raised: dict[str, bool] = {}

    def quietly(export: Any) -> None:
        args, kwargs = program.inputs(0)
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            try:
                export(program.exportable(), args, kwargs)
                raised[export.__name__] = False
            except Exception:
                raised[export.__name__] = True

    logging.disable(logging.CRITICAL)
    exports = {
        "export": lambda: quietly(torch.export.export),
        "draft_export": lambda: quietly(torch.export.draft_export),
    }
    rows = {}
    for name, function in exports.items():
        function()
        rows[name] = calls(name, function)
    options = SessionOptions(EntrySpec(str(path)), (blamed,), targets)
    with Worker() as worker:
        session = worker.open(options)
        if isinstance(session, EntryFailure):
            raise SystemExit(f"{path}: {session.message}")
        seconds = []
        for _ in range(6):
            trace = session.trace({})
            seconds.append(trace.seconds)
        kept = tuple(seconds[1:])
        rows["all paths"] = Measured("all paths", kept, kept)
        rows["one path"] = Measured("one path", tuple(s / trace.runs for s in kept), kept)
    return Traced(rows, raised["draft_export"], trace.runs, trace.memory)


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


def report(name: str, path: Path, blamed: str, check: bool) -> tuple[float, float]:
    """Print one row; gives the ratios of all paths to export and to draft_export."""
    found = in_process(path, blamed, ("export",))
    joint = in_process(path, blamed, ("export", "compile")).times["all paths"].median_wall * 1000
    ms = {arm: row.median_wall * 1000 for arm, row in found.times.items()}
    to_export, to_draft = (ms["all paths"] / ms[arm] for arm in ("export", "draft_export"))
    fixed = f"{whole(path).median_wall:.1f}" if check else ""
    raises = " (raises)" if found.raised else ""
    print(
        f"| {name} | {ms['export']:.0f} | {ms['draft_export']:.0f}{raises} | {found.runs} | "
        f"{ms['one path']:.1f} | {ms['all paths']:.0f} | {joint:.0f} | {to_export:.2f} | {to_draft:.2f} | "
        f"{found.memory / 2**20:.0f} | {fixed} |",
        flush=True,
    )
    return to_export, to_draft


def main() -> None:
    """Print one line a program."""
    os.environ["OMP_NUM_THREADS"] = "1"
    print("Wall time, medians of five, in ms; `one path` is `all paths` divided by the number of runs it took.\n")
    print(
        "| program | export | draft_export | runs | one path | all paths | with gradients | all paths / export "
        "| all paths / draft_export | memory, MiB | check --fix, s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    fixtures = [(name, ROOT / "fixtures" / name) for name in PROGRAMS]
    ratios = [report(name, path, str(path), check=True) for name, path in fixtures]
    for number, name in enumerate(("export", "draft_export")):
        print(
            f"| median of the ratios to {name} | | | | | | | {statistics.median(row[number] for row in ratios):.2f} |"
        )
    transformers = importlib.util.find_spec("transformers")
    if transformers is None or transformers.origin is None:
        print("transformers is not installed: its models are left out")
        return
    for name, path in MODELS:
        report(name, path, os.path.dirname(transformers.origin), check=False)


if __name__ == "__main__":
    main()
