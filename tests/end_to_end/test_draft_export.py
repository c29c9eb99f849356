"""torch's own draft export: each place that it reports and that is real is one that the tracer found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.sources.source import SourceFile
from ddelint.trace.front_ends import asked_by
from ddelint.trace.worker_process import Worker

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = sorted([*(FIXTURES / "programs").glob("*.py"), *(FIXTURES / "puzzles").glob("*.py")])
DRAFT = """\
import importlib.util, json, logging, sys, warnings
import torch

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
found = {}
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        exported = torch.export.draft_export(module.Model(), module.make_inputs(0))
    except Exception as error:
        found[path] = type(error).__name__
        continue
    report = exported._report
    names = {number: name for name, number in report.str_to_filename.items()} | report.str_to_filename
    found[path] = [
        max((f["line"] for f in failure.data["user_stack"] if names.get(f["filename"]) == path), default=0)
        for failure in report.failures
        if failure.failure_type.name == "DATA_DEPENDENT_ERROR"
    ]
print(json.dumps(found))
"""


def rows(questions: Iterable[Question]) -> set[int]:
    return {row for question in questions for row in range(question.span.row, question.span.end_row + 1)}


@pytest.fixture(scope="module")
def drafted() -> dict[str, list[int] | str]:
    """Program → rows of its DATA_DEPENDENT_ERRORs, or the exception that draft export itself ended in."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", DRAFT, *map(str, PROGRAMS)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    reports: dict[str, list[int] | str] = json.loads(done.stdout.splitlines()[-1])
    return reports


def test_draft_export_reports_something(drafted: dict[str, list[int] | str]) -> None:
    assert sum(bool(rows) for rows in drafted.values() if isinstance(rows, list)) >= 10


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_draft_export_reports_is_found(program: Path, drafted: dict[str, list[int] | str], worker: Worker) -> None:
    session = worker.open(SessionOptions(EntrySpec(str(program)), (str(program),)))
    assert not isinstance(session, EntryFailure), session
    reported = drafted[str(program)]
    try:
        found = rows(session.trace({}).questions)
        missing = {row for row in reported if row not in found} if isinstance(reported, list) else set()
        real = set()
        if missing:  # draft export answers from example values, and asks on: what export itself never asks isn't real
            sources = {str(program): SourceFile.read(program)}
            runs = [asked_by(session, sources, "export", other_sides=other) for other in (False, True)]
            real = missing & {row for run in runs for row in rows(run.questions)}
    finally:
        session.close()
    assert real == set()
