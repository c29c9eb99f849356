"""The tracer against torch itself: what the front ends ask when their first errors are removed one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.sources.source import SourceFile
from ddelint.trace.front_ends import Asked, asked_by
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = sorted(
    [*(FIXTURES / "programs").glob("*.py"), *(FIXTURES / "puzzles").glob("*.py"), FIXTURES / "quickstart" / "model.py"]
)
UNASKED = frozenset(("text", "specialized", "other"))
"""Kinds of questions that make no front end stop: the program traces, and is wrong or recompiles."""

BEHIND_AN_ANSWER = {"transposecontig": [19]}
"""Rows where torch asks only once it believes an answer (contiguous, so how large?): a constant in the text is none."""


def near(one: Span, other: Span) -> bool:
    """Front ends know a statement or an expression of it."""
    return one.contains(other) or other.contains(one)


def asked(session: Session, program: Path, target: str) -> list[Asked]:
    sources = {str(program): SourceFile.read(program)}
    return [asked_by(session, sources, target, other_sides=other) for other in (False, True)]


def opened(worker: Worker, program: Path) -> Session:
    session = worker.open(SessionOptions(EntrySpec(str(program)), (str(program),)))
    assert not isinstance(session, EntryFailure), session
    return session


def missed(questions: list[Question], runs: list[Asked]) -> list[str]:
    """What a front end asks, and the tracer doesn't know."""
    return [
        f"{run.target}: {question.kind} at row {question.span.row}: {question.expression}"
        for run in runs
        for question in run.questions
        if not any(near(question.span, known.span) for known in questions)
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_tracer_finds_what_torch_asks_and_nothing_else(program: Path, worker: Worker) -> None:
    pytest.importorskip("torch")
    session = opened(worker, program)
    try:
        found = list(session.trace({}).questions)
        runs = [run for target in ("export", "strict", "compile") for run in asked(session, program, target)]
    finally:
        session.close()
    assert missed(found, runs) == []
    if not all(run.complete and not run.ended for run in runs):
        return  # an answer led to an error of the program's own: what stands behind it cannot be asked
    known = [question for run in runs for question in run.questions]
    found = [q for q in found if q.kind not in UNASKED and not q.joint]  # gradients ask behind all three
    extra = [q for q in found if not any(near(q.span, k.span) for k in known)]
    extra = [q for q in extra if q.span.row not in BEHIND_AN_ANSWER.get(program.stem, ())]
    assert [f"{q.kind} at row {q.span.row}: {q.expression}" for q in extra] == []


def test_answers_keep_every_position(worker: Worker, tmp_path: Path) -> None:
    """Three questions on two lines, one of them over two lines: each is blamed where the file has it."""
    pytest.importorskip("torch")
    program = tmp_path / "three.py"
    program.write_text(
        "import torch\n\n\ndef fn(x):\n"
        "    y = x + 1 if x.sum() > 0 else x * 2\n"
        "    if (x.max() >\n            3) and not y.min() < 0:\n        y = y / 2\n"
        "    return y[: int(x.sum())]\n\n\n"
        "def make_inputs(seed):\n    return (torch.arange(4.0) - seed,)\n"
    )
    session = opened(worker, program)
    try:
        (export, _) = asked(session, program, "export")
    finally:
        session.close()
    assert [(q.span.row, q.expression) for q in export.questions] == [
        (5, "x.sum() > 0"),
        (6, "x.max() > 3"),
        (7, "y.min() < 0"),
        (9, "int(x.sum())"),
    ]
    assert export.complete
