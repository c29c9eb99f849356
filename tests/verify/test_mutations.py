"""Wrong rewrites, judged as the search judges the candidates of a move: each is refused, and for what is wrong with it.

The programs stand in mutations/. A row puts its text between the two comment lines of one, as the only candidate that
there is, under the claim that an honest move would make. A rewrite that still asks would be refused for that, so each
row (planted_rows.py) also names the aspect in which it must have been caught. Right rewrites must be kept. Of the rows
that belong to no class every second one is tried, all of them with DDELINT_LONG=1.
"""

from __future__ import annotations

import ast
import itertools
import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import planted_texts
import pytest
from planted_rows import DOUBTFUL, RIGHT, UNBACKED, WRONG, Row

from ddelint.nouns.diagnostics import Applicability, Diagnostic, Edit, Span, TypeFact
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.rounds import Search
from ddelint.sources.source import SourceFile
from ddelint.trace import torch_internals
from ddelint.trace.diagnose import diagnose
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

FOLDER = Path(__file__).with_name("mutations")
CLASSES = "ABCDEFGHIJKL"
"""As docs/how-fixes-are-verified.md names them."""
BEGIN, END = "# decided from here", "# to here"


@dataclass(frozen=True)
class Judged:
    """A program open in the worker, with what the search wants to know about it."""

    session: Session
    source: SourceFile
    types: Mapping[str, Mapping[str, TypeFact]]

    def block(self) -> tuple[Span, str, str]:
        """The span of the lines between the comments, their text, and their indentation."""
        rows = [number for number, line in enumerate(self.source.lines, 1) if line.strip() in (BEGIN, END)]
        begin, end = rows
        lines = self.source.lines[begin : end - 1]
        indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        return Span(self.source.filename, begin + 1, 1, end, 1), "".join(lines), indentation

    def candidate(self, row: Row) -> Candidate:
        """The row's text in the place of the block; its tests must be seen on both sides."""
        span, _, indentation = self.block()
        text = textwrap.indent(textwrap.dedent(row.text).strip() + "\n", indentation)
        tests = [
            node.test
            for node in ast.walk(self.source.tree)
            if isinstance(node, (ast.If, ast.While)) and span.row <= node.lineno < span.end_row
        ]
        decisions = tuple(map(self.source.span, tests))
        return Candidate("mutation", row.claim, row.what, (Edit(span, text),), decisions=decisions)


@pytest.fixture(scope="module")
def programs(worker: Worker) -> Iterator[Mapping[str, Judged]]:
    """Each program, opened when it is first asked for."""

    class Programs(dict[str, Judged]):
        def __missing__(self, name: str) -> Judged:
            path = FOLDER / f"{name}.py"
            unbacked = UNBACKED.get(name, "")
            opened = worker.open(
                SessionOptions(EntrySpec(str(path)), (str(path),), ("export",), unbacked=unbacked, device="cpu")
            )
            assert isinstance(opened, Session), opened
            stack.callback(opened.close)
            self[name] = Judged(opened, SourceFile.read(path), opened.types(()).functions)
            return self[name]

    with ExitStack() as stack:
        yield Programs()


@pytest.fixture
def judge(programs: Mapping[str, Judged], monkeypatch: pytest.MonkeyPatch) -> object:
    """Search with a row as the only candidate; gives what is told, and the text with every fix."""

    def run(row: Row) -> tuple[list[Diagnostic], bool]:
        judged = programs[row.program]
        candidate = judged.candidate(row)

        def propose(context: Context) -> Iterator[Candidate]:
            # once: with it in effect its spans mean nothing
            if context.site.source.text == judged.source.text:
                yield candidate

        load_moves()
        for name in list(MOVES):
            monkeypatch.setitem(MOVES, name, propose)
        sources = {judged.source.filename: judged.source}
        asking = Asking(judged.session, sources, ("export",), samples=64, diagnose=diagnose, types=judged.types)
        outcome = Search(asking).run()
        return list(outcome.diagnostics), bool(outcome.everything.overlay)

    return run


def sampled(rows: Sequence[Row]) -> list[object]:
    """The rows to try, every twelfth in the small size, too."""
    unclassed = [row for row in rows if row.letter not in CLASSES]
    left_out = [] if os.environ.get("DDELINT_LONG") else unclassed[1::2]
    tried = [row for row in rows if row not in left_out]
    return [pytest.param(row, id=str(row), marks=[pytest.mark.slow] if n % 12 else []) for n, row in enumerate(tried)]


@pytest.mark.parametrize("row", sampled(WRONG))
def test_a_wrong_rewrite_is_refused(row: Row, judge) -> None:  # type: ignore[no-untyped-def]
    found, offered = judge(row)
    reasons = [refusal.reason for diagnostic in found for refusal in diagnostic.refused]
    assert not offered, [(d.fix.applicability, d.evidence) for d in found if d.fix is not None]
    assert reasons
    if not hasattr(torch_internals.ShapeEnv, "optimization_hint") and any(
        " asks `torch.stack(" in reason for reason in reasons
    ):
        pytest.skip("waits for torch 2.13: earlier releases ask what the number in an index is")
    assert any(f": {row.aspect} differs" in reason for reason in reasons), reasons


@pytest.mark.parametrize("row", sampled(RIGHT))
def test_a_right_rewrite_is_kept(row: Row, judge) -> None:  # type: ignore[no-untyped-def]
    found, offered = judge(row)
    assert offered, [refusal.reason for diagnostic in found for refusal in diagnostic.refused]
    fixes = [diagnostic.fix for diagnostic in found if diagnostic.fix is not None]
    notes = [diagnostic.evidence.notes for diagnostic in found if diagnostic.evidence is not None]
    assert {fix.applicability for fix in fixes} == {Applicability.SAFE}, notes


@pytest.mark.parametrize("row", sampled(DOUBTFUL))
def test_a_rewrite_that_the_inputs_do_not_settle_is_not_safe(row: Row, judge) -> None:  # type: ignore[no-untyped-def]
    found, _ = judge(row)
    fixes = [diagnostic.fix for diagnostic in found if diagnostic.fix is not None]
    assert all(fix.applicability is Applicability.UNSAFE for fix in fixes)
    reasons = [refusal.reason for diagnostic in found for refusal in diagnostic.refused]
    reasons += [note for diagnostic in found if diagnostic.evidence is not None for note in diagnostic.evidence.notes]
    assert any(row.aspect in reason for reason in reasons), reasons


def test_each_class_of_mistakes_has_its_rows() -> None:
    wrong = Counter(row.letter for row in (*WRONG, *DOUBTFUL, *planted_texts.WRONG))
    right = Counter(row.letter for row in (*RIGHT, *planted_texts.RIGHT))
    assert {letter: wrong[letter] for letter in CLASSES if wrong[letter] < 5} == {}
    assert {letter: right[letter] for letter in CLASSES if right[letter] < 2} == {}
    assert set(wrong) | set(right) <= {*CLASSES, "-"}


def test_there_are_enough_of_them_and_none_stands_twice() -> None:
    assert len(WRONG) >= 40
    assert len(RIGHT) >= 6
    for one, other in itertools.combinations((*WRONG, *DOUBTFUL, *RIGHT), 2):
        assert (one.program, one.text) != (other.program, other.text)
    assert {path.stem for path in FOLDER.glob("*.py")} == {row.program for row in (*WRONG, *DOUBTFUL, *RIGHT)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "what", "noted"),
    [
        ("zero_adapter", "computed in any case, added where it is due", True),
        ("gated_growth", "a safe fill before the growth", True),
        ("choose_arm", "both arms, merged while compiling", False),
        ("experts", "no rows add nothing", False),
    ],
)
def test_what_the_branch_saved_is_noted_where_eager_computes_it_now(  # type: ignore[no-untyped-def]
    program: str, what: str, noted: bool, judge
) -> None:
    found, _ = judge(next(row for row in RIGHT if (row.program, row.what) == (program, what)))
    notes = [note for diagnostic in found if diagnostic.evidence is not None for note in diagnostic.evidence.notes]
    said = [note for note in notes if note.startswith("eager does ") and " times the work on seed " in note]
    assert bool(said) == noted, notes
    assert all(" is false (" in note or " is true (" in note for note in said)
