"""One traced path, all paths, and a whole `check --fix`, against torch's own export and draft export.

    python tests/benchmarks/trace_pass.py

The three tracing arms run in one process with torch loaded and warm (a first, unmeasured turn for each), each on fresh
modules, so that only tracing is compared. export stops at its first error on these programs: its time is that of
failing. `check --fix` is the whole command on a copy, torch's import included.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import statistics
import sys
import tempfile
import warnings
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


def in_process(path: Path) -> dict[str, Measured]:
    """export and draft_export, here; one path and all paths, in ddelint's worker (the reply's own clock)."""
    import torch
    from judge import Program

    from ddelint.protocol import EntryFailure, EntrySpec, SessionOptions
    from ddelint.trace.session import Worker

    program = Program(path)

    def quietly(export: Any) -> None:
        args, kwargs = program.inputs(0)
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.suppress(Exception),
        ):
            warnings.simplefilter("ignore")
            export(program.exportable(), args, kwargs)

    logging.disable(logging.CRITICAL)
    exports = {
        "export": lambda: quietly(torch.export.export),
        "draft_export": lambda: quietly(torch.export.draft_export),
    }
    rows = {}
    for name, function in exports.items():
        function()
        rows[name] = calls(name, function)
    options = SessionOptions(EntrySpec(str(path)), (str(path),))
    with Worker() as worker:
        session = worker.open(options)
        if isinstance(session, EntryFailure):
            raise SystemExit(f"{path}: {session.message}")
        seconds, runs = [], 1
        for _ in range(6):
            trace = session.trace({})
            seconds.append(trace.seconds)
            runs = trace.runs
        kept = tuple(seconds[1:])
        rows["all paths"] = Measured("all paths", kept, kept)
        rows["one path"] = Measured("one path", tuple(s / runs for s in kept), kept)
    return rows


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


def main() -> None:
    """Print one line a program."""
    os.environ["OMP_NUM_THREADS"] = "1"
    print("Wall time, medians of five, in ms; `one path` is `all paths` divided by the number of runs it took.\n")
    print(
        "| program | export | draft_export | one path | all paths | all paths / export | all paths / draft_export | "
        "check --fix, s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    ratios: dict[str, list[float]] = {"export": [], "draft_export": []}
    for name in PROGRAMS:
        path = ROOT / "fixtures" / name
        rows = in_process(path)
        ms = {arm: row.median_wall * 1000 for arm, row in rows.items()}
        for arm, found in ratios.items():
            found.append(ms["all paths"] / ms[arm])
        print(
            f"| {name} | {ms['export']:.0f} | {ms['draft_export']:.0f} | "
            f"{ms['one path']:.1f} | {ms['all paths']:.0f} | {ratios['export'][-1]:.2f} | "
            f"{ratios['draft_export'][-1]:.2f} | {whole(path).median_wall:.1f} |",
            flush=True,
        )
    medians = ", ".join(f"{statistics.median(found):.2f} to {arm}" for arm, found in ratios.items())
    print(f"\nMedians of the ratios: {medians}")


if __name__ == "__main__":
    main()
